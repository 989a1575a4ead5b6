"""What shows a point to a person besides its numbers: its text and its image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from allegiance.report import Images, Texts, check_images, check_texts

#: Longest side of the image of the point that is looked at, and of those beside it.
LARGE, SMALL = 320, 64


@dataclass(frozen=True, eq=False)
class Showing:
    """Texts and images of points; None for what there is not."""

    texts: Texts | None = None
    images: Images | None = None

    @classmethod
    def of(cls, texts: Any, images: Any, n_points: int, **where: Any) -> Showing:
        """Check what a user passes; for ``where`` see :func:`allegiance.report.check_images`."""
        return cls(check_texts(texts, n_points), check_images(images, n_points, **where))

    def text(self, row: int, length: int) -> str:
        """Return the text of a point, cut to a length; empty if there is none."""
        return "" if self.texts is None else self.texts.excerpt(row, length)

    def image(self, row: int, longest: int) -> str | None:
        """Return the image of a point as a data address, or None; a file that cannot be read shows nothing."""
        if self.images is None:
            return None
        try:
            found = self.images.thumbnail(row, longest)
        except ValueError:
            return None
        return None if found is None else found.data_uri
