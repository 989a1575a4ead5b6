"""``allegiance info``: what is installed, and what is in a table."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import click

from ._console import console, print_json, print_table
from ._options import INPUT_FORMATS, RunOptions, run_options

if TYPE_CHECKING:
    from allegiance.io._old_tables import Source

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "narwhals", "threadpoolctl")
#: What each extra of pyproject.toml adds, without the extras that it includes.
EXTRAS = {
    "plot": ("matplotlib",),
    "pandas": ("pandas",),
    "transport": ("POT",),
    "report": ("bokeh", "jinja2", "pillow"),
    "explorer": ("tornado",),
    "io": ("pyarrow",),
    "excel": ("python-calamine",),
    "cli": ("click", "rich"),
    "anndata": ("anndata",),
    "scanpy": ("scanpy", "igraph"),
    "dask": ("dask",),
}

EPILOG = """\b
Examples:
  allegiance info
  allegiance info flowers.csv
  allegiance info flowers.csv --json
"""


@click.command(epilog=EPILOG, short_help="Show versions, or the columns of a table.")
@click.argument("data", nargs=-1)
@click.option(
    "--input-format",
    type=click.Choice(INPUT_FORMATS),
    help="Format of DATA, if the ending of its name does not say.",
)
@run_options
def info(data: tuple[str, ...], input_format: str | None, run: RunOptions) -> None:
    """Show versions and extras, or the columns, types and missing values of DATA."""
    if data:
        _show_table(_opened(data, input_format), run)
    else:
        _show_installation(run)


def _opened(data: tuple[str, ...], input_format: str | None) -> Source:
    """Open a table in which codes with leading zeros, such as 00100000, are not numbers."""
    from pyarrow import types

    from allegiance.io._old_tables import open_source

    source = open_source(data, format=input_format)
    whole = [field.name for field in source.schema if types.is_integer(field.type)]
    # What comes through a pipe can be read only once.
    return open_source(data, format=input_format, codes=whole) if whole and source.files else source


def _show_installation(run: RunOptions) -> None:
    from allegiance import __version__

    libraries = {name: _version(name) for name in LIBRARIES}
    extras = {extra: {name: _version(name) for name in names} for extra, names in EXTRAS.items()}
    cache = _kernel_cache()
    if run.json:
        print_json(
            {
                "allegiance": __version__,
                "python": platform.python_version(),
                "libraries": libraries,
                "extras": extras,
                "kernel_cache": cache,
            }
        )
        return
    out = console(err=False)
    rows = [("", name, found) for name, found in [("python", platform.python_version()), *libraries.items()]]
    rows += [(extra, name, found) for extra, names in extras.items() for name, found in names.items()]
    shown = [(extra, name, found or f"missing: pip install 'allegiance[{extra}]'") for extra, name, found in rows]
    print_table(
        out, f"allegiance {__version__}", ("extra", "library", "version"), shown, left=("extra", "library", "version")
    )
    out.print(f"compiled kernels: {cache}", soft_wrap=True)


def _kernel_cache() -> str:
    if os.environ.get("ALLEGIANCE_CACHE", "1") == "0":
        return "off (ALLEGIANCE_CACHE=0)"
    from allegiance._kernels.jit import cache_folder

    return cache_folder() or "not kept: no folder can be written to"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _show_table(source: Source, run: RunOptions) -> None:
    columns, rows = _columns_of(source)
    if run.json:
        print_json({"data": source.where, "rows": rows, "columns": columns})
        return
    header = ("column", "type", "missing", "min", "max", "example")
    shown = [[_shown(column[name]) for name in header] for column in columns]
    title = f"{source.where}: {rows:,} rows, {len(columns)} columns"
    print_table(console(err=False), title, header, shown, left=("column", "type", "example"))


def _columns_of(source: Source) -> tuple[list[dict[str, Any]], int]:
    """Look at every column in one pass."""
    import pyarrow.compute as compute
    from pyarrow import types

    found: dict[str, dict[str, Any]] = {
        field.name: {
            "column": field.name,
            "type": str(field.type),
            "missing": 0,
            "min": None,
            "max": None,
            "example": None,
        }
        for field in source.schema
    }
    rows = 0
    for batch in source.batches():
        rows += batch.num_rows
        for name, column in zip(source.names, batch.columns, strict=True):
            entry = found[name]
            valid = column.drop_null()
            if types.is_floating(column.type):
                valid = valid.filter(compute.invert(compute.is_nan(valid)))
            elif types.is_string(column.type):
                valid = valid.filter(compute.not_equal(valid, ""))
            entry["missing"] += len(column) - len(valid)
            if len(valid) and entry["example"] is None:
                entry["example"] = valid[0].as_py()
            if len(valid) and (types.is_integer(column.type) or types.is_floating(column.type)):
                low, high = compute.min_max(valid).as_py().values()
                entry["min"] = low if entry["min"] is None else min(low, entry["min"])
                entry["max"] = high if entry["max"] is None else max(high, entry["max"])
    return list(found.values()), rows


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
