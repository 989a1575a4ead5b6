"""Distances between clusterings of the same points: LiftEMD, which knows where the points are, and Rand distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.metrics import pairwise_distances
from sklearn.metrics.cluster import pair_confusion_matrix

from ._core.arithmetic import row_dots
from ._core.parallel import effective_threads, for_row_blocks, on_one_thread, resolve_seed, slices, stream
from ._core.validation import (
    FloatArray,
    IntArray,
    Rows,
    check_choice,
    check_jobs,
    check_rows,
    dense,
    is_sparse,
    real_array,
)
from .fitting import Labels
from .influence import BLOCK_ROWS, Kernel, KernelSums, block_features, with_short_indices

__all__ = ["lift_emd", "rand_distance"]

#: How far the memberships of a row may be from a sum of 1.
_SUM_TOLERANCE = 1e-6
#: The kernels that lift clusters, and the distance their bandwidth is measured in.
_LIFTING_KERNELS = {"rbf": "euclidean", "laplacian": "manhattan"}
#: Rows among which the median distance is taken.
_SAMPLE = 1000
#: Rows whose products with all clusters are held at a time: a multiple of the rows of a block.
_CHUNK = 4096


def lift_emd(
    X: Any,
    labels_a: Any,
    labels_b: Any,
    *,
    kernel: Any = "rbf",
    n_jobs: int | None = None,
    random_state: Any = 0,
) -> float:
    """Return the distance between two clusterings of the same points, based on where their clusters lie.

    The lift of a cluster is the sum of its points in the feature space of a kernel, divided by its length. Lifts A and
    B are √(2 - 2<A, B>) apart, and a cluster has the mass ``|C| / n``. The distance is the least cost of moving the
    masses of one clustering to the other's. This is LiftEMD (Raman, Phillips, Venkatasubramanian 2011) as we understand
    it.

    It is a metric if the kernel is characteristic, as "rbf" and "laplacian" are, with three exceptions. Exchanging
    copies of a row between clusters changes nothing. Neither does splitting a soft cluster in proportion, because both
    parts have the same lift. Values below 1e-7 are rounding. With "nystroem", lifts that differ only outside the span
    of the chosen rows are the same, too.

    Parameters
    ----------
    X
        (n, d) data: array, sparse matrix or frame.
    labels_a, labels_b
        (n,) labels, or (n, k) memberships whose rows sum to 1. A point of noise (-1) is a cluster of its own.
    kernel
        "rbf", ``exp(-gamma |x - y|²)``; "laplacian", ``exp(-gamma |x - y|₁)``; a function k(X, Y) -> (n, m), positive
        and positive definite; or a :class:`~allegiance.influence.Kernel`. By default gamma is
        1 / 2 s² for "rbf" and 1 / s for "laplacian", where s is the median distance between points (for "laplacian" the
        Manhattan one), of a fixed sample of 1,000 points if there are more. The exact kernel computes n² values, in
        blocks that fit in memory. With an approximation, as in ``Kernel("rbf", approximation="fourier")``, time is
        linear in n.
    n_jobs
        Threads; None or -1 for all cores. The result does not depend on it.
    random_state
        Seed of approximate features. It is fixed by default, because only distances from the same features compare.

    Returns
    -------
    float
        From 0 to √2.

    See Also
    --------
    rand_distance : Counts pairs of points, and ignores their positions.

    Examples
    --------
    One point changes clusters. The nearer it is to its new cluster, the smaller LiftEMD. The Rand distance is equal.

    >>> import numpy as np
    >>> from allegiance.metrics import lift_emd, rand_distance
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [8.0], [9.0], [10.0], [11.0]])
    >>> labels, near, far = [0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1, 1], [1, 0, 0, 0, 1, 1, 1, 1]
    >>> round(lift_emd(X, labels, near), 3), round(lift_emd(X, labels, far), 3)
    (0.235, 0.251)
    >>> rand_distance(labels, near) == rand_distance(labels, far)
    True
    """
    threads, seed = effective_threads(check_jobs(n_jobs)), resolve_seed(random_state)
    X = check_rows(BaseEstimator(), X, reset=True)
    sides = (("labels_a", labels_a), ("labels_b", labels_b))
    pool = Pool.of([_check_memberships(labels, X.shape[0], name) for name, labels in sides])
    lifts = lift_clusters(X, pool.columns, lift_kernel(kernel, X), seed, threads)
    return transport_cost(lifts.distances()[np.ix_(*pool.numbers)], *pool.masses)


def rand_distance(labels_a: Any, labels_b: Any) -> float:
    """Return the share of the pairs of points that one clustering puts together and the other apart.

    It is 1 minus the Rand index: 0 for equal partitions, 1 if one puts all points together and the other none. It is a
    metric, and counts pairs in whole numbers. Time and memory are O(n) for any number of clusters.

    Parameters
    ----------
    labels_a, labels_b
        (n,) labels: integers or strings. Points of noise (-1) are together with no other point.

    Returns
    -------
    float
        From 0 to 1; 0 for a single point.

    See Also
    --------
    lift_emd : A distance that depends on the positions of the points.

    Examples
    --------
    One of the six pairs is treated differently: the last two points.

    >>> from allegiance.metrics import rand_distance
    >>> rand_distance(["a", "a", "b", "b"], [0, 0, 1, 2])
    0.16666666666666666
    """
    if not hasattr(labels_a, "__len__"):
        raise TypeError(f"labels_a must be one label per point, got {type(labels_a).__name__}.")
    codes_a = separate_noise(check_codes(labels_a, len(labels_a), "labels_a"))
    codes_b = separate_noise(check_codes(labels_b, codes_a.size, "labels_b"))
    pairs = pair_confusion_matrix(codes_a, codes_b)
    return float((pairs[0, 1] + pairs[1, 0]) / max(pairs.sum(), 1))


def check_codes(labels: Any, n_rows: int, name: str) -> IntArray:
    """Return the cluster numbers (n,) of a clustering to compare, -1 for noise; errors name the argument."""
    try:
        checked = Labels.of(labels, n_rows)
        if not checked.classes.size:
            raise ValueError("it contains no cluster, since every point is noise (-1).")
        return checked.codes(checked.classes)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} cannot be used: {error}") from error


def separate_noise(codes: IntArray) -> IntArray:
    """Return cluster numbers (n,) for distances between clusterings: each row of noise is a cluster of its own."""
    noise = np.flatnonzero(codes < 0)
    separate = codes.copy()
    separate[noise] = codes.max(initial=-1) + 1 + np.arange(noise.size)
    return separate


def one_hot(codes: IntArray) -> Any:
    """Return the memberships of a clustering as CSR (n, k), a 1 for the cluster of each row; noise rows are empty."""
    member = codes >= 0
    pointers = np.concatenate([[0], np.cumsum(member)])
    shape = (codes.size, int(codes.max(initial=-1)) + 1)
    return sp.csr_array((np.ones(int(member.sum())), codes[member], pointers), shape=shape)


def _check_memberships(labels: Any, n_rows: int, name: str) -> Any:
    """Return labels (n,) or memberships (n, k) as CSR (n, k), to compare them by LiftEMD; noise rows are clusters."""
    if np.ndim(labels) != 2:
        return one_hot(separate_noise(check_codes(labels, n_rows, name)))
    values = real_array(name, labels, 2)
    if values.shape[0] != n_rows:
        raise ValueError(f"{name} has {values.shape[0]} rows but X has {n_rows}: they must be equal.")
    totals = values.sum(axis=1)
    if values.min(initial=0.0) < 0 or not (np.abs(totals - 1.0) <= _SUM_TOLERANCE).all():
        raise ValueError(f"{name} must hold memberships in its rows: none negative, with a sum of 1.")
    values /= totals[:, None]
    return sp.csr_array(values[:, values.any(axis=0)])


class Pool(NamedTuple):
    """The clusters of several clusterings, equal ones only once."""

    columns: Any
    """CSR matrix (n, m) of the memberships in each distinct cluster."""
    numbers: list[IntArray]
    """For each clustering, the column (k,) of each of its clusters."""
    masses: list[FloatArray]
    """For each clustering, the sum (k,) of the memberships in each of its clusters."""

    @classmethod
    def of(cls, memberships: Sequence[Any]) -> Pool:
        """Pool the clusters of the clusterings to measure, by their memberships, CSR matrices (n, k)."""
        stacked = sp.csc_array(sp.hstack(memberships, format="csc"))
        stacked.sort_indices()
        known: dict[tuple[bytes, bytes], int] = {}
        columns, numbers = list[int](), np.empty(stacked.shape[1], dtype=np.int64)
        for i in range(numbers.size):
            part = slice(stacked.indptr[i], stacked.indptr[i + 1])
            numbers[i] = known.setdefault((stacked.indices[part].tobytes(), stacked.data[part].tobytes()), len(columns))
            if numbers[i] == len(columns):
                columns.append(i)
        ends = np.cumsum([partition.shape[1] for partition in memberships])
        masses = [np.asarray(partition.sum(axis=0), dtype=np.float64).ravel() for partition in memberships]
        return cls(sp.csr_array(stacked[:, columns]), np.split(numbers, ends[:-1]), masses)


def lift_kernel(kernel: Any, X: Rows) -> Kernel:
    """Return the kernel that lifts clusters, with a bandwidth chosen from the rows of X (n, d) by default."""
    resolved = kernel if isinstance(kernel, Kernel) else Kernel(kernel)
    if not callable(resolved.name):
        check_choice(resolved.name, "kernel", (*_LIFTING_KERNELS, "a function k(X, Y)"))
    resolved.check()
    if callable(resolved.name) or resolved.gamma is not None:
        return resolved
    bandwidth = lift_bandwidth(X, _LIFTING_KERNELS[resolved.name])
    with np.errstate(divide="ignore", over="ignore"):
        gamma = float(0.5 / np.square(bandwidth)) if resolved.name == "rbf" else 1.0 / bandwidth
    if not 0 < gamma < np.inf:
        raise ValueError("X is out of the range of a kernel: scale it.")
    return replace(resolved, gamma=gamma)


def lift_bandwidth(X: Rows, metric: str) -> float:
    """Return the bandwidth of a lift's kernel: the median distance between rows, of 1,000 rows if there are more."""
    rows = X
    if X.shape[0] > _SAMPLE:
        rows = X[np.sort(stream(0, *b"median distance").permutation(X.shape[0])[:_SAMPLE])]
    with np.errstate(over="ignore", invalid="ignore"):
        if not is_sparse(rows):
            rows = dense(rows) - dense(rows).mean(axis=0)  # a common offset would cost digits
        rows = with_short_indices(rows)
        distances: FloatArray = pairwise_distances(rows, metric=metric)[np.triu_indices(rows.shape[0], 1)]
    if not np.isfinite(distances).all():
        raise ValueError("X is too large for a kernel: scale it down.")
    positive = distances[distances > 0]
    return float(np.median(distances) or np.median(positive)) if positive.size else 1.0


