"""trust: the chance that the label of each cell holds."""

from __future__ import annotations

from typing import Any

from allegiance._core import check_count
from allegiance._scorer import AffinityScorer
from allegiance.calibration import Calibration
from allegiance.results import AffinityResult

from ._groups import check_anndata, find_groups
from ._leiden import Leiden
from ._matrix import find_matrix
from ._record import record
from ._score import score

#: Cells of a backed object in memory at a time.
_CHUNK = 20_000


def trust(
    adata: Any,
    groupby: str,
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    n_pcs: int | None = None,
    recluster: Any = None,
    influence: Any = "within",
    key_added: str | None = None,
    copy: bool = False,
    chunk_size: int = _CHUNK,
    **settings: Any,
) -> Any:
    """Say which labels of the cells can be trusted, and write it next to them.

    Parameters
    ----------
    adata
        The annotated data; may be backed, and is then read in chunks.
    groupby
        The column of ``obs`` that holds the labels, such as "leiden". Missing values, and the category "-1", are cells
        of no cluster.
    use_rep
        The key of ``obsm`` that holds what was clustered, or "X". By default "X_pca", or X if there is none.
    layer
        A layer to use instead.
    n_pcs
        How many columns of it to use, as in scanpy's ``pp.neighbors``; None for all.
    recluster
        What halves of the cells are clustered anew with: None for k-means; "leiden", with the resolution and the number
        of neighbours that scanpy recorded (needs scanpy and igraph); or a scikit-learn clusterer.
    influence
        What closeness means, as in :func:`allegiance.trust`.
    key_added
        What the names below start with, instead of ``groupby``.
    copy
        Return a changed copy instead of changing ``adata``.
    chunk_size
        Cells in memory at a time, if the matrix is on disk.
    **settings
        Further parameters of :func:`allegiance.trust`, such as ``n_resamples``, ``eps``, ``random_state``, ``n_jobs``.

    Returns
    -------
    AnnData or None
        The copy, with ``copy=True``. Fields, for groupby="leiden":

        ``.obs["leiden_trust"]``
            The chance that the label holds; NaN for cells of no cluster.
        ``.obs["leiden_verdict"]``
            "supported", "contested", "contradicted" or "noise".
        ``.obs["leiden_rival"]``
            The best other cluster, with the categories of the labels.
        ``.obsm["leiden_affinity"]``
            Affinity to each cluster, columns in the order of the categories that have cells.
        ``.uns["leiden_allegiance"]``
            Settings, the expected share of right labels with its interval, a table by cluster.

    See Also
    --------
    result : The same as an object with tables and pictures.

    Examples
    --------
    For cells that scanpy has clustered::

        import allegiance.anndata as al

        al.trust(adata, groupby="leiden", use_rep="X_pca")
        adata.obs["leiden_trust"]
        al.pl.umap(adata, groupby="leiden")
    """
    check_anndata(adata, "trust")
    if copy and adata.isbacked:
        raise ValueError("copy=True needs an AnnData object in memory: call adata.to_memory() first.")
    options = {"use_rep": use_rep, "layer": layer, "n_pcs": n_pcs, "recluster": recluster, "influence": influence}
    found = result(adata, groupby, **options, chunk_size=chunk_size, **settings)
    target = adata.copy() if copy else adata
    recorded = {name: _plain(value) for name, value in (options | settings).items()}
    recorded |= {"groupby": groupby, "matrix": find_matrix(adata, use_rep, layer, n_pcs).name}
    record(target, found, find_groups(adata, groupby), groupby, key_added or groupby, recorded)
    return target if copy else None


def result(
    adata: Any,
    groupby: str,
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    n_pcs: int | None = None,
    recluster: Any = None,
    influence: Any = "within",
    chunk_size: int = _CHUNK,
    **settings: Any,
) -> AffinityResult:
    """Return trust in the labels of the cells as a result, with tables, pictures and a report; nothing is written.

    Parameters
    ----------
    adata, groupby, use_rep, layer, n_pcs, recluster, influence, chunk_size, **settings
        As in :func:`trust`.

    Returns
    -------
    AffinityResult
        With the names of the cells as its index.
    """
    check_anndata(adata, "result")
    groups, matrix = find_groups(adata, groupby), find_matrix(adata, use_rep, layer, n_pcs)
    calibration = Calibration(
        settings.pop("n_resamples", 20),
        clusterer=_clusterer(recluster, adata, groupby),
        crowding=settings.pop("crowding", 0.25),
    )
    scorer = AffinityScorer(influence=influence, calibration=calibration, **settings)
    return score(scorer, matrix, groups, adata.obs_names, check_count(chunk_size, "chunk_size"))


def _clusterer(recluster: Any, adata: Any, groupby: str) -> Any:
    if isinstance(recluster, str):
        if recluster != "leiden":
            raise ValueError(f"recluster must be None for k-means, 'leiden' or a clusterer, got {recluster!r}.")
        return Leiden.like(adata, groupby)
    return recluster


def _plain(value: Any) -> Any:
    """Return a setting as files can store it."""
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)
