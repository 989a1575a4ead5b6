"""Inputs of the page besides the result: features, columns, ids, map coordinates, texts, images."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

from allegiance._core.validation import (
    AnyArray,
    FloatArray,
    IntArray,
    Rows,
    check_rows,
    dense,
    is_missing,
    require,
)
from allegiance.results import AffinityResult

from ._columns import Column, read_columns

#: Longest side of an image on a page, in pixels.
THUMBNAIL = 96
#: Image formats to open. Formats that are programs, such as PostScript, are excluded.
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF")
#: Array entries per block when the range of images is computed.
_BLOCK = 4_000_000
#: Column names of exported files, which identifiers must not use.
RESERVED_NAMES = (
    "row", "label", "cluster_name", "label_before", "trust", "verdict", "rival", "own_affinity", "typicality",
    "decision", "new_label", "decided_at",
)  # fmt: skip
#: Most columns of X on the page if there is no table; those that separate the clusters best.
MAX_FEATURES = 200


class Images:
    """The user's images, one for each point: an array of pixels, possibly on disk, or paths of files."""

    def __init__(self, source: AnyArray | list[Path | None]) -> None:
        self._source = source

    def thumbnail(self, row: int, longest: int = THUMBNAIL) -> str | None:
        """Return the image of a point with at most ``longest`` pixels a side as a data URI; None if it has none."""
        entry = self._source[row]
        if entry is None:
            return None
        kind = "png"
        if isinstance(entry, Path):
            image, kind = self._open(entry, row, longest)
        else:
            low, high = self._range
            # Halved, since the difference of two large numbers may overflow.
            level = (entry.astype(np.float64) / 2 - low / 2) / max(high / 2 - low / 2, np.finfo(float).tiny) * 255
            image = require("PIL.Image", "report", "images").fromarray(np.round(level).astype(np.uint8))
            image.thumbnail((longest, longest))
        file = io.BytesIO()
        image.save(file, kind, optimize=True, **({"quality": 80} if kind == "jpeg" else {}))
        return f"data:image/{kind};base64,{base64.b64encode(file.getvalue()).decode('ascii')}"

    @cached_property
    def _range(self) -> tuple[float, float]:
        """The numbers in the user's images that become black and white."""
        pixels: Any = self._source
        if pixels.dtype == np.uint8:
            return 0.0, 255.0
        step = max(1, _BLOCK // max(1, int(np.prod(pixels.shape[1:]))))
        blocks = [pixels[start : start + step] for start in range(0, len(pixels), step)]
        low, high = (float(take([take(block) for block in blocks])) for take in (np.min, np.max))
        if not (np.isfinite(low) and np.isfinite(high)):
            raise ValueError("images contains NaN or infinity: its numbers must be finite.")
        return low, high

    def _open(self, path: Path, row: int, longest: int) -> tuple[Any, str]:
        """Return the user's image file, small, upright and without transparency, and the format to keep it in."""
        pillow = require("PIL.Image", "report", "images")
        try:
            with pillow.open(path, formats=_FORMATS) as image:
                image.draft("RGB", (2 * longest, 2 * longest))  # JPEG files need not be decoded in full size.
                upright = require("PIL.ImageOps", "report", "images").exif_transpose(image)
                upright.thumbnail((longest, longest))
                if upright.mode not in ("L", "RGB") and upright.has_transparency_data:
                    paper = pillow.new("RGBA", upright.size, "white")
                    paper.alpha_composite(upright.convert("RGBA"))
                    upright = paper.convert("RGB")
                elif upright.mode not in ("L", "RGB"):
                    upright = upright.convert("L" if upright.mode == "1" else "RGB")
                return upright, "jpeg" if image.format == "JPEG" else "png"
        except (OSError, ValueError, SyntaxError, pillow.DecompressionBombError) as error:
            raise ValueError(
                f"images: row {row} names {str(path)!r}, which cannot be read as an image ({error}): correct the path, "
                f"convert the file to one of {', '.join(_FORMATS)}, or pass None for points without an image."
            ) from error


def check_images(images: Any, n_points: int) -> Images | None:
    """Check the input ``images``: return the images of all points, or None without. Files are opened on use."""
    if images is None:
        return None
    if not isinstance(images, np.ndarray) or images.dtype.kind in "OUT":
        images = one_for_each(images, "images", n_points)
        if all(is_missing(entry) or isinstance(entry, (str, os.PathLike)) for entry in images):
            return Images([None if is_missing(entry) or not str(entry) else Path(entry) for entry in images])
    try:
        pixels = np.asanyarray(images)
    except ValueError as error:
        raise ValueError("images must all have the same height and width: resize them first.") from error
    if pixels.dtype.kind not in "buif":
        raise TypeError(f"images must be an array of numbers or paths of image files, got dtype {pixels.dtype}.")
    if pixels.ndim not in (3, 4) or (pixels.ndim == 4 and pixels.shape[3] != 3) or 0 in pixels.shape[1:]:
        raise ValueError(
            f"images must have shape (n, height, width) or (n, height, width, 3), got an array of shape {pixels.shape}."
        )
    if len(pixels) != n_points:
        raise ValueError(f"images has {len(pixels)} entries but the result has {n_points} points: pass one for each.")
    return Images(pixels)


def one_for_each(values: Any, name: str, n_points: int) -> list[Any]:
    """Check an input with one entry per point, a list, an array or a series: return a list; errors name the input."""
    if isinstance(values, (str, bytes)):
        raise TypeError(f"{name} must have one entry for each point, got a single {type(values).__name__}.")
    series = nw.from_native(values, series_only=True, pass_through=True)
    entries = series.to_list() if isinstance(series, nw.Series) else list(values)
    if len(entries) != n_points:
        raise ValueError(
            f"{name} has {len(entries)} entries but the result has {n_points} points: pass one for each point."
        )
    return entries


def texts_for_each(values: Any, n_points: int) -> list[str]:
    """Check the input ``texts``: return one string per point, empty where missing (None, NaN)."""
    entries = one_for_each(values, "texts", n_points)
    for row, entry in enumerate(entries):
        if isinstance(entry, str):
            continue
        if not is_missing(entry):
            raise TypeError(
                f"texts must be strings, but texts[{row}] is {entry!r} ({type(entry).__name__}): convert it with str()."
            )
        entries[row] = ""
    return entries


class Features(NamedTuple):
    """The input X of the page, the data that was clustered, as numbers."""

    rows: Rows
    """(n, d) dense or CSR, finite."""
    names: list[str]
    """(d,) one for each column."""
    are_named: bool
    """Whether the names are the user's; otherwise they are x0, x1, ..."""


class Inputs(NamedTuple):
    """All inputs of the page, checked."""

    features: Features | None
    columns: list[Column]
    ids: dict[str, list[Any]]
    """The user's identifiers: lists of n values by name, none of them in ``RESERVED_NAMES``."""
    coordinates: tuple[FloatArray, tuple[str, str]] | None
    """(n, 2) the user's map coordinates, and the names of both axes."""
    images: Images | None
    texts: list[str] | None
    row_numbers: IntArray
    table: Any
    """The user's own table, a narwhals frame, or None."""


def check_inputs(
    result: AffinityResult,
    X: Any = None,
    *,
    data: Any = None,
    ids: Any = None,
    texts: Any = None,
    images: Any = None,
    map: Any = None,
    feature_names: Any = None,
    describe_by: Any = None,
    row_numbers: Any = None,
) -> Inputs:
    """Check all inputs of the page; see :func:`allegiance.report.render_report`."""
    n = len(result)
    table, name = _frame(data), "data"
    if data is not None and table is None:
        raise TypeError(f"data must be a frame of pandas, polars or pyarrow, got {type(data).__name__}.")
    frame = _frame(X) if table is None and feature_names is None else None
    if frame is not None and not all(kind.is_numeric() or kind == nw.Boolean for kind in frame.schema.dtypes()):
        table, name, X = frame, "X", None  # X is the user's own table.
    if table is not None and len(table) != n:
        raise ValueError(f"{name} has {len(table)} rows but the result has {n} points: pass the rows it scored.")
    features = check_features(X, feature_names, n)
    identifiers = _check_ids(ids, result, table, X)
    columns = list(_feature_columns(features, result) if table is None else read_columns(table))
    has_media = texts is not None or images is not None
    if describe_by is None and table is None and features is not None and has_media and not features.are_named:
        describe_by = []  # The numbers of an embedding say nothing to a reader.
    if describe_by is not None:
        if unknown := [name for name in describe_by if name not in {column.name for column in columns}]:
            raise ValueError(f"describe_by names {unknown[0]!r}, which is not a column of {name}.")
        columns = [column._replace(describes=column.name in describe_by) for column in columns]
    return Inputs(
        features,
        [column for column in columns if column.name not in identifiers],
        identifiers,
        check_map(map, n, columns),
        check_images(images, n),
        None if texts is None else texts_for_each(texts, n),
        check_row_numbers(row_numbers, n),
        table,
    )


def _frame(data: Any) -> Any:
    """Return an input as a narwhals frame; None if it is not a frame."""
    frame = nw.from_native(data, pass_through=True, eager_only=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def check_features(X: Any, feature_names: Any, n_points: int) -> Features | None:
    """Check the inputs X and ``feature_names``: return X with a name for each column, or None if there is no X."""
    if X is None:
        if feature_names is not None:
            raise ValueError("feature_names names the columns of X: pass X too, or leave feature_names out.")
        return None
    rows = check_rows(BaseEstimator(), X, reset=True)
    if rows.shape[0] != n_points:
        raise ValueError(f"X has {rows.shape[0]} rows but the result has {n_points} points: pass the rows it scored.")
    if isinstance(feature_names, str):
        raise TypeError("feature_names must be one name for each column of X, got a single string.")
    frame = _frame(X)
    if feature_names is None:
        columns = range(rows.shape[1]) if frame is None else frame.columns
        names = [name if isinstance(name, str) else f"x{name}" for name in columns]
    else:
        names = [str(name) for name in feature_names]
    if len(names) != rows.shape[1]:
        raise ValueError(f"feature_names has {len(names)} entries but X has {rows.shape[1]} columns: name each column.")
    return Features(rows, names, frame is not None or feature_names is not None)


def _feature_columns(features: Features | None, result: AffinityResult) -> Iterator[Column]:
    """Return the input X as columns: all, or the ``MAX_FEATURES`` with the most variance between clusters."""
    if features is None:
        return
    places, rows = np.arange(len(features.names)), features.rows
    if places.size > MAX_FEATURES:
        means = np.stack([np.ravel(rows[result._codes == code].mean(axis=0)) for code in np.unique(result._codes)])
        variance = np.maximum(StandardScaler(with_mean=False).fit(rows).var_, 1e-300)
        places = np.sort(np.argsort(-means.var(axis=0) / variance, kind="stable")[:MAX_FEATURES])
    for place in places.tolist():
        values = np.ravel(dense(rows[:, [place]])).astype(np.float64)
        yield Column(features.names[place], "number", values, is_named=features.are_named)


def check_map(
    map: Any, n_points: int, columns: list[Column] | None = None
) -> tuple[FloatArray, tuple[str, str]] | None:
    """Check the input ``map``: return two coordinates per point and their names; missing values are the median."""
    if map is None:
        return None
    if isinstance(map, list | tuple) and len(map) == 2 and all(isinstance(name, str) for name in map):
        by_name = {column.name: column.values for column in columns or [] if column.kind in ("number", "date")}
        for name in map:
            if name not in by_name:
                raise ValueError(f"map names {name!r}, which is not a column of numbers or dates.")
        values = np.column_stack([by_name[name] for name in map])
        middle = np.nanmedian(values, axis=0) if np.isfinite(values).any(axis=0).all() else np.zeros(2)
        return np.where(np.isfinite(values), values, middle), (map[0], map[1])
    frame = _frame(map)
    try:
        values = np.asarray(map if frame is None else frame.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"map must be (n, 2) numbers or the names of two columns: {error}.") from error
    if values.shape != (n_points, 2):
        raise ValueError(f"map must have shape ({n_points}, 2), two numbers for each point, got {values.shape}.")
    if not np.isfinite(values).all():
        raise ValueError("map contains NaN or infinity: every point needs two finite numbers.")
    return values, ("x", "y") if frame is None else (str(frame.columns[0]), str(frame.columns[1]))


def check_row_numbers(rows: Any, n_points: int) -> IntArray:
    """Check the input ``row_numbers``: return the number (n,) of each point in the user's data, by default from 0."""
    if rows is None:
        return np.arange(n_points)
    numbers: AnyArray = np.asarray(one_for_each(rows, "row_numbers", n_points))
    if numbers.dtype.kind not in "iu" or numbers.min(initial=0) < 0:
        raise ValueError(f"row_numbers must be whole numbers from 0 on, got dtype {numbers.dtype}.")
    if np.unique(numbers).size < numbers.size:
        raise ValueError("row_numbers has the same number twice: each point needs its own.")
    return numbers.astype(np.int64)


def _check_ids(ids: Any, result: AffinityResult, table: Any, X: Any) -> dict[str, list[Any]]:
    """Check the input ``ids``: return identifiers by name, by default the index of the scored frame, the table or X.

    ``ids`` may name columns of the table; a list of n texts may also be the identifiers themselves.
    """
    names = [ids] if isinstance(ids, str) else ids
    if isinstance(names, list) and names and all(isinstance(name, str) for name in names):
        if table is not None and all(name in table.columns for name in names):
            ids = table.select(names)
        elif isinstance(ids, str) or len(ids) != len(result):
            raise ValueError(
                f"ids names the column {names[0]!r}, which data does not have: pass data=, or one id per point."
            )
    if ids is not None:
        frame = _frame(ids)
        columns = {"id": ids} if frame is None else {name: frame[name] for name in frame.columns}
    else:
        index, frame = result._frame_like.index, _frame(X) if table is None else table
        if index is None and frame is not None:
            index = nw.maybe_get_index(frame)
        if index is None or list(index) == list(range(len(index))):
            return {}
        name = getattr(index, "name", None)
        columns = {"id" if name is None else str(name): list(index)}
    return {
        f"{name} (id)" if name in RESERVED_NAMES else str(name): one_for_each(column, "ids", len(result))
        for name, column in columns.items()
    }
