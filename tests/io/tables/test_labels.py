"""Labels of every type a column can have, the same in batches as in one piece."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from allegiance.io._old_tables import TableError, labels_of_column

DAY = datetime.date(2024, 1, 2)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([3, -1]), [3, -1]),
        (pa.array([1.0, 2.0]), [1.0, 2.0]),
        (pa.array([True, False]), [True, False]),
        (pa.array(["a", "b"], pa.string_view()), ["a", "b"]),
        (pa.array(["a", "b"], pa.large_string()), ["a", "b"]),
        (pa.array(["a", "b"]).dictionary_encode(), ["a", "b"]),
        (pa.array([Decimal(7), Decimal(-1)]), [7, -1]),
        (pa.array([Decimal("1.50"), Decimal("100.00")]), ["1.5", "100"]),
        (pa.array([DAY, DAY]), ["2024-01-02"] * 2),
        (pa.array([datetime.time(7, 30), datetime.time(8)], pa.time32("s")), ["07:30:00", "08:00:00"]),
        (pa.array([datetime.datetime(2024, 1, 2, 3)] * 2, pa.timestamp("s")), ["2024-01-02 03:00:00"] * 2),
        (pa.array([b"a", b"b"]), ["a", "b"]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_labels_of_every_type(values, expected):
    whole = labels_of_column(values, "kind", "t")
    assert whole.tolist() == expected
    one_by_one = [labels_of_column(values.slice(i, 1), "kind", "t") for i in range(2)]
    assert [part.tolist()[0] for part in one_by_one] == expected
    assert {part.dtype for part in one_by_one} == {whole.dtype}
    assert labels_of_column(pa.chunked_array([values, values]), "kind", "t").tolist() == expected * 2


@pytest.mark.parametrize(
    "values",
    [pa.array([1, None]), pa.array([1.0, np.nan]), pa.array(["a", ""]), pa.array(["a", None]), pa.array([DAY, None])],
)
def test_missing_labels_are_named_by_their_row(values):
    with pytest.raises(TableError, match="column 'kind' of t has no label in row 41: use -1"):
        labels_of_column(values, "kind", "t", first=40)
    with pytest.raises(TableError, match="in row 1 and in 1 more"):
        labels_of_column(pa.chunked_array([values, values]), "kind", "t")


def test_labels_that_cannot_be_kept_apart_or_compared_are_refused():
    with pytest.raises(TableError, match="ends in a NUL character"):
        labels_of_column(pa.array(["a", "a\0"]), "kind", "t")
    with pytest.raises(TableError, match=r"cannot be labels, being of type list<"):
        labels_of_column(pa.array([[1]]), "kind", "t")
    with pytest.raises(TableError, match="cannot be labels, being of type binary"):
        labels_of_column(pa.array([b"\xff"]), "kind", "t")
