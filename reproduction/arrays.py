"""Types of arrays, and the random streams that experiments draw from."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.intp]
AnyArray: TypeAlias = npt.NDArray[Any]


def stream(seed: int | None, *key: int) -> np.random.Generator:
    """Return the generator named ``key`` under ``seed``: different keys are independent; None is a new seed."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
