"""Diagrams, domains and parameters as plain values and arrays, and back to the last bit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from allegiance._core import (
    STORED,
    Array,
    CheckedLater,
    Kind,
    Matrix,
    Number,
    OrNone,
    Parameters,
    Size,
    Sizes,
    Spec,
    Text,
    check_parts,
    floats,
    is_sparse,
)
from allegiance.influence import DIVERGENCES, KERNELS, BregmanDivergence, divergence_by_name


@cache
def _feature_maps() -> dict[str, Kind]:
    """Return the kinds of scikit-learn's feature maps, which are imported only if a state is made."""
    from sklearn.kernel_approximation import Nystroem, PolynomialCountSketch, RBFSampler

    seen: dict[str, Spec] = {"n_features_in_": Size("d"), "n_components": Size("m"), "random_state": CheckedLater()}
    number: Spec = OrNone(Number())
    drawn = seen | {"gamma": Number(), "random_weights_": floats("d", "m"), "random_offset_": floats("m")}
    sketch = seen | {
        "gamma": Number(),
        "degree": Size("degree"),
        "coef0": Number(),
        "indexHash_": Array(("degree", "hashed"), "int", low=0),
        "bitHash_": Array(("degree", "hashed"), "int", low=-1, high=1),
    }
    landmarks = seen | {
        "gamma": number,
        "degree": number,
        "coef0": number,
        "kernel": Text(KERNELS),
        "kernel_params": CheckedLater(),
        "n_jobs": CheckedLater(),
        "components_": Matrix("m", "d"),
        "normalization_": floats("m", "m"),
    }
    return {
        "fourier": Kind(RBFSampler, drawn),
        "count-sketch": Kind(PolynomialCountSketch, sketch, _hashes_in_range),
        "nystroem": Kind(Nystroem, landmarks),
    }


def _hashes_in_range(parts: dict[str, Any], sizes: Sizes) -> None:
    """Raise unless every column, and the constant one if there is one, has a place among the features."""
    sizes.settle("hashed", sizes["d"] + (parts["coef0"] != 0), "indexHash_")
    if parts["indexHash_"].max() >= sizes["m"]:
        raise ValueError(f"indexHash_ names features beyond the {sizes['m']} there are.")


def _kinds() -> dict[str, Kind]:
    return STORED | _feature_maps()


def check(values: Any, parts: Mapping[str, Spec]) -> None:
    """Raise ValueError unless encoded values are, part by part, what they must be, and fit together.

    Parameters
    ----------
    values
        The values by name.
    parts
        What each must be.
    """
    named = {"divergence": Kind(BregmanDivergence, {"name": Text(tuple(DIVERGENCES))})}
    check_parts(values, parts, "", Sizes(), _kinds() | named)


def encode(value: Any, name: str) -> Any:
    """Return a value as None, numbers, strings, arrays, and lists and dicts of them.

    Parameters
    ----------
    value
        Such a value itself, a sparse matrix, a named divergence, or an object of one of the kinds above.
    name
        Where it belongs, for the message of an error.

    Raises
    ------
    TypeError
        If it holds something else, such as a function of the user's own.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {key: encode(item, f"{name}.{key}") for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _encode_array(value, name)
    if is_sparse(value):
        rows = sp.csr_array(value)
        return {"kind": "csr", "shape": list(rows.shape)} | {part: getattr(rows, part) for part in _CSR}
    if isinstance(value, BregmanDivergence) and value.name in DIVERGENCES and value is divergence_by_name(value.name):
        return {"kind": "divergence", "name": value.name}
    for kind, (cls, parts, _) in _kinds().items():
        if type(value) is cls:
            return {"kind": kind} | {part: encode(getattr(value, part), f"{name}.{part}") for part in parts}
    if isinstance(value, Parameters):
        params = {key: encode(item, f"{name}.{key}") for key, item in value.get_params(deep=False).items()}
        return {"kind": "parameters", "class": type(value).__name__, "params": params}
    if isinstance(value, list | tuple):
        return _encode_array(np.asarray(value), name)
    raise TypeError(
        f"{name} is {value!r}, which cannot be saved: only the settings and numbers of a scorer are, never code. Use a "
        "named influence, or fit again where the scorer is needed."
    )


_CSR = ("data", "indices", "indptr")


def _encode_array(value: Any, name: str) -> Any:
    if value.dtype.kind != "O":
        return value
    values = [item.item() if isinstance(item, np.generic) else item for item in value]
    if value.ndim != 1 or not all(isinstance(item, bool | int | float | str) for item in values):
        raise TypeError(f"{name} holds Python objects, which cannot be saved: use numbers or strings.")
    return {"kind": "objects", "values": values}


def decode(value: Any) -> Any:
    """Return what :func:`encode` was given."""
    if not isinstance(value, dict):
        return value
    if "kind" not in value:
        return {key: decode(item) for key, item in value.items()}
    parts = {key: decode(item) for key, item in value.items() if key != "kind"}
    kind = value["kind"]
    try:
        if kind == "csr":
            return sp.csr_array(tuple(parts[part] for part in _CSR), shape=tuple(parts["shape"]))
        if kind == "divergence":
            return divergence_by_name(parts["name"])
        if kind == "parameters":
            return Parameters.named(parts["class"])(**parts["params"])
        if kind == "objects":
            return np.array(parts["values"], dtype=object)
        cls, attributes, _ = _kinds()[kind]
        chosen = {attribute: parts[attribute] for attribute in attributes}
    except KeyError as error:
        raise ValueError(f"the state is incomplete: {error} of {kind!r} is unknown or missing.") from error
    if issubclass(cls, tuple):
        return cls(*chosen.values())
    # Past the constructor: the parts were checked when the object was first made, and must not be computed anew.
    made = object.__new__(cls)
    vars(made).update(chosen)
    return made
