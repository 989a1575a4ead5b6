"""Arrays in one binary message: four bytes for the length of a JSON header, the header, the arrays behind it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from allegiance._core import AnyArray

#: Arrays start at multiples of this, so that a browser can look at them without copying.
_ALIGNED = 8


def pack(header: dict[str, Any], arrays: dict[str, AnyArray]) -> bytes:
    """Return a message.

    Parameters
    ----------
    header
        Plain values.
    arrays
        By name; float64, int32 or uint8, one-dimensional.
    """
    listed = {name: [array.dtype.name, int(array.size)] for name, array in arrays.items()}
    text = json.dumps({**header, "arrays": listed}, allow_nan=False).encode()
    text += b" " * (-(4 + len(text)) % _ALIGNED)
    parts = [np.uint32(len(text)).astype("<u4").tobytes(), text]
    for array in arrays.values():
        content = np.ascontiguousarray(array).tobytes()
        parts += [content, b"\0" * (-len(content) % _ALIGNED)]
    return b"".join(parts)