@dataclass(frozen=True)
class _FeatureSums:
    """Lifts of clusters as sums of explicit features, whose inner products are approximately a kernel."""

    transformer: Any
    """Fitted; it turns rows (n, d), dense or CSR, into dense features (n, f)."""
    totals: FloatArray
    """(m, f) the sums."""

    def sums(self, X: Rows, threads: int) -> tuple[FloatArray, FloatArray]:
        """Return inner products (n, m) of rows with the clusters' lifts before scaling, and squared norms (n,)."""
        sums, squares = np.empty((X.shape[0], self.totals.shape[0])), np.empty(X.shape[0])

        def sum_block(rows: slice) -> None:
            """Compare the lifts of a block of rows with those of the clusters."""
            for part in slices(rows, BLOCK_ROWS):
                count, features = part.stop - part.start, block_features(self.transformer, X, part)
                sums[part] = (features @ self.totals.T)[:count]
                squares[part] = row_dots(features, features)[:count]

        with on_one_thread():
            for_row_blocks(sum_block, X.shape[0], threads, multiple=BLOCK_ROWS)
        return sums, squares


@dataclass(frozen=True)
class Lifts:
    """The lifts of m clusters: unit vectors in a feature space, known through their inner products."""

    sums: KernelSums | _FeatureSums
    norms: FloatArray
    """(m,) lengths of the sums, of which the lifts are the directions."""
    gram: FloatArray
    """(m, m) inner products of the lifts."""

    def with_rows(self, X: Rows, threads: int = 1) -> FloatArray:
        """Return the inner products (n, m) of the lifts of single rows X (n, d) with those of the clusters."""
        sums, squares = self.sums.sums(X, threads)
        return sums / _lengths(squares)[:, None] / self.norms

    def distances(self) -> FloatArray:
        """Return the distances (m, m), exact to about 1e-8 since they come from squares; 0 from a lift to itself."""
        squares = 2.0 - 2.0 * self.gram
        np.fill_diagonal(squares, 0.0)
        return np.sqrt(np.maximum(squares, 0.0))


