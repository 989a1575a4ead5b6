"""Saved models: archives of JSON and arrays, without pickle, validated on loading."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import math
import os
import platform
import zipfile
from contextlib import suppress
from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from allegiance._core.parameters import Lazy
from allegiance._core.stored import Array, OrNone, Part, Size, Spec, Unchecked, floats
from allegiance._core.validation import AnyArray
from allegiance.engines import Tessellation
from allegiance.fitting import Columns, Fitted

from .encoding import check_encoded, decode, decode_clusterer, encode, encode_clusterer
from .files import read_file, write_whole

if TYPE_CHECKING:
    from .plan import FeaturePlan

FORMAT = "allegiance model"
#: The file format that this version writes, and the oldest it reads. Every release reads the formats of all earlier
#: releases. Format 1 was never released.
VERSION, OLDEST = 2, 2
_STATE = "state.json"
#: Fixed date of every archive member, so that the same scorer gives the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)
#: The flag of an encrypted archive member.
_ENCRYPTED = 0x1
#: Libraries whose versions can change a score; pyarrow is optional.
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow")


def load(path: str | os.PathLike[str], *, n_jobs: int | None = None) -> Any:
    """Load a model or a scorer written by ``save`` or ``allegiance score --save``.

    Scores are identical to the last bit. A loaded scorer has no ``labels_`` and no ``estimator_``. If the clusterer was
    k-means or a Gaussian mixture, it labels new points; otherwise they get the label of the nearest representative.
    Loading executes no code from the file. Files of all released versions can be loaded.

    Parameters
    ----------
    path
        The file, usually ``*.model``, or a URL that fsspec knows, such as ``s3://bucket/january.model``.
    n_jobs
        Number of threads; by default as saved.

    Returns
    -------
    AffinityScorer or allegiance.io.Model
        The saved object: a scorer for arrays or frames of numbers, or a model for tables.

    Raises
    ------
    ValueError
        If the file is not a saved model, is incomplete or altered, or has a format that this version does not read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import allegiance
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris()
    >>> scorer = allegiance.AffinityScorer(random_state=0).fit(iris.data, iris.target)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     scorer.save(Path(folder) / "iris.model")
    ...     loaded = allegiance.load(Path(folder) / "iris.model")
    >>> bool((loaded.affinity(iris.data).affinity == scorer.affinity(iris.data).affinity).all())
    True
    """
    from allegiance import AffinityScorer

    state = read_state(path)
    try:
        if n_jobs is not None:
            state["params"] |= {"n_jobs": n_jobs}
        scorer = AffinityScorer.from_dict(state)
        if state.get("plan") is None:
            return scorer
        try:  # only models for tables need the extra ``io``
            from .model import Model
            from .plan import FeaturePlan
        except ImportError as error:
            reason = f"it is a model for tables, which needs pip install 'allegiance[io]' ({error})."
            raise ValueError(reason) from error
        return Model(FeaturePlan.from_dict(state["plan"]), scorer, json.loads(state["about"]))
    except Exception as error:
        # Parameters are checked where they are used, without the file name.
        raise ValueError(f"{path} cannot be loaded: {error}") from error


# The state of a scorer.

#: Entries of a state: d features, k clusters, r coordinates for volumes.
_PARTS: dict[str, Spec] = {
    "params": Unchecked(dict),
    "n_features": Size("d"),
    "feature_names": OrNone(Array(("d",), "label")),
    "classes": Array(("k",), "label"),
    "centers": OrNone(floats("k", "d")),
    "diagram": Part("power", "bregman", k="k", d="d", r="r"),
    "region": Part("region", r="r"),
    "members": OrNone(Part("member-distances", k="k")),
    "trust_map": OrNone(Part("trust-map", k="k")),
    "baseline": OrNone(Part("profile", k="k")),
}


def scorer_state(params: dict[str, Any], fitted: Fitted) -> dict[str, Any]:
    """Return the state of a scorer for a model file, with its seed and without its estimator."""
    params = params | {"estimator": None, "random_state": fitted.specification.settings.seed}
    calibration = params["calibration"]
    if getattr(calibration, "clusterer", None) is not None:
        params["calibration"] = calibration.without_clusterer()
    columns, prepared = fitted.columns, None
    if columns.preparation is not None:
        prepared = {
            "n_features": columns.n_features,
            "feature_names": encode(columns.known_names, "feature_names_in_"),
            "transformer": encode(columns.preparation, "preparation"),
        }
    members = None if fitted.members is None else encode(fitted.members.value, "members")
    state = {
        "format": FORMAT,
        "version": VERSION,
        "params": {name: encode(value, name) for name, value in params.items()},
        "n_features": columns.n_prepared,
        "feature_names": encode(columns.known_names if columns.preparation is None else None, "feature_names_in_"),
        "classes": encode(fitted.classes, "classes_"),
        "centers": fitted.centers,
        "diagram": encode(fitted.tessellation.diagram, "diagram"),
        "region": encode(fitted.tessellation.region, "region"),
        "members": members,
        "trust_map": encode(fitted.trust_map, "trust_map"),
        "preparation": prepared,
        "clusterer": encode_clusterer(fitted.clusterer),
        "baseline": encode(fitted.baseline, "baseline"),
    }
    data = None if members is None else digest_state(members)
    return state | {"id": model_id(fitted), "data": data, "made_with": library_versions()}


def read_scorer_state(state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of a saved scorer and the arguments of its :class:`Fitted`, each checked."""
    _check_header(state)
    import_module("allegiance.drift")  # declares the schema of a profile
    check_encoded(state, _PARTS)
    values = {name: decode(state[name]) for name in _PARTS}
    if np.unique(values["classes"]).size != values["classes"].size:
        raise ValueError("classes must list each cluster once.")
    arguments = {name: values[name] for name in ("classes", "centers", "trust_map", "baseline")}
    arguments["members"] = None if values["members"] is None else Lazy.known(values["members"])
    arguments["tessellation"] = Tessellation(values["diagram"], values["region"])
    arguments["columns"] = Columns(values["n_features"], values["feature_names"])
    try:
        if (prepared := state.get("preparation")) is not None:
            names, transformer = decode(prepared["feature_names"]), decode(prepared["transformer"])
            arguments["columns"] = Columns(prepared["n_features"], names, transformer, values["n_features"])
        if (clusterer := state.get("clusterer")) is not None:
            arguments["clusterer"] = decode_clusterer(clusterer, values["n_features"])
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"the state is incomplete: {type(error).__name__}: {error}") from error
    return values["params"], arguments


