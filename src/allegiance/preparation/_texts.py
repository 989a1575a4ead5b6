"""Texts: columns of categories, whatever type they have."""

from __future__ import annotations

from typing import Any

import numpy as np

from allegiance._core import AnyArray

from ._columns import ColumnReader, is_missing


class Texts(ColumnReader):
    """Reads columns as texts, empty where a value is missing, so that 1 and "1" are one category.

    Parameters
    ----------
    missing
        Values that mean a missing one, such as ``("unknown", -999)``.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        The columns of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from allegiance.preparation import Texts
    >>> Texts().fit_transform(np.array([["red", 1], [None, 2.0]], dtype=object))
    array([['red', '1'],
           ['', '2']], dtype=object)
    """

    def __init__(self, missing: Any = ()) -> None:
        self.missing = missing

    def transform(self, X: Any) -> AnyArray:
        """Return texts (n, d).

        Parameters
        ----------
        X
            (n, d) a frame or an array.
        """
        return np.column_stack([texts_in(values, self.missing) for _, values in self._columns(X)])

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names of the columns, which stay what they are.

        Parameters
        ----------
        input_features
            The names of the columns; by default those of the fit.
        """
        return np.array(self._names(input_features), dtype=object)


def texts_in(values: AnyArray, missing: Any = ()) -> AnyArray:
    """Return the values (n,) of a column as texts, empty where one is missing.

    Parameters
    ----------
    values
        Of any type.
    missing
        As in :class:`Texts`.
    """
    absent = {_text(value) for value in missing}
    texts = np.empty(values.shape[0], dtype=object)
    read = [_text(value) for value in values.tolist()]
    texts[:] = ["" if text in absent else text for text in read] if absent else read
    return texts


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if is_missing(value):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def category_name(feature: Any, category: Any) -> str:
    """Return the name of the column of zeros and ones that stands for a category.

    Parameters
    ----------
    feature
        The name of the column of categories.
    category
        The category.
    """
    return f"{feature}={category}"
