"""Two periods compared: from figures that changed to what happened, one finding for each cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import special
from sklearn.utils.validation import check_is_fitted

from allegiance._core.progress import Verbose, progress
from allegiance._core.validation import AnyArray, FloatArray, check_number, dense, is_lazy
from allegiance.engines import Z95
from allegiance.fitting import Fitted
from allegiance.notebook import Card, Shown, count
from allegiance.results import FrameLike

from ._profile import (
    SMALL_MOVE,
    SMALL_PART,
    SMALL_SHARE,
    Change,
    Column,
    Moves,
    Profile,
    baseline_of,
    compare_atypical,
    compare_columns,
    compare_means,
    member_sizes,
    shares_differ,
    with_total,
)

if TYPE_CHECKING:
    from allegiance import AffinityScorer
    from allegiance.io import Model

_HEADINGS = ("cluster", "share", "atypical", "moved most")
_MOST_CLUSTERS = 20
#: Kinds of findings, those that explain most first.
_KINDS = ("unit", "shifted", "new cluster", "vanished", "moved", "mix", "atypical")
#: A group reaches no farther than so many usual spreads, and holds at least so many points of the sample, and this
#: share of them.
_REACH, _FEWEST, _SMALLEST = 1.5, 10, 0.15
#: Chance of so great a loss of a cluster must be below this. A group is the far end of the cluster it is nearest to if
#: typical members moved so many spreads towards it, or of the one it comes from if this share of it has its label.
_SURE, _ALONG, _MOSTLY = 0.01, 0.5, 0.9


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
class PeriodComparison(Shown):
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
    _shares: Change = field(repr=False)
    _atypical: Change = field(repr=False)
    _moves: Moves = field(repr=False)
    _frame: FrameLike = field(repr=False)

    @property
    def drifted(self) -> bool:
        """Whether anything changed, beyond chance and beyond what does not matter."""
        return bool(self.findings)

    @property
    def severity(self) -> float:
        """The largest severity of a finding: the least share of the points that must have changed."""
        return max((finding.severity for finding in self.findings), default=0.0)

    def frame(self) -> Any:
        """Return one row per cluster, one for noise (-1) if there is any, and one for all points.

        Columns are ``cluster``, ``points_then``, ``points_now``; ``share`` and ``atypical`` then and now, with the 95 %
        interval of the difference (``share_low``, ``share_high``, ...) and its p-value, adjusted for all comparisons;
        and ``moved`` and ``moved_by``: the feature whose mean moved most, and by how many standard deviations.
        """
        columns = self._clusters()
        return self._frame.build(columns | {"cluster": np.array([str(label) for label in columns["cluster"]])})

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
        rows = self._features(cluster, n)
        names = ("cluster", "feature", "then", "now", "low", "high", "shift")
        return self._frame.build({name: np.array([row[name] for row in rows]) for name in names})

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, for JSON; what is not known is None."""
        return {
            "drifted": self.drifted,
            "severity": self.severity,
            "level": self.level,
            "points": {"then": self.then.n_points, "now": self.now.n_points},
            "findings": [_plain(finding._asdict()) for finding in self.findings],
            "clusters": [_plain(line) for line in self._lines()],
            "features": [_plain(line) for line in self._features(None, 10)],
        }

    def _clusters(self) -> dict[str, Any]:
        """Return the columns of :meth:`frame`: one entry per cluster, for noise if there is any, for all points."""
        k, moves = self.classes.size, self._moves
        points = [with_total(profile.counts[:, 0]).astype(np.int64) for profile in (self.then, self.now)]
        rows = [*range(k), *([k] if points[0][k] or points[1][k] else []), k + 1]
        columns: dict[str, Any] = {"cluster": [*(label_of(self.classes, row) for row in rows[:-1]), "all"]}
        columns |= {"points_then": points[0][rows], "points_now": points[1][rows]}
        for name, change in (("share", self._shares), ("atypical", self._atypical)):
            columns |= {f"{name}_{part}": values[rows] for part, values in change._asdict().items()}
        moved, moved_by = [""] * len(rows), np.zeros(len(rows))
        if moves.shift.shape[1]:
            first = np.abs(moves.shift).argmax(axis=1)
            moved[:k] = [str(self.then.names[i]) for i in first]
            moved_by[:k] = moves.shift[np.arange(k), first]
        return columns | {"moved": moved, "moved_by": moved_by}

    def _lines(self) -> list[dict[str, Any]]:
        columns = self._clusters()
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]

    def _features(self, cluster: Any, n: int | None) -> list[dict[str, Any]]:
        labels = [str(label) for label in self.classes]
        named = {str(label) for finding in self.findings for label in finding.clusters} or set(labels)
        if cluster is not None:
            if str(cluster) not in labels:
                raise ValueError(f"cluster={cluster!r} is not among the clusters: {', '.join(labels)}.")
            named = {str(cluster)}
        moves, lines = self._moves, []
        for i, label in enumerate(labels):
            if label not in named:
                continue
            for feature in np.argsort(-np.abs(moves.shift[i]), kind="stable")[:n]:
                then, now, (low, high) = moves.change.at(i, feature)
                figures = {"then": then, "now": now, "low": low, "high": high, "shift": moves.shift[i, feature]}
                lines.append({"cluster": label, "feature": str(self.then.names[feature]), **figures})
        return lines

    def headline(self) -> str:
        """Say in one sentence whether it drifted."""
        shares = [float(np.nan_to_num(values[-1])) for values in self._atypical[:2]]
        atypical = "Atypical points: {:.1%} then, {:.1%} now".format(*shares)
        if not self.drifted:
            return f"Nothing changed beyond chance. {atypical}"
        return f"Drifted: {count(len(self.findings), 'finding')}. {atypical}"

    def _card(self) -> Card:
        lines = [self.headline()]
        for each in self.findings:
            p = "< 0.0001" if each.p_value < 1e-4 else f"= {each.p_value:.2g}"
            lines.append(f"- {each.sentence} (p {p})")
        cells, more = self._cells()
        title = f"{count(self.then.n_points, 'point')} then, {self.now.n_points:,} now"
        return Card(title, lines, headings=_HEADINGS, rows=cells, words=("cluster", "moved most"), notes=[more])

    def _cells(self) -> tuple[list[tuple[str, ...]], str]:
        """Return the rows to show, those that changed most surely first, and a line about the others."""
        *lines, total = self._lines()
        lines.sort(key=lambda line: (min(line["share_p"], line["atypical_p"]), -abs(line["moved_by"])))
        cells = []
        for line in [*lines[:_MOST_CLUSTERS], total]:
            pairs = [(line[f"{name}_then"], line[f"{name}_now"]) for name in ("share", "atypical")]
            texts = ["{} to {} %".format(*("-" if x != x else f"{100 * x:.1f}" for x in pair)) for pair in pairs]
            moved = f"{line['moved']} {line['moved_by']:+.1f} sd" if line["moved"] else ""
            cells.append((str(line["cluster"]), *texts, moved))
        left = len(lines) - _MOST_CLUSTERS
        return cells, f"... and {left:,} more clusters, in which less changed" if left > 0 else ""


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


