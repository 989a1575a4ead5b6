"""Replication: cluster random halves of the rows and match their clusters to the labels."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import stdtrit

from allegiance._core.parallel import on_one_thread, stream, thread_pools
from allegiance._core.parameters import Parameters
from allegiance._core.progress import Verbose, progress
from allegiance._core.validation import AnyArray, BoolArray, FloatArray, IntArray, check_count, check_number

from ._adapt import adapt, as_clusterer, depends_on_size, is_pairwise, nearest_of
from ._samples import Keys, mix, row_keys

#: Subsamples that are always clustered, and most subsamples, unless the user sets their number.
_MIN_SUBSAMPLES, _MAX_SUBSAMPLES = 20, 400
#: Most entries (rows times columns) clustered in all subsamples beyond the first 20: a few seconds of k-means.
_MAX_ENTRIES = 2_000_000
#: Monte Carlo standard errors at which no more subsamples are drawn: of replication, and of a typical cluster's.
_REPLICATION_ERROR, _CLUSTER_ERROR = 0.005, 0.01
#: Subsample size limits in rows: at least this many, this many per cluster, and for clusterers that depend on it.
_SUBSAMPLE_ROWS, _ROWS_PER_CLUSTER, _DENSITY_ROWS = 1500, 25, 10_000
#: Most entries of the sample that subsamples are drawn from, unless it needs more for two subsamples.
_SAMPLE_ENTRIES = 4_000_000
#: Coverage of the prediction interval, and a replication rate that cannot be told from 1.
_LEVEL, _NEAR_ONE = 0.9, 0.99


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Parameters):
    """How to estimate the probability that a label replicates, from the data alone.

    Random halves of the rows are clustered, and all rows are placed in the new clusters. Subsample sizes are limited,
    so that the cost does not grow with the number of rows.

    Parameters
    ----------
    n_resamples
        Number of subsamples to cluster, at least 2. By default 20, and as many more (at most 400) as it takes to bring
        the Monte Carlo error of replication below 0.005, as far as the size of the data allows.
    clusterer
        The clusterer that made the labels: an estimator, a pipeline that ends in one, or a function from X to labels,
        for X as the user passes it. It is cloned for each subsample. By default it is the estimator that was fitted;
        if there are only labels, the stand-in that best reproduces them.
    rows_per_subsample
        Largest subsample size. By default 1,500, or 25 per cluster if that is more, or 10,000 for density and graph
        clusterers. A subsample never has more than half of the rows.
    size_prior
        How much earlier labels of large clusters are reviewed, in standard deviations of the logarithm of their size;
        large clusters contain several classes more often. It changes the review order, not trust.
    groups
        (n,) group of each row, such as a patient, a batch or a user. A subsample contains all rows of a group or none,
        so that trust is the probability that a label replicates in new groups.
    sample_weight
        (n,) weights of the rows, passed to ``fit`` of the clusterer.

    Examples
    --------
    >>> from sklearn.cluster import SpectralClustering
    >>> from sklearn.datasets import make_moons
    >>> from allegiance import AffinityScorer, Calibration
    >>> X, moon = make_moons(300, noise=0.05, random_state=0)
    >>> spectral = SpectralClustering(2, gamma=30, random_state=0)
    >>> calibration = Calibration(n_resamples=6, clusterer=spectral)
    >>> scorer = AffinityScorer(influence="rbf", calibration=calibration).fit(X, moon)
    >>> bool(scorer.affinity(X).replication > 0.8)
    True
    """

    n_resamples: int | None = None
    clusterer: Any = None
    rows_per_subsample: int | None = None
    size_prior: float = 0.25
    groups: Any = None
    sample_weight: Any = None

    @classmethod
    def resolve(cls, value: Any) -> Calibration | None:
        """Return the calibration for None, a boolean, a number of subsamples or an object, checked."""
        if value is None or value is False:
            return None
        if value is True:
            return cls()
        calibration = value if isinstance(value, Calibration) else cls(value)
        calibration.check()
        if calibration.clusterer is None:
            return calibration
        return replace(calibration, clusterer=as_clusterer(calibration.clusterer))

    def without_clusterer(self) -> Calibration:
        """Return the same without the clusterer and the data of single rows, for saved files."""
        return replace(self, clusterer=None, groups=None, sample_weight=None)

    def check(self) -> None:
        """Raise an error that names the invalid parameter."""
        if self.n_resamples is not None and check_count(self.n_resamples, "n_resamples") < 2:
            raise ValueError("n_resamples must be at least 2, got 1: the interval comes from their differences.")
        if self.rows_per_subsample is not None and check_count(self.rows_per_subsample, "rows_per_subsample") < 2:
            raise ValueError("rows_per_subsample must be at least 2, got 1.")
        check_number(self.size_prior, "size_prior", low=0.0, closed=True)
        if self.clusterer is not None:
            as_clusterer(self.clusterer)

    def max_rows(self, k: int, clusterer: Any = None) -> int:
        """Return the largest subsample size for ``k`` clusters."""
        density = _DENSITY_ROWS if clusterer is not None and depends_on_size(clusterer) else 0
        return self.rows_per_subsample or max(_ROWS_PER_CLUSTER * k, _SUBSAMPLE_ROWS, density)

    def n_rows(self, k: int, n_features: int = 1) -> int:
        """Return the size of the sample that subsamples are drawn from."""
        affordable = min(2 * _DENSITY_ROWS, _SAMPLE_ENTRIES // max(n_features, 1))
        return max(2 * self.max_rows(k), 0 if self.rows_per_subsample else affordable)


class Replication(NamedTuple):
    """How labels fare when halves of the rows are clustered."""

    new: IntArray
    """(R, m) new cluster of each row, -1 for noise."""
    rate: FloatArray
    """(m,) how often each row's label replicates, the mean of both comparisons; 0 if it was never held out."""
    times: FloatArray
    """(m,) number of subsamples that hold out the row; 0 for noise."""
    shares: FloatArray
    """(R,) share of the held-out labels that each subsample reproduces."""
    kept: FloatArray
    """(S,) share of the rows on which both halves of a split agree."""
    consensus: FloatArray
    """(m,) how often a row's cluster mates stay with it."""
    pair_weight: float
    """Weight of ``kept``: one half, or less if subsamples have fewer than half of the rows."""
    min_doubt: float
    """Smallest possible ratio of the doubt to that of ``shares``."""
    chance: float
    """The share that unrelated partitions with clusters of these sizes match."""
    placed_by_neighbor: bool
    """Whether rows join the cluster of their nearest neighbor, since the clusterer has no ``predict``."""
    failures: tuple[str, ...]
    """Why some subsamples could not be clustered. They are left out."""

    @property
    def share(self) -> float:
        """The share of labels that would replicate in an independent sample.

        The labels and the clustering of a half differ with variance 1/n, two halves with 4/n, and two independent
        samples with 2/n: the mean of both comparisons. Halves that agree with each other more than with the labels find
        other clusters, so their agreement counts no more than that with the labels.
        """
        held_out = 1.0 - float(self.shares.mean())
        between = max(1.0 - float(self.kept.mean()), held_out) if self.kept.size else held_out
        doubt = held_out + self.pair_weight * (between - held_out)
        return 1.0 - max(doubt, self.min_doubt * held_out)

    @property
    def interval(self) -> tuple[float, float]:
        """90% prediction interval for the share in one independent sample; it may exceed 0 and 1.

        The mean variance of the comparisons counts twice: a replicate varies, and so does the sample that the rate is
        estimated from. The truth lies somewhere near the two comparisons, so their difference d adds d^2 / 2, as for
        two independent estimates.
        """
        share, variances = self.share, [x.var(ddof=1) for x in (self.shares, self.kept) if x.size > 1]
        if not variances:
            return share - 1.0, share + 1.0
        variance = 2.0 * np.mean(variances) + self.disagreement**2 / 2.0
        half = float(self._half_width(variance, np.array(share), np.count_nonzero(self.times)))
        return share - half, 1.0 if share >= _NEAR_ONE else share + half

    def cluster_margins(self, codes: IntArray, k: int) -> FloatArray:
        """Return the half-width (k,) of each cluster's 90% prediction interval."""
        inner = codes >= 0
        sizes = np.bincount(codes[inner], minlength=k)
        rates = np.bincount(codes[inner], self.rate[inner], k) / np.maximum(sizes, 1)
        by_subsample = _cluster_rates(codes, self.new, k)
        variance = by_subsample.var(axis=0, ddof=1) if len(self.new) > 1 else np.ones(sizes.size)
        return np.minimum(self._half_width(variance, rates, sizes), 1.0)

    def _half_width(self, variance: Any, rate: FloatArray, n: Any) -> Any:
        """Return the half-width of an interval from the variance over subsamples and that of n labels.

        Even if all labels replicate here, some may fail elsewhere, so rates are smoothed.
        """
        smoothed = (rate * n + 1.0) / (n + 2.0)
        labels = smoothed * (1.0 - smoothed) / np.maximum(n, 1)
        return stdtrit(max(len(self.new) - 1, 1), (1 + _LEVEL) / 2) * np.sqrt(variance + labels)

    @property
    def above_chance(self) -> FloatArray:
        """(R,) the shares of the subsamples above chance: 1 at best, 0 for labels unrelated to the data."""
        return np.array([above_chance(share, self.chance) for share in self.shares])

    @property
    def disagreement(self) -> float:
        """How much more the halves agree with each other than with the labels."""
        return float(self.kept.mean() - self.shares.mean()) if self.kept.size else 0.0


