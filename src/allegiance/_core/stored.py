"""Values and classes that files can contain, and the schema that their contents must match."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from .validation import AnyArray

#: Lower bound of numbers that must not be zero.
POSITIVE = 5e-324
#: Types that a state can contain besides arrays and dicts.
PLAIN = (bool, int, float, str)


def json_value(value: Any) -> Any:
    """Return a value that can be stored as JSON: without NaN, infinities, tuples and NumPy types."""
    if isinstance(value, dict):
        return {str(name): json_value(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not isfinite(value) else value


class Sizes(dict[str, int]):
    """The sizes of a stored object by name, such as k for its clusters. The first array to use a name defines the size.

    ``kinds`` are the classes that nested parts may have.
    """

    def __init__(self, sizes: Mapping[str, int], kinds: Mapping[str, Kind]) -> None:
        super().__init__(sizes)
        self.kinds = kinds

    def agree(self, size: str | int, length: int, name: str) -> None:
        """Raise ValueError unless a stored part has the length ``size``: a number, a name, or a name with "+1"."""
        if isinstance(size, str):
            symbol, _, more = size.partition("+")
            size = self.setdefault(symbol, length - int(more or 0)) + int(more or 0)
        if length != size or length < 0:
            raise ValueError(f"{name} has length {length}, but the other parts require {size}.")


#: A check that is called with the value, its name for messages and the sizes of the object, and raises ValueError.
Spec: TypeAlias = Callable[[Any, str, Sizes], None]


@dataclass(frozen=True)
class OrNone:
    """A stored None, or a value that another check accepts."""

    spec: Spec

    def __call__(self, value: Any, name: str, sizes: Sizes) -> None:
        if value is not None:
            self.spec(value, name, sizes)


@dataclass(frozen=True)
class Array:
    """A stored array with numbers in [low, high] and without NaN, or an array of labels.

    ``shape`` has one size per dimension: a number, a name, or a name with "+1". ``dtype`` is "float", "int", "uint64",
    "number" for numbers of any precision, or "label" for integers, booleans and strings. Infinity is excluded unless
    ``infinite``.
    """

    shape: tuple[str | int, ...]
    dtype: str = "float"
    low: float = -inf
    high: float = inf
    infinite: bool = False

    def __call__(self, value: Any, name: str, sizes: Sizes) -> None:
        if self.dtype == "label" and isinstance(value, dict) and value.get("kind") == "objects":
            value = _check_stored_labels(value, name)
        kinds = {"label": "iubUSO", "number": "iuf", "int": "i"}.get(self.dtype)
        if not isinstance(value, np.ndarray) or not (
            value.dtype.kind in kinds if kinds else value.dtype == np.dtype(self.dtype)
        ):
            kind = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
            raise ValueError(f"{name} must be an array of {self.dtype}, not {kind}.")
        if value.ndim != len(self.shape):
            raise ValueError(f"{name} must have {len(self.shape)} dimensions, not shape {value.shape}.")
        for size, length in zip(self.shape, value.shape, strict=True):
            sizes.agree(size, length, name)
        if value.dtype.kind == "f" and not (~np.isnan(value) if self.infinite else np.isfinite(value)).all():
            raise ValueError(f"{name} contains NaN{'' if self.infinite else ' or infinity'}.")
        if value.dtype.kind in "fiu" and value.size and not (self.low <= value.min() and value.max() <= self.high):
            limits = f"{value.min()} to {value.max()}"
            raise ValueError(f"{name} contains numbers from {limits}, which must be from {self.low} to {self.high}.")


def _check_stored_labels(value: dict[str, Any], name: str) -> AnyArray:
    """Check stored labels of mixed types, and return them as an array."""
    values = value.get("values")
    if not isinstance(values, list) or not all(isinstance(item, PLAIN) for item in values):
        raise ValueError(f"{name} must be a list of numbers or names.")
    labels = np.empty(len(values), dtype=object)
    labels[:] = values
    return labels


def floats(*shape: str | int, low: float = -inf, high: float = inf, infinite: bool = False) -> Array:
    """Return the check for a stored float64 array with a shape and range."""
    return Array(shape, "float", low, high, infinite)


@dataclass(frozen=True)
class Starts:
    """Stored offsets of consecutive pieces of ``size`` entries: "k+1" with the end of the last, "k" without."""

    pieces: str
    size: str
    empty: bool = True

    def __call__(self, value: Any, name: str, sizes: Sizes) -> None:
        Array((self.pieces,), "int")(value, name, sizes)
        ends = value if "+" in self.pieces else np.append(value, sizes[self.size])
        steps = np.diff(ends)
        if ends[0] != 0 or ends[-1] != sizes[self.size] or (steps.size and steps.min() < (0 if self.empty else 1)):
            raise ValueError(f"{name} does not cut {sizes[self.size]} entries into pieces.")


@dataclass(frozen=True)
class Matrix:
    """A stored matrix of finite float64, as an array or in CSR form with all indices in range."""

    rows: str
    columns: str

    def __call__(self, value: Any, name: str, sizes: Sizes) -> None:
        if not isinstance(value, dict) or value.get("kind") != "csr":
            floats(self.rows, self.columns)(value, name, sizes)
            return
        shape = value.get("shape")
        if not isinstance(shape, list) or len(shape) != 2 or not all(type(side) is int and side >= 0 for side in shape):
            raise ValueError(f"{name}.shape must be two numbers of rows and columns, not {shape!r}.")
        sizes.agree(self.rows, shape[0], name)
        sizes.agree(self.columns, shape[1], name)
        inner = Sizes({"rows": shape[0]}, {})
        floats("entries")(value.get("data"), f"{name}.data", inner)
        Array(("entries",), "int", low=0, high=shape[1] - 1)(value.get("indices"), f"{name}.indices", inner)
        Starts("rows+1", "entries")(value.get("indptr"), f"{name}.indptr", inner)


@dataclass(frozen=True)
class Number:
    """A stored number in [low, high]; infinity only with ``infinite``."""

    low: float = -inf
    high: float = inf
    infinite: bool = False
    whole: bool = False

    def __call__(self, value: Any, name: str, sizes: Sizes) -> None:
        if isinstance(value, bool) or not isinstance(value, int if self.whole else int | float):
            raise ValueError(f"{name} must be a {'whole ' if self.whole else ''}number, not {value!r}.")
        if not self.low <= value <= self.high or (abs(value) == inf and not self.infinite):
            raise ValueError(f"{name} must be from {self.low} to {self.high}, not {value}.")


@dataclass(frozen=True)
class Size:
    """A stored positive integer that is also a size of other arrays."""

    name: str

    def __call__(self, value: Any, name: str, sizes: Sizes) -> None:
        Number(1, whole=True)(value, name, sizes)
        sizes.agree(self.name, value, name)


@dataclass(frozen=True)
class Text:
    """A stored string, one of ``choices`` if there are any."""

    choices: tuple[str, ...] = ()

    def __call__(self, value: Any, name: str, sizes: Sizes) -> None:
        if not isinstance(value, str) or (self.choices and value not in self.choices):
            expected = f"one of {', '.join(self.choices)}" if self.choices else "a text"
            raise ValueError(f"{name} must be {expected}, not {value!r}.")


@dataclass(frozen=True)
class Unchecked:
    """A stored plain value that is checked on use, like user input; optionally of one type."""

    type: type = object

    def __call__(self, value: Any, name: str, sizes: Sizes) -> None:
        if not isinstance(value, self.type):
            raise ValueError(f"{name} must be a {self.type.__name__}, not {value!r}.")


class Part:
    """A stored object of one of several kinds; ``Part("linear", d="m")`` calls its size d what is m here."""

    def __init__(self, *kinds: str, **sizes: str) -> None:
        self._kinds = kinds
        self._sizes = sizes

    def __call__(self, value: Any, name: str, sizes: Sizes) -> None:
        kind = value.get("kind") if isinstance(value, dict) else None
        if kind not in self._kinds:
            raise ValueError(f"{name} is {kind!r}, which is unknown there: it must be {' or '.join(self._kinds)}.")
        known = {inner: sizes[outer] for inner, outer in self._sizes.items() if outer in sizes}
        inner_sizes, declared = Sizes(known, sizes.kinds), sizes.kinds[kind]
        check_parts(value, declared.parts, name, inner_sizes)
        if declared.agree is not None:
            try:
                declared.agree(value, inner_sizes)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from error
        for inner, outer in self._sizes.items():
            if inner in inner_sizes:
                sizes.agree(outer, inner_sizes[inner], name)


def check_parts(values: Mapping[str, Any], parts: Mapping[str, Spec], name: str, sizes: Sizes) -> None:
    """Raise ValueError unless stored ``values`` have all ``parts`` and each passes its check."""
    for part, spec in parts.items():
        path = f"{name}.{part}".lstrip(".")
        if part not in values:
            raise ValueError(f"{path} is missing.")
        spec(values[part], path, sizes)


Cls = TypeVar("Cls", bound=type)


class Kind(NamedTuple):
    """A class whose instances are stored."""

    cls: type
    parts: Mapping[str, Spec]
    """The checks of its attributes by name."""
    agree: Callable[[dict[str, Any], Sizes], None] | None = None
    """Raises ValueError if valid parts contradict each other; it may also set derived sizes."""


#: Kinds by their name in files.
STORED: dict[str, Kind] = {}


def stored(
    kind: str, agree: Callable[[dict[str, Any], Sizes], None] | None = None, **parts: Spec
) -> Callable[[Cls], Cls]:
    """Return a decorator for a class whose instances are stored as ``kind`` with these attributes.

    The names are part of the file format and must not change, even if the class is renamed. Files may come from
    untrusted sources, and loading bypasses the constructor, so these checks are the only ones. ``agree`` checks further
    conditions; see :class:`Kind`.
    """

    def decorate(cls: Cls) -> Cls:
        STORED[kind] = Kind(cls, parts, agree)
        return cls

    return decorate
