"""k-means with any Bregman divergence."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from allegiance._core import FloatArray, IntArray, check_centers, resolve_seed
from allegiance.influence import (
    INFLUENCES,
    KL,
    BregmanDivergence,
    BregmanInfluence,
    Euclidean,
    Influence,
    ItakuraSaito,
    divergence_by_name,
)

from ._bregman_space import BregmanSpace
from ._lloyd import Clustering, Lloyd, warn_if_empty


class BregmanKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Cluster by divergence from the mean.

    Whatever the Bregman divergence, the mean of a cluster is the point from which its members diverge least, so that
    only the divergence in Lloyd's algorithm changes (Banerjee et al., 2005).

    Parameters
    ----------
    n_clusters
        The number of clusters.
    influence
        What divergence: "euclidean" (squared distance), "kl", "itakura-saito" or "logistic"; or an object such as
        ``KL(smoothing=0.5)`` for counts with zeros, or :class:`Bregman` for a divergence of your own.
    init
        "k-means++", which draws starting centres that diverge from each other, or the centres (n_clusters, d).
    n_init
        Number of starts; the one with the lowest inertia is kept. Centres that are given start once.
    max_iter
        Maximum number of iterations of one start.
    tol
        Stop when an iteration lowers the inertia by no more than this share.
    random_state
        Seed, generator, or None for a new seed at each fit.

    Attributes
    ----------
    cluster_centers_
        (n_clusters, d) means of the clusters, smoothing not included.
    labels_
        (n,) cluster of each row.
    inertia_
        Sum of the divergences of all rows from their centres, times their weights.
    n_iter_
        Iterations of the start that was kept.
    n_features_in_, feature_names_in_
        The number and names of the columns of X.

    Examples
    --------
    >>> import numpy as np
    >>> from allegiance.clusterers import BregmanKMeans
    >>> counts = np.array([[9, 1], [8, 1], [1, 7], [2, 9]])
    >>> model = BregmanKMeans(2, influence="kl", random_state=0).fit(counts)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        influence: str | Influence = "kl",
        init: Any = "k-means++",
        n_init: int = 5,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.influence = influence
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> BregmanKMeans:
        """Find the clusters.

        Parameters
        ----------
        X
            (n, d) data inside the domain of the divergence.
        y
            Ignored.
        sample_weight
            (n,) weights, not negative: a weight of 2 counts as two equal rows.
        """
        lloyd = Lloyd.of(self)
        influence, divergence = self._resolved()
        points = self._points(X, influence, reset=True)
        divergence.check(points.shape[1])
        space = BregmanSpace(points, lloyd.check_rows(points, sample_weight), divergence)
        best = self._cluster(lloyd, space, influence)
        warn_if_empty(best.n_found, lloyd.n_clusters, stacklevel=2)
        centers = space.means(best.codes, np.arange(best.n_found))
        # Clusters without members have the first centre, which is the nearest one before them.
        everyone = np.where(np.arange(lloyd.n_clusters) < best.n_found, np.arange(lloyd.n_clusters), 0)
        self.cluster_centers_ = influence.restore(centers[everyone])
        self.labels_, self.inertia_, self.n_iter_ = best.labels.astype(np.int32), best.inertia, best.n_iter
        self._n_features_out = lloyd.n_clusters
        return self

    def predict(self, X: Any) -> IntArray:
        """Return the number (n,) of the centre from which each row diverges least."""
        return self.transform(X).argmin(axis=1).astype(np.int32)

    def transform(self, X: Any) -> FloatArray:
        """Return the divergences (n, n_clusters) of rows from centres."""
        check_is_fitted(self)
        influence, divergence = self._resolved()
        points = self._points(X, influence, reset=False)
        return divergence.between(points, influence.prepare(self.cluster_centers_, "cluster_centers_"))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the inertia of X."""
        nearest = self.transform(X).min(axis=1)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        return -float(nearest @ weights)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64"]
        named = isinstance(self.influence, str) and self.influence in ("kl", "itakura-saito")
        tags.input_tags.positive_only = named or isinstance(self.influence, KL | ItakuraSaito)
        return tags

    def _resolved(self) -> tuple[Influence, BregmanDivergence]:
        influence = INFLUENCES.resolve(self.influence)
        if isinstance(influence, Euclidean):
            return influence, divergence_by_name("squared")
        if isinstance(influence, BregmanInfluence):
            return influence, influence.divergence
        kinds = (Euclidean, BregmanInfluence)
        served = [name for name, cls in INFLUENCES.items() if isinstance(cls, type) and issubclass(cls, kinds)]
        raise ValueError(
            f"influence of BregmanKMeans must be one of {', '.join(map(repr, served))}, or a Bregman object, got "
            f"{self.influence!r}."
        )

    def _points(self, X: Any, influence: Influence, *, reset: bool) -> FloatArray:
        """Return X as the divergence needs it: float64, smoothed, inside the domain."""
        rows = validate_data(self, X, dtype=np.float64, reset=reset)
        if self.__sklearn_tags__().input_tags.positive_only and rows.min(initial=0.0) < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}: influence={self.influence!r} needs X > 0."
            )
        points: FloatArray = influence.prepare(rows)
        return points

    def _cluster(self, lloyd: Lloyd, space: BregmanSpace, influence: Influence) -> Clustering:
        """Start from seeds, or from the centres given."""
        if isinstance(self.init, str):
            if self.init != "k-means++":
                raise ValueError(f"init must be 'k-means++' or an array of centres, got {self.init!r}.")
            return lloyd.best_start(space, resolve_seed(self.random_state))
        given = check_centers(self.init, space.X.shape[1])
        if given.shape[0] != lloyd.n_clusters:
            raise ValueError(
                f"init has {given.shape[0]} centres but n_clusters is {lloyd.n_clusters}: they must be equal."
            )
        centers = influence.prepare(given, "init")
        return lloyd.run(space, space.from_centers(centers).argmin(axis=1))
