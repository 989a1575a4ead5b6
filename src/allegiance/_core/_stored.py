"""Which classes make up a saved scorer, and what of them is kept: each says so where it is defined."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from ._schema import Sizes, Spec

Cls = TypeVar("Cls", bound=type)


class Kind(NamedTuple):
    """A class whose instances are saved."""

    cls: type
    parts: Mapping[str, Spec]
    """What its attributes must be, by name."""
    agree: Callable[[dict[str, Any], Sizes], None] | None = None
    """Raises ValueError where parts that are right by themselves do not fit together, and names sizes that follow."""


#: By the name in the file.
STORED: dict[str, Kind] = {}


def stored(
    kind: str, agree: Callable[[dict[str, Any], Sizes], None] | None = None, **parts: Spec
) -> Callable[[Cls], Cls]:
    """Return a decorator for a class whose instances are saved as ``kind`` with these attributes.

    The names are part of the file format: the class may be renamed, they may not. A file may come from a stranger, and
    an object that is loaded does not pass through its constructor: what is declared here is all that stands between
    the file and the arithmetic.

    Parameters
    ----------
    kind
        The name in the file.
    agree
        What else must hold; see :class:`Kind`.
    **parts
        What each attribute must be. Names of sizes are the object's own; see :class:`Part`.
    """

    def keep(cls: Cls) -> Cls:
        STORED[kind] = Kind(cls, parts, agree)
        return cls

    return keep


def kind_of(value: Any) -> str | None:
    """Return the kind under which an object is saved; None if it cannot be."""
    return next((name for name, kind in STORED.items() if type(value) is kind.cls), None)