def library_versions() -> dict[str, str]:
    """Return the versions of allegiance, Python and the libraries that can change a score."""
    from allegiance import __version__

    versions = {"allegiance": __version__, "python": platform.python_version()}
    for name in _LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


# The file: a zip archive of JSON and NumPy arrays.


def model_id(fitted: Fitted, plan: FeaturePlan | None = None) -> str:
    """Return a hash of everything that affects scores, also for fitted objects that cannot be saved."""
    parts: dict[str, Any] = {
        "classes": fitted.classes,
        "diagram": fitted.tessellation.diagram,
        "region": fitted.tessellation.region,
        "members": None if fitted.members is None else fitted.members.value,
        "trust_map": fitted.trust_map,
    }
    state = {name: encode(value, name) for name, value in parts.items()}
    state |= {
        "how": repr(fitted.measurement),
        "preparation": repr(fitted.columns.preparation),
    }
    # Clusterers without predict give new points the label of the nearest representative.
    clusterer = fitted.clusterer if hasattr(fitted.clusterer, "predict") else None
    state["clusterer"] = encode_clusterer(clusterer) or repr(clusterer)
    if plan is not None:
        values = plan.to_dict()
        values["columns"] = [column for column in values["columns"] if column["role"] == "feature"]
        state["plan"] = {name: values[name] for name in ("columns", "scaled", "impute", "single")}
    return digest_state(state)


def digest_state(state: dict[str, Any]) -> str:
    """Return a hash of the saved state of a model."""
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in _members(state).items()}
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()[:32]


def write_state(state: dict[str, Any], path: str | os.PathLike[str], *, force: bool = True) -> None:
    """Write a state to a local file or a URL, completely or not at all."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in _members(state).items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), content)
    write_whole(path, buffer.getbuffer(), force=force)


def read_state(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a state from a local file or a URL. Memory is proportional to the file size, even for manipulated files."""
    content = read_file(path)
    if content is None:
        raise FileNotFoundError(errno.ENOENT, "the file does not exist", os.fspath(path))
    # The file is untrusted, so any parser error means that it is damaged.
    try:
        files = _stored_members(content)
    except Exception as error:
        raise ValueError(f"{path} is not a saved model, or is damaged: {_reason(error)}") from error
    try:
        state = json.loads(files[_STATE], parse_constant=_refuse_constant)
        _check_header(state)
        loaded: dict[str, Any] = _with_arrays(state, files)
    except Exception as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else _reason(error)
        raise ValueError(f"{path} cannot be loaded: {reason}") from error
    return loaded


