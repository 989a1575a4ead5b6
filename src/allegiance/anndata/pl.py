"""Pictures of the labels of cells, drawn by scanpy."""

from __future__ import annotations

from typing import Any

from allegiance._core.validation import require

__all__ = ["embedding", "umap"]


def umap(adata: Any, groupby: str, **kw: Any) -> Any:
    """Draw groups, trust and verdicts on the UMAP; see :func:`~allegiance.anndata.pl.embedding`.

    Parameters
    ----------
    adata, groupby, **kw
        As in :func:`~allegiance.anndata.pl.embedding`.
    """
    return embedding(adata, "umap", groupby, **kw)


def embedding(adata: Any, basis: str, groupby: str, *, key_added: str | None = None, **kw: Any) -> Any:
    """Draw the cells three times: by group, by trust and by verdict. Call :func:`allegiance.anndata.trust` first.

    Parameters
    ----------
    adata
        The annotated data.
    basis
        The coordinates, such as "umap" for ``obsm["X_umap"]``.
    groupby
        The labels.
    key_added
        As it was passed to :func:`allegiance.anndata.trust`.
    **kw
        As in ``scanpy.pl.embedding``, such as ``color``, ``show`` and ``save``.

    Returns
    -------
    Axes or None
        What ``scanpy.pl.embedding`` returns: the axes with ``show=False``, else None.
    """
    scanpy = require("scanpy", "anndata", "allegiance.anndata.pl")
    key = key_added or groupby
    if f"{key}_trust" not in adata.obs:
        raise KeyError(
            f"adata.obs has no {key + '_trust'!r}: call allegiance.anndata.trust(adata, groupby={groupby!r}) first."
        )
    shown: dict[str, Any] = {
        "color": [groupby, f"{key}_trust", f"{key}_verdict"],
        "color_map": "viridis",
        "vmin": 0.0,
        "vmax": 1.0,
        # The names of the groups stand between the pictures.
        "wspace": 0.1 + 0.018 * max(len(str(name)) for name in adata.obs[groupby].unique()),
    }
    return scanpy.pl.embedding(adata, basis, **shown | kw)
