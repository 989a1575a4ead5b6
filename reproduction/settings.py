"""What experiments ask of ``affinity`` and ``AffinityScorer`` beyond their defaults, each under one name."""

from __future__ import annotations

from typing import Any, TypeAlias

from allegiance.domains import Box
from allegiance.influence import Weights

#: Keyword arguments of ``affinity`` and ``AffinityScorer``.
Settings: TypeAlias = dict[str, Any]

#: The paper's closeness.
EUCLIDEAN: Settings = {"influence": "euclidean"}
#: How volume is measured.
EXACT: Settings = {"engine": "exact"}
SHARED: Settings = {"engine": "shared"}
#: The region in which it is measured. The default is a box around the data, widened by a tenth.
BOX: Settings = {"domain": "box"}
BALL: Settings = {"domain": "ball"}
WHOLE_SPACE: Settings = {"domain": "space"}
#: Weights of the clusters: |C|/n as in the paper; scaled, by the mean squared distance within clusters.
SIZE: Settings = {"weights": "size"}
SIZE_SCALED: Settings = {"weights": Weights("size", scale="auto")}
DENSITY_SCALED: Settings = {"weights": Weights("density", scale="auto")}


def box(margin: float) -> Settings:
    """Return the box around the data, widened by a share of its extent on each side."""
    return {"domain": Box(margin=margin)}
