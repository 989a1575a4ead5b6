"""The numbers of a summary, added up while scores go by."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_NOISE = -1
#: The columns of scores that a summary is made of.
COLUMNS = ("label", "owner", "runner_up", "confidence", "margin", "stable", "decided")
#: Those of them that the list of points shows.
_SHOWN = COLUMNS[:5]


@dataclass
class _Cluster:
    points: int = 0
    stable: int = 0
    confidence: float = 0.0
    rivals: Counter[Any] = field(default_factory=Counter)


class Tally:
    """Counts scores, part by part, and remembers the points to look at first.

    Parameters
    ----------
    classes
        (k,) the labels of the clusters.
    ids
        The columns that identify points.
    review
        How many points of least confidence to remember.
    """

    def __init__(self, classes: Any, ids: list[str], review: int) -> None:
        self._ids = ids
        self._review = review
        self._clusters = {name: _Cluster() for name in classes.tolist()}
        self._worst: list[dict[str, Any]] = []
        self._undecided = 0

    def add(self, scores: pa.Table | pa.RecordBatch) -> None:
        """Count some more points.

        Parameters
        ----------
        scores
            Their scores, behind what identifies them.
        """
        import numpy as np

        columns = {name: np.asarray(scores.column(name).to_numpy(zero_copy_only=False)) for name in COLUMNS[:4]}
        stable, decided = (np.asarray(scores.column(name), dtype=bool) for name in ("stable", "decided"))
        label, owner, runner_up, confidence = columns.values()
        rival = np.where(owner == label, runner_up, owner)
        for name in np.unique(label).tolist():
            rows = label == name
            cluster = self._clusters.setdefault(name, _Cluster())
            cluster.points += int(rows.sum())
            cluster.stable += int(stable[rows].sum())
            cluster.confidence += float(confidence[rows].sum())
            cluster.rivals.update(rival[rows & ~stable].tolist())
        self._undecided += int((~decided).sum())
        least = np.argsort(confidence, kind="stable")[: self._review]
        found = scores.select([*self._ids, *_SHOWN]).take(least).to_pylist()
        # Sorting keeps the order of equals: the first rows stay.
        self._worst = sorted([*self._worst, *found], key=lambda point: point["confidence"])[: self._review]

    def summary(self) -> dict[str, Any]:
        """Return counts, one entry per cluster, and the points to look at first, as plain values."""
        points = sum(cluster.points for cluster in self._clusters.values())
        stable = sum(cluster.stable for cluster in self._clusters.values())
        # Noise comes last, wherever it was met first.
        ordered = sorted(self._clusters.items(), key=lambda item: _is_noise(item[0]))
        return {
            "points": points,
            "stable": stable,
            "stable_share": stable / points,
            "undecided": self._undecided,
            "clusters": [_line(name, cluster) for name, cluster in ordered],
            "review": self._worst,
        }


def _line(name: Any, cluster: _Cluster) -> dict[str, Any]:
    n = cluster.points
    # The most frequent rival; of equals the first by name, so that the order of the rows does not matter.
    rival = min(cluster.rivals, key=lambda rival: (-cluster.rivals[rival], rival), default=None)
    return {
        "cluster": "noise" if _is_noise(name) else name,
        "points": n,
        "stable_share": cluster.stable / n if n else None,
        "confidence": cluster.confidence / n if n else None,
        "rival": rival,
    }


def _is_noise(name: Any) -> bool:
    return isinstance(name, int) and name == _NOISE
