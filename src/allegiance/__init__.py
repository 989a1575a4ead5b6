"""Which labels of a clustering would come back: an affinity vector for every point, and the trust in its label.

The public names stand in ``__init__.pyi``, which type checkers read. Here they are loaded on first use, so that
importing the package costs next to nothing.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

#: The module that each public name comes from.
_HOMES: dict[str, str] = {
    name: home
    for home, name in re.findall(
        r"^from (\S+) import (\w+) as \2$", Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"), re.MULTILINE
    )
}

__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = import_module(f".{name}", __name__) if home == "." else getattr(import_module(home, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
