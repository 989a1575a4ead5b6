"""The labels of the cells: a column of ``obs``."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from allegiance._core import AnyArray, IntArray, require

#: The category by which clusterers such as HDBSCAN mark cells of no cluster.
_NOISE = "-1"


class Groups(NamedTuple):
    """Which group each cell is in."""

    codes: IntArray
    """(n,) number of its category, -1 for cells without one."""
    names: AnyArray
    """The categories as text, in their order, those without cells too."""


def check_anndata(adata: Any, caller: str) -> None:
    """Raise unless this is an AnnData object."""
    if not all(hasattr(adata, part) for part in ("obs", "obsm", "uns", "layers")):
        raise TypeError(
            f"{caller} needs an AnnData object, got {type(adata).__name__}: for a matrix and labels call "
            "allegiance.trust(X, labels)."
        )


def find_groups(adata: Any, groupby: str) -> Groups:
    """Return the groups of a column of ``obs``; missing values, and the category "-1", are cells of no cluster."""
    if groupby not in adata.obs:
        known = ", ".join(repr(str(name)) for name in adata.obs.columns) or "none"
        raise KeyError(f"groupby must be a column of adata.obs ({known}), got {groupby!r}.")
    pandas = require("pandas", "anndata", "allegiance.anndata")
    column = adata.obs[groupby]
    if column.dtype.kind == "f" and not (column.dropna() == column.dropna().round()).all():
        raise TypeError(f"adata.obs[{groupby!r}] holds numbers that are not whole: groupby names clusters.")
    categories = column if isinstance(column.dtype, pandas.CategoricalDtype) else column.astype("category")
    names = np.array([str(name) for name in categories.cat.categories])
    codes = categories.cat.codes.to_numpy().astype(np.int64)
    if _NOISE in names:
        codes = np.where(codes == int(np.flatnonzero(names == _NOISE)[0]), -1, codes)
    return Groups(codes, names)
