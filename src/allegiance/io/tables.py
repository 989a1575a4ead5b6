"""Tables read in batches: delimited text, Parquet, Arrow, workbooks, arrays, frames; from files, folders and URLs.

Columns of delimited text are read as text. The profile of all rows then decides their types.
"""

from __future__ import annotations

import math
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from allegiance._core.validation import join_names
from allegiance.drivers import Finding
from allegiance.notebook import count

from .files import (
    ENDINGS,
    FORMATS,
    TableError,
    check_readable,
    format_of,
    is_url,
    locate_files,
    open_bytes,
    stamp,
    wrap_errors,
)
from .formats import OPENERS, as_arrow
from .parts import Part
from .profile import Profile, Sentinel, profile_of, typed_field
from .text import Dialect, NotUtf8Error, TextFile
from .values import as_times, cast_column, is_text, join_counts, read_column
from .workbooks import open_workbook

#: Default rows per batch: a few megabytes of numbers for a table of usual width.
BATCH_ROWS = 65_536
#: Maximum cells of a batch, so that wide tables take no more memory than narrow ones, and its minimum rows.
_BATCH_CELLS, _MIN_ROWS = 1 << 21, 128
#: Maximum cells of a batch for profiling. Sums are rounded at batch boundaries, so it is fixed.
_PROFILE_CELLS = 1 << 22


def open_table(
    source: Any,
    *,
    format: str | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    skip_rows: int | None = None,
    sheet: str | None = None,
    missing: Sequence[Any] | Mapping[str, Sequence[Any]] = (),
    dayfirst: bool | None = None,
    header: bool | None = None,
    skip_lines: Sequence[int] = (),
    keep_rows: str = "auto",
    keep_sentinels: bool = False,
) -> Table:
    r"""Open a table for reading in batches. Only the head of a file is read.

    Parameters
    ----------
    source
        A path, a pattern such as ``"part-*.parquet"``, a folder, a URL for fsspec, or a list of these; ``"-"`` for
        delimited text on standard input; or a frame of pandas, polars or pyarrow. Several files must have the same
        columns and are read sorted by name. Folders named ``key=value`` become a column.
    format
        "csv" (any delimited text), "parquet", "arrow", "npy", "xlsx", "jsonl" or "h5ad"; by default set by the
        ending of the file name. Text may be compressed (``.csv.gz``).
    sep, decimal, encoding, skip_rows
        For delimited text: the separator, the decimal mark, the encoding, and the number of lines before the header. By
        default they are detected.
    sheet
        The sheet of a workbook; by default the one with the most cells.
    missing
        Words and numbers that mean missing, such as -999, for all columns or by column, in addition to common words
        such as NA and unknown.
    dayfirst
        Whether 1/2/2024 is the first of February; by default detected from the other dates of the column.
    header
        Whether the first line contains the column names; detected by default. False names the columns x0, x1, ...
    skip_lines
        Numbers of lines to leave out of every file, counted from 1, such as a second header.
    keep_rows
        "auto": leave out rows that are not observations (empty rows, footnotes, repeated headers, units, totals) from
        text and workbooks. "all": keep every row.
    keep_sentinels
        Keep numbers that seem to mean missing, such as -999: repeated exactly, and far from all others.

    Returns
    -------
    Table
        The open table. It can be profiled, and read in batches any number of times.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from allegiance.io import open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "points.csv"
    ...     _ = path.write_text("x;spent\n1;1.200,50 €\n2;n/a\n3;7,25 €\n")
    ...     table = open_table(path)
    ...     print(table.columns, table.read().column("spent").to_pylist())
    ['x', 'spent'] [1200.5, None, 7.25]
    """
    if isinstance(source, Table):
        return source
    if decimal not in (None, ".", ","):
        raise TableError(f"decimal must be '.' or ',', got {decimal!r}.")
    if format is not None and format not in FORMATS:
        raise TableError(f"format must be one of {', '.join(FORMATS)}, got {format!r}.")
    if keep_rows not in ("auto", "all"):
        raise TableError(f"keep_rows must be 'auto' or 'all', got {keep_rows!r}.")
    rules: dict[str, Any] = {"missing": missing, "decimal": decimal, "dayfirst": dayfirst}
    rules |= {"keep_rows": keep_rows, "keep_sentinels": keep_sentinels}
    if not isinstance(source, (str, os.PathLike, list, tuple)):
        return Table([Part.of("the frame", as_arrow(source))], rules)
    inputs = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    every = [path for one in inputs for path in locate_files(os.fspath(one), format)]
    paths = list(dict.fromkeys(every))
    if not paths:
        raise TableError("source is an empty list: name at least one file.")
    # The folders of a single file do not become columns.
    is_named = len(paths) == 1 and paths[0] == os.fspath(inputs[0])
    dialect = Dialect(sep, encoding, skip_rows, header, frozenset(int(line) for line in skip_lines))
    parts = [_open_part(path, format, dialect, sheet) for path in paths]
    for part, path in zip(parts, paths, strict=True):
        part.keys = (
            {} if is_named else {key: value for key, value in _folder_keys(path).items() if key not in part.names}
        )
    for name, value, kind in (("sep", sep, "csv"), ("encoding", encoding, "csv"), ("sheet", sheet, "xlsx")):
        if value is not None and (other := next((part for part in parts if part.format != kind), None)):
            raise TableError(f"`{name}=` does not apply to {other.where}: its format is {other.format}. Leave it out.")
    if len(every) > len(paths):
        text = f"{len(every) - len(paths):,} files were named more than once and are read once."
        parts[0].findings.append(Finding("reading", (), text, level="note"))
    return Table(parts, rules)


