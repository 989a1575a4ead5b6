"""Two periods compared: what changed, with one finding for each cause."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import special
from sklearn.utils.validation import check_is_fitted

from allegiance._core.validation import AnyArray, BoolArray, FloatArray, IntArray, check_number, is_lazy
from allegiance.engines import Z95
from allegiance.fitting import Fitted
from allegiance.notebook import Card
from allegiance.results import ATYPICAL, FrameLike, count, text_table

from ._changes import (
    FEWEST,
    SMALL_MOVE,
    SMALL_PART,
    SURE,
    Change,
    Column,
    Group,
    Moves,
    compare_atypical,
    compare_columns,
    compare_means,
    compare_shares,
    find_groups,
    shares_differ,
    with_total,
)
from ._profile import POINTS, Profile, baseline_of, member_sizes

if TYPE_CHECKING:
    from allegiance._scorer import AffinityScorer

UNIT, SHIFTED, NEW, VANISHED, MOVED, MIX, ATYPICAL_SHARE = KINDS = (
    "unit",
    "shifted",
    "new cluster",
    "vanished",
    "moved",
    "mix",
    "atypical",
)
_MOST_CLUSTERS = 20


class Finding(NamedTuple):
    """Something that changed, beyond chance and beyond what does not matter."""

    kind: str
    """"unit", "shifted", "new cluster", "vanished", "moved", "mix" or "atypical"."""
    clusters: tuple[Any, ...]
    """Labels of the clusters that changed, of a new one that of the nearest; -1 is noise. Empty for all points."""
    feature: str | None
    """The feature that changed, or changed most; None if none did."""
    then: float
    """A share of the points; a mean for "moved" and "shifted"; 1 for "unit"."""
    now: float
    """The same; the factor for "unit"."""
    interval: tuple[float, float] | None
    """95 % interval of ``now - then``; None for "unit" and "shifted"."""
    p_value: float
    """Adjusted for all comparisons that were made."""
    severity: float
    """The least share of the points that must have changed, from 0 to 1."""
    sentence: str


@dataclass(frozen=True, repr=False, eq=False)
class PeriodComparison:
    """Two periods of data, labelled by one scorer: what changed, and how surely.

    ``print(comparison)`` gives a summary, :meth:`frame` one row per cluster.

    Attributes
    ----------
    findings
        What happened, one for each cause, those that explain most first; empty if nothing changed.
    classes
        (k,) labels of the clusters.
    then, now
        The profiles of both periods.
    level
        The chance of any finding at all if nothing changed.

    See Also
    --------
    compare_periods : What returns it, with an example.
    """

    findings: tuple[Finding, ...]
    classes: AnyArray
    then: Profile = field(repr=False)
    now: Profile = field(repr=False)
    level: float
    _changes: tuple[Change, Change, Moves | None] = field(repr=False)
    _frame: FrameLike = field(repr=False)

    @property
    def drifted(self) -> bool:
        """Whether anything changed, beyond chance and beyond what does not matter."""
        return bool(self.findings)

    @property
    def severity(self) -> float:
        """The largest severity of a finding: the least share of the points that must have changed."""
        return max((finding.severity for finding in self.findings), default=0.0)

    @property
    def atypical(self) -> tuple[float, float]:
        """Share of atypical points then and now."""
        change = self._changes[1]
        return float(np.nan_to_num(change.then[-1])), float(np.nan_to_num(change.now[-1]))

    def frame(self) -> Any:
        """Return one row per cluster, one for noise (-1) if there is any, and one for all points.

        Columns are ``cluster``, ``points_then``, ``points_now``; ``share`` and ``atypical`` then and now, with the 95 %
        interval of the difference (``share_low``, ``share_high``, ...) and its p-value, adjusted for all comparisons;
        and ``moved`` and ``moved_by``: the feature whose mean moved most, and by how many standard deviations.
        """
        rows = self._rows()
        columns: dict[str, list[Any]] = {"cluster": [str(self._label(row)) for row in rows]}
        for when, profile in (("then", self.then), ("now", self.now)):
            columns[f"points_{when}"] = with_total(profile.counts[:, POINTS]).astype(int)[rows].tolist()
        for name, change in zip(("share", "atypical"), self._changes[:2], strict=True):
            for part in Change._fields:
                columns[f"{name}_{part}"] = getattr(change, part)[rows].tolist()
        moved = [self._most_moved(row) for row in rows]
        columns |= {"moved": [name for name, _ in moved], "moved_by": [by for _, by in moved]}
        return self._frame.build({name: np.array(values) for name, values in columns.items()})

    def features(self, cluster: Any = None, *, n: int | None = 10) -> Any:
        """Return the features whose means moved most, in the clusters that findings name.

        Columns are ``cluster``, ``feature``, ``then``, ``now``, ``low`` and ``high`` (of the 95 % interval of the
        difference) and ``shift`` (in standard deviations of then).

        Parameters
        ----------
        cluster
            The label of a cluster, to see that one only. By default those that findings name; every one if none does.
        n
            How many features of each cluster; None for all.
        """
        rows = self._feature_rows(self._numbers(cluster), n)
        names = ("cluster", "feature", "then", "now", "low", "high", "shift")
        return self._frame.build({name: np.array([row[name] for row in rows]) for name in names})

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, for JSON; what is not known is None."""
        rows, (share, atypical, _) = self._rows(), self._changes
        clusters = [
            {"cluster": self._label(row)}
            | {f"share_{part}": getattr(share, part)[row] for part in Change._fields}
            | {f"atypical_{part}": getattr(atypical, part)[row] for part in Change._fields}
            | dict(zip(("moved", "moved_by"), self._most_moved(row), strict=True))
            for row in rows
        ]
        return {
            "drifted": self.drifted,
            "severity": self.severity,
            "level": self.level,
            "points": {"then": self.then.n_points, "now": self.now.n_points},
            "findings": [_plain(finding._asdict()) for finding in self.findings],
            "clusters": [_plain(row) for row in clusters],
            "features": [_plain(row) for row in self._feature_rows(self._numbers(None), 10)],
        }

    def _rows(self) -> list[int]:
        """Return the rows of the tables: clusters, noise if there is any, all points."""
        k = self.classes.size
        noise = bool(self.then.counts[k, POINTS] or self.now.counts[k, POINTS])
        return [*range(k), *([k] if noise else []), k + 1]

    def _label(self, row: int) -> Any:
        return "all" if row > self.classes.size else _label(self.classes, row)

    def _numbers(self, cluster: Any) -> list[int]:
        """Return the numbers of clusters to show features of."""
        labels = [str(label) for label in self.classes]
        if cluster is not None:
            if str(cluster) not in labels:
                raise ValueError(f"cluster={cluster!r} is not among the clusters: {', '.join(labels)}.")
            return [labels.index(str(cluster))]
        named = {str(label) for finding in self.findings for label in finding.clusters}
        return [i for i, label in enumerate(labels) if not named or label in named]

    def _feature_rows(self, numbers: list[int], n: int | None) -> list[dict[str, Any]]:
        moves, rows = self._changes[2], []
        for i in numbers if moves is not None else []:
            assert moves is not None
            for feature in np.argsort(-np.abs(moves.shift[i]), kind="stable")[:n]:
                figures = {name: getattr(moves.change, name)[i, feature] for name in ("then", "now", "low", "high")}
                name = {"cluster": str(self._label(i)), "feature": str(self.then.names[feature])}
                rows.append(name | figures | {"shift": moves.shift[i, feature]})
        return rows

    def _most_moved(self, row: int) -> tuple[str, float]:
        moves = self._changes[2]
        if moves is None or row >= self.classes.size or not moves.shift.shape[1]:
            return "", 0.0
        first = int(np.abs(moves.shift[row]).argmax())
        return str(self.then.names[first]), float(moves.shift[row, first])

    def headline(self) -> str:
        """Say in one sentence whether it drifted."""
        atypical = "Atypical points: {:.1%} then, {:.1%} now".format(*self.atypical)
        if not self.drifted:
            return f"Nothing changed beyond chance. {atypical}"
        return f"Drifted: {count(len(self.findings), 'finding')}. {atypical}"

    def _sentences(self) -> list[str]:
        p = [("< 0.0001" if each.p_value < 1e-4 else f"= {each.p_value:.2g}") for each in self.findings]
        return [f"{each.sentence} (p {p})" for each, p in zip(self.findings, p, strict=True)]

    def __repr__(self) -> str:
        cells, more = self._cells()
        table = text_table(_HEADINGS, cells, left=("cluster", "moved most"))
        said = [f"- {sentence}" for sentence in self._sentences()]
        return "\n".join([self._title(), self.headline(), *said, "", *table, *([more] if more else [])])

    def _repr_html_(self) -> str:
        cells, more = self._cells()
        lines = [self.headline(), *self._sentences()]
        words = ("cluster", "moved most")
        return Card(self._title(), lines, headings=_HEADINGS, rows=cells, words=words, notes=[more]).html()

    def _title(self) -> str:
        return f"{count(self.then.n_points, 'point')} then, {self.now.n_points:,} now"

    def _cells(self) -> tuple[list[tuple[str, ...]], str]:
        """Return the rows to show, those that changed most surely first, and what to say about the others."""
        share, atypical, moves = self._changes
        surest = np.minimum(share.p, atypical.p)
        if moves is not None:
            surest[: self.classes.size] = np.minimum(surest[: self.classes.size], moves.p)
        *rows, last = self._rows()
        ordered = sorted(rows, key=lambda row: surest[row])
        cells = []
        for row in [*ordered[:_MOST_CLUSTERS], last]:
            feature, by = self._most_moved(row)
            pairs = [
                " to ".join(
                    "-" if np.isnan(value) else f"{100 * value:.1f}" for value in (change.then[row], change.now[row])
                )
                + " %"
                for change in (share, atypical)
            ]
            name = "noise" if row == self.classes.size else str(self._label(row))
            cells.append((name, *pairs, f"{feature} {by:+.1f} sd" if feature else ""))
        left = len(ordered) - _MOST_CLUSTERS
        return cells, f"... and {left:,} more clusters, in which less changed" if left > 0 else ""


