"""What displays are given: checks with errors that say what to do."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from allegiance._core import AnyArray, FloatArray, IntArray, Rows, check_rows, dense
from allegiance._scorer import AffinityScorer
from allegiance.results import NO_LABEL, AffinityResult


def check_scorer(scorer: Any, caller: str, *given: Any) -> tuple[Any, ...]:
    """Return a fitted scorer of two features or more, or say how to get one; and data for it, None or points.

    Pictures show the space that the clusters are in: behind the transformers of a pipeline, the scorer returned is one
    for points there, and data is brought there.
    """
    if isinstance(scorer, AffinityResult):
        raise TypeError(
            f"{caller} needs the fitted AffinityScorer, not its result, which keeps no diagram: "
            "fit AffinityScorer().fit(X, labels)."
        )
    if not isinstance(scorer, AffinityScorer):
        raise TypeError(
            f"{caller} needs a fitted AffinityScorer, got {type(scorer).__name__}: wrap a clusterer as "
            "AffinityScorer(clusterer).fit(X), or labels as AffinityScorer().fit(X, labels)."
        )
    check_is_fitted(scorer)
    if scorer.preparation_ is not None:
        given = tuple(None if X is None else scorer.preparation_.transform(_as_rows(X)) for X in given)
        bare = copy(scorer)
        bare._set_fitted(scorer.fitted_.without_preprocessing())
        # For the axes only: what transformers make are arrays, whose columns have no names to compare.
        bare.names_of_axes = scorer.fitted_.columns.prepared_names
        scorer = bare
    if scorer.n_features_in_ < 2:
        raise ValueError(
            f"{caller} draws a plane, but the scorer was fitted on one feature: use AffinityProfileDisplay."
        )
    return scorer, *given


def _as_rows(X: Any) -> Any:
    """Return one point given as a vector as a row."""
    return X.reshape(1, -1) if isinstance(X, np.ndarray) and X.ndim == 1 else X


def check_result(result: Any, caller: str) -> AffinityResult:
    """Return a result, or say how to get one."""
    if not isinstance(result, AffinityResult):
        raise TypeError(
            f"{caller} needs an AffinityResult, got {type(result).__name__}: call trust(X, labels), or "
            "scorer.affinity(X)."
        )
    return result


def check_data_of(result: AffinityResult, X: Any, name: str = "X") -> Any:
    """Return X, as it is, if it has one row for each point of the result."""
    rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if rows != result.n_points:
        raise ValueError(f"{name} has {rows} rows but result has {result.n_points} points: they must be equal.")
    return X


def check_query(scorer: AffinityScorer, query: Any) -> FloatArray:
    """Return one point as a row (1, d)."""
    values = np.asarray(query, dtype=np.float64)
    d = scorer.n_features_in_
    if values.shape not in ((d,), (1, d)):
        raise ValueError(f"query must be one point of {d} features, such as X[0], got shape {values.shape}.")
    if not np.isfinite(values).all():
        raise ValueError("query contains NaN or infinity.")
    scorer.fitted_.influence.prepare(values.reshape(1, d), "query")
    return values.reshape(1, d)


def check_plotted_rows(scorer: AffinityScorer, X: Any) -> Rows:
    """Return X as the scorer takes it, in double precision."""
    rows = check_rows(scorer, X, reset=False)
    return rows.astype(np.float64) if hasattr(rows, "tocsr") else dense(rows)


def check_class(value: Any, classes: AnyArray, name: str) -> int:
    """Return the number of the cluster with this label."""
    found = np.flatnonzero(classes.astype(str) == str(value))
    if not found.size:
        known = ", ".join(repr(label) for label in classes.tolist())
        raise ValueError(f"{name} must be 'trust', 'confidence' or the label of a cluster ({known}), got {value!r}.")
    return int(found[0])


def check_one_label_per_row(labels: Any, n: int) -> AnyArray:
    """Return labels (n,)."""
    values = np.asarray(labels)
    if values.shape != (n,):
        raise ValueError(f"labels must hold one label for each of the {n} rows of X, got shape {values.shape}.")
    return values


def feature_names_of(scorer: AffinityScorer) -> list[str]:
    """Return the names of the features, numbered if X had none."""
    names = getattr(scorer, "names_of_axes", None)
    names = getattr(scorer, "feature_names_in_", None) if names is None else names
    return [f"feature {i}" for i in range(scorer.n_features_in_)] if names is None else [str(name) for name in names]


def require_cells(scorer: AffinityScorer, caller: str) -> AffinityScorer:
    """Return a scorer whose cells have straight sides in the space of X."""
    if not scorer.fitted_.influence.flat_sides:
        raise ValueError(
            f"{caller} draws cells with straight sides, which influence={scorer.fitted_.influence!r} does not have in "
            "the space of X: use AffinityMapDisplay, which scores every place, or use another influence."
        )
    return scorer


def members_of(result: AffinityResult) -> list[tuple[Any, IntArray]]:
    """Return each cluster's label with the rows of its points; noise is left out."""
    return [(name, np.flatnonzero(result.codes == code)) for code, name in enumerate(result.classes.tolist())]


def ranked_by(result: AffinityResult) -> str:
    """Return what labels are ranked by: "trust", or "own_affinity" without calibration."""
    return "trust" if result.calibrated else "own_affinity"


def names_with_noise(result: AffinityResult) -> AnyArray:
    """Return the labels of the clusters, and "noise" last if there is any."""
    names = result.classes.tolist()
    return names_as_array([*names, NO_LABEL] if result.noise.any() else names)


def names_as_array(names: list[Any]) -> AnyArray:
    """Return names of clusters as an array: numbers stay numbers unless noise is among them."""
    mixed = len({isinstance(name, str) for name in names}) > 1
    return np.array([str(name) for name in names] if mixed else names)


def shortened(text: str, length: int) -> str:
    """Return a text of at most ``length`` characters, its middle left out if need be."""
    if len(text) <= length:
        return text
    tail = max(length - 1, 1) // 2
    return text[: max(length - 1 - tail, 0)] + "…" + text[-tail:]
