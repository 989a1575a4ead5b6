"""Summary: counts by cluster, replication and the head of the review list, merged exactly over partitions."""

from __future__ import annotations

import heapq
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allegiance._core.validation import AnyArray, BoolArray, FloatArray, IntArray
from allegiance.calibration import TrustMap, above_chance
from allegiance.engines import Z95, engine_names
from allegiance.notebook import Card, CardMixin, Cell, count, histogram_picture, share_bar, text_table

if TYPE_CHECKING:
    from allegiance.drivers import Drivers

    from ._result import AffinityResult, Measurement

FIRM, BORDERLINE, DOUBTFUL, NOISE_VERDICT = "firm", "borderline", "doubtful", "noise"
#: All verdicts, from the most to the least trusted.
VERDICTS = (FIRM, BORDERLINE, DOUBTFUL, NOISE_VERDICT)
#: The lowest trust of a firm and of a borderline label.
FIRM_TRUST, BORDERLINE_TRUST = 0.8, 0.5
#: Points below this typicality are outliers of their cluster.
ATYPICAL = 0.01
#: Rows in the head of the review list.
REVIEW_HEAD = 10
#: Clusters listed before the table is cut.
_MAX_CLUSTERS = 20
#: Bins of the trust histogram.
_BINS = 20
#: Sums of numbers between 0 and 1 are whole multiples of 2**-60, so that they do not depend on the order of addition.
_HALF_BITS = 30
_ONE = 2 ** (2 * _HALF_BITS)


class ClusterFigures(NamedTuple):
    """One cluster of a summary, or the noise, in numbers."""

    name: Any
    """Its label; None for noise."""
    points: int
    replication: float
    """Mean trust; NaN without calibration, without points, and for noise."""
    replication_low: float
    replication_high: float
    """90% prediction interval of the replication."""
    own_affinity: float
    """Mean affinity to the cluster itself; NaN without points, and for noise."""
    firm: int
    borderline: int
    doubtful: int
    stable: int
    """Points that meet the paper's criterion."""
    atypical: int
    """Outliers among its points."""
    rival: Any
    """The most frequent rival of its points that are not firm; None if all are."""

    @property
    def doubt(self) -> float:
        """The sort key of clusters in a summary: the share of labels that would not replicate, or affinity."""
        if not self.points or self.name is None:
            return -1.0
        return 1.0 - (self.own_affinity if np.isnan(self.replication) else self.replication)


