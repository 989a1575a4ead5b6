"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ._error import TableError


@contextmanager
def replacing(path: str | os.PathLike[str], *, force: bool = False) -> Iterator[str]:
    """Yield the name of a temporary file in the same folder, which gets the real name if the block ends well.

    If an error or an interruption ends the block, the temporary file is removed, and what was there before stays.

    Parameters
    ----------
    path
        The file.
    force
        Whether it may exist.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from allegiance.io.tables import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "note.txt"
    ...     with replacing(path) as temporary:
    ...         _ = Path(temporary).write_text("done")
    ...         there_already = path.exists()
    ...     print(there_already, path.read_text())
    False done
    """
    check_writable(path, force=force)
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        yield str(temporary)
        if not force:
            refuse_existing(path)
        os.replace(temporary, target)
    finally:
        # What was renamed is gone by now; anything else must not stay.
        with suppress(FileNotFoundError):
            temporary.unlink()


def check_writable(path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Raise unless a file of this name can be written, so that nobody computes for hours in vain.

    Parameters
    ----------
    path
        The file.
    force
        Whether it may exist.
    """
    path = os.fspath(path)
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise TableError(f"{path} is a folder: name a file.")
    if not os.path.isdir(folder):
        raise TableError(f"{path} cannot be written: the folder {os.path.dirname(path) or folder} does not exist.")
    if not os.access(folder, os.W_OK):
        raise TableError(f"{path} cannot be written: permission denied in its folder.")
    if os.path.exists(path) and not os.path.isfile(path):
        raise TableError(f"{path} is not a file that could be replaced: use - for standard output.")
    if not force:
        refuse_existing(path)


def refuse_existing(path: str | os.PathLike[str]) -> None:
    """Raise if the file exists."""
    if os.path.exists(path):
        raise TableError(f"{os.fspath(path)} exists already: choose another name, or use --force (force=True).")
