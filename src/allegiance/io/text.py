"""Delimited text: detect the encoding, separator and header, and report broken quotation marks."""

from __future__ import annotations

import codecs
import csv
import io
import mmap
import re
import shutil
import tempfile
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, pairwise, takewhile
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from allegiance.drivers import Finding

from .files import TableError
from .parts import Part, drop_first_rows, reading_finding
from .values import read_numbers

#: Rows searched for the header.
HEAD_ROWS = 200
#: Bytes of text parsed at a time, and the maximum length of a row. Memory grows with it: a table of 10,000 columns
#: takes 0.35 GB, and 0.55 GB with blocks of twice the size.
_BLOCK = 4 << 20
#: Bytes read first to detect the dialect, and bytes stored from the end.
_HEAD = _TAIL = 1 << 16
#: A line appended to the text. It becomes a separate row unless a quotation mark is open.
_END = "(end of the table)"
_OTHER_FORMATS = {
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"\x93NUMPY": "a NumPy file",
    b"PK\x03\x04": "a ZIP archive (if it is an .xlsx file, its name must end in .xlsx)",
    b"\x1f\x8b": "compressed by gzip (its name must end in .csv.gz)",
    b"\x89HDF": "an HDF5 file",
    b"%PDF": "a PDF file",
}


@dataclass(frozen=True)
class Dialect:
    """Reading options of delimited text and workbooks; None where they are detected."""

    sep: str | None = None
    encoding: str | None = None
    skip_rows: int | None = None
    header: bool | None = None
    skip_lines: frozenset[int] = frozenset()


class Layout(NamedTuple):
    """Header position, column names, and findings about them."""

    names: list[str]
    header: int
    has_names: bool
    findings: list[Finding]


