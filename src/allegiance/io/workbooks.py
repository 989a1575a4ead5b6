"""Workbooks: read one sheet as a table, whose header is found as in delimited text, and write tables."""

from __future__ import annotations

import functools
import io
import math
import re
import zipfile
from datetime import UTC, date, datetime
from decimal import Decimal
from fnmatch import fnmatch
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa

from allegiance._core.validation import require

from .files import TableError, open_seekable, wrap_errors
from .parts import Part, reading_finding
from .text import HEAD_ROWS, Dialect, find_layout
from .values import column_of, json_text, plain_text, text_of

if TYPE_CHECKING:
    from .sinks import Sink

#: Maximum cells of a worksheet, including empty ones, and bytes of its XML read at a time.
_MAX_CELLS, _PIECE_BYTES = 50_000_000, 4 << 20
#: Maximum rows of a worksheet and characters of a cell.
_SHEET_ROWS, _CELL_CHARACTERS = 1_048_576, 32_767
#: Widest column of a worksheet, in characters, and the rows that set the widths.
_MAX_WIDTH, _WIDTH_ROWS = 50, 1_000
#: Texts that a spreadsheet writes in the same way as numbers.
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,10})?")
#: Control characters, which XML cannot store.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


def open_workbook(path: str, sheet: str | None, dialect: Dialect) -> Part:
    """Return a sheet of a workbook, in memory."""
    library = require("python_calamine", "io", f"reading {path}")
    with wrap_errors(f"{path} is not a workbook, or it is damaged."):
        _check_extent(open_seekable(path), path)
        place = open_seekable(path)
        read = library.CalamineWorkbook.from_path if isinstance(place, str) else library.CalamineWorkbook.from_filelike
        with read(place) as book:
            names = list(book.sheet_names)
            if sheet is not None and sheet not in names:
                raise TableError(f"{path} has no sheet {sheet!r}. Its sheets are {', '.join(map(repr, names))}.")
            sheet_names = names if sheet is None else [sheet]
            worksheets = {name: book.get_sheet_by_name(name) for name in sheet_names}
            sheets = {name: one.to_python(skip_empty_area=True) for name, one in worksheets.items()}
            tops = {name: (one.start or (0, 0))[0] for name, one in worksheets.items()}
    if not sheets:
        raise TableError(f"{path} has no sheets, or it is damaged.")
    title = max(sheets, key=lambda name: sum(len(row) for row in sheets[name]))
    rows, top = sheets[title], tops[title] + 1
    if not rows:
        raise TableError(f"{path}: the sheet {title!r} is empty.")
    skip_rows = None if dialect.skip_rows is None else max(0, dialect.skip_rows - top + 1)
    if skip_rows is not None and skip_rows >= len(rows):
        raise TableError(
            f"{path}: the sheet {title!r} has {len(rows):,} rows, so `skip_rows={dialect.skip_rows}` leaves none."
        )
    lines = [top + i for i in range(len(rows)) if top + i not in dialect.skip_lines]
    cells = [rows[line - top] for line in lines]
    texts = [[text_of(cell) for cell in row] for row in cells[:HEAD_ROWS]]
    layout = find_layout(texts, path, skip_rows, dialect.header)
    first = layout.header + layout.has_names
    columns = {
        name: column_of([_cell_value(row[i]) if i < len(row) else None for row in cells[first:]])
        for i, name in enumerate(layout.names)
    }
    part = Part.of(path, pa.table(columns), "xlsx", written=True)
    part.has_names, part.first_line = layout.has_names, lines[first] if first < len(lines) else top
    part.findings += layout.findings
    if len(sheets) > 1:
        others = ", ".join(repr(name) for name in names if name != title)
        text = f"read the sheet {title!r}. Its other sheets are {others} (`sheet=`)."
        part.findings.append(reading_finding(path, text))
    return part


def _check_extent(file: Any, path: str) -> None:
    """Raise for a worksheet whose cells span more rows and columns than fit into memory: the library aborts."""
    if not zipfile.is_zipfile(file):
        return
    with zipfile.ZipFile(file) as archive:
        for name in archive.namelist():
            rows, columns, tail = {b"1"}, {b"A"}, b""
            with archive.open(name) if fnmatch(name, "xl/worksheets/*.xml") else io.BytesIO() as stream:
                while piece := stream.read(_PIECE_BYTES):
                    text = tail + piece
                    rows.add(max(re.findall(rb'<row[^>]*? r="(\d+)"', text), key=int, default=b"1"))
                    columns |= set(re.findall(rb'<c[^>]*? r="([A-Z]+)\d', text))
                    tail = text[-256:]
            height = max(map(int, rows))
            width = max(functools.reduce(lambda n, letter: 26 * n + letter - 64, column, 0) for column in columns)
            if height * width > _MAX_CELLS:
                size = f"a sheet of {height:,} rows and {width:,} columns"
                raise TableError(f"{path} has {size}. Remove the stray cell, or save the table as CSV.")


def _cell_value(cell: Any) -> Any:
    """Return a cell of a workbook, None if it is blank; dates become times, because columns often mix both."""
    if isinstance(cell, date) and not isinstance(cell, datetime):
        return datetime(cell.year, cell.month, cell.day)
    return None if isinstance(cell, str) and not cell.strip() else cell


class Percent(float):
    """A share that workbooks display as a percentage."""


