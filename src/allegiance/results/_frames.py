"""Results in the kind of frame that the data came in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw

from allegiance._core._extras import require
from allegiance._core._typing import AnyArray


@dataclass(frozen=True)
class FrameLike:
    """The library of a frame and, for pandas, its index; nothing else of it is kept."""

    backend: Any = None
    index: Any = None

    @classmethod
    def of(cls, X: Any) -> FrameLike:
        """Remember what kind of frame X is; anything that is no frame counts as pandas."""
        frame = nw.from_native(X, pass_through=True, eager_only=True)
        if not isinstance(frame, nw.DataFrame):
            return cls()
        return cls(frame.implementation, nw.maybe_get_index(frame))

    def build(self, columns: dict[str, AnyArray]) -> Any:
        """Build a frame of this kind from arrays of equal length."""
        if self.backend is None:
            return require("pandas", "pandas", "to_frame()").DataFrame(columns)
        native = nw.from_dict(columns, backend=self.backend).to_native()
        if self.index is not None:
            native.index = self.index
        return native
