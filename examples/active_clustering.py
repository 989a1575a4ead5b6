"""
Can 447 points represent 50,000?
================================

:class:`~allegiance.ActiveKMeans` clusters a small sample of stable and unstable points. We compare its inertia on all
points with that of k-means on all points: means over five seeds, for several shares of stable points in the sample.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from allegiance import ActiveKMeans

X, _ = make_blobs(50_000, centers=5, cluster_std=1.5, random_state=0)
best = KMeans(5, n_init=5, random_state=0).fit(X).inertia_

print("| stable_fraction | stable in the sample | unstable in the sample | stable in the data | inertia / k-means |")
print("|---|---|---|---|---|")
excess_by_share = {}
for fraction in (None, 0.2, 0.4, 0.6, 0.8, 1.0):
    models = [ActiveKMeans(5, stable_fraction=fraction, random_state=seed).fit(X) for seed in range(5)]
    stable, unstable, share, excess = np.mean(
        [(m.n_stable_sampled_, m.n_unstable_sampled_, m.n_stable_ / len(X), m.inertia_ / best) for m in models], axis=0
    )
    print(f"| {fraction} | {stable:.0f} | {unstable:.0f} | {share:.0%} | {excess:.3f} |")
    excess_by_share[fraction] = excess

# %%
# The best sample represents the data, which is the default.
proportional = excess_by_share.pop(None)
_, ax = plt.subplots()
ax.plot(list(excess_by_share), list(excess_by_share.values()), "o-", label="a fixed share")
ax.axhline(proportional, ls="--", color="C1", label="None: as in the data")
ax.axvline(share, ls=":", color="gray", label="share of stable points in the data")
ax.set(xlabel="share of stable points in the sample", ylabel="inertia / inertia of k-means on all points")
ax.set_title("447 points for 50,000")
ax.legend()
