"""What is explored: points, what is known about each, and what shows them to a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from allegiance._core import AnyArray, BoolArray, FloatArray, IntArray
from allegiance.applications import FIELDS, Documents
from allegiance.engines import Z95
from allegiance.report import Features
from allegiance.results import ATYPICAL, CONTESTED, CONTRADICTED, SUPPORTED, VERDICTS, AffinityResult

from ._showing import Showing

#: Affinities listed for a point.
_LISTED = 8
#: Words that speak for the rival, of a text.
_WORDS = 8


class Share(NamedTuple):
    """What a cluster gives to the territory of a point."""

    cluster: int
    affinity: float
    half_width: float
    """Of the 95 % interval; 0 if the affinity is exact."""


class ClusterCounts(NamedTuple):
    """One cluster in numbers."""

    cluster: int
    points: int
    supported: int
    contested: int
    contradicted: int
    replication: float
    """Mean trust, or mean own affinity without calibration; NaN without points."""
    atypical: int
    rivals: list[tuple[int, int]]
    """Rivals of its doubtful points and how often they are, the most frequent first."""

    @property
    def trouble(self) -> float:
        """What clusters are sorted by."""
        return -1.0 if not self.points else 1.0 - self.replication


@dataclass(frozen=True, eq=False)
class Subject:
    """Points with their labels and scores, from a result or from a table of scores.

    Attributes
    ----------
    classes
        (k,) labels of the clusters.
    codes
        (n,) cluster numbers, -1 for noise.
    ranking
        (n,) trust, or own affinity without calibration; NaN for noise.
    calibrated
        Whether ``ranking`` is trust.
    verdict
        (n,) numbers of ``VERDICTS``.
    rival
        (n,) cluster number of the best other cluster.
    own
        (n,) affinity to the own cluster.
    typicality
        (n,) NaN for noise; None if it is not known.
    features
        The data behind the points; None if there is none.
    ids
        Columns (n,) that identify the points, by name.
    numbers
        (n,) rows of the points in the user's data, ascending; None if all rows of it are here.
    showing
        Texts and pictures of the points.
    result
        The full result; None if only a table of scores is known.
    title
        The heading of the page.
    note
        Why trust should not be believed as it is; None if nothing speaks against it.
    """

    classes: AnyArray
    codes: IntArray
    ranking: FloatArray
    calibrated: bool
    verdict: IntArray
    rival: IntArray
    own: FloatArray
    typicality: FloatArray | None
    features: Features | None = None
    ids: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    numbers: IntArray | None = None
    showing: Showing = field(default_factory=Showing)
    result: AffinityResult | None = None
    title: str = ""
    note: str | None = None

    def __post_init__(self) -> None:
        # A decision has columns of its own, which an identifier must not take the place of.
        free = {f"{name} (id)" if name in FIELDS else name: column for name, column in self.ids.items()}
        object.__setattr__(self, "ids", free)

    @classmethod
    def of_result(cls, result: AffinityResult, **shown: Any) -> Subject:
        """Return what a result says of its points; for ``shown`` see the attributes."""
        verdict = result.verdict
        return cls(
            classes=result.classes,
            codes=result.codes,
            ranking=np.minimum(result.ranking, 1.0),
            calibrated=result.calibrated,
            verdict=np.select([verdict == name for name in VERDICTS], range(len(VERDICTS))),
            rival=result.ranks.rival,
            own=result.own_affinity,
            typicality=None if result.members is None else result.typicality,
            result=result,
            note=result.clusterer_note,
            **shown,
        )

    @property
    def n_points(self) -> int:
        """The number of points."""
        return self.codes.size

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return self.classes.size

    @property
    def quantity(self) -> str:
        """What ``ranking`` is called."""
        return "trust" if self.calibrated else "own affinity"

    @cached_property
    def names(self) -> list[str]:
        """(k,) names of the clusters."""
        return [str(name) for name in self.classes.tolist()]

    def name(self, cluster: int) -> str:
        """Return the name of a cluster, or of noise."""
        return "noise" if cluster < 0 else self.names[cluster]

    def label(self, row: int) -> Any:
        """Return the label of a point as a plain value; -1 for noise, as text among names."""
        if self.codes[row] >= 0:
            return self.classes[self.codes[row]].item()
        return "-1" if self.classes.dtype.kind in "UO" else -1

    @cached_property
    def labels(self) -> AnyArray:
        """(n,) the labels of all points."""
        noise = "-1" if self.classes.dtype.kind in "UO" else -1
        return np.where(self.codes >= 0, self.classes[self.codes], noise)

    def id_of(self, row: int) -> dict[str, Any]:
        """Return what identifies a point, as plain values."""
        values = {name: column[row] for name, column in self.ids.items()}
        return {name: value.item() if hasattr(value, "item") else value for name, value in values.items()}

    def number(self, row: int) -> int:
        """Return the row of a point in the user's data."""
        return int(row if self.numbers is None else self.numbers[row])

    def row_of(self, number: int) -> int | None:
        """Return the point of a row of the user's data; None if it is not here."""
        if self.numbers is None:
            return number if 0 <= number < self.n_points else None
        place = int(np.searchsorted(self.numbers, number))
        return place if place < self.n_points and self.numbers[place] == number else None

    def called(self, row: int) -> str:
        """Return what a person calls a point: its identifiers, or the number of its row."""
        found = self.id_of(row)
        return " / ".join(map(str, found.values())) if found else f"row {self.number(row)}"

    @property
    def doubtful(self) -> BoolArray:
        """(n,) whether a label is not supported; noise is not doubtful."""
        return (self.verdict == VERDICTS.index(CONTESTED)) | (self.verdict == VERDICTS.index(CONTRADICTED))

    @cached_property
    def _documents(self) -> Documents | None:
        if self.result is None or self.showing.texts is None:
            return None
        try:
            return Documents(self.result, self.showing.texts)
        except ValueError:  # Texts in which no word can be counted.
            return None

    def words_for_rival(self, row: int) -> list[str]:
        """Return the words of a doubtful point's text that are more typical of its rival; none without a result."""
        if self._documents is None or not self.doubtful[row]:
            return []
        return self._documents.words_for_rival(row, _WORDS).words

    def shares(self, row: int) -> list[Share]:
        """Return the largest affinities of a point, and that to its own cluster; without a result only the latter."""
        own = int(self.codes[row])
        if self.result is not None and self.result.clusters is None:
            affinity, half = self.result.affinity[row], Z95 * self.result.standard_error[row]
            order = np.argsort(-affinity, kind="stable")[:_LISTED].tolist()
            if own >= 0 and own not in order:
                order = [*order[:-1], own]
            return [Share(i, float(affinity[i]), float(half[i])) for i in order]
        if self.result is not None:
            ranks = self.result.ranks
            found = [
                Share(cluster, float(affinity[row]), Z95 * float(error[row]))
                for cluster, affinity, error in (
                    (int(ranks.first[row]), ranks.largest, ranks.largest_error),
                    (own, ranks.own, ranks.own_error),
                    (int(ranks.rival[row]), ranks.rival_affinity, ranks.rival_error),
                )
            ]
            distinct = {share.cluster: share for share in found if share.cluster >= 0}
            return sorted(distinct.values(), key=lambda share: -share.affinity)
        return [] if own < 0 else [Share(own, float(self.own[row]), 0.0)]

    @cached_property
    def clusters(self) -> list[ClusterCounts]:
        """The clusters in numbers, in the order of ``classes``."""
        k, inside = self.n_clusters, self.codes >= 0
        codes, verdict = self.codes[inside], self.verdict[inside]
        points = np.bincount(codes, minlength=k)
        by_verdict = [
            np.bincount(codes[verdict == VERDICTS.index(name)], minlength=k)
            for name in (SUPPORTED, CONTESTED, CONTRADICTED)
        ]
        ranking = np.bincount(codes, weights=self.ranking[inside], minlength=k)
        unlike = np.zeros(self.n_points, dtype=bool) if self.typicality is None else self.typicality < ATYPICAL
        atypical = np.bincount(codes[unlike[inside]], minlength=k)
        doubtful = self.doubtful
        pairs = np.bincount(self.codes[doubtful] * k + self.rival[doubtful], minlength=k * k).reshape(k, k)
        found = []
        for i in range(k):
            order = np.argsort(-pairs[i], kind="stable")
            found.append(
                ClusterCounts(
                    i,
                    int(points[i]),
                    supported=int(by_verdict[0][i]),
                    contested=int(by_verdict[1][i]),
                    contradicted=int(by_verdict[2][i]),
                    replication=float(ranking[i] / points[i]) if points[i] else np.nan,
                    atypical=int(atypical[i]),
                    rivals=[(int(j), int(pairs[i, j])) for j in order if pairs[i, j]],
                )
            )
        return found

    def worst_first(self) -> list[ClusterCounts]:
        """Return the clusters, those with the most trouble first."""
        return sorted(self.clusters, key=lambda line: -line.trouble)

    def members(self, cluster: int) -> IntArray:
        """Return the rows of the points of a cluster."""
        return np.flatnonzero(self.codes == cluster)

    def most_typical(self, cluster: int, count: int) -> IntArray:
        """Return the rows of the members that lie farthest inside; by own affinity if typicality is not known."""
        rows = self.members(cluster)
        inner = self.own if self.typicality is None else self.typicality
        return rows[np.argsort(-inner[rows], kind="stable")[:count]]

    def least_trusted(self, cluster: int, count: int) -> IntArray:
        """Return the rows of the members with the least trust, the least first."""
        rows = self.members(cluster)
        return rows[np.argsort(self.ranking[rows], kind="stable")[:count]]
