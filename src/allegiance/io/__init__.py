"""Files, streams and clusters of machines; here, how files are written and what their errors say."""

from ._atomic import NO_ROOM, check_writable, refuse_inputs, replacing, write_whole
from ._errors import REMEDIES, OutputExistsError, RemediedError, TableError
from ._lock import close_locked, lock

__all__ = [
    "NO_ROOM",
    "REMEDIES",
    "OutputExistsError",
    "RemediedError",
    "TableError",
    "check_writable",
    "close_locked",
    "lock",
    "refuse_inputs",
    "replacing",
    "write_whole",
]
