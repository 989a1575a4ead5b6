"""AffinityResult: the affinities of points, the trust in their labels, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allegiance._core.parallel import for_row_blocks, slices
from allegiance._core.parameters import Lazy
from allegiance._core.validation import AnyArray, BoolArray, FloatArray, FrameLike, IntArray, check_number
from allegiance.calibration import Audit, AuditSample, MemberDistances, TrustMap, audit, audit_sample
from allegiance.engines import Z95, engine_names
from allegiance.influence import Diagram, Located
from allegiance.notebook import Card, Shown

from ._clusters import CONTESTED, CONTRADICTED, NO_LABEL, SUPPORTED, VERDICTS, Tally, cluster_table
from ._summary import summary_card

if TYPE_CHECKING:
    import pandas as pd

    from allegiance.displays import ResultPlots
    from allegiance.drivers import Drivers
    from allegiance.report import InlinePage

#: Rows whose distances are computed at a time: few enough to stay in the cache of a core.
_ROWS = 8192


@dataclass(frozen=True)
class HowMeasured:
    """How the affinities were measured."""

    influence: str
    """What closeness means, weights included."""
    domain: str
    engine: str
    """The engine that was requested. ``AffinityResult.engine`` names the one that measured each point."""
    eps: float
    """Half-width of 95 % intervals."""
    seed: int
    dim: int
    """Dimensions in which volume was measured, after reduction to the span of the representatives."""
    n_features: int
    seconds: float


class Ranks(NamedTuple):
    """The clusters that matter most to each of n points, and their affinities. All arrays are (n,)."""

    first: IntArray
    """Column of the largest affinity; the first of equals."""
    largest: FloatArray
    largest_error: FloatArray
    own: FloatArray
    """Affinity to the point's own cluster; 0 for noise."""
    own_error: FloatArray
    rival: IntArray
    """Column of the largest affinity to a cluster other than the point's own."""
    rival_affinity: FloatArray
    """0 if there is only one cluster."""
    rival_error: FloatArray
    worst_error: FloatArray
    """Largest standard error of all affinities."""

    @classmethod
    def of(cls, affinity: FloatArray, error: FloatArray, codes: AnyArray) -> Ranks:
        """Rank affinities (n, k) with their standard errors, for points of clusters ``codes`` (n,), -1 for noise."""
        n, k = affinity.shape
        rows, labelled = np.arange(n), codes >= 0
        first = affinity.argmax(axis=1)
        largest, largest_error = affinity[rows, first], error[rows, first]
        own = np.where(labelled, affinity[rows, codes], 0.0)
        own_error = np.where(labelled, error[rows, codes], 0.0)
        worst, none = error.max(axis=1, initial=0.0), np.zeros(n)
        if k == 1:
            return cls(first, largest, largest_error, own, own_error, first, none, none, worst)
        others = affinity.copy()
        others[rows[labelled], codes[labelled]] = -1.0
        rival = others.argmax(axis=1)
        rival_affinity, rival_error = affinity[rows, rival], error[rows, rival]
        return cls(first, largest, largest_error, own, own_error, rival, rival_affinity, rival_error, worst)


def distance_and_closeness(
    diagram: Diagram, located: Located, codes: AnyArray, threads: int
) -> tuple[FloatArray, FloatArray]:
    """Return the distance (n,) of points from the representative of their cluster (n,), and their closeness (n,) to it.

    For noise, -1, the distance is that from the nearest one, and closeness 0. Distances include the part outside the
    span of the representatives. For a Bregman divergence the distance is its square root.
    """
    n = codes.shape[0]
    distance, closeness = np.empty(n), np.empty(n)

    def work(rows: slice) -> None:
        for part in slices(rows, _ROWS):
            own, other = diagram.own_and_other(Located(located.position[part], located.residual[part]), codes[part])
            distance[part] = own
            closeness[part] = np.where(codes[part] < 0, 0.0, (1.0 + _gap(own, other)) / 2.0)

    with np.errstate(over="ignore", invalid="ignore"):
        for_row_blocks(work, n, threads)
    return distance, closeness


def _gap(own: FloatArray, other: FloatArray) -> FloatArray:
    """Return (t - o) / max(t, o) (n,): 0 where both are 0, or too large to compare."""
    larger = np.maximum(own, other)
    gap = np.divide(other - own, larger, out=np.zeros_like(own), where=(larger > 0) & np.isfinite(larger))
    # A single cluster has no other one to be close to.
    gap[np.isinf(other) & np.isfinite(own)] = 1.0
    return gap


