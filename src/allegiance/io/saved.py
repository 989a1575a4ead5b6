"""Saved models: plain values and arrays in one file, without pickle, and every array checked before it is used."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import zipfile
from collections.abc import Mapping
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from allegiance._core.parameters import Lazy
from allegiance._core.stored import Array, OrNone, Part, Size, Spec, Text, Unchecked, floats
from allegiance._core.validation import AnyArray
from allegiance.engines import Tessellation
from allegiance.fitting import Columns, Fitted

from .encoding import can_be_saved, check, decode, encode
from .files import replacing

if TYPE_CHECKING:
    from allegiance import AffinityScorer

    from .features import FeaturePlan

FORMAT = "allegiance model"
#: The version of the format that this package writes.
VERSION = 1
_STATE = "state.json"
#: Every member has this date, so that the same scorer gives the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)
#: The bit that marks an encrypted member of an archive.
_ENCRYPTED = 0x1


def load(path: str | os.PathLike[str]) -> AffinityScorer:
    """Return the fitted scorer of a file that :meth:`AffinityScorer.save` or ``allegiance score --save`` wrote.

    It gives the same scores to the last bit. It has no ``labels_`` and no ``estimator_``. New points get the label that
    k-means or a Gaussian mixture gave them, if that was the clusterer, and else that of the nearest representative.
    Nothing in the file is executed.

    Parameters
    ----------
    path
        The file, usually ``*.model``.

    Raises
    ------
    ValueError
        If the file is not a saved model, is incomplete or was altered, or was written by a later version.

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
        return AffinityScorer.from_dict(state)
    except Exception as error:
        # Parameters are checked by what they are passed to, which knows nothing of files.
        raise ValueError(f"{path} cannot be loaded: {error}") from error


# The fitted scorer.


def plan_of(fitted: Fitted) -> FeaturePlan | None:
    """Return the plan that a model was made with; None if it was not made from a table."""
    text = fitted.parts.get("plan")
    return None if text is None else _plan_from(json.loads(text))


def _plan_from(values: Mapping[str, Any]) -> FeaturePlan:
    """Return a plan; only models with one need the extra for tables."""
    from .features import FeaturePlan

    return FeaturePlan.from_dict(values)


def with_plan(fitted: Fitted, plan: FeaturePlan, about: Mapping[str, Any] | None = None) -> Fitted:
    """Return what was fitted to prepared rows so that it takes tables: the plan is saved with it, and ``about``."""
    # Rows of later tables are scored whether they have a label or not.
    for column in (values := plan.to_dict())["columns"]:
        column["role"] = "left out" if column["role"] == "label" else column["role"]
    plan = _plan_from(values)
    found = fitted.with_preprocessing(plan, Columns(len(plan.used), list(plan.used)))
    found = found.with_part("plan", json.dumps(values, ensure_ascii=False))
    return found if about is None else found.with_part("about", json.dumps(about, ensure_ascii=False))


#: What a state must hold: d features, k clusters, r coordinates in which volume is measured.
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
}

#: What a state may hold under "parts": objects are declared here, others are texts.
_OPTIONAL: dict[str, Spec] = {"baseline": Part("profile", k="k")}


def encode_scorer(params: dict[str, Any], fitted: Fitted) -> dict[str, Any]:
    """Return the state of a scorer; its estimator is left out, and its seed is the one that was used."""
    params = params | {"estimator": None, "random_state": fitted.specification.settings.seed}
    calibration = params["calibration"]
    if getattr(calibration, "clusterer", None) is not None:
        params["calibration"] = calibration.without_clusterer()
    columns, prepared = fitted.columns, None
    if columns.preparation is not None and "plan" not in fitted.parts:
        prepared = {
            "n_features": columns.n_features,
            "feature_names": encode(columns.known_names, "feature_names_in_"),
            "transformer": encode(columns.preparation, "preparation"),
        }
    return {
        "format": FORMAT,
        "version": VERSION,
        "params": {name: encode(value, name) for name, value in params.items()},
        "n_features": columns.n_prepared,
        "feature_names": encode(columns.known_names if columns.preparation is None else None, "feature_names_in_"),
        "classes": encode(fitted.classes, "classes_"),
        "centers": fitted.centers,
        "diagram": encode(fitted.tessellation.diagram, "diagram"),
        "region": encode(fitted.tessellation.region, "region"),
        "members": None if fitted.members is None else encode(fitted.members.value, "members"),
        "trust_map": encode(fitted.trust_map, "trust_map"),
        "preparation": prepared,
        "clusterer": encode(fitted.clusterer, "clusterer") if can_be_saved(fitted.clusterer) else None,
        "parts": {name: encode(value, name) for name, value in fitted.parts.items()},
    }


