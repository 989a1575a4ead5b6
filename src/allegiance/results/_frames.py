"""Frames like those of the user: the same library and, for pandas, the same index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from allegiance._core.validation import AnyArray, IntArray, require


@dataclass(frozen=True)
class FrameLike:
    """The library of a frame and, for pandas, its index."""

    backend: Any = None
    index: Any = None

    @classmethod
    def of(cls, X: Any) -> FrameLike:
        """Return the kind of frame of X; anything that is not a dataframe counts as pandas."""
        frame = nw.from_native(X, pass_through=True, eager_only=True)
        if not isinstance(frame, nw.DataFrame):
            return cls()
        return cls(frame.implementation, nw.maybe_get_index(frame))

    def build(self, columns: dict[str, AnyArray]) -> Any:
        """Build a frame of this kind, with its index, from columns of equal length."""
        if self.backend not in (None, nw.Implementation.PANDAS):
            native = nw.from_dict(columns, backend=self.backend).to_native()
            if self.index is not None:
                native.index = self.index
            return native
        pandas = require("pandas", "io", "a table")
        # Integers stay integers although some are missing.
        whole = {name: pandas.array(values, dtype="Int64") for name, values in columns.items() if _has_gaps(values)}
        return pandas.DataFrame({**columns, **whole}, index=self.index)

    def without_index(self) -> FrameLike:
        """Return the same kind of frame, for rows that are not those of X."""
        return FrameLike(self.backend)

    def build_rows(self, rows: IntArray, columns: dict[str, AnyArray]) -> Any:
        """Build a frame of some rows of X, with their index or, for frames without one, a column ``row``."""
        if self.index is not None:
            return FrameLike(self.backend, self.index[rows]).build(columns)
        if self.backend is None:
            return FrameLike(index=np.asarray(rows)).build(columns)
        return self.build({"row": rows} | columns)

    def row_name(self, row: int) -> Any:
        """Return the index entry of a row, or its number."""
        return row if self.index is None else self.index[row]


def _has_gaps(values: Any) -> bool:
    """Return whether a column of a frame is a list that contains integers and None."""
    return isinstance(values, list) and {type(value) for value in values} == {int, type(None)}
