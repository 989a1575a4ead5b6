"""Files that appear complete or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ._errors import OutputExistsError, TableError
from ._lock import close_locked, lock

#: What a full disk, a used-up quota or a limit on the size of files is called by the system.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: Bytes of a file's name that its temporary file repeats: names have 255 at most.
_REPEATED = 160


@contextmanager
def replacing(path: str | os.PathLike[str], *, force: bool = False, tidy: bool = True) -> Iterator[str]:
    """Yield the name of an empty temporary file in the same folder, which gets the real name if the block ends well.

    It is on the disk by then, whatever happens to the machine afterwards. If an error or an interruption ends the
    block, the temporary file is removed, and what was there before stays. What a killed process left behind is removed
    when the same file is written next. Any number of threads and processes may write one file: the last one wins.

    Parameters
    ----------
    path
        The file. A link is followed.
    force
        Whether it may exist. Its permissions are kept then; otherwise they are those of a new file.
    tidy
        Whether to look through the folder for what killed processes left behind.

    Raises
    ------
    OSError
        If the file cannot be written. If the disk is full, ``filename`` is the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from allegiance.io import replacing
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
    if tidy:
        remove_leftovers(target)
    with _named(path):
        temporary, descriptor = _create(target)
    try:
        with _named(path):
            yield str(temporary)
            os.fsync(descriptor)
            if not force:
                refuse_existing(path)
            with suppress(FileNotFoundError):
                os.chmod(temporary, target.stat().st_mode & 0o7777)
            if os.name == "nt":  # Windows does not rename open files.
                close_locked(descriptor)
                descriptor = -1
            os.replace(temporary, target)
            _sync_folder(target.parent)
    finally:
        # What was renamed is gone by now; anything else must not stay.
        with suppress(FileNotFoundError):
            temporary.unlink()
        if descriptor >= 0:
            close_locked(descriptor)


def _create(target: Path) -> tuple[Path, int]:
    """Create a temporary file for a file, locked for as long as it is being written; return its path and descriptor."""
    while True:
        unique = f"{os.getpid()}-{threading.get_ident():x}-{secrets.token_hex(4)}"
        temporary = target.with_name(f"{_prefix(target)}{unique}.part")
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        # Before it was locked, another writer may have taken it for a leftover.
        if lock(descriptor) is not False and temporary.exists():
            return temporary, descriptor
        close_locked(descriptor)


def write_whole(path: str | os.PathLike[str], content: bytes | memoryview, *, tidy: bool = True) -> None:
    """Write a file completely or not at all; an existing one is replaced.

    Parameters
    ----------
    path
        The file.
    content
        Its bytes.
    tidy
        As in :func:`replacing`.
    """
    with replacing(path, force=True, tidy=tidy) as temporary, open(temporary, "wb") as file:
        file.write(content)


def check_writable(path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Raise unless a file of this name can be written, so that failure is known before the work.

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
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    if not os.path.isdir(folder):
        named = os.path.dirname(path) or folder
        raise FileNotFoundError(f"{path} cannot be written: the folder {named} does not exist. Create it first.")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{path} cannot be written: permission denied in its folder.")
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(f"{path} is not a file that could be replaced.")
    if not force:
        refuse_existing(path)


def refuse_existing(path: str | os.PathLike[str]) -> None:
    """Raise if the file exists."""
    if os.path.exists(path):
        raise OutputExistsError(f"{os.fspath(path)} exists already.", "force")


def refuse_inputs(path: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Raise if an output is one of the files it is made from, which it would replace.

    Parameters
    ----------
    path
        The output.
    inputs
        The files that are read.
    """
    for source in inputs:
        with suppress(FileNotFoundError):
            if os.path.samefile(path, source):
                raise TableError(f"{os.fspath(path)} is the input, which the output would replace: name another file.")


def remove_leftovers(target: Path) -> None:
    """Remove temporary files of :func:`replacing` for this file whose writers are gone."""
    prefix = _prefix(target)
    for name in os.listdir(target.parent):
        if name.startswith(prefix) and name.endswith(".part"):
            # Another process may have removed it a moment ago, or it may not be ours to open.
            with suppress(OSError):
                descriptor = os.open(target.parent / name, os.O_RDWR)
                try:
                    if lock(descriptor):
                        os.unlink(target.parent / name)
                finally:
                    close_locked(descriptor)


def _prefix(target: Path) -> str:
    """Return how the names of temporary files for a file begin."""
    return f".{os.fsdecode(os.fsencode(target.name)[:_REPEATED])}.allegiance-"


@contextmanager
def _named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let the error of a full disk name the file that could not be written."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        reason = f"{os.strerror(error.errno)}: the file could not be written completely, and is as it was before"
        raise OSError(error.errno, reason, os.fspath(path)) from error


def _sync_folder(folder: Path) -> None:
    """Make sure that a new name in a folder is on the disk, where folders can be opened."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
