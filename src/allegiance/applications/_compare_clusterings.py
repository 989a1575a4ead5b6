"""Several clusterings of the same data: which labels can be trusted more, as a whole and point by point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from allegiance._core import AnyArray, BoolArray, FloatArray, IntArray
from allegiance._scorer import AffinityScorer
from allegiance.notebook import Card, Share, share_bar
from allegiance.results import CONTESTED, CONTRADICTED, SUPPORTED, AffinityResult, FrameLike

from ._given_scorer import calibrated_scorer, score_candidate
from ._text_table import text_table

_HEADINGS = (
    "candidate",
    "clusters",
    "labelled",
    "right",
    "above chance",
    "supported",
    "contested",
    "contradicted",
    "best for",
    "stable",
)


class CandidateLine(NamedTuple):
    """One candidate in numbers."""

    name: str
    n_clusters: int
    labelled: float
    """Share of the points that are not noise."""
    replication: float
    """Mean trust in the labels."""
    above_chance: float
    """What candidates are judged by: 1 if all labels hold, 0 if no more than unrelated ones would."""
    supported: int
    contested: int
    contradicted: int
    best_for: int
    """Number of points whose label is trusted most under this candidate."""
    stable: float
    """Share of the points that are stable, the paper's criterion."""


@dataclass(frozen=True, repr=False, eq=False)
class ClusteringComparison:
    """Several clusterings of the same points.

    ``print(comparison)`` gives a summary, :meth:`frame` one row per point.

    Attributes
    ----------
    results
        The affinities of all points under each candidate, and trust in its labels, by name.

    See Also
    --------
    allegiance.compare_clusterings : What returns it, with an example.
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
    def above_chance(self) -> FloatArray:
        """(m,) trust above chance in the labels of each candidate: what they are judged by."""
        return np.array([result.above_chance() for result in self.results.values()])

    @property
    def best(self) -> str:
        """The name of the candidate with the most trust above chance; the first of equals."""
        return self.names[int(self.above_chance.argmax())]

    @cached_property
    def trust(self) -> FloatArray:
        """(n, m) chance that the label of each point holds under each candidate, NaN for noise."""
        return np.column_stack([result.trust for result in self.results.values()])

    @cached_property
    def trust_above_chance(self) -> FloatArray:
        """(n, m) trust on a scale where 0 is what labels unrelated to the data would have, and 1 is certainty.

        Noise has no label to trust, and one cluster for all says nothing: both have 0.
        """
        chance = np.array([_chance(result) for result in self.results.values()])
        scaled = (self.trust - chance) / np.where(chance < 1.0, 1.0 - chance, np.inf)
        return np.nan_to_num(scaled, nan=0.0)

    @cached_property
    def supported(self) -> BoolArray:
        """(n, m) whether the verdict on the label of each point is "supported" under each candidate."""
        return np.column_stack([result.verdict == SUPPORTED for result in self.results.values()])

    @property
    def n_supported(self) -> IntArray:
        """(n,) under how many candidates the label of each point is supported."""
        return self.supported.sum(axis=1)

    @property
    def never_supported(self) -> BoolArray:
        """(n,) whether no candidate has a supported label for the point: review these, whichever is chosen."""
        return self.n_supported == 0

    @cached_property
    def best_by_point(self) -> AnyArray:
        """(n,) name of the candidate whose label for the point is trusted most above chance; the first of equals."""
        return np.array(self.names)[self.trust_above_chance.argmax(axis=1)]

    def candidates(self) -> list[CandidateLine]:
        """Return the figures of each candidate, in the order given."""
        return [self._line(name, result) for name, result in self.results.items()]

    def _line(self, name: str, result: AffinityResult) -> CandidateLine:
        tally = result.tally()
        return CandidateLine(
            name=name,
            n_clusters=result.n_clusters,
            labelled=tally.n_labelled / max(tally.n_points, 1),
            replication=result.replication,
            above_chance=result.above_chance(),
            supported=tally.total(SUPPORTED),
            contested=tally.total(CONTESTED),
            contradicted=tally.total(CONTRADICTED),
            best_for=int((self.best_by_point == name).sum()),
            stable=tally.stable / max(tally.n_points, 1),
        )

    def frame(self, like: Any = None) -> Any:
        """Return one row per point, in the order of the input.

        Columns are ``label_<name>``, ``trust_<name>`` and ``verdict_<name>`` for each candidate, then ``best`` and
        ``n_supported``.

        Parameters
        ----------
        like
            A frame whose kind, and for pandas whose index, to use. By default those of the X that was scored; pandas
            if X was not a frame.
        """
        columns: dict[str, AnyArray] = {}
        for name, result in self.results.items():
            columns[f"label_{name}"] = result.label
            columns[f"trust_{name}"] = result.trust
            columns[f"verdict_{name}"] = result.verdict
        columns["best"] = self.best_by_point
        columns["n_supported"] = self.n_supported
        frame = self._frame if like is None else FrameLike.of(like)
        return frame.build(columns)

    def __repr__(self) -> str:
        table = text_table(_HEADINGS, self._cells(), left=("candidate",))
        return "\n".join([self._title(), self._headline(), "", *table, *self._notes()])

    def _repr_html_(self) -> str:
        bars = [
            share_bar([Share(name, getattr(line, name)) for name in (SUPPORTED, CONTESTED, CONTRADICTED)])
            for line in self.candidates()
        ]
        return Card(
            title=self._title(),
            lines=[self._headline()],
            headings=(*_HEADINGS[:5], "", *_HEADINGS[5:]),
            rows=[[*cells[:5], bar, *cells[5:]] for cells, bar in zip(self._cells(), bars, strict=True)],
            words=("candidate", ""),
            notes=self._notes(),
        ).html()

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            (
                line.name,
                f"{line.n_clusters:,}",
                f"{line.labelled:.0%}",
                f"{line.replication:.0%}",
                f"{line.above_chance:.2f}",
                *(f"{number:,}" for number in (line.supported, line.contested, line.contradicted, line.best_for)),
                f"{line.stable:.0%}",
            )
            for line in self.candidates()
        ]

    def _title(self) -> str:
        m = len(self.results)
        return f"{m} clustering{'' if m == 1 else 's'} of {self.n_points:,} points"

    def _headline(self) -> str:
        everywhere = int((self.n_supported == len(self.results)).sum())
        nowhere = int(self.never_supported.sum())
        some = self.n_points - everywhere - nowhere
        return (
            f"Most trust above chance: {self.best}. Labels supported under every candidate: {everywhere:,} points, "
            f"under some {some:,}, under none {nowhere:,}"
        )

    def _notes(self) -> list[str]:
        """Say where trust should not be believed as it is."""
        notes = [f"{name}: {result.clusterer_note}" for name, result in self.results.items() if result.clusterer_note]
        if any(result.noise.any() for result in self.results.values()):
            notes.append("Noise has no label to trust: a candidate that leaves doubtful points out looks better.")
        return ["", *notes] if notes else []


def compare_clusterings(
    X: Any, clusterings: Mapping[str, Any], *, scorer: AffinityScorer | None = None
) -> ClusteringComparison:
    """Score every point under several candidate clusterings, and say which labels can be trusted more.

    Candidates are judged by trust above chance, (E - C) / (1 - C) with E the expected share of right labels and C that
    of labels unrelated to the data. So numbers of clusters may differ. All candidates are scored with the same settings
    and the same random numbers.

    Parameters
    ----------
    X
        (n, d) data: array, sparse matrix, or frame (pandas, polars).
    clusterings
        The candidates by name. Each is (n,) labels, -1 for noise, or a clusterer, of which a clone is fitted; a fitted
        one is kept as it is inside a :class:`~sklearn.frozen.FrozenEstimator`.
    scorer
        How labels are scored, with calibration and without clusters of its own. By default
        ``AffinityScorer(influence="within", calibration=20)``.

    Returns
    -------
    ClusteringComparison
        The results of all candidates, and how they compare.

    See Also
    --------
    stability_curve : To look for a number of clusters.

    Notes
    -----
    Trust says whether labels come back when the data are clustered anew, by k-means unless the calibration of the
    scorer names another clusterer. A clustering can be stable and wrong: two classes that always come out as one.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from allegiance import compare_clusterings
    >>> X, species = load_iris(return_X_y=True)
    >>> shuffled = np.random.default_rng(0).permutation(species)
    >>> comparison = compare_clusterings(X, {"species": species, "shuffled": shuffled})
    >>> comparison.best
    'species'
    """
    _check_clusterings(clusterings)
    checked = calibrated_scorer(scorer, "compare_clusterings")
    results = {
        name: score_candidate(checked, X, candidate, f"clusterings[{name!r}]")
        for name, candidate in clusterings.items()
    }
    return ClusteringComparison(results, FrameLike.of(X))


def _chance(result: AffinityResult) -> float:
    assert result.trust_map is not None
    return result.trust_map.chance


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
