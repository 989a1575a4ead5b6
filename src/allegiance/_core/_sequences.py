"""One value for each point, from whatever kind of sequence the user has."""

from __future__ import annotations

from typing import Any

import narwhals as nw


def one_for_each(values: Any, name: str, n_points: int) -> list[Any]:
    """Return a list of n_points values, or say what is wrong with the argument ``name``.

    Parameters
    ----------
    values
        A list, an array, or a series of pandas, polars or pyarrow.
    name
        What the argument is called.
    n_points
        How many there must be.
    """
    if isinstance(values, (str, bytes)):
        raise TypeError(f"{name} must have one entry for each point, got a single {type(values).__name__}.")
    series = nw.from_native(values, series_only=True, pass_through=True)
    entries = series.to_list() if isinstance(series, nw.Series) else list(values)
    if len(entries) != n_points:
        raise ValueError(
            f"{name} has {len(entries)} entries but the result has {n_points} points: pass one for each point."
        )
    return entries


def is_missing(value: Any) -> bool:
    """Tell whether an entry is None, NaN or a frame's missing value."""
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def texts_for_each(values: Any, n_points: int) -> list[str]:
    """Return one text for each point, empty where it is missing (None, NaN); ``texts`` in messages."""
    entries = one_for_each(values, "texts", n_points)
    for row, entry in enumerate(entries):
        if isinstance(entry, str):
            continue
        if not is_missing(entry):
            raise TypeError(
                f"texts must be strings, but texts[{row}] is {entry!r} ({type(entry).__name__}): convert it with str()."
            )
        entries[row] = ""
    return entries
