"""Measure what a consensus of the 10,000 MNIST test images costs: ``python benchmarks/consensus_cost.py``.

Five default clusterings and their consensus, as in the paper, LiftEMD exactly and with random features, distances from
the truth, and the validation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from _process_memory import peak
from allegiance import ConsensusClustering, Kernel, validate_consensus
from allegiance.metrics import lift_emd, rand_distance
from reproduction.datasets import load_mnist_test


def timed(what: str, work: Callable[..., Any], *arguments: Any, **settings: Any) -> Any:
    """Do some work, and print the processor time that it took."""
    started = time.process_time()
    result = work(*arguments, **settings)
    print(f"{what:<45}{time.process_time() - started:>6.1f} s of processor time")
    return result


def main() -> None:
    """Agree on the clusters of handwritten digits, and say what it costs."""
    data = load_mnist_test()
    X, truth = data.data, data.target
    model = timed("five clusterings and their consensus", ConsensusClustering(n_clusters=10, random_state=0).fit, X)
    print(f"{'peak memory of the process':<45}{peak() / 1e9:>6.1f} GB")
    again = ConsensusClustering(model.labelings_, n_clusters=10, random_state=0)
    timed("the consensus alone", again.fit, X)
    timed("LiftEMD", lift_emd, X, model.labels_, truth)
    features = Kernel("rbf", approximation="fourier")
    timed("LiftEMD with 500 random Fourier features", lift_emd, X, model.labels_, truth, kernel=features)
    print("\nDistance from the truth:\n\nclustering  LiftEMD   Rand")
    for name, labels in {**model.labelings_, "consensus": model.labels_}.items():
        print(f"{name:<10}  {lift_emd(X, labels, truth):>7.3f}  {rand_distance(labels, truth):.3f}")
    print(f"\n{validate_consensus(X, model.labelings_, model.labels_)}")


if __name__ == "__main__":
    main()
