"""The kinds of a thing that can be asked for by name: the only lists of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields
from functools import partial
from typing import Any, Generic, TypeVar

from ._parameters import Parameters
from ._plugins import load_plugins

Kind = TypeVar("Kind", bound=Parameters)


class Registry(Mapping[str, Callable[..., Kind]], Generic[Kind]):
    """Makers of parameter objects by name, such as "kl" for ``KL``.

    Choices on the command line, messages and tables in the documentation are read off it, so that a new kind is one
    class and the line that registers it.

    Parameters
    ----------
    argument
        The parameter that takes these kinds, for messages.
    base
        The class all of them derive from.
    first
        The kind to list first, as the usual one; the others follow in the order in which they were registered.
    """

    def __init__(self, argument: str, base: Any, first: str | None = None) -> None:
        self.argument = argument
        self.base: type[Kind] = base
        self.first = first
        self._makers: dict[str, Callable[..., Kind]] = {}

    def register(self, name: str) -> Callable[[type[Kind]], type[Kind]]:
        """Return a decorator that makes a class known under ``name``."""

        def keep(cls: type[Kind]) -> type[Kind]:
            self.add(name, cls)
            return cls

        return keep

    def add(self, name: str, maker: Callable[..., Kind]) -> None:
        """Make a function that returns an object known under ``name``."""
        if name in self._makers:
            raise ValueError(f"{self.argument} {name!r} is registered already.")
        self._makers[name] = maker

    def remove(self, name: str) -> None:
        """Forget a kind; KeyError if it is not known."""
        del self._makers[name]

    def __getitem__(self, name: str) -> Callable[..., Kind]:
        if name not in self._makers:
            load_plugins()
        return self._makers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._makers, key=lambda name: name != self.first))

    def __len__(self) -> int:
        return len(self._makers)

    def resolve(self, value: Any) -> Kind:
        """Return the object a user means by a name or by the object itself, checked.

        Raises
        ------
        ValueError
            If it is an unknown name, a kind that needs parameters, or has parameters that make no sense.
        TypeError
            If it is something else.
        """
        if isinstance(value, str):
            value = self._by_name(value)
        if not isinstance(value, self.base):
            raise TypeError(
                f"{self.argument} must be one of {self.choices()}, or an object such as "
                f"{self._example()}, got {value!r}."
            )
        value.check()
        return value

    def _by_name(self, name: str, **params: Any) -> Kind:
        try:
            maker = self[name]
        except KeyError:
            raise ValueError(f"{self.argument} must be one of {self.choices()}, got {name!r}.") from None
        missing = [f for f in required(maker) if f not in params]
        if missing:
            cls = getattr(maker, "__name__", name)
            raise ValueError(f"{self.argument}={name!r} needs {', '.join(missing)}: pass {cls}({', '.join(missing)}).")
        return maker(**params)

    def parse(self, text: str) -> Kind:
        """Return the object that ``name`` or ``name:key=value,key=value`` describes, as on the command line."""
        name, _, rest = text.partition(":")
        params: dict[str, Any] = {}
        for item in rest.split(",") if rest else ():
            key, equals, value = item.partition("=")
            if not equals:
                raise ValueError(f"{self.argument} {text!r}: write parameters as name:key=value,key=value.")
            params[key.strip()] = _plain(value.strip())
        try:
            made = self._by_name(name, **params)
        except TypeError as error:
            raise ValueError(f"{self.argument} {text!r}: {error}.") from error
        return self.resolve(made)

    def written(self, value: Kind) -> str:
        """Return what :meth:`parse` makes an object from, without parameters that cannot be written, such as arrays."""
        for name, maker in self.items():
            cls, fixed = (maker.func, maker.args) if isinstance(maker, partial) else (maker, ())
            own = fields(cls) if isinstance(cls, type) else ()
            if type(value) is not cls or any(getattr(value, f.name) != v for f, v in zip(own, fixed, strict=False)):
                continue
            given = {f.name: getattr(value, f.name) for f in own[len(fixed) :]}
            plain = {f.name for f in own if f.default is MISSING or given.get(f.name) is not f.default}
            params = [
                f"{key}={v}" for key, v in given.items() if key in plain and isinstance(v, bool | int | float | str)
            ]
            return f"{name}:{','.join(params)}" if params else name
        raise ValueError(f"{self.argument} {value!r} is not of a registered kind.")

    def described(self) -> str:
        """Return the names with the parameters of each, as :meth:`parse` reads them."""
        kinds = []
        for name, maker in self.items():
            cls, fixed = (maker.func, len(maker.args)) if isinstance(maker, partial) else (maker, 0)
            params = [f.name for f in fields(cls)][fixed:] if isinstance(cls, type) else []
            kinds.append(f"{name} ({', '.join(params)})" if params else name)
        return "; ".join(kinds)

    def choices(self) -> str:
        """Return the names, quoted, for a message."""
        return ", ".join(repr(name) for name in self)

    def _example(self) -> str:
        name = next(iter(self))
        return f"{getattr(self[name], '__name__', name)}()"


def required(maker: Callable[..., Any]) -> list[str]:
    """Return the parameters without which an object cannot be made."""
    if not isinstance(maker, type):
        return []
    return [f.name for f in fields(maker) if f.default is MISSING and f.default_factory is MISSING]


def _plain(text: str) -> Any:
    """Return a number, a truth value or None where the text is one, else the text."""
    try:
        return ast.literal_eval(text[:1].upper() + text[1:] if text in ("true", "false", "none") else text)
    except (ValueError, SyntaxError):
        return text
