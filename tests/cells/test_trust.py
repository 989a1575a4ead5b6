"""Trust next to the labels of cells."""

import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs

import allegiance
from allegiance import affinity

anndata = pytest.importorskip("anndata")
pd = pytest.importorskip("pandas")
al = pytest.importorskip("allegiance.anndata")

# anndata asks pandas for options that newer versions of pandas give up.
pytestmark = pytest.mark.filterwarnings(
    "ignore:The 'future.infer_string' option:DeprecationWarning",
    "ignore:The 'mode.chained_assignment' option:DeprecationWarning",
)

NAMES = np.array(["T", "B", "NK"])
#: Which of the three categories, in their order, each blob is.
ORDER = ["B", "T", "NK", "rare"]


@pytest.fixture
def adata():
    X, codes = make_blobs(90, centers=[[0, 0, 0], [6, 0, 0], [0, 6, 2]], random_state=0)
    groups = pd.Categorical(NAMES[codes], categories=ORDER)
    obs = pd.DataFrame({"leiden": groups}, index=[f"cell{i}" for i in range(90)])
    cells = anndata.AnnData(sp.csr_matrix(np.abs(X)).astype(np.float32), obs=obs)
    cells.obsm["X_pca"], cells.obsm["X_umap"] = X, X[:, :2]
    cells.layers["scaled"] = X * [1.0, 2.0, 3.0]
    cells.var_names = ["gene0", "gene1", "gene2"]
    cells.uns["neighbors"] = {"params": {"n_neighbors": 15, "method": "umap"}}
    cells.uns["leiden_colors"] = ["#111111", "#222222", "#333333", "#444444"]
    return cells


def codes(adata):
    """Numbers of the groups, in the order of their categories."""
    return adata.obs["leiden"].cat.codes.to_numpy()


def test_writes_what_trust_finds(adata):
    assert al.trust(adata, groupby="leiden", use_rep="X_pca") is None
    expected = allegiance.trust(adata.obsm["X_pca"], codes(adata))
    np.testing.assert_array_equal(adata.obs["leiden_trust"], expected.trust)
    assert adata.obs["leiden_verdict"].tolist() == expected.verdict.tolist()
    assert adata.obs["leiden_rival"].tolist() == [ORDER[code] for code in expected.rival]
    np.testing.assert_array_equal(adata.obsm["leiden_affinity"], expected.affinity)
    kept = adata.uns["leiden_allegiance"]
    assert kept["clusters"].tolist() == ORDER[:3]
    assert kept["replication"] == expected.replication
    assert kept["by_cluster"].index.tolist() == ORDER[:3]
    assert kept["params"]["matrix"] == "X_pca"
    assert adata.obs["leiden_rival"].cat.categories.tolist() == ORDER
    assert adata.uns["leiden_rival_colors"] == adata.uns["leiden_colors"]
    assert adata.obs["leiden_verdict"].cat.categories.tolist() == ["firm", "borderline", "doubtful"]
    assert len(adata.uns["leiden_verdict_colors"]) == 3


@pytest.mark.parametrize(
    ("where", "matrix"),
    [
        ({}, lambda adata: adata.obsm["X_pca"]),
        ({"n_pcs": 2}, lambda adata: adata.obsm["X_pca"][:, :2]),
        ({"use_rep": "X"}, lambda adata: adata.X),
        ({"layer": "scaled"}, lambda adata: adata.layers["scaled"]),
    ],
)
def test_uses_the_matrix_asked_for(adata, where, matrix):
    actual = al.result(adata, "leiden", influence="euclidean", **where)
    np.testing.assert_array_equal(
        actual.affinity, affinity(matrix(adata), codes(adata), influence="euclidean").affinity
    )


def test_the_matrix_of_the_neighbours_is_used(adata):
    adata.obsm["X_scvi"] = adata.obsm["X_pca"][:, ::-1]
    adata.uns["neighbors"]["params"]["use_rep"] = "X_scvi"
    al.trust(adata, "leiden", n_resamples=3)
    assert adata.uns["leiden_allegiance"]["params"]["matrix"] == "X_scvi"
    adata.uns["neighbors"]["params"] = {"use_rep": "X_pca", "n_pcs": np.array([2])}
    two, same = (al.result(adata, "leiden", n_resamples=3, **where) for where in ({}, {"n_pcs": 2}))
    np.testing.assert_array_equal(two.affinity, same.affinity)
    assert two.review(3).index.isin(adata.obs_names).all()
    adata.uns["neighbors"]["params"] = {}
    del adata.obsm["X_pca"]
    al.trust(adata, "leiden", n_resamples=3)
    assert adata.uns["leiden_allegiance"]["params"]["matrix"] == "X"


