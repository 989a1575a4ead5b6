"""A column of labels as an array, the same for a batch as for the whole table."""

from __future__ import annotations

from typing import Any

import numpy as np

from allegiance._core import AnyArray, require
from allegiance.io import TableError


def labels_of_column(values: Any, name: str, where: str, first: int = 0) -> AnyArray:
    """Return labels (m,) as numbers or texts.

    Which of the two depends on the type of the column only: numbers and truth values stay what they are, decimal
    numbers without a fraction are whole numbers, and everything else, such as dates, becomes text.

    Parameters
    ----------
    values
        An Arrow array, or several in a row.
    name
        The name of the column.
    where
        What to call its table in messages.
    first
        The number of the first value's row in that table.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from allegiance.io._old_tables import labels_of_column
    >>> labels_of_column(pa.array([3, -1, 3]), "kind", "the table")
    array([ 3, -1,  3])
    """
    kinds = require("pyarrow", "io", "reading tables").types
    compute = require("pyarrow.compute", "io", "reading tables")
    if kinds.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if not (kinds.is_integer(values.type) or kinds.is_floating(values.type) or kinds.is_boolean(values.type)):
        values = _whole_or_text(values, name, where)
    missing = compute.is_null(values, nan_is_null=True)
    if kinds.is_string(values.type):
        # Where nothing was written, CSV files have an empty text.
        missing = compute.or_(missing, compute.fill_null(compute.equal(values, ""), False))
    gaps = np.flatnonzero(missing.to_numpy(zero_copy_only=False))
    if gaps.size:
        more = f" and in {gaps.size - 1:,} more" if gaps.size > 1 else ""
        raise TableError(
            f"column {name!r} of {where} has no label in row {first + gaps[0]}{more}: use -1 for rows that belong to "
            "no cluster, or leave such rows out first."
        )
    return np.asarray(values.to_numpy(zero_copy_only=False))


def _whole_or_text(values: Any, name: str, where: str) -> Any:
    """Return values that are not plain numbers as whole numbers, if their type has no fraction, or as text."""
    arrow = require("pyarrow", "io", "reading tables")
    compute = require("pyarrow.compute", "io", "reading tables")
    kind = values.type
    try:
        if arrow.types.is_decimal(kind) and kind.scale == 0 and kind.precision <= 18:
            return values.cast(arrow.int64())
        texts = values.cast(arrow.string())
    except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError) as error:
        raise TableError(
            f"column {name!r} of {where} cannot be labels, being of type {kind}: use numbers or names. {error}"
        ) from error
    if arrow.types.is_decimal(kind) and kind.scale > 0:
        texts = compute.replace_substring_regex(texts, r"\.?0+$", "")
    if compute.any(compute.ends_with(texts, pattern="\0")).as_py():
        # NumPy cannot tell such a text from the one without: two labels would become one.
        raise TableError(f"column {name!r} of {where} holds a label that ends in a NUL character: remove it first.")
    return texts
