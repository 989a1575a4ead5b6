"""Values that JSON can store."""

from __future__ import annotations

import math
from typing import Any


def json_value(value: Any) -> Any:
    """Return a value that JSON can store: without NaN, infinities, tuples and NumPy types."""
    if isinstance(value, dict):
        return {str(name): json_value(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
