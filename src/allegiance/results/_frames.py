"""Results in the kind of frame that the data came in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from allegiance._core import AnyArray, IntArray, require


@dataclass(frozen=True)
class FrameLike:
    """The library of a frame and, for pandas, its index; nothing else of it is kept."""

    backend: Any = None
    index: Any = None

    @classmethod
    def of(cls, X: Any) -> FrameLike:
        """Remember what kind of frame X is; anything that is not a dataframe is treated as pandas."""
        frame = nw.from_native(X, pass_through=True, eager_only=True)
        if not isinstance(frame, nw.DataFrame):
            return cls()
        return cls(frame.implementation, nw.maybe_get_index(frame))

    def build(self, columns: dict[str, AnyArray]) -> Any:
        """Build a frame of this kind, and with its index, from arrays of equal length."""
        if self.backend is None:
            return require("pandas", "pandas", "a table").DataFrame(columns, index=self.index)
        native = nw.from_dict(columns, backend=self.backend).to_native()
        if self.index is not None:
            native.index = self.index
        return native

    def without_index(self) -> FrameLike:
        """Return the same kind of frame for other rows than those of X."""
        return FrameLike(self.backend)

    def build_rows(self, rows: IntArray, columns: dict[str, AnyArray]) -> Any:
        """Build a frame of some rows of X: with their index, or where frames have none with a column ``row``."""
        if self.index is not None:
            return FrameLike(self.backend, self.index[rows]).build(columns)
        if self.backend is None:
            return FrameLike(index=np.asarray(rows)).build(columns)
        return self.build({"row": rows} | columns)

    def row_name(self, row: int) -> Any:
        """Return what the user calls a row: its index, or its number."""
        return row if self.index is None else self.index[row]
