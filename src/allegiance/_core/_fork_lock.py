"""Locks that a forked process can still take."""

from __future__ import annotations

import os
import threading
from types import TracebackType
from weakref import WeakSet


class ForkLock:
    """A lock that is free in a forked process, whichever thread of its parent held it.

    Of the threads only the one that forks goes on in the child, so a lock that another one held would never be
    released there. What it guards must therefore be complete at every moment: put a value in its place by one
    assignment once it is made, never change it step by step. A pickle holds a free lock.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _alive.add(self)

    @property
    def taken(self) -> bool:
        """Whether a thread holds it at this moment."""
        return self._lock.locked()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[ForkLock], tuple[()]]:
        return ForkLock, ()


_alive: WeakSet[ForkLock] = WeakSet()


def _renew() -> None:
    for lock in _alive:
        lock._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
