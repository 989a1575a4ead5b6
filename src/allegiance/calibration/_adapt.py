"""Clusterers as users pass them, and how each parameter adapts to a smaller sample, by name."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, clone

from allegiance._core.validation import AnyArray, IntArray

#: Parameters that count rows, which shrink with the sample, but not below this floor in rows (or the user's own value):
#: HDBSCAN's default, below which it fragments.
_COUNTS, _FLOOR = ("min_cluster_size", "max_cluster_size", "min_bin_freq", "min_samples"), 5
#: Parameters that cannot exceed the number of rows.
_LIMITS = ("n_clusters", "n_components", "n_neighbors")
#: Parameters of density clusterers, and of others whose clusters depend on the number of rows.
_DENSITY, _GRAPH = ("min_cluster_size", "min_samples"), ("n_neighbors", "resolution")
#: Rows of a subsample at least, unless halves are smaller, and rows from which neighbors, margins and correlations are
#: estimated: the standard error of a share is 0.013.
SUBSAMPLE_ROWS = 1500


class FunctionClusterer(ClusterMixin, BaseEstimator):
    """A function ``f(X) -> labels`` (n,), -1 for noise, as a clusterer."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __sklearn_clone__(self) -> FunctionClusterer:
        return FunctionClusterer(self.function)  # never copied: it may hold a device or a connection

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"the function {getattr(self.function, '__qualname__', repr(self.function))}"

    def fit(self, X: Any, y: Any = None) -> FunctionClusterer:
        """Call the function that the user passed as a clusterer."""
        labels = np.asarray(self.function(X))
        if labels.shape != (X.shape[0],):
            raise ValueError(f"{self!r} must return one label for each of {X.shape[0]} rows, got {labels.shape}.")
        self.labels_: AnyArray = labels
        self.n_features_in_ = int(X.shape[1])
        return self


def as_clusterer(value: Any, argument: str = "clusterer") -> Any:
    """Return an estimator, a pipeline or a function ``f(X) -> labels`` as a clusterer that can be cloned and fitted."""
    if isinstance(value, type) or not (hasattr(value, "fit") or callable(value)):
        raise TypeError(
            f"{argument} must be a clusterer such as KMeans(8), a pipeline that ends in one, or a function from X to "
            f"labels, got {value!r}."
        )
    return value if hasattr(value, "fit") else FunctionClusterer(value)


def adapt(clusterer: Any, half: Any, rows: Any, share: float) -> Any:
    """Return a clone of a clusterer with its parameters adapted to ``half``, a share of all rows, drawn from ``rows``.

    Numbers of rows shrink with the sample, but not below 5 or the user's own value. The radius of DBSCAN grows with the
    distance to the ``min_samples``-th neighbor, so its count stays. Ward's distances grow with the square root of the
    rows, the sum that affinity propagation weighs against its preference grows with the rows.
    Parameters that no rule names, such as resolutions and bandwidths, describe the population and stay as they are.
    """
    adapted = clone(clusterer)
    if not hasattr(adapted, "get_params"):
        return adapted
    owners: dict[str, dict[str, Any]] = {}
    for name, value in adapted.get_params().items():
        owner, _, last = name.rpartition("__")
        owners.setdefault(owner, {})[last] = value
    for owner, parameters in owners.items():
        spaces = half, rows
        if (_is_number(parameters.get("eps")) or "preference" in parameters) and len(
            getattr(clusterer, "steps", ())
        ) > 1:
            spaces = tuple(
                clone(clusterer[:-1]).fit_transform(space) for space in spaces
            )  # where the last step clusters
        changes = _adapted_parameters(parameters, *spaces, share)
        adapted.set_params(**{f"{owner}__{name}" if owner else name: value for name, value in changes.items()})
    return adapted


def is_pairwise(clusterer: Any) -> str | None:
    """Return by its parameters whether a clusterer takes a matrix of "distances" or "similarities" (n, n), or None."""
    parameters = clusterer.get_params(deep=False) if hasattr(clusterer, "get_params") else {}
    if "precomputed" not in [value for value in map(parameters.get, ("metric", "affinity")) if isinstance(value, str)]:
        return None
    is_graph = parameters.get("affinity") == "precomputed" or "resolution" in parameters
    return "similarities" if is_graph else "distances"


