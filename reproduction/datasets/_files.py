"""Data files that are not part of the package: where they are looked for, how they are checked, where they are kept."""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from reproduction.files import write_whole

#: The environment variable that names the user's own folder of data files.
FOLDER_VARIABLE = "ALLEGIANCE_DATA"


@dataclass(frozen=True)
class DataFile:
    """A published file, known by its content."""

    folder: str
    """The folder it may lie in, below a folder of data."""
    name: str
    """As published; a name that ends in .gz is unpacked."""
    sha256: str
    """Of the file as published."""
    unpacked_sha256: str
    """Of its content; the same if it is not packed."""

    @property
    def unpacked_name(self) -> str:
        """The name of the unpacked file."""
        return self.name.removesuffix(".gz")

    @property
    def forms(self) -> dict[str, str]:
        """The names it may have, each with its SHA-256."""
        return {self.name: self.sha256, self.unpacked_name: self.unpacked_sha256}


def obtain(
    title: str, files: Sequence[DataFile], download: Callable[[], Sequence[bytes]], *, download_if_missing: bool
) -> list[bytes]:
    """Return the unpacked contents of some files: from a folder of data, else from the net, and then kept in the cache.

    Parameters
    ----------
    title
        What the files are, for messages.
    files
        The files, all of them needed.
    download
        Returns the unpacked contents in the order of ``files``, or raises what a failed download or import raises.
    download_if_missing
        Whether to try ``download`` at all.
    """
    found = [_read(file) for file in files]
    contents = [content for content in found if content is not None]
    if len(contents) == len(files):
        return contents
    if not download_if_missing:
        raise FileNotFoundError(_where_to_put(title, files, "was not found"))
    try:
        contents = list(download())
    except (OSError, HTTPException, ValueError, ImportError) as error:
        reason = f"was not found and could not be downloaded ({type(error).__name__}: {error})"
        raise FileNotFoundError(_where_to_put(title, files, reason)) from error
    for file, content in zip(files, contents, strict=True):
        _check(content, file.unpacked_sha256, f"What was downloaded as {file.unpacked_name}", "Nothing was kept of it")
    for file, content in zip(files, contents, strict=True):
        _keep(file, content)
    return contents


def cache_folder() -> Path:
    """Return the folder for downloaded files, by the custom of the platform; it need not exist."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "allegiance"


def _folders() -> list[Path]:
    own = os.environ.get(FOLDER_VARIABLE)
    return [*([Path(own).expanduser()] if own else []), cache_folder()]


def _read(file: DataFile) -> bytes | None:
    """Return the unpacked content of the first copy found; a copy that is not what it should be is an error."""
    for folder in _folders():
        for place in (folder / file.folder, folder):
            for name, sha256 in file.forms.items():
                path = place / name
                if path.is_file():
                    content = path.read_bytes()
                    _check(content, sha256, str(path), "Replace it by the published file, or delete it")
                    return gzip.decompress(content) if name.endswith(".gz") else content
    return None


def _check(content: bytes, sha256: str, what: str, advice: str) -> None:
    actual = hashlib.sha256(content).hexdigest()
    if actual != sha256:
        raise ValueError(
            f"{what} is truncated or altered: {len(content):,} bytes with SHA-256 {actual}, expected {sha256}. "
            f"{advice}."
        )


def _keep(file: DataFile, content: bytes) -> None:
    """Write an unpacked file into the cache, whole or not at all; where that is impossible, say so and go on."""
    folder = cache_folder() / file.folder
    try:
        write_whole(folder / file.unpacked_name, content)
    except OSError as error:
        warnings.warn(
            f"{file.unpacked_name} could not be kept in {folder} ({error}): it will be downloaded again next time.",
            stacklevel=4,
        )


def _where_to_put(title: str, files: Sequence[DataFile], reason: str) -> str:
    own = os.environ.get(FOLDER_VARIABLE)
    named = f"now {own}" if own else "not set now"
    return "\n".join(
        [
            f"{title} {reason}. Put into {cache_folder() / files[0].folder}, or into a folder that the environment "
            f"variable {FOLDER_VARIABLE} names ({named}):",
            *(f"  {file.name}  (SHA-256 {file.sha256})" for file in files),
        ]
    )
