"""scikit-learn's own contract, for every estimator and the ways to build it."""

import pytest
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

from allegiance import ActiveKMeans, AffinityScorer, Calibration, ConsensusClustering, IncrementalKMeans
from allegiance.clusterers import BregmanKMeans
from allegiance.influence import KL, ItakuraSaito, Kernel, Within
from scenes import QUARTIC

#: A clusterer with trust.
EVERYDAY = [AffinityScorer(KMeans(3, n_init=1, random_state=0), influence=Within(), calibration=2)]
OTHERS = [
    AffinityScorer(),
    AffinityScorer(calibration=Calibration(2, clusterer=KMeans(3, n_init=1, random_state=0))),
    AffinityScorer(KMeans(3, n_init=1, random_state=0), engine="shared", domain="ball"),
    AffinityScorer(AgglomerativeClustering(3), engine="hit-and-run"),
    # Its default start refuses array API dispatch, which one check turns on.
    AffinityScorer(GaussianMixture(3, init_params="random_from_data", random_state=0), domain="space"),
    # One member is enough for a cluster, since most checks bring too few points, too far apart, for a density.
    AffinityScorer(DBSCAN(min_samples=1), influence="euclidean", representative="medoid"),
    ActiveKMeans(3, n_init=2, random_state=0),
    ActiveKMeans(3, sample_size=0.9, stable_fraction=1.0, random_state=0),
    IncrementalKMeans(3, random_state=0),
    IncrementalKMeans(3, init_size=3, max_pending=5, random_state=0),
    ConsensusClustering(n_clusters=3, random_state=0),
    ConsensusClustering(n_clusters=3, method="hac", kernel="laplacian", random_state=0),
    ConsensusClustering(n_clusters=3, kernel=Kernel("rbf", approximation="fourier"), random_state=0),
    ConsensusClustering([KMeans(2, n_init=1, random_state=0), AgglomerativeClustering(3)], 2, random_state=0),
    BregmanKMeans(3, influence=QUARTIC, n_init=1, random_state=0),
    BregmanKMeans(3, influence=KL(smoothing=1.0), n_init=1, random_state=0),
    BregmanKMeans(3, influence=ItakuraSaito(smoothing=1.0), n_init=1, random_state=0),
]


@pytest.fixture(autouse=True)
def array_api(monkeypatch):
    """Set the variable without which scikit-learn skips its check of arrays under array API dispatch."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


def needs_positive_data(model):
    """Name the checks that standardise their data whatever the tags say."""
    if not model.__sklearn_tags__().input_tags.positive_only:
        return {}
    return {"check_clustering": "its data are negative, which the divergence cannot take"}


@parametrize_with_checks(EVERYDAY)
def test_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(OTHERS, expected_failed_checks=needs_positive_data)
@pytest.mark.filterwarnings("ignore:stable_fraction:UserWarning", "ignore:only . of n_clusters")
def test_other_estimators_and_settings_keep_it(estimator, check):
    check(estimator)
