"""The preparation of a table as transformers of scikit-learn, fitted to what passes over its rows found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from allegiance._core import require
from allegiance.io import TableError
from allegiance.preparation import category_name

from ._readings import Reading, Readings


def fitted_preparation(
    readings: Readings,
    typical: Mapping[str, Any],
    categories: Mapping[str, Sequence[str]],
    *,
    impute: bool,
    single: bool,
) -> Any:
    """Return a fitted pipeline whose step ``columns`` is a ``ColumnTransformer``.

    Neighbours that are read alike share a transformer, so that features keep the order of the columns. All of it is
    fitted to one row of medians and most frequent categories: what the median of a single row is, the imputer knows.

    Parameters
    ----------
    readings
        How each column is read.
    typical
        By column, what stands in for a missing value: a number, or a category.
    categories
        The categories of the columns that hold some, in the order of their features.
    impute
        Whether missing values are filled in.
    single
        Whether all columns are in single precision, and the features are to be.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline

    names = list(readings)
    parts = []
    for number, (reading, group) in enumerate(groupby(names, key=readings.__getitem__), start=1):
        members = list(group)
        steps = _steps(reading, [categories.get(name, ()) for name in members], impute)
        parts.append((f"{reading.holds}-{number}", Pipeline(steps), members))
    columns = ColumnTransformer(parts, verbose_feature_names_out=False)
    frames = require("pandas", "io", "preparing tables")
    row = {
        name: np.array([typical[name]], dtype=object if reading.holds == "categories" else np.float64)
        for name, reading in readings.items()
    }
    frame = frames.DataFrame({name: values.astype(np.float32) if single else values for name, values in row.items()})
    preparation = Pipeline([("columns", columns)]).fit(frame)
    try:
        preparation.get_feature_names_out()
    except ValueError as error:
        raise TableError(f"two features would have the same name: rename a column. {error}") from error
    return preparation


def _steps(reading: Reading, categories: list[Sequence[str]], impute: bool) -> list[tuple[str, Any]]:
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    steps: list[tuple[str, Any]] = [("read", reading.transformer())]
    if reading.holds != "categories":
        return [*steps, ("impute", SimpleImputer(strategy="median"))] if impute else steps
    if impute:
        steps.append(("impute", SimpleImputer(missing_values="", strategy="most_frequent")))
    encoder = OneHotEncoder(
        categories=[np.array(values, dtype=object) for values in categories],
        handle_unknown="ignore",
        sparse_output=False,
        feature_name_combiner=category_name,
    )
    return [*steps, ("encode", encoder)]


def with_scale(preparation: Any, scaler: Any) -> Any:
    """Return the pipeline with a fitted scaler behind it."""
    from sklearn.pipeline import Pipeline

    return Pipeline([*preparation.steps, ("scale", scaler)])
