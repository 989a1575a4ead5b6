"""One file for a state: a zip archive of JSON, NumPy arrays and their checksums."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from allegiance._core import AnyArray

FORMAT = "allegiance scorer"
#: The version of the format this package writes. It reads this one and all before it.
VERSION = 2
_STATE, _CHECKSUMS = "state.json", "SHA256SUMS"
#: Every member has this date, so that the same scorer gives the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)


def check_header(state: Any) -> None:
    """Raise ValueError unless ``state`` is that of a scorer, in a version that is understood."""
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise ValueError("this is not the state of a scorer.")
    version = state.get("version")
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        raise ValueError(
            f"the state has version {version!r} of its format, but this allegiance reads versions up to {VERSION}: "
            "update allegiance."
        )


def members(state: dict[str, Any]) -> dict[str, bytes]:
    """Return the files that make up a state, by name: the JSON, then an .npy file for each array."""
    arrays: dict[str, AnyArray] = {}
    text = json.dumps(_without_arrays(state, "", arrays), indent=1, ensure_ascii=False, allow_nan=False)
    return {_STATE: text.encode()} | {name: _npy(array) for name, array in arrays.items()}


def fingerprint(state: dict[str, Any]) -> str:
    """Return a hash of all that a state holds: equal states score alike."""
    return hashlib.sha256(_checksums(members(state))).hexdigest()


def write_state(state: dict[str, Any], path: Any) -> None:
    """Write a state to a file, which replaces an existing one only when it is complete."""
    path = Path(path)
    files = members(state)
    files[_CHECKSUMS] = _checksums(files)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with zipfile.ZipFile(unfinished, "w") as archive:
            for name, content in files.items():
                archive.writestr(zipfile.ZipInfo(name, _DATE), content)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def read_state(path: Any) -> dict[str, Any]:
    """Read a state from a file.

    Raises
    ------
    ValueError
        If the file is no state, of an unknown version, incomplete or altered.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise ValueError(f"{path} is not a saved scorer, or is damaged: {error}") from error
    try:
        state = json.loads(files[_STATE])
        check_header(state)
        _verify(files)
        loaded: dict[str, Any] = _with_arrays(state, files)
    except (KeyError, ValueError, TypeError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else error
        raise ValueError(f"{path} cannot be loaded: {what}") from error
    return loaded


def _verify(files: dict[str, bytes]) -> None:
    listed: dict[str, str] = {}
    for line in files.pop(_CHECKSUMS).decode().splitlines():
        digest, _, name = line.partition("  ")
        listed[name] = digest
    for name in [*listed, *files]:
        if hashlib.sha256(files[name]).hexdigest() != listed.get(name):
            raise ValueError(f"{name} was altered: its checksum does not fit.")


def _checksums(files: dict[str, bytes]) -> bytes:
    """Return what ``sha256sum --check`` reads."""
    lines = [f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(files.items())]
    return "".join(lines).encode()


def _npy(array: AnyArray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _without_arrays(value: Any, name: str, arrays: dict[str, AnyArray]) -> Any:
    """Return a state in which arrays, moved to ``arrays``, and infinite numbers are replaced by what JSON can hold."""
    if isinstance(value, np.ndarray):
        arrays[f"{name}.npy"] = value
        return {"array": f"{name}.npy"}
    if isinstance(value, float) and not np.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, dict):
        return {key: _without_arrays(item, f"{name}.{key}".lstrip("."), arrays) for key, item in value.items()}
    return value


def _with_arrays(value: Any, files: dict[str, bytes]) -> Any:
    if not isinstance(value, dict):
        return value
    if value.keys() == {"array"}:
        return np.load(io.BytesIO(files[value["array"]]), allow_pickle=False)
    if value.keys() == {"float"}:
        return float(value["float"])
    return {key: _with_arrays(item, files) for key, item in value.items()}