def test_cells_are_clustered_again_by_a_clusterer_of_the_users(adata):
    ward = AgglomerativeClustering(3)
    al.trust(adata, "leiden", clusterer=ward, n_resamples=3)
    expected = allegiance.trust(adata.obsm["X_pca"], codes(adata), clusterer=ward, n_resamples=3)
    np.testing.assert_array_equal(adata.obs["leiden_trust"], expected.trust)
    assert adata.uns["leiden_allegiance"]["params"]["clusterer"] == "AgglomerativeClustering(n_clusters=3)"


def test_a_note_that_matters_is_a_warning(adata):
    adata.obs["shuffled"] = np.random.default_rng(0).permutation(adata.obs["leiden"])
    with pytest.warns(UserWarning, match="unrelated to the data|None of the built-in"):
        al.trust(adata, "shuffled", n_resamples=3)
    assert adata.uns["shuffled_allegiance"]["note"]


def test_clusters_to_join_and_to_split_are_named(adata):
    x = adata.obsm["X_pca"][:, 0]
    groups = adata.obs["leiden"].astype(object)
    first = groups == "T"
    groups[first & (x > np.median(x[first]))] = "T2"
    groups[~first] = "B+NK"
    adata.obs["mine"] = pd.Categorical(groups)
    actual = al.split_and_merged(adata, "mine", clusterer=KMeans(3, n_init=3, random_state=0)).set_index("cluster")
    assert actual["problem"].to_dict() == {"B+NK": "merged", "T": "over-split", "T2": "over-split"}
    assert actual["partner"].to_dict() == {"B+NK": "", "T": "T2", "T2": "T"}
    with pytest.raises(ValueError, match="Pass clusterer="):
        al.split_and_merged(adata, "mine")


def test_key_added_and_copy(adata):
    settings = {"influence": "euclidean", "eps": 0.05, "n_resamples": 3}
    changed = al.trust(adata, "leiden", key_added="mine", copy=True, random_state=7, **settings)
    assert "mine_trust" in changed.obs
    assert "mine_allegiance" in changed.uns
    assert list(adata.obs) == ["leiden"]
    params = changed.uns["mine_allegiance"]["params"]
    expected = settings | {"seed": 7, "groupby": "leiden", "matrix": "X_pca", "n_columns": 3, "clusterer": "stand-in"}
    assert {name: params[name] for name in expected} == expected
    assert changed.uns["mine_allegiance"]["versions"]["allegiance"] == allegiance.__version__


@pytest.mark.parametrize("missing", [None, "-1"])
def test_cells_of_no_cluster_are_noise(adata, missing):
    labels = adata.obs["leiden"].astype(object)
    labels.iloc[:5] = missing
    adata.obs["leiden"] = pd.Categorical(labels, categories=[*ORDER, "-1"])
    al.trust(adata, "leiden")
    assert adata.obs["leiden_trust"].isna().sum() == 5
    assert (adata.obs["leiden_verdict"].iloc[:5] == "noise").all()
    assert len(adata.uns["leiden_verdict_colors"]) == 4
    assert adata.obs["leiden_trust"].iloc[5:].notna().all()


@pytest.mark.parametrize("kind", ["h5ad", pytest.param("zarr", marks=pytest.mark.slow)])
def test_all_of_it_comes_back_from_a_file(adata, kind, tmp_path):
    al.trust(adata, "leiden")
    path = tmp_path / f"cells.{kind}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of zarr, about its own next format
        getattr(adata, f"write_{kind}")(path)
        back = getattr(anndata, f"read_{kind}")(path)
    pd.testing.assert_frame_equal(back.obs, adata.obs, check_categorical=True)
    np.testing.assert_array_equal(back.obsm["leiden_affinity"], adata.obsm["leiden_affinity"])
    kept, before = back.uns["leiden_allegiance"], adata.uns["leiden_allegiance"]
    assert set(kept) == set(before)
    assert kept["params"] == before["params"]
    assert kept["clusters"].tolist() == before["clusters"].tolist()
    assert kept["by_cluster"].astype(object).equals(before["by_cluster"].astype(object))


