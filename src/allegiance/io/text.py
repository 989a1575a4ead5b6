"""Delimited text: its encoding, separator, header and quotation marks, found from the file itself."""

from __future__ import annotations

import codecs
import csv
import io
import mmap
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from allegiance._core.validation import require
from allegiance.io import TableError

from .formats import HEAD_ROWS, Options, Part, find_layout, skipped

if TYPE_CHECKING:
    import pyarrow as pa

arrow: Any = require("pyarrow", "io", "reading tables")

#: Bytes of text parsed at a time. No row may be longer.
_BLOCK = 8 << 20
#: Bytes read first to find the dialect, and rows of them that are looked at.
_HEAD = 1 << 16
_OTHER_FORMATS = {
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"\x93NUMPY": "a NumPy file",
    b"PK\x03\x04": "a ZIP archive (an .xlsx or .npz file? Its name should then end so)",
    b"\x1f\x8b": "compressed by gzip (its name should then end in .csv.gz)",
    b"\x89HDF": "an HDF5 file",
    b"%PDF": "a PDF file",
}


def spooled(stream: Any, where: str, options: Options) -> Part:
    """Return the table in a stream, kept in a temporary file without a name so that it can be read more than once."""
    if stream.isatty():
        raise TableError(f"{where} is a terminal: pipe a CSV file into the command, or name a file.")
    with tempfile.TemporaryFile() as spool:
        try:
            shutil.copyfileobj(stream, spool)
            spool.flush()
        except OSError as error:
            reason = f"{error.strerror}: {where} is kept in this folder, since it is read more than once"
            raise OSError(error.errno, reason, tempfile.gettempdir()) from error
        if spool.tell() == 0:
            raise TableError(f"{where} is empty.")
        # The mapping keeps the file, which has no name any more, until the table is gone.
        buffer = arrow.py_buffer(mmap.mmap(spool.fileno(), 0, access=mmap.ACCESS_READ))
    return TextFile(where, [], lambda: arrow.BufferReader(buffer), options)


class NotUtf8Error(Exception):
    """Text that was taken for UTF-8 is not."""


