"""Clusterers by the names that commands and pages offer."""

from __future__ import annotations

from typing import Any

#: Algorithms that k-means stands in for when halves of the data are clustered anew.
LIKE_KMEANS = ("kmeans", "minibatch", "bisecting")
ALGORITHMS = (*LIKE_KMEANS, "agglomerative", "gmm", "birch", "spectral", "hdbscan")
#: Runs of k-means from different starts, of which the best is kept.
_STARTS = 10


def clusterer_by_name(algorithm: str, clusters: int | None, seed: int, min_cluster_size: int = 5) -> Any:
    """Return the clusterer of a name.

    Parameters
    ----------
    algorithm
        One of ``ALGORITHMS``.
    clusters
        How many clusters; hdbscan finds that out.
    seed
        For those that are random.
    min_cluster_size
        For hdbscan.
    """
    from sklearn import cluster, mixture

    if algorithm == "gmm":
        return mixture.GaussianMixture(clusters, random_state=seed)
    if algorithm == "hdbscan":
        return cluster.HDBSCAN(min_cluster_size=min_cluster_size, copy=True)
    if algorithm == "agglomerative":
        return cluster.AgglomerativeClustering(clusters)
    if algorithm == "birch":
        return cluster.Birch(n_clusters=clusters)
    if algorithm == "spectral":
        return cluster.SpectralClustering(clusters, affinity="nearest_neighbors", random_state=seed)
    if algorithm == "bisecting":
        return cluster.BisectingKMeans(clusters, n_init=_STARTS, random_state=seed)
    kind = cluster.MiniBatchKMeans if algorithm == "minibatch" else cluster.KMeans
    return kind(clusters, n_init=_STARTS, random_state=seed)