def above_chance(share: float, chance: float) -> float:
    """Return (share - chance) / (1 - chance), or 0 for a single cluster, which is all chance."""
    return (share - chance) / (1.0 - chance) if chance < 1.0 else 0.0


def replicate(
    rows: Any,
    codes: AnyArray,
    clusterer: Any,
    *,
    calibration: Calibration | None = None,
    groups: AnyArray | None = None,
    weights: FloatArray | None = None,
    seed: int = 0,
    threads: int = 1,
    verbose: Verbose = False,
    n_total: int | None = None,
    keys: Keys | None = None,
    share: float = 0.5,
) -> Replication:
    """Cluster random halves of rows (m, d) and match the new clusters to the labels: codes (m,), -1 for noise.

    Subsamples depend on the contents of the rows, not on their order, and contain all rows of a group or none. The rows
    may be a sample of ``n_total``; ``keys`` are those of :func:`row_keys`, ``weights`` the ``sample_weight`` of fits.
    Raises ValueError if the clusterer fails on every subsample or finds only noise, or if no label was ever held out.
    """
    calibration, codes = calibration or Calibration(), np.asarray(codes)
    m, k = codes.size, int(codes.max(initial=-1)) + 1
    if m < 2:
        raise ValueError(f"X has {m} rows: at least 2 are needed to cluster some of them.")
    keys = row_keys(rows, codes) if keys is None else keys
    size = subsample_size(clusterer, m, k, calibration, share)
    total = max(n_total or m, m)
    refit = Refit(clusterer, rows, weights, size / total)
    limit = int(np.clip(_MAX_ENTRIES // max(size * rows.shape[1], 1), _MIN_SUBSAMPLES, _MAX_SUBSAMPLES))
    subsamples = draw_subsamples(keys, size, calibration.n_resamples or limit, seed, groups)
    first = calibration.n_resamples or _MIN_SUBSAMPLES
    clusterings = refit.run(subsamples[:first], threads, verbose)
    summary = _summarize(codes, clusterings, subsamples, refit, keys, seed, total / size)
    if calibration.n_resamples is None and (needed := min(_needed(summary, codes), limit)) > first:
        clusterings += refit.run(subsamples[first:needed], threads, verbose)
        summary = _summarize(codes, clusterings, subsamples, refit, keys, seed, total / size)
    return summary


def draw_subsamples(
    keys: Keys, size: int, number: int, seed: int, groups: AnyArray | None = None
) -> list[tuple[IntArray, int]]:
    """Return the rows of each subsample, in the order of their hash, and a seed for the clusterer.

    Each pair of subsamples comes from both ends of one random order, disjoint if they have at most half of the rows.
    Groups are ordered as a whole, by the sum of their keys: their names do not matter.
    """
    if groups is not None:
        _, group = np.unique(groups, return_inverse=True)
        if (n_groups := int(group.max()) + 1) < 2:
            raise ValueError("groups has a single group: at least 2 are needed to hold one out.")
        group_keys = np.zeros(n_groups, np.uint64)
        np.add.at(group_keys, group, keys)
    subsamples = []
    for i in range(number):
        salts = [mix(np.array([(seed * 1_000_003 + j + 1) & (2**64 - 1)], dtype=np.uint64)) for j in (i - i % 2, i)]
        order = np.argsort(mix(keys ^ salts[0]), kind="stable")
        lower, upper = size, keys.size - size
        if groups is not None:
            rank = np.argsort(np.argsort(mix(group_keys ^ salts[0]), kind="stable"))[group]
            order = order[np.argsort(rank[order], kind="stable")]
            ends = np.cumsum(np.bincount(rank))[:-1]  # rows up to and including each group but the last
            lower, upper = (int(ends[np.abs(ends - place).argmin()]) for place in (lower, upper))
        subsamples.append((order[upper:] if i % 2 else order[:lower], int(salts[1][0] % np.uint64(2**31 - 1))))
    return subsamples


class Refit(NamedTuple):
    """Clusters subsamples of rows."""

    clusterer: Any
    rows: Any
    weights: FloatArray | None
    share: float

    def run(self, subsamples: Sequence[tuple[IntArray, int]], threads: int, verbose: Verbose = False) -> list[Any]:
        """Return the new cluster of every row (m,) for each subsample, or why the clusterer failed.

        Each runs on one thread of BLAS and OpenMP, so that sums are added in the same order everywhere.
        """

        def work(subsample: tuple[IntArray, int]) -> IntArray | str:
            try:
                with thread_pools().limit(limits=1, user_api="openmp"):  # holds only for the thread that sets it
                    return self.labels(*subsample)
            except _ClustererError as error:
                return str(error)

        clusterings = []
        with (
            on_one_thread(),
            warnings.catch_warnings(),
            progress(len(subsamples), "trust", verbose, unit="subsamples") as advance,
            ThreadPoolExecutor(threads if _is_thread_safe(self.clusterer) else 1) as pool,
        ):
            warnings.simplefilter("ignore")  # such as those about few distinct rows
            for clustering in pool.map(work, subsamples):
                clusterings.append(clustering)
                advance(1)
        return clusterings

    def labels(self, inside: IntArray, seed: int) -> IntArray:
        """Cluster the rows ``inside`` and return the new cluster (m,) of every row."""
        from sklearn.metrics import pairwise_distances_argmin

        pairwise = is_pairwise(self.clusterer)
        half = self.rows[np.ix_(inside, inside)] if pairwise else take(self.rows, inside)
        fitted = adapt(self.clusterer, half, self.rows, self.share)
        seeds = [name for name in fitted.get_params() if name.rsplit("__", 1)[-1] == "random_state"]
        fitted.set_params(**dict.fromkeys(seeds, seed))
        is_outside = np.ones(self.rows.shape[0], dtype=bool)
        is_outside[inside] = False
        outside = np.flatnonzero(is_outside)
        labels = np.empty(is_outside.size, dtype=np.int64)
        try:
            own = fit_labels(fitted, half, None if self.weights is None else self.weights[inside])
            if outside.size and hasattr(fitted, "predict") and not pairwise:
                own = np.concatenate([own, np.asarray(fitted.predict(take(self.rows, outside)))])
        except Exception as error:
            raise _ClustererError(f"{type(error).__name__}: {error}") from error
        own = encode_labels(own)
        labels[inside] = own[: inside.size]
        if own.size > inside.size:
            labels[outside] = own[inside.size :]
        elif outside.size and pairwise:
            labels[outside] = own[nearest_of(self.clusterer, self.rows, outside, inside)]
        elif outside.size:
            remaining = take(self.rows, outside)
            if hasattr(fitted, "steps"):  # neighbors in the space of the clusterer
                half, remaining = fitted[:-1].transform(half), fitted[:-1].transform(remaining)
            labels[outside] = own[pairwise_distances_argmin(remaining, half)]
        return labels


class _ClustererError(Exception):
    """The clusterer failed on a subsample."""


def fit_labels(clusterer: Any, rows: Any, weights: FloatArray | None = None) -> AnyArray:
    """Fit a clusterer and return the labels of its rows."""
    arguments = {}
    if weights is not None:
        prefix = f"{clusterer.steps[-1][0]}__" if hasattr(clusterer, "steps") else ""
        arguments[f"{prefix}sample_weight"] = weights
    if hasattr(clusterer, "fit_predict"):
        return np.asarray(clusterer.fit_predict(rows, **arguments))
    clusterer.fit(rows, **arguments)
    return np.asarray(clusterer.labels_ if hasattr(clusterer, "labels_") else clusterer.predict(rows))


def _is_thread_safe(clusterer: Any) -> bool:
    """Tell whether clones can be fitted in threads: known only for scikit-learn's clusterers and ours."""
    steps = [clusterer, *(value for value in clusterer.get_params().values() if hasattr(value, "fit"))]
    return all(type(step).__module__.partition(".")[0] in ("sklearn", "allegiance") for step in steps)


def subsample_size(clusterer: Any, m: int, k: int, calibration: Calibration, share: float = 0.5) -> int:
    """Return the subsample size: at least one row per cluster, and at least one row held out."""
    return max(1, min(max(int(share * m), k), calibration.max_rows(k, clusterer), m - 1))


def _summarize(
    codes: IntArray,
    clusterings: Sequence[Any],
    subsamples: Sequence[tuple[IntArray, int]],
    refit: Refit,
    keys: Keys,
    seed: int,
    ratio: float,
) -> Replication:
    """Compare clusterings of subsamples with the labels and with each other; ``ratio`` is all rows to a subsample."""
    failures = tuple(reason for reason in clusterings if isinstance(reason, str))
    numbers = [i for i, labels in enumerate(clusterings) if not isinstance(labels, str)]
    if not numbers:
        size = subsamples[0][0].size
        raise ValueError(f"clusterer={refit.clusterer!r} failed on every subsample of {size} rows: {failures[0]}")
    new = np.array([clusterings[i] for i in numbers])
    if (new < 0).all():
        raise ValueError(f"clusterer={refit.clusterer!r} found no cluster in any subsample: every point is noise (-1).")
    held_out = np.tile(codes >= 0, (len(new), 1))
    for row, i in enumerate(numbers):
        held_out[row, subsamples[i][0]] = False
    matched = held_out & np.array([matches(codes, labels) for labels in new])
    if not held_out.any():
        raise ValueError(
            f"labels has {np.count_nonzero(codes >= 0)} rows that are not noise, and all {len(new)} subsamples contain "
            "every one of them. Pass a larger `n_resamples=`."
        )
    times = held_out.sum(axis=0)
    rate = matched.sum(axis=0) / np.maximum(times, 1)
    shares = matched.sum(axis=1) / np.maximum(held_out.sum(axis=1), 1)
    pairs = [(clusterings[i], clusterings[i + 1]) for i in numbers if i % 2 == 0 and i + 1 in numbers]
    both = [Agreement.of(one, other) for one, other in pairs]
    kept = np.array([agreement.share for agreement in both if agreement.labeled.any()])
    if kept.size and (labeled := sum(agreement.labeled for agreement in both)) is not None:
        between = sum(agreement.matched for agreement in both) / np.maximum(labeled, 1)
        if kept.mean() <= shares.mean():
            rate = np.where(labeled > 0, (rate + between) / 2.0, rate)
    in_order = np.argsort(keys, kind="stable")
    n_chance = min(len(new), _MIN_SUBSAMPLES)
    chance = np.mean([chance_share(codes[in_order], new[i][in_order], seed, i) for i in range(n_chance)])
    return Replication(
        new,
        rate=rate,
        times=times.astype(np.float64),
        shares=shares,
        kept=kept,
        consensus=_consensus(codes, new),
        pair_weight=_pair_weight(ratio),
        min_doubt=float(min(1.0, np.sqrt(2.0 / max(ratio - 1.0, 1e-9)))) if ratio > 2.01 else 0.0,
        chance=float(chance),
        placed_by_neighbor=not hasattr(refit.clusterer, "predict"),
        failures=failures,
    )


def _pair_weight(ratio: float) -> float:
    """Return the weight of the comparison between halves; ``ratio`` is the number of all rows to a subsample's.

    For halves it is one half. Smaller subsamples vary more than independent samples of all rows: the doubt is
    extrapolated as a linear function of the standard deviation, sqrt(ratio - 1) against the labels, sqrt(2 ratio)
    between subsamples, sqrt(2) between samples of all rows.
    """
    if ratio <= 2.01:
        return 0.5
    against_labels, between = np.sqrt(ratio - 1.0), np.sqrt(2.0 * ratio)
    return float((np.sqrt(2.0) - against_labels) / (between - against_labels))


def _needed(result: Replication, codes: IntArray) -> int:
    """Return the number of subsamples that reduces the Monte Carlo errors to their targets."""
    R, splits = len(result.new), len(result.kept)
    if splits < 2 or R % 2:
        return _MAX_SUBSAMPLES
    w = result.pair_weight
    by_split = (1.0 - w) * result.shares.reshape(-1, 2).mean(axis=1)[:splits] + w * result.kept
    ratio = by_split.var(ddof=1) / splits / _REPLICATION_ERROR**2
    sizes = np.bincount(codes[codes >= 0])
    cluster_variance = _cluster_rates(codes, result.new, sizes.size).var(axis=0, ddof=1) @ sizes / sizes.sum() / R
    return int(np.ceil(R * max(ratio, cluster_variance / _CLUSTER_ERROR**2) / 2.0)) * 2


def _cluster_rates(codes: IntArray, new: IntArray, k: int) -> FloatArray:
    """Return the share (R, k) of each cluster's labels that each clustering reproduces."""
    inner = codes >= 0
    sizes = np.maximum(np.bincount(codes[inner], minlength=k), 1)
    return np.array([np.bincount(codes[inner], matches(codes, labels)[inner], k) / sizes for labels in new])


class Agreement(NamedTuple):
    """Rows on which two clusterings agree, of the rows to which they give labels."""

    matched: FloatArray
    """(m,) 1 if both give the row matching clusters."""
    labeled: FloatArray
    """(m,) share of the two clusterings that give the row a label."""

    @classmethod
    def of(cls, one: IntArray, other: IntArray) -> Agreement:
        """Compare two clusterings (m,), -1 for noise."""
        labeled = ((one >= 0).astype(np.float64) + (other >= 0)) / 2.0
        return cls(matches(one, other).astype(np.float64), labeled)

    @property
    def share(self) -> float:
        """Share of the labels on which both agree."""
        return float(self.matched.sum() / max(self.labeled.sum(), 1e-9))


def _consensus(codes: IntArray, new: IntArray) -> FloatArray:
    """Return the mean share (m,) of each row's cluster mates that stay in one cluster with it; 0 for noise."""
    inner, k = np.flatnonzero(codes >= 0), int(codes.max()) + 1
    mates = np.maximum(np.bincount(codes[inner], minlength=k)[codes[inner]] - 1, 1)
    total = np.zeros(codes.size)
    for labels in new:
        width = int(labels.max(initial=-1)) + 2
        cell = codes[inner] * width + labels[inner] + 1
        together = np.bincount(cell, minlength=k * width)[cell] - 1
        total[inner] += np.where(labels[inner] >= 0, together / mates, 0.0)
    return total / len(new)


def take(rows: Any, places: IntArray) -> Any:
    """Return some rows of an array, a matrix or a frame."""
    return rows.iloc[places] if hasattr(rows, "iloc") else rows[places]


def encode_labels(labels: AnyArray) -> IntArray:
    """Return labels as 0, 1, ...; negative ones mean noise (-1)."""
    inner = labels >= 0 if labels.dtype.kind in "iuf" else np.ones(labels.size, dtype=bool)
    codes = np.full(labels.size, -1, dtype=np.int64)
    codes[inner] = np.unique(labels[inner], return_inverse=True)[1]
    return codes


def matches(codes: AnyArray, new: AnyArray) -> BoolArray:
    """Return for each row (m,) whether its new cluster is the partner of its present one.

    Clusters are matched one-to-one with the greatest total overlap. Noise (-1) has no partner.
    """
    k, width = int(codes.max(initial=-1)) + 1, int(new.max(initial=-1)) + 1
    both = (codes >= 0) & (new >= 0)
    overlap = np.bincount(codes[both] * width + new[both], minlength=k * width).reshape(k, width)
    partner = np.full(width + 1, -2)  # the last is for noise
    present, partners = linear_sum_assignment(overlap, maximize=True)
    partner[partners] = present
    return partner[new] == codes


def chance_share(codes: IntArray, new: IntArray, seed: int, number: int) -> float:
    """Return the share of labels that match after the new clusters are shuffled."""
    labeled = codes >= 0
    shuffled = stream(seed, *b"chance", number).permutation(new[labeled])
    return float(matches(codes[labeled], shuffled).mean())
