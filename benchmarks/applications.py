"""Active and incremental k-means beside what scikit-learn offers for the same job: time, memory, agreement with truth.

``ActiveKMeans`` against ``KMeans`` (one start, its default), ``MiniBatchKMeans`` and ``KMeans`` on a uniform sample of
the same size; ``IncrementalKMeans`` against ``MiniBatchKMeans`` and ``Birch`` on the same stream, cut into the same
batches. On the MNIST test set with its digits, and on overlapping blobs with their origins. Every run has a seed of its
own. Agreement is the adjusted Rand index, mean over the runs. Memory is the peak of what Python and NumPy allocate
beyond the data during one run; what C code allocates by itself is not seen. Birch needs a threshold: it gets 0.9 times
the root mean square distance of the points from the means of the true classes, which a user would not know. A ratio
above 1 says how many times better we are, below 1 how much worse.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.cluster import Birch, KMeans, MiniBatchKMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from _mnist import K, N, mnist_job
from _report import Row, faster_row
from _side_by_side import side_by_side
from allegiance import ActiveKMeans, IncrementalKMeans

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.integer]


class Data(NamedTuple):
    """Points of which the classes are known."""

    name: str
    X: Floats
    truth: Labels
    k: int
    batch: int


@dataclass
class Candidate:
    """One way to cluster, and how well it did in each of its runs."""

    name: str
    cluster: Callable[[int], Labels]
    truth: Labels
    agreement: list[float] = field(default_factory=list)
    peak: int = 0

    def run(self) -> None:
        """Cluster with the next seed."""
        labels = self.cluster(len(self.agreement))
        self.agreement.append(float(adjusted_rand_score(self.truth, labels)))

    def trace(self) -> None:
        """Cluster once more, and note the peak of memory."""
        tracemalloc.start()
        self.cluster(0)
        self.peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()


def run(quick: bool) -> list[Row]:
    """Measure both jobs on both data sets."""
    turns = 1 if quick else 2
    rows: list[Row] = []
    for data in _data_sets(quick):
        rows += _compare("active", data, _active(data), turns)
        rows += _compare(f"incremental, batches of {data.batch}", data, _incremental(data), turns)
    return rows


def _data_sets(quick: bool) -> Iterator[Data]:
    images = mnist_job()
    rows = np.random.default_rng(0).permutation(N)[: 2000 if quick else N]
    yield Data(f"{images.source}, {rows.size:,} x 784, k = {K}", images.X[rows], images.truth[rows], K, 500)
    n = 5000 if quick else 20_000
    X, truth = make_blobs(n, 10, centers=20, cluster_std=3.0, random_state=0)
    yield Data(f"blobs, {n:,} x 10, k = 20", X, truth, 20, 1000)


def _active(data: Data) -> list[Candidate]:
    X, k = data.X, data.k

    def uniform_sample(seed: int) -> Labels:
        size = round(2 * np.sqrt(X.shape[0]))
        chosen = np.random.default_rng(seed).choice(X.shape[0], size, replace=False)
        return KMeans(k, n_init=10, random_state=seed).fit(X[chosen]).predict(X)

    return [
        Candidate("ActiveKMeans", lambda seed: ActiveKMeans(k, random_state=seed).fit(X).labels_, data.truth),
        Candidate("KMeans", lambda seed: KMeans(k, n_init=1, random_state=seed).fit(X).labels_, data.truth),
        Candidate("MiniBatchKMeans", lambda seed: MiniBatchKMeans(k, random_state=seed).fit(X).labels_, data.truth),
        Candidate("KMeans on a uniform sample", uniform_sample, data.truth),
    ]


def _incremental(data: Data) -> list[Candidate]:
    X, k = data.X, data.k
    batches = [X[start : start + data.batch] for start in range(0, X.shape[0], data.batch)]
    means = np.stack([X[data.truth == label].mean(axis=0) for label in np.unique(data.truth)])
    spread = float(np.sqrt(((X - means[data.truth]) ** 2).sum(axis=1).mean()))

    def ours(seed: int) -> Labels:
        model = IncrementalKMeans(k, random_state=seed)
        for batch in batches:
            model.partial_fit(batch)
        return model.finalize().predict(X)

    def mini_batch(seed: int) -> Labels:
        model = MiniBatchKMeans(k, random_state=seed)
        for batch in batches:
            model.partial_fit(batch)
        return model.predict(X)

    def birch(_seed: int) -> Labels:
        model = Birch(threshold=0.9 * spread, n_clusters=None)
        for batch in batches:
            model.partial_fit(batch)
        return model.set_params(n_clusters=k).partial_fit().predict(X)

    return [
        Candidate("IncrementalKMeans", ours, data.truth),
        Candidate("MiniBatchKMeans", mini_batch, data.truth),
        Candidate("Birch", birch, data.truth),
    ]


def _compare(job: str, data: Data, candidates: list[Candidate], turns: int) -> list[Row]:
    times = side_by_side({candidate.name: candidate.run for candidate in candidates}, turns)
    for candidate in candidates:
        candidate.trace()
    mine, *peers = candidates
    what = f"{job}, {data.name}"
    ours = float(np.mean(mine.agreement))
    rows = []
    for peer in peers:
        theirs = float(np.mean(peer.agreement))
        rows += [
            faster_row(f"{what}: time", times[mine.name].best, peer.name, times[peer.name].best),
            Row(f"{what}: peak memory", mine.peak, "B", peer.name, peer.peak, peer.peak / mine.peak),
            Row(f"{what}: adjusted Rand", ours, "", peer.name, theirs, ours / theirs, details=_details(mine, peer)),
        ]
    return rows


def _details(mine: Candidate, peer: Candidate) -> dict[str, list[float]]:
    return {"ours": mine.agreement, "theirs": peer.agreement}
