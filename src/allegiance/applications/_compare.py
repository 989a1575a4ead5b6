"""Several clusterings of the same data, side by side: which points any of them is sure of, and which none is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any, NamedTuple

import numpy as np

from allegiance._core import AnyArray, BoolArray, FloatArray, IntArray, resolve_seed
from allegiance._scorer import AffinityScorer
from allegiance.results import AffinityResult, FrameLike

_CAVEAT = (
    "Fewer clusters are stable more easily (one or two always are): "
    "do not choose between different numbers of clusters by the stable share."
)


class CandidateLine(NamedTuple):
    """One candidate in the summary."""

    name: str
    n_clusters: int
    stable: float
    """Share of the points that are stable."""
    confidence: float
    """Mean confidence."""
    best_for: int
    """Number of points for which this candidate is the best."""


@dataclass(frozen=True, repr=False, eq=False)
class ClusteringComparison:
    """Several clusterings of the same points.

    ``print(comparison)`` gives a summary, :meth:`to_frame` one row per point.

    Attributes
    ----------
    results
        The affinities of all points under each candidate, by its name.
    """

    results: dict[str, AffinityResult]
    _frame: FrameLike = field(repr=False)

    @property
    def names(self) -> list[str]:
        """The names of the candidates, in the order of the columns of the arrays below."""
        return list(self.results)

    @property
    def n_points(self) -> int:
        """The number of points."""
        return next(iter(self.results.values())).n_points

    @cached_property
    def confidence(self) -> FloatArray:
        """(n, m) largest affinity of each point under each candidate."""
        return np.column_stack([result.confidence for result in self.results.values()])

    @cached_property
    def stable(self) -> BoolArray:
        """(n, m) whether each candidate is sure of each point: one of its clusters gives more than half."""
        return np.column_stack([result.stable for result in self.results.values()])

    @cached_property
    def above_floor(self) -> FloatArray:
        """(n, m) confidence on a scale where 0 is 1/k, the least that k clusters allow, and 1 is certainty.

        A candidate with one cluster is always certain and says nothing: it has 0.
        """
        k = np.array([result.n_clusters for result in self.results.values()])
        return np.where(k > 1, (self.confidence * k - 1) / np.maximum(k - 1, 1), 0.0)

    @property
    def n_sure(self) -> IntArray:
        """(n,) how many candidates are sure of each point."""
        return self.stable.sum(axis=1)

    @property
    def any_sure(self) -> BoolArray:
        """(n,) whether at least one candidate is sure of the point."""
        return self.n_sure > 0

    @property
    def none_sure(self) -> BoolArray:
        """(n,) whether no candidate is sure of the point: these are the ones to review, whichever is chosen."""
        return ~self.any_sure

    @property
    def best(self) -> AnyArray:
        """(n,) name of the candidate whose confidence in the point is most above its floor; the first of equals."""
        return np.array(self.names)[self.above_floor.argmax(axis=1)]

    def candidates(self) -> list[CandidateLine]:
        """Summarise each candidate: its number of clusters, stable share, mean confidence, and where it is best."""
        best = np.bincount(self.above_floor.argmax(axis=1), minlength=len(self.results))
        return [
            CandidateLine(
                name, result.n_clusters, float(result.stable.mean()), float(result.confidence.mean()), int(best[i])
            )
            for i, (name, result) in enumerate(self.results.items())
        ]

    def to_frame(self, like: Any = None) -> Any:
        """Return one row per point, in the order of the input.

        Columns are ``label_<name>``, ``confidence_<name>`` and ``stable_<name>`` for each candidate, then ``best`` and
        ``n_sure``.

        Parameters
        ----------
        like
            A frame whose kind, and for pandas whose index, to use. By default those of the X that was scored; pandas
            if X was no frame.
        """
        columns: dict[str, AnyArray] = {}
        for name, result in self.results.items():
            columns[f"label_{name}"] = result.label
            columns[f"confidence_{name}"] = result.confidence
            columns[f"stable_{name}"] = result.stable
        columns["best"] = self.best
        columns["n_sure"] = self.n_sure
        frame = self._frame if like is None else FrameLike.of(like)
        return frame.build(columns)

    def __repr__(self) -> str:
        lines = self.candidates()
        width = max(9, *(len(line.name) for line in lines))
        rows = [
            f"{line.name:<{width}}  {line.n_clusters:>8,}  {line.stable:>7.1%}  {line.confidence:>10.2f}"
            f"  {line.best_for:>8,}"
            for line in lines
        ]
        header = f"{'candidate':<{width}}  {'clusters':>8}  {'stable':>7}  {'confidence':>10}  {'best for':>8}"
        caveat = ["", _CAVEAT] if self._needs_caveat() else []
        return "\n".join([self._title(), self._headline(), "", header, *rows, *caveat])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(line.name)}</td><td>{line.n_clusters:,}</td><td>{line.stable:.1%}</td>"
            f"<td>{line.confidence:.2f}</td><td>{line.best_for:,}</td></tr>"
            for line in self.candidates()
        )
        foot = f"<p><small>{_CAVEAT}</small></p>" if self._needs_caveat() else ""
        return (
            f"<div><p><b>{self._title()}.</b> {self._headline()}.</p><table><thead><tr><th>candidate</th>"
            f"<th>clusters</th><th>stable</th><th>confidence</th><th>best for</th></tr></thead>"
            f"<tbody>{rows}</tbody></table>{foot}</div>"
        )

    def _title(self) -> str:
        m = len(self.results)
        return f"{m} clustering{'' if m == 1 else 's'} of {self.n_points:,} points"

    def _headline(self) -> str:
        everywhere = int((self.n_sure == len(self.results)).sum())
        nowhere = int(self.none_sure.sum())
        some = self.n_points - everywhere - nowhere
        return f"{everywhere:,} stable in every candidate, {some:,} in some, {nowhere:,} in none"

    def _needs_caveat(self) -> bool:
        sizes = {result.n_clusters for result in self.results.values()}
        return len(sizes) > 1 or min(sizes) <= 2


def compare_clusterings(
    X: Any, clusterings: Mapping[str, Any], *, random_state: Any = None, **settings: Any
) -> ClusteringComparison:
    """Score every point under several candidate clusterings.

    All candidates meet the same settings and the same random numbers, so that their scores compare fairly.

    Parameters
    ----------
    X
        (n, d) data: array, sparse matrix, or frame (pandas, polars).
    clusterings
        The candidates by name. Each is (n,) labels, -1 for noise, or a clusterer, of which a clone is fitted; a fitted
        one is kept as it is inside a ``sklearn.frozen.FrozenEstimator``.
    random_state
        Seed, generator, or None for a new seed. It is for the measurement: clusterers have their own.
    **settings
        Any other parameter of :class:`AffinityScorer` but ``estimator`` and ``centers``, for all candidates alike.

    Returns
    -------
    ClusteringComparison
        The results of all candidates, and which points any of them is sure of.

    See Also
    --------
    stability_curve : For clusterings that differ in their number of clusters.

    Notes
    -----
    The confidence of a point among k clusters is at least 1/k, and with one or two clusters every point is stable.
    Between candidates with different k neither the stable share nor the mean confidence is a fair judge.

    Examples
    --------
    >>> import numpy as np
    >>> from allegiance import compare_clusterings
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 9.0], [9.0, 0.0], [10.0, 0.0], [5.0, 10.0], [5.0, 3.0]])
    >>> comparison = compare_clusterings(X, {"thirds": [0, 0, 2, 1, 1, 2, 1], "other": [0, 0, 2, 1, 1, 2, 0]})
    >>> comparison.none_sure
    array([False, False, False, False, False, False,  True])
    """
    _check_clusterings(clusterings)
    for name in ("estimator", "centers"):
        if name in settings:
            raise TypeError(f"{name} cannot be given to compare_clusterings: every candidate has its own.")
    settings["random_state"] = resolve_seed(random_state)
    return ClusteringComparison(
        {name: _score(X, name, candidate, settings) for name, candidate in clusterings.items()}, FrameLike.of(X)
    )


def _check_clusterings(clusterings: Any) -> None:
    if not isinstance(clusterings, Mapping):
        raise TypeError(
            "clusterings must be a dictionary of names and candidates, such as {'k-means': KMeans(3), 'mine': labels}, "
            f"got {type(clusterings).__name__}."
        )
    if not clusterings:
        raise ValueError("clusterings is empty: it needs at least one candidate.")
    for name in clusterings:
        if not isinstance(name, str):
            raise TypeError(f"clusterings must have strings as names, got {name!r}.")


def _score(X: Any, name: str, candidate: Any, settings: dict[str, Any]) -> AffinityResult:
    clusters_itself = hasattr(candidate, "fit") and not isinstance(candidate, type)
    try:
        if clusters_itself:
            return AffinityScorer(candidate, **settings).fit_affinity(X)
        return AffinityScorer(**settings).fit_affinity(X, candidate)
    except (TypeError, ValueError) as error:
        error.add_note(f"This happened with clusterings[{name!r}].")
        raise
