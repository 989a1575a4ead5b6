"""Fitting in passes: the same as in memory, to rounding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.datasets import make_blobs

from allegiance import AffinityScorer
from allegiance.domains import Polytope
from allegiance.influence import ItakuraSaito, Mahalanobis, Weights, Within
from allegiance.io._old_tables import TableError, open_source
from allegiance.io.streams import fit_stream

COLUMNS = list("abcd")


def frame(n: int = 500, d: int = 4, k: int = 6) -> pd.DataFrame:
    X, labels = make_blobs(n, n_features=d, centers=k, cluster_std=3.0, random_state=5)
    found = pd.DataFrame(np.abs(X) + 0.1, columns=COLUMNS[:d])
    found["kind"] = labels
    return found


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "points.parquet"
    frame().to_parquet(path, index=False)
    return path


SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "ball": {"domain": "ball"},
    "whole space": {"domain": "space"},
    "own region": {"domain": Polytope.box([-50.0] * 4, [50.0] * 4)},
    "within": {"influence": "within"},
    "oas": {"influence": Within(shrinkage="oas"), "domain": "ball"},
    "size": {"weights": Weights("size", scale="auto")},
    "density": {"weights": Weights("density", scale=0.1)},
    "kl": {"influence": "kl"},
    "smoothed": {"influence": ItakuraSaito(smoothing=1.0)},
    "mahalanobis": {"influence": Mahalanobis(np.diag([1.0, 2.0, 3.0, 4.0]))},
}


@pytest.mark.parametrize("k", [3, 6], ids=["reduced", "own axes"])
@pytest.mark.parametrize("name", SETTINGS)
def test_labels_give_what_they_give_in_memory(name, k, tmp_path):
    data = frame(k=k)
    data.to_parquet(tmp_path / "points.parquet", index=False)
    scorer = AffinityScorer(**SETTINGS[name])
    streamed = fit_stream(tmp_path / "points.parquet", scorer, labels="kind", batch_rows=73)
    X = data[COLUMNS]
    expected = scorer.fit(X, data["kind"])
    np.testing.assert_allclose(streamed.cluster_centers_, expected.cluster_centers_, rtol=1e-13)
    np.testing.assert_array_equal(streamed.classes_, expected.classes_)
    np.testing.assert_array_equal(streamed.feature_names_in_, expected.feature_names_in_)
    one, other = streamed.affinity(X), expected.affinity(X)
    np.testing.assert_array_equal(one.engine, other.engine)
    # Exact ones agree to rounding; of a thousand samples one on a border may change sides.
    np.testing.assert_allclose(one.affinity, other.affinity, atol=5e-3)
    exact = one.engine == "exact"
    np.testing.assert_allclose(one.affinity[exact], other.affinity[exact], atol=1e-9)


@pytest.mark.parametrize("settings", [{}, {"weights": "size"}, {"domain": "ball"}])
def test_given_centers_give_the_same_bits(settings, table):
    data = frame()
    centers = data[COLUMNS].to_numpy()[[0, 9, 99]]
    scorer = AffinityScorer(centers=centers, **settings)
    streamed = fit_stream(table, scorer, columns=COLUMNS, batch_rows=64)
    expected = scorer.fit(data[COLUMNS])
    for one, other in zip(
        streamed.fitted_.tessellation.functions, expected.fitted_.tessellation.functions, strict=True
    ):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(streamed.transform(data[COLUMNS]), expected.transform(data[COLUMNS]))


def test_batch_size_changes_means_by_rounding_only(table):
    one = fit_stream(table, labels="kind", batch_rows=1)
    other = fit_stream(table, labels="kind", batch_rows=10_000)
    np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, rtol=1e-13)


def test_a_large_common_offset_rounds_nothing(tmp_path):
    data = frame()
    data[COLUMNS] += 1e9
    data.to_parquet(tmp_path / "far.parquet", index=False)
    streamed = fit_stream(tmp_path / "far.parquet", labels="kind", batch_rows=50)
    exact = (data.groupby("kind")[COLUMNS].sum() - 1e9 * data.groupby("kind")[COLUMNS].count()).to_numpy()
    sizes = data.groupby("kind").size().to_numpy()[:, None]
    np.testing.assert_allclose(streamed.cluster_centers_ - 1e9, exact / sizes, atol=1e-5)


def test_names_noise_and_labels_beside_centers(tmp_path):
    data = frame(k=3)
    data["kind"] = np.array(["ant", "bee", "cat"])[data["kind"]]
    data.to_csv(tmp_path / "named.csv", index=False)
    named = fit_stream(tmp_path / "named.csv", labels="kind", batch_rows=100)
    assert list(named.classes_) == ["ant", "bee", "cat"]
    data["kind"] = np.where(data.index % 5 == 0, -1, 1)
    data.loc[:99, "kind"] = -1  # the whole of the first batch
    data.to_csv(tmp_path / "noisy.csv", index=False)
    noisy = fit_stream(tmp_path / "noisy.csv", labels="kind", batch_rows=100)
    members = data[data["kind"] == 1][COLUMNS].to_numpy()
    np.testing.assert_allclose(noisy.cluster_centers_, [members.mean(axis=0)])
    scorer = AffinityScorer(centers=np.eye(3, 4), weights="size")
    beside = fit_stream(tmp_path / "named.csv", scorer, labels="kind", batch_rows=90)
    assert list(beside.classes_) == ["ant", "bee", "cat"]
    sizes = np.bincount(frame(k=3)["kind"]) / 500
    np.testing.assert_allclose(beside.fitted_.diagram.weights, sizes)


@pytest.mark.parametrize("settings", [{}, {"influence": "within"}, {"weights": "size"}])
def test_mini_batch_kmeans(settings, table):
    scorer = AffinityScorer(random_state=4, **settings)
    streamed, again = (fit_stream(table, scorer, n_clusters=5, columns=COLUMNS, batch_rows=100) for _ in range(2))
    np.testing.assert_array_equal(streamed.cluster_centers_, again.cluster_centers_)
    X = frame()[COLUMNS].to_numpy()
    clusterer = MiniBatchKMeans(5, n_init=1, random_state=0)
    for start in range(0, 500, 100):
        clusterer.partial_fit(X[start : start + 100])
    inertia = ((X - streamed.cluster_centers_[streamed.predict(frame()[COLUMNS])]) ** 2).sum()
    assert inertia < 3 * ((X - clusterer.cluster_centers_[clusterer.predict(X)]) ** 2).sum()
    codes = clusterer.predict(X)
    if settings:
        labels = ((X[:, None] - streamed.cluster_centers_) ** 2).sum(axis=2).argmin(axis=1)
        expected = AffinityScorer(centers=streamed.cluster_centers_, random_state=4, **settings).fit(X, labels)
        np.testing.assert_allclose(streamed.transform(frame()[COLUMNS]), expected.transform(X), atol=5e-3)
    assert codes.shape == (500,)


def test_an_array_on_disk_has_no_names(tmp_path):
    X = frame()[COLUMNS].to_numpy(dtype=np.float32)
    np.save(tmp_path / "x.npy", X)
    scorer = AffinityScorer(centers=X[:3])
    streamed = fit_stream(open_source(tmp_path / "x.npy"), scorer, batch_rows=64)
    assert not hasattr(streamed, "feature_names_in_")
    expected = scorer.fit(X)
    np.testing.assert_array_equal(streamed.transform(X), expected.transform(X))


@pytest.mark.parametrize(
    ("parameters", "settings", "says"),
    [
        ({}, {}, "n_clusters, or labels, or a scorer with centers"),
        ({}, {"n_clusters": 3, "labels": "kind"}, "n_clusters, or labels, or a scorer with centers"),
        ({"influence": "rbf"}, {"labels": "kind"}, "needs all rows in memory"),
        ({"representative": "medoid"}, {"labels": "kind"}, "representative='medoid' needs all rows"),
        ({"estimator": KMeans(3)}, {"labels": "kind"}, "estimator needs all rows"),
        ({}, {"labels": "nothing"}, "no column 'nothing'"),
        ({"centers": np.eye(4), "influence": "within"}, {"columns": COLUMNS}, "needs labels"),
        ({"centers": np.eye(3)}, {"columns": COLUMNS}, "centers has 3 columns but X has 4"),
        ({"centers": np.eye(4)}, {"labels": "kind"}, "labels names 6 clusters but centers has 4"),
        ({}, {"labels": "a", "columns": ["b"]}, "labels must be discrete"),
        ({}, {"labels": "kind", "batch_rows": 0}, "batch_rows"),
    ],
)
def test_bad_input(parameters, settings, says, table):
    with pytest.raises(ValueError, match=says):
        fit_stream(table, AffinityScorer(**parameters), **settings)


def test_the_scorer_that_is_passed_stays_as_it_was(table):
    scorer = AffinityScorer(eps=0.1)
    fitted = fit_stream(table, scorer, n_clusters=3, columns=COLUMNS)
    assert not hasattr(scorer, "fitted_")
    assert scorer.centers is None
    assert fitted.eps == 0.1


@pytest.mark.parametrize("batch_rows", [7, 64, 10_000])
def test_trust_is_calibrated_with_the_same_rows_whatever_the_batches(batch_rows, tmp_path):
    """More rows than calibration uses: the sample of them depends on the seed and on nothing else."""
    data = frame(n=1_500)
    data.to_parquet(tmp_path / "points.parquet", index=False)
    X = data[COLUMNS]
    scorer = AffinityScorer(centers=X.to_numpy()[[0, 9, 99, 500]], domain="ball", calibration=4)
    streamed = fit_stream(tmp_path / "points.parquet", scorer, columns=COLUMNS, batch_rows=batch_rows)
    expected = scorer.fit(X)
    one, other = streamed.affinity(X), expected.affinity(X)
    np.testing.assert_array_equal(one.trust, other.trust)
    np.testing.assert_array_equal(one.typicality, other.typicality)
    assert one.replication_interval == other.replication_interval


def test_missing_numbers_are_named(tmp_path):
    data = frame()
    data.loc[207, "c"] = np.nan
    data.to_parquet(tmp_path / "holes.parquet", index=False)
    with pytest.raises(TableError, match=r"column 'c' .* has no number in row 207"):
        fit_stream(tmp_path / "holes.parquet", labels="kind", batch_rows=50)
