"""Fitted scorers of every kind that can be saved, and changes of their states."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from allegiance import AffinityScorer, Kernel, Polytope, Weights
from allegiance.engines import Auto

_IRIS = load_iris()


class Saved(NamedTuple):
    """A scorer, and rows it can score."""

    scorer: AffinityScorer
    rows: Any


def saved_scorers() -> dict[str, Saved]:
    """Return a scorer of each kind, by name; between them they hold every kind of object that files can hold."""
    X = _IRIS.data[::3]
    sparse = sp.csr_array(np.where(X > 1.5, X, 0.0))
    settings: dict[str, tuple[Any, dict[str, Any]]] = {
        "power": (X, {"weights": Weights([0.1, 0.2, 0.3]), "influence": "within", "calibration": 3}),
        "space": (X, {"domain": "space"}),
        "polytope": (X, {"domain": Polytope.box([0.0] * 4, [9.0] * 4)}),
        "kl": (X[:, :3], {"influence": "kl", "weights": "size"}),
        "kernel": (X, {"influence": "rbf"}),
        "sparse": (sparse, {"influence": "polynomial"}),
        "precomputed": (X @ X.T, {"influence": "precomputed"}),
        "fourier": (X, {"influence": Kernel("rbf", approximation="fourier")}),
        "nystroem": (X, {"influence": Kernel("rbf", approximation="nystroem")}),
        "sketch": (X, {"influence": Kernel("polynomial", approximation="hashing")}),
    }
    quick: dict[str, Any] = {"eps": 0.2, "engine": Auto(max_samples=4_000), "n_jobs": 1, "random_state": 0}
    labels = np.array(_IRIS.target_names)[_IRIS.target[::3]]
    by_labels = {name: (X, labels, chosen) for name, (X, chosen) in settings.items()}
    prepared = make_pipeline(SimpleImputer(), StandardScaler(), PCA(3), KMeans(3, n_init=1, random_state=0))
    mixture = GaussianMixture(3, random_state=0)
    estimators = {"pipeline": prepared, "mixture": mixture}
    by_estimator = {name: (X, None, {"estimator": estimator}) for name, estimator in estimators.items()}
    return {
        name: Saved(AffinityScorer(**quick | chosen).fit(X, labels), X)
        for name, (X, labels, chosen) in (by_labels | by_estimator).items()
    }


def leaves(state: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the way to every value of a state that is not a dict."""
    for name, value in state.items():
        if isinstance(value, dict):
            yield from leaves(value, (*path, name))
        else:
            yield (*path, name)


def found(state: dict[str, Any], path: tuple[str, ...]) -> Any:
    """Return one value of a state."""
    for name in path:
        state = state[name]
    return state


def replaced(state: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Return a state with one value replaced."""
    name, *rest = path
    return state | {name: replaced(state[name], tuple(rest), value) if rest else value}
