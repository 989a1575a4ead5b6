"""k-means with any Bregman divergence."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from allegiance._core import AnyArray, FloatArray, check_centers, check_count, check_number, resolve_seed, stream
from allegiance.influence import BregmanDivergence, check_rows_inside, divergence_by_name


class _Run(NamedTuple):
    """Where one start of the algorithm ended."""

    centers: FloatArray
    labels: AnyArray
    inertia: float
    n_iter: int


class BregmanKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Cluster by divergence from the mean.

    Whatever the Bregman divergence, the mean of a cluster is the point from which its members diverge least, so that
    Lloyd's algorithm needs no change but the divergence (Banerjee et al., 2005).

    Parameters
    ----------
    n_clusters
        The number of clusters.
    divergence
        "euclidean" (squared distance), "kl", "itakura-saito", "logistic", "exponential" or a
        :class:`BregmanDivergence`.
    smoothing
        Added to every entry of X before divergences are computed: for zeros in counts or shares.
    init
        "k-means++", which draws starting centres that diverge from each other, or the centres (n_clusters, d).
    n_init
        How often to start anew; the run with the lowest inertia is kept. Centres that are given start once.
    max_iter
        Most iterations of one run.
    tol
        A run ends when an iteration lowers the inertia by no more than this share of it.
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
        Iterations of the best run.
    n_features_in_, feature_names_in_
        The number and names of the columns of X.

    Examples
    --------
    >>> import numpy as np
    >>> from allegiance.clusterers import BregmanKMeans
    >>> counts = np.array([[9, 1], [8, 1], [1, 7], [2, 9]])
    >>> model = BregmanKMeans(2, divergence="kl", random_state=0).fit(counts)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        divergence: str | BregmanDivergence = "kl",
        smoothing: float = 0.0,
        init: Any = "k-means++",
        n_init: int = 5,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.divergence = divergence
        self.smoothing = smoothing
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
        k, starts = check_count(self.n_clusters, "n_clusters"), check_count(self.n_init, "n_init")
        check_count(self.max_iter, "max_iter")
        check_number(self.tol, "tol", low=0.0, closed=True)
        points = self._points(X, reset=True)
        if points.shape[0] < k:
            raise ValueError(f"n_samples={points.shape[0]} must be at least n_clusters={k}.")
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise ValueError("sample_weight is zero for every row: nothing is left to cluster.")
        lloyd = _Lloyd(points, weights, self._generator(), self.max_iter, float(self.tol))
        if isinstance(self.init, str):
            if self.init != "k-means++":
                raise ValueError(f"init must be 'k-means++' or an array of centres, got {self.init!r}.")
            seed = resolve_seed(self.random_state)
            runs = [lloyd.run(lloyd.seeds(k, stream(seed, i))) for i in range(starts)]
        else:
            runs = [lloyd.run(self._given_centers(k, points.shape[1]))]
        best = min(runs, key=lambda run: run.inertia)
        self.cluster_centers_ = best.centers - self.smoothing
        self.labels_, self.inertia_, self.n_iter_ = best.labels, best.inertia, best.n_iter
        self._n_features_out = k
        _warn_if_empty(best.labels, k)
        return self

    def predict(self, X: Any) -> AnyArray:
        """Return the number (n,) of the centre from which each row diverges least."""
        return self.transform(X).argmin(axis=1).astype(np.int32)

    def transform(self, X: Any) -> FloatArray:
        """Return the divergences (n, n_clusters) of rows from centres."""
        check_is_fitted(self)
        points = self._points(X, reset=False)
        return self._generator().between(points, self.cluster_centers_ + self.smoothing)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the inertia of X."""
        nearest = self.transform(X).min(axis=1)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        return -float(nearest @ weights)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64"]
        tags.input_tags.positive_only = self.divergence in ("kl", "itakura-saito")
        return tags

    def _generator(self) -> BregmanDivergence:
        if isinstance(self.divergence, BregmanDivergence):
            return self.divergence
        return divergence_by_name("squared" if self.divergence == "euclidean" else self.divergence)

    def _points(self, X: Any, *, reset: bool) -> FloatArray:
        """Return X as the divergence meets it: float64, smoothed, inside the domain."""
        check_number(self.smoothing, "smoothing", low=0.0, closed=True)
        rows = validate_data(self, X, dtype=np.float64, reset=reset)
        if self.__sklearn_tags__().input_tags.positive_only and rows.min(initial=0.0) < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}: {self.divergence!r} needs y > 0."
            )
        rows = rows + self.smoothing if self.smoothing else rows
        generator = self._generator()
        if reset:
            generator.check(rows.shape[1])
        check_rows_inside(rows, generator)
        return rows

    def _given_centers(self, k: int, d: int) -> FloatArray:
        centers = check_centers(self.init, d) + self.smoothing
        if centers.shape[0] != k:
            raise ValueError(f"init has {centers.shape[0]} centres but n_clusters is {k}: they must be equal.")
        check_rows_inside(centers, self._generator(), "init")
        return centers


