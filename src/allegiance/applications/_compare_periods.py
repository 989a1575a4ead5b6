"""Has it drifted? Two periods that one scorer scored, compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from allegiance._core import AnyArray, FloatArray, check_number
from allegiance._scorer import AffinityScorer
from allegiance.fitting import Fitted, baseline_of, check_comparable
from allegiance.notebook import Card
from allegiance.results import DOUBTFUL, FINE, POINTS, UNLIKE, FrameLike, Profile, count, text_table

from ._period_changes import MEASURES, RIGHT, UNLIKE_SHARE, Changes, changes_of
from ._period_findings import Finding, Wording, findings_of
from ._period_groups import pooled_spread

#: Clusters listed before the table is cut.
_MOST_CLUSTERS = 20
_TITLES = {"right": "expected right", "unlike": "unlike anything"}


@dataclass(frozen=True, repr=False, eq=False)
class PeriodComparison:
    """Two periods of data, scored by one scorer: what changed, and how surely.

    ``print(comparison)`` gives a summary.

    Attributes
    ----------
    findings
        What happened, the explanations first; empty if nothing changed.
    classes
        (k,) labels of the clusters.
    then, now
        The figures of both periods.
    level
        The chance of any finding at all if nothing changed.

    See Also
    --------
    allegiance.compare_periods : What returns it, with an example.
    """

    findings: tuple[Finding, ...]
    classes: AnyArray
    then: Profile = field(repr=False)
    now: Profile = field(repr=False)
    level: float
    _changes: Changes = field(repr=False)
    _frame: FrameLike = field(repr=False)

    @property
    def drifted(self) -> bool:
        """Whether anything changed, beyond chance and beyond what would not matter."""
        return bool(self.findings)

    @property
    def replication(self) -> tuple[float, float]:
        """Expected share of right labels then and now."""
        change = self._changes.by_measure[RIGHT]
        return float(change.then[-1]), float(change.now[-1])

    @property
    def unlike(self) -> tuple[float, float]:
        """Share of the points unlike anything seen then and now."""
        change = self._changes.by_measure[UNLIKE_SHARE]
        return float(change.then[-1]), float(change.now[-1])

    def by_cluster(self) -> Any:
        """Return one row per cluster, one for noise if there is any, and one for all points.

        Columns are ``cluster``, ``points_then``, ``points_now``, and then and now of ``share``, ``right``,
        ``contested``, ``contradicted`` and ``unlike``, as in ``right_then``.
        """
        rows = self._rows()
        columns: dict[str, Any] = {"cluster": [str(self._name(row)) for row in rows]}
        for when, profile in (("then", self.then), ("now", self.now)):
            points = profile.counts[:, POINTS]
            columns[f"points_{when}"] = np.append(points, points.sum())[rows]
        for measure in MEASURES:
            change = self._changes.by_measure[measure]
            columns |= {f"{measure}_then": change.then[rows], f"{measure}_now": change.now[rows]}
        return self._frame.build(columns)

    def changes(self) -> Any:
        """Return one row per cluster and measure: ``then``, ``now``, the 95 % interval of their difference (``low``,
        ``high``) and ``p_value``, adjusted for all comparisons that were made.
        """  # noqa: D205
        rows = [row | {"cluster": str(row["cluster"])} for row in self._change_rows()]
        return self._frame.build(_columns(rows, tuple(rows[0])))

    def features(self, cluster: Any = None, *, n: int | None = 10) -> Any:
        """Return the features that moved most, in the clusters that are among the findings.

        Columns are ``cluster``, ``feature``, ``then`` and ``now`` (means), ``shift`` (in standard deviations of then),
        and ``doubtful_shift``: how far the points of now that are contested, contradicted or unlike anything seen lie
        from the members then; NaN if there are fewer than five.

        Parameters
        ----------
        cluster
            The label of a cluster, to see that one only. By default those that findings name; all points if none does.
        n
            How many features of each cluster; None for all.
        """
        rows = [row for number in self._looked_at(cluster) for row in self._feature_rows(number, n)]
        names = ("cluster", "feature", "then", "now", "shift", "doubtful_shift")
        return self._frame.build(_columns(rows, names))

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, for JSON; what is not known is None."""
        features = [row for number in self._looked_at(None) for row in self._feature_rows(number, 10)]
        return {
            "drifted": self.drifted,
            "level": self.level,
            "points": {"then": self.then.n_points, "now": self.now.n_points},
            "findings": [_plain(finding._asdict()) for finding in self.findings],
            "changes": [_plain(row) for row in self._change_rows()],
            "features": [_plain(row) for row in features],
        }

    def _rows(self) -> list[int]:
        """Return the rows of the tables: clusters, noise if there is any, all points."""
        k = self.classes.size
        noise = bool(self.then.counts[k, POINTS] or self.now.counts[k, POINTS])
        return [*range(k), *([k] if noise else []), k + 1]

    def _name(self, row: int) -> Any:
        name = self._wording.cluster(row)
        return "all" if name is None else name

    @property
    def _wording(self) -> Wording:
        return Wording(self.classes, self.then.names)

    def _change_rows(self) -> list[dict[str, Any]]:
        rows = []
        for row in self._rows():
            for measure in MEASURES:
                then, now, low, high, p = (values[row] for values in self._changes.by_measure[measure])
                found = {"then": then, "now": now, "low": low, "high": high, "p_value": p}
                rows.append({"cluster": self._name(row), "measure": measure} | found)
        return rows

    def _looked_at(self, cluster: Any) -> list[int]:
        """Return the numbers of clusters to show features of; k + 1 for all points."""
        k = self.classes.size
        if cluster is None:
            labels = dict.fromkeys(finding.cluster for finding in self.findings)
            named = [self._number(label) for label in labels if label not in (None, "noise")]
            return named or [k + 1]
        return [self._number(cluster)]

    def _number(self, label: Any) -> int:
        found = np.flatnonzero([str(name) == str(label) for name in self.classes])
        if not found.size:
            raise ValueError(f"cluster={label!r} is not among the clusters: {', '.join(map(str, self.classes))}.")
        return int(found[0])

    def _feature_rows(self, number: int, n: int | None) -> list[dict[str, Any]]:
        if self.then.moments is None or self.now.moments is None:
            return []
        every = [_moments(profile, (FINE, DOUBTFUL, UNLIKE), number) for profile in (self.then, self.now)]
        doubtful = _moments(self.now, (DOUBTFUL, UNLIKE), number)
        spread = every[0][2]
        spread = np.where(spread > 0.0, spread, pooled_spread(self.then))
        shift = _in_spreads(every[1][1] - every[0][1], spread)
        lost = np.where(doubtful[0] >= 5, _in_spreads(doubtful[1] - every[0][1], spread), np.nan)
        order = np.argsort(-np.abs(np.nan_to_num(shift)), kind="stable")[:n]
        return [
            {
                "cluster": str(self._name(number)),
                "feature": str(self.then.names[feature]),
                "then": every[0][1][feature],
                "now": every[1][1][feature],
                "shift": shift[feature],
                "doubtful_shift": lost[feature],
            }
            for feature in order
        ]

    def headline(self) -> str:
        """Say in one sentence whether it drifted."""
        (then, now) = self.replication
        right = f"Expected right: {then:.0%} then, {now:.0%} now"
        if not self.drifted:
            return f"Nothing changed beyond chance. {right}"
        return f"Drifted: {count(len(self.findings), 'finding')}. {right}"

    def __repr__(self) -> str:
        said = [f"- {finding.sentence} (p = {_p(finding.p_value)})" for finding in self.findings]
        cells, more = self._cells()
        table = text_table(_HEADINGS, cells, left=("cluster",))
        return "\n".join([self._title(), self.headline(), *said, "", *table, *([more] if more else [])])

    def _repr_html_(self) -> str:
        cells, more = self._cells()
        said = [f"{finding.sentence} (p = {_p(finding.p_value)})" for finding in self.findings]
        return Card(
            title=self._title(),
            lines=[self.headline(), *said],
            headings=_HEADINGS,
            rows=cells,
            words=("cluster",),
            notes=[more],
        ).html()

    def _title(self) -> str:
        return f"{count(self.then.n_points, 'point')} then, {self.now.n_points:,} now"

    def _cells(self) -> tuple[list[tuple[str, ...]], str]:
        """Return the rows to show, those that changed most surely first, and what to say about the others."""
        rows = self._rows()
        surest = np.min([self._changes.by_measure[measure].p for measure in MEASURES], axis=0)
        if self._changes.moves is not None:
            surest[: self.classes.size] = np.minimum(surest[: self.classes.size], self._changes.moves.p)
        ordered = sorted(rows[:-1], key=lambda row: surest[row])
        shown = [*ordered[:_MOST_CLUSTERS], rows[-1]]
        cells = []
        for row in shown:
            pairs = (self._changes.by_measure[measure] for measure in MEASURES)
            cells.append((str(self._name(row)), *(_pair(change.then[row], change.now[row]) for change in pairs)))
        left = len(ordered) - _MOST_CLUSTERS
        return cells, f"... and {left:,} more clusters, in which less changed" if left > 0 else ""