@dataclass(frozen=True, repr=False, eq=False)
class AffinityResult(Shown):
    """Affinities of n points to k clusters, and what follows from them.

    ``print(result)`` gives a summary, :meth:`frame` one row per point, :meth:`by_cluster` one row per cluster and
    :meth:`review` the labels to look at first.

    Attributes
    ----------
    affinity
        (n, k) the share of the point's territory that is taken from each cluster, if the point were a cluster of its
        own. Rows sum to 1. With ``top=m`` only the m largest, (n, m), the largest first.
    standard_error
        Standard error of each affinity, 0 where it is exact. A 95 % interval is 1.96 standard errors to each side.
    clusters
        (n, m) with ``top=m``, the labels of the clusters whose affinities are kept; None if all are.
    label
        (n,) the label the clustering gave; -1 is noise.
    classes
        (k,) the label of each cluster, sorted; without ``top`` these are the columns of ``affinity``.
    empty_cell
        (n,) whether the point has no territory at all. Its affinity is then the limit of a vanishing territory.
    residual
        (n,) distance of the point from the subspace spanned by the cluster representatives, which affinity does not
        use. For Bregman divergences it is the divergence of the point from its projection.
    how
        How the affinities were measured.

    Examples
    --------
    >>> import numpy as np
    >>> from allegiance import affinity
    >>> result = affinity([[0.0], [1.0], [4.0], [9.0], [10.0]], [0, 0, 1, 1, 1], influence="euclidean")
    >>> result.own_affinity.round(2)
    array([1.  , 0.93, 0.49, 1.  , 1.  ])
    >>> result.verdict
    array(['supported', 'supported', 'contradicted', 'supported', 'supported'],
          dtype='<U12')
    >>> result = affinity(np.arange(10.0)[:, None], np.arange(10) // 2, influence="euclidean", top=2)
    >>> result.clusters[3], result.affinity[3].round(2)
    (array([1, 2]), array([0.75, 0.25]))
    """

    affinity: FloatArray
    standard_error: FloatArray
    label: AnyArray
    classes: AnyArray
    empty_cell: BoolArray
    residual: FloatArray
    how: HowMeasured
    codes: IntArray
    distances: Lazy[tuple[FloatArray, FloatArray]]
    members: Lazy[MemberDistances] | None
    trust_map: TrustMap | None
    engine_codes: AnyArray
    frame_like: FrameLike
    clusters: AnyArray | None = None
    top_ranks: Ranks | None = None
    audited: FloatArray | None = None

    @property
    def n_points(self) -> int:
        """The number of points."""
        return self.label.shape[0]

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return self.classes.shape[0]

    @property
    def noise(self) -> BoolArray:
        """(n,) whether the clustering left the point out of every cluster."""
        return self.codes < 0

    @cached_property
    def ranks(self) -> Ranks:
        """The first, the second, the own and the rival cluster of each point."""
        if self.top_ranks is not None:
            return self.top_ranks
        return Ranks.of(self.affinity, self.standard_error, self.codes)

    @property
    def own_affinity(self) -> FloatArray:
        """(n,) affinity to the cluster of the point's own label, 0 for noise."""
        return self.ranks.own

    @property
    def owner(self) -> AnyArray:
        """(n,) label of the cluster with the largest affinity. Look at points where it differs from ``label``."""
        return self.classes[self.ranks.first]

    @property
    def rival(self) -> AnyArray:
        """(n,) label of the best cluster other than the point's own; for noise the best of all."""
        return self.classes[self.ranks.rival]

    @property
    def stable(self) -> BoolArray:
        """(n,) whether one cluster gives more than half of the territory: the paper's criterion."""
        return self.ranks.largest > 0.5

    @property
    def closeness(self) -> FloatArray:
        """(n,) (1 + (t - o) / max(t, o)) / 2, where o and t are the distances from the own and the nearest other
        representative: 1/2 half-way between the two, 0 for noise.
        """  # noqa: D205
        return self.distances.value[1]

    @property
    def distance(self) -> FloatArray:
        """(n,) distance from the representative of the own cluster; for noise from the nearest one."""
        return self.distances.value[0]

    @cached_property
    def typicality(self) -> FloatArray:
        """(n,) share of the members of its cluster that lie at least as far out as the point, NaN for noise.

        Below 0.01 a point is unlike the members of its cluster, even if no other cluster is close.
        """
        if self.members is None:
            raise ValueError("typicality needs the distances of cluster members, which this model does not hold.")
        return self.members.value.typicality(self.codes, self.distance)

    @property
    def engine(self) -> AnyArray:
        """(n,) name of the engine that measured each point."""
        return engine_names(self.engine_codes)

    @property
    def calibrated(self) -> bool:
        """Whether there is :attr:`trust`."""
        return self.trust_map is not None

    @property
    def _calibration(self) -> TrustMap:
        if self.trust_map is None:
            raise ValueError(
                "trust needs calibration: call trust(X, labels), or pass calibration=20 to affinity or AffinityScorer."
            )
        return self.trust_map

    @cached_property
    def chance_to_return(self) -> FloatArray:
        """(n,) :attr:`trust` as it is without an audit."""
        return self._calibration.trust(self.ranks.own, self.closeness, self.codes, self.distance)

    @property
    def trust(self) -> FloatArray:
        """(n,) chance that the point gets the same cluster if the clustering is repeated, NaN for noise.

        The repeat is made from an independent sample of the same size from the same population, and its clusters are
        matched to the present ones. In the result of an audit it is the chance that the label is right. See
        ``docs/trust.md`` for how it is estimated and when not to rely on it.
        """
        return self.chance_to_return if self.audited is None else self.audited

    @cached_property
    def verdict(self) -> AnyArray:
        """(n,) "supported", "contested", "contradicted" or "noise".

        Supported: the own cluster has the largest affinity, and trust is at least one half. Contradicted: a rival has
        more beyond the error bars, and trust is below one half. Contested: everything else. Without calibration the
        error bars alone decide.
        """
        return verdicts(self.ranks, self.codes, self.trust if self.calibrated else None)

    @property
    def replication(self) -> float:
        """The share of labels that would come back if the data were collected and clustered again.

        It is the mean trust of the labelled points, NaN if there are none.
        """
        chance = self.chance_to_return[~self.noise]
        return float(chance.mean()) if chance.size else np.nan

    @property
    def replication_interval(self) -> tuple[float, float]:
        """Interval that holds the share of labels that come back in one repeat with a chance of 90 %."""
        return self._calibration.interval(self.replication)

    @property
    def clusterer_note(self) -> str | None:
        """What was repeated, how well it reproduces the labels, and what to do if it does not; None without trust."""
        return None if self.trust_map is None else " ".join([self.trust_map.note, *self.trust_map.remarks])

    @property
    def remarks(self) -> list[str]:
        """Why trust should not be taken at face value, in sentences; empty if nothing speaks against it."""
        return [] if self.trust_map is None else self.trust_map.remarks

    @cached_property
    def ranking(self) -> FloatArray:
        """(n,) what :meth:`review` sorts by, ascending; NaN for noise. Without calibration it is own affinity.

        It comes from the same fit as trust, without the effects of clusters: a cluster that always comes back can still
        hold two classes.
        """
        if self.audited is not None:
            return self.audited
        if self.trust_map is None:
            return np.where(self.noise, np.nan, self.own_affinity)
        return self.trust_map.ranking(self.ranks.own, self.closeness, self.codes, self.distance)

    def least_trusted(self, n: int | str = 10) -> IntArray:
        """Return the rows of the labels to look at first; see :meth:`review` for ``n``."""
        return review_rows(self.ranking, n)

    def review(self, n: int | str | None = None, *, below: float | None = None) -> pd.DataFrame:
        """Return the labels to look at, the least sure first, as a frame with the index of X.

        The order is :attr:`ranking`, not trust: a cluster that always comes back can still hold wrong labels.

        Parameters
        ----------
        n
            How many, as in ``500``, or which share of all, as in ``"5%"``. By default all that are not supported.
        below
            Only labels with less trust than this.
        """
        rows = review_rows(self.ranking, n, below, self.trust if self.calibrated else None)
        if n is None and below is None:
            rows = rows[self.verdict[rows] != SUPPORTED]
        return self.frame_like.build_rows(rows, {name: column[rows] for name, column in self.columns().items()})

    def tally(self) -> Tally:
        """Return counts by cluster, which those of other points can be added to."""
        return Tally.of(self)

    def by_cluster(self) -> pd.DataFrame:
        """Return one row per cluster, the least trusted first, noise last.

        Columns are ``cluster``, ``points``, ``replication`` (mean trust, with calibration), ``supported``,
        ``contested``, ``contradicted``, ``rival`` (the most frequent one of labels that are not supported),
        ``most_typical`` and ``least_trusted`` (rows).
        """
        return self.frame_like.without_index().build(cluster_table(self))

    def frame(self, like: Any = None, *, details: bool = False) -> pd.DataFrame:
        """Return one row per point, in the order of the input.

        Columns are ``label``, ``trust`` (with calibration), ``verdict``, ``rival``, ``own_affinity`` and
        ``typicality``.

        Parameters
        ----------
        like
            A frame whose library, and for pandas whose index, to use. By default those of the X that was scored, or
            pandas.
        details
            Add ``owner``, ``stable``, ``closeness``, ``empty_cell``, ``residual``, ``engine``, ``standard_error`` (of
            the largest affinity) and the affinities: one ``affinity_<label>`` for each cluster, or with ``top``
            ``cluster_1``, ``affinity_1``, ``cluster_2`` and so on.
        """
        return (self.frame_like if like is None else FrameLike.of(like)).build(self.columns(details=details))

    def columns(self, *, details: bool = False) -> dict[str, AnyArray]:
        """Return the columns (n,) of :meth:`frame` by name."""
        names = ["label", "verdict", "rival", "own_affinity"]
        if self.calibrated:
            names.insert(1, "trust")
        if self.members is not None:
            names.append("typicality")
        if details:
            names += ["owner", "stable", "closeness", "empty_cell", "residual", "engine"]
        columns: dict[str, AnyArray] = {name: getattr(self, name) for name in names}
        if not details:
            return columns
        columns["standard_error"] = self.ranks.largest_error
        if self.clusters is None:
            return columns | {f"affinity_{name}": self.affinity[:, i] for i, name in enumerate(self.classes)}
        for rank in range(self.affinity.shape[1]):
            columns[f"cluster_{rank + 1}"] = self.clusters[:, rank]
            columns[f"affinity_{rank + 1}"] = self.affinity[:, rank]
        return columns

    def summary(self) -> str:
        """Return the summary that ``print(result)`` shows."""
        return repr(self)

    @property
    def plot(self) -> ResultPlots:
        """Figures of the result: ``plot()`` the usual one, ``plot.profile()``, ``plot.map(X)`` and others.

        Needs the extra ``plot``.
        """
        from allegiance.displays import ResultPlots

        return ResultPlots(self)

    def drivers(self, data: Any, **settings: Any) -> Drivers:
        """Find the columns that separate the clusters, and a short rule that reproduces the labels.

        Parameters
        ----------
        data
            (n, d) the data that was clustered: an array, a sparse matrix, or a frame of numbers, dates and categories.
        **settings
            As in :func:`allegiance.drivers.drivers`.
        """
        from allegiance.drivers import drivers

        return drivers(self, data, **settings)

    def report(self, path: Any = None, X: Any = None, **settings: Any) -> Path | InlinePage:
        """Write one HTML page to look at the result and to review labels, and return its path.

        The page opens offline, without a server. Without a path it is shown in a notebook. Needs the extra ``report``.

        Parameters
        ----------
        path
            The file to write; an existing one is replaced once the new one is complete. None for no file: the page
            that is returned shows itself in a notebook, and can be saved.
        X
            (n, d) the data that was clustered: where points lie on the map, and which members are nearest. Without it
            the map shows the affinities.
        **settings
            ``data``: a frame with your own columns (numbers, dates, categories, texts), in which clusters and points
            are described, and which the exports carry; by default X.
            ``ids``: (n,) what identifies the points, the names of columns of ``data``, or a frame; by default the index
            of the frame that was scored, or of X.
            ``texts``: (n,) documents that the points stand for.
            ``images``: (n, height, width) or (n, height, width, 3) pictures of the points, or (n,) paths of files.
            ``coordinates``: (n, 2) where the points lie on the map, or a frame of two columns; by default two
            principal components.
            ``feature_names``: (d,) names of the columns of X; by default those of a frame.
            ``describe_by``: the columns that describe clusters, such as the features; by default all of them.
            ``row_numbers``: (n,) the number of each point's row in your data, if X has only some of its rows.
            ``names``: a dict from labels to names of clusters; by default made from what sets a cluster apart.
            ``title``: the heading of the page.
        """
        from allegiance.report import write_report

        return write_report(self, path, X, **settings)

    def serve(self, X: Any = None, **settings: Any) -> Any:
        """Serve the page of :meth:`report` on this machine: decisions about labels are kept in a log.

        It runs in the background until it is closed. Needs the extra ``report``.

        Parameters
        ----------
        X
            (n, d) the data that was clustered, as in :meth:`report`.
        **settings
            As in :meth:`report`, and ``log`` (the file that decisions are appended to, by default decisions.jsonl),
            ``host``, ``port`` and ``open_browser`` as in :func:`allegiance.review.serve`.
        """
        from allegiance.review import serve

        return serve(self, X, **settings)

    def n_wider_than(self, eps: float) -> int:
        """Return how many points have an affinity whose 95 % interval has a half-width of more than ``eps``."""
        if self.top_ranks is not None:
            return int((Z95 * self.top_ranks.worst_error > eps).sum())
        # Looking at all numbers at once is much faster than row by row, and usually enough.
        if Z95 * self.standard_error.max(initial=0.0) <= eps:
            return 0
        return int((Z95 * self.standard_error.max(axis=1) > eps).sum())

    def above_chance(self) -> float:
        """Return (E - C) / (1 - C) with E the replication and C what unrelated partitions of these sizes reach."""
        return self._calibration.above_chance(self.replication)

    def audit_sample(self, n: int = 60, *, random: float = 0.5, random_state: Any = 0) -> AuditSample:
        """Choose labels for a person to look at: some drawn at random, the others those to review first.

        Only labels that were drawn at random speak for the others. Of those to review first more are wrong.

        Parameters
        ----------
        n
            How many labels.
        random
            The share of them that is drawn at random; 1 for all.
        random_state
            Seed of the draw. The sample keeps it.
        """
        return audit_sample(self.ranking, n, random=random, seed=random_state)

    def audit(self, rows: Any, right: Any) -> Audit:
        """Say how many labels are right, after a person has looked at some.

        Parameters
        ----------
        rows
            What :meth:`audit_sample` returned. Row numbers of your own choice count as known labels, but do not speak
            for the others.
        right
            (m,) whether each label is right, as truth values; or the labels that would be right. None or NaN where
            there is no answer.
        """
        found = audit(rows, right, label=self.label, codes=self.codes, classes=self.classes, ranking=self.ranking)
        return replace(found, result=replace(self, audited=found.trust))

    @staticmethod
    def concatenate(parts: Sequence[AffinityResult], frame: FrameLike) -> AffinityResult:
        """Return one result for the points of several, which come from the same scorer."""
        first = parts[0]
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in ("affinity", "standard_error", "label", "empty_cell", "residual", "codes", "engine_codes")
        }
        if first.clusters is not None:
            joined["clusters"] = np.concatenate([part.clusters for part in parts if part.clusters is not None])
            joined["top_ranks"] = Ranks(*map(np.concatenate, zip(*(part.ranks for part in parts), strict=True)))

        def joined_distances(which: int) -> FloatArray:
            return np.concatenate([part.distances.value[which] for part in parts])

        return replace(
            first,
            how=replace(first.how, seconds=sum(part.how.seconds for part in parts)),
            distances=Lazy(lambda: (joined_distances(0), joined_distances(1))),
            frame_like=frame,
            **joined,
        )

    def __len__(self) -> int:
        return self.n_points

    def _card(self) -> Card:
        return summary_card(self)


