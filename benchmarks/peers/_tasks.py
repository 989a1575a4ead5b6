"""The competitors: what is prepared, what is timed, with which settings.

A stage "score" makes the scores of all points from a clustering; a stage "fit" makes the clustering or model itself.
All run with the threads they use by default.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ._chains import score_with_chains
from ._scenes import Job

_MOST_FITTED = 2_000


@dataclass(frozen=True)
class Stage:
    """Something that is timed, after a preparation that is not."""

    name: str
    run: Callable[[Any], object]
    prepare: Callable[[Job], Any] = lambda job: job


@dataclass(frozen=True)
class Task:
    """One competitor."""

    name: str
    title: str
    library: str
    stages: tuple[Stage, ...]
    after: tuple[tuple[str, str], ...] = field(default=())
    """What a user has to run, from nothing to scores: pairs of task and stage."""


def _k_means(job: Job) -> Any:
    from sklearn.cluster import KMeans

    return KMeans(len(job.centers), random_state=0).fit(job.X)


def _affinity(job: Job) -> Any:
    from allegiance import affinity

    return affinity(job.X, job.labels, random_state=0, influence="euclidean")


def _affinity_within(job: Job) -> Any:
    from allegiance import affinity

    return affinity(job.X, job.labels, influence="within", random_state=0)


def _silhouette(job: Job) -> Any:
    from sklearn.metrics import silhouette_samples

    return silhouette_samples(job.X, job.labels)


def _mixture(job: Job) -> Any:
    from sklearn.mixture import GaussianMixture

    return GaussianMixture(len(job.centers), random_state=0).fit(job.X)


def _mixture_of_some(job: Job) -> Any:
    """Fit the mixture to some of the rows: what its posterior costs does not depend on how well it fits."""
    return _mixture(job._replace(X=job.X[:_MOST_FITTED])), job.X


def _hdbscan(job: Job) -> Any:
    import hdbscan

    return hdbscan.HDBSCAN(prediction_data=True).fit(job.X)


def _hdbscan_vectors(model: Any) -> Any:
    import hdbscan

    return hdbscan.all_points_membership_vectors(model)


def _fuzzy_memberships(job: Job) -> Any:
    from skfuzzy import cmeans_predict

    return cmeans_predict(job.X.T, job.centers, m=2.0, error=0.005, maxiter=1000, seed=0)[0]


def _fuzzy_c_means(job: Job) -> Any:
    from skfuzzy import cmeans

    return cmeans(job.X.T, len(job.centers), m=2.0, error=0.005, maxiter=1000, seed=0)[1]


def _clustered(job: Job) -> Any:
    from quality._case import Case
    from quality._clusterers import k_means

    case = Case(job.X, len(job.centers), 0, k_means)
    case.labels  # noqa: B018  (the clustering is made at the first question)
    return case


def _bootstrap(case: Any) -> Any:
    from quality._resampling import bootstrap_stability

    # A case keeps the samples it has clustered: without a new one only the first turn would do the work.
    anew = replace(case)
    anew.clustering = case.clustering
    return bootstrap_stability(anew)


def _ensemble(job: Job) -> Any:
    from cake_ensemble import kmeans_ensemble

    labels, centers, _ = kmeans_ensemble(job.X, len(job.centers))
    return job.X, labels, centers


def _cake(made: Any) -> Any:
    """Score as in the package's quick start, with silhouettes from centroids."""
    from cake_ensemble import cake

    X, labels, centers = made
    return cake(X, labels, approximation=True, centers_list=centers)


_CLUSTERED = ("k-means", "fit")
TASKS = (
    Task(
        "affinity",
        "affinity (default)",
        "allegiance",
        (Stage("score", _affinity),),
        (_CLUSTERED, ("affinity", "score")),
    ),
    Task(
        "within",
        'affinity, "within"',
        "allegiance",
        (Stage("score", _affinity_within),),
        (_CLUSTERED, ("within", "score")),
    ),
    Task("k-means", "KMeans (the clustering itself)", "scikit-learn", (Stage("fit", _k_means),)),
    Task(
        "silhouette",
        "silhouette_samples",
        "scikit-learn",
        (Stage("score", _silhouette),),
        (_CLUSTERED, ("silhouette", "score")),
    ),
    Task(
        "mixture",
        "GaussianMixture.predict_proba",
        "scikit-learn",
        (Stage("score", lambda made: made[0].predict_proba(made[1]), _mixture_of_some), Stage("fit", _mixture)),
        (("mixture", "fit"), ("mixture", "score")),
    ),
    Task(
        "hdbscan",
        "hdbscan membership vectors",
        "hdbscan",
        (Stage("fit", _hdbscan), Stage("score", _hdbscan_vectors, _hdbscan)),
        (("hdbscan", "fit"), ("hdbscan", "score")),
    ),
    Task(
        "fuzzy",
        "fuzzy c-means memberships",
        "scikit-fuzzy",
        (Stage("score", _fuzzy_memberships), Stage("fit", _fuzzy_c_means)),
        (("fuzzy", "fit"),),
    ),
    Task(
        "bootstrap",
        "bootstrap, 20 k-means",
        "scikit-learn",
        (Stage("score", _bootstrap, _clustered),),
        (_CLUSTERED, ("bootstrap", "score")),
    ),
    Task(
        "cake",
        "CAKE, 50 k-means",
        "cake-ensemble",
        (Stage("fit", _ensemble), Stage("score", _cake, _ensemble)),
        (("cake", "fit"), ("cake", "score")),
    ),
    Task(
        "hopsy",
        "hit-and-run per point",
        "hopsy",
        (Stage("score", score_with_chains),),
        (_CLUSTERED, ("hopsy", "score")),
    ),
)


def task_named(name: str) -> Task:
    """Return a task."""
    return next(task for task in TASKS if task.name == name)


def run_quietly(stage: Stage, prepared: Any) -> object:
    """Run a stage without the warnings of the libraries."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return stage.run(prepared)
