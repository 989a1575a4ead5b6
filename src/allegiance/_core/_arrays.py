"""Arrays of numbers from whatever the user passed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ._typing import FloatArray


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
