"""Replication: how often labels recur when subsamples are clustered, with a prediction interval."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import stdtrit

from allegiance._core.parallel import on_one_thread, stream, thread_pools
from allegiance._core.progress import Verbose, progress
from allegiance._core.validation import AnyArray, BoolArray, FloatArray, IntArray

from ._adapt import adapt, is_density, is_kmeans, is_pairwise
from ._calibration import DENSITY_SHARE, MAX_ENTRIES, SLOWER, Calibration
from ._samples import Keys, mix, row_keys, take

#: Subsamples that are always clustered, and most subsamples, unless the user sets their number.
_MIN_SUBSAMPLES, _MAX_SUBSAMPLES = 20, 400
#: Monte Carlo standard error of replication at which no more subsamples are drawn; twice this for a typical cluster.
_MONTE_CARLO_ERROR = 0.005
#: Coverage of the prediction interval.
LEVEL = 0.9
#: Power of the standard deviation that the odds of the doubt grow with, for density clusterers. Borders that move have
#: 1, but density clusterers also switch between solutions. Powers from 0.4 to 0.6 are equally good.
_DENSITY_POWER = 0.5


def subsample_size(clusterer: Any, codes: IntArray, calibration: Calibration, share: float | None = None) -> int:
    """Return the rows of a subsample that is clustered again: at least one per cluster, and at least one held out.

    ``codes`` (m,) are the labels of the sample. By default, subsamples are halves, or 80% for density clusterers.
    """
    m, k = codes.size, int(codes.max(initial=-1)) + 1
    if share is None:
        share = DENSITY_SHARE if is_density(clusterer, codes) else 0.5
    return max(1, min(max(int(share * m), k), calibration.max_rows(k, clusterer), m - 1))


def draw_subsamples(
    keys: Keys, size: int, numbers: range, seed: int, groups: AnyArray | None = None
) -> list[tuple[IntArray, int]]:
    """Return the rows of each of the subsamples ``numbers``, in the order of their hash, and a seed for the clusterer.

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
    for i in numbers:
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
        steps = [self.clusterer, *(value for value in self.clusterer.get_params().values() if hasattr(value, "fit"))]
        # Clones are known to be thread-safe only for scikit-learn's clusterers and ours.
        is_safe = all(type(step).__module__.partition(".")[0] in ("sklearn", "allegiance") for step in steps)

        def work(subsample: tuple[IntArray, int]) -> IntArray | str:
            with thread_pools().limit(limits=1, user_api="openmp"):  # holds only for the thread that sets it
                return self._new_clusters(*subsample)

        clusterings = []
        with (
            on_one_thread(),
            warnings.catch_warnings(),
            progress(len(subsamples), "trust", verbose, unit="subsamples") as advance,
            ThreadPoolExecutor(threads if is_safe else 1) as pool,
        ):
            warnings.simplefilter("ignore")  # such as those about few distinct rows
            for clustering in pool.map(work, subsamples):
                clusterings.append(clustering)
                advance(1)
        return clusterings

    def _new_clusters(self, inside: IntArray, seed: int) -> IntArray | str:
        """Cluster the subsample ``inside`` and return the new cluster (m,) of every row, or why that failed."""
        pairwise = is_pairwise(self.clusterer)
        half = self.rows[np.ix_(inside, inside)] if pairwise else take(self.rows, inside)
        fitted = adapt(self.clusterer, half, self.rows, self.share)
        seeds = [name for name in fitted.get_params() if name.rsplit("__", 1)[-1] == "random_state"]
        fitted.set_params(**dict.fromkeys(seeds, seed))
        outside = np.setdiff1d(np.arange(self.rows.shape[0]), inside)
        try:
            raw = fit_labels(fitted, half, None if self.weights is None else self.weights[inside])
            if outside.size and hasattr(fitted, "predict") and not pairwise:
                raw = np.concatenate([raw, np.asarray(fitted.predict(take(self.rows, outside)))])
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        is_labeled = raw >= 0 if raw.dtype.kind in "iuf" else np.ones(raw.size, dtype=bool)
        codes = np.full(raw.size, -1)
        codes[is_labeled] = np.unique(raw[is_labeled], return_inverse=True)[1]
        if outside.size and codes.size == inside.size:
            nearest = self._nearest_inside(fitted, half, inside, outside)
            codes = np.concatenate([codes, codes[nearest]])
        labels = np.empty_like(codes)
        labels[np.concatenate([inside, outside])] = codes
        return labels

    def _nearest_inside(self, fitted: Any, half: Any, inside: IntArray, outside: IntArray) -> AnyArray:
        """Return the position in a subsample of the row nearest to each row that it leaves out."""
        from sklearn.metrics import pairwise_distances_argmin

        kind = is_pairwise(self.clusterer)
        if kind is None:
            remaining = take(self.rows, outside)
            if hasattr(fitted, "steps"):  # neighbors in the space of the clusterer
                half, remaining = fitted[:-1].transform(half), fitted[:-1].transform(remaining)
            return np.asarray(pairwise_distances_argmin(remaining, half))
        block = self.rows[np.ix_(outside, inside)]
        if kind == "similarities":
            return np.asarray(block.argmax(axis=1)).ravel()
        if hasattr(block, "toarray"):  # entries that are not stored are far away
            block = block.toarray()
            block = np.where(block > 0, block, np.inf)
        return np.asarray(block.argmin(axis=1)).ravel()


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