class WorkbookWriter:
    """A workbook whose first sheet is the table, with a frozen bold header and filters; texts are never formulas."""

    def __init__(self, file: IO[bytes], schema: pa.Schema, sink: Sink) -> None:
        from xlsxwriter import Workbook

        self._book = Workbook(file, {"constant_memory": True, "default_date_format": "yyyy-mm-dd"})
        self._bold = self._book.add_format({"bold": True})
        self._percent = self._book.add_format({"num_format": "0%"})
        self._moment = self._book.add_format({"num_format": "yyyy-mm-dd hh:mm"})
        self._title = self._book.add_format({"bold": True, "font_size": 12})
        self._sheet, self._sink, self._rows = self._book.add_worksheet("table"), sink, 1
        self._names, self._widths = schema.names, [len(name) + 3 for name in schema.names]
        self._sheet.freeze_panes(1, 0)
        self._sheet.repeat_rows(0)
        self._sheet.set_landscape()
        self._sheet.fit_to_pages(1, 0)
        formats = {name: self._book.add_format({"num_format": text}) for name, text in sink.formats.items()}
        self._formats = [formats.get(name) for name in schema.names]
        self._numbers = [place for place, name in enumerate(schema.names) if name in sink.numbers]
        for place, name in enumerate(schema.names):
            self._write(self._sheet, 0, place, name, self._bold)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Append a batch to the first sheet."""
        if self._rows + batch.num_rows > _SHEET_ROWS:
            raise TableError(f"a worksheet holds at most {_SHEET_ROWS - 1:,} rows: write .csv or .parquet.")
        columns = [column.to_pylist() for column in batch.columns]
        for place in self._numbers:
            values = columns[place]
            for row, value in enumerate(values):
                if isinstance(value, str) and _PLAIN_NUMBER.fullmatch(value.strip()):
                    values[row] = float(value) if "." in value else int(value)
        for cells in zip(*columns, strict=True):
            for place, value in enumerate(cells):
                self._write(self._sheet, self._rows, place, value, self._formats[place])
            if self._rows <= _WIDTH_ROWS:
                self._widths = [max(w, _width(value)) for w, value in zip(self._widths, cells, strict=True)]
            self._rows += 1

    def _write(self, sheet: Any, row: int, place: int, value: Any, style: Any = None) -> None:
        """Write a cell of the workbook: a number, a truth value, a time or text."""
        if value is None or (isinstance(value, float | Decimal) and not math.isfinite(value)):
            return
        if isinstance(value, bool):
            sheet.write_boolean(row, place, value, style)
        elif isinstance(value, float | Decimal) or (isinstance(value, int) and abs(value) < 10**15):
            exact = _Exact(value) if isinstance(value, float) else value
            sheet.write_number(row, place, exact, self._percent if isinstance(value, Percent) else style)
        elif isinstance(value, date) and value.year >= 1900:
            moment: Any = value
            if getattr(value, "tzinfo", None):
                moment = moment.astimezone(UTC).replace(tzinfo=None)
            timed = isinstance(moment, datetime) and (moment.hour or moment.minute or moment.second)
            sheet.write_datetime(row, place, moment, self._moment if timed else None)
        else:
            text = json_text(value) if isinstance(value, (dict, list)) else plain_text(value)
            sheet.write_string(row, place, _ILLEGAL.sub("", str(text))[:_CELL_CHARACTERS], style)

    def close(self) -> None:
        """Set the widths, filters and drop-down lists of the workbook, and write its summary."""
        if self._book.fileclosed:
            return
        for place, width in enumerate(self._widths):
            self._sheet.set_column(place, place, min(width, _MAX_WIDTH))
        self._sheet.autofilter(0, 0, max(self._rows - 1, 0), len(self._widths) - 1)
        for name, values in self._sink.choices.items():
            place = self._names.index(name)
            if sum(len(value) + 1 for value in values) <= 255:  # the limit of the format
                rule = {"validate": "list", "source": list(values), "error_type": "warning"}
                self._sheet.data_validation(1, place, max(self._rows - 1, 1), place, rule)
        for name, colors in self._sink.colors.items():
            place = self._names.index(name)
            for text, color in colors.items():
                style = self._book.add_format({"bg_color": color})
                rule = {"type": "cell", "criteria": "==", "value": f'"{text}"', "format": style}
                self._sheet.conditional_format(1, place, max(self._rows - 1, 1), place, rule)
        if self._sink.summary:
            self._write_summary(self._book.add_worksheet("summary"))
        self._book.close()

    def _write_summary(self, sheet: Any) -> None:
        """Write the second sheet of the workbook."""
        sheet.set_column(0, 0, 24)
        sheet.set_column(1, 1, 34)
        sheet.set_column(2, 12, 16)
        sheet.set_landscape()
        sheet.fit_to_pages(1, 0)
        row = 0
        for title, lines in self._sink.summary:
            self._write(sheet, row, 0, title, self._title)
            for number, line in enumerate(lines):
                row += 1
                is_header = number == 0 and len(line) > 2 and all(isinstance(value, str) for value in line)
                for place, value in enumerate(line):
                    self._write(sheet, row, place, value, self._bold if is_header else None)
            row += 2


class _Exact(float):
    """A number that is written with all its digits, one more than XlsxWriter writes."""

    def __format__(self, spec: str) -> str:
        return repr(float(self))


def _width(value: Any) -> int:
    """Return the width of a cell of a workbook, in characters."""
    if isinstance(value, float):
        return 8
    return 12 if isinstance(value, date) else len(str(value)) + 2 if value is not None else 0
