"""The jobs, and the competitors: what is prepared, what is timed, with which settings.

Jobs are points around k random centers; one of n, d and k is varied at a time. A stage "score" computes the scores of
all points from a clustering; a stage "fit" makes the clustering or model itself. All run with their default threads.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_MOST_FITTED = 2_000
_BURN_IN = _KEPT = 1000
_MARGIN = 0.1


class Scene(NamedTuple):
    """The size of a job."""

    n: int
    d: int
    k: int


class Job(NamedTuple):
    """A clustering to be scored."""

    X: Floats
    """(n, d)"""
    labels: npt.NDArray[np.intp]
    """(n,) the center each point was drawn around."""
    centers: Floats
    """(k, d) the means of the clusters."""


CENTER = Scene(10_000, 50, 10)
SIZES = (1_000, 10_000, 100_000, 1_000_000)
SCENES = (
    *(CENTER._replace(n=n) for n in SIZES),
    *(CENTER._replace(d=d) for d in (2, 784)),
    *(CENTER._replace(k=k) for k in (3, 50)),
)


def make_job(scene: Scene, seed: int = 0) -> Job:
    """Draw a job: centers and points with unit deviation in every direction."""
    rng = np.random.default_rng(seed)
    centers = rng.standard_normal((scene.k, scene.d))
    labels = np.arange(scene.n) % scene.k
    X = rng.standard_normal((scene.n, scene.d))
    for start in range(0, scene.n, 100_000):
        X[start : start + 100_000] += centers[labels[start : start + 100_000]]
    means = np.stack([X[i :: scene.k].mean(axis=0) for i in range(scene.k)])
    return Job(X, labels.astype(np.intp), means)


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
    stages: tuple[Stage, ...]
    after: tuple[tuple[str, str], ...] = ()
    """What a user has to run, from nothing to scores: pairs of task and stage."""


def _k_means(job: Job) -> Any:
    from sklearn.cluster import KMeans

    return KMeans(len(job.centers), random_state=0).fit(job.X)


def _affinity(influence: str) -> Callable[[Job], Any]:
    def score(job: Job) -> Any:
        from allegiance import affinity

        return affinity(job.X, job.labels, influence=influence, random_state=0)

    return score


def _silhouette(job: Job) -> Any:
    from sklearn.metrics import silhouette_samples

    return silhouette_samples(job.X, job.labels)


def _mixture(job: Job) -> Any:
    from sklearn.mixture import GaussianMixture

    return GaussianMixture(len(job.centers), random_state=0).fit(job.X)


def _mixture_of_some(job: Job) -> Any:
    """Fit the mixture to some of the rows: the cost of its posterior does not depend on how well it fits."""
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
    case.labels  # noqa: B018  (the clustering is made on first access)
    return case


def _bootstrap(case: Any) -> Any:
    from quality._resampling import bootstrap_stability

    # A case caches the samples it has clustered: without a new one only the first turn would do the work.
    fresh = replace(case)
    fresh.clustering = case.clustering
    return bootstrap_stability(fresh)


def _ensemble(job: Job) -> Any:
    from cake_ensemble import kmeans_ensemble

    labels, centers, _ = kmeans_ensemble(job.X, len(job.centers))
    return job.X, labels, centers


def _cake(made: Any) -> Any:
    """Score as in the package's quick start, with silhouettes from centroids."""
    from cake_ensemble import cake

    X, labels, centers = made
    return cake(X, labels, approximation=True, centers_list=centers)


