"""Workbooks of spreadsheets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from allegiance._core import require
from allegiance.io import TableError
from allegiance.preparation import texts_in

from ._source import Source, skipped

if TYPE_CHECKING:
    import pyarrow as pa


class WorkbookSource(Source):
    """A sheet of an .xlsx file, whose first row holds the names of the columns. It is read into memory.

    Parameters
    ----------
    path
        The file.
    sheet
        The name of the sheet; None for the first one.
    text
        Columns to keep as texts, such as identifiers.
    """

    def __init__(self, path: str, sheet: str | None, text: Iterable[str] = ()) -> None:
        rows = _rows_of(path, sheet)
        header = [str(name).strip() for name in rows[0]]
        while header and not header[-1] and not any(row[len(header) - 1] not in ("", None) for row in rows[1:]):
            header.pop()
        if not any(header):
            raise TableError(f"{path} has no header: its first row must hold the names of the columns.")
        super().__init__(path, [path], header)
        self._cells = {name: [row[i] for row in rows[1:]] for i, name in enumerate(header)}
        self._n_rows = len(rows) - 1
        self._text = set(text)
        self._table: Any = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self._n_rows

    def read_as_written(self, columns: Iterable[str]) -> None:
        """Read columns as texts, such as categories.

        Parameters
        ----------
        columns
            Their names.
        """
        self._text |= set(columns)
        self._table = None

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns: the type that all cells of a column have, else text."""
        return self._whole().schema

    def _whole(self) -> Any:
        if self._table is None:
            arrow = require("pyarrow", "io", "reading tables")
            cells = {name: _typed(values, name in self._text) for name, values in self._cells.items()}
            self._table = arrow.table(cells)
        return self._table

    def _chunks(self, columns: list[str], start: int, rows: int) -> Iterator[pa.RecordBatch]:
        yield from skipped(self._whole().select(columns).to_batches(max_chunksize=rows), start)


def _rows_of(path: str, sheet: str | None) -> list[list[Any]]:
    """Return the cells of a sheet, row by row, the header first."""
    library = require("python_calamine", "io", "reading .xlsx files")
    try:
        book = library.CalamineWorkbook.from_path(path)
    except (library.CalamineError, OSError) as error:
        raise TableError(f"{path} is not an .xlsx file, or it is damaged. {error}") from error
    with book:
        names = book.sheet_names
        if sheet is not None and sheet not in names:
            raise TableError(f"{path} has no sheet {sheet!r}. Its sheets are {', '.join(map(repr, names))}.")
        try:
            rows: list[list[Any]] = book.get_sheet_by_name(sheet or names[0]).to_python(skip_empty_area=True)
        except library.CalamineError as error:
            raise TableError(f"{path} cannot be read. {error}") from error
    if not rows:
        raise TableError(f"{path}: the sheet {sheet or names[0]!r} is empty.")
    return rows


def _typed(cells: list[Any], as_text: bool) -> Any:
    """Return the cells of a column as an Arrow array of the one type that they have, else of texts."""
    arrow = require("pyarrow", "io", "reading tables")
    values = [None if cell == "" else cell for cell in cells]
    kinds = {type(value) for value in values if value is not None}
    if not as_text and kinds <= {int, float}:
        whole = all(value is None or (float(value).is_integer() and abs(value) < 2**53) for value in values)
        numbers = [None if value is None else int(value) for value in values] if whole else values
        return arrow.array(numbers, arrow.int64() if whole else arrow.float64())
    if not as_text and kinds == {bool}:
        return arrow.array(values, arrow.bool_())
    if not as_text and kinds <= {date, datetime}:
        moments = [value if value is None or isinstance(value, datetime) else _midnight(value) for value in values]
        return arrow.array(moments, arrow.timestamp("us"))
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return arrow.array([text or None for text in texts_in(objects)], arrow.string())


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)