def decode_scorer(state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of a scorer, and the parts of its :class:`Fitted`, each checked."""
    _check_header(state)
    check(state, _PARTS)
    found = {name: decode(state[name]) for name in _PARTS}
    if np.unique(found["classes"]).size != found["classes"].size:
        raise ValueError("classes must name each cluster once.")
    parts = {name: found[name] for name in ("classes", "centers", "trust_map")}
    parts["members"] = None if found["members"] is None else Lazy.known(found["members"])
    parts["tessellation"] = Tessellation(found["diagram"], found["region"])
    columns = Columns(found["n_features"], found["feature_names"])
    try:
        extra = state.get("parts") or {}
        if "baseline" in extra:
            import_module("allegiance.drift")  # declares what a profile must be
        asked = {"classes": _PARTS["classes"]} | {name: _OPTIONAL.get(name, Text()) for name in extra}
        check(extra | {"classes": state["classes"]}, asked)
        parts["parts"] = {name: decode(value) for name, value in extra.items()}
        prepared = state.get("preparation")
        if "plan" in extra:
            plan = _plan_from(json.loads(extra["plan"]))
            if len(plan.names) != found["n_features"]:
                raise ValueError(f"the plan makes {len(plan.names)} features of {found['n_features']}.")
            columns = Columns(len(plan.used), list(plan.used), plan, found["n_features"])
        elif prepared is not None:
            names, transformer = decode(prepared["feature_names"]), decode(prepared["transformer"])
            columns = Columns(prepared["n_features"], names, transformer, found["n_features"])
        if state.get("clusterer") is not None:
            parts["clusterer"] = decode(state["clusterer"])
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"the state is incomplete: {type(error).__name__}: {error}") from error
    return found["params"], parts | {"columns": columns}


# The file: a zip archive of JSON and NumPy arrays.


def write_state(state: dict[str, Any], path: Any, *, force: bool = True) -> None:
    """Write a state to a file, which appears, or replaces an existing one, only when it is complete."""
    with replacing(path, force=force) as unfinished, zipfile.ZipFile(unfinished, "w") as archive:
        for name, content in _members(state).items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), content)


def read_state(path: Any) -> dict[str, Any]:
    """Read a state from a file, in memory that is in proportion to its size, whatever it claims to hold."""
    with open(path, "rb") as file:
        # The file may come from anywhere; whatever the parsers make of it is not the caller's mistake.
        try:
            files = _stored_members(file)
        except Exception as error:
            raise ValueError(f"{path} is not a saved model, or is damaged: {_reason(error)}") from error
    try:
        state = json.loads(files[_STATE], parse_constant=_refuse_constant)
        _check_header(state)
        loaded: dict[str, Any] = _with_arrays(state, files)
    except Exception as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else _reason(error)
        raise ValueError(f"{path} cannot be loaded: {what}") from error
    return loaded


def fingerprint(state: dict[str, Any]) -> str:
    """Return a hash of all that a state holds: equal states score alike."""
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in _members(state).items()}
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()


def _members(state: dict[str, Any]) -> dict[str, bytes]:
    """Return the files that make up a state, by name: the JSON, then an .npy file for each array."""
    arrays: dict[str, AnyArray] = {}
    text = json.dumps(_without_arrays(state, "", arrays), indent=1, ensure_ascii=False, allow_nan=False)
    return {_STATE: text.encode()} | {name: _npy(array) for name, array in arrays.items()}


def _check_header(state: Any) -> None:
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise ValueError("this is not the state of a scorer.")
    version = state.get("version")
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        raise ValueError(
            f"the state has version {version!r} of its format, but this allegiance reads versions up to {VERSION}: "
            "update allegiance."
        )


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) and str(error) else f"{type(error).__name__}: {error}"


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{_STATE} holds {text}, which is not JSON.")


def _stored_members(file: IO[bytes]) -> dict[str, bytes]:
    """Return the members of an archive by name, if they are not compressed, fit into it and have their checksum."""
    left = os.fstat(file.fileno()).st_size
    files: dict[str, bytes] = {}
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            if member.flag_bits & _ENCRYPTED:
                raise ValueError(f"{member.filename} is encrypted.")
            if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
                raise ValueError(f"{member.filename} is compressed, which saved models never are.")
            if member.filename in files:
                raise ValueError(f"{member.filename} is there twice.")
            left -= member.file_size
            if left < 0:
                raise ValueError(f"{member.filename} claims to be longer than the file.")
            files[member.filename] = archive.read(member)
    return files


def _npy(array: AnyArray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _array(name: str, content: bytes) -> AnyArray:
    """Return the array of an .npy file, after comparing what its header says with the bytes that are there."""
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
    if isinstance(value, list):
        return [_without_arrays(item, name, arrays) for item in value]
    return value


def _with_arrays(value: Any, files: dict[str, bytes]) -> Any:
    if isinstance(value, list):
        return [_with_arrays(item, files) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"array"}:
        return _array(value["array"], files[value["array"]])
    if value.keys() == {"float"}:
        return float(value["float"])
    return {key: _with_arrays(item, files) for key, item in value.items()}