def find_layout(rows: list[list[str]], where: str, header: int | None, has_names: bool | None) -> Layout:
    """Find the header of a table: the first row that is as wide as most rows, and mostly filled."""
    widths = Counter(len(row) for row in rows)
    width = max(widths.items(), key=lambda item: (item[1], item[0]))[0]
    findings = list[Finding]()
    if header is None:
        filled = [sum(1 for cell in row if cell.strip()) for row in rows]
        wide = [i for i, row in enumerate(rows) if len(row) >= width - 1 and filled[i] > max(1, width // 2)]
        header = wide[0] if wide and width > 1 else 0
        if header:
            titles = "; ".join(repr(" ".join(row).strip()[:40]) for row in rows[:header] if any(map(str.strip, row)))
            plural = "lines" if header > 1 else "line"
            text = f"skipped {header} {plural} above the header: {titles} (`skip_rows=`)."
            findings.append(reading_finding(where, text))
    names = [cell.strip().lstrip("\ufeff") for cell in rows[header]]
    if has_names is not False:
        header, names = _join_header_levels(rows, header, names)
    below = rows[header + 1 :]
    if below and len(names) == width - 1:
        is_empty = all(not row[-1].strip() for row in below if len(row) == width)
        names = [*names, ""] if is_empty else ["row_name", *names]
        reason = (
            "a separator at the end of each row" if is_empty else "a column without a name, 'row_name', comes first"
        )
        findings.append(reading_finding(where, f"rows have one column more than the header: {reason}."))
    while len(names) > 1 and not names[-1] and below and all(len(row) < len(names) for row in below):
        names.pop()
    if has_names is False or (has_names is None and _looks_like_data(rows[header], below)):
        if has_names is None:
            findings.append(reading_finding(where, "no header; the columns are called x0, x1, ..."))
        return Layout([f"x{i}" for i in range(len(names))], header, False, findings)
    if has_names is None and _resembles_values(names, below):
        listed = ", ".join(name for name in names[:4] if name)
        text = f"the first line looks like data, not like column names ({listed}, ...)."
        findings.append(reading_finding(where, text, "warning", "--no-header"))
    header_names, unique = set(names), dict[str, str]()
    for place, name in enumerate(names, 1):
        new, number = name or f"unnamed_{place}", 2
        while new in unique or (new != name and new in header_names):
            new, number = f"{name or f'unnamed_{place}'}_{number}", number + 1
        unique[new] = name
    new_names = [new for new, name in unique.items() if new != name]
    if new_names:
        listed = ", ".join(new_names[:5]) + (", ..." if len(new_names) > 5 else "")
        text = f"columns without a name, or with one that occurs twice, are called {listed}."
        findings.append(reading_finding(where, text))
    return Layout(list(unique), header, True, findings)


def _join_header_levels(rows: list[list[str]], header: int, names: list[str]) -> tuple[int, list[str]]:
    """Join the names of two header lines, in which groups span the blanks on their right; return the last line, too."""
    upper, lower = names, [cell.strip() for row in rows[header + 1 : header + 2] for cell in row]
    is_repeated = len(set(filter(None, names))) < sum(map(bool, names))
    if is_repeated and header:
        upper, lower = [cell.strip() for cell in rows[header - 1]], names
    groups, last = [], ""
    for cell in upper:
        last = cell or last
        groups.append(last)
    blanks = [i for i, cell in enumerate(upper) if groups[i] and not cell]
    values = [row[i] for row in rows[header + 2 :] for i in blanks if i < len(row) and row[i].strip()]
    if (
        len(upper) != len(lower)
        or not blanks
        or sum(map(bool, upper)) < 2
        or not all(lower[i] for i in blanks)
        or any(_are_numbers(list(filter(None, lower))))
        or sum(_are_numbers(values)) <= len(values) / 2
    ):
        return header, names
    joined = [f"{group} {name}".strip() if name else group for group, name in zip(groups, lower, strict=True)]
    return header + (upper is names), joined


def _are_numbers(cells: Sequence[str]) -> list[bool]:
    """Return whether each cell of a header is a number, with either decimal mark."""
    texts = pa.array(cells, pa.string())
    return pc.or_(pc.is_valid(read_numbers(texts)), pc.is_valid(read_numbers(texts, ","))).to_pylist()


def _looks_like_data(header: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Return whether the first line of a text contains only numbers, but not consecutive ones, such as years."""
    cells = [cell.strip() for cell in header]
    if not below or not all(cells) or not all(_are_numbers(cells)):
        return False
    whole = [int(cell) for cell in cells if re.fullmatch(r"\d+", cell)]
    return not (len(whole) == len(cells) and all(b - a == 1 for a, b in pairwise(whole)))


def _resembles_values(names: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Return whether most names of a header are numbers, or values of the lines below, so that there is no header."""
    below = [row for row in below if [cell.strip() for cell in row] != [*names]]
    if len(below) < 5:
        return False
    columns = [{row[i].strip() for row in below if i < len(row)} for i in range(len(names))]
    repeated = sum(name in column for name, column in zip(names, columns, strict=True) if name)
    if not repeated:
        return False
    years = [re.fullmatch(r"(19|20)\d\d", name) is not None for name in names]
    numbers = sum(is_number and not year for is_number, year in zip(_are_numbers(names), years, strict=True))
    return repeated + numbers > len(names) / 2 and (repeated > 1 or numbers > 1)


class NotUtf8Error(Exception):
    """Text that was read as UTF-8 is not UTF-8."""


class TextFile(Part):
    """Delimited text, read without parsing values."""

    def __init__(self, where: str, open_bytes: Callable[[], Any], dialect: Dialect) -> None:
        self._open, self._dialect, self.excluded = open_bytes, dialect, set()
        self.where, self.format, self.files, self.n_rows, self.written = where, "csv", (where,), None, True
        if dialect.sep is not None and len(dialect.sep) != 1:
            raise TableError(f"sep must be one character, got {dialect.sep!r}.")
        self._one_line_per_row = True
        self.read_head(dialect.encoding)

    @classmethod
    def spool(cls, stream: Any, where: str, dialect: Dialect) -> TextFile:
        """Copy delimited text from a pipe to an unnamed temporary file, so that it can be read repeatedly."""
        if stream.isatty():
            raise TableError(f"{where} is a terminal: pipe a CSV file into the command, or name a file.")
        with tempfile.TemporaryFile() as spool:
            try:
                shutil.copyfileobj(stream, spool)
                spool.flush()
            except OSError as error:
                reason = f"{error.strerror}: {where} is copied to this folder, because it is read more than once"
                raise OSError(error.errno, reason, tempfile.gettempdir()) from error
            if spool.tell() == 0:
                raise TableError(f"{where} is empty.")
            # The mapping keeps the unnamed file open as long as the table exists.
            buffer = pa.py_buffer(mmap.mmap(spool.fileno(), 0, access=mmap.ACCESS_READ))
        part = cls(where, lambda: pa.BufferReader(buffer), dialect)
        part.files = ()
        return part

    def read_head(self, encoding: str | None) -> None:
        """Detect the encoding (unless named), the separator, the header and the column names."""
        with self._open() as stream:
            head = bytes(stream.read(_HEAD))
            more = len(head) == _HEAD
            self.encoding = encoding or _encoding_of(head, self.where)
            while True:
                text = _decode_head(head, self.encoding, self.where)
                self._sep = self._dialect.sep or _separator(text, more)
                try:
                    rows, lines = _parse_rows(text, self._sep, more)
                except csv.Error as error:
                    text = "cannot be parsed, perhaps because a quotation mark is not closed."
                    raise TableError(f"{self.where} {text} Correct the file. {error}") from error
                if rows or not more:
                    break
                if len(head) > _BLOCK:
                    text = (
                        f"has a header of more than {_BLOCK >> 20} MB, perhaps because a quotation mark is not closed."
                    )
                    raise TableError(f"{self.where} {text} Correct the file.")
                piece = bytes(stream.read(len(head)))
                head, more = head + piece, bool(piece)
        if not any(cell.strip() for row in rows for cell in row):
            raise TableError(f"{self.where} has no header: its first line must contain the column names.")
        places = [i for i in range(len(rows)) if lines[i] + 1 not in self._dialect.skip_lines]
        skip, header = self._dialect.skip_rows, None
        if skip is not None:
            header = next((i for i, place in enumerate(places) if lines[place] >= skip), None)
            if header is None:
                end = "has fewer lines" if not more else f"has no header in its first {len(rows)} rows"
                raise TableError(f"{self.where} {end}, so `skip_rows={skip}` leaves no table.")
        layout = find_layout([rows[place] for place in places], self.where, header, self._dialect.header)
        top = places[layout.header]
        self._skip_lines, self.has_names = lines[top], layout.has_names
        self.set_schema(pa.schema([(name, pa.string()) for name in layout.names]))
        self.first_line = lines[top] + 1 + layout.has_names
        self.findings = layout.findings
        if below := {line for line in self._dialect.skip_lines if line >= self.first_line}:
            lines_below = takewhile(lambda line: line <= max(below), self._row_lines())
            self.excluded.update(row for row, line in enumerate(lines_below) if line in below)
        if self.encoding not in ("utf-8", self._dialect.encoding):
            text = f"read as {self.encoding}, because it is not UTF-8 (`encoding=`)."
            self.findings.append(reading_finding(self.where, text))

    def _text_records(self) -> Iterator[tuple[int, int, list[str], list[str]]]:
        """Yield first and last line, cells and text of each row. The last row is a mark, unless a quote is open."""
        codec = "utf-8-sig" if self.encoding == "utf-8" else self.encoding
        stream: Any = _Stream(self._open(), self.where, self.encoding)
        lines = list[str]()

        def limited_lines() -> Iterator[str]:
            for number in count(1):
                line = text.readline(_BLOCK)
                if len(line) == _BLOCK:
                    problem = f"longer than {_BLOCK >> 20} MB. Is a line break or a quotation mark missing?"
                    raise TableError(f"{self.where}, line {number}: {problem}")
                lines.append(line or _END)
                yield lines[-1]
                if not line:
                    return

        limit = csv.field_size_limit(2 * _BLOCK)
        try:
            with io.TextIOWrapper(stream, encoding=codec, errors="replace", newline="") as text:
                reader = csv.reader(limited_lines(), delimiter=self._sep)
                first = 1
                for cells in reader:
                    yield first, reader.line_num, cells, lines
                    first = reader.line_num + 1
                    lines.clear()
        finally:
            csv.field_size_limit(limit)

    def _row_lines(self) -> Iterator[int]:
        """Yield the first line of each row below the header."""
        return (
            first
            for first, _, cells, _ in self._text_records()
            if cells not in ([], [_END]) and first >= self.first_line
        )

    def lines_of(self, rows: list[int]) -> list[int]:
        """Return the lines of rows in the text, counted from 1."""
        if self._one_line_per_row or not rows:
            return super().lines_of(rows)
        numbers = set(rows)
        lines = {row: line for row, line in enumerate(self._row_lines()) if row in numbers}
        return [lines[row] for row in rows]

    def _open_reader(self, columns: list[str], stream: _Stream) -> Any:
        """Return the pyarrow reader of delimited text."""
        return pa.csv.open_csv(
            stream,
            read_options=pa.csv.ReadOptions(
                block_size=_BLOCK,
                column_names=self.names,
                skip_rows=self._skip_lines,
                skip_rows_after_names=1 if self.has_names else 0,
                encoding=self.encoding,
            ),
            parse_options=pa.csv.ParseOptions(delimiter=self._sep, newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(
                include_columns=columns,
                column_types=dict.fromkeys(columns, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )

    def chunks(self, columns: list[str], start: int, rows: int, first_pass: bool) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the text from ``start`` on, unparsed."""
        count = 0
        stream = _Stream(self._open(), self.where, self.encoding)
        reader = None
        try:
            reader = self._open_reader(columns, stream)
            for chunk in reader:
                count += chunk.num_rows
                yield from drop_first_rows([chunk], max(0, start - count + chunk.num_rows))
        except pa.ArrowInvalid as error:
            raise self._unreadable(str(error)) from error.with_traceback(None)
        except UnicodeError as error:
            raise TableError(
                f"{self.where} is not {self.encoding} text. Pass `encoding=`. {error}"
            ) from error.with_traceback(None)
        finally:
            lines, open_at_the_end = stream.lines, stream.ends_in_a_quote(self._sep)
            stream.close()
            left = weakref.ref(stream)
            del reader, stream
            # If pyarrow's threads released the stream while Python exits, the process would abort.
            deadline = time.monotonic() + 0.5
            while left() is not None and time.monotonic() < deadline:
                time.sleep(0.0005)
        # Rows of one line each can only leave a quotation mark open in the last line.
        if first_pass and (open_at_the_end or lines > count + self._skip_lines + 1):
            self._diagnose(ragged=False)
        self._one_line_per_row = lines in (count + self.first_line - 2, count + self.first_line - 1)
        self.n_rows = count

    def _unreadable(self, message: str) -> Exception:
        """Return the error for text that cannot be parsed."""
        if "invalid UTF8" in message:
            if self._dialect.encoding is None:
                return NotUtf8Error(message)
            return TableError(f"{self.where} is not {self.encoding} text. Pass another `encoding=`.")
        self._diagnose(ragged=True)
        if "straddles two block boundaries" in message:
            return TableError(f"{self.where} has a row of more than {_BLOCK >> 20} MB. Is a quotation mark missing?")
        if "Empty CSV file" in message:
            return TableError(f"{self.where} has a header, but no rows.")
        return TableError(f"{self.where} cannot be read. {message}")

    def _diagnose(self, *, ragged: bool) -> None:
        """Raise for the first row that contains other rows or has a different width."""

        def lost_rows(line: int, problem: str) -> TableError:
            text = f"the quotation mark opened in line {line} {problem}"
            return TableError(f"{self.where}: {text} Correct the file: rows would be lost.")

        width, end = len(self.names), 0
        try:
            for first, last, row, lines in self._text_records():
                if problem := _quote_problem(lines, self._sep, width) if len(lines) > 1 else "":
                    raise lost_rows(first, problem.format(last=last))
                if ragged and row and row != [_END] and first > self._skip_lines + 1 and len(row) != width:
                    raise TableError(
                        f"{self.where}, line {first}: {len(row)} columns, but the header has {width}. "
                        "Correct the line, or quote the values that contain the separator."
                    )
                end = last
        except csv.Error as error:
            raise lost_rows(end + 1, "is not closed.") from error


class _Stream(io.RawIOBase):
    """A text stream that counts lines and rejects binary data."""

    def __init__(self, stream: Any, where: str, encoding: str) -> None:
        self._stream, self._where = stream, where
        self._plain = not encoding.lower().startswith(("utf-16", "utf_16", "utf-32"))
        self.lines = 0
        self._tail = b""

    def ends_in_a_quote(self, sep: str) -> bool:
        """Return whether the last line leaves a quotation mark open."""
        last = self._tail.rstrip(b"\r\n").replace(b"\r", b"\n").rpartition(b"\n")[2]
        rows = list(csv.reader([f"{last.decode('utf-8', 'replace')}\n", _END], delimiter=sep))
        return self._plain and rows[-1] != [_END]

    def readable(self) -> bool:
        """Say that the text stream can be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read text, and count its lines."""
        data = bytes(self._stream.read(size))
        if self._plain and b"\0" in data:
            raise TableError(f"{self._where} contains a NUL byte, so it is damaged or not text. Export it again.")
        self.lines += data.count(b"\n") or data.count(b"\r")
        self._tail = (self._tail + data[-_TAIL:])[-_TAIL:]
        return data

    def close(self) -> None:
        """Close the text stream."""
        self._stream.close()
        super().close()


def _encoding_of(head: bytes, where: str) -> str:
    """Return the encoding of text: UTF-8, UTF-16 (by byte order mark or zero bytes), or cp1252."""
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
        raise TableError(f"{where} is read as text, but it contains binary data.")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _decode_head(head: bytes, encoding: str, where: str) -> str:
    """Decode the head of a file, without an incomplete last character."""
    codec = "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding
    try:
        return codecs.getincrementaldecoder(codec)().decode(head)
    except LookupError as error:
        raise TableError(f"encoding {encoding!r} is unknown; common ones are utf-8, cp1252 and utf-16.") from error
    except UnicodeError as error:
        raise TableError(f"{where} is not {encoding} text. Pass another `encoding=`. {error}") from error


def _separator(text: str, more: bool) -> str:
    """Return the separator that gives most lines the same number of columns, at least two."""
    best_score, best_sep = (0.0, False, 0), ","
    for sep in (",", ";", "\t", "|", " "):
        widths: list[int] = []
        with suppress(csv.Error):
            widths = [len(row) for row in _parse_rows(text, sep, more)[0]]
        width, count = max(Counter(widths).items(), key=lambda item: (item[1], item[0]), default=(0, 0))
        if width < 2 or (sep == " " and (count < len(widths) - 1 or best_score[0] > 0)):
            continue
        score = (round(count / len(widths), 1), widths[0] == width, width if sep != " " else 0)
        if score > best_score:
            best_score, best_sep = score, sep
    return best_sep


def _parse_rows(text: str, sep: str, more: bool) -> tuple[list[list[str]], list[int]]:
    """Return the first complete rows of a text that are not blank, and the number of lines before each."""
    lines = io.StringIO(text, newline="")
    rows: list[list[str]] = []
    before: list[int] = []
    reader = csv.reader(lines, delimiter=sep)
    line = 0
    for row in reader:
        if row:
            rows.append(row)
            before.append(line)
        line = reader.line_num
        if len(rows) > HEAD_ROWS:
            break
    if more and rows and not lines.read(1):
        rows.pop()
    return rows, before


def _quote_problem(lines: list[str], sep: str, width: int) -> str:
    """Return the problem with the quotation marks of a row that spans several lines; empty if there is none."""
    try:
        list(csv.reader(lines, delimiter=sep, strict=True))
    except csv.Error as error:
        if "end of data" in str(error):
            return "is not closed."
        return "is closed in line {last}, in the middle of a value: is one missing in between?"
    n_rows = sum(line.count(sep) == width - 1 for line in lines[1:])
    if width > 1 and n_rows >= 2 and n_rows > (len(lines) - 1) / 2:
        return "is closed in line {last}, and the lines between look like rows: is one missing in between?"
    return ""
