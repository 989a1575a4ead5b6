"""Workbooks: one sheet as a table, whose header is found as in delimited text."""

from __future__ import annotations

import functools
import io
import re
import zipfile
from datetime import date, datetime
from fnmatch import fnmatch
from typing import Any

import pyarrow as pa

from allegiance._core.validation import require

from .files import TableError
from .formats import column_of, open_seekable, text_of, wrap_errors
from .parts import Part, reading_finding
from .text import HEAD_ROWS, Dialect, find_layout

#: Maximum cells of a worksheet, including empty ones, and bytes of its XML read at a time.
_MAX_CELLS, _PIECE_BYTES = 50_000_000, 4 << 20


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
