"""From figures that changed to what happened: one finding for each cause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import special, stats

from allegiance._core.validation import AnyArray, BoolArray, FloatArray, IntArray, dense
from allegiance.engines import Z95
from allegiance.results import ATYPICAL

from ._profile import LEVELS, ROUNDING, Profile, variance_of

_INNER = (LEVELS > 0.025) & (LEVELS < 0.975)
#: Changes up to these do not matter: of a cluster's share (of all points, and of itself, whichever is smaller), of the
#: share of atypical points, and of a mean in standard deviations.
_SMALL_SHARE, _SMALL_PART, _SMALL_ATYPICAL, _SMALL_MOVE = 0.01, 0.1, 0.005, 0.1
#: Factors closer to 1 are growth; spreads may differ by so much from the factor; distributions may differ by so much
#: once a change is undone: a factor, an offset. An offset must move clusters with this share of the points.
_LEAST_FACTOR, _SPREADS, _LEFT_BY_FACTOR, _LEFT_BY_OFFSET, _MOST_POINTS = 1.5, 1.3, 0.15, 0.05, 0.75
#: A group reaches no farther than so many usual spreads, lies at least so many spreads of its cluster away from it,
#: and holds at least so many points of the sample, and this share of them.
_REACH, _AWAY, _FEWEST, _SMALLEST = 1.5, 4.0, 10, 0.15
#: Chance of so many points in a group, or of so great a loss of a cluster, must be below this. A group belongs to a
#: cluster if so much of it is nearest to it, or if the typical members moved as many spreads towards it.
_SURE, _MOSTLY, _ALONG = 0.01, 0.9, 1.0
#: Kinds of findings, those that explain most first.
_KINDS = ("unit", "shifted", "new cluster", "vanished", "moved", "mix", "atypical")


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


class Change(NamedTuple):
    """How figures changed: each field is an array of one shape."""

    then: FloatArray
    now: FloatArray
    low: FloatArray
    """Of the 95 % interval of ``now - then``."""
    high: FloatArray
    p: FloatArray
    """Chance of a change this far beyond what is allowed for, if there is none."""

    def adjusted(self, tests: int) -> Change:
        """Return the same with Bonferroni's correction."""
        return self._replace(p=np.minimum(tests * self.p, 1.0))

    def at(self, *place: int) -> tuple[float, float, tuple[float, float]]:
        """Return one figure of then and of now, and the interval of their difference."""
        then, now, low, high = (float(values[place]) for values in self[:4])
        return then, now, (low, high)


class Moves(NamedTuple):
    """How far the means of clusters moved."""

    change: Change
    """(k, d), with p-values of single features."""
    shift: FloatArray
    """(k, d) in standard deviations of then."""
    p: FloatArray
    """(k,) chance that any feature moved so far, if none did."""


class Column(NamedTuple):
    """What happened to all values of a feature: now = factor * then + offset."""

    factor: float = 1.0
    offset: float = 0.0
    difference: float = 0.0
    """Of the distributions of then and now, by Kolmogorov and Smirnov."""
    p: float = 1.0


class Group(NamedTuple):
    """Atypical points that lie together: a new cluster, or an old one that moved away."""

    points: float
    """Their number, estimated from the sample."""
    cluster: int
    """The cluster that most of them are nearest to."""
    taken: FloatArray
    """(k + 1,) how many points of each cluster they are."""
    center: FloatArray
    """(d,) their mean."""
    origin: int | None = None
    """The cluster that they are likely to be, since it lost about as many points; None for a new cluster."""


