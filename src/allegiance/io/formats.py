"""Tables with typed columns: Parquet, Arrow, NumPy, JSON and .h5ad files, and frames."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from itertools import accumulate
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
import pyarrow.parquet as pq

from allegiance._core.validation import AnyArray, require
from allegiance.drivers import Finding

from .files import TableError, filesystem_of, is_url


def open_bytes(path: str) -> Any:
    """Open a file, decompressed, for reading from the beginning."""
    if is_url(path):
        filesystem, name = filesystem_of(path)
        return filesystem.open(name, "rb", compression="infer")
    return pa.input_stream(path, compression="detect")


def open_seekable(path: str) -> Any:
    """Return a local file path as it is, or an open file for a URL."""
    if not is_url(path):
        return path
    filesystem, name = filesystem_of(path)
    return filesystem.open(name, "rb")


@contextmanager
def wrap_errors(sentence: str) -> Iterator[None]:
    """Turn any error of a file format's library into a ``TableError`` that begins with ``sentence``."""
    try:
        yield
    except TableError:
        raise
    except Exception as error:
        raise TableError(f"{sentence} {error}") from error


def plain_schema(schema: Any) -> Any:
    """Replace views and run-end encoding of Arrow files, which pyarrow does not fully support, by plain types."""
    plain = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    kinds = [one.type.value_type if pa.types.is_run_end_encoded(one.type) else one.type for one in schema]
    return pa.schema([one.with_type(plain.get(kind, kind)) for one, kind in zip(schema, kinds, strict=True)])


def cast_column(column: Any, kind: Any) -> Any:
    """Cast a column of a file to another type, also from views and run-end encoding."""
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    return column if column.type == kind else column.cast(kind)


def drop_first_rows(chunks: Iterable[pa.RecordBatch], start: int) -> Iterator[pa.RecordBatch]:
    """Yield the chunks of a file without their first ``start`` rows."""
    for chunk in chunks:
        if start < chunk.num_rows:
            yield chunk.slice(start)
        start = max(0, start - chunk.num_rows)


def as_arrow(source: Any) -> Any:
    """Return a frame of any library as an Arrow table, or a record batch as it is."""
    if isinstance(source, (pa.Table, pa.RecordBatch)):
        return source
    if hasattr(source, "iloc") and hasattr(source, "dtypes"):
        return pa.table({str(name): column_of(source.iloc[:, i]) for i, name in enumerate(source.columns)})
    if hasattr(source, "__arrow_c_array__"):
        return pa.record_batch(source)
    if hasattr(source, "__arrow_c_stream__"):
        return pa.table(source)
    raise TableError(f"a table must be a path, a list of paths or a frame, got {type(source).__name__}.")


def column_of(values: Any) -> Any:
    """Return values as an Arrow array of their common type, or as texts if they have none."""
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        gaps = [pa.array([value], from_pandas=True).null_count for value in values]
        return pa.array([None if gap else text_of(value) for gap, value in zip(gaps, values, strict=True)], "string")


