"""Workbooks of spreadsheets."""

from __future__ import annotations

from datetime import date, datetime

import numpy as np
import pytest

from allegiance.io._old_tables import TableError, open_source, plan_features

openpyxl = pytest.importorskip("openpyxl")
pytest.importorskip("python_calamine")


@pytest.fixture
def book(tmp_path):
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    sheet.title = "customers"
    for row in [
        ["id", "visits", "spent", "since", "plan", "active", "mixed", "empty"],
        [1, 3, "$1,200.50", date(1970, 1, 2), "basic", True, 1, None],
        [2, None, "$7", datetime(1970, 1, 3, 12), "pro", False, "x", None],
        [3, 5, "$8", None, "pro", None, 2.5, None],
    ]:
        sheet.append(row)
    workbook.create_sheet("other").append(["a"])
    workbook.create_sheet("nothing")
    workbook.save(tmp_path / "book.xlsx")
    return tmp_path / "book.xlsx"


def test_cells_have_the_type_of_their_column(book):
    source = open_source(book, text=["id"])
    assert [str(field.type) for field in source.schema] == (
        ["string", "int64", "string", "timestamp[us]", "string", "bool", "string", "int64"]
    )
    table = source.read().to_pydict()
    assert table["id"] == ["1", "2", "3"]
    assert table["visits"] == [3, None, 5]
    assert table["mixed"] == ["1", "x", "2.5"]
    assert source.n_rows == 3


def test_a_sheet_becomes_features(book):
    source = open_source(book)
    plan = plan_features(source, drop=["mixed", "empty", "active"], apart=["id"], one_hot=["plan"], impute="median")
    expected = [[3, 1200.5, 1, 1, 0], [4, 7, 2.5, 0, 1], [5, 8, 1.75, 0, 1]]
    np.testing.assert_array_equal(plan.prepare(source.read()).matrix, expected)
    parts = [plan.prepare(batch).matrix for batch in source.batches(rows=2)]
    np.testing.assert_array_equal(np.concatenate(parts), expected)


def test_sheets_go_by_their_names(book):
    assert open_source(f"{book}:other").names == ["a"]
    with pytest.raises(TableError, match=r"no sheet 'othr'\. Its sheets are 'customers', 'other', 'nothing'"):
        open_source(f"{book}:othr")
    with pytest.raises(TableError, match="the sheet 'nothing' is empty"):
        open_source(f"{book}:nothing")


def test_other_files_are_refused(tmp_path):
    (tmp_path / "book.xlsx").write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match=r"is not an \.xlsx file, or it is damaged"):
        open_source(tmp_path / "book.xlsx")