class Causes:
    """From figures that changed to what happened: a change that another one explains is not told again."""

    def __init__(self, classes: AnyArray, then: Profile, now: Profile, level: float, tests: int) -> None:
        self.classes, self.then, self.now, self.level, self.tests = classes, then, now, level, tests

    def find(
        self, columns: list[Column], groups: list[Group], moves: Moves | None, atypical: Change
    ) -> tuple[Finding, ...]:
        """Return the findings, those that explain most first."""
        found = [self._changed_column(i, column) for i, column in enumerate(columns) if column.p <= self.level]
        if not found:
            away: set[int] = set()
            if moves is not None:
                found, away = self._grouped(groups, atypical)
                gone = self._gone(groups, away)
                moved, which = self._moved(moves, away, gone)
                found, away = found + moved, away | which
            found += self._mix(groups, away)
        if not found:
            found = self._more_atypical(atypical)
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
        """Name groups; return also the clusters that moved away."""
        found: list[Finding] = []
        away: set[int] = set()
        spread, known = self.then.spread(), self.then.by_cluster(typical=True)[1]
        for group in groups:
            p = float(min(atypical.p[-1], atypical.p[group.cluster]))
            if p > self.level:
                continue
            number = group.cluster if group.origin is None else group.origin
            offset = group.center - known[number]
            shift = np.divide(offset, spread, out=np.zeros_like(offset), where=spread > 0.0)
            first, label = int(np.abs(shift).argmax()), label_of(self.classes, number)
            feature, share = str(self.then.names[first]), group.points / self.now.n_points
            if group.origin is None:
                seen = self._share_change(np.zeros(1), np.array([group.points]))
                text = (
                    f"A new cluster appeared: {share:.1%} of the points ({round(group.points):,}) lie together in a "
                    f"region with no earlier data, nearest to cluster {label}, from which they differ in "
                    f"{self._shifts(shift)}"
                )
                found.append(Finding("new cluster", (label,), feature, 0.0, share, seen.at(0)[2], p, share, text))
                continue
            away.add(number)
            half = Z95 * spread[first] / np.sqrt(max(group.points, 1.0))
            interval = (float(offset[first] - half), float(offset[first] + half))
            means = float(known[number, first]), float(group.center[first])
            text = f"Cluster {label} moved to a region with no earlier data: {self._shifts(shift)}"
            found.append(Finding("moved", (label,), feature, *means, interval, p, share, text))
        return found, away

    def _moved(self, moves: Moves, away: set[int], gone: set[int]) -> tuple[list[Finding], set[int]]:
        """Name clusters that moved, one finding for all that moved along the same feature; return also which."""
        shift = moves.shift
        first = np.abs(shift).argmax(axis=1) if shift.shape[1] else np.zeros(len(shift), dtype=np.int64)
        by = shift[np.arange(first.size), first]
        severity = self.now.counts[:-1, 0] / self.now.n_points * special.erf(np.abs(by) / np.sqrt(8.0))
        which = (moves.p <= self.level) & (np.abs(by) >= _SMALL_MOVE) & self._typical_too(first, by)
        raw = self._share_change(self.then.counts[:-1, 0], self.now.counts[:-1, 0])
        points, atypical = self.now.counts[:-1].T
        # What is left of a cluster that is gone is the edge of others, and typical.
        which &= (raw.now >= raw.then / 3.0) | (atypical > points / 2)
        which[sorted(away | gone)] = False
        exchanged = np.sign(raw.now - raw.then) * (raw.p <= _SURE)
        if which.any():
            # Points that the cluster that moved most loses to others, or takes from them, move their means, too.
            lead = int(np.where(which, severity, -1.0).argmax())
            which &= exchanged * np.sign(raw.now[lead] - raw.then[lead]) >= 0
        if away | gone:
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

    def _typical_too(self, first: IntArray, by: FloatArray) -> BoolArray:
        """Tell of each cluster (k,) whether its typical members moved as well: else a few far points moved the mean."""
        then, now = (profile.by_cluster(typical=True) for profile in (self.then, self.now))
        cells = np.arange(first.size), first
        variance = variance_of(then)[cells]
        spread = np.where(variance > 0.0, np.sqrt(variance), self.then.spread()[first])
        with np.errstate(invalid="ignore", divide="ignore"):
            shift = np.nan_to_num((now[1][cells] - then[1][cells]) / spread, posinf=np.inf)
        points, atypical = self.now.counts[:-1].T
        few = (now[0][cells] < _FEWEST) | (atypical > points / 2)
        return few | (shift * np.sign(by) >= np.abs(by) / 4.0)

    def _gone(self, groups: list[Group], moved: set[int]) -> set[int]:
        """Return the clusters that vanished."""
        change = compare_shares(self.then, self.now, groups).adjusted(self.tests)
        hits = (change.p <= self.level) & (change.now <= _SMALL_PART * change.then)
        return set(np.flatnonzero(hits[: self.classes.size]).tolist()) - moved

    def _mix(self, groups: list[Group], moved: set[int]) -> list[Finding]:
        """Name clusters that vanished, or else grew or shrank, beyond what moved clusters gave and took."""
        change, gone = compare_shares(self.then, self.now, groups).adjusted(self.tests), self._gone(groups, moved)
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
        return _shares_differ(then, now, totals, (0.0, 0.0))

    def _shifts(self, shift: FloatArray) -> str:
        """Return the features that moved most, and by how many standard deviations."""
        order = np.argsort(-np.abs(shift), kind="stable")[:3]
        large = [i for i in order if abs(shift[i]) >= max(_SMALL_MOVE, abs(shift[order[0]]) / 5)]
        return ", ".join(f"{self.then.names[i]} {shift[i]:+.1f} sd" for i in large)


