"""The kernel in whose feature space clusters are lifted, with a bandwidth from the data."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances

from allegiance._core import FloatArray, Rows, check_choice, check_number, dense, is_sparse, stream
from allegiance.influence import Kernel

#: The kernels with a bandwidth, and the distance it is measured in.
BANDWIDTH_KERNELS = {"rbf": "euclidean", "laplacian": "manhattan"}
#: Rows among which the median distance is taken.
_SAMPLE = 1000


class LiftKernel(NamedTuple):
    """A kernel and its bandwidth; None for a function, which has its own."""

    kernel: Kernel
    bandwidth: float | None

    @classmethod
    def of(cls, kernel: Any, bandwidth: float | None, X: Rows) -> LiftKernel:
        """Check a kernel and its bandwidth, by default the median distance between rows of X (n, d).

        Parameters
        ----------
        kernel
            "rbf", exp(-|x - y|² / 2 s²); "laplacian", exp(-|x - y|₁ / s); or a function k(X, Y) -> (n, m).
        bandwidth
            The s of these, or None for the median distance.
        X
            (n, d) dense or CSR.
        """
        if callable(kernel):
            if bandwidth is not None:
                raise ValueError("bandwidth belongs to kernel='rbf' and 'laplacian': a function brings its own.")
            return cls(Kernel.of(kernel, None, X), None)
        if kernel not in BANDWIDTH_KERNELS:
            check_choice(kernel, "kernel", (*BANDWIDTH_KERNELS, "a function k(X, Y)"))
        if bandwidth is None:
            bandwidth = median_distance(X, BANDWIDTH_KERNELS[kernel])
        else:
            bandwidth = check_number(bandwidth, "bandwidth", low=0.0)
        with np.errstate(divide="ignore", over="ignore"):
            gamma = float(0.5 / np.square(bandwidth)) if kernel == "rbf" else 1.0 / bandwidth
        if not 0 < gamma < np.inf:
            raise ValueError(f"X, or bandwidth={bandwidth:g}, is out of the range of a kernel: scale the data.")
        return cls(Kernel.of(kernel, {"gamma": gamma}, X), bandwidth)


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
