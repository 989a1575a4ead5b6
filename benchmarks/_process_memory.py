"""The memory of this process, in bytes, as the system accounts for it."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any


def resident() -> int:
    """Return the memory in use."""
    return _status("VmRSS") or _most_used()


def peak() -> int:
    """Return the most memory in use so far, or since the last ``reset_peak``."""
    return _status("VmHWM") or _most_used()


def reserved() -> int:
    """Return the size of the address space, 0 where the system does not tell."""
    return _status("VmSize")


def reset_peak() -> None:
    """Forget the peak so far. Where the system cannot, it stays, which can only make peaks larger."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


@contextmanager
def limit_group(limit: int) -> Iterator[Callable[[], Any] | None]:
    """Yield a function by which a new process enters a cgroup with a limit in bytes; None where that is not allowed.

    The group is inside that of this process. A process that needs more is killed.
    """
    for root, name, controller in (
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory"),
        ("/sys/fs/cgroup", "memory.max", ""),
    ):
        group = Path(root, _own_group(controller), f"allegiance-{os.getpid()}")
        try:
            group.mkdir()
            (group / name).write_text(str(limit))
        except OSError:
            with suppress(OSError):
                group.rmdir()
            continue
        try:
            yield partial((group / "cgroup.procs").write_text, "0")
        finally:
            group.rmdir()
        return
    yield None


def _own_group(controller: str) -> str:
    """Return the cgroup of this process for a controller, empty for version 2, relative to the root."""
    try:
        lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    except OSError:
        return ""
    return next((path.lstrip("/") for _, names, path in lines if controller in names.split(",")), "")


def _status(field: str) -> int:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":")), 0)


def _most_used() -> int:
    """Return the peak that Linux would count from the process that started this one: there it is the last resort."""
    import resource  # Windows has none, and its tests import this module

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
