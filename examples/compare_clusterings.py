"""
Which of several clusterings should I believe?
==============================================

Four clusterings of the same handwritten digits, one of them the true classes, ranked by replication above chance.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_digits
from sklearn.mixture import GaussianMixture

from allegiance import compare_clusterings

digits = load_digits()
comparison = compare_clusterings(
    digits.data,
    {
        "k-means": KMeans(10, n_init=10, random_state=0),
        "ward": AgglomerativeClustering(10),
        "mixture": GaussianMixture(10, covariance_type="spherical", random_state=0),
        "true digit": digits.target,
    },
)
print(comparison)

# %%
# All labels of each candidate, the least trusted first.
_, ax = plt.subplots()
for name, result in comparison.results.items():
    ax.plot(np.sort(result.trust), label=name)
ax.set(xlabel="labels, least trusted first", ylabel="trust", title="Trust in the labels of four clusterings")
ax.legend()

# %%
# Labels that replicate need not be the classes you have in mind. These points have no firm label under any of the
# clusterings:
rows = np.flatnonzero(comparison.never_firm)
print(f"rows {rows}")
