"""Parameter objects, and the registries that resolve their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np


class Parameters:
    """Base class of parameter objects such as ``KL(smoothing=0.5)``.

    A subclass is a ``@dataclass(frozen=True, eq=False, repr=False)`` whose fields are its parameters. As in
    scikit-learn's estimators, values are stored unchanged and checked on use.
    """

    #: The name in its registry, if any.
    registered_as: ClassVar[str | None] = None
    _by_name: ClassVar[dict[str, type[Parameters]]] = {}
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        Parameters._by_name[cls.__name__] = cls

    @staticmethod
    def class_named(name: str) -> type[Parameters]:
        """Return the class of parameter objects with this name, for saved files; KeyError if there is none."""
        return Parameters._by_name[name]

    def check(self) -> None:
        """Raise an error that names the parameter if a value is invalid on its own."""

    def describe(self) -> str:
        """Return the registered name if all parameters have their defaults, else the repr."""
        plain = repr(self) == f"{type(self).__name__}()"
        return self.registered_as if plain and self.registered_as is not None else repr(self)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with ``deep`` also nested ones, as ``outer__inner``."""
        params = {field.name: getattr(self, field.name) for field in fields(self)}
        if deep:
            for name, value in list(params.items()):
                if hasattr(value, "get_params") and not isinstance(value, type):
                    params |= {f"{name}__{inner}": item for inner, item in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Change parameters in place and return the object. scikit-learn's searches call it on clones."""
        known = {field.name for field in fields(self)}
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
        return _equal(self, other)

    # Parameters may be arrays, and searches change them in place.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return the call with all parameters that differ from their defaults."""
        arguments = []
        for field in fields(self):
            value = getattr(self, field.name)
            if field.default is MISSING:
                arguments.append(_brief(value))
            elif not _equal(value, field.default):
                arguments.append(f"{field.name}={_brief(value)}")
        return f"{type(self).__name__}({', '.join(arguments)})"


def _equal(first: Any, second: Any) -> bool:
    """Return whether two values of a parameter are equal, arrays and estimators included."""
    if isinstance(first, np.ndarray | list | tuple) or isinstance(second, np.ndarray | list | tuple):
        return type(first) is type(second) and np.array_equal(first, second)
    if hasattr(first, "get_params") and type(first) is type(second):
        # scikit-learn compares clusterers by identity.
        mine, theirs = first.get_params(deep=False), second.get_params(deep=False)
        return first is second or all(_equal(value, theirs[name]) for name, value in mine.items())
    return bool(first is second or first == second)


def _brief(value: Any) -> str:
    """Return a parameter value for the repr; large arrays by their shape."""
    if isinstance(value, np.ndarray) and value.size > 4:
        return f"array of shape {value.shape}"
    return getattr(value, "__name__", None) or repr(value.item() if isinstance(value, np.generic) else value)


Kind = TypeVar("Kind", bound=Parameters)


class Registry(dict[str, Callable[..., Kind]], Generic[Kind]):
    """Factories of parameter objects by name, such as "kl" for ``KL``; messages list ``first`` first."""

    def __init__(self, argument: str, base: Any, first: str | None = None) -> None:
        super().__init__()
        self.argument = argument
        self.base: type[Kind] = base
        self.first = first

    def register(self, name: str) -> Callable[[type[Kind]], type[Kind]]:
        """Return a decorator that registers a class of parameter objects as ``name``."""

        def decorate(cls: type[Kind]) -> type[Kind]:
            if name in self:
                raise ValueError(f"{self.argument} {name!r} is registered already.")
            self[name] = cls
            cls.registered_as = name
            return cls

        return decorate

    def __iter__(self) -> Iterator[str]:
        """Iterate over the registered names, ``first`` first."""
        return iter(sorted(self.keys(), key=lambda name: name != self.first))

    def resolve(self, value: Any) -> Kind:
        """Return the checked parameter object for a name, or the checked object itself."""
        if isinstance(value, str):
            maker = self.get(value)
            if maker is None:
                raise ValueError(f"{self.argument} must be one of {self.choices()}, got {value!r}.")
            try:
                value = maker()
            except TypeError as error:  # parameters without a default
                missing = ", ".join(field.name for field in fields(maker) if field.default is MISSING)  # type: ignore[arg-type]
                call = f"{getattr(maker, '__name__', value)}({missing})"
                raise ValueError(f"{self.argument}={value!r} needs {missing}: pass {call}.") from error
        if not isinstance(value, self.base):
            example = getattr(self[next(iter(self))], "__name__", self.first)
            raise TypeError(
                f"{self.argument} must be one of {self.choices()}, or an object such as {example}(), got {value!r}."
            )
        value.check()
        return value

    def choices(self) -> str:
        """Return the quoted names of registered parameter objects for a message."""
        return ", ".join(repr(name) for name in self)


Value = TypeVar("Value")


class Lazy(Generic[Value]):
    """A lazy parameter: computed on first use, it then releases the data it comes from. A pickle contains the value."""

    def __init__(self, compute: Callable[[], Value]) -> None:
        self._compute: Callable[[], Value] | None = compute
        self._value: Any = None

    @classmethod
    def known(cls, value: Value) -> Lazy[Value]:
        """Return a lazy parameter with a known value."""
        lazy: Lazy[Value] = cls.__new__(cls)
        lazy._compute, lazy._value = None, value
        return lazy

    @property
    def value(self) -> Value:
        """The value of a lazy parameter."""
        compute = self._compute
        if compute is not None:
            self._value = compute()
            self._compute = None
        value: Value = self._value
        return value

    def __getstate__(self) -> dict[str, Any]:
        return {"_compute": None, "_value": self.value}