class Table:
    """A table that can be read in batches any number of times. Built by :func:`open_table`.

    Attributes
    ----------
    where
        The name of the table in messages.
    files
        The paths it is read from; empty for standard input and frames.
    format
        The format of its first file.
    columns
        The column names, which are unique.
    has_names
        Whether the names come from the file.
    annotations
        Columns that describe observations and are not measurements: the obs of an .h5ad file.
    """

    def __init__(self, parts: list[Part], rules: dict[str, Any]) -> None:
        first = parts[0]
        self.where = first.where if len(parts) == 1 else f"{first.where} and {len(parts) - 1:,} more"
        self.format, self.has_names, self.annotations = first.format, first.has_names, first.annotations
        self.files = tuple(path for part in parts for path in part.files)
        self._parts, self._rules = parts, rules
        self._profile: Profile | None = None
        self._findings: list[Finding] = []
        self._sentinels: dict[str, Sentinel] = {}
        self._set_columns()

    def _set_columns(self) -> None:
        """Set the columns of the table: those of all parts; one that is text in some part is text."""
        counts = Counter(name for part in self._parts for name in (*part.names, *part.keys))
        names = [name for name, n in counts.items() if n == len(self._parts)]
        if not names:
            raise TableError(f"{self._parts[0].where} and {self._parts[1].where} have no column in common.")
        #: Columns that some parts lack: the name of such a part, and the number of parts with the column.
        self._partial = {
            name: (next(part.where for part in self._parts if name not in (*part.names, *part.keys)), n)
            for name, n in counts.items()
            if n < len(self._parts)
        }
        self._raw = pa.schema([(name, self._common_type(name)) for name in names])
        self.columns = list(self._raw.names)
        #: Columns with unparsed text.
        self._written = {name for part in self._parts for name in (names if part.written else part.keys)}

    def partial_columns(self, needed: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return the incomplete columns that most files have or that are needed, and those to ignore."""
        names, most = set(needed), len(self._parts) / 2
        incomplete = [name for name, (_, n) in self._partial.items() if n > most or name in names]
        return incomplete, [name for name in self._partial if name not in incomplete]

    def _common_type(self, name: str) -> Any:
        """Return the type of a table's column to which it can be cast in all parts."""
        types = [pa.string() if name in part.keys else part.schema.field(name).type for part in self._parts]
        kinds = list(dict.fromkeys(types))
        if len(kinds) > 1 and any(is_text(kind) for kind in kinds):
            return pa.string()
        try:
            schemas = [pa.schema([(name, kind)]) for kind in kinds]
            return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise TableError(f"{self.where}: column {name!r} has different types in its files. {error}") from error

    def set_missing(self, missing: Mapping[str, Sequence[Any]]) -> None:
        """Set the words and numbers that mean missing by column, before the table is profiled."""
        self._rules, self._profile = {**self._rules, "missing": missing}, None

    def partitions(self) -> list[Table]:
        """Return one table per file, with the columns, types and profile of this one."""
        tables = []
        for part in self._parts:
            one = copy(self)
            one._parts, one.where, one.files = [part], part.where, part.files
            tables.append(one)
        return tables

    @property
    def n_rows(self) -> int | None:
        """The number of rows, None for text before profiling."""
        counts = [part.n_kept for part in self._parts]
        return sum(count for count in counts if count is not None) if None not in counts else None

    def count_rows(self) -> int:
        """Return the number of rows. Profiles the table if it is unknown."""
        return self.profile().n_rows if self.n_rows is None else self.n_rows

    @property
    def has_text(self) -> bool:
        """Whether any column is unparsed text, whose type the profile decides."""
        return bool(self._written)

    def place_of(self, row: int) -> str:
        """Return the file of a table's row and its line, or its number in a file without lines, for messages."""
        part, (raw, *_) = next((part, rows) for part, rows in self._split_rows([row]) if rows)
        return f"{part.where}, line {part.lines_of([raw])[0]:,}" if part.written else f"{part.where}, row {raw:,}"

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns. Profiles the table if it has text."""
        return self.schema_of(self.columns, typed=True)

    def profile(self) -> Profile:
        """Return the profile of all columns; the first call reads all rows.

        If there are rows to leave out or numbers that mean missing, a second pass excludes them.
        """
        if self._profile is None:
            try:
                profile = self._scan(first=True)
            except NotUtf8Error:
                for part in self._parts:
                    if isinstance(part, TextFile) and part.encoding == "utf-8":
                        part.read_head("cp1252")
                self._set_columns()
                profile = self._scan(first=True)
            if not self._rules["keep_sentinels"]:
                sentinels = {name: column.sentinel for name, column in profile.columns.items()}
                self._sentinels = {name: one for name, one in sentinels.items() if one is not None and one.is_certain}
            self._note_rows(profile.odd_rows)
            if profile.odd_rows or self._sentinels:
                profile = self._scan(first=False)
            self._profile = profile
            # Otherwise unused memory of this pass adds to that of the next one.
            pa.default_memory_pool().release_unused()
        return self._profile

    def _scan(self, *, first: bool) -> Profile:
        """Profile the table in one pass."""
        check_rows = first and self._rules["keep_rows"] == "auto" and bool(self._written)
        missing = self._rules["missing"]
        if not isinstance(missing, Mapping):
            missing = dict.fromkeys(self.columns, missing)
        self.check_columns(missing)
        missing = {**missing} | {name: (*missing.get(name, ()), value) for name, (value, *_) in self._sentinels.items()}
        rows = limit_rows(BATCH_ROWS, len(self.columns), _PROFILE_CELLS)
        batches = _regroup_rows(self._chunks(self.columns, rows, first_pass=True), rows)
        rules = {name: self._rules[name] for name in ("decimal", "dayfirst")}
        return profile_of(batches, self._raw, missing=missing, check_rows=check_rows, **rules)

    def _note_rows(self, odd: dict[int, str]) -> None:
        """Leave rows out of their parts, and note their lines by reason."""
        lines: dict[str, list[str]] = {}
        for row, line in zip(sorted(odd), self.lines_of(sorted(odd)), strict=True):
            lines.setdefault(odd[row], []).append(line)
        for part, rows in self._split_rows(sorted(odd)):
            part.excluded.update(rows)
        for reason, places in lines.items():
            text = f"Left out {count(len(places), 'row')} ({reason}): {_describe_lines(places)}."
            finding = Finding("rows", (), text, "--keep-rows all", "note" if reason == "empty" else "warning")
            self._findings.append(finding)

    def _split_rows(self, rows: Sequence[int]) -> list[tuple[Part, list[int]]]:
        """Return the parts that contain some rows, with the row numbers in their file."""
        start, pairs = 0.0, []
        for part in self._parts:
            stop = math.inf if part.n_kept is None else start + part.n_kept
            pairs.append((part, [part.raw_row(row - int(start)) for row in rows if start <= row < stop]))
            start = stop
        return pairs

    def lines_of(self, rows: Sequence[int]) -> list[str]:
        """Return the lines of ascending rows in their file, with the file if there are several."""
        pairs = [(part, line) for part, own in self._split_rows(rows) for line in part.lines_of(own)]
        return [f"{part.where} {line}" if len(self._parts) > 1 else str(line) for part, line in pairs]

    @property
    def findings(self) -> list[Finding]:
        """Findings on how the table was read; complete after profiling."""
        findings = [*self._findings, *(finding for part in self._parts for finding in part.findings)]
        if ignored := self.partial_columns(())[1]:
            them = "it" if len(ignored) == 1 else "them"
            text = f"Ignored {join_names(map(repr, ignored))}: not all files have {them}."
            findings.append(Finding("reading", tuple(ignored), text, level="note"))
        by_value: dict[str, dict[str, int]] = {}
        for name, one in self._sentinels.items():
            is_date = self._profile is not None and self._profile.columns[name].kind == "date"
            value = str(as_times(np.array(one.value)).astype("M8[D]")) if is_date else f"{one.value:g}"
            by_value.setdefault(value, {})[name] = one.n_rows
        for value, counts in by_value.items():
            text = f"{value} counts as missing in {join_counts(counts)}: it is repeated and far from all other values."
            findings.append(Finding("sentinel", tuple(counts), text, "--keep-sentinels"))
        return list(dict.fromkeys(findings))

    def batches(
        self,
        columns: Sequence[str] | None = None,
        rows: int = BATCH_ROWS,
        start: int = 0,
        stop: int | None = None,
        *,
        typed: bool = True,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, ``rows`` at a time; only the last batch may be shorter.

        Batches of wide tables have fewer rows, so that no batch takes more than about 16 MB as numbers.

        Parameters
        ----------
        columns
            Names of the columns to read, in output order; all by default.
        rows
            Rows in a batch.
        start, stop
            The first row to read, and the row before which to stop; None for the end.
        typed
            Convert columns of text files to the types in their profile. Otherwise they stay text, exactly as written.
            Columns of other files always keep their type.
        """
        names = self.check_columns(self.columns if columns is None else columns)
        if self._written and self._rules["keep_rows"] == "auto":
            self.profile()  # finds the rows to leave out
        self.schema_of(names, typed=typed)
        rows = limit_rows(rows, len(names))
        batches = _regroup_rows(self._chunks(names, rows, start, stop), rows)
        return map(self.typed, batches) if typed else batches

    def read(self, columns: Sequence[str] | None = None, *, typed: bool = True) -> pa.Table:
        """Return the table, or some of its columns, in memory; the parameters are those of :meth:`batches`."""
        names = self.check_columns(self.columns if columns is None else columns)
        schema = self.schema_of(names, typed=typed)
        return pa.Table.from_batches(list(self.batches(names, typed=typed)), schema=schema)

    def sample(self, most: int, columns: Sequence[str]) -> pa.Table:
        """Return a random sample of at most ``most`` unparsed rows in their order, which :meth:`profile` draws.

        Samples of tables with several hundred columns may have fewer than 16,384 rows.
        """
        return self.profile().sample.rows(most, self.check_columns(columns))

    def typed(self, batch: pa.RecordBatch, *, keep_words: bool = True) -> pa.RecordBatch:
        """Convert unparsed rows of the table to the types in its profile.

        With ``keep_words``, whole numbers mixed with words stay text: they may be labels, and "unknown" one of them.
        """
        schema = self.schema_of(batch.schema.names, typed=True, keep_words=keep_words)
        if batch.schema.types == schema.types:
            return batch
        arrays = list(batch.columns)
        for place, one in enumerate(schema):
            if arrays[place].type != one.type:
                column = self.profile().columns[one.name]
                numbers, _ = read_column(arrays[place], column.reading, column.missing)
                values = as_times(numbers) if column.kind == "date" else numbers
                arrays[place] = pa.array(values, from_pandas=True).cast(one.type)
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def schema_of(self, columns: Sequence[str], *, typed: bool, keep_words: bool = True) -> pa.Schema:
        """Return names and types of columns; see :meth:`typed`. Profiles the table if they include text."""
        raw = [self._raw.field(name) for name in columns]
        if not typed or self._written.isdisjoint(columns):
            return pa.schema(raw)
        profiles = self.profile().columns
        types = [typed_field(profiles[one.name], one.type, keep_words) for one in raw]
        own = [kind if one.name in self._written else one.type for one, kind in zip(raw, types, strict=True)]
        return pa.schema([one.with_type(kind) for one, kind in zip(raw, own, strict=True)])

    def check_columns(self, columns: Iterable[str]) -> list[str]:
        """Return the names if the table has all of these columns; otherwise list the missing ones in an error."""
        names = list(columns)
        known = set(self.columns)
        unknown = [name for name in dict.fromkeys(names) if name not in known]
        partial = [name for name in unknown if name in self._partial]
        if partial:
            raise TableError(f"{self._partial[partial[0]][0]} has no column {partial[0]!r}, but other files have.")
        if unknown:
            raise TableError(_unknown_columns(unknown, self.columns, self.where))
        return names

    def fingerprint(self) -> dict[str, Any]:
        """Return plain values that identify the data: files, sizes, times, columns."""
        with wrap_errors(f"{self.where} cannot be reached."):
            files = [[path, *(stamp(path) or [])] for path in self.files]
        return {"files": files, "columns": self.columns, "rules": repr(self._rules)}

    def __repr__(self) -> str:
        rows = "unknown" if self.n_rows is None else f"{self.n_rows:,}"
        return f"Table({self.where!r}, {len(self.columns)} columns, {rows} rows)"

    def _chunks(
        self, columns: list[str], rows: int, start: int = 0, stop: int | None = None, first_pass: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all parts unparsed, with the columns of their folders, in chunks of any size."""
        schema = self.schema_of(columns, typed=False)
        left = sys.maxsize if stop is None else stop - start
        for part in self._parts:
            if part.n_kept is not None and start >= part.n_kept:
                start -= part.n_kept
                continue
            own = [name for name in columns if name not in part.keys] or part.names[:1]
            for chunk in part.kept_chunks(own, start, rows, first_pass):
                batch = chunk.slice(0, left)
                left -= batch.num_rows
                if not batch.schema.equals(schema, check_metadata=True):
                    # For thousands of columns, a dictionary is faster than lookups in the batch.
                    arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
                    for name, value in part.keys.items():
                        arrays[name] = pa.repeat(pa.scalar(value, pa.string()), batch.num_rows)
                    cast = [cast_column(arrays[name], kind) for name, kind in zip(columns, schema.types, strict=True)]
                    batch = pa.RecordBatch.from_arrays(cast, schema=schema)
                yield batch
                if not left:
                    return
            start = max(0, start - (part.n_kept or 0))


def _describe_lines(places: list[str]) -> str:
    """Return line numbers of a table's left-out rows as text, consecutive ones as a range."""
    if not all(place.isdigit() for place in places):
        return f"line {join_names(places)}"
    lines = np.array(places, dtype=np.int64)
    runs = np.split(lines, np.flatnonzero(np.diff(lines) != 1) + 1)
    listed = [f"{run[0]}-{run[-1]}" if run.size > 1 else str(run[0]) for run in runs]
    return f"{'line' if len(places) == 1 else 'lines'} {join_names(listed)}"


def limit_rows(rows: int, width: int, cells: int | None = None) -> int:
    """Return how many rows of a table to read at a time: ``rows``, or fewer if it is wide."""
    return min(rows, max(_MIN_ROWS, (cells or _BATCH_CELLS) // max(width, 1)))


def _unknown_columns(unknown: Sequence[str], columns: Sequence[str], where: str) -> str:
    """Return a message about columns that a table does not have, with similar names."""
    by_lower_case = {name.lower(): name for name in columns}
    close = {name: get_close_matches(str(name).lower(), by_lower_case, n=3, cutoff=0.6) for name in unknown[:5]}
    sentences = [
        f"{where} has no column {name!r}. Did you mean {' or '.join(repr(by_lower_case[match]) for match in matches)}?"
        for name, matches in close.items()
        if matches
    ]
    unmatched = [repr(name) for name, matches in close.items() if not matches]
    if unmatched:
        sentences.append(f"{where} has no column {' or '.join(unmatched)}.")
        sentences.append(f"Its columns are {join_names(map(repr, columns), 12)}.")
    return " ".join(sentences)


def _regroup_rows(chunks: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Regroup the chunks of a table into pieces of ``rows`` rows."""
    pieces: list[pa.RecordBatch] = []
    count = 0
    for chunk in chunks:
        start = 0
        while start < chunk.num_rows:
            pieces.append(chunk.slice(start, rows - count))
            start, count = start + pieces[-1].num_rows, count + pieces[-1].num_rows
            if count == rows:
                yield _merge_pieces(pieces)
                count = 0
    if pieces:
        yield _merge_pieces(pieces)


def _merge_pieces(pieces: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Merge pieces of a table, and clear the list to free their memory."""
    whole = pieces[0] if len(pieces) == 1 else pa.Table.from_batches(pieces).combine_chunks().to_batches()[0]
    pieces.clear()
    return whole


def _folder_keys(path: str) -> dict[str, str | None]:
    """Return the columns of a table from folder names such as year=2024."""
    folders = PurePosixPath(path.replace(os.sep, "/")).parts[:-1]
    keys = [folder.partition("=") for folder in folders if "=" in folder]
    return {key: None if value == "__HIVE_DEFAULT_PARTITION__" else unquote(value) for key, _, value in keys}


def _open_part(path: str, format: str | None, dialect: Dialect, sheet: str | None) -> Part:
    """Open one file with the reader for its format."""
    if path == "-":
        if format not in (None, "csv"):
            raise TableError(f"standard input is read as delimited text, not as {format}.")
        return TextFile.spool(sys.stdin.buffer, "standard input", dialect)
    check_readable(path)
    if not is_url(path) and not os.path.isfile(path):
        with open(path, "rb") as pipe:
            return TextFile.spool(pipe, path, dialect)
    kind = format or format_of(path)
    if kind is None:
        text = f"{path}: unknown file name ending. Known endings are {', '.join(ENDINGS)}."
        raise TableError(f"{text} Rename the file, or pass `format='csv'`.")
    if kind == "csv":
        return TextFile(path, lambda: open_bytes(path), dialect)
    if kind == "xlsx":
        return open_workbook(path, sheet, dialect)
    return OPENERS[kind](path)