def _change(
    then: FloatArray, now: FloatArray, change: FloatArray, error: FloatArray, freedom: Any, allowed: tuple[Any, Any]
) -> Change:
    """Judge changes with these standard errors by Student's t; those from ``allowed[0]`` to ``allowed[1]`` are none."""
    excess = np.maximum(np.maximum(change - allowed[1], allowed[0] - change), 0.0)
    half = stats.t.ppf(0.975, freedom) * error
    p = np.minimum(2.0 * stats.t.sf(excess / error, freedom), 1.0)
    return Change(then, now, change - half, change + half, np.nan_to_num(p, nan=1.0))


def _means_differ(then: FloatArray, now: FloatArray, allowed: FloatArray | float) -> Change:
    """Compare counts, means and squares (3, ...) of then and now by Welch's test."""
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = variance_of(then) / then[0], variance_of(now) / now[0]
        error = np.sqrt(parts[0] + parts[1])
        freedom = error**4 / (
            parts[0] ** 2 / np.maximum(then[0] - 1.0, 1.0) + parts[1] ** 2 / np.maximum(now[0] - 1.0, 1.0)
        )
        freedom = np.where(np.isfinite(freedom), np.maximum(freedom, 1.0), 1.0)
        # A single value says nothing about the spread.
        error = np.where((then[0] < 2) | (now[0] < 2), np.nan, error)
        return _change(then[1], now[1], now[1] - then[1], error, freedom, (-allowed, allowed))


