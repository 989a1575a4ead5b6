"""
What if a cluster appears late in a stream?
===========================================

Two blobs in the first three batches, three afterwards, and one point in the middle of all of them. Doubtful points wait
until it is clear where they belong; the one in the middle waits until the end.
"""

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
    """Say what the model holds."""
    where = "  ".join(f"({x:.2f}, {y:.2f})" for x, y in model.cluster_centers_)
    return f"{model.counts_.sum():>6}  {model.pending_.shape[0]:>7}  {model.n_births_:>6}  {where}"


model = IncrementalKMeans(3, random_state=0)
print("batch  rows  absorbed  waiting  births  centroids")
for number, batch in enumerate(batches, start=1):
    print(f"{number:>5}  {batch.shape[0]:>4}  {line(model.partial_fit(batch))}")
print(f"  end     -  {line(model.finalize())}")

# %%
# How much is lost against k-means on everything at once?
everything = np.vstack(batches)
whole = KMeans(3, n_init=10, random_state=0).fit(everything)
print(f"sum of squared distances: {-model.score(everything):.1f}, of k-means on all at once: {whole.inertia_:.1f}")
