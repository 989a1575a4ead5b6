"""Files, tables, streams and clusters of machines; here, how files are written and the error they raise."""

from .files import NO_ROOM, TableError, check_writable, close_locked, lock, refuse_inputs, replacing, write_whole

__all__ = [
    "NO_ROOM",
    "TableError",
    "check_writable",
    "close_locked",
    "lock",
    "refuse_inputs",
    "replacing",
    "write_whole",
]
