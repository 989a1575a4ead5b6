"""The kernel in whose feature space clusters are lifted, with a bandwidth from the data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances

from allegiance._core import FloatArray, Rows, check_choice, dense, is_sparse, stream
from allegiance.influence import Kernel

#: The kernels that lift clusters, and the distance their bandwidth is measured in.
LIFTING_KERNELS = {"rbf": "euclidean", "laplacian": "manhattan"}
#: Rows among which the median distance is taken.
_SAMPLE = 1000


def lift_kernel(kernel: Any, X: Rows) -> Kernel:
    """Return the kernel that a user means, with a bandwidth chosen by the rows of X (n, d) if none is given.

    Parameters
    ----------
    kernel
        "rbf", "laplacian", a function k(X, Y) -> (n, m), or a :class:`Kernel` of these. Only such kernels tell any two
        clusters apart. Without ``gamma`` the bandwidth s is the median distance between rows: exp(-|x - y|² / 2 s²)
        for "rbf", exp(-|x - y|₁ / s) for "laplacian".
    X
        (n, d) dense or CSR.
    """
    resolved = Kernel.resolve(kernel)
    if callable(resolved.name):
        return resolved
    check_choice(resolved.name, "kernel", (*LIFTING_KERNELS, "a function k(X, Y)"))
    if resolved.gamma is not None:
        return resolved
    bandwidth = median_distance(X, LIFTING_KERNELS[resolved.name])
    with np.errstate(divide="ignore", over="ignore"):
        gamma = float(0.5 / np.square(bandwidth)) if resolved.name == "rbf" else 1.0 / bandwidth
    if not 0 < gamma < np.inf:
        raise ValueError("X is out of the range of a kernel: scale it.")
    return replace(resolved, gamma=gamma)


def median_distance(X: Rows, metric: str) -> float:
    """Return the median distance between rows of X (n, d), of a sample of 1,000 if there are more.

    The sample is always the same for as many rows, so that distances between clusterings of the same data are measured
    alike. Where most rows coincide, the median of the positive distances; 1 if there are none.
    """
    rows = X
    if X.shape[0] > _SAMPLE:
        rows = X[np.sort(stream(0, *b"median distance").permutation(X.shape[0])[:_SAMPLE])]
    with np.errstate(over="ignore", invalid="ignore"):
        if is_sparse(rows):  # with the 32-bit indices that scikit-learn's Manhattan distance asks for
            parts = (rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32))
            rows = sp.csr_array(parts, shape=rows.shape)
        else:
            rows = dense(rows)
            rows = rows - rows.mean(axis=0)  # a common offset would cost digits
        distances: FloatArray = pairwise_distances(rows, metric=metric)[np.triu_indices(rows.shape[0], 1)]
    if not np.isfinite(distances).all():
        raise ValueError("X is too large for a kernel: scale it down.")
    positive = distances[distances > 0]
    if positive.size == 0:
        return 1.0
    return float(np.median(distances)) or float(np.median(positive))
