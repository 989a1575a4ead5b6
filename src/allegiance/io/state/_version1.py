"""States of the first format, whose parameters were flat and whose regions had a class each."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._encoding import decode, encode

_DIVERGENCES = {"kl": "KL", "itakura-saito": "ItakuraSaito", "logistic": "Logistic"}
_APPROXIMATIONS = {"nystroem": "Nystroem", "fourier": "Fourier", "hash": "Hashing"}
_ENGINES = {"auto": "Auto", "shared": "SharedSamples", "hit-and-run": "HitAndRun"}
#: The name, the half-width of the cube and the radius of the ball of a region, by its class in the first format.
_REGIONS = {
    "box": ("box", 1.0, np.inf),
    "ball": ("ball", None, None),
    "walls": ("polytope", np.inf, np.inf),
    "everywhere": ("space", np.inf, np.inf),
}


def upgrade(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state in the present format; it lacks the distances of members, and so typicality and trust."""
    try:
        old, region = state["params"], dict(state["domain"])
        smoothing = old["smoothing"]
        params = {
            "centers": old["centers"],
            "influence": _influence(old),
            "weights": _weights(old),
            "representative": "mean-without-point" if old["leave_one_out"] else old["representative"],
            "domain": _domain(old),
            "engine": _engine(old),
            **{name: old[name] for name in ("eps", "n_jobs", "random_state", "verbose")},
        }
        name, half_width, radius = _REGIONS[region.pop("kind")]
    except KeyError as error:
        raise ValueError(f"the state is incomplete: {error} is unknown or missing.") from error
    region = {"kind": "region", "name": name, "half_width": half_width, "radius": radius} | region
    kept = {key: state.get(key) for key in ("n_features", "feature_names", "classes", "centers", "diagram")}
    if smoothing and kept["centers"] is not None:
        kept["centers"] = kept["centers"] - smoothing
    return kept | {"params": params, "region": region, "members": None, "trust_map": None}


def _object(cls: str, **params: Any) -> dict[str, Any]:
    return {"kind": "parameters", "class": cls, "params": params}


def _influence(old: dict[str, Any]) -> Any:
    if old["kernel"] is not None:
        approximation = old["kernel_approximation"]
        if approximation is not None:
            approximation = _object(_APPROXIMATIONS[approximation], n_components=old["n_components"])
        return _object("Kernel", name=old["kernel"], approximation=approximation, **(old["kernel_params"] or {}))
    divergence = old["divergence"]
    if divergence == "within":
        return _object("Within", shrinkage=old["shrinkage"])
    if divergence == "mahalanobis":
        return _object("Mahalanobis", covariance=old["covariance"])
    if divergence in _DIVERGENCES:
        return _object(_DIVERGENCES[divergence], **({"smoothing": old["smoothing"]} if old["smoothing"] else {}))
    return divergence


def _weights(old: dict[str, Any]) -> Any:
    if old["weights"] is None:
        return None
    return _object("Weights", of=old["weights"], scale=old["weight_scale"], query=old["query_weight"])


def _domain(old: dict[str, Any]) -> Any:
    domain = old["domain"]
    if domain == "box":
        return _object("Box", margin=old["margin"])
    if isinstance(domain, dict):
        polytope = decode(domain)
        return _object("Polytope", A=encode(polytope.A, "A"), b=encode(polytope.b, "b"))
    return "space" if domain is None else domain


def _engine(old: dict[str, Any]) -> Any:
    method = old["method"]
    # Rejection is not an engine any more; what chooses by itself takes its place.
    method = "auto" if method == "rejection" else method
    return _object(_ENGINES[method], max_samples=old["max_samples"]) if method in _ENGINES else method
