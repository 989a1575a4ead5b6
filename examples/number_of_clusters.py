"""
How many clusters?
==================

For each number of clusters, we re-cluster subsamples and check whether the points that were left out keep their label.
The same is done with unclustered data, so that "none" is a possible answer.
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
# Three clusters replicate far better than in unclustered data; larger numbers do not.
curve.plot()

# %%
# One round cloud has no clusters, so no number stands out.
cloud = np.random.default_rng(0).normal(size=(500, 3))
print(stability_curve(cloud, KMeans(n_init=10)).recommendation)
