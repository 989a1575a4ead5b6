"""Would the labels come back? The clustering is repeated on subsamples, and its clusters are matched to the labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import stdtrit

from allegiance._core.parallel import stream
from allegiance._core.parameters import Parameters
from allegiance._core.progress import Verbose, progress
from allegiance._core.validation import AnyArray, BoolArray, FloatArray, IntArray, check_count, check_number, is_sparse

from ._samples import Keys, mix, row_keys

#: Share of the rows in a subsample. Its clustering differs from that of all rows as much as two independent ones of
#: that size differ: the variances are 3/n - 1/n = 2/n. With a half it would be 1/n, and trust too high.
_SHARE = 1 / 3
#: Mixtures with covariances and density clusterers need more rows to be fitted at all.
_LARGER_SHARE = 1 / 2
_NEED_MORE_ROWS = {"covariance_type", "min_cluster_size"}
#: Rows of a subsample: this many, or this many per cluster if that is more. docs/benchmarks.md has what that costs.
_ROWS_OF_A_SUBSAMPLE = 2000
_ROWS_PER_CLUSTER = 50
#: Rows of the sample that subsamples are drawn from, and how many numbers it may hold.
_ROWS_OF_A_SAMPLE = 20_000
_NUMBERS_OF_A_SAMPLE = 4_000_000
#: The spread of shares over subsamples, times this, gives intervals that hold 90 % of repeats (docs/benchmarks.md).
_INFLATION = 1.3
_LEVEL = 0.9
#: Repeats that agree with each other this much more than with the labels have found something else.
_GAP = 0.2
#: Parameters that count rows, which shrink with the rows, and those that cannot exceed the number of rows.
_SHRINKING = ("min_cluster_size", "min_samples")
_LIMITED = ("n_clusters", "n_components", "n_neighbors")
#: Draws of data without clusters, and how often each is repeated.
_NULL_DRAWS, _NULL_RESAMPLES = 6, 3
#: Labels that come back this far above chance need no comparison with data without clusters.
_CLEAR = 0.9
#: In data without clusters less than this times the doubt must be left for the labels to be no better.
_CONTRAST, _TIE = 1.5, 0.02
#: Rows by which clusterings are compared.
_COMPARED = 2000
#: Rows that normal data are combined from where a covariance matrix would be large.
_COMBINED = 1000


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Parameters):
    """How to learn, from the data alone, the chance that a label comes back.

    The clustering is repeated on subsamples of the rows, and the rows left out are placed in the new clusters. The cost
    does not grow with the number of rows.

    Parameters
    ----------
    n_resamples
        Number of subsamples that are clustered, at least 2.
    clusterer
        The scikit-learn clusterer that made the labels, or a pipeline that ends in one, in the user's own coordinates.
        It is cloned for each subsample. By default it is the estimator that was fitted; if there are only labels, the
        stand-in that reproduces them best.
    rows_per_subsample
        Number of rows of a subsample, at most. By default 2,000, or 50 for each cluster if that is more. A subsample
        never has more than a third of the rows, or half of them for mixtures and HDBSCAN.
    size_prior
        How much earlier labels of large clusters are reviewed, in standard deviations of the logarithm of their size;
        large clusters hold several classes more often. It changes the order of review, not trust.

    Examples
    --------
    >>> from sklearn.cluster import SpectralClustering
    >>> from sklearn.datasets import make_moons
    >>> from allegiance import AffinityScorer, Calibration
    >>> X, moon = make_moons(300, noise=0.05, random_state=0)
    >>> spectral = SpectralClustering(2, gamma=30, random_state=0)
    >>> calibration = Calibration(n_resamples=5, clusterer=spectral)
    >>> scorer = AffinityScorer(influence="rbf", calibration=calibration).fit(X, moon)
    >>> bool(scorer.affinity(X).replication > 0.8)
    True
    """

    n_resamples: int = 20
    clusterer: Any = None
    rows_per_subsample: int | None = None
    size_prior: float = 0.25

    @classmethod
    def resolve(cls, value: Any) -> Calibration | None:
        """Return what a user means by None, a number of resamples, or an object, checked."""
        if value is None or value is False:
            return None
        if value is True:
            return cls()
        calibration = value if isinstance(value, Calibration) else cls(value)
        calibration.check()
        return calibration

    def without_clusterer(self) -> Calibration:
        """Return the same without the clusterer, for saved files."""
        return replace(self, clusterer=None)

    def check(self) -> None:
        """Raise an error that names the parameter that cannot be used."""
        if check_count(self.n_resamples, "n_resamples") < 2:
            raise ValueError("n_resamples must be at least 2, got 1: the interval comes from their differences.")
        if self.rows_per_subsample is not None and check_count(self.rows_per_subsample, "rows_per_subsample") < 2:
            raise ValueError("rows_per_subsample must be at least 2, got 1.")
        check_number(self.size_prior, "size_prior", low=0.0, closed=True)
        if self.clusterer is None:
            return
        missing = [name for name in ("get_params", "fit") if not hasattr(self.clusterer, name)]
        if missing or isinstance(self.clusterer, type):
            raise TypeError(
                "clusterer must be a scikit-learn clusterer, an instance with fit and get_params, or None, "
                f"got {self.clusterer!r}."
            )

    def most_rows(self, k: int) -> int:
        """Return the largest number of rows of a subsample for ``k`` clusters."""
        return self.rows_per_subsample or max(_ROWS_PER_CLUSTER * k, _ROWS_OF_A_SUBSAMPLE)

    def n_rows(self, k: int, n_features: int = 1) -> int:
        """Return the number of rows of the sample that subsamples are drawn from."""
        affordable = min(_ROWS_OF_A_SAMPLE, _NUMBERS_OF_A_SAMPLE // max(n_features, 1))
        return max(round(self.most_rows(k) / _SHARE), 0 if self.rows_per_subsample else affordable)


class Replication(NamedTuple):
    """What became of the labels when subsamples were clustered."""

    matched: BoolArray
    """(R, m) whether the new cluster of a row is the one that is matched to its label; new noise never is."""
    seen: BoolArray
    """(R, m) whether the row has a label and was left out of the subsample."""
    new: IntArray
    """(R, m) new cluster of each row, -1 for noise."""
    chance: float
    """The share that partitions with clusters of these sizes match if they are unrelated."""
    placed_by_neighbour: bool
    """Whether rows were placed with their nearest neighbour, since the clusterer has no ``predict``."""
    failures: tuple[str, ...]
    """Why some subsamples could not be clustered. They are left out."""

    @property
    def shares(self) -> FloatArray:
        """(R,) share of the labels that came back in each subsample."""
        return (self.matched & self.seen).sum(axis=1) / np.maximum(self.seen.sum(axis=1), 1)

    @property
    def share(self) -> float:
        """The mean share of labels that came back."""
        return float(self.shares.mean())

    @property
    def half_width(self) -> float:
        """Half of the width of the interval that holds the share of one repeat with a chance of 90 %."""
        R = len(self.seen)
        if R < 2:
            return 1.0
        quantile = float(stdtrit(R - 1, (1 + _LEVEL) / 2))
        # Labels come back or not: shares of points that all did still differ in other samples.
        n = float(self.seen.sum(axis=1).mean())
        smoothed = (self.share * n + 1.0) / (n + 2.0)
        deviation = max(float(self.shares.std(ddof=1)), float(np.sqrt(smoothed * (1.0 - smoothed) / n)))
        return float(quantile * _INFLATION * deviation * np.sqrt(1 + 1 / R))

    @property
    def above_chance(self) -> FloatArray:
        """(R,) the shares of the subsamples above chance: 1 at best, 0 for labels unrelated to the data."""
        return np.array([above_chance(share, self.chance) for share in self.shares])


def above_chance(share: float, chance: float) -> float:
    """Return (share - chance) / (1 - chance): 1 at best, 0 for what chance would do. One cluster is chance alone: 0."""
    return (share - chance) / (1.0 - chance) if chance < 1.0 else 0.0


def replicate(
    rows: Any,
    codes: AnyArray,
    clusterer: Any,
    *,
    calibration: Calibration | None = None,
    seed: int = 0,
    threads: int = 1,
    verbose: Verbose = False,
    n_total: int | None = None,
) -> Replication:
    """Repeat a clustering on subsamples of its rows and match the new clusters to the present ones.

    Subsamples are chosen by a hash of what the rows hold, and are handed over in the order of that hash: the order of
    the rows does not matter.

    Parameters
    ----------
    rows
        (m, d) array, CSR matrix or frame, as the clusterer takes them.
    codes
        (m,) cluster numbers, -1 for noise.
    clusterer
        Cloned for each subsample.
    calibration
        Number and size of the subsamples; None for the default.
    seed
        Decides the subsamples and the ``random_state`` of the clusterers.
    threads
        Subsamples clustered at a time, if all of the clusterer is scikit-learn's. Does not change the result.
    verbose
        Whether to show progress.
    n_total
        How many rows the data have of which these are a sample.

    Raises
    ------
    ValueError
        If the clusterer fails on every subsample, or finds nothing but noise.
    """
    calibration, codes = calibration or Calibration(), np.asarray(codes)
    m, k = codes.size, int(codes.max(initial=-1)) + 1
    if m < 2:
        raise ValueError(f"X has {m} rows: at least 2 are needed to cluster some of them.")
    keys = row_keys(rows, codes)
    size = _subsample_size(clusterer, m, k, calibration)
    drawn = list(_subsamples(keys, size, calibration.n_resamples, seed))

    def work(subsample: tuple[IntArray, int]) -> IntArray | str:
        inside, own_seed = subsample
        try:
            return _repeat(clusterer, rows, inside, own_seed, inside.size / (n_total or m))
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    found = _on_one_blas_thread(work, drawn, threads if _is_thread_safe(clusterer) else 1, verbose)
    kept = [(subsample, new) for subsample, new in zip(drawn, found, strict=True) if not isinstance(new, str)]
    failures = tuple(reason for reason in found if isinstance(reason, str))
    if not kept:
        raise ValueError(f"clusterer={clusterer!r} failed on every subsample of {size} rows: {failures[0]}")
    new = np.array([labels for _, labels in kept])
    if (new < 0).all():
        raise ValueError(f"clusterer={clusterer!r} found no cluster in any subsample: every point is noise (-1).")
    seen = np.tile(codes >= 0, (len(kept), 1))
    for number, ((inside, _), _) in enumerate(kept):
        seen[number, inside] = False
    matched = np.array([matches(codes, labels) for labels in new])
    in_order = np.argsort(keys, kind="stable")
    chance = np.mean([_chance(codes[in_order], labels[in_order], seed, i) for i, labels in enumerate(new)])
    return Replication(matched, seen, new, float(chance), not hasattr(clusterer, "predict"), failures)


def _subsample_size(clusterer: Any, m: int, k: int, calibration: Calibration) -> int:
    """Return the rows of a subsample: a third, at least a row for each cluster, and one row is left out at least."""
    names = {name.rsplit("__", 1)[-1] for name in clusterer.get_params()}
    share = _LARGER_SHARE if names & _NEED_MORE_ROWS else _SHARE
    return max(1, min(max(round(share * m), k), calibration.most_rows(k), m - 1))


def _subsamples(keys: Keys, size: int, number: int, seed: int) -> Iterator[tuple[IntArray, int]]:
    """Yield the rows of each subsample, in the order of their hash, and a seed for the clusterer."""
    for i in range(number):
        salt = mix(np.array([(seed * 1_000_003 + i + 1) & (2**64 - 1)], dtype=np.uint64))
        yield np.argsort(mix(keys ^ salt), kind="stable")[:size], int(salt[0] % np.uint64(2**31 - 1))


def _repeat(clusterer: Any, rows: Any, inside: IntArray, seed: int, share: float) -> IntArray:
    """Return new cluster numbers (m,) of all rows, from a clone of the clusterer that is fitted to some of them."""
    from sklearn.base import clone
    from sklearn.metrics import pairwise_distances_argmin

    fitted = clone(clusterer)
    changes: dict[str, Any] = {}
    for name, value in fitted.get_params().items():
        last = name.rsplit("__", 1)[-1]
        if last == "random_state":
            changes[name] = seed
        elif isinstance(value, Integral) and not isinstance(value, bool):
            if last in _SHRINKING:
                changes[name] = max(min(2, int(value)), round(share * int(value)))
            elif last in _LIMITED:
                changes[name] = min(int(value), inside.size)
    fitted.set_params(**changes)
    m = rows.shape[0]
    outside = np.setdiff1d(np.arange(m), inside)
    labels = np.empty(m, dtype=np.int64)
    given = take(rows, inside)
    own = _fit_labels(fitted, given)
    if outside.size == 0:
        labels[inside] = numbered(own)
        return labels
    left_out = take(rows, outside)
    if hasattr(fitted, "predict"):
        both = numbered(np.concatenate([own, np.asarray(fitted.predict(left_out))]))
        labels[inside], labels[outside] = both[: inside.size], both[inside.size :]
        return labels
    own = numbered(own)
    if hasattr(fitted, "steps"):
        # Neighbours are looked for where the clusterer is, behind the transformers.
        given, left_out = fitted[:-1].transform(given), fitted[:-1].transform(left_out)
    labels[inside], labels[outside] = own, own[pairwise_distances_argmin(left_out, given)]
    return labels


def take(rows: Any, places: IntArray) -> Any:
    """Return some rows of an array, a matrix or a frame."""
    return rows.iloc[places] if hasattr(rows, "iloc") else rows[places]


def _fit_labels(clusterer: Any, rows: Any) -> AnyArray:
    """Fit a clusterer and return the labels of its rows."""
    if hasattr(clusterer, "fit_predict"):
        return np.asarray(clusterer.fit_predict(rows))
    clusterer.fit(rows)
    return np.asarray(clusterer.labels_ if hasattr(clusterer, "labels_") else clusterer.predict(rows))


def numbered(labels: AnyArray) -> IntArray:
    """Return labels as 0, 1, ...; negative ones mean noise (-1)."""
    inner = labels >= 0 if labels.dtype.kind in "iuf" else np.ones(labels.size, dtype=bool)
    numbers = np.full(labels.size, -1, dtype=np.int64)
    numbers[inner] = np.unique(labels[inner], return_inverse=True)[1]
    return numbers


def _is_thread_safe(clusterer: Any) -> bool:
    """Tell whether clones can be fitted in threads: known of scikit-learn, not of what others have written."""
    parts = [clusterer, *(value for value in clusterer.get_params().values() if hasattr(value, "fit"))]
    return all(type(part).__module__.partition(".")[0] in ("sklearn", "allegiance") for part in parts)


def _on_one_blas_thread(work: Callable[[Any], Any], drawn: Sequence[Any], threads: int, verbose: Verbose) -> list[Any]:
    """Work on all subsamples, each on one thread of BLAS and OpenMP: sums are added in the same order anywhere."""
    from threadpoolctl import ThreadpoolController

    pools = ThreadpoolController()

    def alone(subsample: Any) -> Any:
        with pools.limit(limits=1, user_api="openmp"):  # the limit of OpenMP holds for the thread that sets it only
            return work(subsample)

    found = []
    with (
        pools.limit(limits=1),
        warnings.catch_warnings(),
        progress(len(drawn), "trust", verbose, unit="subsamples") as advance,
        ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool,
    ):
        warnings.simplefilter("ignore")  # a subsample with too few distinct rows is an answer here
        for one in map(alone, drawn) if pool is None else pool.map(alone, drawn):
            found.append(one)
            advance(1)
    return found


def matches(codes: AnyArray, new: AnyArray) -> BoolArray:
    """Return for each row (m,) whether its new cluster is the partner of its present one.

    Partners are chosen one-to-one with the greatest overlap in all. Noise (-1) has no partner.
    """
    k, found = int(codes.max(initial=-1)) + 1, int(new.max(initial=-1)) + 1
    both = (codes >= 0) & (new >= 0)
    overlap = np.bincount(codes[both] * found + new[both], minlength=k * found).reshape(k, found)
    partner = np.full(found + 1, -2)  # the last is for noise
    present, partners = linear_sum_assignment(overlap, maximize=True)
    partner[partners] = present
    return partner[new] == codes


def _chance(codes: IntArray, new: IntArray, seed: int, number: int) -> float:
    """Return the share that is matched after the new clusters are shuffled."""
    labelled = codes >= 0
    shuffled = stream(seed, *b"chance", number).permutation(new[labelled])
    return float(matches(codes[labelled], shuffled).mean())


def finds_other_clusters(codes: IntArray, found: Replication) -> str | None:
    """Say that repeats agree with each other and not with the labels; None if they agree with the labels as well.

    The rows must be in the order of their hash, of which the first ones are a sample.
    """
    from sklearn.metrics import adjusted_rand_score

    some = np.flatnonzero(codes >= 0)[:_COMPARED]
    new = found.new[:, some]
    with_labels = float(np.mean([adjusted_rand_score(codes[some], labels) for labels in new]))
    mutual = float(np.mean([adjusted_rand_score(*pair) for pair in pairwise(new)])) if len(new) > 1 else with_labels
    if mutual - with_labels <= _GAP:
        return None
    return f"its repeats agree with each other ({mutual:.2f}) more than with the labels ({with_labels:.2f})"


class Normal(NamedTuple):
    """What comes back of clusters in normal data with the covariance of the rows."""

    share: float
    """The share that comes back in independent samples."""
    correction: float
    """The factor, at least 1, by which subsamples find too few labels that do not come back."""
    weight: float
    """How far the labels look like those of normal data, 0 to 1."""
    as_good: bool
    """Whether no more comes back of the labels."""


def compare_with_normal(
    rows: Any, found: Replication, clusterer: Any, calibration: Calibration, seed: int, threads: int
) -> Normal | None:
    """Cluster normal data with the covariance of the rows, where independent samples can be drawn.

    A subsample has rows in common with the whole. Where there are no clusters, that alone brings some labels back; in
    normal data it can be seen how many.

    None if the labels come back far more often than by chance, or if the clusterer takes no such data: sparse rows,
    frames with texts.
    """
    share = above_chance(found.share, found.chance)
    if is_sparse(rows) or share > _CLEAR:
        return None
    try:
        given = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    k = int(found.new.max()) + 1
    m = min(given.shape[0], 3 * _subsample_size(clusterer, given.shape[0], k, calibration))
    few = replace(calibration, n_resamples=_NULL_RESAMPLES)
    drawn = [_normal_like(given, m, stream(seed, *b"normal", draw)) for draw in range(_NULL_DRAWS)]
    stacked = np.concatenate(drawn)
    stacked = type(rows)(stacked, columns=rows.columns) if hasattr(rows, "iloc") else stacked

    def cluster(draw: int) -> IntArray:
        return _repeat(clusterer, stacked, np.arange(draw * m, (draw + 1) * m), seed + draw, 1.0)

    try:
        places = range(_NULL_DRAWS)
        by_draw = _on_one_blas_thread(cluster, places, threads if _is_thread_safe(clusterer) else 1, False)
        own = [slice(draw * m, (draw + 1) * m) for draw in places]
        subsampled = [
            replicate(take(stacked, np.arange(m) + draw * m), numbered(by_draw[draw][own[draw]]), clusterer,
                      calibration=few, seed=seed, threads=threads)
            for draw in places
        ]  # fmt: skip
    except Exception:
        return None
    pairs = [(one, other) for one in places for other in places if one != other]
    independent = np.mean([matches(by_draw[one][own[one]], by_draw[other][own[one]]).mean() for one, other in pairs])
    shares = np.concatenate([one.above_chance for one in subsampled])
    usual, deviation = float(shares.mean()), max(float(shares.std(ddof=1)), _TIE)
    weight = float(np.clip((usual + 2.0 * deviation - share) / deviation, 0.0, 1.0))
    if (1.0 - usual + _TIE) >= _CONTRAST * (1.0 - share + _TIE):
        weight = 0.0
    lost = 1.0 - float(np.mean([one.share for one in subsampled]))
    correction = max((1.0 - float(independent)) / lost, 1.0) if lost > _TIE else 1.0
    return Normal(float(independent), correction, weight, weight == 1.0)


def _normal_like(X: FloatArray, m: int, rng: np.random.Generator) -> FloatArray:
    """Draw normal rows (m, d) with the mean of X and the covariance of its population, as shrinkage estimates it.

    The covariance of the sample itself varies more than that of the population, which alone makes cuts come back.
    """
    from sklearn.covariance import ledoit_wolf

    mean = X.mean(axis=0)
    if X.shape[1] <= _COMBINED:
        scale = X.std(axis=0)
        scale[scale == 0.0] = 1.0
        shrunk = ledoit_wolf((X - mean) / scale, assume_centered=True)[0] * np.outer(scale, scale)
        values, vectors = np.linalg.eigh(np.atleast_2d(shrunk))
        return mean + rng.normal(size=(m, X.shape[1])) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    some = X[rng.choice(X.shape[0], min(_COMBINED, X.shape[0]), replace=False)] - mean
    return mean + rng.normal(size=(m, some.shape[0])) @ some / np.sqrt(some.shape[0])
