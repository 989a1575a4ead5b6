"""Which classes make up a saved scorer, and what of them is kept: each says so where it is defined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Cls = TypeVar("Cls", bound=type)

#: By the name in the file: the class, and the attributes that make it up.
STORED: dict[str, tuple[type, tuple[str, ...]]] = {}


def stored(kind: str, *attributes: str) -> Callable[[Cls], Cls]:
    """Return a decorator for a class whose instances are saved as ``kind`` with these attributes.

    Both are part of the file format: the class may be renamed, they may not.
    """

    def keep(cls: Cls) -> Cls:
        STORED[kind] = (cls, attributes)
        return cls

    return keep


def kind_of(value: Any) -> str | None:
    """Return the kind under which an object is saved; None if it cannot be."""
    return next((kind for kind, (cls, _) in STORED.items() if type(value) is cls), None)
