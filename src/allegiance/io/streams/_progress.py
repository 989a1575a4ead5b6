"""How far a stream has come."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple


class StreamProgress(NamedTuple):
    """A look at a running stream."""

    rows: int
    """Rows done, those of an interrupted run included."""
    total: int | None
    """All rows, or None if nobody counted them."""
    rate: float
    """Rows per second of this run."""

    @property
    def seconds_left(self) -> float | None:
        """An estimate, None if it cannot be given."""
        return None if self.total is None or self.rate <= 0 else max(self.total - self.rows, 0) / self.rate

    def __str__(self) -> str:
        total = "" if self.total is None else f" of {self.total:,}"
        left = self.seconds_left
        ending = "" if left is None else f", {_duration(left)} left"
        return f"{self.rows:,}{total} rows, {self.rate:,.0f} rows/s{ending}"


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return (
        f"{whole // 60} min {whole % 60:02d} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    )


class Teller:
    """Tells somebody about the progress of a stream after each batch.

    Parameters
    ----------
    progress
        A function to call with a :class:`StreamProgress`; True for a line on standard error; False for nobody.
    total
        All rows, if known.
    done
        Rows that an interrupted run left done.
    """

    def __init__(self, progress: bool | Callable[[StreamProgress], Any], total: int | None, done: int = 0) -> None:
        self._tell = progress if callable(progress) else _print_line if progress else None
        self._ends_line = progress is True
        self._total, self._before, self._rows = total, done, done
        self._started = time.perf_counter()

    def advance(self, rows: int) -> None:
        """Count ``rows`` more as done."""
        self._rows += rows
        if self._tell is not None:
            elapsed = max(time.perf_counter() - self._started, 1e-9)
            self._tell(StreamProgress(self._rows, self._total, (self._rows - self._before) / elapsed))

    def end(self) -> None:
        """Leave the line, if one was printed."""
        if self._ends_line and self._rows > self._before:
            print(file=sys.stderr)


def _print_line(progress: StreamProgress) -> None:
    print(f"\r{progress!s:<70}", end="", file=sys.stderr, flush=True)
