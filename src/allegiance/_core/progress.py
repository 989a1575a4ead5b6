"""Progress of long work, on standard error or passed to a callback."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple, TypeAlias

#: Seconds between two lines if there is no terminal, as in a job log.
_LOG_SECONDS = 30.0
#: Number of running jobs that show progress.
_n_watched = 0

#: A function to call with the number of items just finished.
Advance = Callable[[int], None]
#: The ``verbose`` argument: whether to show progress, or a function that is called with :class:`Progress`.
Verbose: TypeAlias = "bool | Callable[[Progress], Any]"


class Progress(NamedTuple):
    """A snapshot of running work."""

    rows: int
    """Finished rows, or other items."""
    total: int | None
    """All rows, or None if their number is unknown."""
    rate: float
    """Rows per second."""
    unit: str = "rows"

    @property
    def seconds_left(self) -> float | None:
        """An estimate; None if there is none."""
        return None if self.total is None or self.rate <= 0 else max(self.total - self.rows, 0) / self.rate

    def __str__(self) -> str:
        from tqdm import tqdm

        total = "" if self.total is None else f" of {self.total:,}"
        left = self.seconds_left
        ending = f", {tqdm.format_interval(left)} left" if left else ""
        rate = f"{self.rate:,.0f}" if self.rate >= 10 else f"{self.rate:.2g}"
        return f"{self.rows:,}{total} {self.unit}, {rate} {self.unit}/s{ending}"


@contextmanager
def progress(total: int | None, what: str, show: Verbose, *, unit: str = "points") -> Iterator[Advance]:
    """Yield a function to call with the number of items just finished.

    ``show`` turns progress on. A function is called with a :class:`Progress` each time; otherwise terminals and
    notebooks show a tqdm bar, and other outputs a line every 30 s. One line at the end gives the total.
    """
    if not show or total == 0:
        yield lambda _: None
        return
    started, count = time.perf_counter(), 0
    last_line = started
    with ExitStack() as stack:
        bar: Any = None
        if not callable(show):
            stack.enter_context(show_remarks())
            if sys.stderr.isatty() or in_notebook():
                from tqdm.auto import tqdm

                bar = stack.enter_context(tqdm(total=total, desc=what, unit=f" {unit}", leave=False))

        def advance(items: int) -> None:
            nonlocal count, last_line
            count += items
            now = time.perf_counter()
            if bar is not None:
                bar.update(items)
            elif callable(show) or now - last_line >= _LOG_SECONDS:
                snapshot = Progress(count, total, count / max(now - started, 1e-9), unit)
                if callable(show):
                    show(snapshot)
                else:
                    last_line = now
                    print(f"{what}: {snapshot}", file=sys.stderr, flush=True)

        yield advance
    if not callable(show):
        print(f"{what}: {count:,} {unit} in {time.perf_counter() - started:.2f} s", file=sys.stderr)


def remark(text: str) -> bool:
    """Print a remark on long work if progress is shown, and return whether it is."""
    if _n_watched:
        print(text, file=sys.stderr, flush=True)
    return _n_watched > 0


@contextmanager
def show_remarks() -> Iterator[None]:
    """Print the remarks on long work made inside the block."""
    global _n_watched  # noqa: PLW0603
    _n_watched += 1
    try:
        yield
    finally:
        _n_watched -= 1


def in_notebook() -> bool:
    """Return whether progress is shown in a Jupyter notebook, without importing IPython."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"
