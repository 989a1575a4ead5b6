"""The clustering that is scored: check its options, make its clusterer and scorer, and score points in memory."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ._inputs import Points, check_file, is_cells
from ._messages import Log
from ._options import LIKE_KMEANS, WITHOUT_K, Trust
from ._program import Run

if TYPE_CHECKING:
    from allegiance import AffinityScorer
    from allegiance._core.validation import FloatArray
    from allegiance.io import FeaturePlan
    from allegiance.results import AffinityResult

#: Options that a saved model fixes.
_FIXED = (
    "features", "drop", "one_hot", "impute", "raw", "centers", "clusters", "algorithm", "clusterer", "influence",
    "groups", "save",
)  # fmt: skip


def check_clustering(run: Run) -> None:
    """Raise a usage error unless the options name one clustering, or only a model."""
    trust, labels = run.trust, run.features.labels
    if trust.model is not None:
        check_file(trust.model, is_model=True)
        context = click.get_current_context()
        for name in _FIXED:
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                option = f"--{name.replace('_', '-')}"
                raise click.UsageError(f"{option} cannot be used with --model: {trust.model} already fixes it.")
        if trust.resamples:
            raise click.UsageError(
                f"--resamples {trust.resamples} cannot be used with --model: trust was fitted with it. --resamples 0 "
                "skips trust."
            )
        return
    makes = trust.clusters is not None or ((trust.algorithm or trust.clusterer) and not labels)
    if trust.clusters is not None and (labels or trust.centers):
        raise click.UsageError("--clusters computes new labels: leave it out, or leave out --labels and --centers.")
    if trust.algorithm and trust.clusterer:
        raise click.UsageError("--algorithm and --clusterer both name a clusterer: leave one out.")
    if not (makes or labels or trust.centers):
        raise click.UsageError(
            "no clustering to score: pass --clusters K to make one, --labels COLUMN, or --model FILE."
        )
    if makes and not trust.clusterer and trust.algorithm not in WITHOUT_K and trust.clusters is None:
        raise click.UsageError(f"--algorithm {trust.algorithm} needs --clusters K.")
    if trust.centers:
        check_file(trust.centers)
    if trust.algorithm in WITHOUT_K and trust.clusters is not None:
        raise click.UsageError(f"{trust.algorithm} chooses the number of clusters itself: leave out --clusters.")


def make_clusterer(algorithm: str, clusters: int | None, seed: int) -> Any:
    """Return the clusterer of ``--algorithm`` and ``--clusters``."""
    from sklearn import cluster, mixture

    from allegiance.clusterers import Leiden

    restarts = {"n_init": 10, "random_state": seed}
    make: dict[str, Callable[[], Any]] = {
        "kmeans": lambda: cluster.KMeans(clusters, **restarts),
        "minibatch": lambda: cluster.MiniBatchKMeans(clusters, **restarts),
        "bisecting": lambda: cluster.BisectingKMeans(clusters, **restarts),
        "agglomerative": lambda: cluster.AgglomerativeClustering(clusters),
        "gmm": lambda: mixture.GaussianMixture(clusters, random_state=seed),
        "birch": lambda: cluster.Birch(n_clusters=clusters),
        "spectral": lambda: cluster.SpectralClustering(clusters, affinity="nearest_neighbors", random_state=seed),
        "hdbscan": lambda: cluster.HDBSCAN(copy=True),
        "leiden": lambda: Leiden(random_state=seed),
    }
    return make[algorithm]()


def import_clusterer(name: str) -> Any:
    """Return the clusterer of ``--clusterer package.module:name``: an estimator, its class, or a function."""
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise click.UsageError(f"--clusterer {name} is not of the form package.module:name.")
    sys.path.insert(0, "")
    try:
        value = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise click.UsageError(f"--clusterer {name} cannot be imported: {error}") from error
    finally:
        sys.path.remove("")
    return value() if isinstance(value, type) else value


def make_scorer(
    trust: Trust, log: Log, *, estimator: Any = None, centers: Any = None, labeled: bool = False, **settings: Any
) -> AffinityScorer:
    """Return an unfitted scorer with the options for clustering and trust; ``settings`` are for the calibration."""
    from allegiance import AffinityScorer, Calibration

    precision: dict[str, Any] = {} if trust.eps is None else {"eps": trust.eps}
    return AffinityScorer(
        estimator,
        centers=centers,
        # "within" needs labels.
        influence=trust.influence or ("euclidean" if centers is not None and not labeled else "within"),
        calibration=None if trust.resamples == 0 else Calibration(trust.resamples, **settings),
        n_jobs=trust.n_jobs,
        random_state=trust.seed,
        verbose=log.progress,
        **precision,
    )


def _scorer_for(run: Run, plan: FeaturePlan, points: Points) -> AffinityScorer:
    """Return an unfitted scorer with the clustering of the options, for points in memory."""
    trust, labels, groups = run.trust, points.labels, run.features.groups
    centers = load_centers(trust.centers, plan) if trust.centers else None
    makes = labels is None and centers is None
    own = import_clusterer(trust.clusterer) if trust.clusterer else None
    if own is None and trust.algorithm is None and run.features.labels and is_cells(run.data):
        from allegiance.anndata import recorded_clusterer
        from allegiance.io.formats import read_h5ad

        own = recorded_clusterer(read_h5ad(run.data[0], backed="r"), run.features.labels)
    estimator = None
    if makes:
        estimator = own if own is not None else make_clusterer(trust.algorithm or "kmeans", trust.clusters, trust.seed)
    reclusterer = None if makes else own
    if trust.algorithm is not None and trust.algorithm not in LIKE_KMEANS:
        n_labels = None
        if labels is not None:
            from allegiance.fitting import Labels

            n_labels = Labels.of(labels, len(labels)).classes.size
        reclusterer = make_clusterer(trust.algorithm, trust.clusters or n_labels, trust.seed)
    settings: dict[str, Any] = {} if reclusterer is None else {"clusterer": reclusterer}
    if groups is not None:
        settings["groups"] = points.columns.column(groups).to_numpy(zero_copy_only=False)
    labeled = labels is not None
    return make_scorer(trust, run.log, estimator=estimator, centers=centers, labeled=labeled, **settings)


def score_points(
    run: Run, points: Points, plan: FeaturePlan, scorer: AffinityScorer | None
) -> tuple[AffinityResult, AffinityScorer]:
    """Score points with a model, or fit the clustering of the options to them."""
    if scorer is None:
        scorer = _scorer_for(run, plan, points)
        run.log.step(f"fitting clusters and trust to {len(points.X):,} rows in memory, and scoring them")
        return scorer.fit_affinity(points.X, points.labels), scorer
    run.log.step(f"scoring {len(points.X):,} rows in memory with {run.trust.model}")
    run.log.note(*plan.describe_gaps(points.gaps))
    result = scorer.fitted_.score(points.X, labels=points.labels)
    scorer.fitted_.warn_if_imprecise(result._count_imprecise(), len(result))
    return result, scorer


def load_centers(path: str, plan: FeaturePlan) -> FloatArray:
    """Return the cluster centers of ``--centers`` as prepared features.

    Columns are matched by name; arrays have one column per feature.
    """
    import numpy as np

    from allegiance.io import TableError, open_table
    from allegiance.io.plan import Gaps
    from allegiance.io.values import join_counts

    table = open_table(path)
    if table.has_names:
        gaps = Gaps()
        centers, _ = plan.prepare(table.read(table.check_columns(plan.used), typed=False), gaps)
        if gaps.missing:
            raise TableError(f"{path} (--centers) has missing values: {join_counts(gaps.missing)}.")
        return centers
    if len(table.columns) != len(plan.names):
        raise TableError(
            f"{path} (--centers) has {len(table.columns)} columns, but the data has {len(plan.names)} features: name "
            "its columns like those of the data."
        )
    values = table.read()
    return plan.scale_matrix(np.column_stack([np.asarray(values.column(name), float) for name in table.columns]))
