"""The formats of tables other than text: Parquet, Arrow, workbooks, arrays, JSON, .h5ad files, frames."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from allegiance._core.validation import AnyArray, require
from allegiance.io import TableError

from .values import parse_number

if TYPE_CHECKING:
    import pyarrow as pa

arrow: Any = require("pyarrow", "io", "reading tables")
compute: Any = require("pyarrow.compute", "io", "reading tables")
#: Rows that are looked at to find the header.
HEAD_ROWS = 200


@dataclass(frozen=True)
class Options:
    """How files are opened."""

    format: str | None
    sep: str | None
    encoding: str | None
    skip_rows: int | None
    sheet: str | None


def is_url(path: str) -> bool:
    """Tell whether a path names a protocol."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", path) is not None


def filesystem_of(url: str) -> tuple[Any, str]:
    """Return the file system of a URL and the path in it."""
    fsspec = require("fsspec", "io", f"reading {url}")
    try:
        filesystem, path = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:
        scheme = url.partition("://")[0]
        raise TableError(f"{url} needs a driver of fsspec for {scheme}:// that is not installed. {error}") from error
    return filesystem, path


def open_bytes(path: str) -> Any:
    """Open a file, decompressed, for reading from the beginning."""
    if is_url(path):
        filesystem, name = filesystem_of(path)
        return filesystem.open(name, "rb", compression="infer")
    return arrow.input_stream(path, compression="detect")


def open_seekable(path: str) -> Any:
    """Return what pyarrow and other libraries take for a file: a local path, or an open file."""
    if not is_url(path):
        return path
    filesystem, name = filesystem_of(path)
    return filesystem.open(name, "rb")


def plain_schema(schema: Any) -> Any:
    """Return a schema with types that all of pyarrow knows in place of views and runs."""
    plain = {arrow.string_view(): arrow.string(), arrow.binary_view(): arrow.binary()}
    kinds = [one.type.value_type if arrow.types.is_run_end_encoded(one.type) else one.type for one in schema]
    return arrow.schema([one.with_type(plain.get(kind, kind)) for one, kind in zip(schema, kinds, strict=True)])


def cast_column(column: Any, kind: Any) -> Any:
    """Return a column as another type; runs and views, which not all of pyarrow knows, are written out."""
    if arrow.types.is_run_end_encoded(column.type):
        column = compute.run_end_decode(column)
    return column if column.type == kind else column.cast(kind)


def skipped(chunks: Iterable[pa.RecordBatch], start: int) -> Iterator[pa.RecordBatch]:
    """Yield chunks without their first ``start`` rows."""
    for chunk in chunks:
        if start < chunk.num_rows:
            yield chunk.slice(start)
        start = max(0, start - chunk.num_rows)


def as_arrow(source: Any) -> Any:
    """Return a frame of any library as an Arrow table, or a record batch as it is."""
    if isinstance(source, (arrow.Table, arrow.RecordBatch)):
        return source
    if hasattr(source, "iloc") and hasattr(source, "dtypes"):
        return arrow.table({str(name): _column(source.iloc[:, i]) for i, name in enumerate(source.columns)})
    if hasattr(source, "__arrow_c_stream__"):
        return arrow.table(source)
    if hasattr(source, "to_arrow"):
        return source.to_arrow()
    raise TableError(f"a table must be a path, a list of paths or a frame, got {type(source).__name__}.")


def _column(values: Any) -> Any:
    """Return values as an Arrow array of the one type that they have, else of texts."""
    try:
        return arrow.array(values, from_pandas=True)
    except (arrow.ArrowInvalid, arrow.ArrowTypeError):
        gaps = [arrow.array([value], from_pandas=True).null_count for value in values]
        texts = [None if gap else _text(value) for gap, value in zip(gaps, values, strict=True)]
        return arrow.array(texts, arrow.string())


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


class Part:
    """One file of a table."""

    format = ""
    has_names = True
    #: Whether its texts are as people wrote them, so that the profile gives them types.
    written = False
    annotations: tuple[str, ...] = ()

    def __init__(self, where: str, files: Sequence[str]) -> None:
        self.where, self.files = where, tuple(files)
        self.notes: list[str] = []
        self.n_rows: int | None = None

    def set_schema(self, schema: Any, n_rows: int | None) -> None:
        """Set the columns, after checking their names, and the number of rows."""
        self.schema, self.n_rows = plain_schema(schema), n_rows
        try:
            self.names = list(self.schema.names)
        except UnicodeDecodeError as error:
            raise TableError(f"{self.where} is damaged: the name of a column is not UTF-8.") from error
        twice = [name for name, count in Counter(self.names).items() if count > 1]
        if twice:
            raise TableError(f"{self.where} has more than one column named {twice[0]!r}: rename them.")
        if not self.names:
            raise TableError(f"{self.where} has no columns.")

    def chunks(self, columns: list[str], start: int, rows: int, first_pass: bool) -> Iterator[pa.RecordBatch]:
        """Yield the rows from ``start`` on, in order, in pieces of any size."""
        raise NotImplementedError