def text_of(value: Any) -> str:
    """Return a value as text; 2.0 is written 2."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def reading_finding(where: str, text: str, level: str = "note", remedy: str = "") -> Finding:
    """Return a finding on how a file of a table was read."""
    return Finding("reading", (), f"{where}: {text}", remedy, level)


class Part:
    """One file of a table, or a frame: its columns, and a function that reads rows.

    ``read(columns, start, rows)`` yields record batches of any size, preferably ``rows``, from the row ``start`` on.
    ``written`` is true for unparsed text, whose types come from the profile. ``keys`` holds the columns from folders
    such as year=2024, each with its value.
    """

    has_names = True
    #: The line of the first row in the file.
    first_line = 1
    keys: Mapping[str, str | None] = MappingProxyType({})
    #: Columns that describe observations and are not measurements.
    annotations: tuple[str, ...] = ()

    def __init__(
        self,
        where: str,
        format: str,
        schema: Any,
        n_rows: int | None,
        read: Callable[[list[str], int, int], Iterable[pa.RecordBatch]],
        *,
        written: bool = False,
    ) -> None:
        self.where, self.format, self.n_rows, self.written, self._read = where, format, n_rows, written, read
        self.files: tuple[str, ...] = () if format == "frame" else (where,)
        self.findings: list[Finding] = []
        self.excluded: set[int] = set()
        self.set_schema(schema)

    @classmethod
    def of(cls, where: str, table: Any, format: str = "frame", *, written: bool = False) -> Part:
        """Return a table in memory."""
        table = table if isinstance(table, pa.Table) else pa.Table.from_batches([table])

        def read(columns: list[str], start: int, rows: int) -> Iterable[pa.RecordBatch]:
            return table.select(columns).slice(start).to_batches(max_chunksize=rows)

        return cls(where, format, table.schema, table.num_rows, read, written=written)

    def set_schema(self, schema: Any) -> None:
        """Set the columns of a file, after checking their names."""
        self.schema = plain_schema(schema)
        try:
            self.names = list(self.schema.names)
        except UnicodeDecodeError as error:
            raise TableError(f"{self.where} is damaged: the name of a column is not UTF-8.") from error
        twice = [name for name, count in Counter(self.names).items() if count > 1]
        if twice:
            raise TableError(f"{self.where} has more than one column named {twice[0]!r}: rename them.")
        if not self.names:
            raise TableError(f"{self.where} has no columns.")

    @property
    def n_kept(self) -> int | None:
        """The number of rows without excluded ones; None if it is unknown."""
        return None if self.n_rows is None else self.n_rows - len(self.excluded)

    def raw_row(self, row: int) -> int:
        """Return the number of a row in the file, excluded rows included."""
        for other in sorted(self.excluded):
            if other > row:
                break
            row += 1
        return row

    def lines_of(self, rows: list[int]) -> list[int]:
        """Return the lines of rows in the file, counted from 1."""
        return [self.first_line + row for row in rows]

    def exclude(self, rows: Iterable[int]) -> None:
        """Exclude rows of a file from reading."""
        self.excluded = {*self.excluded, *rows}

    def kept_chunks(self, columns: list[str], start: int, rows: int, first_pass: bool) -> Iterator[pa.RecordBatch]:
        """Yield the rows from ``start`` on, in order, without excluded ones."""
        first = self.raw_row(start)
        excluded = np.array(sorted(self.excluded), dtype=np.int64)
        for chunk in self.chunks(columns, first, rows, first_pass):
            low, high = np.searchsorted(excluded, [first, first + chunk.num_rows])
            keep = np.ones(chunk.num_rows, dtype=bool)
            keep[excluded[low:high] - first] = False
            first += chunk.num_rows
            yield chunk if high == low else chunk.filter(pa.array(keep))

    def chunks(self, columns: list[str], start: int, rows: int, first_pass: bool) -> Iterator[pa.RecordBatch]:
        """Yield the rows from ``start`` on, in order, in chunks of any size, after validating every buffer."""
        try:
            for chunk in self._read(columns, start, rows):
                chunk.validate(full=True)
                yield chunk
        except (pa.ArrowException, OSError) as error:
            raise TableError(f"{self.where} is damaged. {error}") from error


def open_parquet(path: str) -> Part:
    """Return a Parquet file, of which only the requested columns are read.

    ``pyarrow.dataset`` is not used: it reads ahead (210 MB where this takes 45) and cannot start at a given row.
    """
    # Local files are read page by page, which takes half the memory; remote ones by whole columns.
    buffer_size = 0 if is_url(path) else 1 << 16

    # Opened for each pass, since a folder may have more files than a process may keep open.
    def reader() -> Any:
        return pq.ParquetFile(open_seekable(path), pre_buffer=False, buffer_size=buffer_size)

    with wrap_errors(f"{path} is not a Parquet file, or it is damaged."), reader() as source:
        schema, metadata = source.schema_arrow, source.metadata
    groups = range(metadata.num_row_groups)
    starts = [0, *accumulate(metadata.row_group(group).num_rows for group in groups)]

    def read(columns: list[str], start: int, rows: int) -> Iterator[pa.RecordBatch]:
        with reader() as file:
            if not file.metadata.equals(metadata):
                raise TableError(f"{path} was changed by another program while it was being read: run again.")
            for group in groups[max(0, bisect_right(starts, start) - 1) :]:
                batches = file.iter_batches(batch_size=rows, row_groups=[group], columns=columns)
                try:
                    yield from drop_first_rows(batches, max(0, start - starts[group]))
                except (pa.ArrowException, OSError) as error:
                    place = f"row group {group} of {len(groups)} (rows {starts[group]:,} to {starts[group + 1] - 1:,})"
                    raise TableError(f"{path} is damaged in {place}. {error}") from error

    return Part(path, "parquet", schema, int(metadata.num_rows), read)


def open_arrow(path: str) -> Part:
    """Return an Arrow IPC file (also Feather version 2), mapped into memory, or an Arrow stream in a file."""
    with open_bytes(path) as file:
        is_file = bytes(file.read(6)) == b"ARROW1"

    def reader() -> Any:
        place = open_seekable(path)
        place = pa.memory_map(place) if isinstance(place, str) else place
        return pa.ipc.open_file(place) if is_file else pa.ipc.open_stream(place)

    def batches() -> Iterator[pa.RecordBatch]:
        with reader() as source:
            yield from map(source.get_batch, range(source.num_record_batches)) if is_file else source

    def read(columns: list[str], start: int, rows: int) -> Iterator[pa.RecordBatch]:
        return (batch.select(columns) for batch in drop_first_rows(batches(), start))

    with wrap_errors(f"{path} is not an Arrow file (Feather version 2), or it is damaged."):
        with reader() as source:
            schema = source.schema
        return Part(path, "arrow", schema, sum(batch.num_rows for batch in batches()), read)


def open_array(path: str) -> Part:
    """Return the array of an .npy file as a memory map; a vector is one column."""
    place = open_seekable(path)
    with wrap_errors(f"{path} is not a NumPy file of numbers, or it is damaged."):
        array: AnyArray
        if isinstance(place, str):
            array = np.lib.format.open_memmap(place, mode="r")
        else:
            array = np.lib.format.read_array(place, allow_pickle=False)
    if array.dtype.kind not in "biufUS":
        raise TableError(f"{path} contains an array of dtype {array.dtype}: numbers or text are needed.")
    if array.ndim not in (1, 2):
        raise TableError(
            f"{path} contains an array of shape {array.shape}: two dimensions are needed, one row per point."
        )
    vectors = {f"x{i}": column for i, column in enumerate(array.T if array.ndim == 2 else [array])}

    def batch(columns: Iterable[str], start: int, stop: int) -> pa.RecordBatch:
        return pa.record_batch({name: np.ascontiguousarray(vectors[name][start:stop]) for name in columns})

    def read(columns: list[str], start: int, rows: int) -> Iterator[pa.RecordBatch]:
        return (batch(columns, first, first + rows) for first in range(start, len(array), rows))

    part = Part(path, "npy", batch(vectors, 0, 0).schema, len(array), read)
    part.has_names = False
    return part


def open_json(path: str) -> Part:
    """Return JSON objects, one per line or in one array, in memory; nested objects become columns ``outer.inner``."""
    with wrap_errors(f"{path} is not one JSON object per line, or it is damaged."):
        with open_bytes(path) as stream:
            is_array = bytes(stream.read(64)).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
        if not is_array:
            with suppress(pa.ArrowInvalid), open_bytes(path) as stream:
                table = pa.json.read_json(stream)
                if all(_keeps_digits(column) for column in table.columns):
                    return Part.of(path, table, "jsonl", written=True)
        with open_bytes(path) as stream:
            text = bytes(stream.read()).decode("utf-8-sig")
        records = _read_records(text)
    if not all(isinstance(record, dict) for record in records):
        raise TableError(f"{path} contains {type(records[0]).__name__}s: a table needs one JSON object per row.")
    rows = [_flat_record(record) for record in records]
    names = list(dict.fromkeys(name for row in rows for name in row))
    nested = [name for name in names if any(isinstance(row.get(name), (dict, list)) for row in rows)]
    columns = {name: [row.get(name) for row in rows] for name in names if name not in nested}
    if not columns:
        raise TableError(f"{path} contains only nested values: extract those you need into columns first.")
    texts = {name: pa.array([_json_text(value) for value in values], pa.string()) for name, values in columns.items()}
    part = Part.of(path, pa.table(texts), "jsonl", written=True)
    if nested:
        text = f"ignored nested values in {', '.join(map(repr, nested[:5]))}. To use them, extract them into columns."
        part.findings.append(reading_finding(path, text, "warning"))
    return part


def _read_records(text: str) -> list[Any]:
    """Return the values of JSON lines, of one array, or of the only list in one object, as web services send it."""
    # Numbers stay text: the profile sets their type, and identifiers keep all digits.
    parse = partial(json.loads, parse_int=str, parse_float=str, parse_constant=str)
    try:
        value = parse(text)
    except json.JSONDecodeError:
        return [parse(line) for line in text.splitlines() if line.strip()]
    if isinstance(value, dict):
        lists = [inner for inner in value.values() if isinstance(inner, list) and inner and isinstance(inner[0], dict)]
        return lists[0] if len(lists) == 1 else [value]
    return value if isinstance(value, list) else [value]


def _keeps_digits(column: Any) -> bool:
    """Return whether pyarrow read a JSON column without loss: no nested values, no rounded whole numbers."""
    if pa.types.is_nested(column.type):
        return False
    return not pa.types.is_floating(column.type) or (pc.max(pc.abs(column)).as_py() or 0) < 2**53


def _flat_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten the inner objects of a JSON object by one level."""
    flat = dict[str, Any]()
    for name, value in record.items():
        flat |= {f"{name}.{key}": inner for key, inner in value.items()} if isinstance(value, dict) else {name: value}
    return flat


