"""A fitted scorer as plain values and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from allegiance._core import Array, CheckedLater, Lazy, OrNone, Part, Size, Spec, Text, floats
from allegiance.engines import Tessellation
from allegiance.fitting import Columns, Fitted, PreparedColumns

from ._containers import decode_transformer, encode_transformer
from ._encoding import check, decode, encode
from ._estimators import can_be_saved, decode_estimator, encode_estimator
from ._file import FORMAT, VERSION, check_header
from ._version1 import upgrade

#: What a state must hold: d features, k clusters, r coordinates in which volume is measured.
_PARTS: dict[str, Spec] = {
    "params": CheckedLater(dict),
    "n_features": Size("d"),
    "feature_names": OrNone(Array(("d",), "label")),
    "classes": Array(("k",), "label"),
    "centers": OrNone(floats("k", "d")),
    "diagram": Part("power", "bregman", k="k", d="d", r="r"),
    "region": Part("region", r="r"),
    "members": OrNone(Part("member-distances", k="k")),
    "trust_map": OrNone(Part("trust-map", k="k")),
}

#: What a state may hold besides, under "parts": objects are declared here, others are texts.
_OPTIONAL: dict[str, Spec] = {"baseline": Part("profile", k="k")}


def encode_scorer(params: dict[str, Any], fitted: Fitted) -> dict[str, Any]:
    """Return the state of a scorer with these parameters; its estimator is left out, and its seed is settled."""
    params = params | {"estimator": None, "random_state": fitted.specification.settings.seed}
    calibration = params["calibration"]
    if getattr(calibration, "clusterer", None) is not None:
        # It has done its work, and estimators cannot be saved.
        params["calibration"] = calibration.without_clusterer()
    prepared = isinstance(fitted.columns, PreparedColumns)
    return {
        "format": FORMAT,
        "version": VERSION,
        "params": {name: encode(value, name) for name, value in params.items()},
        "n_features": fitted.columns.n_prepared,
        "feature_names": encode(None if prepared else fitted.columns.known_names, "feature_names_in_"),
        "classes": encode(fitted.classes, "classes_"),
        "centers": fitted.centers,
        "diagram": encode(fitted.tessellation.diagram, "diagram"),
        "region": encode(fitted.tessellation.region, "region"),
        "members": None if fitted.members is None else encode(fitted.members.value, "members"),
        "trust_map": encode(fitted.trust_map, "trust_map"),
        "preparation": _encode_preparation(fitted.columns) if prepared else None,
        "clusterer": encode_estimator(fitted.clusterer, "clusterer") if can_be_saved(fitted.clusterer) else None,
        "parts": {name: encode(value, name) for name, value in fitted.parts.items()},
    }


def decode_scorer(state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of a scorer, and all other parts of its :class:`Fitted`."""
    check_header(state)
    if state["version"] == 1:
        state = upgrade(state)
    check(state, _PARTS)
    found = {name: decode(state[name]) for name in _PARTS}
    if np.unique(found["classes"]).size != found["classes"].size:
        raise ValueError("classes must name each cluster once.")
    parts = {name: found[name] for name in ("classes", "centers", "members", "trust_map")}
    if parts["members"] is not None:
        parts["members"] = Lazy.known(parts["members"])
    parts["columns"] = Columns(found["n_features"], found["feature_names"])
    parts["tessellation"] = Tessellation(found["diagram"], found["region"])
    try:
        parts |= _decode_optional(state, found["n_features"])
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"the state is incomplete: {type(error).__name__}: {error}") from error
    return found["params"], parts


def _decode_optional(state: dict[str, Any], n_features: int) -> dict[str, Any]:
    """Return the parts that a state need not have, as the first files of this version do not."""
    parts: dict[str, Any] = {"parts": _decode_parts(state.get("parts") or {}, state["classes"])}
    if state.get("preparation") is not None:
        parts["columns"] = _decode_preparation(state["preparation"], n_features)
    if state.get("clusterer") is not None:
        parts["clusterer"] = decode_estimator(state["clusterer"])
    return parts


def _decode_parts(parts: dict[str, Any], classes: Any) -> dict[str, Any]:
    # The classes settle how many clusters there are.
    asked = {"classes": _PARTS["classes"]} | {name: _OPTIONAL.get(name, Text()) for name in parts}
    check(parts | {"classes": classes}, asked)
    return {name: decode(value) for name, value in parts.items()}


def _encode_preparation(columns: Any) -> dict[str, Any]:
    return {
        "n_features": columns.n_features,
        "feature_names": encode(columns.known_names, "feature_names_in_"),
        "transformer": encode_transformer(columns.preparation, "preparation"),
    }


def _decode_preparation(state: dict[str, Any], n_prepared: int) -> PreparedColumns:
    columns = Columns(state["n_features"], decode(state["feature_names"]))
    return PreparedColumns(columns, decode_transformer(state["transformer"]), n_prepared)
