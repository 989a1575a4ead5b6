"""The clusterings that are judged: k-means, Gaussian mixture and Ward's linkage, as scikit-learn ships them.

Every clusterer gives a function that labels any rows, so that a clustering of some rows can speak about all of them:
k-means and the mixture by their own ``predict``, the linkage by the nearest mean.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.mixture import GaussianMixture

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]


class Clustering(NamedTuple):
    """Labels of the rows it was made of, and a way to label others."""

    labels: Ints
    """(n,) consecutive, from 0."""
    predict: Callable[[Floats], Ints]
    model: object
    """The fitted estimator."""


def k_means(X: Floats, k: int, seed: int) -> Clustering:
    model = KMeans(k, random_state=seed).fit(X)
    return _consecutive(model.labels_, model.predict, model)


def gaussian_mixture(X: Floats, k: int, seed: int) -> Clustering:
    model = GaussianMixture(k, random_state=seed).fit(X)
    return _consecutive(model.predict(X), model.predict, model)


def ward(X: Floats, k: int, seed: int) -> Clustering:
    """Cluster by Ward's linkage, which needs no seed."""
    model = AgglomerativeClustering(k).fit(X)
    means = cluster_means(X, model.labels_)
    return _consecutive(model.labels_, lambda rows: cdist(rows, means).argmin(axis=1), model)


CLUSTERERS = {"k-means": k_means, "mixture": gaussian_mixture, "ward": ward}


def cluster_means(X: Floats, labels: Ints) -> Floats:
    """Return the mean of every cluster, (k, d)."""
    return np.stack([X[labels == i].mean(axis=0) for i in range(int(labels.max()) + 1)])


def _consecutive(labels: Ints, predict: Callable[[Floats], Ints], model: object) -> Clustering:
    """Renumber the labels if a cluster has remained empty, as may happen to a mixture; -1 for a label nobody had."""
    names = np.unique(labels)
    table = np.full(int(names.max()) + 1, -1, dtype=np.intp)
    table[names] = np.arange(names.size)

    def relabeled(rows: Floats) -> Ints:
        codes = np.asarray(predict(rows), dtype=np.intp)
        known = codes < table.size
        return np.where(known, table[np.where(known, codes, 0)], -1)

    return Clustering(table[labels], relabeled, model)
