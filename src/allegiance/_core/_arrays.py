"""Arrays of numbers from whatever the user passed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ._rows import is_sparse
from ._typing import FloatArray, Rows

#: Sizes whose squares, and sums of many of them, are ordinary numbers.
_MODERATE = 1e-100, 1e100


def real_array(name: str, values: ArrayLike, ndim: int) -> FloatArray:
    """Return a contiguous float64 array of ``ndim`` dimensions without NaN, or say what is wrong with ``name``."""
    try:
        given = np.asarray(values)
        if np.iscomplexobj(given):
            raise TypeError("complex numbers")
        array = np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be an array of real numbers: {error}.") from error
    if given.ndim != ndim:
        raise ValueError(f"{name} must be {ndim}-D, got an array of shape {given.shape}.")
    if np.isnan(array).any():
        raise ValueError(f"{name} contains NaN: its numbers must be finite.")
    return array


def power_of_two(size: float) -> float:
    """Return the power of two that brings ``size`` to [1/2, 1); 1 for zero."""
    if size == 0:
        return 1.0
    return float(np.ldexp(1.0, min(-int(np.frexp(size)[1]), 1022)))


def of_moderate_size(coordinates: Rows) -> Rows:
    """Return rows whose squares neither overflow nor vanish: as they are, or times a power of two."""
    size = float(np.abs(coordinates.data if is_sparse(coordinates) else coordinates).max(initial=0.0))
    return coordinates if size == 0 or _MODERATE[0] < size < _MODERATE[1] else coordinates * power_of_two(size)