_HEADINGS = ("cluster", "share", "atypical", "moved most")


def _label(classes: AnyArray, number: int) -> Any:
    """Return the label of a cluster; -1 for noise."""
    label = classes[number] if number < classes.size else -1
    return label.item() if isinstance(label, np.generic) else label


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


def compare_periods(scorer: AffinityScorer, X_then: Any, X_now: Any, *, level: float = 0.05) -> PeriodComparison:
    """Say whether data has drifted since a scorer was fitted, and why: one finding for each cause.

    Points of both periods are labelled as new ones; no affinity is measured. Compared are the unit and the level of
    each feature, where clusters lie, the share of each cluster, and the share of atypical points (typicality below
    1 %). A finding is a change beyond chance and beyond what does not matter: a percentage point of a share, a tenth of
    a standard deviation.

    Parameters
    ----------
    scorer
        Fitted.
    X_then
        (n, d) points of the first period, often those of the fit; None for the baseline that
        :meth:`allegiance.AffinityScorer.keep_baseline` kept.
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
    >>> from allegiance import AffinityScorer
    >>> from allegiance.drift import compare_periods
    >>> rng = np.random.default_rng(0)
    >>> centers = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    >>> january, february = (centers[rng.integers(3, size=600)] + rng.normal(size=(600, 2)) for _ in range(2))
    >>> scorer = AffinityScorer(KMeans(3, random_state=0)).fit(january)
    >>> compare_periods(scorer, january, february).drifted
    False
    >>> march = np.vstack([february, rng.normal([10.0, 10.0], 1.0, size=(60, 2))])
    >>> [finding.kind for finding in compare_periods(scorer, january, march).findings]
    ['new cluster']
    """
    check_is_fitted(scorer)
    then = baseline_of(scorer.fitted_) if X_then is None else scorer.profile(X_then)
    if then is None:
        raise ValueError(
            "X_then is None, but the scorer has no baseline: call scorer.keep_baseline(X) with the points of the "
            "first period, or pass them as X_then."
        )
    frame = FrameLike() if is_lazy(X_now) else FrameLike.of(X_now).without_index()
    return compare_profiles(scorer.fitted_, then, scorer.profile(X_now), level=level, frame=frame)


