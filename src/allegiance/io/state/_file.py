"""One file for a state: a zip archive of JSON, NumPy arrays and their checksums."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import zipfile
from typing import IO, Any

import numpy as np

from allegiance._core import AnyArray
from allegiance.io import replacing

FORMAT = "allegiance scorer"
#: The version of the format this package writes. It reads this one and all before it.
VERSION = 2
_STATE, _CHECKSUMS = "state.json", "SHA256SUMS"
#: Every member has this date, so that the same scorer gives the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)
#: The bit that marks an encrypted member of an archive.
_ENCRYPTED = 0x1
#: Truth values, whole and floating-point numbers, texts.
_KINDS_OF_NUMBERS = "biufUS"


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
    files = members(state)
    files[_CHECKSUMS] = _checksums(files)
    with replacing(path, force=True) as unfinished, zipfile.ZipFile(unfinished, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), content)


def read_state(path: Any) -> dict[str, Any]:
    """Read a state from a file.

    Memory stays in proportion to the size of the file, whatever it claims to hold.

    Raises
    ------
    ValueError
        If the file is not a state, of an unknown version, incomplete or altered.
    """
    with open(path, "rb") as file:
        # The file may come from anywhere. Whatever the parsers make of it, it is not the caller's mistake.
        try:
            files = _stored_members(file)
        except Exception as error:
            raise ValueError(f"{path} is not a saved scorer, or is damaged: {_reason(error)}") from error
    try:
        state = json.loads(files[_STATE], parse_constant=_refuse_constant)
        check_header(state)
        _verify(files)
        loaded: dict[str, Any] = _with_arrays(state, files)
    except Exception as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else _reason(error)
        raise ValueError(f"{path} cannot be loaded: {what}") from error
    return loaded


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) and str(error) else f"{type(error).__name__}: {error}"


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{_STATE} holds {text}, which is not JSON.")


def _stored_members(file: IO[bytes]) -> dict[str, bytes]:
    """Return the members of an archive by name, if they are stored as they are and fit into it."""
    left = os.fstat(file.fileno()).st_size
    files: dict[str, bytes] = {}
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            if member.flag_bits & _ENCRYPTED:
                raise ValueError(f"{member.filename} is encrypted.")
            if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
                raise ValueError(f"{member.filename} is compressed, which saved scorers never are.")
            if member.filename in files:
                raise ValueError(f"{member.filename} is there twice.")
            left -= member.file_size
            if left < 0:
                raise ValueError(f"{member.filename} is said to be longer than the file.")
            files[member.filename] = archive.read(member)
    return files


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


def _array(name: str, content: bytes) -> AnyArray:
    """Return the array of an .npy file, after comparing what its header says with the bytes that are there."""
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"{name} has version {version} of the NumPy format; saved scorers have (1, 0).")
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.kind not in _KINDS_OF_NUMBERS:
        raise ValueError(f"{name} holds {dtype}; saved scorers hold numbers and texts, without pickle (allow_pickle).")
    start = file.tell()
    size = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or size != len(content) - start or dtype.itemsize > len(content):
        raise ValueError(f"{name} has {len(content) - start:,} bytes, not those of {dtype} in shape {shape}.")
    values = np.frombuffer(bytearray(content[start:]), dtype) if size else np.empty(0, dtype)
    # In the byte order of this machine, which need not be that of the one that wrote the file.
    return values.reshape(shape, order="F" if by_columns else "C").astype(dtype.newbyteorder("="), copy=False)


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
        return _array(value["array"], files[value["array"]])
    if value.keys() == {"float"}:
        return float(value["float"])
    return {key: _with_arrays(item, files) for key, item in value.items()}
