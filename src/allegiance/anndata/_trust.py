"""Trust in cell labels, written to AnnData; Leiden and Louvain as scikit-learn clusterers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from difflib import get_close_matches
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np

from allegiance import applications
from allegiance._core.parameters import Lazy
from allegiance._core.validation import AnyArray, IntArray, dense, is_sparse, require
from allegiance._scorer import AffinityScorer
from allegiance.applications import StabilityCurve, stability_curve
from allegiance.calibration import Calibration
from allegiance.clusterers import Leiden, Louvain
from allegiance.drivers import Drivers, drivers
from allegiance.notebook import SHARE_COLORS
from allegiance.results import VERDICTS, AffinityResult, FrameLike

#: Where scanpy keeps principal components, which most cells are clustered by.
_PCA = "X_pca"
#: The category by which clusterers such as HDBSCAN mark cells of no cluster.
_NOISE = "-1"
#: Numbers of clusters from which a numeric column is taken for a measurement, unless it has 20 cells per value.
_MAX_NUMERIC_CLUSTERS = 100
#: Coordinates that the map of a report shows, the first that there are.
_MAPS = ("X_umap", "X_tsne", "X_draw_graph_fa", _PCA)
#: Genes that are written with their share of the separation.
_MAX_GENES = 50
#: Colors of the verdicts; gray for cells of no cluster.
_VERDICT_COLORS = dict(zip(VERDICTS, (*SHARE_COLORS, "#b0b0b0"), strict=True))


def trust(
    adata: Any,
    groupby: str,
    *,
    clusterer: Any = None,
    use_rep: str | None = None,
    layer: str | None = None,
    n_pcs: int | None = None,
    batch_key: str | None = None,
    influence: Any = "within",
    key_added: str | None = None,
    copy: bool = False,
    **settings: Any,
) -> Any:
    """Score how much you can trust the label of each cell, and write the scores to ``adata``.

    Trust is about the labels, given the matrix. It does not detect doublets (see ``scanpy.pp.scrublet``). A cluster
    that is only a batch replicates well, unless you pass ``batch_key``.

    Parameters
    ----------
    adata
        The annotated data. If it is backed, the parts that are used are read into memory.
    groupby
        The column of ``obs`` with the labels, such as "leiden". Missing values, and the category "-1", are cells of no
        cluster.
    clusterer
        The clusterer that made the labels: an estimator, a pipeline, or a function from the matrix to labels. By
        default :func:`recorded_clusterer`, the settings that scanpy recorded; otherwise the stand-in that best
        reproduces the labels, with a warning if none does.
    use_rep
        The key of ``obsm`` with the clustered matrix, or "X". By default the matrix from which scanpy computed the
        neighbors, if recorded, else "X_pca", else X.
    layer
        A layer to use instead.
    n_pcs
        How many columns of it to use, as in scanpy's ``pp.neighbors``; None for all.
    batch_key
        The column of ``obs`` that holds batches, samples or patients. Whole batches are then sampled: clusters that
        are only batches do not replicate in new batches.
    influence
        What closeness means, as in :func:`allegiance.trust`.
    key_added
        Prefix of the names below, instead of ``groupby``.
    copy
        Return a changed copy instead of changing ``adata``.
    **settings
        Further parameters of :func:`allegiance.trust`, such as ``n_resamples``, ``eps``, ``random_state``, ``n_jobs``.

    Returns
    -------
    AnnData or None
        The copy, with ``copy=True``. Fields, for groupby="leiden":

        ``.obs["leiden_trust"]``
            The probability that the label replicates in an independent sample; NaN for cells of no cluster.
        ``.obs["leiden_verdict"]``
            "firm", "borderline", "doubtful" or "noise".
        ``.obs["leiden_rival"]``
            The best other cluster, with the categories of the labels.
        ``.obsm["leiden_affinity"]``
            Affinity to each cluster, columns in the order of the categories that have cells.
        ``.uns["leiden_allegiance"]``
            All parameters, the replication of the clustering with its interval, a table by cluster, and the genes
            that separate the clusters most, with their shares.

    See Also
    --------
    result : The same as an object with tables and pictures.
    resolution_curve : Which resolutions give clusters that replicate.

    Examples
    --------
    For cells that scanpy has clustered::

        import allegiance.anndata as al

        al.trust(adata, groupby="leiden")
        adata.obs["leiden_trust"]
        scanpy.pl.umap(adata, color=["leiden", "leiden_trust", "leiden_verdict"])
    """
    _check_anndata(adata, "trust")
    if copy and adata.isbacked:
        raise ValueError("copy=True needs an AnnData object in memory. Call adata.to_memory() first.")
    settings |= {"clusterer": clusterer, "use_rep": use_rep, "layer": layer, "n_pcs": n_pcs}
    settings |= {"batch_key": batch_key, "influence": influence}
    scores, names, parameters = _score(adata, groupby, **settings)
    target = adata.copy() if copy else adata
    _write(target, scores, names, parameters, key_added or groupby)
    return target if copy else None


def result(adata: Any, groupby: str, **settings: Any) -> AffinityResult:
    """Return trust in the labels of the cells as a result, with tables, pictures and a report; nothing is written.

    Parameters
    ----------
    adata, groupby, **settings
        As in :func:`trust`.

    Returns
    -------
    AffinityResult
        With the names of the cells as its index.
    """
    _check_anndata(adata, "result")
    return _score(adata, groupby, **settings)[0]


def report(
    adata: Any, groupby: str, path: Any = None, *, basis: str | None = None, title: str | None = None, **settings: Any
) -> Any:
    """Write a report on the labels of the cells, with a map and the genes that separate the clusters.

    Parameters
    ----------
    adata, groupby
        As in :func:`trust`.
    path
        The file to write; None to show the page in a notebook.
    basis
        The coordinates of the map, such as "umap" for ``obsm["X_umap"]``. By default UMAP, t-SNE or principal
        components, whichever exists.
    title
        The heading of the page.
    **settings
        As in :func:`trust`.

    Returns
    -------
    Path or page
        The path of the file; without ``path``, an object that notebooks display.
    """
    _check_anndata(adata, "report")
    key = next((name for name in _MAPS if name in adata.obsm), None)
    if basis is not None:
        key = f"X_{basis}" if f"X_{basis}" in adata.obsm else basis
        _entry(adata.obsm, key, "basis", "adata.obsm")
    scores = result(adata, groupby, **settings)
    # Genes describe the clusters and the doubtful cells, if they are in memory.
    genes = None if adata.isbacked else adata.X
    return scores.report(
        path,
        genes,
        ids=adata.obs_names,
        map=None if key is None else np.asarray(adata.obsm[key])[:, :2],
        feature_names=None if genes is None else adata.var_names,
        title=title or f"Clusters of cells: {groupby}",
    )


def resolution_curve(
    adata: Any,
    resolutions: Iterable[float] = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0),
    *,
    clusterer: Any = None,
    use_rep: str | None = None,
    layer: str | None = None,
    n_pcs: int | None = None,
    n_references: int = 5,
    **settings: Any,
) -> StabilityCurve:
    """Measure replication at each resolution of Leiden clustering, and in unclustered data.

    Coarser clusterings nearly always replicate better, so do not choose the largest value. The suggestion is the finest
    resolution that replicates as well as the coarser ones and clearly better than unclustered data. If it is None, no
    resolution stands out.

    Parameters
    ----------
    adata
        The annotated data.
    resolutions
        The resolutions to try.
    clusterer
        ``Leiden`` or ``Louvain`` with other parameters, or a clusterer with a parameter ``resolution``. By
        default Leiden with the neighbors that scanpy recorded.
    use_rep, layer, n_pcs
        The matrix to cluster, as in :func:`trust`.
    n_references
        Number of draws of data without clusters.
    **settings
        Further parameters of :func:`allegiance.stability_curve`, such as ``n_resamples`` and ``random_state``. Here
        ``n_jobs`` is 1: igraph has one random generator, so Leiden and Louvain are not reproducible with more.

    Returns
    -------
    StabilityCurve
        With ``suggestion``, ``frame()`` and ``plot()``.

    Examples
    --------
    For cells with principal components::

        curve = al.resolution_curve(adata, [0.1, 0.3, 0.6, 1.0])
        curve.plot()
        curve.frame()
    """
    _check_anndata(adata, "resolution_curve")
    clusterer = Leiden(**_neighbor_settings(adata)) if clusterer is None else clusterer
    rows = dense(_find_matrix(adata, use_rep, layer, n_pcs)[0])
    settings = {"n_references": n_references, "n_jobs": 1} | settings
    return stability_curve(rows, clusterer, resolutions, param="resolution", **settings)


def split_and_merged(
    adata: Any,
    groupby: str,
    *,
    clusterer: Any = None,
    use_rep: str | None = None,
    layer: str | None = None,
    n_pcs: int | None = None,
    **settings: Any,
) -> Any:
    """List clusters of cells that are over-split, or that merge several groups, by re-clustering subsamples.

    Two clusters are over-split if neither replicates, but their union does. A cluster is merged if it replicates as the
    same two or more pieces each time. Groups that every replicate merges cannot be detected: compare with a finer
    resolution.

    Parameters
    ----------
    adata, groupby, clusterer, use_rep, layer, n_pcs
        As in :func:`trust`. The clusterer that made the labels must be known.
    **settings
        ``n_resamples`` (20), ``random_state`` (0) and ``verbose``.

    Returns
    -------
    DataFrame
        One row per cluster: ``cluster``, ``points``, ``jaccard`` (the median index with the most similar new
        cluster), ``problem`` ("over-split", "merged" or ""), ``partner`` and ``jaccard_together``.

    Examples
    --------
    For cells that scanpy has clustered::

        table = al.split_and_merged(adata, "leiden")
        table[table["problem"] != ""]
    """
    _check_anndata(adata, "split_and_merged")
    codes, names = _find_groups(adata, groupby)
    clusterer = recorded_clusterer(adata, groupby) if clusterer is None else clusterer
    if clusterer is None:
        raise ValueError(
            f"uns does not record the clusterer of the labels {groupby!r}. Pass clusterer=, such as Leiden(0.5)."
        )
    rows = dense(_find_matrix(adata, use_rep, layer, n_pcs)[0])
    table = applications.split_and_merged(rows, codes, clusterer, **{"n_jobs": 1, **settings})
    table["partner"] = ["" if code == "" else names[int(code)] for code in table["partner"]]
    return table.assign(cluster=names[table["cluster"]])


def _score(
    adata: Any,
    groupby: str,
    *,
    clusterer: Any = None,
    use_rep: str | None = None,
    layer: str | None = None,
    n_pcs: int | None = None,
    batch_key: str | None = None,
    influence: Any = "within",
    n_resamples: int | None = None,
    **settings: Any,
) -> tuple[AffinityResult, AnyArray, dict[str, Any]]:
    """Score the cells; return the result, the categories, and the parameters of the run."""
    rows, name = _find_matrix(adata, use_rep, layer, n_pcs)
    codes, names = _find_groups(adata, groupby)
    clusterer = recorded_clusterer(adata, groupby) if clusterer is None else clusterer
    batches = None if batch_key is None else _find_batches(adata, batch_key)
    calibration = Calibration(n_resamples, clusterer=clusterer, groups=batches)
    scorer = AffinityScorer(influence=influence, calibration=calibration, **settings)
    scores = scorer.fit_affinity(rows, codes)
    label = np.where(scores._noise, _NOISE, names[np.maximum(codes, 0)])
    scores = replace(
        scores,
        classes=names[scores.classes],
        label=label,
        _frame_like=FrameLike(index=adata.obs_names),
        _own_drivers=Lazy(lambda: _gene_drivers(adata, label)),
    )
    parameters = scorer.get_params(deep=False) | {
        "groupby": groupby,
        "matrix": name,
        "n_columns": rows.shape[1],
        "n_resamples": n_resamples,
        "batch_key": batch_key,
        "clusterer": "stand-in" if clusterer is None else clusterer,
        "seed": scores._measurement.seed,
    }
    del parameters["calibration"]
    # Files store texts and numbers.
    plain = (bool, int, float, str)
    kept = {name: value for name, value in parameters.items() if value is not None}
    return scores, names, {name: value if isinstance(value, plain) else repr(value) for name, value in kept.items()}


def recorded_clusterer(adata: Any, groupby: str) -> Any:
    """Return the clusterer that made labels, with the settings that scanpy recorded in ``uns``.

    Parameters
    ----------
    adata
        The annotated data.
    groupby
        The key of ``uns`` under which ``scanpy.tl.leiden`` or ``scanpy.tl.louvain`` recorded them: its ``key_added``.

    Returns
    -------
    Leiden, Louvain or None
        None if nothing is recorded, or if igraph is not installed.

    Examples
    --------
    For cells that scanpy has clustered::

        al.recorded_clusterer(adata, "leiden")
    """
    resolution = read_record(adata, groupby, "resolution")
    if resolution is None or find_spec("igraph") is None:
        return None
    n_iterations = read_record(adata, groupby, "n_iterations")
    settings = {"resolution": resolution, **_neighbor_settings(adata)}
    return Louvain(**settings) if n_iterations is None else Leiden(n_iterations=n_iterations, **settings)


def _neighbor_settings(adata: Any) -> dict[str, Any]:
    """Return the parameters of scanpy's neighbor graph, as far as they are recorded."""
    settings = {name: read_record(adata, "neighbors", name) for name in ("n_neighbors", "metric")}
    return {name: value for name, value in settings.items() if value is not None}


