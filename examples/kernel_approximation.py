"""
How many components does an approximate kernel need?
====================================================

Affinities in the feature space of a kernel are exact. For many points the kernel can be approximated; here is how fast
the affinities approach the exact ones: largest and mean absolute error, averaged over five draws.
"""

import numpy as np
from sklearn.datasets import make_blobs

from allegiance import Fourier, Kernel, Nystroem, affinity

X, labels = make_blobs(4000, n_features=5, centers=3, cluster_std=3.0, random_state=0)
exact = affinity(X, labels, influence="rbf").affinity

print("| components | fourier, largest | mean | nystroem, largest | mean |")
print("|---|---|---|---|---|")
for n_components in (50, 200, 800):
    cells = []
    for approximation in (Fourier(n_components), Nystroem(n_components)):
        kernel = Kernel("rbf", approximation=approximation)
        draws = [affinity(X, labels, influence=kernel, random_state=seed).affinity for seed in range(5)]
        errors = [np.abs(draw - exact) for draw in draws]
        cells += [f"{np.mean([error.max() for error in errors]):.2g}", f"{np.mean(errors):.2g}"]
    print(f"| {n_components} | " + " | ".join(cells) + " |")