def _json_text(value: Any) -> str | None:
    """Return a value of a JSON file as text or None."""
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else value


def open_h5ad(path: str) -> Part:
    """Return the observations of an .h5ad file: their names, principal components or the matrix X, and obs."""
    anndata = require("anndata", "anndata", "reading .h5ad files")
    with wrap_errors(f"{path} is not an .h5ad file, or it is damaged."):
        data = anndata.read_h5ad(open_seekable(path))
    components = data.obsm.get("X_pca")
    matrix = data.X if components is None else components
    matrix = np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)
    names = list(data.var_names) if components is None else [f"PC{i + 1}" for i in range(matrix.shape[1])]
    obs = as_arrow(data.obs)
    columns = {"cell": pa.array(list(map(str, data.obs_names)))}
    columns |= {str(name): pa.array(matrix[:, i]) for i, name in enumerate(names)}
    annotations = [name for name in obs.column_names if name not in columns]
    part = Part.of(path, pa.table(columns | {name: obs.column(name) for name in annotations}), "h5ad")
    used = "the matrix X" if components is None else "the principal components obsm['X_pca']"
    part.findings.append(reading_finding(path, f"the features are {used}; the columns of obs can be labels."))
    part.annotations = tuple(annotations)
    return part


#: Functions that open files with typed columns, by format.
OPENERS: dict[str, Callable[[str], Part]] = {
    "parquet": open_parquet,
    "arrow": open_arrow,
    "npy": open_array,
    "jsonl": open_json,
    "h5ad": open_h5ad,
}
