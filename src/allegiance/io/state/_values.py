"""Parameters and fitted values of scikit-learn's estimators as plain values and arrays."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

#: Types that a transformer can be told to make.
_DTYPES = ("bool", "int8", "int16", "int32", "int64", "float32", "float64", "object")


@cache
def _functions() -> dict[str, Any]:
    """Return the functions that can be saved, by name: those of NumPy for one array, and our own."""
    from allegiance.preparation import category_name

    ufuncs = {name: getattr(np, name) for name in dir(np) if isinstance(getattr(np, name), np.ufunc)}
    one = {f"numpy.{name}": function for name, function in ufuncs.items() if function.nin == function.nout == 1}
    return one | {"allegiance.category_name": category_name}


def encode_value(value: Any, name: str) -> Any:
    """Return a value as None, numbers, strings, arrays, and dicts of them.

    Parameters
    ----------
    value
        Such a value itself, or a list, tuple, type of numbers or known function.
    name
        Where it belongs, for the message of an error.

    Raises
    ------
    TypeError
        If it holds something else.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        return _encode_array(value, name)
    if isinstance(value, list | tuple):
        items = {str(i): encode_value(item, f"{name}.{i}") for i, item in enumerate(value)}
        return {"kind": "tuple" if isinstance(value, tuple) else "list", "items": items}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"kind": "dict", "items": {key: encode_value(item, f"{name}.{key}") for key, item in value.items()}}
    if isinstance(value, type | np.dtype) and np.dtype(value).name in _DTYPES:
        return {"kind": "dtype", "name": np.dtype(value).name}
    for known, function in _functions().items():
        if value is function:
            return {"kind": "function", "name": known}
    if sp.issparse(value):
        raise TypeError(f"{name} is a sparse matrix, which cannot be saved.")
    raise TypeError(
        f"{name} is {value!r}, which cannot be saved: only numbers, texts, lists of them and functions such as "
        "numpy.log1p are, never code."
    )


def decode_value(value: Any) -> Any:
    """Return what :func:`encode_value` was given."""
    if not isinstance(value, dict):
        return value
    kind = value.get("kind")
    if kind == "nan":
        return np.nan
    if kind == "objects":
        made = np.empty(len(value["items"]), dtype=object)
        made[:] = [decode_value(item) for item in value["items"]]
        return made
    if kind == "dtype":
        return np.dtype(_among(value["name"], dict.fromkeys(_DTYPES))).type
    if kind == "function":
        return _functions()[_among(value["name"], _functions())]
    if kind == "dict":
        return {key: decode_value(item) for key, item in value["items"].items()}
    if kind in ("list", "tuple"):
        items = [decode_value(value["items"][str(i)]) for i in range(len(value["items"]))]
        return tuple(items) if kind == "tuple" else items
    raise ValueError(f"the state has a value of kind {kind!r}, which this allegiance does not know.")


def _encode_array(value: Any, name: str) -> Any:
    if value.dtype.kind in "biufUS":
        return value
    items = [item.item() if isinstance(item, np.generic) else item for item in value.ravel()]
    plain = all(item is None or isinstance(item, bool | int | float | str) for item in items)
    if value.ndim != 1 or value.dtype.kind != "O" or not plain:
        raise TypeError(f"{name} holds {value.dtype} in {value.ndim} dimensions, which cannot be saved.")
    # JSON has no NaN, which may be one of the categories.
    return {"kind": "objects", "items": [{"kind": "nan"} if item != item else item for item in items]}


def _among(name: Any, known: dict[str, Any]) -> str:
    if name not in known:
        raise ValueError(f"the state names {name!r}, which this allegiance does not know.")
    return str(name)
