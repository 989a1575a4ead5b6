"""What people use today, each with its recommended or default settings, more meaning more trusted.

A method that gives every point one number per judged cluster is read at the point's own cluster.
"""

from collections.abc import Callable

import numpy as np
from sklearn.metrics import silhouette_samples
from sklearn.mixture import GaussianMixture

from ._case import Case
from ._clusterers import Floats
from ._resampling import bootstrap_agreement, bootstrap_stability, item_consensus, prediction_strength


def silhouette(case: Case) -> Floats:
    return silhouette_samples(case.X, case.labels)


def simplified_silhouette(case: Case) -> Floats:
    """Return the silhouette with the distance to a cluster replaced by the distance to its mean."""
    own = case.own(case.distances)
    nearest = -case.largest_other(-case.distances)
    return (nearest - own) / np.maximum(np.maximum(nearest, own), np.finfo(float).tiny)


def distance_ratio(case: Case) -> Floats:
    """Return minus the distance to the nearest mean over the distance to the second."""
    first, second = np.sort(case.distances, axis=1)[:, :2].T
    return -first / np.maximum(second, np.finfo(float).tiny)


def distance_gap(case: Case) -> Floats:
    """Return the distance to the second nearest mean minus the distance to the nearest."""
    first, second = np.sort(case.distances, axis=1)[:, :2].T
    return second - first


def fuzzy_membership(case: Case) -> Floats:
    """Return the fuzzy c-means membership, m = 2, toward the means of the judged clusters."""
    from skfuzzy import cmeans_predict

    members = cmeans_predict(case.X.T, case.centers, m=2.0, error=0.005, maxiter=1000, seed=case.seed)[0]
    return case.own(members.T)


def mixture_posterior(case: Case) -> Floats:
    """Return the posterior of the judged mixture; for another clustering, of one fitted from its clusters' means."""
    model = case.clustering.model
    if isinstance(model, GaussianMixture):
        return model.predict_proba(case.X).max(axis=1)
    mixture = GaussianMixture(case.n_clusters, means_init=case.centers, random_state=case.seed)
    return case.own(mixture.fit(case.X).predict_proba(case.X))


def hdbscan_membership(case: Case) -> Floats:
    """Return the largest membership (n,), 0 where HDBSCAN finds no cluster or divides zero by zero.

    HDBSCAN finds clusters of its own, so there is no own cluster to read it at.
    """
    import hdbscan

    def compute() -> Floats:
        model = hdbscan.HDBSCAN(prediction_data=True, core_dist_n_jobs=1).fit(case.X)
        members = np.nan_to_num(hdbscan.all_points_membership_vectors(model))
        return members.max(axis=1) if members.ndim == 2 else members

    return case.once("hdbscan", compute)


def cake_confidence(case: Case) -> Floats:
    """Return the confidence of CAKE: the package's k-means ensemble of 50 runs, its default formula."""
    from cake_ensemble import cake, kmeans_ensemble

    def compute() -> Floats:
        runs, _, _ = kmeans_ensemble(case.X, case.k, random_state=case.seed)
        complete = [labels for labels in runs if np.unique(labels).size == case.k]  # the package refuses others
        return cake(case.X, complete)[0]

    return case.once("cake", compute)


#: The peers of the comparison.
PEER_SCORES: dict[str, Callable[[Case], Floats]] = {
    "silhouette": silhouette,
    "simplified silhouette": simplified_silhouette,
    "distance ratio": distance_ratio,
    "distance gap": distance_gap,
    "fuzzy membership": fuzzy_membership,
    "mixture posterior": mixture_posterior,
    "hdbscan": hdbscan_membership,
    "bootstrap agreement": bootstrap_agreement,
    "bootstrap stability": bootstrap_stability,
    "prediction strength": prediction_strength,
    "item consensus": item_consensus,
    "cake": cake_confidence,
}
