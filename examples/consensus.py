"""
Can several clusterings agree on a better one?
==============================================

Sixteen groups of points, five unlucky runs of k-means that each miss some of them, and their consensus.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from allegiance import ConsensusClustering, validate_consensus
from allegiance.metrics import lift_emd, rand_distance

corners = [[8.0 * i, 8.0 * j] for i in range(4) for j in range(4)]
X, truth = make_blobs(1600, centers=corners, cluster_std=1.3, random_state=0)
runs = {f"run {i + 1}": KMeans(16, init="random", n_init=1, random_state=i) for i in range(5)}
model = ConsensusClustering(runs, n_clusters=16, random_state=0).fit(X)

print("Distance from the truth:\n")
print("clustering  LiftEMD   Rand")
for name, labels in {**model.labelings_, "consensus": model.labels_}.items():
    print(f"{name:<10}  {lift_emd(X, labels, truth):>7.3f}  {rand_distance(labels, truth):.3f}")

# %%
# One run that missed some groups, and the consensus. Colors only separate neighboring clusters.
_, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained", sharey=True)
for ax, name, labels in zip(axes, ("run 1", "consensus"), (model.labelings_["run 1"], model.labels_), strict=True):
    ax.scatter(*X.T, c=labels, cmap="tab20", s=4)
    ax.set(title=name, aspect="equal")

# %%
# Validating the consensus does not need the truth: it compares how well the labels replicate.
print(validate_consensus(X, model.labelings_, model.labels_))

# %%
# Shuffled labels replicate no better than chance.
shuffled = np.random.default_rng(0).permutation(model.labels_)
print(validate_consensus(X, model.labelings_, shuffled).verdict)
