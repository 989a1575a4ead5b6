"""Two periods compared: the findings, and the figures behind them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from allegiance._core.progress import Verbose, progress
from allegiance._core.validation import AnyArray, check_number, is_lazy
from allegiance.fitting import Fitted
from allegiance.notebook import Card, Shown, count
from allegiance.results import ATYPICAL, FrameLike

from ._causes import (
    Causes,
    Change,
    Column,
    Finding,
    Group,
    Moves,
    compare_atypical,
    compare_columns,
    compare_means,
    compare_shares,
    find_groups,
    label_of,
    with_total,
)
from ._profile import Profile, baseline_of, member_sizes

if TYPE_CHECKING:
    from allegiance import AffinityScorer

_HEADINGS = ("cluster", "share", "atypical", "moved most")
_MOST_CLUSTERS = 20


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

    def frame(self) -> Any:
        """Return one row per cluster, one for noise (-1) if there is any, and one for all points.

        Columns are ``cluster``, ``points_then``, ``points_now``; ``share`` and ``atypical`` then and now, with the 95 %
        interval of the difference (``share_low``, ``share_high``, ...) and its p-value, adjusted for all comparisons;
        and ``moved`` and ``moved_by``: the feature whose mean moved most, and by how many standard deviations.
        """
        lines = [line | {"cluster": str(line["cluster"])} for line in self._lines()]
        return self._frame.build({name: np.array([line[name] for line in lines]) for name in lines[0]})

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
        rows = self._feature_lines(cluster, n)
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
            "features": [_plain(line) for line in self._feature_lines(None, 10)],
        }

    def _lines(self) -> list[dict[str, Any]]:
        """Return the figures of the clusters, of noise if there is any, and of all points."""
        k = self.classes.size
        share, atypical, moves = self._changes
        points = {"then": with_total(self.then.counts[:, 0]), "now": with_total(self.now.counts[:, 0])}
        noise = [k] if points["then"][k] or points["now"][k] else []
        lines = []
        for row in [*range(k), *noise, k + 1]:
            line: dict[str, Any] = {"cluster": "all" if row > k else label_of(self.classes, row)}
            line |= {f"points_{when}": int(number[row]) for when, number in points.items()}
            for name, change in (("share", share), ("atypical", atypical)):
                line |= {f"{name}_{part}": float(values[row]) for part, values in change._asdict().items()}
            line |= {"moved": "", "moved_by": 0.0}
            if moves is not None and row < k and moves.shift.shape[1]:
                first = int(np.abs(moves.shift[row]).argmax())
                line |= {"moved": str(self.then.names[first]), "moved_by": float(moves.shift[row, first])}
            lines.append(line)
        return lines

    def _feature_lines(self, cluster: Any, n: int | None) -> list[dict[str, Any]]:
        labels = [str(label) for label in self.classes]
        named = {str(label) for finding in self.findings for label in finding.clusters} or set(labels)
        if cluster is not None:
            if str(cluster) not in labels:
                raise ValueError(f"cluster={cluster!r} is not among the clusters: {', '.join(labels)}.")
            named = {str(cluster)}
        moves, lines = self._changes[2], []
        for i, label in enumerate(labels):
            if moves is None or label not in named:
                continue
            for feature in np.argsort(-np.abs(moves.shift[i]), kind="stable")[:n]:
                then, now, (low, high) = moves.change.at(i, feature)
                figures = {"then": then, "now": now, "low": low, "high": high, "shift": moves.shift[i, feature]}
                lines.append({"cluster": label, "feature": str(self.then.names[feature]), **figures})
        return lines

    def headline(self) -> str:
        """Say in one sentence whether it drifted."""
        shares = [float(np.nan_to_num(values[-1])) for values in self._changes[1][:2]]
        atypical = "Atypical points: {:.1%} then, {:.1%} now".format(*shares)
        if not self.drifted:
            return f"Nothing changed beyond chance. {atypical}"
        return f"Drifted: {count(len(self.findings), 'finding')}. {atypical}"

    def _sentences(self) -> list[str]:
        p = [("< 0.0001" if each.p_value < 1e-4 else f"= {each.p_value:.2g}") for each in self.findings]
        return [f"- {each.sentence} (p {p})" for each, p in zip(self.findings, p, strict=True)]

    def _card(self) -> Card:
        cells, more = self._cells()
        title = f"{count(self.then.n_points, 'point')} then, {self.now.n_points:,} now"
        lines, words = [self.headline(), *self._sentences()], ("cluster", "moved most")
        return Card(title, lines, headings=_HEADINGS, rows=cells, words=words, notes=[more])

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
    scorer: AffinityScorer, X_then: Any, X_now: Any, *, level: float = 0.05, verbose: Verbose = False
) -> PeriodComparison:
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
    check_is_fitted(scorer)
    profiles = []
    with progress(2, "comparing periods", verbose, unit="periods") as advance:
        for X in (X_then, X_now):
            profiles.append(baseline_of(scorer.fitted_) if X is None else scorer.profile(X))
            advance(1)
    then, now = profiles
    if then is None or now is None:
        raise ValueError(
            "X_then is None, but the scorer has no baseline: call scorer.keep_baseline(X) with the points of the "
            "first period, or pass them as X_then."
        )
    frame = FrameLike() if is_lazy(X_now) else FrameLike.of(X_now).without_index()
    return compare_profiles(scorer.fitted_, then, now, level=level, frame=frame)


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
    atypical = atypical.adjusted(tests)
    findings = Causes(fitted.classes, then, now, level, tests).find(columns, groups, moves, atypical)
    shown = compare_shares(then, now, [])._replace(p=shares.adjusted(tests).p)
    return PeriodComparison(findings, fitted.classes, then, now, level, (shown, atypical, moves), frame or FrameLike())
