"""The IDX format of the MNIST files: a header of big-endian integers, then bytes in row-major order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

#: Third byte of the magic number: the entries are unsigned bytes.
_UNSIGNED_BYTE = 8


def parse_idx(content: bytes, n_dims: int, name: str) -> npt.NDArray[np.uint8]:
    """Return the array of an IDX file of unsigned bytes.

    Parameters
    ----------
    content
        The whole file, unpacked.
    n_dims
        The number of dimensions the array must have.
    name
        What to call the file in an error.
    """
    header = 4 + 4 * n_dims
    magic = int.from_bytes(content[:4], "big")
    expected = (_UNSIGNED_BYTE << 8) + n_dims
    if len(content) < header or magic != expected:
        raise ValueError(
            f"{name} is not an IDX file of {n_dims} dimensions: magic number {magic}, expected {expected}."
        )
    shape = tuple(int(size) for size in np.frombuffer(content[4:header], ">u4"))
    entries = np.frombuffer(content, np.uint8, offset=header)
    if entries.size != np.prod(shape, dtype=object):
        raise ValueError(f"{name} announces an array of shape {shape} but holds {entries.size:,} entries.")
    return entries.reshape(shape)


def format_idx(values: npt.NDArray[np.uint8]) -> bytes:
    """Return the IDX file of an array of unsigned bytes."""
    magic = (_UNSIGNED_BYTE << 8) + values.ndim
    return np.array([magic, *values.shape], ">u4").tobytes() + values.tobytes()
