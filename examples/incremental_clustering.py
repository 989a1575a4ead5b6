"""Cluster a stream whose third blob comes late: ``python examples/incremental_clustering.py``.

Prints, after every batch, how many points were absorbed into the clusters, how many wait, and where the centroids are.
One point lies in the middle of the three blobs and waits until the end. Half-way the model is saved and loaded again.
"""

from __future__ import annotations

import pickle

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from allegiance import IncrementalKMeans

CENTERS = [[0, 0], [10, 0], [5, 9]]


def late_blob() -> list[np.ndarray]:
    """Return six batches: two blobs only in the first three, the third blob afterwards."""
    early, _ = make_blobs(600, centers=CENTERS[:2], random_state=0)
    late, _ = make_blobs(600, centers=CENTERS, random_state=1)
    return [*np.split(early, 3), *np.split(late, 3)]


def main() -> None:
    """Feed the stream and print a line for every batch."""
    batches = late_blob()
    batches[4] = np.vstack([batches[4], [[5.0, 3.0]]])
    model = IncrementalKMeans(3, random_state=0)
    print("batch  rows  absorbed  waiting  births  centroids")
    for number, batch in enumerate(batches, start=1):
        model.partial_fit(batch)
        model = pickle.loads(pickle.dumps(model))
        print(f"{number:>5}  {batch.shape[0]:>4}  {line(model)}")
    print(f"  end     -  {line(model.finalize())}")
    everything = np.vstack(batches)
    whole = KMeans(3, n_init=10, random_state=0).fit(everything)
    print(
        f"\nsum of squared distances: {-model.score(everything):.1f}, of k-means on all at once: {whole.inertia_:.1f}"
    )


def line(model: IncrementalKMeans) -> str:
    """Say what the model holds."""
    where = "  ".join(f"({x:.2f}, {y:.2f})" for x, y in model.cluster_centers_)
    return f"{model.counts_.sum():>6}  {model.pending_.shape[0]:>7}  {model.n_births_:>6}  {where}"


if __name__ == "__main__":
    main()
