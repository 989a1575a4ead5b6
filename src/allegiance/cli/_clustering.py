"""From the options to a clustering and its scorer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from ._console import shows_progress
from ._kinds import registry_of
from ._options import LIKE_KMEANS, ClusteringOptions, RunOptions, ScoringOptions

if TYPE_CHECKING:
    from allegiance import AffinityScorer


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
        from allegiance.io._old_tables import open_source

        # A file that is not there should be known before the data is read.
        open_source(options.centers)


def scale_matters(clustering: ClusteringOptions, scoring: ScoringOptions) -> bool:
    """Tell whether columns in large units count for more: not for given labels scored by "within"."""
    return clustering.labels is None or not scoring.influence.describe().startswith("within")


def settled(scoring: ScoringOptions, clustering: ClusteringOptions) -> ScoringOptions:
    """Return the options with an influence: by default "within", which needs labels, "euclidean" for centres alone."""
    if scoring.influence is not None:
        return scoring
    alone = clustering.centers is not None and clustering.labels is None
    influence = registry_of("influence").parse("euclidean" if alone else "within")
    # What was decided is part of what results say about themselves.
    click.get_current_context().params["influence"] = influence
    return replace(scoring, influence=influence)


def clusterer(algorithm: str, clusters: int | None, seed: int, min_cluster_size: int = 5) -> Any:
    """Return the clusterer of a name: see :func:`allegiance.clusterers.clusterer_by_name`, imported when needed."""
    from allegiance.clusterers import clusterer_by_name

    return clusterer_by_name(algorithm, clusters, seed, min_cluster_size)


def estimator_of(clustering: ClusteringOptions, run: RunOptions) -> Any:
    """Return the clusterer that makes the clustering; None if it is given."""
    if clustering.clusters is None and clustering.algorithm is None:
        return None
    algorithm = clustering.algorithm or "kmeans"
    return clusterer(algorithm, clustering.clusters, run.seed, clustering.min_cluster_size)


def reclusterer(
    clustering: ClusteringOptions, scoring: ScoringOptions, run: RunOptions, n_labels: int | None = None
) -> Any:
    """Return what clusters halves of the data anew; None for k-means in the space of the influence.

    Parameters
    ----------
    clustering, scoring, run
        What the user said.
    n_labels
        The number of clusters, if they are given by labels or centres.
    """
    algorithm = scoring.recluster or clustering.algorithm
    if algorithm is None or algorithm in LIKE_KMEANS:
        return None
    return clusterer(algorithm, clustering.clusters or n_labels, run.seed, clustering.min_cluster_size)


def scorer_of(
    scoring: ScoringOptions, run: RunOptions, *, estimator: Any = None, centers: Any = None, recluster: Any = None
) -> AffinityScorer:
    """Return the scorer, not yet fitted.

    Parameters
    ----------
    scoring, run
        What the user said.
    estimator
        What makes the clustering; None if it is given.
    centers
        (k, d) the centres given, or None.
    recluster
        What clusters halves of the data anew; None for k-means.
    """
    from allegiance import AffinityScorer, Calibration

    return AffinityScorer(
        estimator,
        centers=centers,
        calibration=None if scoring.no_calibration else Calibration(scoring.resamples, clusterer=recluster),
        n_jobs=run.n_jobs,
        random_state=run.seed,
        verbose=shows_progress(run),
        **scoring.params(),
    )
