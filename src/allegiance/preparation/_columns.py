"""The columns of whatever holds them, one array each."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from allegiance._core import AnyArray


class ColumnReader(TransformerMixin, BaseEstimator):
    """A transformer that reads columns one by one and learns nothing but their number and names."""

    def fit(self, X: Any, y: Any = None) -> Any:
        """Take note of the columns.

        Parameters
        ----------
        X
            (n, d) a frame or an array of anything.
        y
            Ignored.
        """
        validate_data(self, X, skip_check_array=True)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        tags.requires_fit = True
        return tags

    def _columns(self, X: Any) -> list[tuple[str, AnyArray]]:
        """Return the columns of X, each with a name for messages."""
        check_is_fitted(self, "n_features_in_")
        frame = nw.from_native(X, pass_through=True, eager_only=True)
        if isinstance(frame, nw.DataFrame):
            found = [(name, _values(frame.get_column(name))) for name in frame.columns]
        else:
            array = np.asarray(X)
            names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(array.shape[1])])
            found = [(str(name), array[:, i]) for i, name in enumerate(names)]
        if len(found) != self.n_features_in_:
            raise ValueError(
                f"X has {len(found)} columns, but {type(self).__name__} was fitted to {self.n_features_in_}."
            )
        return found

    def _names(self, input_features: Any) -> list[str]:
        check_is_fitted(self, "n_features_in_")
        if input_features is not None:
            return [str(name) for name in input_features]
        return [str(name) for name in getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])]


def _values(column: Any) -> AnyArray:
    """Return a column of a frame as an array: numbers with NaN, dates with NaT, else objects."""
    if column.dtype.is_numeric() and not column.dtype.is_float():
        column = column.cast(nw.Float64)
    elif column.dtype == nw.Boolean:
        column = column.cast(nw.Float64) if column.null_count() else column.cast(nw.Int8)
    return np.asarray(column.to_numpy())


def is_missing(value: Any) -> bool:
    """Tell whether a value of a column of objects stands for nothing."""
    return value is None or value != value or value == "" or type(value).__name__ in ("NAType", "NaTType")
