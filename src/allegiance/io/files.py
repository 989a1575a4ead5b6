"""Local and remote files: find, open, lock and write them, completely or not at all; and ``TableError``."""

from __future__ import annotations

import errno
import os
import re
import secrets
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from glob import glob, has_magic
from pathlib import Path, PurePosixPath
from typing import Any

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

#: Errors of a full disk, an exhausted quota and a file-size limit.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: Prefix of temporary file names. A killed process may leave such files behind.
TEMPORARY = ".allegiance-"
#: Stores in which an uploaded file appears only when it is complete.
_ATOMIC_STORES = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "memory")
#: File name endings by format.
FORMATS = {
    "csv": (".csv", ".tsv", ".tab", ".txt", ".dat", ".data"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
    "npy": (".npy",),
    "xlsx": (".xlsx", ".xlsm", ".xls", ".ods"),
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "h5ad": (".h5ad",),
}
ENDINGS = {ending: kind for kind, endings in FORMATS.items() for ending in endings}
_COMPRESSED = (".gz", ".bz2", ".zst")
_MAX_NAME_BYTES = 200
#: Position of the byte that a lock covers on Windows. Nobody can read a locked byte there, so it is beyond the content.
_LOCKED_BYTE = 2**30


class TableError(ValueError):
    """A table or file cannot be read or written. The message states the reason and the fix.

    Examples
    --------
    >>> from allegiance.io import TableError, open_table
    >>> try:
    ...     open_table("no-such-file.csv")
    ... except TableError as error:
    ...     print(error)
    no-such-file.csv does not exist.
    """


def is_url(path: str) -> bool:
    """Return whether a file path is a URL."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", path) is not None


def is_folder(path: str) -> bool:
    """Return whether a file path is a folder: it ends with a slash, or is an existing folder."""
    return path.endswith(("/", os.sep)) or (not is_url(path) and os.path.isdir(path))


def filesystem_of(url: str) -> tuple[Any, str]:
    """Return the file system of a URL and the path in it."""
    from allegiance._core.validation import require

    fsspec = require("fsspec", "io", url)
    try:
        filesystem, path = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:
        scheme = url.partition("://")[0]
        driver = {"s3": "s3fs", "gs": "gcsfs", "gcs": "gcsfs"}.get(scheme)
        install = f"pip install {driver}." if driver else f"no fsspec driver for {scheme}:// is installed. {error}"
        raise TableError(f"{url} cannot be opened: {install}") from error
    return filesystem, path


def open_bytes(path: str) -> Any:
    """Open a file, decompressed, for reading from the beginning."""
    if is_url(path):
        filesystem, name = filesystem_of(path)
        return filesystem.open(name, "rb", compression="infer")
    from pyarrow import input_stream

    return input_stream(path, compression="detect")


def open_seekable(path: str) -> Any:
    """Return a local file path as it is, or an open file for a URL."""
    if not is_url(path):
        return path
    filesystem, name = filesystem_of(path)
    return filesystem.open(name, "rb")


@contextmanager
def wrap_errors(sentence: str) -> Iterator[None]:
    """Turn any error of a library that reads files into a ``TableError`` that begins with ``sentence``."""
    try:
        yield
    except TableError:
        raise
    except Exception as error:
        raise TableError(f"{sentence} {error}") from error


def locate_files(spec: str, format: str | None = None) -> list[str]:
    """Return the files of a path, pattern, folder or URL."""
    if is_url(spec):
        filesystem, path = filesystem_of(spec)
        with wrap_errors(f"{spec} cannot be reached."):
            if not (has_magic(path) or filesystem.isdir(path)):
                return [spec]
            paths = sorted(filesystem.glob(path) if has_magic(path) else filesystem.find(path))
        scheme = spec.partition("://")[0]
        paths = [name if is_url(name) else f"{scheme}://{name}" for name in paths]
    elif os.path.isdir(spec):
        paths = sorted(str(path) for path in Path(spec).rglob("*") if path.is_file())
    elif has_magic(spec) and not os.path.exists(spec):
        paths = sorted(name for name in glob(spec, recursive=True) if os.path.isfile(name))
    else:
        return [spec]
    if has_magic(spec) and not paths:
        raise TableError(f"no file matches {spec}.")
    visible = [name for name in paths if not _is_hidden(name, spec)]
    tables = [name for name in visible if format is not None or format_of(name) is not None]
    if not tables:
        raise TableError(f"{spec} contains no table: none of its files ends in {', '.join(ENDINGS)}.")
    different = sorted({str(format_of(name)) for name in tables})
    if len(different) > 1 and format is None:
        raise TableError(
            f"{spec} has files of several formats ({', '.join(different)}): name one, as *.{different[0]}."
        )
    return tables


def _is_hidden(name: str, spec: str) -> bool:
    """Return whether a file, or one of its folders below ``spec``, is hidden."""
    above, parts = (PurePosixPath(path.replace(os.sep, "/")).parts for path in (spec, name))
    inner = parts[len(above) :] if parts[: len(above)] == above else parts[-1:]
    return any(part.startswith((".", "_")) and "=" not in part for part in inner)


def format_of(path: str) -> str | None:
    """Return the format of a file by the ending of its name; None if it is unknown."""
    name = PurePosixPath(path.lower())
    compressed = name.suffix in _COMPRESSED
    kind = ENDINGS.get(PurePosixPath(name.stem).suffix if compressed else name.suffix)
    return None if compressed and kind not in ("csv", "jsonl") else kind


def check_readable(path: str) -> None:
    """Raise unless the file exists, is readable and not empty."""
    if is_url(path):
        filesystem, name = filesystem_of(path)
        with wrap_errors(f"{path} cannot be reached."):
            there = filesystem.exists(name)
        if not there:
            raise TableError(f"{path} does not exist.")
        return
    if not os.path.exists(path):
        raise TableError(f"{path} does not exist.")
    if not os.access(path, os.R_OK):
        raise TableError(f"{path} cannot be read: permission denied.")
    if os.path.isfile(path) and os.path.getsize(path) == 0:
        raise TableError(f"{path} is empty.")


@contextmanager
def replacing(path: str | os.PathLike[str], *, force: bool = False) -> Iterator[str]:
    """Yield the name of a temporary file that is renamed to ``path``, a file or URL, if the block succeeds.

    A local file is synced to disk first. A remote file is uploaded from a local temporary file. If the block fails or
    is interrupted, the temporary file is removed and an existing file is unchanged. Without ``force``, no file is
    replaced, even one that appears while the block runs. If several processes write one file, the last one wins.
    """
    check_writable(path, force=force)
    if is_url(os.fspath(path)):
        with tempfile.TemporaryDirectory(prefix="allegiance-") as folder:
            local = os.path.join(folder, PurePosixPath(os.fspath(path)).name[-_MAX_NAME_BYTES:])
            yield local
            _upload(local, os.fspath(path), force)
        return
    target = Path(os.path.realpath(path))
    name = os.fsdecode(os.fsencode(target.name)[-_MAX_NAME_BYTES:])
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


def _upload(local: str, url: str, force: bool) -> None:
    """Copy a finished local file to a URL, where it appears complete."""
    filesystem, path = filesystem_of(url)
    if not force and filesystem.exists(path):
        raise FileExistsError(_exists(url))
    if url.partition("://")[0] in _ATOMIC_STORES:
        filesystem.put_file(local, path)
        return
    parent, _, name = path.rpartition("/")
    filesystem.makedirs(parent, exist_ok=True)
    unfinished = f"{parent}/{TEMPORARY}{secrets.token_hex(6)}-{name}"
    try:
        filesystem.put_file(local, unfinished)
        filesystem.mv(unfinished, path)
    except BaseException:
        with suppress(Exception):
            filesystem.rm_file(unfinished)
        raise


def _rename_new(temporary: Path, target: Path, path: str) -> None:
    """Rename a file unless the target exists, in one step where the file system has links."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise FileExistsError(_exists(path)) from None
    except OSError:
        if target.exists():
            raise FileExistsError(_exists(path)) from None
        os.replace(temporary, target)


def write_whole(path: str | os.PathLike[str], content: bytes | memoryview, *, force: bool = True) -> None:
    """Write a file completely or not at all; ``force`` replaces an existing file."""
    with replacing(path, force=force) as temporary, open(temporary, "wb") as file:
        file.write(content)


def read_file(path: str | os.PathLike[str]) -> bytes | None:
    """Return the contents of a local or remote file, None if it does not exist."""
    path = os.fspath(path)
    try:
        if is_url(path):
            filesystem, name = filesystem_of(path)
            filesystem.invalidate_cache()
            return bytes(filesystem.cat_file(name))
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def stamp(path: str) -> list[Any] | None:
    """Return the size of a local or remote file, and its time or server tag; None if it does not exist."""
    try:
        if is_url(path):
            filesystem, name = filesystem_of(path)
            filesystem.invalidate_cache()
            return _remote_stamp(filesystem.info(name))
        stat = os.stat(path)
        return [stat.st_size, stat.st_mtime_ns]
    except FileNotFoundError:
        return None


def stamp_folder(folder: str) -> list[list[Any]]:
    """Return name and stamp of each file in a local or remote folder; nothing if it does not exist."""
    try:
        if is_url(folder):
            filesystem, name = filesystem_of(folder)
            filesystem.invalidate_cache()
            infos = [info for info in filesystem.ls(name, detail=True) if info["type"] == "file"]
            return sorted([PurePosixPath(info["name"]).name, *_remote_stamp(info)] for info in infos)
        return sorted([entry.name, *(stamp(entry.path) or [])] for entry in os.scandir(folder) if entry.is_file())
    except FileNotFoundError:
        return []


def _remote_stamp(info: dict[str, Any]) -> list[Any]:
    """Return the size of a remote file, and its time or server tag."""
    tags = (str(info[key]) for key in ("ETag", "etag", "mtime", "created") if info.get(key))
    return [info.get("size"), next(tags, None)]


def check_writable(path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Raise unless a file can be written; an existing file may be replaced only with ``force``."""
    path = os.fspath(path)
    if is_url(path):
        if path.lower().startswith(("http:", "https:")):
            raise TableError(f"{path} cannot be written: outputs are local files, or URLs like s3://bucket/name.")
        filesystem, name = filesystem_of(path)
        if not force and filesystem.exists(name):
            raise FileExistsError(_exists(path))
        return
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    if not os.path.isdir(folder):
        named = os.path.dirname(path) or folder
        raise FileNotFoundError(f"{path} cannot be written: the folder {named} does not exist. Create it first.")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{path} cannot be written: permission denied in its folder.")
    try:
        os.fsencode(path).decode()
        os.stat(path)
    except FileNotFoundError:
        return
    except UnicodeDecodeError:
        raise OSError(f"{path!r} cannot be written: the name is not valid UTF-8.") from None
    except OSError as error:
        raise OSError(f"{path} cannot be written: {error.strerror}.") from error
    if not os.path.isfile(path):
        raise OSError(f"{path} cannot be replaced: it is not a regular file.")
    if not force:
        raise FileExistsError(_exists(path))


def refuse_inputs(path: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Raise if a file to write is one of the input files."""
    for source in inputs:
        same = os.fspath(path) == os.fspath(source)
        with suppress(OSError):
            same = same or os.path.samefile(path, source)
        if same:
            raise TableError(f"{os.fspath(path)} is an input and would be overwritten: name another output.")


def lock(descriptor: int) -> bool | None:
    """Lock an open file until the process ends; False if another process has locked it, None without support."""
    try:
        if sys.platform == "win32":
            os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return None
    return True


def close_locked(descriptor: int) -> None:
    """Release the lock of an open file, also in forked children, and close it."""
    with suppress(OSError):
        if sys.platform == "win32":
            os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _exists(path: str) -> str:
    """Return the message about a file that exists."""
    return f"{path} already exists. Choose another name, or pass `force=True`."


def _sync(path: Path) -> None:
    """Flush a file or folder to disk. Windows cannot open folders, and flushes only files opened for writing."""
    try:
        descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    except PermissionError:
        return
    try:
        with suppress(OSError) if path.is_dir() else nullcontext():
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