class TextFile(Part):
    """Delimited text, read as it is written."""

    format = "csv"
    written = True

    def __init__(self, where: str, files: list[str], open_bytes: Callable[[], Any], options: Options) -> None:
        self._open, self._options = open_bytes, options
        self._fallback = ""
        self._read_head(where)
        notes = self.notes
        super().__init__(where, files, arrow.schema([(name, arrow.string()) for name in self._layout.names]), None)
        self.notes, self.has_names = notes, self._layout.has_names

    def fall_back(self, reason: str) -> None:
        """Read the file as cp1252 from now on."""
        if self._encoding == "utf-8":
            self._fallback = "cp1252"
            self._read_head(self.where)
            self.names = self._layout.names
            self.schema = arrow.schema([(name, arrow.string()) for name in self.names])

    def _read_head(self, where: str) -> None:
        """Find the encoding, the separator, the header and the names of the columns."""
        with self._open() as stream:
            head = bytes(stream.read(_HEAD))
            more = len(head) == _HEAD
            self.notes = []
            self._encoding = self._options.encoding or self._fallback or _encoding_of(head, where)
            while True:
                text = _decoded(head, self._encoding, where)
                self._sep = self._options.sep or _separator(text, more)
                rows, lines = _parsed(text, self._sep, where, more)
                if rows or not more:
                    break
                if len(head) > _BLOCK:
                    size = _BLOCK >> 20
                    raise TableError(f"{where} has a header of more than {size} MB: is a quotation mark not closed?")
                piece = bytes(stream.read(len(head)))
                more = bool(piece)
                head += piece
        if not any(any(cell.strip() for cell in row) for row in rows):
            raise TableError(f"{where} has no header: its first line must hold the names of the columns.")
        self._layout = find_layout(rows, None if self._options.skip_rows is None else 0, self._options.skip_rows, lines)
        self._skip_lines = lines[self._layout.header]
        self.notes += [f"{where}: {note}" for note in self._layout.notes]
        if self._encoding not in ("utf-8", self._options.encoding):
            self.notes.append(f"{where}: read as {self._encoding}, because it is not UTF-8 (encoding=, --encoding).")

    def _reader(self, columns: list[str], watch: _Watched) -> Any:
        text = require("pyarrow.csv", "io", "reading tables")
        kinds = dict.fromkeys(columns, arrow.string())
        return text.open_csv(
            watch,
            read_options=text.ReadOptions(
                block_size=_BLOCK,
                column_names=self._layout.names,
                skip_rows=self._skip_lines,
                skip_rows_after_names=1 if self._layout.has_names else 0,
                encoding=self._encoding,
            ),
            parse_options=text.ParseOptions(delimiter=self._sep, newlines_in_values=True),
            convert_options=text.ConvertOptions(
                include_columns=columns, column_types=kinds, null_values=[""], strings_can_be_null=True
            ),
        )

    def chunks(self, columns: list[str], start: int, rows: int, first_pass: bool) -> Iterator[pa.RecordBatch]:
        """Yield the rows from ``start`` on, as they are written."""
        count = 0
        watched = _Watched(self._open(), self.where, self._encoding)
        try:
            with self._reader(columns, watched) as reader:
                for chunk in skipped(reader, start):
                    count += chunk.num_rows
                    yield chunk
        except arrow.ArrowInvalid as error:
            raise self._unreadable(error) from error
        except UnicodeError as error:
            raise TableError(
                f"{self.where} is not {self._encoding} text. Pass encoding= (--encoding). {error}"
            ) from error
        finally:
            watched.close()
        if first_pass:
            if watched.lines > count + self._skip_lines + 1:
                self._check_quotes()
            self.n_rows = count

    def _unreadable(self, error: Exception) -> Exception:
        """Return what is wrong with a file that could not be parsed."""
        message = str(error)
        if "invalid UTF8" in message:
            if self._options.encoding is None:
                return NotUtf8Error(message)
            return TableError(f"{self.where} is not {self._encoding} text. Pass another encoding= (--encoding).")
        self._check_quotes()
        if "columns, got" in message:
            return self._ragged()
        if "straddles two block boundaries" in message:
            return TableError(f"{self.where} has a row of more than {_BLOCK >> 20} MB, which cannot be read.")
        if "Empty CSV file" in message:
            return TableError(f"{self.where} has a header, but no rows.")
        return TableError(f"{self.where} cannot be read. {error}")

    def _lines(self, stream: Any) -> io.TextIOWrapper:
        codec = "utf-8-sig" if self._encoding == "utf-8" else self._encoding
        return io.TextIOWrapper(io.BufferedReader(_Raw(stream)), encoding=codec, errors="replace", newline="")

    def _check_quotes(self) -> None:
        """Raise if a quotation mark swallows rows: slow, but it knows the line."""
        with self._open() as stream:
            wrong = swallowing_quote(self._lines(stream), self._sep, len(self.names))
        if wrong is not None:
            raise TableError(f"{self.where}: {wrong} Correct the file: rows would be lost.")

    def _ragged(self) -> TableError:
        """Return the error for the first row with too many or too few columns: slow, but it knows the line."""
        with self._open() as stream, suppress(csv.Error):
            reader = csv.reader(self._lines(stream), delimiter=self._sep)
            first = 1
            for row in reader:
                if row and first > self._skip_lines + 1 and len(row) != len(self.names):
                    return TableError(
                        f"{self.where}, line {first}: {len(row)} columns, but the header has {len(self.names)}. "
                        "Correct the line, or quote the values that contain the separator."
                    )
                first = reader.line_num + 1
        return TableError(f"{self.where} has rows with more or fewer columns than its header.")