@dataclass(frozen=True, eq=False, repr=False)
class Summary(CardMixin):
    """The summary that ``print(result)`` shows, as numbers that add up over partitions.

    ``first + second`` is the summary of both sets of points, where those of ``second`` follow those of ``first``. It
    is the same, to the last bit, as the summary of all points at once.

    Attributes
    ----------
    classes
        (k,) label of each cluster.
    counts
        (k + 1, 6) points, firm, borderline, doubtful, stable and atypical points of each cluster, noise last.
    rivals
        (k + 1, k) how often each cluster is the rival of a point that is not firm.
    review
        The first labels to review: one dict per label, with its row, label, trust, verdict, rival, priority and reason.
    imprecise
        The number of points measured less precisely than requested.
    measurement
        How the affinities were measured.
    profile
        The drift profile of the points, for :func:`allegiance.drift.compare_profiles`; None if there is none.
    """

    classes: AnyArray
    counts: IntArray
    rivals: IntArray
    review: list[dict[str, Any]]
    imprecise: int
    measurement: Measurement
    _engines: Counter[str]
    """The number of points that each engine measured."""
    _undecided: int
    """The number of points too close to one half to call stable or not."""
    _empty_cells: int
    _worst_error: float
    """The largest standard error of any affinity."""
    profile: Any = None
    _histogram: IntArray = field(default_factory=lambda: np.zeros(_BINS, np.int64))
    _own_sums: AnyArray = field(default_factory=lambda: np.zeros(0, object))
    _trust_sums: AnyArray = field(default_factory=lambda: np.zeros(0, object))
    """(k + 1,) sums of own affinity, and of trust, in units of 2**-60; zero without trust."""
    _trust_map: TrustMap | None = None
    _is_audit: bool = False
    """Whether trust is the chance that a label is right, from an audit."""
    _has_row_numbers: bool = True
    """Whether rows of the review list are row numbers, which shift when summaries are added."""

    @classmethod
    def of(cls, result: AffinityResult) -> Summary:
        """Summarize a result."""
        k, ranks, verdicts = result.classes.size, result._ranks, result._verdicts
        rows = np.where(result._noise, k, result._codes)
        atypical = np.zeros(rows.size, dtype=bool)
        if result._members is not None:
            with np.errstate(invalid="ignore"):
                atypical = result.typicality < ATYPICAL
        flags = [np.ones(rows.size, dtype=bool), *(verdicts == name for name in VERDICTS[:3]), result.stable, atypical]
        weak = verdicts != FIRM
        pairs = rows[weak] * k + ranks.rival[weak]
        distance = np.abs(ranks.largest - 0.5)
        undecided = (distance <= Z95 * ranks.largest_error) & ((ranks.largest_error > 0) | (distance > 0))
        index = result._frame_like.index
        is_range = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
        engines, numbers = np.unique(result._engine_codes, return_counts=True)
        values = result._trust_or_affinity
        return cls(
            classes=result.classes,
            counts=count_by_cluster(result._codes, k, flags),
            rivals=np.bincount(pairs, minlength=(k + 1) * k).reshape(k + 1, k),
            review=result._review_head(REVIEW_HEAD),
            _engines=Counter(dict(zip(engine_names(engines).tolist(), numbers.tolist(), strict=True))),
            _undecided=int(undecided.sum()),
            _empty_cells=int(result._empty_cell.sum()),
            imprecise=result._count_imprecise(),
            _worst_error=float(ranks.worst_error.max(initial=0.0)),
            measurement=result._measurement,
            _histogram=np.histogram(values[~np.isnan(values)], bins=_BINS, range=(0.0, 1.0))[0],
            _own_sums=_sum_by_cluster(rows, ranks.own, k + 1),
            _trust_sums=_sum_by_cluster(rows, np.nan_to_num(values) * result._has_trust, k + 1),
            _trust_map=result._trust_map,
            _is_audit=result._audited is not None,
            _has_row_numbers=index is None or is_range,
        )

    def __add__(self, other: Summary) -> Summary:
        """Return the summary of the points of both, scored by the same scorer."""
        if not np.array_equal(self.classes, other.classes):
            raise ValueError("summaries can only be added if they come from the same scorer: their clusters differ.")
        later = other.review
        if self._has_row_numbers:
            later = [{**line, "row": line["row"] + self.n_points} for line in later]
        head = heapq.merge(self.review, later, key=lambda line: -line["priority"])
        return replace(
            self,
            review=list(head)[:REVIEW_HEAD],
            _worst_error=max(self._worst_error, other._worst_error),
            measurement=replace(self.measurement, seconds=self.measurement.seconds + other.measurement.seconds),
            profile=None if self.profile is None or other.profile is None else self.profile + other.profile,
            **{name: getattr(self, name) + getattr(other, name) for name in (*_ARRAYS, *_COUNTS)},
        )

    def to_json(self) -> str:
        """Return the numbers of the summary as text, to be kept with the scores; the profile is left out."""
        values = {name: getattr(self, name).tolist() for name in _ARRAYS}
        values |= {name: getattr(self, name) for name in (*_COUNTS, "review", "_worst_error")}
        values["seconds"] = self.measurement.seconds
        return json.dumps(values, default=lambda value: value.item() if isinstance(value, np.generic) else str(value))

    def from_json(self, text: str | bytes) -> Summary:
        """Return the summary that :meth:`to_json` wrote; this one is any summary of the same scorer."""
        values: dict[str, Any] = json.loads(text)
        how = replace(self.measurement, seconds=values.pop("seconds"))
        for name in _ARRAYS:
            array = getattr(self, name)
            values[name] = np.array(values[name], dtype=array.dtype).reshape(-1, *array.shape[1:])
        return replace(self, measurement=how, profile=None, **values | {"_engines": Counter(values["_engines"])})

    @property
    def n_points(self) -> int:
        """The number of points in the summary, noise included."""
        return int(self.counts[:, 0].sum())

    @property
    def n_labels(self) -> int:
        """The number of labels in the summary: points in a cluster."""
        return int(self.counts[:-1, 0].sum())

    @property
    def verdicts(self) -> dict[str, int]:
        """The number of labels in the summary with each verdict; empty without trust."""
        if self._trust_map is None:
            return {}
        return dict(zip(VERDICTS[:3], self.counts[:-1, 1:4].sum(axis=0).tolist(), strict=True))

    @property
    def stable(self) -> int:
        """The number of points in the summary that meet the paper's criterion."""
        return int(self.counts[:, 4].sum())

    @property
    def atypical(self) -> int:
        """The number of outliers in the summary: points less typical than 99% of their cluster."""
        return int(self.counts[:, 5].sum())

    @property
    def replication(self) -> float | None:
        """The share of labels that would hold up on a fresh sample; None without trust, NaN without labels.

        In the summary of an audited result, it is the share of labels that are right.
        """
        if self._trust_map is None:
            return None
        return sum(self._trust_sums[:-1]) / _ONE / self.n_labels if self.n_labels else np.nan

    @property
    def replication_interval(self) -> tuple[float, float] | None:
        """90% prediction interval of the replication; None without trust."""
        share = self.replication
        if share is None or self._trust_map is None:
            return None
        return (np.nan, np.nan) if self._is_audit else self._trust_map.interval(share)

    @property
    def above_chance(self) -> float | None:
        """Replication on a scale where 0 is the agreement of unrelated partitions and 1 is perfect; None without trust.

        It is (E - C) / (1 - C), with E the replication and C that of unrelated partitions with these cluster sizes.
        """
        share = self.replication
        return None if share is None or self._trust_map is None else above_chance(share, self._trust_map.chance)

    @property
    def clusters(self) -> list[ClusterFigures]:
        """The clusters of the summary in the order of ``classes``, then the noise, if there is any."""
        k, points = self.classes.size, self.counts[:, 0]
        # Replication, its interval, and own affinity; NaN for noise.
        shares = np.full((k + 1, 4), np.nan)
        with np.errstate(invalid="ignore", divide="ignore"):
            shares[:k, 3] = (self._own_sums[:k] / _ONE).astype(np.float64) / points[:k]
            if self._trust_map is not None:
                shares[:k, 0] = (self._trust_sums[:k] / _ONE).astype(np.float64) / points[:k]
                if not self._is_audit:
                    shares[:k, 1:3] = self._trust_map.cluster_intervals(shares[:k, 0])
                    shares[:k, 1:3][points[:k] == 1] = np.nan  # one label replicates or does not
        names = self.classes.tolist()
        rivals = [names[row.argmax()] if row.any() else None for row in self.rivals]
        lines = zip([*names, None], self.counts.tolist(), shares.tolist(), rivals, strict=True)
        figures = [
            ClusterFigures._make([name, count, *share, *flags, rival]) for name, (count, *flags), share, rival in lines
        ]
        return figures[: k + bool(points[-1])]

    def _worst_first(self) -> list[ClusterFigures]:
        """Return the clusters of the summary, the lowest replication first, noise last."""
        return sorted(self.clusters, key=lambda line: (line.name is None, -line.doubt))

    @property
    def problems(self) -> list[str]:
        """The first sentences of the summary: what changes the meaning of its replication, if anything."""
        if self._trust_map is None or self._is_audit or not self.n_labels:
            return []
        if self.classes.size == 1:
            return ["There is only one cluster, and one cluster always replicates."]
        null, warning = self._trust_map.null_replication, self._trust_map.warning
        sentences = []
        if null is not None and self.replication is not None:
            sentences.append(
                f"No evidence of clusters: {_percent(self.replication)}% would hold up, and so would "
                f"{_percent(null)}% in unclustered data."
            )
        return sentences if warning is None else [*sentences, warning]

    @property
    def sentence(self) -> str:
        """The summary's share of labels that would hold up, with its interval; without trust, how to get it."""
        labels, share, interval = count(self.n_labels, "label"), self.replication, self.replication_interval
        if share is None or interval is None:
            return f"{labels} scored by affinity alone. Call trust(X, labels) to estimate how many would hold up."
        if not self.n_labels:
            return "There are no labels: all points are noise."
        if self._is_audit:
            return f"About {_percent(share)}% of {labels} are right, judging by the audit."
        low, high = (_percent(value) for value in interval)
        between = "" if low == high else f" (90% prediction interval: {low}-{high}%)"
        return f"{_percent(share)}% of {labels} would hold up on a fresh sample{between}."

    @property
    def note(self) -> str:
        """How the replication in the summary was estimated; empty without trust."""
        return "" if self._trust_map is None else self._trust_map.note

    def drivers(self, plan: Any = None) -> Drivers:
        """Return which columns separate the clusters of the summary, like :func:`allegiance.drivers.drivers`.

        They are those of the random sample of up to 4,096 rows in ``profile``.

        Parameters
        ----------
        plan
            The plan of the model that scored the partitions; None for a scorer.
        """
        from allegiance.drivers import drivers

        if self.profile is None or self.profile.values is None or not self.profile.names.size:
            raise ValueError("this summary has no sample of rows: pass rows with at most 1,000 features to drivers().")
        sample = self.profile.values
        labels = np.append(self.classes.astype(object), -1)[sample.codes % (self.classes.size + 1)]
        if plan is None:
            return drivers(labels, sample.rows, names=self.profile.names)
        return drivers(labels, plan.scale_matrix(sample.rows), plan=plan)

    def headlines(self) -> list[str]:
        """Return the first sentences of the summary and every output: problems, replication, verdicts, other facts."""
        lines = [*self.problems]
        if self.classes.size > 1 or not lines:
            lines.append(self.sentence)
        if self.n_labels and self.verdicts:
            lines.append(", ".join(f"{number:,} {name}" for name, number in self.verdicts.items()))
        noise = self.n_points - self.n_labels
        if noise:
            lines.append(f"{count(noise, 'noise point')} ({noise / self.n_points:.0%})")
        if self.atypical:
            lines.append(f"{count(self.atypical, 'outlier')}: less typical than 99% of their cluster")
        if self._empty_cells:
            lines.append(f"{count(self._empty_cells, 'point')} with an empty cell: affinity is a limit there")
        return lines

    def measurement_facts(self) -> dict[str, str]:
        """Return how the affinities of the summary were measured, in words, by subject."""
        how, share = self.measurement, self.stable / max(self.n_points, 1)
        reduced = f", reduced from {how.n_features}" if how.dim < how.n_features else ""
        ranked = sorted(self._engines.items(), key=lambda item: (-item[1], item[0]))
        worst = Z95 * self._worst_error
        precision = "no sampling error" if worst == 0 else f"95% intervals within ±{worst:.3f}"
        return {
            "closeness": how.influence,
            "measured by": f"{', '.join(f'{name} ({number:,})' for name, number in ranked)}; {precision}",
            "domain": f"{how.domain}, {count(how.dim, 'dimension')}{reduced}; seed {how.seed}; {how.seconds:.2f} s",
            "stable": f"{self.stable:,} points ({share:.1%}) with more than half of their territory from one cluster, "
            f"{self._undecided:,} undecided",
        }

    def cluster_lines(self) -> list[str]:
        """Return the cluster table of the summary as lines of text."""
        headings, rows, more = self._cluster_table()
        return [*text_table(headings, rows, left=("cluster", "rival")), *([more] if more else [])]

    def _cluster_table(self, *, bars: bool = False) -> tuple[list[str], list[list[Any]], str]:
        """Return headings and cells of the summary's cluster table, and a line about clusters that are left out."""
        lines = self._worst_first()
        clusters = [line for line in lines if line.name is not None]
        left_out = max(len(clusters) - _MAX_CLUSTERS, 0)
        more = f"... and {left_out:,} more clusters with higher replication" if left_out else ""
        listed = [*clusters[:_MAX_CLUSTERS], *lines[len(clusters) :]]
        names = ["replication", *([""] if bars else []), *VERDICTS[:3]] if self.verdicts else ["stable"]
        return ["cluster", "points", *names, "rival"], [self._cells(line, bars) for line in listed], more

    def _cells(self, line: ClusterFigures, bars: bool) -> list[Any]:
        """Return the cells of one line of the cluster table of the summary, with or without a bar of the verdicts."""
        rival = "-" if line.rival is None else str(line.rival)
        numbers: list[Any]
        if not self.verdicts:
            numbers = [f"{line.stable:,}"]
        elif line.name is None:
            numbers = ["-", *([""] if bars else []), "-", "-", "-"]
        else:
            verdicts = {name: getattr(line, name) for name in VERDICTS[:3]}
            share, low, high = (line.replication, line.replication_low, line.replication_high)
            between = (
                "" if np.isnan(low) or _percent(low) == _percent(high) else f" ({_percent(low)}-{_percent(high)}%)"
            )
            replication = "-" if np.isnan(share) else f"{_percent(share)}%{between}"
            bar = [share_bar(verdicts)] if bars else []
            numbers = [replication, *bar, *(f"{value:,}" for value in verdicts.values())]
        return ["noise" if line.name is None else str(line.name), f"{line.points:,}", *numbers, rival]

    def _card(self) -> Card:
        """Return the card that displays the summary, and any result."""
        review = None
        if self.review:
            names = list(self.review[0])
            lines: list[list[Cell]] = [[format_review_cell(name, line[name]) for name in names] for line in self.review]
            review = Card(
                "Review these first (sorted by review priority)", headings=names, rows=lines, words=("reason",)
            )
        headings, rows, more = self._cluster_table(bars=True)
        return Card(
            title=f"{count(self.n_points, 'point')} in {count(self.classes.size, 'cluster')}",
            lines=[*self.headlines(), *([self.note] if self.note else [])],
            picture=histogram_picture(self._histogram, "own affinity" if self._trust_map is None else "trust"),
            headings=headings,
            rows=rows,
            words=("cluster", "rival", ""),
            notes=[more],
            appendix=review,
            details=[f"{name:<12} {value}" for name, value in self.measurement_facts().items()],
        )


