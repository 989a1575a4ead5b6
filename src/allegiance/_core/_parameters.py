"""Settings that have settings of their own: small frozen dataclasses that scikit-learn can clone and search over."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, ClassVar, Self

import numpy as np

from ._plugins import load_plugins


class Parameters:
    """The base of every object that is passed as a parameter, such as ``KL(smoothing=0.5)``.

    A subclass is a ``@dataclass(frozen=True, eq=False, repr=False)`` whose fields are its parameters. Values are kept
    as they were given and checked when they are used, as scikit-learn asks of its estimators.
    """

    _by_name: ClassVar[dict[str, type[Parameters]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        Parameters._by_name[cls.__name__] = cls

    @staticmethod
    def named(name: str) -> type[Parameters]:
        """Return the class of parameters with this name, for saved files; KeyError if there is none."""
        if name not in Parameters._by_name:
            load_plugins()
        return Parameters._by_name[name]

    def check(self) -> None:
        """Raise, naming the parameter, unless the values make sense by themselves."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with ``deep`` also those of parameters, as ``outer__inner``."""
        params = {field.name: getattr(self, field.name) for field in _parameters(self)}
        if deep:
            for name, value in list(params.items()):
                if isinstance(value, Parameters):
                    params |= {f"{name}__{inner}": item for inner, item in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Change parameters in place and return the object: for scikit-learn's searches, which work on clones."""
        known = {field.name for field in _parameters(self)}
        for name, value in params.items():
            outer, _, inner = name.partition("__")
            if outer not in known:
                listed = ", ".join(sorted(known)) or "none"
                raise ValueError(f"{outer!r} is not a parameter of {type(self).__name__}. Its parameters: {listed}.")
            if inner:
                getattr(self, outer).set_params(**{inner: value})
            else:
                object.__setattr__(self, outer, value)
        return self

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return _equal_params(self, other)

    # Parameters may be arrays, and searches change them in place.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Show what differs from the defaults, positional parameters first."""
        shown = []
        for field in _parameters(self):
            value = getattr(self, field.name)
            if field.default is MISSING:
                shown.append(_brief(value))
            elif not _equal(value, field.default):
                shown.append(f"{field.name}={_brief(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"


def _parameters(owner: Parameters) -> list[Any]:
    return [field for field in fields(owner) if field.init]  # type: ignore[arg-type]


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray | list | tuple) or isinstance(second, np.ndarray | list | tuple):
        return type(first) is type(second) and np.array_equal(first, second)
    if hasattr(first, "get_params") and type(first) is type(second):
        # Clusterers, too, which scikit-learn compares by identity.
        return first is second or _equal_params(first, second)
    return bool(first is second or first == second)


def _equal_params(first: Any, second: Any) -> bool:
    mine, theirs = first.get_params(deep=False), second.get_params(deep=False)
    return all(_equal(value, theirs[name]) for name, value in mine.items())


def _brief(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > 4:
        return f"array of shape {value.shape}"
    return getattr(value, "__name__", None) or repr(value)
