"""Leiden clustering of halves, and pictures: what needs scanpy."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

anndata = pytest.importorskip("anndata")
al = pytest.importorskip("allegiance.anndata")

# Of the libraries behind scanpy, about each other.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]

X, GROUPS = make_blobs(200, centers=[[0, 0, 0], [9, 0, 0], [0, 9, 2]], random_state=0)


@pytest.fixture
def adata():
    pytest.importorskip("scanpy")
    pytest.importorskip("igraph")
    cells = anndata.AnnData(X)
    cells.obs["leiden"] = np.array(["a", "b", "c"])[GROUPS]
    cells.obsm["X_umap"] = X[:, :2]
    cells.uns["neighbors"] = {"params": {"n_neighbors": 12, "metric": "euclidean"}}
    cells.uns["leiden"] = {"params": {"resolution": np.array([0.1]), "random_state": 0, "n_iterations": -1}}
    cells.uns["louvain"] = {"params": {"resolution": 0.2, "random_state": 0}}
    cells.obs["louvain"] = cells.obs["leiden"]
    return cells


def test_takes_over_what_scanpy_recorded(adata):
    leiden = al.recorded_clusterer(adata, "leiden")
    assert (leiden.resolution, leiden.n_neighbors) == (0.1, 12)
    assert al.recorded_clusterer(anndata.AnnData(X), "leiden") is None


def test_gives_the_labels_of_scanpy(adata):
    import scanpy

    rng = np.random.default_rng(0)
    cells = anndata.AnnData(rng.normal(size=(500, 6)) + 2 * rng.integers(2, size=(500, 6)))
    scanpy.pp.neighbors(cells, n_neighbors=10, use_rep="X")
    scanpy.tl.leiden(cells, 0.8, flavor="igraph", n_iterations=2, directed=False)
    leiden = al.recorded_clusterer(cells, "leiden")
    assert adjusted_rand_score(leiden.fit_predict(cells.X), cells.obs["leiden"]) == 1.0
    graph = al.Leiden(0.8, metric="precomputed").fit_predict(cells.obsp["connectivities"])
    assert adjusted_rand_score(graph, cells.obs["leiden"]) == 1.0


@pytest.mark.parametrize("kind", ["Leiden", "Louvain"])
def test_finds_separate_groups_and_repeats_itself(adata, kind):
    clusterer = getattr(al, kind)(0.1)
    actual = clone(clusterer).fit_predict(X)
    assert adjusted_rand_score(actual, GROUPS) == 1.0
    np.testing.assert_array_equal(actual, clone(clusterer).fit_predict(X))
    assert np.unique(getattr(al, kind)(3.0).fit_predict(X)).size > 3


@pytest.mark.parametrize(
    ("groupby", "clusterer"),
    [
        ("leiden", "Leiden(n_iterations=-1, n_neighbors=12, resolution=0.1)"),
        ("louvain", "Louvain(n_neighbors=12, resolution=0.2)"),
    ],
)
def test_labels_are_clustered_again_as_scanpy_made_them(adata, groupby, clusterer):
    al.trust(adata, groupby, use_rep="X", n_resamples=3)
    assert adata.uns[f"{groupby}_allegiance"]["replication"] > 0.95
    assert adata.uns[f"{groupby}_allegiance"]["params"]["clusterer"] == clusterer


def test_labels_that_scanpy_really_made(adata):
    import scanpy

    scanpy.pp.neighbors(adata, n_neighbors=11, use_rep="X")
    scanpy.tl.leiden(adata, 0.3, key_added="fine", flavor="igraph", n_iterations=2, directed=False)
    al.trust(adata, "fine", n_resamples=3)
    assert adata.uns["fine_allegiance"]["params"]["clusterer"] == "Leiden(n_neighbors=11, resolution=0.3)"


def test_clusters_that_are_batches_lose_their_trust_with_a_batch_key():
    rng = np.random.default_rng(1)
    batch = np.repeat(np.arange(6), 100)
    cells = anndata.AnnData((8 * rng.normal(size=(6, 5)))[batch] + rng.normal(size=(600, 5)))
    cells.obs["batch"], leiden = batch.astype(str), al.Leiden(0.1)
    cells.obs["mine"] = leiden.fit_predict(cells.X).astype(str)
    without, grouped = (
        al.result(cells, "mine", clusterer=leiden, use_rep="X", batch_key=key, n_resamples=8).replication
        for key in (None, "batch")
    )
    assert without > 0.95
    assert grouped < 0.7


def test_a_resolution_that_stands_out(adata):
    curve = al.resolution_curve(adata, [0.05, 0.1, 2.0], use_rep="X", n_resamples=4, n_references=2)
    actual = curve.frame()
    assert actual["resolution"].tolist() == [0.05, 0.1, 2.0]
    assert actual["n_clusters_found"].tolist()[:2] == [3, 3]
    assert actual["above_chance"][1] > actual["above_chance"][2]
    assert curve.plot().ax_.get_xlabel() == "resolution"


def test_too_fine_a_resolution_is_named(adata):
    """Pieces that do not come back are not called merged, and whole groups are not named."""
    for resolution, groups in ((0.1, 3), (0.8, None)):
        leiden = al.Leiden(resolution)
        adata.obs["mine"] = leiden.fit_predict(X).astype(str)
        actual = al.split_and_merged(adata, "mine", clusterer=leiden, use_rep="X", n_resamples=8)
        assert "merged" not in set(actual["problem"])
        if groups:
            assert len(actual) == groups
            assert set(actual["problem"]) == {""}


def test_scanpy_draws_what_is_written(adata):
    import matplotlib.pyplot as plt
    import scanpy

    al.trust(adata, "leiden", use_rep="X", n_resamples=3)
    names = ["leiden_trust", "leiden_verdict", "leiden_rival"]
    assert [ax.get_title() for ax in scanpy.pl.umap(adata, color=names, show=False)] == names
    plt.close("all")