def lift_clusters(
    X: Rows, columns: Any, kernel: Kernel, seed: int, threads: int, with_points: FloatArray | None = None
) -> Lifts:
    """Lift the clusters of X (n, d) with memberships ``columns``, CSR (n, m), none empty.

    ``with_points`` (n, m) is filled with the result of :meth:`Lifts.with_rows` for X, which costs little here.
    """
    sums: KernelSums | _FeatureSums
    if kernel.approximation is None:
        resolved = kernel.with_data(X)
        sums = KernelSums(resolved, columns.T.tocsr(), resolved.prepare(X))
        gram = np.zeros((columns.shape[1], columns.shape[1]))
    else:
        transformer, totals = kernel.feature_map(X, seed), np.zeros(())
        with on_one_thread():
            for part in slices(X.shape[0], BLOCK_ROWS):
                totals = totals + columns[part].T @ block_features(transformer, X, part)[: part.stop - part.start]
        sums, gram = _FeatureSums(transformer, totals), totals @ totals.T
    if kernel.approximation is None or with_points is not None:
        for start in range(0, X.shape[0], _CHUNK):
            part = slice(start, start + _CHUNK)
            products, squares = sums.sums(X[part], threads)
            if kernel.approximation is None:
                gram += columns[part].T @ products
            if with_points is not None:
                with_points[part] = products / _lengths(squares)[:, None]
    norms = _lengths(np.diagonal(gram))
    if with_points is not None:
        with_points /= norms
    gram = gram / norms / norms[:, None]
    return Lifts(sums, norms, (gram + gram.T) / 2.0)


def _lengths(squares: FloatArray) -> FloatArray:
    """Return the lengths of lifts from their squares; ValueError if one is zero."""
    if not (squares > 0).all():
        raise ValueError("kernel maps a point or a cluster to zero: k(x, x) must be positive.")
    return np.sqrt(squares)


def transport_cost(cost: FloatArray, source: FloatArray, target: FloatArray) -> float:
    """Return the transport cost of LiftEMD: the least mean cost (a, b) of moving masses (a,) to (b,) of equal sum."""
    from scipy.optimize import linprog

    leaving = sp.kron(sp.eye_array(source.size), np.ones((1, target.size)))
    arriving = sp.kron(np.ones((1, source.size)), sp.eye_array(target.size))
    constraints: Any = sp.vstack([leaving, arriving])
    masses = np.concatenate([source / source.sum(), target / target.sum()])
    solution: Any = linprog(cost.ravel(), A_eq=constraints, b_eq=masses, method="highs-ds")
    if not solution.success:
        raise RuntimeError(f"optimal transport failed: {solution.message}")
    return float(solution.fun)
