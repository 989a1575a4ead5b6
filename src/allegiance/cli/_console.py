"""What a person sees: a table of clusters, the points to look at first, progress."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from ._options import RunOptions

if TYPE_CHECKING:
    from rich.console import Console


def shows_progress(run: RunOptions) -> bool:
    """Return whether there is a terminal to draw a progress bar on, and the user did not turn it off."""
    return sys.stderr.isatty() and not (run.quiet or run.no_progress)


@contextmanager
def working(run: RunOptions, what: str) -> Iterator[None]:
    """Show on a terminal that something goes on whose end is not known.

    Parameters
    ----------
    run
        Whether that is wanted.
    what
        What is being done.
    """
    if not shows_progress(run):
        yield
        return
    with console(err=True).status(what):
        yield


def note(run: RunOptions, text: str) -> None:
    """Say something on standard error, unless told to be quiet."""
    if not run.quiet:
        click.echo(f"Note: {text}", err=True)


def say(run: RunOptions, text: str) -> None:
    """Report what was done, on standard error, unless told to be quiet."""
    if not run.quiet:
        click.echo(text, err=True)


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object on standard output."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, default=plain))


def plain(value: Any) -> Any:
    """Return a NumPy or Arrow value as JSON knows it."""
    return value.item() if hasattr(value, "item") else str(value)


def console(*, err: bool) -> Console:
    """Return a console that writes plain text into pipes, and no colour if NO_COLOR is set."""
    from rich.console import Console

    stream = sys.stderr if err else sys.stdout
    # Wide enough in a pipe for every column: lines are not wrapped there.
    width = None if stream.isatty() else 120
    return Console(file=stream, width=width, highlight=False, soft_wrap=False)


def print_line(out: Console, text: str, *, bold: bool = False) -> None:
    """Print a sentence: wrapped between words on a terminal, on one line in a pipe.

    Parameters
    ----------
    out
        The console.
    text
        What to print.
    bold
        Whether it is the first thing to read.
    """
    out.print(text, style="bold" if bold else None, markup=False, soft_wrap=not out.is_terminal)


def print_table(
    out: Console, title: str, header: Sequence[str], rows: Sequence[Sequence[Any]], *, left: Sequence[str] = ()
) -> None:
    """Print a small table, numbers to the right.

    Parameters
    ----------
    out
        The console.
    title
        What the table shows.
    header
        Names of the columns.
    rows
        The cells.
    left
        Names of the columns that hold words.
    """
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in header:
        table.add_column(escape(name), justify="left" if name in left else "right", overflow="fold")
    for row in rows:
        table.add_row(*(escape(cell if isinstance(cell, str) else str(cell)) for cell in row))
    out.print(table)
