"""report: the page of the labels of the cells."""

from __future__ import annotations

from typing import Any

from ._groups import check_anndata
from ._trust import result

#: Coordinates that the map shows, the first that there are.
_MAPS = ("X_umap", "X_tsne", "X_draw_graph_fa", "X_pca")


def report(
    adata: Any, groupby: str, path: Any = None, *, basis: str | None = None, title: str | None = None, **settings: Any
) -> Any:
    """Write the report of the labels of the cells: on the map that they are known by, with the genes that differ.

    Parameters
    ----------
    adata, groupby
        As in :func:`trust`.
    path
        The file to write; None to show the page in a notebook.
    basis
        The key of ``obsm`` that holds the coordinates of the map, such as "X_umap". By default UMAP, t-SNE or principal
        components, whichever there is.
    title
        The heading of the page.
    **settings
        As in :func:`trust`.

    Returns
    -------
    Path or page
        Where it was written; without ``path`` what a notebook shows.
    """
    check_anndata(adata, "report")
    shown = basis or next((name for name in _MAPS if name in adata.obsm), None)
    if shown is not None and shown not in adata.obsm:
        raise KeyError(f"basis must be a key of adata.obsm ({', '.join(map(repr, adata.obsm))}), got {shown!r}.")
    found = result(adata, groupby, **settings)
    # Genes describe the clusters and the doubtful cells, if they are in memory.
    genes = None if adata.isbacked else adata.X
    return found.report(
        path,
        genes,
        ids=adata.obs_names,
        coordinates=None if shown is None else adata.obsm[shown][:, :2],
        feature_names=None if genes is None else adata.var_names,
        title=title or f"Clusters of cells: {groupby}",
    )
