"""Dates: columns of days and times as numbers of days, and as positions in the year, the week or the day."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import numpy as np

from allegiance._core import AnyArray, FloatArray, check_choice

from ._columns import ColumnReader, is_missing

#: Days that a cycle takes, and a day on which one begins: a year of average length, a week from Monday, a day.
CYCLES = {"year": (365.2425, 0.0), "week": (7.0, -3.0), "day": (1.0, 0.0)}
_MICROSECONDS = 86_400e6


class Dates(ColumnReader):
    """Reads columns of dates as days since 1970-01-01, and where asked as positions in cycles.

    The days of a cycle lie on a circle, each position its sine and cosine, so that December is close to January.

    Parameters
    ----------
    cycles
        Which of "year", "week" and "day" to add.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        The columns of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from allegiance.preparation import Dates
    >>> dates = Dates(cycles=("week",)).fit(np.array([["2024-01-01"]]))
    >>> dates.transform(np.array([["1970-01-02"], ["1970-01-08T12:00"]])).round(2)
    array([[ 1.  , -0.43, -0.9 ],
           [ 7.5 ,  0.  , -1.  ]])
    >>> dates.get_feature_names_out(["signup"])
    array(['signup', 'signup:week:sin', 'signup:week:cos'], dtype=object)
    """

    def __init__(self, cycles: Any = ()) -> None:
        self.cycles = cycles

    def transform(self, X: Any) -> FloatArray:
        """Return days (n, d), each column followed by the sines and cosines of its cycles; NaN where one is missing.

        Parameters
        ----------
        X
            (n, d) a frame or an array of dates, of texts such as "2024-05-31" or "2024-05-31T08:00", or of numbers of
            days.

        Raises
        ------
        ValueError
            If a text is not such a date.
        """
        parts: list[FloatArray] = []
        for name, values in self._columns(X):
            days = days_in(values, name)
            parts.append(days)
            for cycle in self.cycles:
                check_choice(cycle, "cycles", tuple(CYCLES))
                length, start = CYCLES[cycle]
                angle = 2 * np.pi * ((days - start) / length)
                parts += [np.sin(angle), np.cos(angle)]
        return np.column_stack(parts)

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names of the columns: that of the date, and ``date:cycle:sin`` and ``date:cycle:cos``.

        Parameters
        ----------
        input_features
            The names of the columns; by default those of the fit.
        """
        waves = [f":{cycle}:{wave}" for cycle in self.cycles for wave in ("sin", "cos")]
        names = [name + wave for name in self._names(input_features) for wave in ("", *waves)]
        return np.array(names, dtype=object)


def days_in(values: AnyArray, name: str) -> FloatArray:
    """Return the values (n,) of a column called ``name`` as days since 1970-01-01, NaN where one is missing.

    Parameters
    ----------
    values
        As in :class:`Dates`.
    name
        Of the column, for the message of an error.
    """
    if values.dtype.kind in "iuf":
        return values.astype(np.float64)
    if values.dtype.kind != "M":
        values = np.array([_moment(name, value) for value in values.tolist()], dtype="datetime64[us]")
    values = values.astype("datetime64[us]")
    days = values.astype(np.int64) / _MICROSECONDS
    return np.where(np.isnat(values), np.nan, days)


def _moment(name: str, value: Any) -> Any:
    """Return a date, a time or a text as a time in UTC without a zone; None for nothing."""
    if is_missing(value):
        return None
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError as error:
            raise ValueError(f"column {name!r} holds {value!r}, which is not a date such as 2024-05-31.") from error
    if isinstance(value, datetime):
        return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, date):
        return value
    raise ValueError(f"column {name!r} holds {value!r}, which is not a date.")
