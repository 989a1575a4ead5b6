"""Names for the arrays that travel between the parts."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
AnyArray: TypeAlias = NDArray[Any]
#: Rows of data: a dense array, or a SciPy sparse matrix with the same indexing.
Rows: TypeAlias = Any
RandomState: TypeAlias = "int | np.random.Generator | np.random.RandomState | None"
