"""Comma- and tab-separated text."""

from __future__ import annotations

import csv
import io
import mmap
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from allegiance._core import require
from allegiance.io import TableError

from ._codes import Codes
from ._quotes import swallowing_quote
from ._source import Source, skipped

if TYPE_CHECKING:
    import pyarrow as pa

#: Bytes parsed at a time. No row may be longer.
_BLOCK = 8 << 20
#: Bytes looked at first to find the header and to recognise files that are not text.
_HEAD = 1 << 16
_CONVERSION = re.compile(
    r"In CSV column #(\d+): (?:Row #\d+: )?CSV conversion error to (\S+): invalid value '(.*)'", re.DOTALL
)
#: Which type to try for a column where another one failed; everything else becomes text.
_WIDER = {"null": "int64", "int64": "double"}
_OTHER_FORMATS = {
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"\x93NUMPY": "a NumPy file",
    b"PK\x03\x04": "a ZIP archive (an .xlsx or .npz file? Its name should then end so)",
    b"\x1f\x8b": "compressed by gzip (its name should then end in .csv.gz)",
    b"\xff\xfe": "UTF-16 text: save it as UTF-8",
    b"\xfe\xff": "UTF-16 text: save it as UTF-8",
}


class CsvSource(Source):
    """Delimited text with a header line, in UTF-8.

    The types of columns are those that fit every row, not only the first ones, which takes one reading of the file.

    Parameters
    ----------
    where
        What to call the table.
    files
        Its path, or nothing.
    open_bytes
        Returns the bytes from the beginning, as a pyarrow stream, each time it is called.
    delimiter
        What separates columns; None for a comma, or a semicolon or tab if the header has these and no comma.
    text
        Columns to keep as they are written, such as identifiers with leading zeros.
    codes
        Columns of names or codes, such as labels: they become numbers only if all different texts stay different.
    """

    def __init__(
        self,
        where: str,
        files: list[str],
        open_bytes: Callable[[], Any],
        delimiter: str | None,
        text: tuple[str, ...] = (),
        codes: tuple[str, ...] = (),
    ) -> None:
        self._open_bytes = open_bytes
        with open_bytes() as stream:
            self._delimiter, names = _read_header(stream, where, delimiter)
        super().__init__(where, files, names)
        self._text = [name for name in text if name in names]
        self._codes = [name for name in codes if name in names and name not in text]
        self._schema: Any = None
        self._n_rows: int | None = None

    def read_as_written(self, columns: Iterable[str]) -> None:
        """Read columns as they are written, such as categories, of which 1 and 01 are two.

        Parameters
        ----------
        columns
            Their names.
        """
        more = [name for name in columns if name in self.names and name not in (*self._text, *self._codes)]
        if more:
            self._text += more
            self._schema = None

    @property
    def n_rows(self) -> int | None:
        """The number of rows, once the types of the columns were looked for."""
        return self._n_rows

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns, found by reading the file once."""
        if self._schema is None:
            arrow = require("pyarrow", "io", "reading tables")
            types = dict.fromkeys([*self._text, *self._codes], arrow.string())
            while self._schema is None:
                self._schema = self._scan(types)
        return self._schema

    def _scan(self, types: dict[str, Any]) -> pa.Schema | None:
        """Read all rows; return the schema, or None after widening the one type in ``types`` that did not fit."""
        arrow = require("pyarrow", "io", "reading tables")
        rows = 0
        several_lines = False
        codes = {name: Codes() for name in self._codes}
        try:
            with self._reader(self.names, types) as reader:
                schema = reader.schema
                for batch in reader:
                    rows += batch.num_rows
                    several_lines = several_lines or _has_line_ends(batch)
                    for name, found in codes.items():
                        found.add(batch.column(name))
        except arrow.ArrowInvalid as error:
            failed = _CONVERSION.search(str(error))
            if failed is None:
                raise self._unreadable(error) from error
            types[self.names[int(failed[1])]] = arrow.type_for_alias(_WIDER.get(failed[2], "string"))
            return None
        for field in schema:
            if arrow.types.is_binary(field.type):
                raise TableError(f"{self.where}: column {field.name!r} is not UTF-8 text. Save the file as UTF-8.")
        if several_lines:
            self._check_quotes()
        self._n_rows = rows
        for name, found in codes.items():
            schema = schema.set(schema.get_field_index(name), arrow.field(name, found.type))
        return schema

    def _reader(self, columns: list[str], types: dict[str, Any]) -> Any:
        text = require("pyarrow.csv", "io", "reading tables")
        return text.open_csv(
            self._open_bytes(),
            read_options=text.ReadOptions(block_size=_BLOCK),
            parse_options=text.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            convert_options=text.ConvertOptions(include_columns=columns, column_types=types),
        )

    def _chunks(self, columns: list[str], start: int, rows: int) -> Iterator[pa.RecordBatch]:
        arrow = require("pyarrow", "io", "reading tables")
        types = {name: self.schema.field(name).type for name in columns}
        try:
            with self._reader(columns, types) as reader:
                yield from skipped(reader, start)
        except arrow.ArrowInvalid as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> TableError:
        """Return what is wrong with a file that could not be parsed."""
        self._check_quotes()
        if "columns, got" in str(error):
            return self._ragged()
        if "straddles two block boundaries" in str(error):
            return TableError(f"{self.where} has a row of more than {_BLOCK >> 20} MB, which cannot be read.")
        return TableError(f"{self.where} cannot be read. {error}")

    def _check_quotes(self) -> None:
        """Raise if a quotation mark swallows rows: slow, but it knows the line."""
        with self._open_bytes() as stream:
            wrong = swallowing_quote(_lines(stream), self._delimiter)
        if wrong is not None:
            raise TableError(f"{self.where}: {wrong} Correct the file: rows would be lost.")

    def _ragged(self) -> TableError:
        """Find the first row with too many or too few columns: slow, but it knows the line."""
        with self._open_bytes() as stream, suppress(csv.Error):
            reader = csv.reader(_lines(stream), delimiter=self._delimiter)
            first = 1
            for row in reader:
                if row and len(row) != len(self.names):
                    return TableError(
                        f"{self.where}, line {first}: {len(row)} columns, but the header has {len(self.names)}. "
                        "Correct the line, or quote the values that contain the separator."
                    )
                first = reader.line_num + 1
        return TableError(f"{self.where} has rows with more or fewer columns than its header.")


def _has_line_ends(batch: pa.RecordBatch) -> bool:
    """Tell whether a text goes over several lines."""
    arrow = require("pyarrow", "io", "reading tables")
    compute = require("pyarrow.compute", "io", "reading tables")
    texts = [column for column in batch.columns if arrow.types.is_string(column.type)]
    return any(compute.any(compute.match_substring(text, end)).as_py() for text in texts for end in "\n\r")


def _lines(stream: Any) -> io.TextIOWrapper:
    """Return a pyarrow stream as lines of text, with their ends."""
    return io.TextIOWrapper(io.BufferedReader(_Raw(stream)), encoding="utf-8-sig", errors="replace", newline="")


class _Raw(io.RawIOBase):
    """A pyarrow stream as Python's text layer wants it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = bytes(self._stream.read(len(buffer)))
        buffer[: len(data)] = data
        return len(data)


