"""Cosine distance: Euclidean distance between rows of length one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from allegiance._core import FloatArray, Rows, is_sparse, row_dots

from ._diagram import Diagram, Located
from ._euclidean import Euclidean
from ._influence import INFLUENCES, Influence, Training

#: Rows converted to float64 at a time.
_CHUNK = 2048


@INFLUENCES.register("cosine")
@dataclass(frozen=True, eq=False, repr=False)
class Cosine(Influence):
    """Euclidean distance after every row is divided by its length, so that only directions count: for embeddings.

    Between rows of length one the squared distance is 2 (1 - cosine). Clusters are represented by the means of such
    rows, as in k-means of normalised rows; ``centers`` that are given are divided by their length too. A row of zeros
    has no direction: it stays at the origin, where its cosine with everything is 0, as in scikit-learn.
    ``Kernel("cosine")`` is the same distance from sums over all pairs of rows: use this one.

    Examples
    --------
    >>> from allegiance import Cosine, affinity
    >>> documents = [[3, 0, 1], [9, 1, 2], [0, 5, 1], [1, 9, 0]]
    >>> affinity(documents, ["sports", "sports", "news", "news"], influence=Cosine()).owner
    array(['sports', 'sports', 'news', 'news'], dtype='<U6')
    """

    flat_sides: ClassVar[bool] = False

    def prepare(self, X: Rows, argument: str = "X") -> Rows:
        """Return rows (n, d) of length one; those of zeros stay."""
        if not is_sparse(X):
            return X / _lengths(X)[:, None].astype(X.dtype)
        X = sp.csr_array(X)
        entries = X.data / np.repeat(_lengths(X), np.diff(X.indptr)).astype(X.dtype)
        return sp.csr_array((entries, X.indices, X.indptr), shape=X.shape)

    def diagram(self, training: Training, *, keep_axes: bool) -> tuple[Diagram, Located | None]:
        """Return the Voronoi diagram of the means of the prepared rows."""
        return Euclidean().diagram(training, keep_axes=keep_axes)

    def describe(self) -> str:
        """Say in a few words what closeness means."""
        return "cosine"


def _lengths(X: Rows) -> FloatArray:
    """Return the length (n,) of each row, 1 for rows of zeros; squares neither overflow nor vanish."""
    largest = abs(X).max(axis=1)
    size = np.asarray(largest.toarray() if is_sparse(largest) else largest, dtype=np.float64).ravel()
    unit = np.where(size > 0, size, 1.0)
    squares = np.ones(size.size)
    for start in range(0, size.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        if is_sparse(X):
            shares = sp.diags_array(1.0 / unit[part]) @ X[part]
            squares[part] = shares.multiply(shares).sum(axis=1)
        else:
            shares = X[part] / unit[part, None]
            squares[part] = row_dots(shares, shares)
    return unit * np.sqrt(np.where(size > 0, squares, 1.0))
