"""A progress line on standard error, when asked for."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(total: int, what: str, show: bool) -> Iterator[Callable[[int], None]]:
    """Yield a function to be called with the number of items just finished.

    On a terminal the line is rewritten in place; elsewhere only the finished line is printed.
    """
    if not show or total == 0:
        yield lambda _: None
        return
    start = time.perf_counter()
    done = 0
    live = sys.stderr.isatty()

    def advance(items: int) -> None:
        nonlocal done
        done += items
        if live:
            elapsed = time.perf_counter() - start
            left = elapsed * (total - done) / max(done, 1)
            bar = "#" * (24 * done // total)
            print(
                f"\r{what} [{bar:<24}] {done}/{total}, {left:.0f} s left ",
                end="",
                file=sys.stderr,
                flush=True,
            )

    yield advance
    end = "\r" if live else ""
    print(
        f"{end}{what}: {done} points in {time.perf_counter() - start:.2f} s{' ' * 24}".rstrip(),
        file=sys.stderr,
    )
