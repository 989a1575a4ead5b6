"""NumPy files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from allegiance._core import AnyArray, require
from allegiance.io import TableError

from ._source import Source

if TYPE_CHECKING:
    import pyarrow as pa


class ArraySource(Source):
    """Arrays of equal length side by side: the columns x0, x1, ... of a matrix, and vectors by their names.

    Parameters
    ----------
    path
        The file they come from.
    matrix
        (n, d) array, may be mapped from disk; None if there are only vectors.
    vectors
        (n,) arrays by name.
    """

    has_names = False

    def __init__(self, path: str, matrix: AnyArray | None, vectors: dict[str, AnyArray]) -> None:
        self._matrix = matrix
        self._vectors = vectors
        width = 0 if matrix is None else matrix.shape[1]
        self._positions = {f"x{column}": column for column in range(width)}
        super().__init__(path, [path], [*self._positions, *vectors])
        self._n_rows = matrix.shape[0] if matrix is not None else next(iter(vectors.values())).shape[0]

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self._n_rows)

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._batch(self.names, 0, 0).schema

    def _batch(self, columns: list[str], start: int, stop: int) -> pa.RecordBatch:
        arrow = require("pyarrow", "io", "reading tables")
        block = None if self._matrix is None else np.asarray(self._matrix[start:stop])
        arrays = []
        for name in columns:
            if name in self._vectors:
                values: Any = self._vectors[name][start:stop]
            else:
                assert block is not None
                values = block[:, self._positions[name]]
            arrays.append(arrow.array(np.ascontiguousarray(values)))
        return arrow.RecordBatch.from_arrays(arrays, names=columns)

    def _chunks(self, columns: list[str], start: int, rows: int) -> Iterator[pa.RecordBatch]:
        for first in range(start, self.n_rows, rows):
            yield self._batch(columns, first, min(first + rows, self.n_rows))


def open_npy(path: str) -> ArraySource:
    """Return the array of an .npy file, left on disk."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise TableError(f"{path} is not an .npy file of numbers. {error}") from error
    if not isinstance(array, np.ndarray):
        raise TableError(f"{path} holds several arrays: name it .npz.")
    return ArraySource(path, _as_matrix(array, path), {})


def open_npz(path: str, key: str | None) -> ArraySource:
    """Return the arrays of an .npz file, or the one called ``key``. They are loaded into memory."""
    import zipfile

    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in ([key] if key else archive.files)}
    except KeyError as error:
        raise TableError(f"{path} has no array {key!r}.") from error
    except (ValueError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise TableError(f"{path} is not an .npz file of numbers. {error}") from error
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    vectors = {name: _checked(array, path) for name, array in arrays.items() if array.ndim == 1}
    lengths = {array.shape[0] if array.ndim else 0 for array in arrays.values()}
    if len(arrays) == 1:
        return ArraySource(path, _as_matrix(next(iter(arrays.values())), path), {})
    if len(matrices) > 1 or len(lengths) != 1 or len(matrices) + len(vectors) != len(arrays):
        listed = ", ".join(arrays) or "none"
        raise TableError(
            f"{path} must hold one matrix, and perhaps vectors of the same length; its arrays are: {listed}. "
            f"Name one of them as {path}:NAME."
        )
    matrix = _checked(arrays[matrices[0]], path) if matrices else None
    return ArraySource(path, matrix, vectors)


def _as_matrix(array: AnyArray, path: str) -> AnyArray:
    _checked(array, path)
    if array.ndim == 1:
        return array[:, None]
    if array.ndim != 2:
        raise TableError(
            f"{path} holds an array of shape {array.shape}: one row per point is needed, so two dimensions."
        )
    return array


def _checked(array: AnyArray, path: str) -> AnyArray:
    if array.dtype.kind not in "biufUS":
        raise TableError(f"{path} holds an array of dtype {array.dtype}: numbers or text are needed.")
    return array
