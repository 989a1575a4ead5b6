"""Progress of long work, on standard error or passed to a callback."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeAlias

#: Seconds between two lines where there is no terminal, as in the log of a nightly job.
_LOG_SECONDS = 30.0
#: How many pieces of work a user watches at this moment.
_watched = 0

#: What to call with the number of items just finished.
Advance = Callable[[int], None]
#: What ``verbose`` takes everywhere: whether to show progress, or a function that is called with :class:`Progress`.
Verbose: TypeAlias = "bool | Callable[[Progress], Any]"


class Progress(NamedTuple):
    """A look at running work."""

    rows: int
    """Rows, or other items, that are done; those of an interrupted run included."""
    total: int | None
    """All of them, or None if their number is unknown."""
    rate: float
    """How many were done in a second, in this run."""
    unit: str = "rows"

    @property
    def seconds_left(self) -> float | None:
        """An estimate, None if it cannot be given."""
        return None if self.total is None or self.rate <= 0 else max(self.total - self.rows, 0) / self.rate

    def __str__(self) -> str:
        total = "" if self.total is None else f" of {self.total:,}"
        left = self.seconds_left
        ending = "" if left is None else f", {_duration(left)} left"
        return f"{self.rows:,}{total} {self.unit}, {self.rate:,.0f} {self.unit}/s{ending}"


@contextmanager
def progress(total: int | None, what: str, show: Verbose, *, unit: str = "points", done: int = 0) -> Iterator[Advance]:
    """Yield a function to be called with the number of items just finished.

    ``show`` tells whether to show anything, or is called with a :class:`Progress` each time instead. On a terminal and
    in a notebook there is a bar of tqdm, or without it a line that is rewritten; elsewhere a line at most every 30 s.
    At the end one line says what was done. ``done`` items are those of an earlier, interrupted run.
    """
    if not show or total == 0:
        yield lambda _: None
        return
    started, count = time.perf_counter(), done
    with _display(total, what, show, unit, done) as draw, nullcontext() if callable(show) else watched():

        def advance(items: int) -> None:
            nonlocal count
            count += items
            elapsed = max(time.perf_counter() - started, 1e-9)
            draw(Progress(count, total, (count - done) / elapsed, unit))

        yield advance
    if not callable(show):
        print(f"{what}: {count - done:,} {unit} in {time.perf_counter() - started:.2f} s", file=sys.stderr)


@contextmanager
def _display(total: int | None, what: str, show: Verbose, unit: str, done: int) -> Iterator[Callable[[Progress], Any]]:
    """Yield what shows a look at the work."""
    if callable(show):
        yield show
    elif not (sys.stderr.isatty() or in_notebook()):
        yield _log(what)
    elif find_spec("tqdm") is not None:
        tqdm = import_module("tqdm.auto").tqdm
        with tqdm(total=total, desc=what, unit=f" {unit}", initial=done, leave=False) as bar:
            yield lambda look: bar.update(look.rows - bar.n)
    else:
        try:
            yield lambda look: print(f"\r{f'{what}: {look}':<78}", end="", file=sys.stderr, flush=True)
        finally:
            # What comes next is written over an empty line.
            print(f"\r{'':<78}\r", end="", file=sys.stderr, flush=True)


def _log(what: str) -> Callable[[Progress], Any]:
    """Return what writes a line if none was written for a while."""
    written = time.perf_counter()

    def write(look: Progress) -> None:
        nonlocal written
        if time.perf_counter() - written >= _LOG_SECONDS:
            written = time.perf_counter()
            print(f"{what}: {look}", file=sys.stderr, flush=True)

    return write


def remark(text: str) -> bool:
    """Tell a user who watches some work why it takes longer this time; return whether anyone watches."""
    if _watched:
        print(text, file=sys.stderr, flush=True)
    return _watched > 0


@contextmanager
def watched() -> Iterator[None]:
    """Show the remarks on work that is done meanwhile."""
    global _watched  # noqa: PLW0603
    _watched += 1
    try:
        yield
    finally:
        _watched -= 1


def in_notebook() -> bool:
    """Tell whether this runs in a Jupyter notebook, without importing what only notebooks have."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
