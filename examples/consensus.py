"""Agree on one clustering among five unlucky runs of k-means, and say whether that was an improvement.

Run it with ``python examples/consensus.py``: sixteen groups of points, five runs of k-means from random starts that
each miss some of them, their consensus, its distance from the truth, and its validation by the points that turned
stable. Then the same question for a consensus that deserves no trust: the same labels, shuffled.

``python examples/consensus.py mnist`` asks the five default clusterings of the 10,000 MNIST test images, as the paper
does, and says what that costs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from allegiance import ConsensusClustering, Fourier, Kernel, validate_consensus
from allegiance.metrics import lift_emd, rand_distance

N_GROUPS = 16
N_RUNS = 5


def print_distances(X: np.ndarray, truth: np.ndarray, model: ConsensusClustering) -> None:
    """Print how far each clustering and the consensus are from the truth."""
    print("Distance from the truth:\n")
    print("clustering  LiftEMD   Rand")
    for name, labels in {**model.labelings_, "consensus": model.labels_}.items():
        print(f"{name:<10}  {lift_emd(X, labels, truth):>7.3f}  {rand_distance(labels, truth):.3f}")


def sixteen_groups() -> None:
    """Cluster five times, agree, compare, validate."""
    corners = [[8.0 * i, 8.0 * j] for i in range(4) for j in range(4)]
    X, truth = make_blobs(100 * N_GROUPS, centers=corners, cluster_std=1.3, random_state=0)
    runs = {f"run {i + 1}": KMeans(N_GROUPS, init="random", n_init=1, random_state=i) for i in range(N_RUNS)}

    model = ConsensusClustering(runs, n_clusters=N_GROUPS, random_state=0).fit(X)

    print_distances(X, truth, model)
    print("\nThe truth is not needed to validate the consensus:\n")
    print(validate_consensus(X, model.labelings_, model.labels_))

    shuffled = np.random.default_rng(0).permutation(model.labels_)
    print("\nThe verdict on a consensus whose labels are shuffled:\n")
    print(validate_consensus(X, model.labelings_, shuffled).verdict)


def timed(what: str, work: Callable[..., Any], *arguments: Any, **settings: Any) -> Any:
    """Do some work, and print the processor time that it took."""
    started = time.process_time()
    result = work(*arguments, **settings)
    print(f"{what:<45}{time.process_time() - started:>6.1f} s of processor time")
    return result


def mnist() -> None:
    """Agree on the clusters of handwritten digits, and say what it costs."""
    import resource

    from reproduction.datasets import load_mnist_test

    data = load_mnist_test()
    X, truth = data.data, data.target
    model = timed("five clusterings and their consensus", ConsensusClustering(n_clusters=10, random_state=0).fit, X)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{'peak memory of the process':<45}{peak:>6.1f} GB")
    again = ConsensusClustering(model.labelings_, n_clusters=10, random_state=0)
    timed("the consensus alone", again.fit, X)
    timed("LiftEMD", lift_emd, X, model.labels_, truth)
    features = Kernel("rbf", approximation=Fourier(500))
    timed("LiftEMD with 500 random Fourier features", lift_emd, X, model.labels_, truth, kernel=features)
    print()
    print_distances(X, truth, model)
    print(f"\n{validate_consensus(X, model.labelings_, model.labels_)}")


if __name__ == "__main__":
    mnist() if "mnist" in sys.argv[1:] else sixteen_groups()