def verdicts(ranks: Ranks, codes: AnyArray, trust: FloatArray | None) -> AnyArray:
    """Return the verdict (n,) on each label; ``trust`` is None without calibration."""
    lead = ranks.own - ranks.rival_affinity
    # Shares of one cell exclude each other, so the error of their difference is at most the sum of their errors.
    bar = Z95 * (ranks.own_error + ranks.rival_error)
    supported, contradicted = lead > bar, -lead > bar
    if trust is not None:
        holds = np.nan_to_num(trust) >= 0.5
        supported, contradicted = holds & (lead >= 0), contradicted & ~holds
    found = np.full(codes.shape[0], CONTESTED, dtype=f"<U{max(map(len, VERDICTS))}")
    found[supported] = SUPPORTED
    found[contradicted] = CONTRADICTED
    found[codes < 0] = NO_LABEL
    return found


def review_rows(ranking: FloatArray, n: Any, below: float | None = None, trust: FloatArray | None = None) -> IntArray:
    """Return the rows of labels to look at, the lowest of ``ranking`` (n,) first; NaN, which is noise, is left out.

    ``n`` is how many, a share such as "5%", or None for all; ``below`` keeps only those with less ``trust``.
    """
    order = np.argsort(ranking, kind="stable")
    order = order[: int(np.count_nonzero(~np.isnan(ranking)))]
    if below is not None:
        order = order[(ranking if trust is None else trust)[order] < check_number(below, "below", low=-np.inf)]
    return order[: review_count(n, ranking.size)]


def review_count(n: Any, n_points: int) -> int:
    """Return how many labels a number or a share such as "5%" stands for; all for None."""
    if n is None:
        return n_points
    if isinstance(n, str) and n.strip().endswith("%"):
        try:
            share = float(n.strip()[:-1]) / 100.0
        except ValueError:
            share = np.nan
        if 0 <= share <= 1:
            return int(np.ceil(share * n_points))
    elif isinstance(n, Integral) and not isinstance(n, bool) and int(n) >= 0:
        return int(n)
    raise ValueError(f"review takes a number of labels, such as 500, or a share, such as '5%', got {n!r}.")
