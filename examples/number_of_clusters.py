"""
How many clusters?
==================

For each number of clusters, subsamples of the data are clustered, and the points that were left out say whether their
label comes back. The same is asked of data without clusters, so that "none" is an answer too.
"""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from allegiance import stability_curve

wine = StandardScaler().fit_transform(load_wine().data)
curve = stability_curve(wine, KMeans(n_init=10))
print(curve)

# %%
# Three clusters come back far better than those of data without clusters; more do worse.
curve.plot()

# %%
# One round cloud has no clusters. About one such set in forty gets a suggestion all the same
# (``python benchmarks/number_of_clusters.py``).
cloud = np.random.default_rng(0).normal(size=(500, 3))
print(stability_curve(cloud, KMeans(n_init=10)).verdict)
