"""Tables with typed columns: Parquet, Arrow, NumPy, JSON and .h5ad files, and frames."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
import pyarrow.parquet as pq

from allegiance._core.validation import AnyArray, require

from .files import TableError, is_url, open_bytes, open_seekable, wrap_errors
from .parts import Part, drop_first_rows, reading_finding
from .values import column_of


def as_arrow(source: Any) -> Any:
    """Return data of any format in memory, such as a pandas frame, as an Arrow table or record batch."""
    if isinstance(source, (pa.Table, pa.RecordBatch)):
        return source
    if hasattr(source, "iloc") and hasattr(source, "dtypes"):
        return pa.table({str(name): column_of(source.iloc[:, i]) for i, name in enumerate(source.columns)})
    if hasattr(source, "__arrow_c_array__"):
        return pa.record_batch(source)
    if hasattr(source, "__arrow_c_stream__"):
        return pa.table(source)
    raise TableError(f"a table must be a path, a list of paths or a frame, got {type(source).__name__}.")


def open_parquet(path: str) -> Part:
    """Return the table of a Parquet file, of which only the requested columns are read.

    ``pyarrow.dataset`` is not used: it reads ahead (210 MB where this takes 45) and cannot start at a given row.
    """
    # Local files are read page by page, which takes half the memory; remote ones by whole columns.
    buffer_size = 0 if is_url(path) else 1 << 16

    def reader() -> Any:
        """Open the Parquet file for a pass: a folder may have more files than a process may keep open."""
        return pq.ParquetFile(open_seekable(path), pre_buffer=False, buffer_size=buffer_size)

    with wrap_errors(f"{path} is not a Parquet file, or it is damaged."), reader() as source:
        schema, metadata = source.schema_arrow, source.metadata
    groups = range(metadata.num_row_groups)
    starts = [0, *accumulate(metadata.row_group(group).num_rows for group in groups)]

    def read(columns: list[str], start: int, rows: int) -> Iterator[pa.RecordBatch]:
        with reader() as file:
            if not file.metadata.equals(metadata):
                raise TableError(f"{path} was changed by another program while it was being read. Run again.")
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
        """Open the Arrow file or stream."""
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
        """Return rows of the NumPy file as a record batch."""
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
    words = {True: "true", False: "false"}
    texts = {
        name: pa.array([words[value] if isinstance(value, bool) else value for value in values], pa.string())
        for name, values in columns.items()
    }
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


def read_h5ad(path: str, **settings: Any) -> Any:
    """Return an .h5ad file, local or remote, as AnnData; for local files, settings are passed to anndata."""
    anndata = require("anndata", "anndata", "reading .h5ad files")
    with wrap_errors(f"{path} is not an .h5ad file, or it is damaged."):
        return anndata.read_h5ad(open_seekable(path), **({} if is_url(path) else settings))


def open_h5ad(path: str) -> Part:
    """Return the observations of an .h5ad file: their names, principal components or the matrix X, and obs."""
    data = read_h5ad(path)
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
