"""Images of points as small PNG files inside the page."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

from allegiance._core import AnyArray, IntArray

#: Characters that all images together may add to the page.
BUDGET = 6_000_000
#: Longest side of an image in pixels; larger ones lose rows and columns.
_LONGEST = 96


def encode_pictures(images: AnyArray, rows: IntArray) -> list[str]:
    """Encode the images of the given rows, in this order, until the budget is spent.

    Bytes (uint8) are taken as they are; other numbers are stretched between the smallest and the largest of all images.

    Parameters
    ----------
    images
        (n, height, width) grey or (n, height, width, 3) colour.
    rows
        The points whose images are wanted.

    Returns
    -------
    encoded
        PNG files in base64, at most one for each of ``rows``.
    """
    low, high = (0, 255) if images.dtype == np.uint8 else (float(images.min()), float(images.max()))
    stride = -(-max(images.shape[1:3]) // _LONGEST)
    encoded: list[str] = []
    spent = 0
    for row in rows:
        pixels = images[row, ::stride, ::stride].astype(np.float64)
        grey = (pixels / 2 - low / 2) / max(high / 2 - low / 2, np.finfo(float).tiny) * 255
        picture = base64.b64encode(_png(np.round(grey).astype(np.uint8))).decode("ascii")
        spent += len(picture)
        if spent > BUDGET:
            break
        encoded.append(picture)
    return encoded


def _png(pixels: AnyArray) -> bytes:
    """Return a PNG file of (height, width) grey or (height, width, 3) colour bytes."""
    height, width = pixels.shape[:2]
    colour_type = 2 if pixels.ndim == 3 else 0
    # Each line starts with the number of its filter: none.
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, colour_type, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(name, content)
        for name, content in ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    )


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