class _Lloyd:
    """Assignment and means in turn.

    Divergences are D(x ‖ c) = D(x ‖ m) + D(m ‖ c) - <∇phi(c) - ∇phi(m), x - m> with m the mean of the data: the first
    term is computed once, and the rest is one matrix product.
    """

    def __init__(
        self, X: FloatArray, weights: FloatArray, divergence: BregmanDivergence, max_iter: int, tol: float
    ) -> None:
        self.X, self.weights, self.divergence = X, weights, divergence
        self.max_iter, self.tol = max_iter, tol
        self.mean = weights @ X / weights.sum()
        self.from_mean = divergence.rowwise(X, self.mean)
        self.centred = X - self.mean

    def away(self, centers: FloatArray) -> FloatArray:
        """Return divergences (n, k) of all rows from centres (k, d)."""
        out = self.centred @ self.divergence.slopes(centers, self.mean).T
        np.subtract(self.divergence.rowwise(self.mean, centers), out, out=out)
        out += self.from_mean[:, None]
        return np.maximum(out, 0.0, out=out)

    def seeds(self, k: int, rng: np.random.Generator) -> FloatArray:
        """Draw k rows, each with probability proportional to its divergence from those before, best of some trials.

        Rows are drawn in the order of their divergence from the mean, not of their numbers, so that weights do what
        repeated rows do, and shuffled rows give the same centres.
        """
        order = np.argsort(self.from_mean, kind="stable")
        trials = 2 + int(np.log(k))
        chosen = _draw(self.weights, order, rng.random(1))
        nearest = self.away(self.X[chosen])[:, 0]
        for _ in range(k - 1):
            mass = self.weights * nearest
            candidates = _draw(mass if mass.any() else self.weights, order, rng.random(trials))
            closer = np.minimum(nearest[:, None], self.away(self.X[candidates]))
            best = int((self.weights @ closer).argmin())
            chosen = np.append(chosen, candidates[best])
            nearest = closer[:, best]
        return self.X[chosen]

    def run(self, centers: FloatArray) -> _Run:
        """Iterate from some centres (k, d) until little changes."""
        labels, nearest = self._assign(centers)
        inertia = float(self.weights @ nearest)
        n_iter, settled = 0, False
        while n_iter < self.max_iter and not settled:
            n_iter += 1
            labels = self._fill_empty(labels, nearest, centers.shape[0])
            centers = self._means(labels, centers)
            before, (now, nearest) = inertia, self._assign(centers)
            inertia = float(self.weights @ nearest)
            settled = bool((now == labels).all()) or before - inertia <= self.tol * before
            labels = now
        return _Run(centers, labels.astype(np.int32), inertia, n_iter)

    def _assign(self, centers: FloatArray) -> tuple[AnyArray, FloatArray]:
        away = self.away(centers)
        labels = away.argmin(axis=1)
        return labels, away[np.arange(labels.size), labels]

    def _fill_empty(self, labels: AnyArray, nearest: FloatArray, k: int) -> AnyArray:
        """Give every cluster without weight the row that its own centre serves worst."""
        empty = np.flatnonzero(np.bincount(labels, self.weights, minlength=k) == 0)
        if not empty.size:
            return labels
        loss = self.weights * nearest
        worst = np.argsort(-loss, kind="stable")[: empty.size]
        worst = worst[loss[worst] > 0]
        labels = labels.copy()
        labels[worst] = empty[: worst.size]
        return labels

    def _means(self, labels: AnyArray, centers: FloatArray) -> FloatArray:
        """Return the weighted mean of every cluster; one that is still without weight keeps its centre."""
        k = centers.shape[0]
        total = np.bincount(labels, self.weights, minlength=k)
        sums = np.zeros_like(centers)
        for i in np.flatnonzero(total):
            members = labels == i
            sums[i] = self.weights[members] @ self.centred[members]
        means = self.mean + sums / np.where(total > 0, total, 1.0)[:, None]
        return np.where(total[:, None] > 0, means, centers)


def _warn_if_empty(labels: AnyArray, k: int) -> None:
    distinct = np.unique(labels).size
    if distinct < k:
        warnings.warn(
            f"only {distinct} of n_clusters={k} clusters have points: are there duplicates in X?",
            ConvergenceWarning,
            stacklevel=3,
        )


def _draw(mass: FloatArray, order: AnyArray, uniform: FloatArray) -> AnyArray:
    """Return rows drawn in proportion to ``mass`` (n,), for uniform numbers (m,)."""
    heap = np.cumsum(mass[order])
    places = np.searchsorted(heap, uniform * heap[-1], side="right")
    rows: AnyArray = order[np.minimum(places, np.flatnonzero(mass[order])[-1])]
    return rows