def _gene_drivers(adata: Any, labels: AnyArray) -> Drivers:
    """Find the genes that separate the clusters, among the highly variable ones if they are marked."""
    chosen = adata.var["highly_variable"].to_numpy(dtype=bool) if "highly_variable" in adata.var else slice(None)
    values = adata.X[:]
    genes = values.tocsc()[:, chosen].tocsr() if is_sparse(values) else np.asarray(values)[:, chosen]
    return drivers(labels, genes, names=[str(name) for name in adata.var_names[chosen]], ids=adata.obs_names)


def write_result(adata: Any, scores: AffinityResult, groupby: str, **parameters: Any) -> None:
    """Write a result of the command line to AnnData as :func:`trust` does; its labels, too, if ``obs`` lacks them."""
    pandas = require("pandas", "anndata", "allegiance.anndata")
    if groupby not in adata.obs:
        adata.obs[groupby] = pandas.Categorical([str(name) for name in scores.label])
    names = _find_groups(adata, groupby)[1]
    own = Lazy(lambda: _gene_drivers(adata, scores.label))
    scores = replace(scores, classes=scores.classes.astype(str), _own_drivers=own)
    _write(adata, scores, names, {"groupby": groupby, **parameters}, groupby)


def _write(adata: Any, scores: AffinityResult, names: AnyArray, parameters: dict[str, Any], key: str) -> None:
    """Write a result to AnnData, in types that h5ad and zarr support."""
    pandas = require("pandas", "anndata", "allegiance.anndata")
    # Legends list all categories, so there is none for noise without noise.
    colors = {name: color for name, color in _VERDICT_COLORS.items() if name != "noise" or scores._noise.any()}
    labels = parameters["groupby"]
    adata.obs[f"{key}_trust"] = scores.trust
    adata.obs[f"{key}_verdict"] = pandas.Categorical(scores.verdict, categories=list(colors))
    adata.obs[f"{key}_rival"] = pandas.Categorical(scores.rival, categories=names)
    adata.obsm[f"{key}_affinity"] = scores.affinity
    adata.uns[f"{key}_verdict_colors"] = list(colors.values())
    if len(adata.uns.get(f"{labels}_colors", [])) == names.size:
        adata.uns[f"{key}_rival_colors"] = list(adata.uns[f"{labels}_colors"])
    # The last row is noise, which is not a cluster.
    table = scores.by_cluster().iloc[: scores.classes.size]
    table["rival"] = ["" if pandas.isna(name) else str(name) for name in table["rival"]]
    installed = {name: version(name) for name in ("allegiance", "scanpy", "anndata") if find_spec(name)}
    genes = (
        {}
        if adata.isbacked or adata.X is None
        else {"genes": scores.drivers().columns.head(_MAX_GENES).rename(columns={"column": "gene"})}
    )
    adata.uns[f"{key}_allegiance"] = {
        "params": parameters,
        **genes,
        # The columns of the affinities.
        "clusters": np.array(scores.classes, dtype=object),
        "by_cluster": table.set_index("cluster").reindex(scores.classes),
        "replication": float(scores.replication),
        "replication_interval": np.array(scores.replication_interval),
        "note": " ".join([scores.summary().note, *scores.summary().problems]),
        "versions": installed,
    }


