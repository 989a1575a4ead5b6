"""Diagrams, domains and parameters as plain values and arrays, and back to the last bit."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from allegiance._core import STORED, Parameters, is_sparse
from allegiance.influence import DIVERGENCES, BregmanDivergence, divergence_by_name


@cache
def _feature_maps() -> dict[str, tuple[type, tuple[str, ...]]]:
    """Return the kinds of scikit-learn's feature maps, which are imported only if a state is made."""
    from sklearn.kernel_approximation import Nystroem, PolynomialCountSketch, RBFSampler

    seen = ("n_features_in_", "n_components", "random_state", "gamma")
    sketch = ("degree", "coef0", "indexHash_", "bitHash_")
    landmarks = ("degree", "coef0", "kernel", "kernel_params", "n_jobs", "components_", "normalization_")
    return {
        "fourier": (RBFSampler, (*seen, "random_weights_", "random_offset_")),
        "count-sketch": (PolynomialCountSketch, (*seen, *sketch)),
        "nystroem": (Nystroem, (*seen, *landmarks)),
    }


def _kinds() -> dict[str, tuple[type, tuple[str, ...]]]:
    return STORED | _feature_maps()


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
    for kind, (cls, attributes) in _kinds().items():
        if type(value) is cls:
            return {"kind": kind} | {part: encode(getattr(value, part), f"{name}.{part}") for part in attributes}
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
        cls, attributes = _kinds()[kind]
        chosen = {attribute: parts[attribute] for attribute in attributes}
    except KeyError as error:
        raise ValueError(f"the state is incomplete: {error} of {kind!r} is unknown or missing.") from error
    if issubclass(cls, tuple):
        return cls(*chosen.values())
    # Past the constructor: the parts were checked when the object was first made, and must not be computed anew.
    made = object.__new__(cls)
    vars(made).update(chosen)
    return made
