"""From the options to a clustering and its scorer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ._options import ClusteringOptions, RunOptions, ScoringOptions

if TYPE_CHECKING:
    from allegiance import AffinityScorer

#: Runs of k-means from different starts, of which the best is kept.
STARTS = 10


def check_clustering(options: ClusteringOptions) -> None:
    """Raise a usage error unless the options name one clustering."""
    clusters = options.clusters is not None or options.algorithm is not None
    if clusters and (options.labels or options.centers):
        raise click.UsageError("--clusters and --algorithm make a clustering: leave out --labels and --centers.")
    if not (clusters or options.labels or options.centers):
        raise click.UsageError(
            "no clustering to score: use --labels COLUMN, --centers FILE, or --clusters K to make one."
        )
    if options.algorithm != "hdbscan" and clusters and options.clusters is None:
        raise click.UsageError(f"--algorithm {options.algorithm} needs --clusters K.")
    if options.algorithm == "hdbscan" and options.clusters is not None:
        raise click.UsageError("hdbscan finds the number of clusters itself: use --min-cluster-size, not --clusters.")
    if options.centers:
        from allegiance.io.tables import open_source

        # A file that is not there should be known before the data is read.
        open_source(options.centers)


def clusterer(algorithm: str, clusters: int | None, seed: int, min_cluster_size: int = 5) -> Any:
    """Return the clusterer of a name.

    Parameters
    ----------
    algorithm
        One of ``ALGORITHMS``.
    clusters
        How many clusters; hdbscan needs none.
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
        return cluster.BisectingKMeans(clusters, n_init=STARTS, random_state=seed)
    kind = cluster.MiniBatchKMeans if algorithm == "minibatch" else cluster.KMeans
    return kind(clusters, n_init=STARTS, random_state=seed)


def scorer_of(
    clustering: ClusteringOptions, scoring: ScoringOptions, run: RunOptions, centers: Any, *, progress: bool
) -> AffinityScorer:
    """Return the scorer, not yet fitted.

    Parameters
    ----------
    clustering, scoring, run
        What the user said.
    centers
        (k, d) the centres given, or None.
    progress
        Show a progress line.
    """
    from allegiance import AffinityScorer

    estimator = None
    if clustering.clusters is not None or clustering.algorithm is not None:
        algorithm = clustering.algorithm or "kmeans"
        estimator = clusterer(algorithm, clustering.clusters, run.seed, clustering.min_cluster_size)
    return AffinityScorer(
        estimator, centers=centers, n_jobs=run.n_jobs, random_state=run.seed, verbose=progress, **scoring.params()
    )