@pytest.mark.parametrize("sparse", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_backed_object_is_read(adata, sparse, tmp_path):
    if not sparse:
        adata.X = adata.X.toarray()
    adata.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    assert backed.isbacked
    actual = al.result(backed, "leiden", use_rep="X")
    expected = al.result(adata, "leiden", use_rep="X")
    np.testing.assert_array_equal(actual.affinity, expected.affinity)
    np.testing.assert_array_equal(actual.trust, expected.trust)
    assert actual.frame().index.tolist() == adata.obs_names.tolist()
    with pytest.raises(ValueError, match=r"to_memory\(\)"):
        al.trust(backed, "leiden", copy=True)
    al.trust(backed, "leiden", use_rep="X")
    assert "leiden_trust" in backed.obs
    backed.file.close()


def test_the_report_shows_the_usual_map(adata, tmp_path):
    page = al.report(adata, "leiden", tmp_path / "cells.html", n_resamples=3).read_text(encoding="utf-8")
    assert "cell7" in page
    assert "gene1" in page
    assert "leiden" in page
    adata.obsm["X_umap"] = pd.DataFrame(adata.obsm["X_umap"], index=adata.obs_names, columns=["a", "b"])
    assert "_repr_html_" in dir(al.report(adata, "leiden", basis="umap", n_resamples=3))


def by_batch(cells, batches):
    return al.trust(anndata.AnnData(cells.X, obs=cells.obs.assign(batch=batches)), "leiden", batch_key="batch")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda a: al.trust(a.obsm["X_pca"], "leiden"), TypeError, r"trust\(X, labels\)"),
        (lambda a: al.trust(a, "Leiden"), KeyError, "groupby='Leiden'.*'leiden'"),
        (lambda a: al.trust(a, "leiden", use_rep="pca"), KeyError, "use_rep='pca'.*'X_pca'"),
        (lambda a: al.trust(a, "leiden", layer="counts"), KeyError, "layer='counts'.*scaled"),
        (lambda a: al.trust(a, "leiden", layer="scaled", use_rep="X"), ValueError, "not both"),
        (lambda a: al.trust(a, "leiden", n_pcs=9), ValueError, "n_pcs must be from 1 to 3"),
        (lambda a: al.trust(a, "leiden", clusterer="louvain"), TypeError, "clusterer must be a clusterer"),
        (lambda a: al.trust(a, "leiden", batch_key="donor"), KeyError, "batch_key='donor' is not in adata.obs"),
        (lambda a: by_batch(a, "a"), ValueError, r"adata.obs\['batch'\] has only one batch"),
        (lambda a: by_batch(a, [None, *"ab" * 44, "b"]), ValueError, r"adata.obs\['batch'\] has missing values"),
        (lambda a: al.report(a, "leiden", basis="tsne"), KeyError, "basis='tsne' is not in adata.obsm"),
    ],
)
def test_says_what_is_wrong(adata, call, error, message):
    with pytest.raises(error, match=message):
        call(adata)
    assert list(adata.obs) == ["leiden"]


def test_a_measurement_is_not_a_clustering(adata):
    """n_genes once ran for a minute and wrote results."""
    cells = anndata.AnnData(np.random.default_rng(0).normal(size=(400, 3)))
    cells.obs["n_genes"] = np.arange(400) % 300
    with pytest.raises(ValueError, match="300 different numbers"):
        al.trust(cells, "n_genes")


@pytest.mark.parametrize("function", [allegiance.trust, allegiance.affinity])
def test_the_front_doors_send_cells_here(adata, function):
    with pytest.raises(TypeError, match=r"allegiance\.anndata\.trust\(adata, groupby='leiden'\)"):
        function(adata, adata.obs["leiden"])


