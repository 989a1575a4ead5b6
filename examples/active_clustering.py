"""Cluster 50,000 points by looking closely at 447: ``python examples/active_clustering.py``.

Prints, for several shares of stable points in the sample and for the one that cross-validation picks, how much larger
the inertia of all points is than that of k-means on all of them, mean over five seeds.
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from allegiance import ActiveKMeans

FRACTIONS = ("auto", 0.2, 0.4, 0.6, 0.8, 1.0)
SEEDS = range(5)


def main() -> None:
    """Print the table."""
    X, _ = make_blobs(50_000, centers=5, cluster_std=1.5, random_state=0)
    best = KMeans(5, n_init=5, random_state=0).fit(X).inertia_
    print("| stable_fraction | drawn stable | drawn unstable | stable, all points | inertia / k-means |")
    print("|---|---|---|---|---|")
    for fraction in FRACTIONS:
        models = [ActiveKMeans(5, stable_fraction=fraction, random_state=seed).fit(X) for seed in SEEDS]
        stable, unstable, share, excess = np.mean(
            [(m.n_stable_sampled_, m.n_unstable_sampled_, m.n_stable_ / X.shape[0], m.inertia_ / best) for m in models],
            axis=0,
        )
        print(f"| {fraction} | {stable:.0f} | {unstable:.0f} | {share:.0%} | {excess:.3f} |", flush=True)


if __name__ == "__main__":
    main()
