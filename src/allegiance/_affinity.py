"""The function most users need."""

from __future__ import annotations

from typing import Any, overload

from .results._result import AffinityResult
from .results._top import TopAffinityResult


# For type checkers: what comes back depends on ``top`` alone. The settings are spelt out below, once.
@overload
def affinity(X: Any, labels: Any = None, *, top: None = None, **settings: Any) -> AffinityResult: ...


@overload
def affinity(X: Any, labels: Any = None, *, top: int, **settings: Any) -> TopAffinityResult: ...


def affinity(  # type: ignore[misc]
    X: Any,
    labels: Any = None,
    *,
    centers: Any = None,
    divergence: Any = "euclidean",
    covariance: Any = None,
    shrinkage: str = "ledoit-wolf",
    smoothing: float = 0.0,
    kernel: Any = None,
    kernel_params: dict[str, Any] | None = None,
    kernel_approximation: str | None = None,
    n_components: int = 500,
    weights: Any = None,
    query_weight: float | None = None,
    weight_scale: float | str = 1.0,
    representative: str = "mean",
    leave_one_out: bool = False,
    domain: Any = "box",
    margin: float = 0.1,
    method: str = "auto",
    eps: float = 0.03,
    max_samples: int = 1_000_000,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: bool = False,
    top: int | None = None,
) -> AffinityResult | TopAffinityResult:
    """Score every point of a clustering: how much of its territory comes from each cluster.

    Suppose a point were a cluster of its own: it would take some territory from the existing clusters. Its affinity
    to a cluster is the share of that territory taken from it. A point that takes more than half from one cluster is
    stable; the others are the ones to review.

    Parameters
    ----------
    X
        (n, d) data: array, sparse matrix, or frame (pandas, polars); or a Dask array or frame, and the result is lazy.
    labels
        (n,) labels from any clustering; -1 means noise, which is scored but is no cluster.
    centers
        (k, d) representatives, instead of the labels or beside them.
    divergence, covariance, shrinkage, smoothing, kernel, kernel_params, kernel_approximation, n_components
        What closeness means: as in :class:`AffinityScorer`.
    weights, query_weight, weight_scale
        How important the clusters are: as in :class:`AffinityScorer`.
    representative, leave_one_out, domain, margin, method, eps, max_samples, n_jobs, random_state, verbose
        What stands for a cluster, and how volume is measured: as in :class:`AffinityScorer`.
    top
        Keep only this many of the largest affinities of each point: for many clusters. None keeps all.

    Returns
    -------
    AffinityResult or TopAffinityResult
        Affinities and what follows from them, in the order of X; the second with ``top``.

    See Also
    --------
    AffinityScorer : The same as a scikit-learn estimator, which also scores new points.

    Examples
    --------
    >>> import numpy as np
    >>> from allegiance import affinity
    >>> X = np.array([[0.0], [1.0], [4.0], [9.0], [10.0]])
    >>> result = affinity(X, [0, 0, 0, 1, 1], centers=[[0.0], [10.0]])
    >>> result.affinity.round(2)
    array([[1. , 0. ],
           [0.9, 0.1],
           [0.6, 0.4],
           [0.1, 0.9],
           [0. , 1. ]])
    """
    from ._scorer import AffinityScorer

    scorer = AffinityScorer(
        centers=centers,
        divergence=divergence,
        covariance=covariance,
        shrinkage=shrinkage,
        smoothing=smoothing,
        kernel=kernel,
        kernel_params=kernel_params,
        kernel_approximation=kernel_approximation,
        n_components=n_components,
        weights=weights,
        query_weight=query_weight,
        weight_scale=weight_scale,
        representative=representative,
        leave_one_out=leave_one_out,
        domain=domain,
        margin=margin,
        method=method,
        eps=eps,
        max_samples=max_samples,
        n_jobs=n_jobs,
        random_state=random_state,
        verbose=verbose,
    )
    return scorer.fit_affinity(X, labels, top=top)
