"""Progress of long work, on standard error or passed to a callback."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeAlias

#: How many pieces of work a user watches at this moment.
_shown = 0

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
def progress(
    total: int | None,
    what: str,
    show: Verbose,
    *,
    unit: str = "points",
    done: int = 0,
) -> Iterator[Advance]:
    """Yield a function to be called with the number of items just finished.

    On a terminal there is a bar: that of rich, if it is installed, or else a line that is written again and again; in a
    notebook that of tqdm or rich. At the end, and elsewhere only then, one line says what was done.

    Parameters
    ----------
    total
        The number of items, None if it is unknown.
    what
        What is being done.
    show
        Whether to show anything; or a function, which is called with a :class:`Progress` each time instead.
    unit
        What the items are.
    done
        How many an earlier, interrupted run did.
    """
    if not show or total == 0:
        yield lambda _: None
        return
    started, count = time.perf_counter(), done

    def look() -> Progress:
        elapsed = max(time.perf_counter() - started, 1e-9)
        return Progress(count, total, (count - done) / elapsed, unit)

    with _bar(total, what, show, unit, done) as draw, nullcontext() if callable(show) else watched():

        def advance(items: int) -> None:
            nonlocal count
            count += items
            draw(look())

        yield advance
    if not callable(show):
        print(f"{what}: {count - done:,} {unit} in {time.perf_counter() - started:.2f} s", file=sys.stderr)


def remark(text: str) -> bool:
    """Tell a user who watches the progress of some work why it takes longer this time; return whether any is shown.

    Parameters
    ----------
    text
        One sentence.
    """
    if _shown:
        print(text, file=sys.stderr, flush=True)
    return _shown > 0


@contextmanager
def watched() -> Iterator[None]:
    """Work done meanwhile is watched by a user: remarks are shown."""
    global _shown  # noqa: PLW0603
    _shown += 1
    try:
        yield
    finally:
        _shown -= 1


def _bar(total: int | None, what: str, show: Verbose, unit: str, done: int) -> Any:
    """Return a context whose value takes a look at the work, and shows it as well as it can be shown here."""
    if callable(show):
        return _told(show)
    if total is not None and _in_marimo():
        return _marimo_bar(total, what, done)
    if in_notebook():
        if _installed("tqdm") and _installed("ipywidgets"):
            return _tqdm_bar(total, what, unit, done)
        return _rich_bar(total, what, unit, done) if _installed("rich") else _line(what)
    if not sys.stderr.isatty():
        return _told(lambda _: None)
    return _rich_bar(total, what, unit, done) if _installed("rich") else _line(what)


@contextmanager
def _told(show: Callable[[Progress], Any]) -> Iterator[Callable[[Progress], Any]]:
    yield show


@contextmanager
def _rich_bar(total: int | None, what: str, unit: str, done: int) -> Iterator[Callable[[Progress], Any]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    speed = TextColumn("{task.fields[speed]}")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), speed, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(what, total=total, completed=done, speed="")
        yield lambda look: bars.update(task, completed=look.rows, speed=f"{look.rate:,.0f} {unit}/s")


@contextmanager
def _tqdm_bar(total: int | None, what: str, unit: str, done: int) -> Iterator[Callable[[Progress], Any]]:
    tqdm = import_module("tqdm.auto").tqdm
    with tqdm(total=total, desc=what, unit=f" {unit}", initial=done, leave=False) as bar:
        yield lambda look: bar.update(look.rows - bar.n)


@contextmanager
def _marimo_bar(total: int, what: str, done: int) -> Iterator[Callable[[Progress], Any]]:
    seen = done
    with sys.modules["marimo"].status.progress_bar(total=total, title=what, remove_on_exit=True) as bar:

        def draw(look: Progress) -> None:
            nonlocal seen
            bar.update(look.rows - seen, subtitle=str(look))
            seen = look.rows

        yield draw


@contextmanager
def _line(what: str) -> Iterator[Callable[[Progress], Any]]:
    try:
        yield lambda look: print(f"\r{f'{what}: {look}':<78}", end="", file=sys.stderr, flush=True)
    finally:
        # What comes next is written over an empty line.
        print(f"\r{'':<78}\r", end="", file=sys.stderr, flush=True)


def in_notebook() -> bool:
    """Tell whether this runs in a Jupyter notebook, without importing what only notebooks have."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def _in_marimo() -> bool:
    """Tell whether this runs in a marimo notebook, without importing it."""
    return bool(getattr(sys.modules.get("marimo"), "running_in_notebook", lambda: False)())


def _installed(library: str) -> bool:
    return library in sys.modules or find_spec(library) is not None


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