def _members(state: dict[str, Any]) -> dict[str, bytes]:
    """Return the archive members of a state by name: the JSON, then an .npy file per array."""
    arrays: dict[str, AnyArray] = {}
    text = json.dumps(_without_arrays(state, "", arrays), indent=1, ensure_ascii=False, allow_nan=False)
    return {_STATE: text.encode()} | {name: _npy(array) for name, array in arrays.items()}


def _check_header(state: Any) -> None:
    """Raise unless a state is that of a saved scorer in a format that this version reads."""
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise ValueError("this is not the state of a scorer.")
    version = state.get("version")
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        raise ValueError(
            f"it has format version {version!r}, but this version of allegiance reads versions up to {VERSION}: "
            "update allegiance."
        )
    if version < OLDEST:
        raise ValueError(
            f"it has format version {version}, which development versions wrote before the first release. This "
            f"version of allegiance reads versions {OLDEST} to {VERSION}: fit and save the model again."
        )


def _reason(error: Exception) -> str:
    """Return why a model file cannot be loaded."""
    return str(error) if isinstance(error, ValueError) and str(error) else f"{type(error).__name__}: {error}"


def _refuse_constant(text: str) -> None:
    """Raise for NaN and Infinity in the JSON of a model file."""
    raise ValueError(f"{_STATE} contains {text}, which is not JSON.")


def _stored_members(content: bytes) -> dict[str, bytes]:
    """Return the members of an archive by name if they are uncompressed, fit into it and match their checksums."""
    left = len(content)
    files: dict[str, bytes] = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for member in archive.infolist():
            if member.flag_bits & _ENCRYPTED:
                raise ValueError(f"{member.filename} is encrypted.")
            if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
                raise ValueError(f"{member.filename} is compressed, which saved models never are.")
            if member.filename in files:
                raise ValueError(f"{member.filename} appears twice.")
            left -= member.file_size
            if left < 0:
                raise ValueError(f"{member.filename} claims to be longer than the file.")
            files[member.filename] = archive.read(member)
    return files


def _npy(array: AnyArray) -> bytes:
    """Return an array of a model as the bytes of an .npy file."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _array(name: str, content: bytes) -> AnyArray:
    """Return the array of an .npy file in a model, after checking its header against its size."""
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"{name} has version {version} of the NumPy format; saved models have (1, 0).")
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.kind not in "biufUS":
        raise ValueError(f"{name} holds {dtype}; saved models hold numbers and texts, without pickle (allow_pickle).")
    start = file.tell()
    size = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or size != len(content) - start or dtype.itemsize > len(content):
        raise ValueError(f"{name} has {len(content) - start:,} bytes, not those of {dtype} in shape {shape}.")
    values = np.frombuffer(bytearray(content[start:]), dtype) if size else np.empty(0, dtype)
    # Convert to the byte order of this machine.
    return values.reshape(shape, order="F" if by_columns else "C").astype(dtype.newbyteorder("="), copy=False)


def _without_arrays(value: Any, name: str, arrays: dict[str, AnyArray]) -> Any:
    """Return a model state for JSON: arrays are moved to ``arrays``, and infinite numbers become texts."""
    if isinstance(value, np.ndarray):
        arrays[f"{name}.npy"] = value
        return {"array": f"{name}.npy"}
    if isinstance(value, float) and not np.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, dict):
        return {key: _without_arrays(item, f"{name}.{key}".lstrip("."), arrays) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_arrays(item, name, arrays) for item in value]
    return value


def _with_arrays(value: Any, files: dict[str, bytes]) -> Any:
    """Return a state from the JSON of a model file with its arrays."""
    if isinstance(value, list):
        return [_with_arrays(item, files) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"array"}:
        return _array(value["array"], files[value["array"]])
    if value.keys() == {"float"}:
        return float(value["float"])
    return {key: _with_arrays(item, files) for key, item in value.items()}