def score_with_chains(job: Job) -> Floats:
    """Return affinities (n, k) by one hit-and-run chain of hopsy for each point: the paper's recipe.

    Each chain walks along coordinates (hopsy's fastest walk) inside the cell of its point, in the reduced coordinates
    and the box of the library, from the point itself: 1,000 steps of burn-in and 1,000 kept. hopsy's own parallel
    switch is slower on many small chains.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a dependency announces its next version
        import hopsy

    points, sites, metric = _reduced(job)
    k, r = sites.shape
    walls = np.vstack([np.eye(r), -np.eye(r)])
    random = hopsy.RandomNumberGenerator(seed=0)
    shares = np.empty((len(points), k))
    for index, x in enumerate(points):
        slopes = 2.0 * (sites - x) * metric
        offsets = ((sites**2 - x**2) * metric).sum(axis=1)
        A, b = np.vstack([slopes, walls]), np.concatenate([offsets, np.ones(2 * r)])
        chain = hopsy.MarkovChain(hopsy.Problem(A, b, starting_point=x), hopsy.UniformCoordinateHitAndRunProposal)
        hopsy.sample(chain, random, 1, thinning=_BURN_IN)
        kept = hopsy.sample(chain, random, _KEPT)[1][0]
        owners = (offsets[:, None] - slopes @ kept.T).argmin(axis=0)
        shares[index] = np.bincount(owners, minlength=k) / _KEPT
    return shares


def _reduced(job: Job) -> tuple[Floats, Floats, Floats]:
    """Return points (n, r) and sites (k, r) in the span of the sites, the box being [-1, 1]^r, and the metric (r,)."""
    k, d = job.centers.shape
    origin = job.centers.mean(axis=0)
    basis = np.linalg.svd(job.centers - origin, full_matrices=False)[2][: k - 1].T if k <= d else np.eye(d)
    points, sites = (job.X - origin) @ basis, (job.centers - origin) @ basis
    lower = np.minimum(points.min(axis=0), sites.min(axis=0))
    upper = np.maximum(points.max(axis=0), sites.max(axis=0))
    half = (upper - lower) * (0.5 + _MARGIN)
    middle = (lower + upper) / 2.0
    return (points - middle) / half, (sites - middle) / half, half * half


def _of_a_clustering(name: str, title: str, run: Callable[[Any], object], *prepare: Callable[[Job], Any]) -> Task:
    """Return a task whose scores need the labels of k-means."""
    return Task(name, title, (Stage("score", run, *prepare),), (("k-means", "fit"), (name, "score")))


def _of_a_model(name: str, title: str, *stages: Stage) -> Task:
    """Return a task that fits a model of its own."""
    return Task(name, title, stages, ((name, "fit"), (name, "score")))


TASKS = (
    _of_a_clustering("within", "affinity (default)", _affinity("within")),
    _of_a_clustering("affinity", 'affinity, "euclidean"', _affinity("euclidean")),
    Task("k-means", "KMeans (the clustering itself)", (Stage("fit", _k_means),)),
    _of_a_clustering("silhouette", "silhouette_samples", _silhouette),
    _of_a_model(
        "mixture",
        "GaussianMixture.predict_proba",
        Stage("score", lambda made: made[0].predict_proba(made[1]), _mixture_of_some),
        Stage("fit", _mixture),
    ),
    _of_a_model(
        "hdbscan",
        "hdbscan membership vectors",
        Stage("fit", _hdbscan),
        Stage("score", _hdbscan_vectors, _hdbscan),
    ),
    Task(
        "fuzzy",
        "fuzzy c-means memberships",
        (Stage("score", _fuzzy_memberships), Stage("fit", _fuzzy_c_means)),
        (("fuzzy", "fit"),),
    ),
    _of_a_clustering("bootstrap", "bootstrap, 20 k-means", _bootstrap, _clustered),
    _of_a_model("cake", "CAKE, 50 k-means", Stage("fit", _ensemble), Stage("score", _cake, _ensemble)),
    _of_a_clustering("hopsy", "hit-and-run per point", score_with_chains),
)


def task_named(name: str) -> Task:
    """Return a task."""
    return next(task for task in TASKS if task.name == name)


def run_quietly(stage: Stage, prepared: Any) -> object:
    """Run a stage without the warnings of the libraries."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return stage.run(prepared)
