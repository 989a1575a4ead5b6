"""Affine functions as the kernels that look for owners want them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allegiance._core import AnyArray, FloatArray

#: Values closer than this, as a share of the numbers they are summed from, are compared in double precision.
_CLOSE = 1e-6


class SingleFunctions(NamedTuple):
    """The functions -f_i(y) = <a_i, y> - b_i in single precision, highest for the owner of y."""

    slopes: AnyArray
    """(k, r) float32, with rows of zeros up to a multiple of those computed at a time."""
    constants: AnyArray
    """(k,) float32, likewise."""
    close: float
    """How close two values may come before rounding decides which is higher."""

    @classmethod
    def of(cls, a: FloatArray, b: FloatArray) -> SingleFunctions:
        """Return functions with slopes (k, r) and constants (k,)."""
        from allegiance._kernels._affine_block import TOGETHER

        k, r = a.shape
        rows = -(-k // TOGETHER) * TOGETHER
        slopes, constants = np.zeros((rows, r), np.float32), np.zeros(rows, np.float32)
        # Beyond single precision is infinity: no two of those are told apart, so double precision decides.
        with np.errstate(over="ignore"):
            slopes[:k], constants[:k] = a, -b
        return cls(slopes, constants, float(_CLOSE * (np.abs(a).sum(axis=1) + np.abs(b)).max()))