def spooled(
    stream: IO[bytes], where: str, delimiter: str | None, text: tuple[str, ...], codes: tuple[str, ...]
) -> CsvSource:
    """Return the table in a stream, kept in a nameless temporary file so that it can be read more than once."""
    if stream.isatty():
        raise TableError(f"{where} is a terminal: pipe a CSV file into the command, or name a file.")
    arrow = require("pyarrow", "io", "reading tables")
    with tempfile.TemporaryFile() as spool:
        try:
            shutil.copyfileobj(stream, spool)
            spool.flush()
        except OSError as error:
            reason = f"{error.strerror}: {where} is kept in this folder, since it is read more than once"
            raise OSError(error.errno, reason, tempfile.gettempdir()) from error
        if spool.tell() == 0:
            raise TableError(f"{where} is empty.")
        # The mapping keeps the file, which has no name any more, until the source is gone.
        buffer = arrow.py_buffer(mmap.mmap(spool.fileno(), 0, access=mmap.ACCESS_READ))
    return CsvSource(where, [], lambda: arrow.BufferReader(buffer), delimiter, text, codes)


def _read_header(stream: Any, where: str, delimiter: str | None) -> tuple[str, list[str]]:
    """Return the delimiter and the column names, from as many bytes of a file as the header takes."""
    head = bytes(stream.read(_HEAD))
    _check_text(head, where)
    more = b"unknown"
    while True:
        names, goes_on = _first_row(head, where, delimiter or ",")
        if not (goes_on and more):
            break
        if len(head) > _BLOCK:
            raise TableError(f"{where} has a header of more than {_BLOCK >> 20} MB: is a quotation mark not closed?")
        more = bytes(stream.read(len(head)))
        head += more
    if not names:
        raise TableError(f"{where} has no header: its first line must hold the names of the columns.")
    if delimiter is None and len(names) == 1:
        for other in ";\t":
            if other in names[0]:
                return other, _first_row(head, where, other)[0]
    if any("\udc80" <= character <= "\udcff" for name in names for character in name):
        raise TableError(f"{where} is not UTF-8 text: save it as UTF-8.")
    return delimiter or ",", names


def _first_row(head: bytes, where: str, delimiter: str) -> tuple[list[str], bool]:
    """Return the first row that is not blank, and whether it may go on beyond the bytes given."""
    lines = io.StringIO(head.decode("utf-8-sig", errors="surrogateescape"), newline="")
    try:
        row = next((row for row in csv.reader(lines, delimiter=delimiter) if row), [])
    except csv.Error as error:
        raise TableError(
            f"{where} has a header that cannot be read: is a quotation mark not closed? {error}"
        ) from error
    return row, not lines.read(1)


def _check_text(head: bytes, where: str) -> None:
    if not head:
        raise TableError(f"{where} is empty.")
    for magic, kind in _OTHER_FORMATS.items():
        if head.startswith(magic):
            raise TableError(f"{where} is read as text, but it is {kind}.")
    if b"\0" in head:
        raise TableError(f"{where} is read as text, but it holds binary data.")