def compare_periods(
    scorer: AffinityScorer | Model, X_then: Any, X_now: Any, *, level: float = 0.05, verbose: Verbose = False
) -> PeriodComparison:
    """Say whether data has drifted since a scorer was fitted, and why: one finding for each cause.

    Points of both periods are labelled as new ones; no affinity is measured. Compared are the unit and the level of
    each feature, where clusters lie, the share of each cluster, and the share of atypical points (typicality below
    1 %). A finding is a change beyond chance and beyond what does not matter: a percentage point of a share, a tenth of
    a standard deviation.

    Parameters
    ----------
    scorer
        A fitted scorer, or a model for tables.
    X_then
        (n, d) points of the first period, often those of the fit; None for the baseline that
        :meth:`allegiance.AffinityScorer.keep_baseline` kept.
    X_now
        (m, d) points of the second period: like X_then an array, a sparse matrix or a frame, or a Dask collection.
    level
        The chance of any finding at all if nothing changed.
    verbose
        Whether to show progress.

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
    inner: Any = getattr(scorer, "scorer", scorer)
    check_is_fitted(inner)
    fitted = inner.fitted_
    profiles = []
    with progress(2, "comparing periods", verbose, unit="periods") as advance:
        for X in (X_then, X_now):
            profiles.append(baseline_of(fitted) if X is None else scorer.profile(X))
            advance(1)
    then, now = profiles
    if then is None or now is None:
        raise ValueError(
            "X_then is None, but the scorer has no baseline: call scorer.keep_baseline(X) with the points of the "
            "first period, or pass them as X_then."
        )
    frame = FrameLike() if is_lazy(X_now) else FrameLike.of(X_now).without_index()
    return compare_profiles(fitted, then, now, level=level, frame=frame)


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
    groups = find_groups(then, now)
    near = np.sum([group.taken for group in groups], axis=0) > 0.0 if groups else np.zeros(len(then.counts), bool)
    moves = compare_means(then, now, near)
    columns = compare_columns(then, now, moves)
    shares, atypical = compare_shares(then, now, groups), compare_atypical(then, now, member_sizes(fitted))
    # Bonferroni's correction for all comparisons: shares, atypical shares, means of clusters, columns.
    tests = 2 * shares.p.size + moves.p.size + len(columns)
    moves = moves._replace(p=np.minimum(tests * moves.p, 1.0))
    columns = [column._replace(p=min(tests * column.p, 1.0)) for column in columns]
    atypical, shares = atypical.adjusted(tests), shares.adjusted(tests)
    findings = _Causes(fitted.classes, then, now, level, tests).find(columns, groups, moves, shares, atypical)
    shown = compare_shares(then, now, [])._replace(p=shares.p)
    return PeriodComparison(findings, fitted.classes, then, now, level, shown, atypical, moves, frame or FrameLike())


class Group(NamedTuple):
    """Atypical points that lie together: a new cluster, or an old one that moved away."""

    points: float
    """Their number, estimated from the sample."""
    cluster: int
    """The cluster that they are likely to be, since it lost about as many points; else that which most are nearest to.
    """
    taken: FloatArray
    """(k + 1,) how many points of each cluster they are."""
    center: FloatArray
    """(d,) their mean."""
    is_new: bool = True
    """Whether no cluster lost as many."""


def find_groups(then: Profile, now: Profile) -> list[Group]:
    """Find groups among the atypical points of now, the largest first, and the clusters that they are likely to be.

    Groups that are the far end of the cluster they are nearest to, which moved, are left out: its mean tells.
    """
    spread = then.spread()
    used = spread > 0.0
    if now.strange is None or now.strange.codes.size < _FEWEST or not used.any():
        return []
    from sklearn.cluster import DBSCAN

    known, (number, moved, _) = then.by_cluster(typical=True)[1], now.by_cluster(typical=True)
    codes, rows = now.strange.codes, dense(now.strange.rows).astype(np.float64)
    rows = np.where(np.isnan(rows), known[codes], rows)
    each, fewest = now.counts[:, 1].sum() / codes.size, max(_FEWEST, _SMALLEST * codes.size)
    within = DBSCAN(eps=_REACH * np.sqrt(2.0 * used.sum()), min_samples=round(fewest))
    together = within.fit_predict(rows[:, used] / spread[used])
    groups = []
    for place in range(together.max() + 1):
        inside = together == place
        taken = np.bincount(codes[inside], minlength=len(then.counts)) * each
        groups.append(Group(float(taken.sum()), int(taken.argmax()), taken, rows[inside].mean(axis=0)))
    groups.sort(key=lambda group: -group.points)
    lost, found = _lost_points(then, now, max(now.n_points - sum(group.points for group in groups), 1.0)), []
    for group in groups:
        here, origin = group.cluster, int(lost.argmax())
        offset, shift = ((place - known[here])[used] / spread[used] for place in (group.center, moved[here]))
        if number[here].min(initial=np.inf) >= _FEWEST and shift @ offset >= _ALONG * np.linalg.norm(offset):
            lost[here] = 0.0
        elif lost[origin] < group.points / 2.0:
            found.append(group)
        else:
            lost[origin] = 0.0
            if group.taken[origin] < _MOSTLY * group.points:
                found.append(group._replace(cluster=origin, is_new=False))
    return found


def _lost_points(then: Profile, now: Profile, outside: float) -> FloatArray:
    """Return how many typical points each cluster (k,) surely lost, compared with all points ``outside`` of groups."""
    before, after = ((profile.counts[:-1, 0] - profile.counts[:-1, 1]).astype(float) for profile in (then, now))
    n = np.full_like(before, then.n_points), np.full_like(before, outside)
    change = shares_differ(before, np.minimum(after, outside), n, (0.0, 0.0))
    shrank = (change.now < change.then) & (change.p * before.size <= _SURE)
    return np.where(shrank, before / then.n_points * now.n_points - after, 0.0)


def compare_shares(
    then: Profile, now: Profile, groups: list[Group], leak: float = 0.0, gone: Sequence[int] = ()
) -> Change:
    """Compare the shares (k + 2,) of clusters among those that are not ``gone``; a change by ``leak`` is allowed.

    Points of groups are left out, or counted where they come from.
    """
    counts = []
    for profile in (then, now):
        points = profile.counts[:, 0].copy()
        points[list(gone)] = 0
        counts.append(with_total(points))
    for group in groups:
        moved = -np.rint(group.taken)
        if not group.is_new:
            moved[group.cluster] -= moved.sum()
        counts[1] = np.maximum(counts[1] + with_total(moved), 0.0)
    n1, n2 = (np.full_like(each, each[-1]) for each in counts)
    small = np.minimum(SMALL_SHARE, SMALL_PART * counts[0] / max(counts[0][-1], 1.0)) + leak
    change = shares_differ(counts[0], counts[1], (n1, n2), (-small, small))
    change.p[-1] = 1.0
    return change


class _Causes:
    """From figures that changed to what happened: a change that another one explains is not told again."""

    def __init__(self, classes: AnyArray, then: Profile, now: Profile, level: float, tests: int) -> None:
        self.classes, self.then, self.now, self.level, self.tests = classes, then, now, level, tests

    def find(
        self, columns: list[Column], groups: list[Group], moves: Moves, shares: Change, atypical: Change
    ) -> tuple[Finding, ...]:
        """Return the findings, those that explain most first."""
        found = [self._changed_column(i, column) for i, column in enumerate(columns) if column.p <= self.level]
        if not found:
            found, left = self._grouped(groups, atypical)
            vanished = (shares.p <= self.level) & (shares.now <= SMALL_PART * shares.then)
            gone = set(np.flatnonzero(vanished[: self.classes.size]).tolist()) - left
            more, moved = self._moved(moves, left, gone)
            found += more + self._mix(shares, groups, left | moved, gone)
        found = found or self._more_atypical(atypical)
        return tuple(sorted(found, key=lambda finding: (_KINDS.index(finding.kind), -finding.severity)))

    def _changed_column(self, i: int, column: Column) -> Finding:
        name = str(self.then.names[i])
        if column.factor == 1.0:
            then, now = (float(profile.overall()[1, i]) for profile in (self.then, self.now))
            verb = "rose" if column.offset > 0 else "fell"
            average = f"(from {then:.4g} to {now:.4g} on average)"
            text = f"{name} {verb} by {abs(column.offset):.4g} in all clusters {average}"
            return Finding("shifted", (), name, then, now, None, column.p, column.difference, text)
        power = 10.0 ** round(float(np.log10(column.factor)))
        factor = power if power != 1.0 and abs(column.factor / power - 1.0) <= 0.05 else column.factor
        shift = f" and shifted by {column.offset:+.4g}" if column.offset else ""
        by = f"{factor:,.0f}" if factor >= 100.0 else f"{factor:.3g}"
        text = f"{name} was rescaled by {by}{shift} (a change of unit?). Convert it back and compare again"
        return Finding("unit", (), name, 1.0, column.factor, None, column.p, column.difference, text)

    def _grouped(self, groups: list[Group], atypical: Change) -> tuple[list[Finding], set[int]]:
        """Name groups; return also the clusters that left for another place."""
        found: list[Finding] = []
        left: set[int] = set()
        spread, known = self.then.spread(), self.then.by_cluster(typical=True)[1]
        for group in groups:
            p = float(min(atypical.p[-1], atypical.p[group.cluster]))
            if p > self.level:
                continue
            number, offset = group.cluster, group.center - known[group.cluster]
            shift = np.divide(offset, spread, out=np.zeros_like(offset), where=spread > 0.0)
            first, label = int(np.abs(shift).argmax()), label_of(self.classes, number)
            feature, share = str(self.then.names[first]), group.points / self.now.n_points
            if group.is_new:
                seen = self._share_change(np.zeros(1), np.array([group.points]))
                text = (
                    f"A new cluster appeared: {share:.1%} of the points ({round(group.points):,}) lie together in a "
                    f"region with no earlier data, nearest to cluster {label}, from which they differ in "
                    f"{self._shifts(shift)}"
                )
                found.append(Finding("new cluster", (label,), feature, 0.0, share, seen.at(0)[2], p, share, text))
                continue
            left.add(number)
            half = Z95 * spread[first] / np.sqrt(max(group.points, 1.0))
            interval = (float(offset[first] - half), float(offset[first] + half))
            means = float(known[number, first]), float(group.center[first])
            text = f"Cluster {label} moved to a region with no earlier data: {self._shifts(shift)}"
            found.append(Finding("moved", (label,), feature, *means, interval, p, share, text))
        return found, left

    def _moved(self, moves: Moves, left: set[int], gone: set[int]) -> tuple[list[Finding], set[int]]:
        """Name clusters that moved, one finding for all that moved along the same feature; return also which."""
        shift = moves.shift
        if not shift.shape[1]:
            return [], set()
        first = np.abs(shift).argmax(axis=1)
        by = shift[np.arange(first.size), first]
        severity = self.now.counts[:-1, 0] / self.now.n_points * special.erf(np.abs(by) / np.sqrt(8.0))
        which = (moves.p <= self.level) & (np.abs(by) >= SMALL_MOVE)
        raw = self._share_change(self.then.counts[:-1, 0], self.now.counts[:-1, 0])
        which[sorted(left | gone)] = False
        exchanged = np.sign(raw.now - raw.then) * (raw.p <= _SURE)
        if which.any():
            # Points that the cluster that moved most loses to others, or takes from them, move their means, too.
            lead = int(np.where(which, severity, -1.0).argmax())
            which &= exchanged * np.sign(raw.now[lead] - raw.then[lead]) >= 0
        if left | gone:
            which &= exchanged <= 0
        together: dict[tuple[int, bool], list[int]] = {}
        for number in np.flatnonzero(which).tolist():
            together.setdefault((int(first[number]), bool(by[number] > 0.0)), []).append(number)
        found = []
        for (i, _), numbers in together.items():
            numbers.sort(key=lambda number: -abs(by[number]))
            lead = numbers[0]
            then, now, interval = moves.change.at(lead, i)
            labels, feature = tuple(label_of(self.classes, number) for number in numbers), str(self.then.names[i])
            average = f"({feature} from {then:.4g} to {now:.4g} on average)"
            text = f"Cluster {labels[0]} moved: {self._shifts(shift[lead])} {average}"
            if len(labels) > 1:
                listed = ", ".join(map(str, labels[:5])) + (", ..." if len(labels) > 5 else "")
                span = f"{by[numbers[-1]]:+.1f} to {by[lead]:+.1f} sd"
                text = f"{len(labels)} clusters ({listed}) moved along {feature}, by {span}"
            p, severe = float(moves.p[numbers].min()), float(severity[numbers].sum())
            found.append(Finding("moved", labels, feature, then, now, interval, p, severe, text))
        return found, set(np.flatnonzero(which).tolist())

    def _mix(self, change: Change, groups: list[Group], moved: set[int], gone: set[int]) -> list[Finding]:
        """Name clusters that vanished, or else grew or shrank, beyond what moved clusters gave and took."""
        found = []
        for number in sorted(gone):
            (then, now, interval), label = change.at(number), label_of(self.classes, number)
            text = f"Cluster {label} vanished: {then:.1%} of the points then, {now:.1%} now"
            p = float(change.p[number])
            found.append(Finding("vanished", (label,), None, then, now, interval, p, then, text))
        leak = float(np.abs((change.now - change.then)[sorted(moved)]).sum()) if moved else 0.0
        if leak or gone:
            change = compare_shares(self.then, self.now, groups, leak, sorted(gone)).adjusted(self.tests)
        by = np.abs(change.now - change.then)
        listed = [i for i in np.argsort(-by).tolist() if change.p[i] <= self.level and i not in moved]
        if not listed:
            return found
        parts = [
            f"{'noise' if i == self.classes.size else label_of(self.classes, i)} "
            f"{'grew' if change.now[i] > change.then[i] else 'shrank'} "
            f"from {change.then[i]:.1%} to {change.now[i]:.1%}"
            for i in listed[:3]
        ]
        more = f", and {len(listed) - 3} more changed" if len(listed) > 3 else ""
        text = f"{', '.join(parts)}{more}"
        if found:
            # The points of a cluster that merged into another one are not a second cause.
            return [*found[:-1], found[-1]._replace(sentence=f"{found[-1].sentence}; of the others {text}")]
        then, now, interval = change.at(listed[0])
        labels, p = tuple(label_of(self.classes, i) for i in listed), float(change.p[listed[0]])
        text = f"The mix of clusters changed: {text}"
        return [Finding("mix", labels, None, then, now, interval, p, float(by[:-1].sum() / 2.0), text)]

    def _more_atypical(self, atypical: Change) -> list[Finding]:
        hits = np.flatnonzero(atypical.p <= self.level).tolist()
        if not hits:
            return []
        total = atypical.p.size - 1
        clusters = sorted((each for each in hits if each != total), key=lambda each: -atypical.now[each])
        number = total if total in hits or len(clusters) > 1 else clusters[0]
        then, now, interval = atypical.at(number)
        labels = tuple(label_of(self.classes, each) for each in clusters)
        where = f", most of all in cluster {labels[0]}" if labels and number == total else ""
        where = f" in cluster {labels[0]}" if number != total else where
        text = f"Atypical points rose from {then:.1%} to {now:.1%}{where}"
        rise = float(np.nan_to_num(atypical.now[-1] - atypical.then[-1]))
        return [
            Finding("atypical", labels, None, then, now, interval, float(atypical.p[hits].min()), max(rise, 0.0), text)
        ]

    def _share_change(self, then: AnyArray, now: AnyArray) -> Change:
        """Compare numbers of points as shares of all; any change counts."""
        totals = np.full(then.shape, float(self.then.n_points)), np.full(now.shape, float(self.now.n_points))
        return shares_differ(then, now, totals, (0.0, 0.0))

    def _shifts(self, shift: FloatArray) -> str:
        """Return the features that moved most, and by how many standard deviations."""
        order = np.argsort(-np.abs(shift), kind="stable")[:3]
        large = [i for i in order if abs(shift[i]) >= max(SMALL_MOVE, abs(shift[order[0]]) / 5)]
        return ", ".join(f"{self.then.names[i]} {shift[i]:+.1f} sd" for i in large)


def label_of(classes: AnyArray, number: int) -> Any:
    """Return the label of a cluster; -1 for noise."""
    label = classes[number] if number < classes.size else -1
    return label.item() if isinstance(label, np.generic) else label