def compare_profiles(
    fitted: Fitted, then: Profile, now: Profile, *, level: float = 0.05, frame: FrameLike | None = None
) -> PeriodComparison:
    """Compare the profiles of two periods; see :func:`allegiance.drift.compare_periods`.

    Parameters
    ----------
    fitted
        What labelled the points of both: ``scorer.fitted_``.
    then, now
        The profiles. ``now`` must still have its samples of rows: it must not have been saved.
    level
        The chance of any finding at all if nothing changed.
    frame
        The kind of frame that tables are returned as; pandas by default.
    """
    level = check_number(level, "level", low=0.0, high=1.0)
    for name, profile in (("X_then", then), ("X_now", now)):
        if not profile.n_points:
            raise ValueError(f"{name} has no points: there is nothing to compare.")
    atypical = compare_atypical(then, now, member_sizes(fitted))
    groups: list[Group] = []
    moves, columns = None, list[Column]()
    if then.moments is not None and now.moments is not None:
        groups = find_groups(then, now, max(float(np.nan_to_num(atypical.then[-1])), ATYPICAL))
        near = np.sum([group.taken for group in groups], axis=0) > 0.0 if groups else np.zeros(len(then.counts), bool)
        moves = compare_means(then, now, near)
        columns = compare_columns(then, now, moves)
    shares = compare_shares(then, now, groups)
    # Bonferroni's correction for all comparisons: shares, atypical shares, means of clusters, columns.
    tests = 2 * shares.p.size + (0 if moves is None else moves.p.size) + len(columns)
    moves = None if moves is None else moves._replace(p=np.minimum(tests * moves.p, 1.0))
    columns = [column._replace(p=min(tests * column.p, 1.0)) for column in columns]
    atypical = atypical._replace(p=np.minimum(tests * atypical.p, 1.0))
    findings = _Causes(fitted.classes, then, now, level, tests).find(columns, groups, moves, atypical)
    shown = compare_shares(then, now, [])._replace(p=np.minimum(tests * shares.p, 1.0))
    return PeriodComparison(findings, fitted.classes, then, now, level, (shown, atypical, moves), frame or FrameLike())