#: Arrays and counts of a summary that add up over partitions.
_ARRAYS = ("counts", "rivals", "_histogram", "_own_sums", "_trust_sums")
_COUNTS = ("_engines", "_undecided", "_empty_cells", "imprecise")


def verdicts_of(values: FloatArray, noise: BoolArray) -> AnyArray:
    """Return the verdict (n,) that summaries and results give labels with this trust (n,)."""
    verdict = np.full(values.shape[0], DOUBTFUL, dtype=f"<U{max(map(len, VERDICTS))}")
    with np.errstate(invalid="ignore"):
        verdict[values >= BORDERLINE_TRUST] = BORDERLINE
        verdict[values >= FIRM_TRUST] = FIRM
    verdict[noise] = NOISE_VERDICT
    return verdict


def count_by_cluster(codes: IntArray, k: int, flags: Sequence[BoolArray]) -> IntArray:
    """Return the (k + 1, m) counts of a summary: how many points of each cluster, noise last, have each flag (n,)."""
    rows = np.where(codes < 0, k, codes)
    return np.stack([np.bincount(rows[flag], minlength=k + 1) for flag in flags], axis=1)


def _sum_by_cluster(rows: IntArray, values: FloatArray, n: int) -> AnyArray:
    """Return the sums (n,) of trust or affinity by cluster for a summary, in units of 2**-60, in any order."""
    scaled = np.ldexp(values, _HALF_BITS)
    high = np.floor(scaled)
    low = np.floor(np.ldexp(scaled - high, _HALF_BITS))
    sums = np.zeros((2, n), dtype=np.int64)
    for total, part in zip(sums, (high, low), strict=True):
        np.add.at(total, rows, part.astype(np.int64))
    exact: AnyArray = sums.astype(object)  # 64 bits are too few
    return exact[0] * 2**_HALF_BITS + exact[1]


