"""The pictures behind the points: read when they are needed, and made small."""

from __future__ import annotations

import base64
import io
import os
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from allegiance._core.validation import AnyArray, is_missing, one_for_each, require

#: Longest side of an image on a page, in pixels.
THUMBNAIL = 96
#: What files may contain. Formats that are programs, such as PostScript, are not opened.
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF")
#: Entries of an array of images looked at together.
_BLOCK = 4_000_000


class Images:
    """One image for each point: an array of pixels, which may be on disk (``numpy.memmap``), or paths of files.

    Bytes are taken as they are; other numbers are stretched between the smallest and the largest of all images.
    """

    def __init__(self, source: AnyArray | list[Path | None]) -> None:
        self._source = source

    def thumbnail(self, row: int, longest: int = THUMBNAIL) -> str | None:
        """Return the image of a point with at most ``longest`` pixels a side as a data URI; None if it has none."""
        entry = self._source[row]
        if entry is None:
            return None
        kind = "png"
        if isinstance(entry, Path):
            image, kind = _read_file(entry, row, longest)
        else:
            image = _pillow().fromarray(self._stretched(entry))
            image.thumbnail((longest, longest))
        file = io.BytesIO()
        image.save(file, kind, optimize=True, **({"quality": 80} if kind == "jpeg" else {}))
        return f"data:image/{kind};base64,{base64.b64encode(file.getvalue()).decode('ascii')}"

    def _stretched(self, pixels: AnyArray) -> AnyArray:
        low, high = self._range
        # Halved, since the difference of two large numbers may overflow.
        level = (pixels.astype(np.float64) / 2 - low / 2) / max(high / 2 - low / 2, np.finfo(float).tiny) * 255
        return np.round(level).astype(np.uint8)

    @cached_property
    def _range(self) -> tuple[float, float]:
        """The numbers that become black and white."""
        pixels: Any = self._source
        if pixels.dtype == np.uint8:
            return 0.0, 255.0
        step = max(1, _BLOCK // max(1, int(np.prod(pixels.shape[1:]))))
        blocks = [pixels[start : start + step] for start in range(0, len(pixels), step)]
        low, high = (float(take([take(block) for block in blocks])) for take in (np.min, np.max))
        if not (np.isfinite(low) and np.isfinite(high)):
            raise ValueError("images contains NaN or infinity: its numbers must be finite.")
        return low, high


def _read_file(path: Path, row: int, longest: int) -> tuple[Any, str]:
    """Return the image in a file, small, upright and without transparency, and the format to keep it in."""
    image_module = _pillow()
    try:
        with image_module.open(path, formats=_FORMATS) as image:
            image.draft("RGB", (2 * longest, 2 * longest))  # JPEG files need not be decoded in full size.
            upright = require("PIL.ImageOps", "report", "images").exif_transpose(image)
            upright.thumbnail((longest, longest))
            return _on_white(upright), "jpeg" if image.format == "JPEG" else "png"
    except (OSError, ValueError, SyntaxError, image_module.DecompressionBombError) as error:
        raise ValueError(
            f"images: row {row} names {str(path)!r}, which cannot be read as an image ({error}): correct the path, "
            f"convert the file to one of {', '.join(_FORMATS)}, or pass None for points without an image."
        ) from error


def _pillow() -> Any:
    return require("PIL.Image", "report", "images")


def _on_white(image: Any) -> Any:
    """Return an image of grey or colour bytes; what is transparent becomes white."""
    if image.mode in ("L", "RGB"):
        return image
    if image.has_transparency_data:
        image = image.convert("RGBA")
        paper = _pillow().new("RGBA", image.size, "white")
        paper.alpha_composite(image)
        image = paper
    return image.convert("L" if image.mode == "1" else "RGB")


def check_images(images: Any, n_points: int) -> Images | None:
    """Return the images of all points, or None if there are none. Files are opened when they are needed."""
    if images is None:
        return None
    if not isinstance(images, np.ndarray) or images.dtype.kind in "OUT":
        images = one_for_each(images, "images", n_points)
        if all(is_missing(entry) or isinstance(entry, (str, os.PathLike)) for entry in images):
            return Images([None if is_missing(entry) or not str(entry) else Path(entry) for entry in images])
    try:
        pixels = np.asanyarray(images)
    except ValueError as error:
        raise ValueError("images must all have the same height and width: resize them first.") from error
    if pixels.dtype.kind not in "buif":
        raise TypeError(f"images must be an array of numbers or paths of image files, got dtype {pixels.dtype}.")
    if pixels.ndim not in (3, 4) or (pixels.ndim == 4 and pixels.shape[3] != 3) or 0 in pixels.shape[1:]:
        raise ValueError(
            f"images must have shape (n, height, width) or (n, height, width, 3), got an array of shape {pixels.shape}."
        )
    if len(pixels) != n_points:
        raise ValueError(f"images has {len(pixels)} entries but the result has {n_points} points: pass one for each.")
    return Images(pixels)