class InMemory(Part):
    """A table in memory."""

    def __init__(self, where: str, table: Any, format: str = "frame", *, written: bool = False) -> None:
        super().__init__(where, () if format == "frame" else (where,))
        table = table if isinstance(table, arrow.Table) else arrow.Table.from_batches([table])
        self.set_schema(table.schema, table.num_rows)
        self._table, self.format, self.written = table, format, written

    def chunks(self, columns: list[str], start: int, rows: int, first_pass: bool) -> Iterator[pa.RecordBatch]:
        """Yield the rows from ``start`` on."""
        yield from self._table.select(columns).slice(start).to_batches(max_chunksize=rows)


class ParquetFile(Part):
    """A Parquet file, of which only the columns asked for are read.

    Not by way of ``pyarrow.dataset``, which reads ahead a large part of the file (210 MB where this takes 45) and
    cannot begin at a row.
    """

    format = "parquet"

    def __init__(self, path: str) -> None:
        super().__init__(path, [path])
        parquet = require("pyarrow.parquet", "io", "reading tables")
        try:
            self._file = parquet.ParquetFile(open_seekable(path), pre_buffer=False)
        except (arrow.ArrowException, OSError) as error:
            raise TableError(f"{path} is not a Parquet file, or it is damaged. {error}") from error
        self.set_schema(self._file.schema_arrow, int(self._file.metadata.num_rows))

    def chunks(self, columns: list[str], start: int, rows: int, first_pass: bool) -> Iterator[pa.RecordBatch]:
        """Yield the rows from ``start`` on."""
        metadata = self._file.metadata
        groups = list(range(metadata.num_row_groups))
        starts = [0, *accumulate(metadata.row_group(group).num_rows for group in groups)]
        first = max(0, bisect_right(starts, start) - 1)
        if first >= len(groups):
            return
        try:
            batches = self._file.iter_batches(batch_size=rows, row_groups=groups[first:], columns=columns)
            yield from skipped(batches, start - starts[first])
        except (arrow.ArrowException, OSError) as error:
            raise TableError(f"{self.where} is damaged. {error}") from error


class ArrowFile(Part):
    """An Arrow IPC file (also Feather version 2), mapped into memory, or an Arrow stream in a file."""

    format = "arrow"

    def __init__(self, path: str) -> None:
        super().__init__(path, [path])
        ipc = require("pyarrow.ipc", "io", "reading tables")
        with open_bytes(path) as file:
            self._is_file = bytes(file.read(6)) == b"ARROW1"
        self._open = ipc.open_file if self._is_file else ipc.open_stream
        try:
            with self._reader() as reader:
                schema = reader.schema
        except (arrow.ArrowException, OSError) as error:
            raise TableError(f"{path} is not an Arrow file (Feather version 2), or it is damaged. {error}") from error
        self.set_schema(schema, sum(batch.num_rows for batch in self._all()))

    def _reader(self) -> Any:
        place = open_seekable(self.where)
        return self._open(arrow.memory_map(place) if isinstance(place, str) else place)

    def _all(self) -> Iterator[pa.RecordBatch]:
        try:
            with self._reader() as reader:
                if self._is_file:
                    yield from (reader.get_batch(number) for number in range(reader.num_record_batches))
                else:
                    yield from reader
        except (arrow.ArrowException, OSError) as error:
            raise TableError(f"{self.where} is damaged. {error}") from error

    def chunks(self, columns: list[str], start: int, rows: int, first_pass: bool) -> Iterator[pa.RecordBatch]:
        """Yield the rows from ``start`` on."""
        yield from (batch.select(columns) for batch in skipped(self._all(), start))


