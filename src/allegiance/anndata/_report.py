"""report: the page of the labels of the cells."""

from __future__ import annotations

from typing import Any

from ._trust import result

#: Coordinates that the map shows, the first that there are.
_MAPS = ("X_umap", "X_tsne", "X_draw_graph_fa", "X_pca")


def report(
    adata: Any, groupby: str, path: Any = None, *, basis: str | None = None, title: str | None = None, **settings: Any
) -> Any:
    """Write the report of the labels of the cells, on the map that the cells are known by.

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
    """
    found = result(adata, groupby, **settings)
    shown = basis or next((name for name in _MAPS if name in adata.obsm), None)
    if shown is not None and shown not in adata.obsm:
        raise KeyError(f"basis must be a key of adata.obsm ({', '.join(map(repr, adata.obsm))}), got {shown!r}.")
    places = None if shown is None else adata.obsm[shown][:, :2]
    names = None if shown is None else [f"{shown.removeprefix('X_').upper()}{i}" for i in (1, 2)]
    heading = title or f"Clusters of cells: {groupby}"
    return found.report(path, places, ids=adata.obs_names, feature_names=names, title=heading)