@pytest.mark.slow
def test_real_blood_cells():
    """Labels from sorted cells: subtypes of T cells are close relatives, B cells and progenitors are not."""
    scanpy = importlib.util.find_spec("scanpy")
    if scanpy is None:
        pytest.skip("scanpy is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        blood = anndata.read_h5ad(Path(scanpy.origin).parent / "datasets" / "10x_pbmc68k_reduced.h5ad")
    # No clustering made these labels, and a mixture with more parameters than cells must not seem to.
    with pytest.warns(UserWarning, match="None of the built-in clusterers"):
        al.trust(blood, groupby="bulk_labels", use_rep="X_pca")
    table = blood.uns["bulk_labels_allegiance"]["by_cluster"]
    share = table["replication"]
    assert share[["CD19+ B", "CD14+ Monocyte", "CD34+", "CD56+ NK"]].min() > 0.6
    assert share[["CD4+/CD45RO+ Memory", "CD8+ Cytotoxic T", "CD8+/CD45RA+ Naive Cytotoxic"]].max() < 0.5
    assert table.loc["CD8+ Cytotoxic T", "rival"] == "CD56+ NK"


def test_the_command_scores_a_file_as_python_does(adata, tmp_path):
    """Once it gave all principal components the same variance, and so found other clusters."""
    from cli.command import call

    adata.obsm["X_pca"] = adata.obsm["X_pca"] * [1.0, 1.0, 9.0]
    adata.write_h5ad(tmp_path / "cells.h5ad")
    call("score", tmp_path / "cells.h5ad", "--clusters", 3, "--resamples", 3, "-o", tmp_path / "out.csv")
    actual = pd.read_csv(tmp_path / "out.csv")
    labels = KMeans(3, n_init=10, random_state=0).fit_predict(adata.obsm["X_pca"])
    assert actual["cell"].tolist() == adata.obs_names.tolist()
    assert actual["cluster"].tolist() == labels.tolist()
    call("score", tmp_path / "cells.h5ad", "--labels", "leiden", "--resamples", 3, "-o", tmp_path / "labels.csv")
    expected = al.result(adata, "leiden", n_resamples=3)
    np.testing.assert_allclose(pd.read_csv(tmp_path / "labels.csv")["trust"], expected.trust, atol=1e-6)


@pytest.mark.slow
def test_the_command_uses_recorded_settings_and_writes_cells(adata, tmp_path):
    """It once estimated trust with a stand-in although ``uns`` says how Leiden was run."""
    pytest.importorskip("igraph")
    from cli.command import call

    adata.uns["leiden"] = {"params": {"resolution": 0.1, "random_state": 0, "n_iterations": 2}}
    adata.write_h5ad(tmp_path / "cells.h5ad")
    words = ["score", tmp_path / "cells.h5ad", "--labels", "leiden", "--resamples", 4]
    call(*words, "-o", tmp_path / "out.h5ad")
    back = anndata.read_h5ad(tmp_path / "out.h5ad")
    al.trust(adata, "leiden", n_resamples=4)
    np.testing.assert_allclose(back.obs["leiden_trust"], adata.obs["leiden_trust"], atol=1e-6)
    assert (back.obs["leiden_rival"].astype(str) == adata.obs["leiden_rival"].astype(str)).mean() > 0.95
    assert "Leiden(" in back.uns["leiden_allegiance"]["note"]
    call("score", tmp_path / "cells.h5ad", "--clusters", 3, "--resamples", 3, "-o", tmp_path / "made.h5ad")
    made = anndata.read_h5ad(tmp_path / "made.h5ad")
    assert made.obs[["cluster", "cluster_trust"]].notna().all(axis=None)
    (tmp_path / "table.csv").write_text("x\n1\n2\n3\n")
    assert (
        "needs one .h5ad"
        in call("score", tmp_path / "table.csv", "--clusters", 2, "-o", tmp_path / "a.h5ad", code=2).output
    )


def test_drivers_are_genes(adata):
    """They were PC1, PC2, ..."""
    adata.var["highly_variable"] = [True, True, False]
    drivers = al.result(adata, "leiden", n_resamples=3).drivers()
    X = adata.X.toarray()[:, :2]
    between = [
        sum((g == c).sum() * (x[g == c].mean() - x.mean()) ** 2 for c in range(3)) for x in X.T for g in [codes(adata)]
    ]
    assert drivers.shares == pytest.approx(
        dict(zip(["gene0", "gene1"], between / np.sum(between), strict=True)), rel=1e-4
    )
    al.trust(adata, "leiden", n_resamples=3)
    assert set(adata.uns["leiden_allegiance"]["genes"]["gene"]) == {"gene0", "gene1"}
    with pytest.raises(TypeError, match="data=X"):
        allegiance.trust(adata.obsm["X_pca"], codes(adata), n_resamples=3).drivers()