class ArrayFile(Part):
    """The arrays of an .npy file, left on disk, or of an .npz file: columns x0, x1, ... of a matrix, and vectors."""

    has_names = False

    def __init__(self, path: str, format: str, key: str | None = None) -> None:
        super().__init__(path, [path])
        self.format = format
        place = open_seekable(path)
        try:
            if format == "npy":
                arrays = {"": np.load(place, mmap_mode="r" if isinstance(place, str) else None, allow_pickle=False)}
            else:
                with open(place, "rb") if isinstance(place, str) else place as file:
                    archive = np.load(file, allow_pickle=False)
                    arrays = {name: archive[name] for name in ([key] if key else archive.files)}
        except KeyError as error:
            raise TableError(f"{path} has no array {key!r}.") from error
        except Exception as error:  # A damaged archive raises whatever the library below it does.
            raise TableError(f"{path} is not a NumPy file of numbers. {error}") from error
        for array in arrays.values():
            if array.dtype.kind not in "biufUS":
                raise TableError(f"{path} holds an array of dtype {array.dtype}: numbers or text are needed.")
        shapes = [array.shape for array in arrays.values()]
        if len(shapes) == 1 and len(shapes[0]) not in (1, 2):
            raise TableError(f"{path} holds an array of shape {shapes[0]}: two dimensions are needed, a row per point.")
        fits = [len(shape) in (1, 2) and shape[0] == shapes[0][0] for shape in shapes]
        if not shapes or not all(fits) or sum(len(shape) == 2 for shape in shapes) > 1:
            raise TableError(
                f"{path} must hold one matrix, and perhaps vectors of the same length; its arrays are: "
                f"{', '.join(arrays) or 'none'}. Name one of them as {path}:NAME."
            )
        self._vectors: dict[str, AnyArray] = {}
        for name, array in arrays.items():
            if array.ndim == 2 or len(arrays) == 1:
                columns = array.T if array.ndim == 2 else [array]
                self._vectors |= {f"x{i}": column for i, column in enumerate(columns)}
            else:
                self._vectors[name] = array
        self.set_schema(self._batch(list(self._vectors), 0, 0).schema, int(shapes[0][0]))

    def _batch(self, columns: list[str], start: int, stop: int) -> pa.RecordBatch:
        arrays = [arrow.array(np.ascontiguousarray(self._vectors[name][start:stop])) for name in columns]
        return arrow.RecordBatch.from_arrays(arrays, names=columns)

    def chunks(self, columns: list[str], start: int, rows: int, first_pass: bool) -> Iterator[pa.RecordBatch]:
        """Yield the rows from ``start`` on."""
        for first in range(start, self.n_rows or 0, rows):
            yield self._batch(columns, first, min(first + rows, self.n_rows or 0))


def open_json(path: str, format: str) -> Part:
    """Return the objects of a JSON file, one per line or in one array, in memory."""
    try:
        with open_bytes(path) as stream:
            if format == "jsonl":
                table = require("pyarrow.json", "io", "reading tables").read_json(stream)
            else:
                table = arrow.Table.from_pylist(json.loads(bytes(stream.read())))
    except (arrow.ArrowInvalid, arrow.ArrowTypeError, ValueError, AttributeError) as error:
        kind = "one JSON object per line" if format == "jsonl" else "a JSON array of objects"
        raise TableError(f"{path} is not a table: {kind} is needed. {error}") from error
    return InMemory(path, table, format, written=True)


def open_h5ad(path: str) -> Part:
    """Return the observations of an .h5ad file: their names, principal components or the matrix X, and obs."""
    anndata = require("anndata", "anndata", "reading .h5ad files")
    try:
        data = anndata.read_h5ad(path)
    except Exception as error:  # h5py and zarr raise whatever they like for a damaged file.
        raise TableError(f"{path} is not an .h5ad file, or it is damaged. {error}") from error
    components = data.obsm.get("X_pca")
    matrix = data.X if components is None else components
    matrix = np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)
    names = list(data.var_names) if components is None else [f"PC{i + 1}" for i in range(matrix.shape[1])]
    obs = as_arrow(data.obs)
    columns = {"cell": arrow.array(list(map(str, data.obs_names)))}
    columns |= {str(name): arrow.array(matrix[:, i]) for i, name in enumerate(names)}
    kept = [name for name in obs.column_names if name not in columns]
    part = InMemory(path, arrow.table(columns | {name: obs.column(name) for name in kept}), "h5ad")
    used = "the matrix X" if components is None else "the principal components obsm['X_pca']"
    part.notes.append(f"{path}: the features are {used}; the columns of obs can be labels.")
    part.annotations = tuple(kept)
    return part


