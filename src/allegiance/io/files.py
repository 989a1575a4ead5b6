"""Files that appear complete or not at all, locks, and the error for tables and files."""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no locks of this kind.
    fcntl = None  # type: ignore[assignment]

#: The errors of a full disk, a used-up quota and a limit on the size of files.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: How the names of temporary files begin; a killed process may leave one behind.
TEMPORARY = ".allegiance-"
_LONGEST_NAME = 200


class TableError(ValueError):
    """A table or file cannot be read or written; the message says why and what to do.

    Examples
    --------
    >>> from allegiance.io import TableError, open_table
    >>> try:
    ...     open_table("no-such-file.csv")
    ... except TableError as error:
    ...     print(error)
    no-such-file.csv does not exist.
    """


@contextmanager
def replacing(path: str | os.PathLike[str], *, force: bool = False) -> Iterator[str]:
    """Yield the name of a temporary file in the same folder, which gets the real name if the block succeeds.

    The file is on the disk by then. If the block fails or is interrupted, the temporary file is removed and an existing
    file stays as it was. Any number of threads and processes may write one file; the last one wins.

    Parameters
    ----------
    path
        The file. A link is followed.
    force
        Whether it may exist. If not, a file that appears while the block runs is not replaced either.

    Raises
    ------
    FileExistsError
        If the file exists and ``force`` is false.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from allegiance.io import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "note.txt"
    ...     with replacing(path) as temporary:
    ...         _ = Path(temporary).write_text("done")
    ...         existed = path.exists()
    ...     print(existed, path.read_text())
    False done
    """
    check_writable(path, force=force)
    target = Path(os.path.realpath(path))
    name = os.fsdecode(os.fsencode(target.name)[-_LONGEST_NAME:])
    temporary = target.with_name(f"{TEMPORARY}{secrets.token_hex(6)}-{name}")
    try:
        os.close(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666))
        yield str(temporary)
        _sync(temporary)
        if force:
            with suppress(FileNotFoundError):
                os.chmod(temporary, target.stat().st_mode & 0o7777)
            os.replace(temporary, target)
        else:
            _rename_new(temporary, target, os.fspath(path))
        _sync(target.parent)
    except OSError as error:
        if error.errno not in NO_ROOM or error.filename not in (None, str(temporary)):
            raise
        reason = f"{os.strerror(error.errno)}: the file could not be written; an existing one is unchanged"
        raise OSError(error.errno, reason, os.fspath(path)) from error
    finally:
        temporary.unlink(missing_ok=True)


def _rename_new(temporary: Path, target: Path, shown: str) -> None:
    """Give a file its name unless that is taken, in one step where the file system has links."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise FileExistsError(_exists(shown)) from None
    except OSError:
        if target.exists():
            raise FileExistsError(_exists(shown)) from None
        os.replace(temporary, target)


def write_whole(path: str | os.PathLike[str], content: bytes | memoryview, *, force: bool = True) -> None:
    """Write a file completely or not at all; an existing one is replaced if ``force``."""
    with replacing(path, force=force) as temporary, open(temporary, "wb") as file:
        file.write(content)


def is_url(path: str) -> bool:
    """Tell whether a path names a protocol."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", path) is not None


def check_writable(path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Raise unless a file of this name can be written, and may be: an existing one only if ``force``."""
    path = os.fspath(path)
    if is_url(path):
        raise TableError(f"{path} is a URL, and outputs are local files: write a file, and copy it there.")
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    if not os.path.isdir(folder):
        named = os.path.dirname(path) or folder
        raise FileNotFoundError(f"{path} cannot be written: the folder {named} does not exist. Create it first.")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{path} cannot be written: permission denied in its folder.")
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(f"{path} cannot be replaced: it is not a regular file.")
    if os.path.exists(path) and not force:
        raise FileExistsError(_exists(path))


def refuse_inputs(path: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Raise if an output is one of the files that it is made from."""
    for source in inputs:
        with suppress(OSError):
            if os.path.samefile(path, source):
                raise TableError(f"{os.fspath(path)} is an input and would be overwritten: name another output.")


def lock(descriptor: int) -> bool | None:
    """Lock an open file for this descriptor, without waiting; False if another holds it, None where locks are absent.

    The lock ends with the process. A child that was forked without starting another program holds it, too.
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def close_locked(descriptor: int) -> None:
    """End the lock of a descriptor, in forked children too, and close it."""
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _exists(path: str) -> str:
    return f"{path} already exists. Choose another name, or pass force=True (--if-exists replace)."


def _sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk; not every system can open folders."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:
        return
    try:
        with suppress(OSError) if path.is_dir() else nullcontext():
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
