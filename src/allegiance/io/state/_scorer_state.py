"""A fitted scorer as plain values and arrays."""

from __future__ import annotations

from typing import Any

from allegiance._core import Lazy
from allegiance.engines import Tessellation
from allegiance.fitting import Columns, Fitted

from ._encoding import decode, encode
from ._file import FORMAT, VERSION, check_header
from ._version1 import upgrade

#: What a state must hold.
_PARTS = ("params", "n_features", "feature_names", "classes", "centers", "diagram", "region", "members", "trust_map")


def encode_scorer(params: dict[str, Any], fitted: Fitted) -> dict[str, Any]:
    """Return the state of a scorer with these parameters; its estimator is left out, and its seed is settled."""
    params = params | {"estimator": None, "random_state": fitted.specification.settings.seed}
    calibration = params["calibration"]
    if getattr(calibration, "clusterer", None) is not None:
        # It has done its work, and estimators cannot be saved.
        params["calibration"] = calibration.without_clusterer()
    return {
        "format": FORMAT,
        "version": VERSION,
        "params": {name: encode(value, name) for name, value in params.items()},
        "n_features": fitted.columns.n_features,
        "feature_names": encode(fitted.columns.known_names, "feature_names_in_"),
        "classes": encode(fitted.classes, "classes_"),
        "centers": fitted.centers,
        "diagram": encode(fitted.tessellation.diagram, "diagram"),
        "region": encode(fitted.tessellation.region, "region"),
        "members": None if fitted.members is None else encode(fitted.members.value, "members"),
        "trust_map": encode(fitted.trust_map, "trust_map"),
        "parts": {name: encode(value, name) for name, value in fitted.parts.items()},
    }


def decode_scorer(state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of a scorer, and all other parts of its :class:`Fitted`."""
    check_header(state)
    if state["version"] == 1:
        state = upgrade(state)
    try:
        found = {name: decode(state[name]) for name in _PARTS}
    except KeyError as error:
        raise ValueError(f"the state is incomplete: {error} is missing.") from error
    parts = {name: found[name] for name in ("classes", "centers", "members", "trust_map")}
    if parts["members"] is not None:
        parts["members"] = Lazy.known(parts["members"])
    parts["columns"] = Columns(found["n_features"], found["feature_names"])
    # The first files of this version lack what follows.
    parts["parts"] = {name: decode(value) for name, value in (state.get("parts") or {}).items()}
    parts["tessellation"] = Tessellation(found["diagram"], found["region"])
    return found["params"], parts