def format_review_cell(name: str, value: Any) -> str:
    """Return a cell of a review list as text. Trust is rounded down: 0.796 is not firm, so it is not shown as 0.80."""
    if name.endswith("trust"):
        return f"{math.floor(100.0 * value + 1e-9) / 100.0:.2f}"
    return format(value, ".0f" if name.endswith("priority") else "")


def mean_trust(values: FloatArray) -> float:
    """Return the mean trust of a summary or result, the same for any order; NaN if there is none."""
    (total,) = _sum_by_cluster(np.zeros(values.size, np.int64), values, 1)
    return total / _ONE / values.size if values.size else np.nan


def check_names(classes: AnyArray, names: Any) -> dict[str, str]:
    """Return the user's cluster names by label as text, empty where there is none, for summaries and pictures."""
    labels = [str(label) for label in classes.tolist()]
    texts = {str(label): str(name) for label, name in dict(names or {}).items()}
    if unknown := sorted(set(texts) - set(labels)):
        raise ValueError(f"names has {unknown[0]!r}, which is not a label: use {', '.join(labels[:8])}.")
    return {label: texts.get(label, "") for label in labels}


def display_name(label: str, name: str) -> str:
    """Return a cluster's label and name, for summaries and other places with room for both."""
    return f"{label} · {name}" if name else label


def _percent(share: float) -> str:
    """Return a share as a whole percentage, for the sentences of a summary."""
    return f"{100 * share:.0f}"
