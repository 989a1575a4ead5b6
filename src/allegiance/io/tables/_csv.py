"""Comma- and tab-separated text."""

from __future__ import annotations

import csv
import io
import mmap
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any

from allegiance._core import require

from ._error import TableError
from ._source import Source, skipped

if TYPE_CHECKING:
    import pyarrow as pa

#: Bytes parsed at a time. No row may be longer.
_BLOCK = 8 << 20
#: Bytes looked at to find the header and to recognise files that are no text.
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
    b"PK\x03\x04": "a ZIP archive (an .xlsx or .npz file?)",
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
    """

    def __init__(
        self,
        where: str,
        files: list[str],
        open_bytes: Callable[[], Any],
        delimiter: str | None,
        text: tuple[str, ...] = (),
    ) -> None:
        self._open_bytes = open_bytes
        with open_bytes() as stream:
            head = bytes(stream.read(_HEAD))
        self._delimiter, names = _header(head, where, delimiter)
        super().__init__(where, files, names)
        self._text = [name for name in text if name in names]
        self._schema: Any = None
        self._n_rows: int | None = None

    @property
    def n_rows(self) -> int | None:
        """The number of rows, once the types of the columns were looked for."""
        return self._n_rows

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns, found by reading the file once."""
        if self._schema is None:
            arrow = require("pyarrow", "io", "reading tables")
            types = dict.fromkeys(self._text, arrow.string())
            while self._schema is None:
                self._schema = self._scan(types)
        return self._schema

    def _scan(self, types: dict[str, Any]) -> pa.Schema | None:
        """Read all rows; return the schema, or None after widening the one type in ``types`` that did not fit."""
        arrow = require("pyarrow", "io", "reading tables")
        rows = 0
        try:
            with self._reader(self.names, types) as reader:
                schema = reader.schema
                for batch in reader:
                    rows += batch.num_rows
        except arrow.ArrowInvalid as error:
            failed = _CONVERSION.search(str(error))
            if failed is None:
                raise self._unreadable(error) from error
            types[self.names[int(failed[1])]] = arrow.type_for_alias(_WIDER.get(failed[2], "string"))
            return None
        for field in schema:
            if arrow.types.is_binary(field.type):
                raise TableError(f"{self.where}: column {field.name!r} is not UTF-8 text. Save the file as UTF-8.")
        self._n_rows = rows
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
        if "columns, got" in str(error):
            return self._ragged()
        if "straddles two block boundaries" in str(error):
            return TableError(f"{self.where} has a row of more than {_BLOCK >> 20} MB: is a quotation mark not closed?")
        return TableError(f"{self.where} cannot be read. {error}")

    def _ragged(self) -> TableError:
        """Find the first row with too many or too few columns: slow, but it knows the line."""
        with self._open_bytes() as stream:
            lines = io.TextIOWrapper(
                io.BufferedReader(_Raw(stream)), encoding="utf-8-sig", errors="replace", newline=""
            )
            reader = csv.reader(lines, delimiter=self._delimiter)
            first = 1
            for row in reader:
                if row and len(row) != len(self.names):
                    return TableError(
                        f"{self.where}, line {first}: {len(row)} columns, but the header has {len(self.names)}. "
                        "Correct the line, or quote the values that contain the separator."
                    )
                first = reader.line_num + 1
        return TableError(f"{self.where} has rows with more or fewer columns than its header.")


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


def spooled(stream: IO[bytes], where: str, delimiter: str | None, text: tuple[str, ...]) -> CsvSource:
    """Return the table in a stream, kept in a nameless temporary file so that it can be read more than once."""
    if stream.isatty():
        raise TableError(f"{where} is a terminal: pipe a CSV file into the command, or name a file.")
    arrow = require("pyarrow", "io", "reading tables")
    with tempfile.TemporaryFile() as spool:
        shutil.copyfileobj(stream, spool)
        if spool.tell() == 0:
            raise TableError(f"{where} is empty.")
        spool.flush()
        # The mapping keeps the file, which has no name any more, until the source is gone.
        buffer = arrow.py_buffer(mmap.mmap(spool.fileno(), 0, access=mmap.ACCESS_READ))
    return CsvSource(where, [], lambda: arrow.BufferReader(buffer), delimiter, text)


def _header(head: bytes, where: str, delimiter: str | None) -> tuple[str, list[str]]:
    """Return the delimiter and the column names, from the first bytes of a file."""
    _check_text(head, where)
    text = head.decode("utf-8-sig", errors="surrogateescape")
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter or ",")
    names = next((row for row in rows if row), None)
    if names is None:
        raise TableError(f"{where} has no header: its first line must hold the names of the columns.")
    if delimiter is None and len(names) == 1:
        for other in ";\t":
            if other in names[0]:
                return _header(head, where, other)
    if any("\udc80" <= character <= "\udcff" for name in names for character in name):
        raise TableError(f"{where} is not UTF-8 text: save it as UTF-8.")
    return delimiter or ",", names


def _check_text(head: bytes, where: str) -> None:
    if not head:
        raise TableError(f"{where} is empty.")
    for magic, kind in _OTHER_FORMATS.items():
        if head.startswith(magic):
            raise TableError(f"{where} is read as text, but it is {kind}.")
    if b"\0" in head:
        raise TableError(f"{where} is read as text, but it holds binary data.")