class _Causes:
    """From figures that changed to what happened: a change that another one explains is not told again."""

    def __init__(self, classes: AnyArray, then: Profile, now: Profile, level: float, tests: int) -> None:
        self.classes, self.then, self.now, self.level, self.tests = classes, then, now, level, tests
        self.features = then.names

    def find(
        self, columns: list[Column], groups: list[Group], moves: Moves | None, atypical: Change
    ) -> tuple[Finding, ...]:
        """Return the findings, those that explain most first."""
        changed = self._changed_columns(columns)
        if moves is None:
            return (*self._mix([], set()), *self._more_atypical(atypical, set()))
        spread = self.then.spread()
        labels_hold = all(
            column.factor == 1.0 and abs(column.offset) < spread[i]
            for i, column in enumerate(columns)
            if column.p <= self.level
        )
        if changed and not labels_hold:
            return tuple(changed)
        told = [i for i, column in enumerate(columns) if column.p <= self.level]
        grouped, away, explained = self._grouped(groups, atypical)
        moved, which = self._moved(moves, away, told)
        found = [*changed, *grouped, *moved]
        if not changed:
            found += self._mix(groups, away | which)
            if not (grouped or moved):
                found += self._more_atypical(atypical, explained)
        return tuple(sorted(found, key=lambda finding: (KINDS.index(finding.kind), -finding.severity)))

    def _changed_columns(self, columns: list[Column]) -> list[Finding]:
        found = []
        for i, column in enumerate(columns):
            if column.p > self.level:
                continue
            name = str(self.features[i])
            if column.factor == 1.0:
                then, now = (float(_overall_mean(profile)[i]) for profile in (self.then, self.now))
                verb = "rose" if column.offset > 0 else "fell"
                average = f"(from {then:.4g} to {now:.4g} on average)"
                said = f"{name} {verb} by {abs(column.offset):.4g} in all clusters {average}"
                found.append(Finding(SHIFTED, (), name, then, now, None, column.p, column.apart, said))
                continue
            power = 10.0 ** round(float(np.log10(column.factor)))
            factor = power if power != 1.0 and abs(column.factor / power - 1.0) <= 0.05 else column.factor
            shift = f" and shifted by {column.offset:+.4g}" if column.offset else ""
            by = f"{factor:,.0f}" if factor >= 100.0 else f"{factor:.3g}"
            said = f"{name} was rescaled by {by}{shift} (a change of unit?). Convert it back and compare again"
            found.append(Finding(UNIT, (), name, 1.0, column.factor, None, column.p, column.apart, said))
        return found

    def _grouped(self, groups: list[Group], atypical: Change) -> tuple[list[Finding], set[int], set[int]]:
        """Name groups; return also the clusters that moved away, and those whose atypical points are explained."""
        found: list[Finding] = []
        away: set[int] = set()
        explained: set[int] = set()
        spread, known = self.then.spread(), self.then.by_cluster(typical=True).mean
        n = np.array([float(self.then.n_points)]), np.array([float(self.now.n_points)])
        for group in groups:
            p = float(min(atypical.p[-1], atypical.p[group.cluster]))
            if p > self.level:
                continue
            explained |= {atypical.p.size - 1, *np.flatnonzero(group.taken).tolist()}
            number = group.cluster if group.origin is None else group.origin
            offset = group.center - known[number]
            shift = np.divide(offset, spread, out=np.zeros_like(offset), where=spread > 0.0)
            first, label = int(np.abs(shift).argmax()), _label(self.classes, number)
            feature, share = str(self.features[first]), group.points / self.now.n_points
            if group.origin is None:
                seen = shares_differ((np.zeros(1), np.array([group.points])), n, (0.0, 0.0))
                said = (
                    f"A new cluster appeared: {share:.1%} of the points ({round(group.points):,}) lie together in a "
                    f"region with no earlier data, nearest to cluster {label}, from which they differ in "
                    f"{self._shifts(shift)}"
                )
                interval = (float(seen.low[0]), float(seen.high[0]))
                found.append(Finding(NEW, (label,), feature, 0.0, share, interval, p, share, said))
                continue
            away.add(number)
            mean = float(known[number, first])
            half = Z95 * spread[first] / np.sqrt(max(group.points, 1.0))
            interval = (float(offset[first] - half), float(offset[first] + half))
            said = f"Cluster {label} moved to a region with no earlier data: {self._shifts(shift)}"
            there = float(group.center[first])
            found.append(Finding(MOVED, (label,), feature, mean, there, interval, p, share, said))
        return found, away, explained

    def _moved(self, moves: Moves, away: set[int], told: list[int]) -> tuple[list[Finding], set[int]]:
        """Name clusters that moved, one finding for all that moved along the same feature; return also which."""
        shift = moves.shift.copy()
        shift[:, told] = 0.0
        first = np.abs(shift).argmax(axis=1) if shift.shape[1] else np.zeros(len(shift), dtype=np.int64)
        by = shift[np.arange(first.size), first]
        severity = self.now.counts[:-1, POINTS] / self.now.n_points * special.erf(np.abs(by) / np.sqrt(8.0))
        still = moves.change.p[np.arange(first.size), first] * shift.shape[1] * self.tests <= self.level
        which = still & (moves.p <= self.level) & (np.abs(by) >= SMALL_MOVE) & self._typical_too(first, by)
        shares = [profile.counts[:-1, POINTS] / profile.n_points for profile in (self.then, self.now)]
        points, atypical = self.now.counts[:-1].T
        # What is left of a cluster that is gone is the edge of others, and typical.
        which &= (shares[1] >= shares[0] / 3.0) | (atypical > points / 2)
        which[sorted(away)] = False
        together: dict[tuple[int, bool], list[int]] = {}
        if which.any():
            # Points that leave the cluster that moved most also move the means of those that they join.
            raw = shares_differ(
                (shares[0] * self.then.n_points, shares[1] * self.now.n_points),
                (np.full(first.size, float(self.then.n_points)), np.full(first.size, float(self.now.n_points))),
                (0.0, 0.0),
            )
            most = int(np.where(which, severity, -1.0).argmax())
            if raw.now[most] < raw.then[most]:
                which &= ~((raw.now > raw.then) & (raw.p <= SURE))
        for number in np.flatnonzero(which).tolist():
            together.setdefault((int(first[number]), bool(by[number] > 0.0)), []).append(number)
        found = []
        for (i, _), numbers in together.items():
            numbers.sort(key=lambda number: -abs(by[number]))
            lead = numbers[0]
            then, now, low, high = (float(values[lead, i]) for values in moves.change[:4])
            labels, feature = tuple(_label(self.classes, number) for number in numbers), str(self.features[i])
            average = f"({feature} from {then:.4g} to {now:.4g} on average)"
            said = f"Cluster {labels[0]} moved: {self._shifts(shift[lead])} {average}"
            if len(labels) > 1:
                listed = ", ".join(map(str, labels[:5])) + (", ..." if len(labels) > 5 else "")
                span = f"{by[numbers[-1]]:+.1f} to {by[lead]:+.1f} sd"
                said = f"{len(labels)} clusters ({listed}) moved along {feature}, by {span}"
            p, severe = float(moves.p[numbers].min()), float(severity[numbers].sum())
            found.append(Finding(MOVED, labels, feature, then, now, (low, high), p, severe, said))
        return found, set(np.flatnonzero(which).tolist())

    def _typical_too(self, first: IntArray, by: FloatArray) -> BoolArray:
        """Tell of each cluster (k,) whether its typical members moved as well: else a few far points moved the mean."""
        then, now = (profile.by_cluster(typical=True) for profile in (self.then, self.now))
        cells = np.arange(first.size), first
        spread = np.where(then.variance[cells] > 0.0, np.sqrt(then.variance[cells]), self.then.spread()[first])
        with np.errstate(invalid="ignore", divide="ignore"):
            shift = np.nan_to_num((now.mean[cells] - then.mean[cells]) / spread, posinf=np.inf)
        points, atypical = self.now.counts[:-1].T
        few = (now.count[cells] < FEWEST) | (atypical > points / 2)
        return few | (shift * np.sign(by) >= np.abs(by) / 4.0)

    def _mix(self, groups: list[Group], moved: set[int]) -> list[Finding]:
        """Name clusters that vanished, and those that grew or shrank, beyond what moved clusters gave and took."""
        found, gone = list[Finding](), list[int]()
        change = compare_shares(self.then, self.now, groups)
        p = np.minimum(change.p * self.tests, 1.0)
        for number in range(self.classes.size):
            then, now, low, high = (float(values[number]) for values in change[:4])
            if p[number] <= self.level and now <= SMALL_PART * then and number not in moved:
                gone.append(number)
                label = _label(self.classes, number)
                said = f"Cluster {label} vanished: {then:.1%} of the points then, {now:.1%} now"
                found.append(Finding(VANISHED, (label,), None, then, now, (low, high), float(p[number]), then, said))
        leak = float(np.abs((change.now - change.then)[sorted(moved)]).sum()) if moved else 0.0
        if leak or gone:
            change = compare_shares(self.then, self.now, groups, leak, gone)
            p = np.minimum(change.p * self.tests, 1.0)
        by = np.abs(change.now - change.then)
        listed = [i for i in np.argsort(-by).tolist() if p[i] <= self.level and i not in moved]
        if listed:
            first = listed[0]
            then, now, low, high = (float(values[first]) for values in change[:4])
            parts = [
                f"{'noise' if i == self.classes.size else _label(self.classes, i)} "
                f"{'grew' if change.now[i] > change.then[i] else 'shrank'} "
                f"from {change.then[i]:.1%} to {change.now[i]:.1%}"
                for i in listed[:3]
            ]
            more = f", and {len(listed) - 3} more changed" if len(listed) > 3 else ""
            said = f"The mix of clusters changed: {', '.join(parts)}{more}"
            labels = tuple(_label(self.classes, i) for i in listed)
            severe = float(by[:-1].sum() / 2.0)
            found.append(Finding(MIX, labels, None, then, now, (low, high), float(p[first]), severe, said))
        return found

    def _more_atypical(self, atypical: Change, explained: set[int]) -> list[Finding]:
        hits = [number for number in np.flatnonzero(atypical.p <= self.level).tolist() if number not in explained]
        if not hits:
            return []
        total = atypical.p.size - 1
        clusters = sorted((each for each in hits if each != total), key=lambda each: -atypical.now[each])
        number = total if total in hits or len(clusters) > 1 else clusters[0]
        then, now, low, high = (float(values[number]) for values in atypical[:4])
        labels = tuple(_label(self.classes, each) for each in clusters)
        where = f", most of all in cluster {labels[0]}" if labels and number == total else ""
        where = f" in cluster {labels[0]}" if number != total else where
        said = f"Atypical points rose from {then:.1%} to {now:.1%}{where}"
        rise = float(np.nan_to_num(atypical.now[-1] - atypical.then[-1]))
        p = float(atypical.p[hits].min())
        return [Finding(ATYPICAL_SHARE, labels, None, then, now, (low, high), p, max(rise, 0.0), said)]

    def _shifts(self, shift: FloatArray) -> str:
        """Return the features that moved most, and by how many standard deviations."""
        order = np.argsort(-np.abs(shift), kind="stable")[:3]
        large = [i for i in order if abs(shift[i]) >= max(SMALL_MOVE, abs(shift[order[0]]) / 5)]
        return ", ".join(f"{self.features[i]} {shift[i]:+.1f} sd" for i in large)


def _overall_mean(profile: Profile) -> FloatArray:
    every = profile.by_cluster()
    mean: FloatArray = (every.count * every.mean).sum(axis=0) / np.maximum(every.count.sum(axis=0), 1.0)
    return mean
