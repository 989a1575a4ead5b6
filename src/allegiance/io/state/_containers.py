"""Pipelines and column transformers, which hold other estimators, as plain values and arrays."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from allegiance._core import Number, Sizes

from ._estimators import decode_estimator, encode_estimator, output_of, with_output
from ._values import decode_value, encode_value

#: The most columns that a transformer in a file may be said to have.
_WIDEST = 2**24
#: What stands for a step that does nothing, or leaves columns out.
_WORDS = (None, "passthrough", "drop")
_SETTINGS = ("sparse_threshold", "n_jobs", "transformer_weights", "verbose", "verbose_feature_names_out")


def encode_transformer(transformer: Any, name: str) -> Any:
    """Return a fitted transformer, perhaps with others inside, as plain values and arrays.

    Parameters
    ----------
    transformer
        A pipeline, a column transformer, or one that :mod:`._estimators` knows.
    name
        Where it belongs, for the message of an error.
    """
    if isinstance(transformer, FrozenEstimator):
        return encode_transformer(transformer.estimator, name)
    if transformer is None or isinstance(transformer, str):
        return transformer
    if type(transformer) is Pipeline:
        steps = {
            str(i): {"name": step, "step": encode_transformer(inner, f"{name}.{step}")}
            for i, (step, inner) in enumerate(transformer.steps)
        }
        return {"class": "Pipeline", "steps": steps, "output": output_of(transformer)}
    if type(transformer) is ColumnTransformer:
        return _encode_columns(transformer, name)
    return encode_estimator(transformer, name)


def decode_transformer(state: Any) -> Any:
    """Return the transformer that :func:`encode_transformer` described."""
    if state in _WORDS:
        return state
    if state["class"] == "ColumnTransformer":
        return _decode_columns(state)
    if state["class"] != "Pipeline":
        return decode_estimator(state)
    steps = [state["steps"][str(i)] for i in range(len(state["steps"]))]
    return with_output(Pipeline([(step["name"], decode_transformer(step["step"])) for step in steps]), state["output"])


def _encode_columns(transformer: ColumnTransformer, name: str) -> dict[str, Any]:
    entries = {}
    for i, (part, inner, columns) in enumerate(transformer.transformers_):
        width = transformer.output_indices_[part]
        entries[str(i)] = {
            "name": part,
            "columns": encode_value(_listed(transformer, columns, f"{name}.{part}"), f"{name}.{part}"),
            "transformer": encode_transformer(_asked(transformer, part, inner), f"{name}.{part}"),
            "width": width.stop - width.start,
        }
    settings = {key: encode_value(getattr(transformer, key), f"{name}.{key}") for key in _SETTINGS}
    return {
        "class": "ColumnTransformer",
        "entries": entries,
        "settings": settings,
        "n_features": transformer.n_features_in_,
        "feature_names": encode_value(getattr(transformer, "feature_names_in_", None), f"{name}.feature_names_in_"),
        "sparse_output": bool(transformer.sparse_output_),
        "output": output_of(transformer),
    }


def _asked(transformer: ColumnTransformer, part: str, fitted: Any) -> Any:
    """Return the word that the user put in place of a transformer, if it was one, for the fitted stand-in."""
    given = {name: inner for name, inner, _ in transformer.transformers} | {"remainder": transformer.remainder}
    return given[part] if isinstance(given[part], str) else fitted


def _listed(transformer: ColumnTransformer, columns: Any, name: str) -> Any:
    """Return columns as a name, a number or a list of them."""
    if isinstance(columns, str | int | np.integer):
        return columns
    if isinstance(columns, slice):
        if isinstance(columns.start, str) or isinstance(columns.stop, str):
            raise TypeError(f"{name} takes {columns!r}, which cannot be saved: list the names of the columns.")
        columns = np.arange(transformer.n_features_in_)[columns]
    values = np.asarray(columns)
    return (np.flatnonzero(values) if values.dtype.kind == "b" else values).tolist()


def _decode_columns(state: dict[str, Any]) -> ColumnTransformer:
    entries = [state["entries"][str(i)] for i in range(len(state["entries"]))]
    names, n = decode_value(state["feature_names"]), state["n_features"]
    for size in (n, *(entry["width"] for entry in entries)):
        Number(0, _WIDEST, whole=True).check(size, "a number of columns", Sizes(), {})
    real = {entry["name"]: decode_transformer(entry["transformer"]) for entry in entries}
    stubs = {
        entry["name"]: inner if isinstance(inner, str) else _Stub(entry["width"])
        for entry, inner in zip(entries, real.values(), strict=True)
    }
    parts = [
        (entry["name"], stubs[entry["name"]], decode_value(entry["columns"]))
        for entry in entries
        if entry["name"] != "remainder"
    ]
    settings = {key: decode_value(value) for key, value in state["settings"].items() if key in _SETTINGS}
    made = ColumnTransformer(parts, remainder=stubs.get("remainder", "drop"), **settings)
    # The fit finds out which columns are meant; then fitted transformers take the places of the stubs.
    made.fit(np.zeros((1, n)) if names is None else _one_row([str(name) for name in names]))
    made.transformers_ = [
        (name, inner if isinstance(real.get(name, "drop"), str) else real[name], columns)
        for name, inner, columns in made.transformers_
    ]
    made.transformers = [(name, _unfitted(real[name]), columns) for name, _, columns in parts]
    made.remainder = _unfitted(real.get("remainder", "drop"))
    made.sparse_output_ = bool(state["sparse_output"])
    return with_output(made, state["output"])


def _unfitted(transformer: Any) -> Any:
    return transformer if isinstance(transformer, str) else clone(transformer)


def _one_row(names: list[str]) -> Any:
    """Return a frame of zeros with these columns, of a library that is installed."""
    backend = next((library for library in ("pandas", "polars") if find_spec(library) is not None), None)
    if backend is None:
        raise ImportError(
            "the columns of this scorer have names, which needs frames: pip install 'allegiance[pandas]'."
        )
    return nw.from_dict({name: [0.0] for name in names}, backend=backend).to_native()  # type: ignore[arg-type]


class _Stub(TransformerMixin, BaseEstimator):
    """Stands in for a transformer that makes ``width`` columns."""

    def __init__(self, width: int) -> None:
        self.width = width

    def fit(self, X: Any, y: Any = None) -> _Stub:
        """Do nothing."""
        self.n_features_in_ = X.shape[1] if len(X.shape) > 1 else 1
        return self

    def transform(self, X: Any) -> Any:
        """Return zeros."""
        return np.zeros((X.shape[0], self.width))
