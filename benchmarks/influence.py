"""What other kinds of influence cost beside Euclidean distance, and beside one kernel matrix.

"kl" on 10,000 x 1,000 with k = 10, and an exact rbf kernel on 10,000 x 784 with k = 10, both with labels given. The
peers are the Euclidean job on the same data, and for the kernel scikit-learn's full kernel matrix of the data, computed
in row blocks so that it fits in memory. A ratio below 1 says how much slower we are than the peer.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from _report import Row, faster_row
from _side_by_side import side_by_side
from allegiance import affinity

K = 10


def run(quick: bool) -> list[Row]:
    """Measure both jobs."""
    n, turns = (2000, 1) if quick else (10_000, 3)
    rng = np.random.default_rng(0)
    labels = np.arange(n) % K
    rates = rng.gamma(2.0, 1.0, (K, 1000))
    counts = rng.poisson(rates[labels]) + 0.5
    pixels = rng.normal(size=(K, 784))[labels] + rng.normal(size=(n, 784))
    gamma = 1.0 / pixels.var(axis=0).sum()

    def full_kernel() -> None:
        for start in range(0, n, 1000):
            rbf_kernel(pixels[start : start + 1000], pixels, gamma=gamma)

    times = side_by_side(
        {
            "kl": lambda: affinity(counts, labels, influence="kl", random_state=0),
            "euclidean on counts": lambda: affinity(counts, labels, random_state=0),
            "rbf": lambda: affinity(pixels, labels, influence="rbf", random_state=0),
            "euclidean on pixels": lambda: affinity(pixels, labels, random_state=0),
            "kernel matrix": full_kernel,
        },
        turns,
    )
    best = {name: found.best for name, found in times.items()}
    rbf = f"rbf kernel, {n:,} x 784, k = {K}"
    return [
        faster_row(f"kl, {n:,} x 1,000, k = {K}", best["kl"], "euclidean", best["euclidean on counts"]),
        faster_row(rbf, best["rbf"], "euclidean", best["euclidean on pixels"]),
        faster_row(rbf, best["rbf"], "full kernel matrix", best["kernel matrix"]),
    ]
