"""scikit-learn's own contract, over the ways to build the estimator."""

from __future__ import annotations

import pytest
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

from allegiance import AffinityScorer, Calibration
from allegiance.influence import Within

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
]


@pytest.fixture(autouse=True)
def array_api(monkeypatch):
    """Set the variable without which scikit-learn skips its check of arrays under array API dispatch."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


@parametrize_with_checks(EVERYDAY)
def test_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(OTHERS)
def test_keeps_the_contract_with_other_clusterers_engines_and_domains(estimator, check):
    check(estimator)
