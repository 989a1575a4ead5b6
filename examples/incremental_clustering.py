"""
What if a cluster appears late in a stream?
===========================================

The first three batches have two blobs, later batches have three, and one point lies between all of them. Doubtful
points wait until it is clear where they belong; the point in the middle waits until the end.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from allegiance import IncrementalKMeans

centers = [[0, 0], [10, 0], [5, 9]]
early, _ = make_blobs(600, centers=centers[:2], random_state=0)
late, _ = make_blobs(600, centers=centers, random_state=1)
batches = [*np.split(early, 3), *np.split(late, 3)]
batches[4] = np.vstack([batches[4], [[5.0, 3.0]]])


def line(model: IncrementalKMeans) -> str:
    """Return a line that describes the model."""
    where = "  ".join(f"({x:.2f}, {y:.2f})" for x, y in model.cluster_centers_)
    return f"{model.counts_.sum():>6}  {model.pending_.shape[0]:>7}  {model.n_births_:>6}  {where}"


model = IncrementalKMeans(3, random_state=0)
print("batch  rows  absorbed  waiting  births  centroids")
for number, batch in enumerate(batches, start=1):
    print(f"{number:>5}  {batch.shape[0]:>4}  {line(model.partial_fit(batch))}")
print(f"  end     -  {line(model.finalize())}")

# %%
# The third blob appears in the fourth batch and gets its centroid immediately.
figure, axes = plt.subplots(1, 2, figsize=(8, 4.5), layout="constrained", sharex=True, sharey=True)
for ax, part, title in zip(axes, (batches[:3], batches[3:]), ("batches 1 to 3", "batches 4 to 6"), strict=True):
    ax.scatter(*np.vstack(part).T, s=6, label="rows")
    ax.set(title=title, aspect="equal")
axes[1].scatter(*model.cluster_centers_.T, marker="X", s=90, c="C3", edgecolors="white", label="centroids at the end")
axes[1].scatter(5, 3, marker="o", s=60, c="C1", edgecolors="black", label="the point that waits")
figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=3)

# %%
# How much worse is the result than k-means on all rows at once?
everything = np.vstack(batches)
whole = KMeans(3, n_init=10, random_state=0).fit(everything)
print(
    f"sum of squared distances: {-model.score(everything):.1f}, of k-means on all points at once: {whole.inertia_:.1f}"
)