def _check_anndata(adata: Any, caller: str) -> None:
    """Raise unless this is an AnnData object."""
    if not all(hasattr(adata, part) for part in ("obs", "obsm", "uns", "layers")):
        raise TypeError(
            f"{caller} needs an AnnData object, got {type(adata).__name__}. For a matrix and labels call "
            "allegiance.trust(X, labels)."
        )


def _entry(table: Any, key: str, argument: str, where: str) -> Any:
    """Return an entry of a part of the AnnData object, or name those with similar keys."""
    if key in table:
        return table[key]
    known = [str(name) for name in table if name is not None]  # newer versions list X as the layer None
    close = get_close_matches(str(key), known, 3, 0.4)
    hint = f"Did you mean {' or '.join(map(repr, close))}?" if close else f"It has {', '.join(known[:8]) or 'none'}."
    raise KeyError(f"{argument}={key!r} is not in {where}. {hint}")


def _find_groups(adata: Any, groupby: str) -> tuple[IntArray, AnyArray]:
    """Return the number (n,) of each cell's category, -1 without one, and the categories as text, in their order.

    Missing values, and the category "-1", are cells of no cluster.
    """
    pandas = require("pandas", "anndata", "allegiance.anndata")
    column = _entry(adata.obs, groupby, "groupby", "adata.obs")
    if column.dtype.kind == "f" and not (column.dropna() == column.dropna().round()).all():
        raise TypeError(f"adata.obs[{groupby!r}] contains fractional numbers. groupby must name clusters.")
    if column.dtype.kind in "iuf" and (n_values := column.nunique()) > max(_MAX_NUMERIC_CLUSTERS, len(column) // 20):
        raise ValueError(
            f"adata.obs[{groupby!r}] has {n_values} different numbers, so it is probably not a clustering. If it is, "
            f"pass it as categories: adata.obs[{groupby!r}].astype('category')."
        )
    categories = column if isinstance(column.dtype, pandas.CategoricalDtype) else column.astype("category")
    names = np.array([str(name) for name in categories.cat.categories])
    codes = categories.cat.codes.to_numpy().astype(np.int64)
    if _NOISE in names:
        codes = np.where(codes == int(np.flatnonzero(names == _NOISE)[0]), -1, codes)
    if not (codes >= 0).any():
        raise ValueError(f"adata.obs[{groupby!r}] has no cell in a cluster: every label is missing or '-1'.")
    return codes, names


def _find_batches(adata: Any, batch_key: str) -> AnyArray:
    """Return the batch (n,) of each cell."""
    column = _entry(adata.obs, batch_key, "batch_key", "adata.obs")
    if column.isna().any():
        raise ValueError(f"adata.obs[{batch_key!r}] has missing values. batch_key must name the batch of every cell.")
    if column.nunique() < 2:
        raise ValueError(f"adata.obs[{batch_key!r}] has only one batch, but batch_key needs several: leave it out.")
    return column.astype(str).to_numpy()


def _find_matrix(adata: Any, use_rep: str | None, layer: str | None, n_pcs: int | None) -> tuple[Any, str]:
    """Return the matrix of the AnnData object to use, in memory, and its name.

    By default the matrix from which scanpy computed the neighbors, else X_pca, else X.
    """
    if layer is not None and use_rep is not None:
        raise ValueError(f"pass use_rep={use_rep!r} or layer={layer!r}, not both: they name the matrix to use.")
    if use_rep is None and layer is None:
        used = read_record(adata, "neighbors", "use_rep")
        use_rep = used if used in adata.obsm else _PCA if _PCA in adata.obsm else "X"
        n_pcs = read_record(adata, "neighbors", "n_pcs") if n_pcs is None and use_rep == _PCA else n_pcs
    if layer is not None:
        name, values = f"layers[{layer!r}]", _entry(adata.layers, layer, "layer", "adata.layers")
    elif use_rep == "X":
        name, values = "X", adata.X
    else:
        name, values = str(use_rep), _entry(adata.obsm, str(use_rep), "use_rep", "adata.obsm")
    if values is None:
        raise ValueError(f"adata has no {name}. Pass use_rep=, a key of adata.obsm, or layer=.")
    values = values.to_numpy() if hasattr(values, "to_numpy") else values[:]
    values = values if is_sparse(values) else np.asarray(values)
    if n_pcs is not None and not 0 < n_pcs <= values.shape[1]:
        raise ValueError(f"n_pcs must be from 1 to {values.shape[1]}, the columns of {name}, got {n_pcs!r}.")
    return values[:, :n_pcs], name


def read_record(adata: Any, key: str, name: str) -> Any:
    """Return a parameter of ``uns[key]["params"]``, which old files hold as an array of one; None if it is missing."""
    record = adata.uns.get(key, {})
    params = record.get("params", {}) if hasattr(record, "get") else {}
    value = params.get(name) if hasattr(params, "get") else None
    return None if value is None else np.asarray(value).ravel()[0].item()
