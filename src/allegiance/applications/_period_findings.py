"""From figures that changed to what happened, in words: each change is given the name of what explains it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from allegiance._core import AnyArray, FloatArray
from allegiance.results import DOUBTFUL, FINE, Profile

from ._period_changes import CONTESTED, CONTRADICTED, RIGHT, UNLIKE_SHARE, Changes
from ._period_groups import pooled_spread
from ._period_tests import Change, shares_differ

UNIT, NEW, MOVED, GREW, SHRANK = "unit", "new cluster", "moved", "grew", "shrank"
#: All kinds of findings, the one that explains most first.
KINDS = (UNIT, NEW, MOVED, GREW, SHRANK, RIGHT, CONTRADICTED, CONTESTED, UNLIKE_SHARE)
_NAMED = {
    RIGHT: "Labels expected to be right",
    CONTESTED: "Contested labels",
    CONTRADICTED: "Contradicted labels",
    UNLIKE_SHARE: "Points unlike anything seen",
}
_FEATURES = 3


class Finding(NamedTuple):
    """Something that changed, beyond chance and beyond what would not matter."""

    kind: str
    """"unit", "new cluster", "moved", "grew", "shrank", "right" (expected right), "contested", "contradicted",
    "unlike"."""
    cluster: Any
    """The label of the cluster, of a new one that of the nearest; None for all points."""
    feature: str | None
    """The feature that changed, or changed most; None if none did."""
    then: float
    """A share of the points; for "moved" the mean of the feature; for "unit" 1."""
    now: float
    """The same; for "unit" the factor."""
    interval: tuple[float, float] | None
    """95 % interval of ``now - then``; None for "unit"."""
    p_value: float
    """Adjusted for all comparisons that were made."""
    sentence: str


class Wording(NamedTuple):
    """The names of what is spoken of."""

    classes: AnyArray
    features: AnyArray

    def cluster(self, number: int) -> Any:
        """Return the label of a cluster; None for all points."""
        if number >= self.classes.size:
            return "noise" if number == self.classes.size else None
        label = self.classes[number]
        return label.item() if isinstance(label, np.generic) else label

    def shifts(self, shift: FloatArray) -> str:
        """Return the features that moved most, and by how many standard deviations."""
        order = np.argsort(-np.abs(np.nan_to_num(shift)), kind="stable")[:_FEATURES]
        large = [feature for feature in order if abs(shift[feature]) >= max(0.1, abs(shift[order[0]]) / 5)]
        return ", ".join(f"{self.features[feature]} {_signed(shift[feature])} sd" for feature in large)


def findings_of(changes: Changes, then: Profile, now: Profile, wording: Wording, level: float) -> tuple[Finding, ...]:
    """Return what happened, the explanations first.

    A changed unit explains all else, so nothing else is told beside it. A group of points unlike anything seen explains
    the points unlike anything seen around it.
    """
    units = _units(changes, wording, level)
    if units:
        return tuple(units)
    grouped, moved_away, explained = _grouped(changes, then, now, wording, level)
    found = [
        *grouped,
        *_moved(changes, wording, level, moved_away),
        *_shares(changes, wording, level, moved_away),
        *_measures(changes, wording, level, explained),
    ]
    return tuple(sorted(found, key=lambda finding: KINDS.index(finding.kind)))


def _units(changes: Changes, wording: Wording, level: float) -> list[Finding]:
    found = []
    for feature, unit in enumerate(changes.units):
        if unit.p <= level:
            name = str(wording.features[feature])
            said = (
                f"{name} changed its unit: its values are {_factor(unit.factor)} what they were. Bring it back to the "
                "unit it had, then compare again"
            )
            found.append(Finding(UNIT, None, name, 1.0, unit.factor, None, unit.p, said))
    return sorted(found, key=lambda finding: -abs(np.log(finding.now)))


def _grouped(
    changes: Changes, then: Profile, now: Profile, wording: Wording, level: float
) -> tuple[list[Finding], set[int], set[int]]:
    """Name groups of points; return also the clusters that moved away, and those with points thus explained."""
    found: list[Finding] = []
    moved: set[int] = set()
    explained: set[int] = set()
    unlike = changes.by_measure[UNLIKE_SHARE]
    all_points = unlike.p.size - 1
    for group in changes.groups:
        p = float(min(unlike.p[all_points], unlike.p[group.cluster]))
        if p > level:
            continue
        explained |= {all_points, *np.flatnonzero(group.taken).tolist()}
        origin = group.origin
        center = group.center - _known_mean(then, group.cluster if origin is None else origin)
        spread = pooled_spread(then)
        shift = np.divide(center, spread, out=np.zeros_like(center), where=spread > 0.0)
        first = int(np.abs(shift).argmax())
        share = group.points / now.n_points
        if origin is None:
            usual = np.array([0.0]), np.array([float(then.n_points)])
            seen = shares_differ(
                (usual[0], np.array([round(group.points)])), (usual[1], np.array([float(now.n_points)])), _NONE
            )
            nearest = wording.cluster(group.cluster)
            said = (
                f"A new cluster appeared: {_percent(share)} of the points ({round(group.points):,}) are unlike "
                f"anything seen and lie together, nearest to cluster {nearest}, from which they differ in "
                f"{wording.shifts(shift)}"
            )
            interval = (float(seen.low[0]), float(seen.high[0]))
            found.append(Finding(NEW, nearest, str(wording.features[first]), 0.0, share, interval, p, said))
        else:
            moved.add(origin)
            name = wording.cluster(origin)
            mean = _known_mean(then, origin)[first]
            error = 1.96 * spread[first] / np.sqrt(max(group.points, 1.0))
            away = group.center[first] - mean
            said = f"Cluster {name} moved away, to where nothing was seen before: {wording.shifts(shift)}"
            interval = (float(away - error), float(away + error))
            feature = str(wording.features[first])
            found.append(Finding(MOVED, name, feature, float(mean), float(group.center[first]), interval, p, said))
    return found, moved, explained


_NONE = (np.zeros(1), np.zeros(1))


def _known_mean(then: Profile, cluster: int) -> FloatArray:
    assert then.moments is not None
    mean: FloatArray = then.moments.take((FINE, DOUBTFUL)).mean[cluster]
    return mean


def _moved(changes: Changes, wording: Wording, level: float, told: set[int]) -> list[Finding]:
    moves = changes.moves
    if moves is None:
        return []
    found = []
    for cluster in np.flatnonzero(moves.p <= level).tolist():
        if cluster in told:
            continue
        shift = moves.shift[cluster]
        first = int(np.nan_to_num(np.abs(shift)).argmax())
        then, now = float(moves.then[cluster, first]), float(moves.now[cluster, first])
        said = (
            f"Cluster {wording.cluster(cluster)} moved: {wording.shifts(shift)} "
            f"({wording.features[first]} from {then:.4g} to {now:.4g} on average)"
        )
        interval = (float(moves.low[cluster, first]), float(moves.high[cluster, first]))
        name = str(wording.features[first])
        p = float(moves.p[cluster])
        label, p = wording.cluster(cluster), float(moves.p[cluster])
        found.append((abs(float(shift[first])), Finding(MOVED, label, name, then, now, interval, p, said)))
    return [finding for _, finding in sorted(found, key=lambda pair: -pair[0])]


def _shares(changes: Changes, wording: Wording, level: float, told: set[int]) -> list[Finding]:
    change = changes.resettled
    rest = " that are not in a new cluster" if any(group.origin is None for group in changes.groups) else ""
    found = []
    for cluster in np.flatnonzero(change.p <= level).tolist():
        if cluster in told:
            continue
        then, now, interval, p = _at(change, cluster)
        name = wording.cluster(cluster)
        kind = GREW if now > then else SHRANK
        what = "The share of noise" if name == "noise" else f"Cluster {name}"
        said = f"{what} {kind} from {_percent(then)} to {_percent(now)} of the points{rest}"
        found.append(Finding(kind, name, None, then, now, interval, p, said))
    return sorted(found, key=lambda finding: -abs(finding.now - finding.then))


def _measures(changes: Changes, wording: Wording, level: float, explained: set[int]) -> list[Finding]:
    found = []
    for measure, words in _NAMED.items():
        change = changes.by_measure[measure]
        hits = np.flatnonzero(change.p <= level).tolist()
        for cluster in sorted(hits, key=lambda cluster: cluster < change.p.size - 1):
            if measure == UNLIKE_SHARE and cluster in explained:
                continue
            then, now, interval, p = _at(change, cluster)
            name = wording.cluster(cluster)
            where = "" if name is None else f" in cluster {name}"
            verb = "rose" if now > then else "fell"
            said = f"{words}{where} {verb} from {_percent(then)} to {_percent(now)}"
            found.append(Finding(measure, name, None, then, now, interval, p, said))
    return found


def _at(change: Change, cluster: int) -> tuple[float, float, tuple[float, float], float]:
    then, now, low, high, p = (float(values[cluster]) for values in change)
    return then, now, (low, high), p


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _signed(value: float) -> str:
    return f"{value:+.1f}"


def _factor(factor: float) -> str:
    """Return a factor in words; one within a percent of a power of ten as that power."""
    power = round(float(np.log10(factor)))
    if power and abs(factor / 10.0**power - 1.0) <= 0.05:
        factor = 10.0**power
    return f"{factor:,.4g} times" if factor >= 1.0 else f"a {1 / factor:,.4g}th of"
