"""Values that are computed when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class Lazy(Generic[Value]):
    """A value, or how to compute it: most results are never asked for all that follows from them.

    What it is computed from is let go of once it is known. A pickle holds the value.

    Parameters
    ----------
    compute
        Returns the value.
    """

    def __init__(self, compute: Callable[[], Value]) -> None:
        self._compute: Callable[[], Value] | None = compute
        self._value: Any = None

    @classmethod
    def known(cls, value: Value) -> Lazy[Value]:
        """Return a value that is known already."""
        lazy = cls(lambda: value)
        _ = lazy.value
        return lazy

    @property
    def value(self) -> Value:
        """The value."""
        compute = self._compute
        if compute is not None:
            self._value = compute()
            self._compute = None
        found: Value = self._value
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {"_compute": None, "_value": self.value}
