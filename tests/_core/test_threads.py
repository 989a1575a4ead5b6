"""Rows in blocks on threads: all of them once, and errors reach the caller."""

import threading
from typing import Any

import numpy as np
import pytest

from allegiance._core.parallel import Threads, for_row_blocks


@pytest.mark.parametrize("n_rows", [0, 1, 63, 130, 1000])
@pytest.mark.parametrize("settings", [{}, {"least": 1}, {"multiple": 48}, {"blocks_per_thread": 1}, {"products": 5}])
@pytest.mark.parametrize("number", [1, 2, 7])
def test_every_row_once(n_rows: int, settings: dict[str, Any], number: int) -> None:
    done = np.zeros(n_rows, np.int64)
    starts = []

    def work(rows: slice) -> None:
        starts.append(rows.start)
        done[rows] += 1

    for_row_blocks(work, n_rows, number, **settings)
    with Threads(number) as threads:
        for_row_blocks(work, n_rows, threads, **settings)
    assert (done == 2).all()
    assert all(start % settings.get("multiple", 1) == 0 for start in starts)


def test_threads_are_shared_by_calls() -> None:
    meeting, met = threading.Barrier(2), set()

    def work(rows: slice) -> None:
        meeting.wait(timeout=60)  # both threads are at work, so both have been started
        met.add(threading.get_ident())

    with Threads(2) as threads:
        for _ in range(5):
            for_row_blocks(work, 2, threads, least=1)
        assert len(met) == 2
        assert threading.get_ident() not in met
    assert not met & {thread.ident for thread in threading.enumerate()}


def test_an_error_reaches_the_caller() -> None:
    def work(rows: slice) -> None:
        if rows.start:
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        for_row_blocks(work, 1000, 2)