class Extrapolation(NamedTuple):
    """From two comparisons to independent samples of the same size, whose clusters differ more or less.

    If clusters of a sample have the variance 1, the difference of two independent samples has 2.
    """

    against_labels: float
    """Standard deviation between independent samples, over that between the labels and a subsample."""
    between: float
    """The same over that between both subsamples of a pair."""
    power: float
    """Power of the standard deviation that the odds of the doubt grow with."""

    @classmethod
    def of(cls, size: int, m: int, total: int, is_density: bool) -> Extrapolation:
        """Return the extrapolation from pairs of subsamples of ``size`` rows out of ``m``, a sample of ``total``."""
        share, odds = size / total, (m - size) / size
        between = 2.0 * (odds + odds**2) * total / m if 2 * size > m else 2.0 / share
        against_labels = 1.0 / share - 1.0
        return cls((2.0 / against_labels) ** 0.5, (2.0 / between) ** 0.5, _DENSITY_POWER if is_density else 1.0)

    def rates(self, shares: FloatArray, kept: FloatArray) -> FloatArray:
        """Return two estimates (2, ...) of the rate between independent samples, from the rates of both comparisons.

        Subsamples that agree with each other more than with the labels find other clusters, so their agreement counts
        no more.
        """
        doubts = 1.0 - np.array([shares, np.minimum(kept, shares)])
        factors = np.array([self.against_labels, self.between]).reshape(-1, *[1] * np.ndim(shares)) ** self.power
        return (1.0 - doubts) / (1.0 + doubts * (factors - 1.0))

    def variances(self, shares: FloatArray, kept: FloatArray) -> FloatArray:
        """Return the variances (k,) between independent samples, the mean of two estimates from (R, k) and (S, k)."""
        comparisons = ((shares, self.against_labels), (kept, self.between))
        estimates = [ratio**2 * rates.var(axis=0, ddof=1) for rates, ratio in comparisons if len(rates) > 1]
        return np.mean(estimates or [np.ones(shares.shape[1])], axis=0)