_HEADINGS = ("cluster", *(_TITLES.get(measure, measure) for measure in MEASURES))


def _pair(then: float, now: float) -> str:
    return " to ".join("-" if np.isnan(value) else f"{100 * value:.1f}" for value in (then, now)) + " %"


def _p(p: float) -> str:
    return "< 0.0001" if p < 1e-4 else f"{p:.2g}"


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: _plain_value(value) for name, value in row.items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain_value(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _columns(rows: list[dict[str, Any]], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: [row[name] for row in rows] for name in names}


def _moments(profile: Profile, groups: tuple[int, ...], number: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return counts, means and standard deviations (d,) of a cluster, or of all points (k + 1)."""
    assert profile.moments is not None
    found = profile.moments.take(groups)
    if number == found.count.shape[0]:
        found, number = found.overall(), 0
    return found.count[number], found.mean[number], np.sqrt(found.variance[number])


def _in_spreads(change: FloatArray, spread: FloatArray) -> FloatArray:
    """Return changes in standard deviations; a value that never varied before has moved infinitely far."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(change == 0.0, 0.0, change / spread)


def compare_periods(scorer: AffinityScorer, X_then: Any, X_now: Any, *, level: float = 0.05) -> PeriodComparison:
    """Say whether data has drifted since a scorer was fitted, and how: in each cluster and in all.

    Points of both periods are scored as new ones. Compared are the share of each cluster, the labels expected to be
    right, contested and contradicted ones, points unlike anything seen (typicality below 1 %), where clusters lie, and
    the unit of each feature. A finding is a change beyond chance, beyond what would not matter (a percentage point; a
    tenth of a standard deviation), and beyond what the points of a fit flatter.

    Parameters
    ----------
    scorer
        Fitted, with calibration.
    X_then
        (n, d) points of the first period, often those of the fit; None for the baseline that
        :meth:`AffinityScorer.keep_baseline` kept.
    X_now
        (m, d) points of the second period: like X_then an array, a sparse matrix or a frame, or a Dask collection.
    level
        The chance of any finding at all if nothing changed.

    Returns
    -------
    PeriodComparison
        Findings, and the figures behind them.

    Notes
    -----
    Rows are taken to be independent. Rows that belong together, such as several of one customer, make chance look
    smaller than it is: compare one row of each.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> from allegiance import AffinityScorer, compare_periods
    >>> rng = np.random.default_rng(0)
    >>> centers = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    >>> january, february = (centers[rng.integers(3, size=600)] + rng.normal(size=(600, 2)) for _ in range(2))
    >>> scorer = AffinityScorer(KMeans(3, random_state=0), calibration=20).fit(january)
    >>> compare_periods(scorer, january, february).drifted
    False
    >>> march = np.vstack([february, rng.normal([10.0, 10.0], 1.0, size=(60, 2))])
    >>> [finding.kind for finding in compare_periods(scorer, january, march).findings][0]
    'new cluster'
    """
    check_is_fitted(scorer)
    fitted: Fitted = scorer.fitted_
    check_comparable(fitted)
    if X_then is None:
        kept = baseline_of(fitted)
        if kept is None:
            raise ValueError(
                "X_then is None, but the scorer has no baseline: call scorer.keep_baseline(X) with the points of the "
                "first period, or pass them as X_then."
            )
        then = kept
    else:
        then = scorer.profile(X_then, reference=True)
    now = scorer.profile(X_now)
    return compare_profiles(fitted, then, now, level=level, frame=FrameLike.of(X_now).without_index())


def compare_profiles(
    fitted: Fitted, then: Profile, now: Profile, *, level: float = 0.05, frame: FrameLike | None = None
) -> PeriodComparison:
    """Compare the figures of two periods; see :func:`compare_periods`."""
    level = check_number(level, "level", low=0.0, high=1.0)
    for name, profile in (("X_then", then), ("X_now", now)):
        if not profile.n_points:
            raise ValueError(f"{name} has no points: there is nothing to compare.")
    assert fitted.members is not None
    changes = changes_of(then, now, np.diff(fitted.members.value.starts))
    wording = Wording(fitted.classes, then.names)
    findings = findings_of(changes, then, now, wording, level)
    return PeriodComparison(findings, fitted.classes, then, now, level, changes, frame or FrameLike())
