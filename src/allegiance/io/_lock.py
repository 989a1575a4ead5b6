"""Exclusive locks on files, which end with the process that holds them."""

from __future__ import annotations

import os
from contextlib import suppress

try:
    import fcntl
except ImportError:  # Windows has no locks of this kind.
    fcntl = None  # type: ignore[assignment]

#: Descriptors with a lock. A forked child closes them: otherwise it would hold the locks after the parent was killed.
_held: set[int] = set()


def lock(descriptor: int) -> bool | None:
    """Lock an open file for this descriptor alone, without waiting.

    Returns
    -------
    bool or None
        True if the lock is held now, False if it is held elsewhere, None where files cannot be locked.
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    _held.add(descriptor)
    return True


def close_locked(descriptor: int) -> None:
    """Close a descriptor, and with it end its lock."""
    _held.discard(descriptor)
    os.close(descriptor)


def _close_in_child() -> None:
    for descriptor in _held:
        with suppress(OSError):
            os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)
