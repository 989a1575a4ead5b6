"""Optional libraries, with an error that says how to get them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def require(module: str, extra: str, caller: str) -> Any:
    """Import an optional module, or explain which extra of allegiance brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{caller} needs {module}: pip install 'allegiance[{extra}]'.") from error
