"""AffinityResult: the affinities of points, the trust in their labels, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from allegiance._core.parameters import Lazy
from allegiance._core.validation import AnyArray, BoolArray, FloatArray, IntArray, Rows, check_choice
from allegiance.calibration import Audit, AuditSample, TrustMap, audit, audit_sample
from allegiance.engines import Z95, engine_names
from allegiance.notebook import Card, CardMixin
from allegiance.typicality import MemberDistances

from ._frames import FrameLike
from ._summary import ATYPICAL, BORDERLINE_TRUST, DOUBTFUL, FIRM, Summary, mean_trust, verdicts_of

if TYPE_CHECKING:
    import pandas as pd

    from allegiance.displays import ResultPlots
    from allegiance.drivers import Drivers
    from allegiance.report import InlinePage
    from allegiance.review import Review


@dataclass(frozen=True)
class Measurement:
    """How the affinities of a result were measured."""

    influence: str
    """What closeness means, weights included."""
    domain: str
    engine: str
    """The engine that was requested; ``frame(details=True)`` names the one that measured each point."""
    eps: float
    """Half-width of 95% intervals."""
    seed: int
    dim: int
    """Dimensions in which volume was measured, after reduction to the span of the representatives."""
    n_features: int
    seconds: float


class Ranks(NamedTuple):
    """The clusters that matter most to each of the n points of a result, and their affinities. All arrays are (n,)."""

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
        """Rank the affinities (n, k) of a result with their standard errors, for points of clusters ``codes`` (n,)."""
        n, k = affinity.shape
        rows, labeled = np.arange(n), codes >= 0
        first = affinity.argmax(axis=1)
        largest, largest_error = affinity[rows, first], error[rows, first]
        own = np.where(labeled, affinity[rows, codes], 0.0)
        own_error = np.where(labeled, error[rows, codes], 0.0)
        worst, none = error.max(axis=1, initial=0.0), np.zeros(n)
        if k == 1:
            return cls(first, largest, largest_error, own, own_error, first, none, none, worst)
        others = affinity.copy()
        others[rows[labeled], codes[labeled]] = -1.0
        rival = others.argmax(axis=1)
        rival_affinity, rival_error = affinity[rows, rival], error[rows, rival]
        return cls(first, largest, largest_error, own, own_error, rival, rival_affinity, rival_error, worst)


@dataclass(frozen=True, repr=False, eq=False)
class AffinityResult(CardMixin):
    """Affinities of n points to k clusters, and trust in their labels.

    ``print(result)`` gives a summary, :meth:`frame` one row per point, :meth:`by_cluster` one row per cluster and
    :meth:`review` the labels to check first.

    Attributes
    ----------
    affinity
        (n, k) the share of the point's territory that is taken from each cluster, if the point were a cluster of its
        own. Rows sum to 1. With ``top=m`` only the m largest, (n, m), the largest first.
    standard_error
        Standard error of each affinity, 0 where it is exact. A 95% interval is 1.96 standard errors to each side.
    label
        (n,) the label from the clustering; -1 is noise.
    classes
        (k,) the label of each cluster, sorted; without ``top`` these are the columns of ``affinity``.
    clusters
        (n, m) with ``top=m``, the labels of the clusters whose affinities are kept; None if all are.

    Examples
    --------
    >>> import numpy as np
    >>> from allegiance import affinity
    >>> result = affinity([[0.0], [1.0], [4.0], [9.0], [10.0]], [0, 0, 1, 1, 1], influence="euclidean")
    >>> result.own_affinity.round(2)
    array([1.  , 0.93, 0.49, 1.  , 1.  ])
    >>> result.review(1)["reason"].tolist()
    ['closer to 0']
    >>> result = affinity(np.arange(10.0)[:, None], np.arange(10) // 2, influence="euclidean", top=2)
    >>> result.clusters[3], result.affinity[3].round(2)
    (array([1, 2]), array([0.75, 0.25]))
    """

    affinity: FloatArray
    standard_error: FloatArray
    label: AnyArray
    classes: AnyArray
    _empty_cell: BoolArray
    _residual: Lazy[FloatArray]
    _measurement: Measurement
    _codes: IntArray
    _distances: Lazy[tuple[FloatArray, FloatArray]]
    _members: Lazy[MemberDistances] | None
    _trust_map: TrustMap | None
    _engine_codes: AnyArray
    _frame_like: FrameLike
    clusters: AnyArray | None = None
    _stored_ranks: Ranks | None = None
    """With ``top``, or after calibration; None to compute them on first use."""
    _audited: FloatArray | None = None
    _own_drivers: Lazy[Drivers] | None = None

    @property
    def _noise(self) -> BoolArray:
        """(n,) whether each point of the result is noise."""
        return self._codes < 0

    @cached_property
    def _ranks(self) -> Ranks:
        """The clusters that matter most to each point of the result."""
        if self._stored_ranks is not None:
            return self._stored_ranks
        return Ranks.of(self.affinity, self.standard_error, self._codes)

    @property
    def _has_trust(self) -> bool:
        """Whether the result has trust."""
        return self._trust_map is not None

    @property
    def _distance(self) -> FloatArray:
        """(n,) distance of the points from the representative of their cluster; for noise from the nearest one."""
        return self._distances.value[0]

    @property
    def _closeness(self) -> FloatArray:
        """(n,) (1 + (t - o) / max(t, o)) / 2, where o and t are the distances from the own and the nearest other
        representative: 1/2 half-way between the two, 0 for noise.
        """  # noqa: D205
        return self._distances.value[1]

    @property
    def own_affinity(self) -> FloatArray:
        """(n,) affinity to the cluster of the point's own label, 0 for noise."""
        return self._ranks.own

    @property
    def rival(self) -> AnyArray:
        """(n,) label of the cluster, besides the point's own, with the largest affinity."""
        return self.classes[self._ranks.rival]

    @property
    def stable(self) -> BoolArray:
        """(n,) whether more than half of the territory comes from one cluster: the paper's criterion."""
        return self._ranks.largest > 0.5

    @cached_property
    def typicality(self) -> FloatArray:
        """(n,) share of the members of its cluster that lie at least as far out as the point, NaN for noise.

        A point with typicality below 0.01 is an outlier of its cluster, even if no other cluster is close.
        """
        if self._members is None:
            raise ValueError("typicality needs the distances of cluster members, which this model does not contain.")
        return self._members.value.typicality(self._codes, self._distance)

    @property
    def _calibration(self) -> TrustMap:
        """The trust map of the result; ValueError without calibration."""
        if self._trust_map is None:
            raise ValueError(
                "trust needs calibration: call trust(X, labels), or pass calibration=20 to affinity or AffinityScorer."
            )
        return self._trust_map

    @cached_property
    def trust(self) -> FloatArray:
        """(n,) probability that the point gets the same cluster again on an independent sample; NaN for noise.

        The sample has the same size and comes from the same population; its clusters are matched one-to-one to the
        current ones. In the result of an audit, trust is the probability that the label is right. ``docs/trust.md``
        explains the estimate and its limits.
        """
        if self._audited is not None:
            return self._audited
        return self._calibration.trust(self._ranks.own, self._closeness, self._codes, self._distance)

    @property
    def verdict(self) -> AnyArray:
        """(n,) "firm" (trust of at least 0.8), "borderline" (0.5 to 0.8), "doubtful" (below 0.5), or "noise"."""
        return verdicts_of(self.trust, self._noise)

    @property
    def _trust_or_affinity(self) -> FloatArray:
        """(n,) trust or, without calibration, own affinity; NaN for noise."""
        return np.where(self._noise, np.nan, self.trust if self._has_trust else self.own_affinity)

    @cached_property
    def _verdicts(self) -> AnyArray:
        """(n,) the verdict or, without calibration, the same rule applied to own affinity: for pictures."""
        return verdicts_of(self._trust_or_affinity, self._noise)

    @property
    def replication(self) -> float:
        """The share of the result's labels that would hold up on a fresh sample: the mean trust, NaN without labels."""
        return mean_trust(self.trust[~self._noise])

    @property
    def replication_interval(self) -> tuple[float, float]:
        """90% prediction interval of the replication: the range for one independent sample. NaN after an audit."""
        return (np.nan, np.nan) if self._audited is not None else self._calibration.interval(self.replication)

    @cached_property
    def _ranking(self) -> FloatArray:
        """(n,) the review order, ascending; NaN for noise."""
        if self._audited is not None:
            return self._audited
        if self._trust_map is None:
            return self._trust_or_affinity
        return self._trust_map.ranking(self._ranks.own, self._closeness, self._codes, self._distance)

    @property
    def priority(self) -> FloatArray:
        """(n,) review priority from 0 to 100: check high values first. NaN for noise.

        It estimates which labels are wrong, while trust estimates which labels replicate: a cluster that always
        replicates can still contain wrong labels. Without calibration, it follows own affinity.
        """
        return 100.0 * (1.0 - self._ranking)

    def review(self, n: int | str | None = None, by: str = "priority") -> pd.DataFrame:
        """Return the labels of the result to check, the most urgent first, as a frame with the index of X.

        Columns are ``label``, ``trust``, ``verdict``, ``rival``, ``priority`` and ``reason``; without calibration there
        is no ``trust`` and no ``verdict``.

        Parameters
        ----------
        n
            The number of labels, such as ``500``, or a share of all points, such as ``"5%"``. By default all labels
            that are not firm.
        by
            "priority" sorts by review priority, the most likely errors first; "trust" sorts by trust, the lowest first.
        """
        check_choice(by, "by", ("priority", "trust"))
        rows = review_rows(self._ranking if by == "priority" else self.trust, n)
        if n is None:
            rows = rows[self._verdicts[rows] != FIRM]
        return self._frame_like.build_rows(rows, self._review_columns(rows))

    def _review_columns(self, rows: IntArray) -> dict[str, AnyArray]:
        """Return the columns of :meth:`review` for some rows."""
        names = ["label", "trust", "verdict", "rival"] if self._has_trust else ["label", "rival"]
        columns = {name: getattr(self, name)[rows] for name in names}
        return columns | {"priority": self.priority[rows], "reason": self._reasons(rows)}

    def _review_head(self, n: int) -> list[dict[str, Any]]:
        """Return the first n rows of the result's review list, without firm labels, as dicts."""
        rows = np.flatnonzero((self._verdicts != FIRM) & ~np.isnan(self._ranking))
        if rows.size > n:  # without sorting them all
            rows = rows[self._ranking[rows] <= np.partition(self._ranking[rows], n - 1)[n - 1]]
        rows = rows[review_rows(self._ranking[rows], n)]
        columns = self._review_columns(rows)
        names = [self._frame_like.row_name(row) for row in rows.tolist()]
        lines = zip(names, *(column.tolist() for column in columns.values()), strict=True)
        return [dict(zip(["row", *columns], line, strict=True)) for line in lines]

    def _reasons(self, rows: IntArray) -> AnyArray:
        """Return why rows (m,) of the result should be checked; empty for firm labels, the same in any set."""
        ranks, verdicts = self._ranks, self._verdicts[rows]
        rival, label = self.classes[ranks.rival[rows]].astype(str), self.label[rows].astype(str)
        atypical = np.zeros(rows.size, dtype=bool) if self._members is None else self.typicality[rows] < ATYPICAL
        # Its own scores are good, so the low trust comes from its cluster.
        blameless = (verdicts == DOUBTFUL) & (self._ranking[rows] >= BORDERLINE_TRUST)
        cases = [
            (ranks.rival_affinity[rows] > ranks.own[rows], np.char.add("closer to ", rival)),
            (atypical, np.full(rows.size, "atypical for its cluster")),
            (verdicts == FIRM, np.full(rows.size, "")),
            (blameless, np.char.add(np.char.add("cluster ", label), " rarely replicates")),
        ]
        conditions, texts = zip(*cases, strict=True)
        return np.select(list(conditions), list(texts), np.char.add("near the border with ", rival))

    def summary(self) -> Summary:
        """Return the summary that ``print(result)`` shows; summaries of partitions add up with ``+``."""
        return Summary.of(self)

    def by_cluster(self) -> pd.DataFrame:
        """Return one row per cluster of the result, the lowest replication first, noise last.

        Columns are ``cluster``, ``points``, ``replication`` (mean trust) with its 90% prediction interval
        ``replication_low`` to ``replication_high``, the numbers of ``firm``, ``borderline`` and ``doubtful`` labels,
        and ``rival``, the cluster that labels which are not firm are most often confused with. Without calibration
        there are ``cluster``, ``points``, ``own_affinity`` (mean), ``stable`` and ``rival``.
        """
        names = ["replication", "replication_low", "replication_high", "firm", "borderline", "doubtful"]
        names = ["points", *(names if self._has_trust else ["own_affinity", "stable"]), "rival"]
        lines = self.summary()._worst_first()
        noise = -1 if self.classes.dtype.kind in "iufb" else "-1"
        columns: dict[str, Any] = {"cluster": [noise if line.name is None else line.name for line in lines]}
        for name in names:
            values = [getattr(line, name) for line in lines]
            columns[name] = [value.item() if isinstance(value, np.generic) else value for value in values]
        return self._frame_like.without_index().build(columns)

    def frame(self, like: Any = None, *, details: bool = False) -> pd.DataFrame:
        """Return one row per point, in the order of the input.

        Columns are ``label``, ``trust``, ``verdict``, ``rival``, ``own_affinity``, ``typicality`` and ``priority``;
        without calibration there is no ``trust`` and no ``verdict``.

        Parameters
        ----------
        like
            A frame whose library, and for pandas whose index, to use. By default those of the X that was scored, or
            pandas.
        details
            Add ``owner`` (the cluster with the largest affinity), ``stable``, ``distance`` (from the representative of
            the own cluster, for noise from the nearest), ``closeness`` (0 to 1, by the distances from the own and the
            nearest other cluster), ``empty_cell`` (whether the point has no territory, so that its affinity is a
            limit), ``residual`` (distance from the subspace of the representatives), ``engine``, ``standard_error`` (of
            the largest affinity) and the affinities: one ``affinity_<label>`` for each cluster, or with ``top``
            ``cluster_1``, ``affinity_1``, ``cluster_2`` and so on.
        """
        return (self._frame_like if like is None else FrameLike.of(like)).build(self._columns(details=details))

    def _columns(self, *, details: bool = False) -> dict[str, AnyArray]:
        """Return the columns (n,) of :meth:`frame` by name."""
        names = ["label", *(["trust", "verdict"] if self._has_trust else []), "rival", "own_affinity"]
        if self._members is not None:
            names.append("typicality")
        columns: dict[str, AnyArray] = {name: getattr(self, name) for name in [*names, "priority"]}
        if not details:
            return columns
        columns |= {
            "owner": self.classes[self._ranks.first],
            "stable": self.stable,
            "distance": self._distance,
            "closeness": self._closeness,
            "empty_cell": self._empty_cell,
            "residual": self._residual.value,
            "engine": engine_names(self._engine_codes),
            "standard_error": self._ranks.largest_error,
        }
        if self.clusters is None:
            return columns | {f"affinity_{name}": self.affinity[:, i] for i, name in enumerate(self.classes)}
        for rank in range(self.affinity.shape[1]):
            columns[f"cluster_{rank + 1}"] = self.clusters[:, rank]
            columns[f"affinity_{rank + 1}"] = self.affinity[:, rank]
        return columns

    @property
    def plot(self) -> ResultPlots:
        """Figures of the result: ``plot()`` draws the profile, ``plot.map(X)`` and others draw more.

        Needs the extra ``plot``.
        """
        from allegiance.displays import ResultPlots

        return ResultPlots(self)

    def drivers(
        self, data: Any = None, *, plan: Any = None, names: Iterable[str] | None = None, ids: Any = None,
        scale: bool | None = None,
    ) -> Drivers:  # fmt: skip
        """Find the columns that separate the clusters, and a short rule that reproduces the labels.

        Parameters
        ----------
        data
            (n, d) the data that was clustered: an array, a sparse matrix, or a frame of numbers, dates and categories.
            By default the genes, for a result of ``allegiance.anndata``.
        plan, names, ids, scale
            As in ``allegiance.drivers.drivers``.
        """
        from allegiance.drivers import drivers

        if data is None:
            if self._own_drivers is None:
                raise TypeError("drivers needs the data that was clustered: pass data=X.")
            return self._own_drivers.value
        return drivers(self, data, plan=plan, names=names, ids=ids, scale=scale)

    def report(
        self,
        path: Any = None,
        X: Any = None,
        *,
        data: Any = None,
        ids: Any = None,
        texts: Any = None,
        images: Any = None,
        map: Any = None,
        feature_names: Any = None,
        describe_by: Any = None,
        row_numbers: Any = None,
        names: Any = None,
        title: str | None = None,
        drivers: Any = None,
        notes: Iterable[Any] = (),
        provenance: Mapping[str, str] | None = None,
    ) -> Path | InlinePage:
        """Write an HTML page for exploring the result and reviewing labels, and return its path.

        The page opens offline, without a server. Needs the extra ``report``.

        Parameters
        ----------
        path
            The file to write; an existing one is replaced once the new one is complete. Without a path, the page is
            returned: a notebook displays it, and ``save(path)`` writes it.
        X
            (n, d) the data that was clustered, for the map and the nearest members. Without it the map shows the
            affinities.
        data
            A frame with your own columns (numbers, dates, categories, texts), which describe clusters and points and
            appear in exports; by default X.
        ids
            (n,) identifiers of the points, the names of columns of ``data``, or a frame; by default the index of the
            frame that was scored, or of X.
        texts
            (n,) a document for each point.
        images
            (n, height, width) or (n, height, width, 3) an image for each point, or (n,) paths of files.
        map
            (n, 2) positions on the map, such as a UMAP embedding, a frame of two columns, or the names of two columns
            of ``data``. By default the axes separate the clusters best; the page also offers principal components and
            any two columns.
        feature_names
            (d,) names of the columns of X; by default those of a frame.
        describe_by
            The columns that describe clusters, such as the features; by default all of them.
        row_numbers
            (n,) the row number of each point in your data, if X has only some of its rows.
        names
            Cluster names by label, as a dict; by default derived from the traits of each cluster.
        title
            The heading of the page.
        drivers
            The result of :meth:`drivers`; computed by default. False leaves it out.
        notes
            Sentences, or findings with ``text`` and ``remedy``, about the data: they come first on the page.
        provenance
            Facts about the origin of the data and the labels by name, such as "columns used".
        """
        from allegiance.report import write_report

        return write_report(
            self, path, X, data=data, ids=ids, texts=texts, images=images, map=map, feature_names=feature_names,
            describe_by=describe_by, row_numbers=row_numbers, names=names, title=title, drivers=drivers, notes=notes,
            provenance=provenance,
        )  # fmt: skip

    def serve(
        self,
        X: Any = None,
        *,
        log: Any = "decisions.jsonl",
        host: str = "127.0.0.1",
        port: int = 0,
        allow_hosts: Iterable[str] = (),
        open_browser: bool | None = None,
        data: Any = None,
        ids: Any = None,
        texts: Any = None,
        images: Any = None,
        map: Any = None,
        feature_names: Any = None,
        describe_by: Any = None,
        row_numbers: Any = None,
        names: Any = None,
        title: str | None = None,
        drivers: Any = None,
        notes: Iterable[Any] = (),
        provenance: Mapping[str, str] | None = None,
    ) -> Review:
        """Serve the page of :meth:`report` on this machine, and keep decisions about labels in a log.

        It runs in the background until it is closed. Needs the extra ``report``.

        Parameters
        ----------
        X
            (n, d) the data that was clustered, as in :meth:`report`.
        log
            The file to which decisions are appended.
        host, port, allow_hosts, open_browser
            As in :func:`allegiance.review.serve`.
        data, ids, texts, images, map, feature_names, describe_by, row_numbers, names, title, drivers, notes, provenance
            As in :meth:`report`.
        """
        from allegiance.review import serve

        return serve(
            self, X, log=log, host=host, port=port, allow_hosts=allow_hosts, open_browser=open_browser, data=data,
            ids=ids, texts=texts, images=images, map=map, feature_names=feature_names, describe_by=describe_by,
            row_numbers=row_numbers, names=names, title=title or "Review of a clustering", drivers=drivers, notes=notes,
            provenance=provenance,
        )  # fmt: skip

    def audit_sample(self, n: int = 60, *, random: float = 0.5, random_state: Any = 0) -> AuditSample:
        """Choose labels for a person to check: some at random, the remaining ones by review priority.

        Only labels drawn at random are representative. Those with a high review priority are wrong more often.

        Parameters
        ----------
        n
            The number of labels.
        random
            The share of them that is drawn at random; 1 for all.
        random_state
            Seed of the draw. The sample keeps it.
        """
        return audit_sample(self._ranking, n, random=random, seed=random_state)

    def audit(self, rows: Any, right: Any) -> Audit:
        """Estimate how many labels of the result are right after a person has checked some.

        Parameters
        ----------
        rows
            The result of :meth:`audit_sample`. Rows that you choose yourself count as known labels, but they are not
            representative.
        right
            (m,) True or False for each label, or the right labels. None or NaN where there is no answer.
        """
        estimate = audit(rows, right, label=self.label, codes=self._codes, classes=self.classes, ranking=self._ranking)
        return replace(estimate, result=replace(self, _audited=estimate.trust, _stored_ranks=self._ranks))

    def _largest_affinities(self, rows: IntArray, most: int) -> tuple[IntArray, FloatArray]:
        """Return the codes and affinities (m, at most ``most``) of the result for some rows, the largest first."""
        affinity = self.affinity[rows]
        if self.clusters is not None:
            order = np.argsort(self.classes)
            cluster = order[np.searchsorted(self.classes, self.clusters[rows], sorter=order)]
            return cluster[:, :most], affinity[:, :most]
        cluster = np.argsort(-affinity, axis=1, kind="stable")[:, :most]
        return cluster, np.take_along_axis(affinity, cluster, axis=1)

    def _all_affinities(self) -> Rows:
        """Return the affinities (n, k) of the result; sparse if it has only the largest."""
        if self.clusters is None:
            return self.affinity
        n, m = self.affinity.shape
        cluster, affinity = self._largest_affinities(np.arange(n), m)
        shape = (n, self.classes.size)
        return sp.csr_array((affinity.ravel(), (np.repeat(np.arange(n), m), cluster.ravel())), shape=shape)

    def _count_imprecise(self) -> int:
        """Return how many points of the result have an affinity whose 95% interval is wider than requested."""
        eps = self._measurement.eps
        if self._stored_ranks is not None:
            return int((Z95 * self._stored_ranks.worst_error > eps).sum())
        # Looking at all numbers at once is much faster than row by row, and usually enough.
        if Z95 * self.standard_error.max(initial=0.0) <= eps:
            return 0
        return int((Z95 * self.standard_error.max(axis=1) > eps).sum())

    def __len__(self) -> int:
        return self.label.shape[0]

    def _card(self) -> Card:
        """Return the card that displays the result: its summary."""
        return self.summary()._card()


def join_results(parts: Sequence[AffinityResult], frame: FrameLike) -> AffinityResult:
    """Return one result for the points of several, which come from the same scorer."""
    first = parts[0]
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("affinity", "standard_error", "label", "_empty_cell", "_codes", "_engine_codes")
    }
    if first.clusters is not None:
        arrays["clusters"] = np.concatenate([part.clusters for part in parts if part.clusters is not None])
        arrays["_stored_ranks"] = Ranks(*map(np.concatenate, zip(*(part._ranks for part in parts), strict=True)))

    return replace(
        first,
        _measurement=replace(first._measurement, seconds=sum(part._measurement.seconds for part in parts)),
        _residual=Lazy(lambda: np.concatenate([part._residual.value for part in parts])),
        _distances=Lazy(
            lambda: (
                np.concatenate([part._distances.value[0] for part in parts]),
                np.concatenate([part._distances.value[1] for part in parts]),
            )
        ),
        _frame_like=frame,
        **arrays,
    )


def review_rows(ranking: FloatArray, n: Any) -> IntArray:
    """Return the rows of a result to review, the lowest of ``ranking`` (n,) first; NaN, which is noise, is left out.

    ``n`` is a number, a share such as "5%", or None for all.
    """
    order = np.argsort(ranking, kind="stable")
    order = order[: int(np.count_nonzero(~np.isnan(ranking)))]
    return order[: review_count(n, ranking.size)]


def review_count(n: Any, n_points: int) -> int:
    """Return the number of labels of a result to review, from a number, a share such as "5%", or None for all."""
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
