"""The matrix of an AnnData object that was clustered, in memory or on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from allegiance._core import IntArray, is_sparse
from allegiance.fitting import Chunk
from allegiance.influence import AnySummary

#: Where scanpy keeps principal components, which most cells are clustered by.
_PCA = "X_pca"


@dataclass(frozen=True)
class Matrix:
    """Rows that belong to the cells, and where they were found."""

    values: Any
    """(n, d) array, sparse matrix, or a data set on disk with the same slices of rows."""
    name: str
    """Such as "X_pca"."""
    n_columns: int
    """How many of the columns are used: the first ones."""

    @property
    def on_disk(self) -> bool:
        """Whether rows are read when they are asked for."""
        return not isinstance(self.values, np.ndarray) and not is_sparse(self.values)

    def rows(self, part: slice) -> Any:
        """Return some rows, in memory."""
        values = self.values[part]
        values = values if is_sparse(values) else np.asarray(values)
        return values if values.shape[1] == self.n_columns else values[:, : self.n_columns]

    def parts(self, chunk_size: int) -> Iterator[slice]:
        """Yield parts of the rows, of this size at most."""
        n = self.values.shape[0]
        for start in range(0, n, chunk_size):
            yield slice(start, min(start + chunk_size, n))


def find_matrix(adata: Any, use_rep: str | None, layer: str | None, n_pcs: int | None) -> Matrix:
    """Return the matrix asked for: principal components by default, X if there are none.

    Parameters
    ----------
    adata
        The AnnData object.
    use_rep
        A key of ``obsm``, or "X".
    layer
        A key of ``layers``; not together with ``use_rep``.
    n_pcs
        How many of its columns to use; None for all.
    """
    if layer is not None and use_rep is not None:
        raise ValueError(f"pass use_rep={use_rep!r} or layer={layer!r}, not both: they name the matrix to use.")
    if layer is not None:
        name, values = f"layers[{layer!r}]", _entry(adata.layers, layer, "layer", "adata.layers")
    elif use_rep == "X" or (use_rep is None and _PCA not in adata.obsm):
        name, values = "X", adata.X
    else:
        name = _PCA if use_rep is None else use_rep
        values = _entry(adata.obsm, name, "use_rep", "adata.obsm, or 'X'")
    if values is None:
        raise ValueError(f"adata has no {name}: pass use_rep=, a key of adata.obsm, or layer=.")
    values = values.to_numpy() if hasattr(values, "to_numpy") else values
    n_columns = int(values.shape[1])
    if n_pcs is not None and not 0 < n_pcs <= n_columns:
        raise ValueError(f"n_pcs must be from 1 to {n_columns}, the columns of {name}, got {n_pcs!r}.")
    return Matrix(values, name, n_columns if n_pcs is None else int(n_pcs))


def _entry(table: Any, key: str, argument: str, where: str) -> Any:
    if key not in table:
        known = ", ".join(repr(name) for name in table) or "none"
        raise KeyError(f"{argument} must be a key of {where} ({known}), got {key!r}.")
    return table[key]


@dataclass(frozen=True)
class MatrixChunks:
    """Parts of a matrix on disk as the chunks that a fit goes through."""

    matrix: Matrix
    codes: IntArray
    chunk_size: int
    in_memory: bool = False
    labelled: bool = True

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return self.matrix.n_columns

    def total(self, summarise: Callable[[Chunk], AnySummary | None]) -> AnySummary:
        """Read the matrix once, and merge what each part gives."""
        total: AnySummary | None = None
        for part in self.matrix.parts(self.chunk_size):
            found = summarise(Chunk(self.matrix.rows(part), self.codes[part], part.start))
            if found is not None:
                total = found if total is None else total.plus(found)
        assert total is not None
        return total
