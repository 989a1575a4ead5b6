"""Would the labels come back? The clustering is repeated on subsamples, and its clusters are matched to the labels."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import sqrt
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

#: Share of the rows in a subsample. Labels and the clustering of a half differ with a variance of 1/n, two disjoint
#: halves with 4/n, two independent samples of n rows with 2/n. Mixtures need more rows to be fitted at all.
_SHARE, _SHARES = 0.5, {"covariance_type": 0.7}
#: The doubt is the mean of both comparisons times this, chosen on the choosing populations of docs/benchmarks.md.
_DOUBT = 1.06
#: Growth of the doubt, in powers of the variance, that is taken for noise.
_LEAST_GROWTH = 0.1
#: Rows of a subsample: this many, or this many per cluster if that is more. docs/benchmarks.md has what that costs.
_ROWS_OF_A_SUBSAMPLE = 1500
_ROWS_PER_CLUSTER = 25
#: Rows of the sample that subsamples are drawn from, and how many numbers it may hold.
_ROWS_OF_A_SAMPLE = 20_000
_NUMBERS_OF_A_SAMPLE = 4_000_000
#: The interval is to hold this share of repeats. Neighbours come back together: labels count this many times less.
_LEVEL, _TOGETHER = 0.9, 2.0
#: Repeats that agree with each other this much more than with the labels have found something else: of a clusterer that
#: is known, and of one that may not have made the labels.
_GAP, _SMALL_GAP = 0.2, 0.05
#: Parameters that count rows, which shrink with the rows, and those that cannot exceed the number of rows.
_SHRINKING = ("min_cluster_size", "min_samples")
_LIMITED = ("n_clusters", "n_components", "n_neighbors")
#: Draws of data without clusters, of each of which a pair of subsamples is clustered. One draw is enough if labels come
#: back better by the second number. If they do not come back better by the third, the data have no more to show.
_NULL_DRAWS, _BETTER, _NO_BETTER = 4, 0.2, 0.05
#: Shares that differ by less are equal. Where as much comes back in each of the first subsamples, and at least so much,
#: the others are left out. Labels that come back so far above chance need no comparison with data without clusters.
_TIE, _FIRST, _CLEAR = 0.02, 6, 0.9
#: Rows that the covariance is estimated from; with more than half as many columns normal rows are combined from them.
_COVARIANCE_ROWS = 2000


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Parameters):
    """How to learn, from the data alone, the chance that a label comes back.

    The clustering is repeated on subsamples of the rows, and the rows left out are placed in the new clusters. The cost
    does not grow with the number of rows.

    Parameters
    ----------
    n_resamples
        Number of subsamples that are clustered, at least 2. If nine tenths or more come back in the first 6, and as
        much in each of them, to 0.02, the others are left out.
    clusterer
        The scikit-learn clusterer that made the labels, or a pipeline that ends in one, in the user's own coordinates.
        It is cloned for each subsample. By default it is the estimator that was fitted; if there are only labels, the
        stand-in that reproduces them best.
    rows_per_subsample
        Number of rows of a subsample, at most. By default 1,500, or 25 for each cluster if that is more. A subsample
        never has more than half of the rows, seven tenths for mixtures.
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

    new: IntArray
    """(R, m) new cluster of each row, -1 for noise."""
    hits: FloatArray
    """(m,) how often the label of a row came back."""
    times: FloatArray
    """(m,) in how many subsamples, of those that left the row out; 0 for noise."""
    shares: FloatArray
    """(R,) share of the labels that came back in each subsample."""
    kept: float
    """The share of rows that keep their cluster from one subsample of a pair to the other."""
    variance: float
    """Geometric mean of the variances of both comparisons over that of independent repeats: 1 unless rows are few."""
    chance: float
    """The share that partitions with clusters of these sizes match if they are unrelated."""
    placed_by_neighbour: bool
    """Whether rows were placed with their nearest neighbour, since the clusterer has no ``predict``."""
    failures: tuple[str, ...]
    """Why some subsamples could not be clustered. They are left out."""
    gap: float
    """If subsamples have this much more in common with each other than with the labels, they found other clusters."""

    @property
    def share(self) -> float:
        """The share of labels that would come back in an independent repeat.

        Subsamples of a limited size vary more than that. If the doubt grows from one comparison to the other, which has
        twice the variance, it shrinks with the variance of a repeat; if not, whole clusters differ at any size.
        """
        lost, left = 1.0 - float(self.shares.mean()), 1.0 - self.kept
        power = np.clip(np.log2(max(left, _TIE) / max(lost, _TIE)) - _LEAST_GROWTH, 0.0, 0.5)
        doubt = lost + _weight_of_pairs(lost - left, self.gap) * (left - lost)
        doubt = min(_DOUBT * doubt, max(doubt, 1.0 - self.chance))
        return 1.0 - float(doubt / self.variance**power)

    @property
    def interval(self) -> tuple[float, float]:
        """What holds the share of one repeat with a chance of 90 %; it may reach below 0 and above 1."""
        R, share = self.shares.size, self.share
        if R < 2:
            return share - 1.0, share + 1.0
        n = float((self.times > 0).sum())
        smoothed = (share * n + 1.0) / (n + 2.0)  # labels that all came back still differ in other samples
        labels = _TOGETHER * smoothed * (1.0 - smoothed) / n
        # A repeat has twice the rows of a subsample; the further the two comparisons differ, the more the share is off.
        variance = (self.shares.var(ddof=1) + (self.shares.mean() - self.kept) ** 2) / 2.0 + labels
        half = float(stdtrit(R - 1, (1 + _LEVEL) / 2) * np.sqrt(variance))
        return share - half, share + half

    @property
    def above_chance(self) -> FloatArray:
        """(R,) the shares of the subsamples above chance: 1 at best, 0 for labels unrelated to the data."""
        return np.array([above_chance(share, self.chance) for share in self.shares])

    @property
    def other_clusters(self) -> str | None:
        """Says that subsamples agree with each other and not with the labels; None if they agree with the labels."""
        with_labels = float(self.shares.mean())
        if self.kept - with_labels <= self.gap:
            return None
        among = f"its repeats have {100 * self.kept:.0f} % of the labels in common"
        return f"{among}, and {100 * with_labels:.0f} % with those at hand"


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
    keys: Keys | None = None,
    share: float = _SHARE,
    sure: bool = True,
    may_stop: bool = False,
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
    keys
        (m,) what :func:`row_keys` returns, if it is known.
    share
        Share of the rows in a subsample; mixtures get more if they need it.
    sure
        Whether the clusterer is sure to have made the labels. If not, subsamples have found other clusters when they
        have a little more in common with each other than with the labels.
    may_stop
        Whether to leave out further subsamples where the first agree.

    Raises
    ------
    ValueError
        If the clusterer fails on every subsample, or finds nothing but noise, or if no label was ever left out.
    """
    calibration, codes = calibration or Calibration(), np.asarray(codes)
    m, k = codes.size, int(codes.max(initial=-1)) + 1
    if m < 2:
        raise ValueError(f"X has {m} rows: at least 2 are needed to cluster some of them.")
    keys = row_keys(rows, codes) if keys is None else keys
    size = _subsample_size(clusterer, m, k, calibration, share)
    total = max(n_total or m, m)
    drawn = list(_subsamples(keys, size, calibration.n_resamples, seed))
    jobs = [(rows, inside, own_seed, size / total) for inside, own_seed in drawn]
    first = _FIRST if may_stop else len(jobs)
    found = _clusterings(clusterer, jobs[:first], threads, verbose)
    if first < len(jobs) and not _agree(codes, found, drawn):
        found += _clusterings(clusterer, jobs[first:], threads, verbose)
    worked = [place for place, labels in enumerate(found) if not isinstance(labels, str)]
    failures = tuple(reason for reason in found if isinstance(reason, str))
    if not worked:
        raise ValueError(f"clusterer={clusterer!r} failed on every subsample of {size} rows: {failures[0]}")
    new = np.array([found[place] for place in worked])
    if (new < 0).all():
        raise ValueError(f"clusterer={clusterer!r} found no cluster in any subsample: every point is noise (-1).")
    matched, seen = _matched(codes, new, [drawn[place][0] for place in worked])
    if not seen.any():
        raise ValueError(
            f"labels has {np.count_nonzero(codes >= 0)} rows that are not noise, and none was left out of any of "
            f"{len(new)} subsamples, so nothing tells whether they come back. Pass a larger n_resamples (--resamples)."
        )
    gap = _GAP if sure else _SMALL_GAP
    times, shares = seen.sum(axis=0), matched.sum(axis=1) / np.maximum(seen.sum(axis=1), 1)
    rate = matched.sum(axis=0) / np.maximum(times, 1)
    pairs = [(found[place], found[place + 1]) for place in worked if place % 2 == 0 and place + 1 in worked]
    kept = np.array([matches(one, other) for one, other in pairs if (one >= 0).any()])
    share_kept = float(kept[:, codes >= 0].mean()) if kept.size else float(shares.mean())
    if kept.size:
        rate += _weight_of_pairs(share_kept - float(shares.mean()), gap) * (kept.mean(axis=0) - rate)
    in_order = np.argsort(keys, kind="stable")
    chance = np.mean([_chance(codes[in_order], labels[in_order], seed, i) for i, labels in enumerate(new)])
    return Replication(
        new,
        hits=rate * times,
        times=times.astype(np.float64),
        shares=shares,
        kept=share_kept,
        variance=max(sqrt(total / size * (total / size - 1.0) / 2.0), 1.0),
        chance=float(chance),
        placed_by_neighbour=not hasattr(clusterer, "predict"),
        failures=failures,
        gap=gap,
    )


def _matched(codes: IntArray, new: IntArray, inside: Sequence[IntArray]) -> tuple[BoolArray, BoolArray]:
    """Return for each subsample and row (R, m) whether its label came back, and whether it was left out and has one."""
    seen = np.tile(codes >= 0, (len(new), 1))
    for number, rows in enumerate(inside):
        seen[number, rows] = False
    return seen & np.array([matches(codes, labels) for labels in new]), seen


def _agree(codes: IntArray, found: Sequence[Any], drawn: Sequence[tuple[IntArray, int]]) -> bool:
    """Tell whether nearly all labels come back in the first subsamples, and as many in each."""
    if any(isinstance(labels, str) for labels in found):
        return False
    matched, seen = _matched(codes, np.array(found), [inside for inside, _ in drawn[: len(found)]])
    shares = matched.sum(axis=1) / np.maximum(seen.sum(axis=1), 1)
    return bool(shares.mean() >= _CLEAR and shares.std(ddof=1) < _TIE)


def _weight_of_pairs(more_in_common: float, gap: float) -> float:
    """Return the weight of what pairs of subsamples keep: nothing if they have found other clusters than the labels."""
    return 0.0 if more_in_common > gap else 0.5


def _subsample_size(clusterer: Any, m: int, k: int, calibration: Calibration, share: float = _SHARE) -> int:
    """Return the rows of a subsample: at least a row for each cluster, and one row is left out at least."""
    return max(1, min(max(int(_share_of_rows(clusterer, share) * m), k), calibration.most_rows(k), m - 1))


def _share_of_rows(clusterer: Any, share: float = _SHARE) -> float:
    """Return the share of the rows that a subsample has."""
    names = {name.rsplit("__", 1)[-1] for name in clusterer.get_params()}
    return max((needed for name, needed in _SHARES.items() if name in names), default=share)


def _subsamples(keys: Keys, size: int, number: int, seed: int) -> Iterator[tuple[IntArray, int]]:
    """Yield the rows of each subsample, in the order of their hash, and a seed for the clusterer.

    They come in pairs from both ends of one random order: disjoint up to half of the rows.
    """
    for i in range(number):
        salts = [mix(np.array([(seed * 1_000_003 + j + 1) & (2**64 - 1)], dtype=np.uint64)) for j in (i - i % 2, i)]
        order = np.argsort(mix(keys ^ salts[0]), kind="stable")
        yield order[-size:] if i % 2 else order[:size], int(salts[1][0] % np.uint64(2**31 - 1))


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
    left = np.ones(m, dtype=bool)
    left[inside] = False
    outside = np.flatnonzero(left)
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


def _clusterings(clusterer: Any, jobs: Sequence[Any], threads: int, verbose: Verbose = False) -> list[Any]:
    """Return new cluster numbers of all rows for each job (rows, places, seed, share), or why it failed.

    Each runs on one thread of BLAS and OpenMP: sums are added in the same order anywhere.
    """
    from threadpoolctl import ThreadpoolController

    pools = ThreadpoolController()

    def work(job: tuple[Any, IntArray, int, float]) -> IntArray | str:
        try:
            with pools.limit(limits=1, user_api="openmp"):  # it holds for the thread that sets it only
                return _repeat(clusterer, *job)
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    found = []
    with (
        pools.limit(limits=1),
        warnings.catch_warnings(),
        progress(len(jobs), "trust", verbose, unit="subsamples") as advance,
        ThreadPoolExecutor(threads if _is_thread_safe(clusterer) else 1) as pool,
    ):
        warnings.simplefilter("ignore")  # a subsample with too few distinct rows is an answer here
        for one in pool.map(work, jobs):
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


def normal_share(
    rows: Any, found: Replication, clusterer: Any, calibration: Calibration, seed: int, threads: int
) -> float | None:
    """Return the share that comes back in normal data with the covariance of the rows; None if the labels do better.

    The same is done to both: subsamples of the same size are compared with each other. None, too, if the labels come
    back far more often than by chance, or if the clusterer takes no such data: sparse rows, frames with texts.
    """
    share = above_chance(found.kept, found.chance)
    if is_sparse(rows) or share > _CLEAR:
        return None
    try:
        given = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    size = _subsample_size(clusterer, given.shape[0], int(found.new.max()) + 1, calibration)
    m = min(given.shape[0], round(size / _share_of_rows(clusterer)))
    shares, kept = [], []
    for i, drawn in enumerate(_normal_like(given, m, stream(seed, *b"normal"))):
        table = type(rows)(drawn, columns=rows.columns) if hasattr(rows, "iloc") else drawn
        halves = (np.arange(size), np.arange(m - size, m))
        one, other = _clusterings(clusterer, [(table, inside, seed, size / m) for inside in halves], threads)
        if isinstance(one, str) or isinstance(other, str) or (one < 0).all():
            return None
        kept.append(float(matches(one, other).mean()))
        shares.append(above_chance(kept[-1], _chance(one, other, seed, i)))
        if share > shares[0] + _BETTER:
            return None
    return float(np.mean(kept)) if share <= np.mean(shares) + _NO_BETTER else None


def _normal_like(X: FloatArray, m: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Draw normal rows (m, d) with the mean of X and the covariance of its population, as shrinkage estimates it.

    The covariance of the sample itself varies more than that of the population, which alone makes cuts come back.
    """
    from sklearn.covariance import ledoit_wolf

    X = X[:_COVARIANCE_ROWS]
    mean, d = X.mean(axis=0), X.shape[1]
    if d <= _COVARIANCE_ROWS // 2:
        scale = X.std(axis=0)
        scale[scale == 0.0] = 1.0
        shrunk = ledoit_wolf((X - mean) / scale, assume_centered=True)[0] * np.outer(scale, scale)
        values, vectors = np.linalg.eigh(np.atleast_2d(shrunk))
        root = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    else:
        root = (X - mean) / np.sqrt(X.shape[0])
    for _ in range(_NULL_DRAWS):
        yield mean + rng.normal(size=(m, root.shape[0])) @ root
