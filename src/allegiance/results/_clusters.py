"""Counts by cluster, which can be added up over pieces of data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allegiance._core.validation import AnyArray, BoolArray, FloatArray, IntArray
from allegiance.calibration import TrustMap
from allegiance.engines import Z95, engine_names

if TYPE_CHECKING:
    from ._result import AffinityResult

SUPPORTED, CONTESTED, CONTRADICTED, NO_LABEL = "supported", "contested", "contradicted", "noise"
#: All verdicts, in the order in which they are shown.
VERDICTS = (SUPPORTED, CONTESTED, CONTRADICTED, NO_LABEL)
#: Points with less typicality are unlike the members of their cluster.
ATYPICAL = 0.01


class ClusterFigures(NamedTuple):
    """One cluster, or the noise, in numbers."""

    name: Any
    """Its label; None for noise."""
    points: int
    replication: float
    """Mean trust; NaN without calibration, without points, and for noise."""
    own_affinity: float
    """Mean affinity to the cluster itself; NaN without points, and for noise."""
    supported: int
    contested: int
    contradicted: int
    stable: int
    """The paper's criterion."""
    atypical: int
    """Members unlike anything in the cluster."""
    rival: Any
    """The most frequent rival of its doubtful points; None if there are none."""

    @property
    def trouble(self) -> float:
        """What clusters are sorted by: the share of labels that would not come back, or are not supported."""
        if not self.points or self.name is None:
            return -1.0
        return 1.0 - (self.supported / self.points if np.isnan(self.replication) else self.replication)


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts over points that can be added up: each array has a row for each cluster, and a last one for noise.

    Attributes
    ----------
    classes
        (k,) labels of the clusters.
    counts
        (k + 1, 6) points, supported, contested, contradicted, stable, atypical.
    own_affinity
        (k + 1,) sums.
    trust
        (k + 1,) sums; None without calibration.
    rivals
        (k + 1, k) how often each cluster is the rival of a doubtful point.
    undecided, empty_cells
        Points too close to the paper's one half to call, and without territory.
    worst_error
        Largest standard error of any affinity.
    engines
        How many points each engine measured.
    trust_map
        What calibration found; None without it.
    """

    classes: AnyArray
    counts: IntArray
    own_affinity: FloatArray
    trust: FloatArray | None
    rivals: IntArray
    undecided: int
    empty_cells: int
    worst_error: float
    engines: dict[str, int]
    trust_map: TrustMap | None

    @classmethod
    def of(cls, result: AffinityResult) -> Tally:
        """Count the points of a result."""
        k = result.n_clusters
        rows = np.where(result.noise, k, result.codes)
        verdict = result.verdict
        flags = [np.ones(rows.size, dtype=bool), *(verdict == name for name in (SUPPORTED, CONTESTED, CONTRADICTED))]
        atypical = np.zeros(rows.size, dtype=bool)
        if result.members is not None:
            with np.errstate(invalid="ignore"):
                atypical = result.typicality < ATYPICAL
        doubtful = verdict != SUPPORTED
        pairs = rows[doubtful] * k + result.ranks.rival[doubtful]
        trust_map, ranks = result.trust_map, result.ranks
        engines, numbers = np.unique(result.engine_codes, return_counts=True)
        return cls(
            classes=result.classes,
            counts=count_by_cluster(result.codes, k, [*flags, result.stable, atypical]),
            own_affinity=_sums(rows, result.own_affinity, k + 1),
            trust=None if trust_map is None else _sums(rows, np.nan_to_num(result.chance_to_return), k + 1),
            rivals=np.bincount(pairs, minlength=(k + 1) * k).reshape(k + 1, k),
            undecided=_undecided(ranks.largest, ranks.largest_error),
            empty_cells=int(result.empty_cell.sum()),
            worst_error=float(ranks.worst_error.max(initial=0.0)),
            engines=dict(zip(engine_names(engines).tolist(), numbers.tolist(), strict=True)),
            trust_map=trust_map,
        )

    def plus(self, other: Tally) -> Tally:
        """Return the counts over both sets of points, scored by the same scorer."""
        engines = {
            name: self.engines.get(name, 0) + other.engines.get(name, 0) for name in {*self.engines, *other.engines}
        }
        return Tally(
            self.classes,
            self.counts + other.counts,
            self.own_affinity + other.own_affinity,
            None if self.trust is None or other.trust is None else self.trust + other.trust,
            self.rivals + other.rivals,
            self.undecided + other.undecided,
            self.empty_cells + other.empty_cells,
            max(self.worst_error, other.worst_error),
            engines,
            self.trust_map,
        )

    def to_json(self) -> str:
        """Return the counts as text, to be kept with the scores they count."""
        arrays = {name: getattr(self, name) for name in ("counts", "own_affinity", "trust", "rivals")}
        values: dict[str, Any] = {name: None if array is None else array.tolist() for name, array in arrays.items()}
        values |= {name: getattr(self, name) for name in ("undecided", "empty_cells", "worst_error", "engines")}
        return json.dumps(values)

    @classmethod
    def from_json(cls, text: str | bytes, classes: AnyArray, trust_map: TrustMap | None) -> Tally:
        """Return the counts that :meth:`to_json` described, of a scorer with these clusters and this calibration."""
        values = json.loads(text)
        for name in ("counts", "own_affinity", "trust", "rivals"):
            values[name] = None if values[name] is None else np.array(values[name])
        values["rivals"] = values["rivals"].reshape(classes.size + 1, classes.size)
        return cls(classes=classes, trust_map=trust_map, **values)

    @property
    def n_points(self) -> int:
        """The number of points, noise included."""
        return int(self.counts[:, 0].sum())

    @property
    def n_labelled(self) -> int:
        """The number of points in a cluster."""
        return int(self.counts[:-1, 0].sum())

    def total(self, verdict: str) -> int:
        """Return how many labels have a verdict."""
        return int(self.counts[:-1, 1 + (SUPPORTED, CONTESTED, CONTRADICTED).index(verdict)].sum())

    @property
    def stable(self) -> int:
        """How many points are stable in the sense of the paper."""
        return int(self.counts[:, 4].sum())

    @property
    def atypical(self) -> int:
        """How many points are unlike anything in their cluster."""
        return int(self.counts[:, 5].sum())

    @property
    def replication(self) -> tuple[float, float, float] | None:
        """The share of labels that would come back, and its 90 % interval for one repeat; None without calibration.

        NaN without labels.
        """
        if self.trust is None or self.trust_map is None:
            return None
        if not self.n_labelled:
            return (np.nan, np.nan, np.nan)
        share = float(self.trust[:-1].sum()) / self.n_labelled
        return (share, *self.trust_map.interval(share))

    def clusters(self) -> list[ClusterFigures]:
        """Return the figures of each cluster in the order of ``classes``, and of the noise, if there is any, last."""
        lines = []
        for row in range(self.classes.size + bool(self.counts[-1, 0])):
            points, supported, contested, contradicted, stable, atypical = self.counts[row].tolist()
            is_cluster = row < self.classes.size
            labelled = points and is_cluster
            rivals = self.rivals[row]
            lines.append(
                ClusterFigures(
                    name=self.classes[row] if is_cluster else None,
                    points=points,
                    replication=self.trust[row] / points if labelled and self.trust is not None else np.nan,
                    own_affinity=self.own_affinity[row] / points if labelled else np.nan,
                    supported=supported,
                    contested=contested,
                    contradicted=contradicted,
                    stable=stable,
                    atypical=atypical,
                    rival=self.classes[rivals.argmax()] if rivals.any() else None,
                )
            )
        return lines

    def worst_first(self) -> list[ClusterFigures]:
        """Return the figures of the clusters, those with the most trouble first, noise last."""
        return sorted(self.clusters(), key=lambda line: (line.name is None, -line.trouble))


def count_by_cluster(codes: IntArray, k: int, flags: Sequence[BoolArray]) -> IntArray:
    """Return how many points of each cluster, and of noise (-1) last, have each flag (n,): (k + 1, m) counts."""
    rows = np.where(codes < 0, k, codes)
    return np.stack([np.bincount(rows[flag], minlength=k + 1) for flag in flags], axis=1)


def cluster_table(result: AffinityResult) -> dict[str, Any]:
    """Return the columns of :meth:`AffinityResult.by_cluster` by name."""
    tally = result.tally()
    lines = tally.worst_first()
    columns: dict[str, list[Any]] = {"cluster": [_named(line.name) for line in lines]}
    columns["points"] = [line.points for line in lines]
    if result.calibrated:
        columns["replication"] = [line.replication for line in lines]
    for name in (SUPPORTED, CONTESTED, CONTRADICTED):
        columns[name] = [getattr(line, name) for line in lines]
    columns["rival"] = [line.rival for line in lines]
    places = {str(name): place for place, name in enumerate(result.classes)}
    typical, doubtful = _extremes(result)
    order = [None if line.name is None else places[str(line.name)] for line in lines]
    for name, rows in (("most_typical", typical), ("least_trusted", doubtful)):
        found = [-1 if place is None else int(rows[place]) for place in order]
        columns[name] = [None if row < 0 else result.frame_like.row_name(row) for row in found]
    return {name: _column(values) for name, values in columns.items()}


def _extremes(result: AffinityResult) -> tuple[IntArray, IntArray]:
    """Return the rows (k,) of the most typical and of the least trusted member of each cluster; -1 without members."""
    found = []
    for key in (result.distance, result.ranking):
        order = np.lexsort((key, result.codes))
        first = np.searchsorted(result.codes[order], np.arange(result.n_clusters))
        rows = np.full(result.n_clusters, -1)
        inside = first < order.size
        candidates = order[first[inside]]
        match = result.codes[candidates] == np.flatnonzero(inside)
        rows[np.flatnonzero(inside)[match]] = candidates[match]
        found.append(rows)
    return found[0], found[1]


def _undecided(largest: FloatArray, error: FloatArray) -> int:
    """Count the points whose 95 % interval of the largest affinity leaves open whether it is more than one half."""
    distance = np.abs(largest - 0.5)
    return int(((distance <= Z95 * error) & ((error > 0) | (distance > 0))).sum())


def _sums(rows: IntArray, values: FloatArray, n: int) -> FloatArray:
    """Return the sum (n,) of the values of each row number."""
    return np.bincount(rows, weights=values, minlength=n).astype(np.float64, copy=False)


def _named(name: Any) -> Any:
    return "noise" if name is None else name


def _column(values: list[Any]) -> Any:
    """Return values as frames want them: of one type, None where there is no value."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    kinds = {type(value) for value in plain if value is not None}
    return plain if len(kinds) <= 1 else [None if value is None else str(value) for value in plain]
