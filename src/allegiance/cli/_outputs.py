"""What is written: checked before the work, complete after it, and saying where it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from ._console import print_json, say
from ._options import RunOptions, bundled
from ._program import Program

if TYPE_CHECKING:
    import pyarrow as pa

    from allegiance.io._old_tables import Sink

    from ._points import Opened


@dataclass(frozen=True)
class OutputOptions:
    """The table to write."""

    output: str | None
    output_format: str | None
    escape_formulas: bool


output_options = bundled(
    "out",
    OutputOptions,
    [
        click.option("-o", "--output", metavar="OUT", help="Table to write; - for CSV on standard output."),
        click.option(
            "--format",
            "output_format",
            type=click.Choice(["csv", "tsv", "parquet", "arrow", "jsonl", "json"]),
            help="Format of OUT, if the ending of its name does not say.",
        ),
        click.option(
            "--escape-formulas",
            is_flag=True,
            help="Put an apostrophe before texts in CSV and TSV that a spreadsheet would run as formulas.",
        ),
    ],
)


def provenance() -> dict[str, Any]:
    """Return what every result says about where it comes from: version, command and parameters."""
    from allegiance import __version__

    context = click.get_current_context()
    root = context.find_root().command
    given = {
        name: value for name, value in context.params.items() if not (value is None or value is False or value == ())
    }
    command_line = root.command_line if isinstance(root, Program) else ""
    return {"version": __version__, "command": command_line, "parameters": given}


def open_output(out: OutputOptions, run: RunOptions) -> Sink | None:
    """Return the sink of the output, after checking that it can be written; None if there is no output."""
    from allegiance.io._old_tables import open_sink

    if out.output is None:
        return None
    if run.json and out.output == "-":
        raise click.UsageError("--json and -o - both write to standard output: name a file with -o.")
    return open_sink(
        out.output,
        force=run.force,
        format=out.output_format,
        metadata=provenance(),
        escape_formulas=out.escape_formulas,
    )


def check_outputs(opened: Opened, sink: Sink | None, *others: str | None, inputs: Sequence[str | None] = ()) -> None:
    """Raise if an output would replace a file it is made from, or cannot hold the columns that identify rows.

    Parameters
    ----------
    opened
        The table that is read.
    sink
        The table to write, or None.
    others
        Paths of other files to write; None for those that were not asked for.
    inputs
        Paths of other files that are read; None for those that are not.
    """
    from allegiance.io import refuse_inputs

    read = [*opened.source.files, *(path for path in inputs if path is not None)]
    for path in (None if sink is None else sink.path, *others):
        if path is not None:
            refuse_inputs(path, read)
    if sink is not None:
        schema = opened.source.schema
        sink.check(schema.field(name) for name in opened.ids)


def write_output(sink: Sink | None, table: pa.Table) -> None:
    """Write a table, if anywhere."""
    if sink is not None:
        with sink:
            sink.write(table)


def say_written(path: str | None, run: RunOptions) -> None:
    """Name a file that was written, if there is one."""
    if path not in (None, "-"):
        say(run, f"Wrote {path}")


def behind_ids(ids: pa.Table, columns: dict[str, Any]) -> pa.Table:
    """Return columns behind those that identify the rows.

    Parameters
    ----------
    ids
        What identifies the rows.
    columns
        (n,) arrays by name.
    """
    import pyarrow as pa

    from allegiance.io._old_tables import TableError

    clash = set(ids.column_names) & set(columns)
    if clash:
        raise TableError(f"--id {min(clash)} has the name of a column of the result: rename it in the data.")
    return pa.table({name: ids.column(name) for name in ids.column_names} | columns)


def print_result(values: dict[str, Any], **files: str | None) -> None:
    """Print one JSON object: where it comes from, the result, the files written."""
    print_json({**provenance(), **values, **files})
