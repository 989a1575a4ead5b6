"""affinity: how much of each point's territory comes from each cluster."""

from __future__ import annotations

from typing import Any, Literal, overload

from numpy.typing import ArrayLike

from ._core import RandomState, Verbose
from .calibration import Calibration
from .domains import Domain
from .engines import Engine
from .influence import Influence, Weights
from .results import AffinityResult, TopAffinityResult


@overload
def affinity(
    X: Any,
    labels: Any = None,
    *,
    centers: ArrayLike | None = None,
    influence: str | Influence = "euclidean",
    weights: str | Weights | ArrayLike | None = None,
    representative: str = "mean",
    domain: str | Domain = "box",
    engine: str | Engine = "auto",
    eps: float | Literal["verdict"] = 0.03,
    calibration: int | Calibration | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = 0,
    verbose: Verbose = False,
    top: None = None,
) -> AffinityResult: ...


@overload
def affinity(
    X: Any,
    labels: Any = None,
    *,
    centers: ArrayLike | None = None,
    influence: str | Influence = "euclidean",
    weights: str | Weights | ArrayLike | None = None,
    representative: str = "mean",
    domain: str | Domain = "box",
    engine: str | Engine = "auto",
    eps: float | Literal["verdict"] = 0.03,
    calibration: int | Calibration | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = 0,
    verbose: Verbose = False,
    top: int,
) -> TopAffinityResult: ...


def affinity(
    X: Any,
    labels: Any = None,
    *,
    centers: ArrayLike | None = None,
    influence: str | Influence = "euclidean",
    weights: str | Weights | ArrayLike | None = None,
    representative: str = "mean",
    domain: str | Domain = "box",
    engine: str | Engine = "auto",
    eps: float | Literal["verdict"] = 0.03,
    calibration: int | Calibration | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = 0,
    verbose: Verbose = False,
    top: int | None = None,
) -> AffinityResult | TopAffinityResult:
    """Score every point of a clustering: how much of its territory comes from each cluster.

    Suppose a point were a cluster of its own: it would take some territory from the existing clusters. Its affinity
    to a cluster is the share of that territory taken from it.

    Parameters
    ----------
    X
        (n, d) data: array, sparse matrix, or frame (pandas, polars); or a Dask array or frame, and the result is lazy.
    labels
        (n,) labels from any clustering; -1 means noise, which is scored but is not a cluster.
    centers
        (k, d) representatives, instead of the labels or beside them.
    influence, weights
        What closeness means, and how important the clusters are: as in :class:`AffinityScorer`.
    representative, domain, engine, eps
        What stands for a cluster, and how volume is measured: as in :class:`AffinityScorer`.
    calibration
        How trust is calibrated; None for no trust. See :func:`trust`.
    n_jobs, random_state, verbose
        As in :class:`AffinityScorer`.
    top
        Keep only this many of the largest affinities of each point: for many clusters. None keeps all.

    Returns
    -------
    AffinityResult or TopAffinityResult
        Affinities and what follows from them, in the order of X; the second with ``top``.

    See Also
    --------
    trust : The chance that each label holds, built on it.
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
        influence=influence,
        weights=weights,
        representative=representative,
        domain=domain,
        engine=engine,
        eps=eps,
        calibration=calibration,
        n_jobs=n_jobs,
        random_state=random_state,
        verbose=verbose,
    )
    return scorer.fit_affinity(X, labels, top=top)