def open_workbook(path: str, options: Options) -> Part:
    """Return a sheet of a workbook, in memory."""
    library = require("python_calamine", "io", f"reading {path}")
    try:
        place = open_seekable(path)
        read = library.CalamineWorkbook.from_path if isinstance(place, str) else library.CalamineWorkbook.from_filelike
        with read(place) as book:
            names = list(book.sheet_names)
            if options.sheet is not None and options.sheet not in names:
                listed = ", ".join(map(repr, names))
                raise TableError(f"{path} has no sheet {options.sheet!r}. Its sheets are {listed}.")
            sheets = {
                name: book.get_sheet_by_name(name).to_python(skip_empty_area=True)
                for name in (names if options.sheet is None else [options.sheet])
            }
    except (library.CalamineError, OSError) as error:
        raise TableError(f"{path} is not a workbook, or it is damaged. {error}") from error
    if not sheets:
        raise TableError(f"{path} has no sheets, or it is damaged.")
    chosen = max(sheets, key=lambda name: sum(len(row) for row in sheets[name]))
    rows = sheets[chosen]
    if not rows:
        raise TableError(f"{path}: the sheet {chosen!r} is empty.")
    layout = find_layout([[_text(cell) for cell in row] for row in rows[:HEAD_ROWS]], options.skip_rows)
    columns = {
        name: _column([_cell(row[i]) if i < len(row) else None for row in rows[layout.first :]])
        for i, name in enumerate(layout.names)
    }
    part = InMemory(path, arrow.table(columns), "xlsx", written=True)
    part.has_names = layout.has_names
    part.notes += [f"{path}: {note}" for note in layout.notes]
    if len(sheets) > 1:
        others = ", ".join(repr(name) for name in names if name != chosen)
        part.notes.append(f"{path}: read the sheet {chosen!r}. Its other sheets are {others} (sheet=, --sheet).")
    return part


def _cell(cell: Any) -> Any:
    """Return a cell of a workbook, None if it is blank; days are times, as they are often mixed."""
    if isinstance(cell, date) and not isinstance(cell, datetime):
        return datetime.combine(cell, time())
    return None if isinstance(cell, str) and not cell.strip() else cell


@dataclass
class Layout:
    """Where the rows of a table begin, and what its columns are called."""

    names: list[str]
    header: int
    first: int
    has_names: bool = True
    notes: list[str] = field(default_factory=list)


def find_layout(rows: list[list[str]], header: int | None = None) -> Layout:
    """Return where the header of a table is: the first row that is as wide as most, and mostly filled."""
    widths = Counter(len(row) for row in rows)
    width = max(widths.items(), key=lambda item: (item[1], item[0]))[0]
    notes = []
    if header is None:
        filled = [sum(1 for cell in row if cell.strip()) for row in rows]
        wide = [i for i, row in enumerate(rows) if len(row) >= width - 1 and filled[i] > max(1, width // 2)]
        header = wide[0] if wide and width > 1 else 0
        if header:
            titles = "; ".join(repr(" ".join(row).strip()[:40]) for row in rows[:header] if any(map(str.strip, row)))
            plural = "lines" if header > 1 else "line"
            notes.append(f"skipped {header} {plural} above the header: {titles} (skip_rows=, --skip-rows).")
    names = [cell.strip().lstrip("\ufeff") for cell in rows[header]]
    below = rows[header + 1 :]
    if below and len(names) == width - 1:
        spare = all(not row[-1].strip() for row in below if len(row) == width)
        names = [*names, ""] if spare else ["row_name", *names]
        where = "a separator at the end of each row" if spare else "a column without a name, 'row_name', comes first"
        notes.append(f"rows have one column more than the header: {where}.")
    while len(names) > 1 and not names[-1] and below and all(len(row) < len(names) for row in below):
        names.pop()
    if _looks_like_data(rows[header], below):
        notes.append("it has no header; its columns are called x0, x1, ...")
        return Layout([f"x{i}" for i in range(len(names))], header, header, has_names=False, notes=notes)
    unique, changed = _unique_names(names)
    if changed:
        listed = ", ".join(changed[:5]) + (", ..." if len(changed) > 5 else "")
        notes.append(f"columns without a name, or with one that occurs twice, are called {listed}.")
    return Layout(unique, header, header + 1, notes=notes)


def _looks_like_data(header: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Tell whether a first row holds numbers only, as the rows below it do; a count of columns or years is a header."""
    cells = [cell.strip() for cell in header]
    if not below or any(not cell or (parse_number(cell) is None and parse_number(cell, ",") is None) for cell in cells):
        return False
    whole = [int(cell) for cell in cells if re.fullmatch(r"\d+", cell)]
    return not (len(whole) == len(cells) and all(b - a == 1 for a, b in pairwise(whole)))


def _unique_names(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return names with one for each column without, and a number behind those that occur again."""
    given = set(names)
    unique: dict[str, str] = {}
    for place, name in enumerate(names, 1):
        new, number = name or f"unnamed_{place}", 2
        while new in unique or (new != name and new in given):
            new, number = f"{name or f'unnamed_{place}'}_{number}", number + 1
        unique[new] = name
    return list(unique), [new for new, name in unique.items() if new != name]