def _shares_differ(then: AnyArray, now: AnyArray, n: tuple[Any, Any], allowed: tuple[Any, Any]) -> Change:
    """Compare numbers of cases among ``n`` points by Agresti and Caffo's interval: one more of each kind, then and now.

    Without any points nothing is known.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = ((cases + 1.0) / (total + 2.0) for cases, total in zip((then, now), n, strict=True))
        error = np.sqrt(a * (1.0 - a) / (n[0] + 2.0) + b * (1.0 - b) / (n[1] + 2.0))
        error = np.where(np.minimum(n[0], n[1]) > 0, error, np.nan)
        return _change(then / n[0], now / n[1], b - a, error, np.inf, allowed)


def compare_means(then: Profile, now: Profile, near: BoolArray) -> Moves:
    """Compare the means of clusters; of those ``near`` (k + 1,) a new group only typical members."""
    first, second = (
        np.where(near[:, None], profile.by_cluster(typical=True), profile.by_cluster()) for profile in (then, now)
    )
    (n1, m1, _), (n2, m2, _), variance = first, second, variance_of(first)
    rounding = ROUNDING * np.maximum(np.abs(m1), np.abs(m2))
    spread = np.where(variance > rounding**2, np.sqrt(variance), then.spread())
    change = _means_differ(first, second, np.maximum(_SMALL_MOVE * spread, rounding))
    moved = (np.abs(m2 - m1) > rounding) & (n1 > 0) & (n2 > 0)
    shift = np.divide(m2 - m1, np.maximum(spread, rounding), out=np.zeros_like(m1), where=moved)
    p = np.minimum(change.p.min(axis=1, initial=1.0) * max(spread.shape[1], 1), 1.0)
    return Moves(Change(*(values[:-1] for values in change)), shift[:-1], p[:-1])


def compare_columns(then: Profile, now: Profile, moves: Moves) -> list[Column]:
    """Return for each feature whether all its values were rescaled or shifted."""
    # A single cluster that moves makes distributions differ by no more than its share. Where many points are atypical,
    # labels do not tell which clusters moved.
    most = then.counts[:-1, 0].max(initial=0) / then.n_points
    if now.counts[:, 1].sum() < now.n_points / 4:
        most = max(most, 0.5)
    shares = now.counts[:-1, 0] / now.n_points
    spread, found = then.spread(), []
    then, now = then.without_rows(), now.without_rows()
    assert then.quantiles is not None and now.quantiles is not None  # noqa: PT018
    assert then.n_values is not None and now.n_values is not None  # noqa: PT018
    for i, (before, after) in enumerate(zip(then.quantiles.T, now.quantiles.T, strict=True)):
        n1, n2 = float(then.n_values[i]), float(now.n_values[i])
        difference, chosen = _ks_distance(before, after), Column()
        if min(n1, n2) >= 20 and difference > 0.0:
            by_chance = 1.63 * np.sqrt((n1 + n2) / (n1 * n2))
            p = float(stats.kstwobign.sf(difference * np.sqrt(n1 * n2 / (n1 + n2))))
            for factor, offset in _candidates(before, after, spread[i]):
                left = _ks_distance(before, (after - offset) / factor)
                limit = max(by_chance, max(_LEFT_BY_OFFSET, difference / 8.0) if offset else _LEFT_BY_FACTOR)
                along = moves.change.now[:, i] - moves.change.then[:, i]
                together = float(shares[along * np.sign(offset) >= abs(offset) / 4.0].sum())
                common = not offset or difference > most or (factor == 1.0 and together >= _MOST_POINTS)
                if left <= min(limit, difference / 3.0) and common:
                    chosen = Column(factor, offset, difference, p)
                    break
        found.append(chosen)
    return found


def _candidates(before: FloatArray, after: FloatArray, spread: float) -> list[tuple[float, float]]:
    """Return the factors and offsets that may turn one distribution into the other, the simplest first."""
    widths = _width(before), _width(after)
    ratio = widths[1] / widths[0] if min(widths) > 0.0 else 1.0 if max(widths) == 0.0 else np.nan
    sizes = np.abs(before[_INNER]).sum(), np.abs(after[_INNER]).sum()
    factor = sizes[1] / sizes[0] if sizes[0] > 0.0 else np.nan
    offset = float(np.median(after - before))
    rounding = ROUNDING * max(np.abs(before).max(), np.abs(after).max())
    rescaled = [each > 0.0 and abs(np.log(each)) >= np.log(_LEAST_FACTOR) for each in (factor, ratio)]
    candidates = [
        (rescaled[0] and 1.0 / _SPREADS < ratio / factor < _SPREADS, factor, 0.0),
        (1.0 / _SPREADS < ratio < _SPREADS and abs(offset) > max(_SMALL_MOVE * spread, rounding), 1.0, offset),
        (rescaled[1], ratio, float(np.median(after - ratio * before))),
    ]
    return [(float(scale), shift) for possible, scale, shift in candidates if possible]


def _width(quantiles: FloatArray) -> float:
    """Return how wide a distribution is: the mean distance from its median, without the outer 2.5 % on either side."""
    middle = quantiles[_INNER]
    width = float(np.abs(middle - np.median(middle)).mean())
    return width if width > ROUNDING * float(np.abs(quantiles).max()) else 0.0


def _ks_distance(first: FloatArray, second: FloatArray) -> float:
    """Return a lower bound of the distance of two distributions, both given by quantiles (q,) at the same levels."""
    rounding = ROUNDING * max(np.abs(first).max(), np.abs(second).max())
    places = np.concatenate([first, second])
    distance = 0.0
    for margin, side in ((-rounding, "left"), (rounding, "right")):
        one, other = (np.searchsorted(values, places + margin, side) / values.size for values in (first, second))  # type: ignore[call-overload]
        distance = max(distance, float(np.abs(one - other).max()))
    return max(distance - 2.0 / first.size, 0.0)


def find_groups(then: Profile, now: Profile, usual: float) -> list[Group]:
    """Find groups among the atypical points of now, the largest first; ``usual`` is the share of atypical points."""
    scale = then.spread()
    used = scale > 0.0
    if now.strange is None or now.strange.codes.size < _FEWEST or not used.any():
        return []
    from sklearn.cluster import DBSCAN

    known = then.by_cluster(typical=True)[1]
    codes, rows = now.strange.codes, dense(now.strange.rows).astype(np.float64)
    rows = np.where(np.isnan(rows), known[codes], rows)
    scaled, fewest = rows[:, used] / scale[used], max(_FEWEST, _SMALLEST * codes.size)
    each = now.counts[:, 1].sum() / codes.size
    n = np.array([float(then.n_points)]), np.array([float(now.n_points)])
    found: list[Group] = []
    together = DBSCAN(eps=_REACH * np.sqrt(2.0 * used.sum()), min_samples=round(fewest)).fit_predict(scaled)
    for number in range(together.max() + 1):
        inside = together == number
        host = int(np.bincount(codes[inside]).argmax())
        points = float(inside.sum() * each)
        by_chance = _shares_differ(n[0] * usual / 2.0, np.array([points]), n, (-1.0, 0.0)).p[0]
        if by_chance <= _SURE and _lies_away(now, host, scaled[inside], known[host], scale):
            taken = np.bincount(codes[inside], minlength=then.counts.shape[0]) * each
            found.append(Group(points, host, taken, rows[inside].mean(axis=0)))
    return _with_origins(sorted(found, key=lambda group: -group.points), then, now)


def _lies_away(now: Profile, cluster: int, group: FloatArray, mean: FloatArray, scale: FloatArray) -> bool:
    """Tell whether a group, in units of spread, lies outside a cluster with this mean."""
    assert now.values is not None
    used = scale > 0.0
    offset = group.mean(axis=0) - mean[used] / scale[used]
    distance = float(np.linalg.norm(offset))
    members = dense(now.values.rows[now.values.codes == cluster])[:, used] / scale[used]
    along = members[~np.isnan(members).any(axis=1)] @ (offset / max(distance, 1e-300))
    return distance >= _AWAY * max(float(along.std()) if along.size >= _FEWEST else 1.0, 0.25)


def _with_origins(groups: list[Group], then: Profile, now: Profile) -> list[Group]:
    """Return groups with the clusters that they are likely to be, each cluster once.

    Groups that are the far end of the cluster they are nearest to, which moved, are left out: its mean tells.
    """
    typical = [(profile.counts[:-1, 0] - profile.counts[:-1, 1]).astype(float) for profile in (then, now)]
    outside = max(now.n_points - sum(group.points for group in groups), 1.0)
    n = np.full_like(typical[0], then.n_points), np.full_like(typical[0], outside)
    change = _shares_differ(typical[0], np.minimum(typical[1], outside), n, (0.0, 0.0))
    shrank = (change.now < change.then) & (change.p * typical[0].size <= _SURE)
    lost = np.where(shrank, typical[0] / then.n_points * now.n_points - typical[1], 0.0)
    scale, known = then.spread(), then.by_cluster(typical=True)[1]
    number, moved, _ = now.by_cluster(typical=True)
    used, found = scale > 0.0, []
    for group in groups:
        origin = int(lost.argmax()) if lost.max() >= group.points / 2.0 else None
        here = group.cluster
        offset, shift = (
            ((place - known[here]) / np.where(used, scale, 1.0))[used] for place in (group.center, moved[here])
        )
        if number[here].min(initial=np.inf) >= _FEWEST and shift @ offset >= _ALONG * np.linalg.norm(offset):
            origin = here
        if origin is not None:
            lost[origin] = 0.0
        if origin is None or group.taken[origin] < _MOSTLY * group.points:
            found.append(group._replace(origin=origin))
    return found


def with_total(by_cluster: AnyArray) -> FloatArray:
    """Return figures (k + 2,) of clusters, noise, and all points."""
    return np.append(by_cluster, by_cluster.sum()).astype(np.float64)


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
        if group.origin is not None:
            moved[group.origin] -= moved.sum()
        counts[1] = np.maximum(counts[1] + with_total(moved), 0.0)
    n1, n2 = (np.full_like(each, each[-1]) for each in counts)
    small = np.minimum(_SMALL_SHARE, _SMALL_PART * counts[0] / max(counts[0][-1], 1.0)) + leak
    change = _shares_differ(counts[0], counts[1], (n1, n2), (-small, small))
    change.p[-1] = 1.0
    return change


def compare_atypical(then: Profile, now: Profile, member_sizes: IntArray) -> Change:
    """Compare the shares (k + 2,) of atypical points: only more of them are news.

    Points of the fit are rarely atypical, so the share that new points like the members have stands in for a smaller
    one of then; and it is known only as well as the members that are kept tell it.
    """
    figures = []
    for profile in (then, now):
        for column in profile.counts.T:
            values = with_total(column)
            values[-1] -= values[-2]  # noise has no members to be unlike
            values[-2] = 0.0
            figures.append(values)
    n1, x1, n2, x2 = figures
    shown = _shares_differ(x1, x2, (n1, n2), (-np.inf, np.inf))
    known = np.maximum(np.ceil(ATYPICAL * (1.0 + member_sizes)) - 1.0, 1.0)
    nominal = np.where(member_sizes > 0, known / (1.0 + member_sizes), 0.0)
    rate = np.maximum(np.nan_to_num(shown.then[:-2]), nominal)
    size = np.minimum(n1[:-2], member_sizes)
    overall = max(float(rate @ n2[:-2] / max(n2[-1], 1.0)), float(np.nan_to_num(shown.then[-1])))
    rates, sizes = np.concatenate([rate, [0.0, overall]]), np.concatenate([size, [0.0, size.sum()]])
    return shown._replace(p=_shares_differ(sizes * rates, x2, (sizes, n2), (-1.0, _SMALL_ATYPICAL)).p)


def label_of(classes: AnyArray, number: int) -> Any:
    """Return the label of a cluster; -1 for noise."""
    label = classes[number] if number < classes.size else -1
    return label.item() if isinstance(label, np.generic) else label
