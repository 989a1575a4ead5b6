"""LiftEMD, a distance between clusterings that knows where the points are."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from allegiance._core import check_jobs, check_rows, effective_threads, resolve_seed

from ._lift_kernel import lift_kernel
from ._lifts import lift_clusters
from ._memberships import Pool, check_memberships
from ._transport import transport_cost


def lift_emd(
    X: Any,
    labels_a: Any,
    labels_b: Any,
    *,
    kernel: Any = "rbf",
    n_jobs: int | None = None,
    random_state: Any = 0,
) -> float:
    """Return the distance between two clusterings of the same points, by where their clusters are.

    The lift of a cluster is the sum of its points in the feature space of a kernel, divided by its length. Lifts A and
    B are √(2 - 2<A, B>) apart, and a cluster has the mass ``|C| / n``. The distance is the least cost of moving the
    masses of one clustering to the other's. This is LiftEMD (Raman, Phillips, Venkatasubramanian 2011) as we understand
    it.

    It is a metric: symmetric, no more by way of a third clustering, and 0 only between equal partitions, with these
    limits. Rows of X that coincide have the same place, and clusters that differ in exchanged copies are the same. Soft
    clusters whose memberships are proportional have the same lift, so that splitting a cluster in proportion changes
    nothing. Distances come from squares: those below 1e-7 cannot be told from 0. With a function as kernel it is a
    metric if the kernel tells all distributions apart (is characteristic), as "rbf" and "laplacian" do; with
    ``Nystroem`` lifts that differ only outside the span of the chosen rows are the same.

    Parameters
    ----------
    X
        (n, d) data: array, sparse matrix or frame.
    labels_a, labels_b
        (n,) labels, or (n, k) memberships whose rows sum to 1. A point of noise (-1) is a cluster of its own.
    kernel
        "rbf", ``exp(-gamma |x - y|²)``; "laplacian", ``exp(-gamma |x - y|₁)``; a function k(X, Y) -> (n, m), positive
        and positive definite; or :class:`~allegiance.Kernel`, such as ``Kernel("rbf", gamma=0.5)``. By default gamma is
        1 / 2 s² for "rbf" and 1 / s for "laplacian", where s is the median distance between points (for "laplacian" the
        Manhattan one), of a fixed sample of 1,000 points if there are more. The exact kernel takes n² kernel values of
        time, in blocks, never n² of memory; with an approximation, as in ``Kernel("rbf", approximation=Fourier(500))``,
        time is linear in n.
    n_jobs
        Threads; None or -1 for all cores. The result does not depend on it.
    random_state
        Seed of the features. The default is a number, since distances compare only between the same features.

    Returns
    -------
    float
        From 0 to √2.

    See Also
    --------
    rand_distance : Counts pairs of points, and does not know where they are.

    Examples
    --------
    One point changes sides: the nearer it is to the others, the less it matters. To the Rand distance all are alike.

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
    pool = Pool.of(
        [check_memberships(labels_a, X.shape[0], "labels_a"), check_memberships(labels_b, X.shape[0], "labels_b")]
    )
    lifts = lift_clusters(X, pool.columns, lift_kernel(kernel, X), seed, threads)
    return transport_cost(lifts.distances()[np.ix_(*pool.numbers)], *pool.masses)
