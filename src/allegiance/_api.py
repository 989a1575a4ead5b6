"""affinity and trust: the two functions that most users need."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from ._core.progress import Verbose
from ._core.validation import RandomState
from .calibration import Calibration, as_clusterer
from .domains import Domain
from .engines import Engine
from .influence import Influence, Weights
from .results import AffinityResult


def affinity(
    X: Any,
    labels: Any = None,
    *,
    centers: ArrayLike | None = None,
    influence: str | Influence = "within",
    weights: str | Weights | ArrayLike | None = None,
    representative: str = "mean",
    domain: str | Domain = "box",
    engine: str | Engine = "auto",
    eps: float = 0.03,
    calibration: int | Calibration | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = 0,
    verbose: Verbose = False,
    top: int | None = None,
) -> AffinityResult:
    """Score every point of a clustering by how much of its territory comes from each cluster.

    Suppose a point were a cluster of its own: it would take some territory from the existing clusters. Its affinity
    to a cluster is the share of that territory taken from it.

    Parameters
    ----------
    X
        (n, d) data: array, sparse matrix, or frame (pandas, polars). With a Dask array or frame the result is lazy.
    labels
        (n,) labels from any clustering; -1 means noise, which is scored but is not a cluster.
    centers
        (k, d) representatives, with or without labels.
    influence, weights
        What closeness means, and how important the clusters are. See :class:`AffinityScorer`; the paper's affinity is
        ``influence="euclidean"``.
    representative, domain, engine, eps
        Which point represents a cluster, and how volume is measured. See :class:`AffinityScorer`.
    calibration
        How trust is calibrated; None for no trust. See :func:`trust`.
    n_jobs, random_state, verbose
        As in :class:`AffinityScorer`.
    top
        Keep only this many of the largest affinities of each point, which saves memory if there are many clusters.
        None keeps all.

    Returns
    -------
    AffinityResult
        The affinities and everything derived from them, in the order of X.

    See Also
    --------
    trust : The probability that each label would hold up on a fresh sample.
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


def trust(
    X: Any,
    labels: Any = None,
    *,
    clusterer: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    centers: ArrayLike | None = None,
    influence: str | Influence = "within",
    weights: str | Weights | ArrayLike | None = None,
    representative: str = "mean",
    domain: str | Domain = "box",
    engine: str | Engine = "auto",
    eps: float = 0.03,
    n_resamples: int | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = 0,
    verbose: Verbose = False,
) -> AffinityResult:
    """Estimate the probability that each label would hold up on a fresh sample.

    Trust is the probability that a point gets the same cluster again when an independent sample of the same size from
    the same population is clustered with the same settings. A label that replicates can still be wrong, which the data
    alone cannot show: see :meth:`AffinityResult.audit_sample`.

    ``AffinityScorer(calibration=True).fit_affinity(X, labels)`` gives the same result.

    Parameters
    ----------
    X
        (n, d) data: array, sparse matrix, or frame (pandas, polars). With a Dask array or frame the result is lazy.
    labels
        (n,) labels from any clustering; -1 means noise, which has no trust. If you pass none, they come from
        ``clusterer``, or from the nearest of the ``centers`` by the influence ("within" needs labels first, so it uses
        Euclidean distance).
    clusterer
        The clusterer that made the labels, or that will make them: an estimator such as ``KMeans(8)``, a pipeline, or a
        function from X to labels. Clones of it are fitted to subsamples. With a pipeline, points are scored after its
        transformers, in the space that is clustered. With ``metric="precomputed"``, X is a square matrix. By default,
        the built-in clusterer that best reproduces the labels is the stand-in.
    groups
        (n,) group of each row, such as a patient, a batch or a user. Whole groups are sampled, so that trust is the
        probability that a label holds up in new groups.
    sample_weight
        (n,) weights of the rows, for clusterers that accept them.
    centers
        (k, d) representatives, with or without labels.
    influence, weights, representative, domain, engine, eps
        As in :func:`affinity`.
    n_resamples
        Number of subsamples to cluster. By default 20, or more if the Monte Carlo error is large: see
        :class:`Calibration`.
    n_jobs, random_state, verbose
        As in :class:`AffinityScorer`.

    Returns
    -------
    AffinityResult
        With ``trust``, ``verdict``, ``rival``, ``replication``, ``review()``, ``by_cluster()`` and ``audit_sample()``.

    See Also
    --------
    affinity : The scores that trust is built on.
    AffinityScorer : The same as a scikit-learn estimator, which also scores new points.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from allegiance import trust
    >>> X = StandardScaler().fit_transform(load_wine().data)
    >>> labels = KMeans(3, n_init=5, random_state=0).fit_predict(X)
    >>> result = trust(X, labels)
    >>> bool(result.replication > 0.8)
    True
    """
    from ._scorer import AffinityScorer

    if labels is None and centers is None and clusterer is None:
        raise ValueError("labels are missing: pass labels, clusterer=, such as KMeans(8), to make them, or centers=.")
    clusterer = None if clusterer is None else as_clusterer(clusterer)
    scorer = AffinityScorer(
        clusterer if labels is None and centers is None else None,
        centers=centers,
        influence=influence,
        weights=weights,
        representative=representative,
        domain=domain,
        engine=engine,
        eps=eps,
        calibration=Calibration(n_resamples, clusterer=clusterer, groups=groups, sample_weight=sample_weight),
        n_jobs=n_jobs,
        random_state=random_state,
        verbose=verbose,
    )
    return scorer.fit_affinity(X, labels)
