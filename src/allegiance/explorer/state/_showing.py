"""What shows a point to a person besides its numbers: its text and its picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from allegiance._core import AnyArray
from allegiance.report import check_images, encode_pictures


@dataclass(frozen=True, eq=False)
class Showing:
    """Texts (n,) and pictures (n, h, w) or (n, h, w, 3) of points; None for what there is not."""

    texts: Sequence[str] | None = None
    images: AnyArray | None = None

    @classmethod
    def of(cls, texts: Any, images: Any, n_points: int) -> Showing:
        """Check what a user passes."""
        if isinstance(texts, str):
            raise TypeError("texts must be one text for each point, got a single string.")
        if texts is not None and len(texts) != n_points:
            raise ValueError(f"texts has {len(texts)} entries but there are {n_points} points: pass one for each.")
        return cls(None if texts is None else [str(text) for text in texts], check_images(images, n_points))

    def text(self, row: int) -> str | None:
        """Return the text of a point."""
        return None if self.texts is None else self.texts[row]

    def picture(self, row: int) -> str | None:
        """Return the picture of a point as a PNG file in base64."""
        if self.images is None:
            return None
        found = encode_pictures(self.images, np.array([row]))
        return found[0] if found else None