class _Raw(io.RawIOBase):
    """A stream as Python's text layer wants it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = bytes(self._stream.read(len(buffer)))
        buffer[: len(data)] = data
        return len(data)


class _Watched(io.RawIOBase):
    """A stream of text that counts lines and refuses binary data wherever it comes."""

    def __init__(self, stream: Any, where: str, encoding: str) -> None:
        self._stream, self._where = stream, where
        self._plain = not encoding.lower().startswith(("utf-16", "utf_16", "utf-32"))
        self.lines = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = bytes(self._stream.read(size))
        if self._plain and b"\0" in data:
            raise TableError(f"{self._where} holds a NUL byte: it is damaged, or not text.")
        self.lines += data.count(b"\n") or data.count(b"\r")
        return data

    def close(self) -> None:
        self._stream.close()
        super().close()


def _encoding_of(head: bytes, where: str) -> str:
    """Return the encoding of text: UTF-8, UTF-16 by its mark or its zeros, else cp1252."""
    for magic, kind in _OTHER_FORMATS.items():
        if head.startswith(magic):
            raise TableError(f"{where} is read as text, but it is {kind}.")
    if not head:
        raise TableError(f"{where} is empty.")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\0" in head:
        even, odd = head[::2].count(0), head[1::2].count(0)
        if max(even, odd) > 0.3 * len(head) / 2 and min(even, odd) < 0.05 * len(head) / 2:
            return "utf-16-le" if odd > even else "utf-16-be"
        raise TableError(f"{where} is read as text, but it holds binary data.")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _decoded(head: bytes, encoding: str, where: str) -> str:
    """Return the head of a file as text, without a character that its end cuts in two."""
    codec = "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding
    try:
        return codecs.getincrementaldecoder(codec)().decode(head)
    except LookupError as error:
        raise TableError(f"encoding {encoding!r} is not known; usual ones are utf-8, cp1252 and utf-16.") from error
    except UnicodeError as error:
        raise TableError(f"{where} is not {encoding} text. Pass another encoding= (--encoding). {error}") from error


def _separator(text: str, more: bool) -> str:
    """Return the separator that gives most lines the same number of columns, at least two."""
    best, chosen = (0.0, False, 0), ","
    for sep in (",", ";", "\t", "|", " "):
        lines = io.StringIO(text, newline="")
        widths = []
        with suppress(csv.Error):
            for row in csv.reader(lines, delimiter=sep):
                if row:
                    widths.append(len(row))
                if len(widths) > HEAD_ROWS:
                    break
        if len(widths) > 2 and more:
            widths.pop()
        if not widths:
            continue
        width, count = max(Counter(widths).items(), key=lambda item: (item[1], item[0]))
        if width < 2 or (sep == " " and (count < len(widths) - 1 or best[0] > 0)):
            continue
        score = (round(count / len(widths), 1), widths[0] == width, width if sep != " " else 0)
        if score > best:
            best, chosen = score, sep
    return chosen


def _parsed(text: str, sep: str, where: str, more: bool) -> tuple[list[list[str]], list[int]]:
    """Return the first complete rows of a text that are not blank, and how many lines stand before each."""
    lines = io.StringIO(text, newline="")
    rows: list[list[str]] = []
    before: list[int] = []
    reader = csv.reader(lines, delimiter=sep)
    line = 0
    try:
        for row in reader:
            if row:
                rows.append(row)
                before.append(line)
            line = reader.line_num
            if len(rows) > HEAD_ROWS:
                break
    except csv.Error as error:
        raise TableError(f"{where} cannot be read: is a quotation mark not closed? {error}") from error
    if more and rows and not lines.read(1):
        rows.pop()
    return rows, before


def swallowing_quote(lines: Iterable[str], sep: str, width: int) -> str | None:
    """Return what is wrong with the first quotation mark that holds more lines than it should, or None.

    Values may go over several lines. One that never ends, whose end is in the middle of a value, or whose lines are as
    wide as rows of the table, was opened by mistake: rows that follow have become part of it.
    """
    opened = inner = alike = 0
    for number, line in enumerate(lines, 1):
        if opened and number > opened:
            inner += 1
            alike += line.count(sep) == width - 1
        if not opened and '"' not in line:
            continue
        position = 0
        while position < len(line):
            if not opened:
                # Only at the beginning of a value does a quotation mark mean anything.
                if line[position] == '"':
                    opened, position, inner, alike = number, position + 1, 0, 0
                else:
                    position = _next_value(line, sep, position)
                continue
            end = line.find('"', position)
            if end < 0:
                break
            position = end + 1
            if line.startswith('"', position):
                position += 1
                continue
            span = f"the quotation mark opened in line {opened} is closed in line {number}"
            if opened != number and line[position : position + 1] not in ("", sep, "\r", "\n"):
                return f"{span}, in the middle of a value: is one missing in between?"
            if width > 1 and alike >= 2 and alike > inner / 2:
                return f"{span}, and the lines between look like rows: is one missing in between?"
            opened, position = 0, _next_value(line, sep, position)
    return f"the quotation mark opened in line {opened} is not closed." if opened else None


def _next_value(line: str, sep: str, position: int) -> int:
    found = line.find(sep, position)
    return len(line) if found < 0 else found + 1
