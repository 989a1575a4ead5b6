"""The scorer that a user passes to a comparison: how labels are scored, but not which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import clone

from allegiance._core import resolve_seed
from allegiance._scorer import AffinityScorer
from allegiance.calibration import Calibration
from allegiance.results import AffinityResult


def calibrated_scorer(scorer: AffinityScorer | None, caller: str, influence: str = "within") -> AffinityScorer:
    """Return a copy of the scorer, or the default one, with one seed for everything that it will score.

    Parameters
    ----------
    scorer
        What the user passed; None for ``AffinityScorer(influence=influence, calibration=20)``.
    caller
        The function it was passed to, for messages.
    influence
        That of the default scorer.
    """
    if scorer is None:
        return AffinityScorer(influence=influence, calibration=20)
    if not isinstance(scorer, AffinityScorer):
        raise TypeError(f"scorer must be an AffinityScorer, such as AffinityScorer(calibration=20), got {scorer!r}.")
    for name in ("estimator", "centers"):
        if getattr(scorer, name) is not None:
            raise ValueError(f"scorer has {name}, but {caller} brings the clusters: pass a scorer without it.")
    if Calibration.resolve(scorer.calibration) is None:
        raise ValueError(
            f"scorer has no calibration, but {caller} judges by trust: pass AffinityScorer(calibration=20)."
        )
    return clone(scorer).set_params(random_state=resolve_seed(scorer.random_state))


def score_candidate(scorer: AffinityScorer, X: Any, candidate: Any, where: str) -> AffinityResult:
    """Score labels (n,), or a clusterer of which a clone is fitted; errors get a note that names ``where`` it is."""
    clusters_itself = hasattr(candidate, "fit") and not isinstance(candidate, type)
    try:
        if clusters_itself:
            return clone(scorer).set_params(estimator=candidate).fit_affinity(X)
        return clone(scorer).fit_affinity(X, candidate)
    except (TypeError, ValueError) as error:
        error.add_note(f"This happened with {where}.")
        raise


def by_name(clusterings: Any, argument: str) -> dict[str, Any]:
    """Return labelings by name, those of a list as "labels 1", "labels 2", ..."""
    if isinstance(clusterings, str) or not hasattr(clusterings, "__iter__"):
        raise TypeError(f"{argument} must be a dictionary or a list of labels, got {type(clusterings).__name__}.")
    if isinstance(clusterings, Mapping):
        named = {str(name): labels for name, labels in clusterings.items()}
    else:
        named = {f"labels {i}": labels for i, labels in enumerate(clusterings, start=1)}
    if not named:
        raise ValueError(f"{argument} is empty: there is nothing to compare.")
    return named
