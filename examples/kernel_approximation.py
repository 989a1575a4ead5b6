"""Show how fast approximate kernel maps approach the exact kernel: ``python examples/kernel_approximation.py``.

Prints the largest and the mean absolute error of the affinities, averaged over draws, by the number of components.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_blobs

from allegiance import Fourier, Kernel, Nystroem, affinity

COMPONENTS = (50, 200, 800)
SEEDS = range(5)


def main() -> None:
    """Print the table."""
    X, labels = make_blobs(4000, n_features=5, centers=3, cluster_std=3.0, random_state=0)
    exact = affinity(X, labels, influence="rbf").affinity
    print("| components | fourier, largest | mean | nystroem, largest | mean |")
    print("|---|---|---|---|---|")
    for n_components in COMPONENTS:
        cells = []
        for approximation in (Fourier(n_components), Nystroem(n_components)):
            kernel = Kernel("rbf", approximation=approximation)
            errors = [np.abs(affinity(X, labels, influence=kernel, random_state=s).affinity - exact) for s in SEEDS]
            cells += [f"{np.mean([e.max() for e in errors]):.2g}", f"{np.mean(errors):.2g}"]
        print(f"| {n_components} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