def depends_on_size(clusterer: Any) -> bool:
    """Tell whether a clusterer adapts to the sample size, as density and graph clusterers do."""
    return not _parameter_names(clusterer).isdisjoint(_DENSITY + _GRAPH) and not is_kmeans(clusterer)


def is_kmeans(clusterer: Any) -> bool:
    """Tell whether a clusterer is k-means or a variant, which needs no adapting and costs least to fit again."""
    return "init" in _parameter_names(clusterer)


def is_density(clusterer: Any, codes: IntArray) -> bool:
    """Tell whether clusters are dense regions: the clusterer has such parameters, or the labels contain noise."""
    return bool((codes < 0).any()) or not _parameter_names(clusterer).isdisjoint(_DENSITY)


def _parameter_names(clusterer: Any) -> set[str]:
    """Return the names of the parameters that may adapt: of a clusterer, and of the steps of a pipeline."""
    return {name.rsplit("__", 1)[-1] for name in clusterer.get_params()}


def _adapted_parameters(parameters: dict[str, Any], half: Any, rows: Any, share: float) -> dict[str, Any]:
    """Return the parameters of one estimator that change for ``half``, a share of all rows."""
    from sklearn.metrics import euclidean_distances

    changes: dict[str, Any] = {}
    count: Any = parameters.get("min_samples")
    has_radius = _is_number(parameters.get("eps")) and _is_count(count)
    if count is None and "min_samples" in parameters:  # HDBSCAN's default
        parameters = parameters | {"min_samples": parameters.get("min_cluster_size")}
    for name, value in parameters.items():
        if name in _LIMITS and _is_count(value):
            changes[name] = min(int(value), half.shape[0])
        elif name in _COUNTS and _is_count(value) and not has_radius:
            changes[name] = max(min(int(value), _FLOOR), ceil(share * int(value)))
    if has_radius:
        changes["eps"] = float(parameters["eps"]) * _radius_ratio(half, rows, int(count), share, parameters)
    if "preference" in parameters and "damping" in parameters and np.ndim(parameters["preference"]) == 0:
        preference = parameters["preference"]
        if preference is None:  # affinity propagation's default, the median similarity
            is_matrix = parameters.get("affinity") == "precomputed"
            preference = np.median(half if is_matrix else -euclidean_distances(half, squared=True))
        changes["preference"] = share * float(preference)
    if _is_number(parameters.get("distance_threshold")) and parameters.get("linkage") == "ward":
        changes["distance_threshold"] = float(parameters["distance_threshold"]) * share**0.5
    return changes


def _is_count(parameter: Any) -> bool:
    """Tell whether a parameter of a clusterer counts rows or clusters."""
    return isinstance(parameter, Integral) and not isinstance(parameter, bool)


def _is_number(parameter: Any) -> bool:
    """Tell whether a parameter of a clusterer is a number, such as a radius."""
    return isinstance(parameter, Real) and not isinstance(parameter, bool)


def _radius_ratio(half: Any, rows: Any, count: int, share: float, parameters: dict[str, Any]) -> float:
    """Return the factor that adapts the radius of DBSCAN: the ratio of median distances to the ``count``-th neighbor.

    If ``rows`` is itself a sample, the distance is extrapolated as a power of the number of rows.
    """
    from sklearn.neighbors import NearestNeighbors

    names = ("metric", "p", "metric_params", "algorithm")
    metric = {name: parameters[name] for name in names if parameters.get(name) is not None}

    def median_distance(rows: Any) -> float:
        neighbors = NearestNeighbors(n_neighbors=min(count + 1, rows.shape[0]), **metric).fit(rows)
        return float(np.median(neighbors.kneighbors(rows[:SUBSAMPLE_ROWS])[0][:, -1]))

    here_share = half.shape[0] / rows.shape[0]
    here, there = median_distance(half), median_distance(rows)
    if not (here_share < 1.0 and 0.0 < there < here):
        return 1.0
    return float((here / there) ** (np.log(share) / np.log(here_share)))