class Replication(NamedTuple):
    """How labels fare when subsamples of the rows are clustered."""

    new: IntArray
    """(R, m) new cluster of each row, -1 for noise."""
    rate: FloatArray
    """(m,) how often each row's label replicates, the mean of both comparisons; 0 if it was never held out."""
    times: FloatArray
    """(m,) number of subsamples that hold out the row; 0 for noise."""
    shares: FloatArray
    """(R,) share of the held-out labels that each subsample reproduces."""
    kept: FloatArray
    """(S,) share of the rows on which both subsamples of a pair agree; ``shares`` if there is no pair with labels."""
    cluster_shares: FloatArray
    """(R, k) the same as ``shares`` for each cluster."""
    cluster_kept: FloatArray
    """(S, k) the same as ``kept`` for each cluster."""
    sizes: IntArray
    """(k,) labels of each cluster."""
    consensus: FloatArray
    """(m,) how often a row's cluster mates stay with it."""
    extrapolation: Extrapolation
    """From both comparisons to independent samples."""
    chance: float
    """The share that unrelated partitions with clusters of these sizes match."""
    placed_by_neighbor: bool
    """Whether rows join the cluster of their nearest neighbor, since the clusterer has no ``predict``."""
    failures: tuple[str, ...]
    """Why some subsamples could not be clustered. They are left out."""

    @property
    def share(self) -> float:
        """The share of labels that would replicate in an independent sample."""
        return float(self._rates(self.shares, self.kept))

    @property
    def cluster_rates(self) -> FloatArray:
        """(k,) share of each cluster's labels that would replicate."""
        return self._rates(self.cluster_shares, self.cluster_kept)

    @property
    def interval(self) -> tuple[float, float]:
        """90% prediction interval for the replication in one independent sample; it may exceed 0 and 1.

        Labels of a cluster change together, clusters do not: the variance is that of a sum over clusters.
        """
        weights, n = self.sizes / self.sizes.sum(), self.sizes.sum()
        variance = weights**2 @ self.extrapolation.variances(self.cluster_shares, self.cluster_kept)
        half = float(self._half_width(variance, self.share, n))
        return self.share - half, self.share + half

    def cluster_margins(self) -> FloatArray:
        """Return the half-width (k,) of the interval of each cluster's replication."""
        variances = self.extrapolation.variances(self.cluster_shares, self.cluster_kept)
        return np.minimum(self._half_width(variances, self.cluster_rates, self.sizes), 1.0)

    def _rates(self, shares: FloatArray, kept: FloatArray) -> FloatArray:
        """Return replication from both comparisons (R, ...) and (S, ...)."""
        return self.extrapolation.rates(shares.mean(axis=0), kept.mean(axis=0)).mean(axis=0)

    def _half_width(self, variance: Any, rate: Any, n: Any) -> FloatArray:
        """Return the half-width of the interval of a rate with this variance, and the counting error of n labels.

        Even if all labels replicate here, some may fail elsewhere, so rates are smoothed by Laplace's rule.
        """
        smoothed = (rate * n + 1.0) / (n + 2.0)
        quantile = float(stdtrit(max(len(self.new) - 1, 1), (1.0 + LEVEL) / 2.0))
        return quantile * np.sqrt(variance + smoothed * (1.0 - smoothed) / np.maximum(n, 1))

    def n_needed(self) -> int:
        """Return the number of subsamples that reduces the Monte Carlo errors to their targets."""
        R, splits = len(self.new), len(self.kept)
        if splits < 2 or 2 * splits != R:
            return _MAX_SUBSAMPLES

        def error(shares: FloatArray, kept: FloatArray) -> FloatArray:
            """Return the Monte Carlo variance from that of the splits."""
            by_split = (shares[::2] + shares[1::2]) / 2.0
            return self.extrapolation.rates(by_split, kept).mean(axis=0).var(axis=0, ddof=1) / splits

        of_clusters = error(self.cluster_shares, self.cluster_kept) @ self.sizes / self.sizes.sum()
        ratio = max(float(error(self.shares, self.kept)), float(of_clusters) / 4.0) / _MONTE_CARLO_ERROR**2
        return int(np.ceil(R * ratio / 2.0)) * 2

    @property
    def above_chance(self) -> FloatArray:
        """(R,) the shares of the subsamples above chance: 1 at best, 0 for labels unrelated to the data."""
        return np.array([above_chance(share, self.chance) for share in self.shares])


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
    share: float | None = None,
) -> Replication:
    """Measure replication: cluster subsamples of rows (m, d), and match them to the labels, codes (m,), -1 for noise.

    Subsamples depend on the contents of the rows, not on their order, and contain all rows of a group or none. The rows
    may be a sample of ``n_total``; ``keys`` are those of :func:`row_keys`, ``weights`` the ``sample_weight`` of fits.
    Raises ValueError if the clusterer fails on every subsample or finds only noise, or if no label was ever held out.
    """
    calibration, codes = calibration or Calibration(), np.asarray(codes)
    m = codes.size
    if m < 2:
        raise ValueError(f"X has {m} rows: at least 2 are needed to cluster some of them.")
    keys = row_keys(rows, codes) if keys is None else keys
    size, total = subsample_size(clusterer, codes, calibration, share), max(n_total or m, m)
    refit = Refit(clusterer, rows, weights, size / total)
    summary = _Summary(codes, keys, seed, Extrapolation.of(size, m, total, is_density(clusterer, codes)))
    entries = MAX_ENTRIES if is_kmeans(clusterer) else MAX_ENTRIES // SLOWER
    limit = int(np.clip(entries // max(size * rows.shape[1], 1), _MIN_SUBSAMPLES, _MAX_SUBSAMPLES))
    first = calibration.n_resamples or _MIN_SUBSAMPLES
    subsamples = draw_subsamples(keys, size, range(first), seed, groups)
    clusterings = refit.run(subsamples, threads, verbose)
    result = summary.of(clusterings, subsamples, clusterer)
    if calibration.n_resamples is None and (needed := min(result.n_needed(), limit)) > first:
        subsamples += draw_subsamples(keys, size, range(first, needed), seed, groups)
        clusterings += refit.run(subsamples[first:], threads, verbose)
        result = summary.of(clusterings, subsamples, clusterer)
    return result


class _Summary(NamedTuple):
    """Compares clusterings of subsamples with the labels ``codes`` (m,) and with each other."""

    codes: IntArray
    keys: Keys
    seed: int
    extrapolation: Extrapolation

    def of(self, clusterings: Sequence[Any], subsamples: Sequence[tuple[IntArray, int]], clusterer: Any) -> Replication:
        """Summarize clusterings of subsamples, or the reasons why they failed."""
        codes, numbers = self.codes, [i for i, labels in enumerate(clusterings) if not isinstance(labels, str)]
        failures = tuple(reason for reason in clusterings if isinstance(reason, str))
        if not numbers:
            size = subsamples[0][0].size
            raise ValueError(f"clusterer={clusterer!r} failed on every subsample of {size} rows: {failures[0]}")
        new = np.array([clusterings[i] for i in numbers])
        if (new < 0).all():
            raise ValueError(f"clusterer={clusterer!r} found no cluster in any subsample: every point is noise (-1).")
        matched, held_out = self._with_labels(new, [subsamples[i][0] for i in numbers])
        pairs = [agreement(clusterings[i], clusterings[i + 1]) for i in numbers if i % 2 == 0 and i + 1 in numbers]
        pairs = [pair for pair in pairs if pair[1].any()] or list(zip(matched, held_out, strict=True))
        agreed, labeled = (np.array(part, dtype=np.float64) for part in zip(*pairs, strict=True))
        shares, kept, times = _shares(matched, held_out), _shares(agreed, labeled), held_out.sum(axis=0)
        rate = matched.sum(axis=0) / np.maximum(times, 1)
        if kept.mean() <= shares.mean():
            between = agreed.sum(axis=0) / np.maximum(labeled.sum(axis=0), 1e-9)
            rate = np.where(labeled.any(axis=0), (rate + between) / 2.0, rate)
        return Replication(
            new,
            rate=rate,
            times=times.astype(np.float64),
            shares=shares,
            kept=kept,
            cluster_shares=_shares(matched, held_out, codes),
            cluster_kept=_shares(agreed, labeled, codes),
            sizes=np.bincount(codes[codes >= 0], minlength=int(codes.max()) + 1),
            consensus=_consensus(codes, new),
            extrapolation=self.extrapolation,
            chance=self._chance(new[:_MIN_SUBSAMPLES]),
            placed_by_neighbor=not hasattr(clusterer, "predict"),
            failures=failures,
        )

    def _with_labels(self, new: IntArray, subsamples: Sequence[IntArray]) -> tuple[BoolArray, BoolArray]:
        """Return which labels (R, m) match, and which are held out."""
        held_out = np.tile(self.codes >= 0, (len(new), 1))
        for row, inside in zip(held_out, subsamples, strict=True):
            row[inside] = False
        if not held_out.any():
            raise ValueError(
                f"labels has {np.count_nonzero(self.codes >= 0)} rows that are not noise, and all {len(new)} "
                "subsamples contain every one of them. Pass a larger `n_resamples=`."
            )
        return held_out & np.array([matches(self.codes, labels) for labels in new]), held_out

    def _chance(self, new: IntArray) -> float:
        """Return the share of labels that match after the new clusters (R, m) are shuffled."""
        order = np.argsort(self.keys, kind="stable")  # does not depend on that of the rows
        order = order[self.codes[order] >= 0]
        codes = self.codes[order]
        shuffled = [stream(self.seed, *b"chance", i).permutation(labels[order]) for i, labels in enumerate(new)]
        return float(np.mean([matches(codes, labels).mean() for labels in shuffled]))


def _shares(matched: AnyArray, counted: AnyArray, codes: IntArray | None = None) -> FloatArray:
    """Return the share (R,) of the counted entries (R, m) that match, or that (R, k) of each cluster's.

    Where nothing is counted, it is the mean over all clusterings, or one half.
    """
    if codes is None:
        return _shares(matched, counted, np.zeros(matched.shape[1], dtype=np.int64))[:, 0]
    inner, k = codes >= 0, int(codes.max()) + 1
    match, total = (
        np.array([np.bincount(codes[inner], row[inner], k) for row in values]) for values in (matched, counted)
    )
    mean = np.full(k, 0.5)
    np.divide(match.sum(axis=0), total.sum(axis=0), out=mean, where=total.sum(axis=0) > 0)
    return np.divide(match, total, out=np.tile(mean, (len(match), 1)), where=total > 0).clip(max=1.0)


def agreement(one: IntArray, other: IntArray) -> tuple[FloatArray, FloatArray]:
    """Compare two clusterings (m,), -1 for noise: return 1 for rows in matching clusters, and how many label each row.

    The latter (m,) is 0, one half or 1, so that the sum of the first over that of the second is a share.
    """
    return matches(one, other).astype(np.float64), ((one >= 0).astype(np.float64) + (other >= 0)) / 2.0


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
