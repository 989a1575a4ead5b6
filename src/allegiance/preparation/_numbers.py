"""Numbers: columns that hold numbers, or texts that stand for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from allegiance._core import AnyArray, FloatArray

from ._columns import ColumnReader, is_missing
from ._written import parse_number


class Numbers(ColumnReader):
    """Reads columns as numbers, with NaN where one is missing.

    Parameters
    ----------
    decimal
        The decimal mark of numbers written as text, "." or ",". Currencies, percent signs and separators between groups
        of digits are understood.
    missing
        Numbers or texts that mean a missing value, such as ``(-999, "unknown")``.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        The columns of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from allegiance.preparation import Numbers
    >>> Numbers(missing=(-999,)).fit_transform(np.array([["$1,452.74", "26%"], ["-999", "3"]], dtype=object))
    array([[1.45274e+03, 2.60000e-01],
           [        nan, 3.00000e+00]])
    """

    def __init__(self, decimal: str = ".", missing: Any = ()) -> None:
        self.decimal = decimal
        self.missing = missing

    def transform(self, X: Any) -> FloatArray:
        """Return numbers (n, d), in single precision if all columns are.

        Parameters
        ----------
        X
            (n, d) a frame or an array.

        Raises
        ------
        ValueError
            If a text does not stand for a number.
        """
        if isinstance(X, np.ndarray) and X.dtype.kind == "f" and not len(self.missing):
            return X
        columns = [numbers_in(values, name, self.decimal, self.missing) for name, values in self._columns(X)]
        single = all(column.dtype == np.float32 for column in columns)
        return np.column_stack([np.asarray(c, dtype=np.float32 if single else np.float64) for c in columns])

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names of the columns, which stay what they are.

        Parameters
        ----------
        input_features
            The names of the columns; by default those of the fit.
        """
        return np.array(self._names(input_features), dtype=object)


def numbers_in(values: AnyArray, name: str, decimal: str = ".", missing: Any = ()) -> FloatArray:
    """Return the values (n,) of a column called ``name`` as numbers, NaN where one is missing.

    Parameters
    ----------
    values
        Numbers, or objects such as texts.
    name
        Of the column, for the message of an error.
    decimal, missing
        As in :class:`Numbers`.
    """
    if values.dtype.kind not in "biuf":
        absent = {str(value) for value in missing}
        values = np.array([_number(value, name, decimal, absent) for value in values.tolist()], dtype=np.float64)
    numbers = values if values.dtype.kind == "f" else values.astype(np.float64)
    sentinels = [value for value in missing if not isinstance(value, str)]
    if not sentinels:
        return numbers
    return np.where(np.isin(numbers, sentinels), np.asarray(np.nan, numbers.dtype), numbers)


def _number(value: Any, name: str, decimal: str, absent: set[str]) -> float:
    if is_missing(value):
        return np.nan
    if not isinstance(value, str):
        return float(value)
    if value.strip() in absent:
        return np.nan
    number = parse_number(value, decimal)
    if number is None:
        raise ValueError(f"column {name!r} holds {value!r}, which is not a number.")
    return number
