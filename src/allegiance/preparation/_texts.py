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
        absent = {_text(value) for value in self.missing}
        columns = self._columns(X)
        texts = np.empty((columns[0][1].shape[0], len(columns)), dtype=object)
        for i, (_, values) in enumerate(columns):
            read = [_text(value) for value in values.tolist()]
            texts[:, i] = ["" if text in absent else text for text in read] if absent else read
        return texts

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names of the columns, which stay what they are.

        Parameters
        ----------
        input_features
            The names of the columns; by default those of the fit.
        """
        return np.array(self._names(input_features), dtype=object)


def _text(value: Any) -> str:
    if is_missing(value):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


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
