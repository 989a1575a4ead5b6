"""How far the points of a fit flatter, and which features periods are compared by."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from allegiance import AffinityScorer, compare_periods
from allegiance.fitting import period_of, profile_of


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 2.0])
def test_optimism_is_what_new_points_do_worse(spread):
    """On average over draws, to within a factor of two and a half: what comparisons allow for."""
    places = np.random.default_rng(1).normal(size=(5, 6)) * spread
    estimated, true = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        known, fresh = (places[rng.integers(5, size=n)] + rng.normal(size=(n, 6)) for n in (400, 4000))
        scorer = AffinityScorer(KMeans(5, n_init=1, random_state=seed), influence="within", calibration=4, n_jobs=1)
        fitted = scorer.fit(known).fitted_
        estimated.append(profile_of(fitted, period_of(fitted, known), reference=True).optimism[-1, 0])
        true.append(scorer.affinity(fresh, top=1).trust.mean() - scorer.affinity(known, top=1).trust.mean())
    assert np.mean(estimated) < 0.0
    assert 1 / 2.5 < np.mean(estimated) / np.mean(true) < 2.5


def test_optimism_does_not_depend_on_threads_and_is_small_for_many_points():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    found = []
    for n_jobs in (1, 2):
        fitted = (
            AffinityScorer(KMeans(3, n_init=1, random_state=0), calibration=4, n_jobs=n_jobs, influence="euclidean")
            .fit(X)
            .fitted_
        )
        found.append(profile_of(fitted, period_of(fitted, X), reference=True).optimism)
    assert np.array_equal(*found)
    assert np.abs(found[0][-1]).max() < 0.005


def frame(seed, n=300):
    rng = np.random.default_rng(seed)
    cluster = rng.integers(2, size=n)
    return pd.DataFrame(
        {"spent": 5000.0 + 400.0 * cluster + 30.0 * rng.normal(size=n), "plan": np.array(["a", "b"])[cluster]}
    )


def test_behind_a_pipeline_features_keep_their_own_units():
    parts = ColumnTransformer([("scaled", StandardScaler(), ["spent"]), ("plan", OneHotEncoder(), ["plan"])])
    pipeline = make_pipeline(parts, KMeans(2, n_init=2, random_state=0))
    january, february = frame(0), frame(1)
    scorer = AffinityScorer(pipeline, calibration=4, n_jobs=1, influence="euclidean").fit(january)
    assert not compare_periods(scorer, january, february).drifted
    february["spent"] /= 100
    finding = compare_periods(scorer, january, february).findings[0]
    assert (finding.kind, finding.feature) == ("unit", "spent")
    assert finding.now == pytest.approx(0.01, rel=0.01)
