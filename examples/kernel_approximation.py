"""
How many components does an approximate kernel need?
====================================================

Affinities in the feature space of a kernel are exact. For many points, you can approximate the kernel. This example
shows how fast the affinities approach the exact ones: largest and mean absolute error, averaged over five draws.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs
from sklearn.kernel_approximation import Nystroem, RBFSampler

from allegiance import affinity
from allegiance.influence import Kernel

X, labels = make_blobs(4000, n_features=5, centers=3, cluster_std=3.0, random_state=0)
gamma = 1 / X.var(axis=0).sum()
exact = affinity(X, labels, influence=Kernel("rbf", gamma=gamma)).affinity

print("| components | fourier, largest | mean | nystroem, largest | mean |")
print("|---|---|---|---|---|")
sizes = (50, 200, 800)
table = np.empty((len(sizes), 4))
for row, n_components in zip(table, sizes, strict=True):
    for column, approximation in enumerate((RBFSampler, Nystroem)):
        kernel = Kernel("rbf", approximation=approximation(gamma=gamma, n_components=n_components))
        draws = [affinity(X, labels, influence=kernel, random_state=seed).affinity for seed in range(5)]
        errors = np.abs(np.array(draws) - exact)
        row[2 * column : 2 * column + 2] = errors.max(axis=(1, 2)).mean(), errors.mean()
    print(f"| {n_components} | " + " | ".join(f"{error:.2g}" for error in row) + " |")

# %%
# Nystroem chooses its components among the points; Fourier does not.
_, ax = plt.subplots()
names = ("Fourier, largest", "Fourier, mean", "Nystroem, largest", "Nystroem, mean")
for name, errors, style in zip(names, table.T, ("C0o-", "C0o:", "C1s-", "C1s:"), strict=True):
    ax.loglog(sizes, errors, style, label=name)
ax.set(xlabel="components", ylabel="error of the affinities", title="Approximate kernels compared with the exact one")
ax.minorticks_off()
ax.set_xticks(sizes, labels=[str(size) for size in sizes])
ax.legend()
