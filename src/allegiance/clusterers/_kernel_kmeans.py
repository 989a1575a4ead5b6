"""k-means in the feature space of a kernel."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from allegiance._core import IntArray, check_rows, resolve_seed
from allegiance.influence import Kernel

from ._kernel_space import kernel_space
from ._lloyd import Lloyd, warn_if_empty


class KernelKMeans(ClusterMixin, BaseEstimator):
    """Cluster by squared distance to the means in the feature space of a kernel.

    Up to 5,000 rows all kernel values are kept; for more, every iteration computes them again in blocks, which takes
    n² kernel values of time but only O(n) memory besides the data. The clusters do not depend on the order of the rows,
    and a weight of 2 is the same as a row given twice, unless ``kernel="precomputed"``.

    Parameters
    ----------
    n_clusters
        The number of clusters.
    kernel
        "linear", "rbf", "polynomial", "laplacian", "cosine", "precomputed", a function k(X, Y) -> (n, m), or
        :class:`Kernel` with parameters. With an approximation, such as ``Kernel("rbf", approximation=Nystroem(500))``,
        time and memory are linear in n.
    n_init
        Number of starts, each from another k-means++ seeding; the one with the lowest inertia is kept.
    max_iter
        Maximum number of iterations of one start.
    tol
        Stop when an iteration lowers the inertia by no more than this share.
    random_state
        Seed, generator, or None for a new seed at each fit.

    Attributes
    ----------
    labels_
        (n,) cluster of each row.
    inertia_
        Weighted sum of squared distances, in feature space, of the rows to the means of their clusters.
    n_iter_
        Iterations of the start that was kept.
    n_features_in_
        The number of columns of X.
    feature_names_in_
        Names of the columns of X, if it had any.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from allegiance import Kernel, KernelKMeans
    >>> X, ring = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    >>> labels = KernelKMeans(2, kernel=Kernel("rbf", gamma=5.0), random_state=0).fit_predict(X)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "rbf",
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelKMeans:
        """Find the clusters.

        Parameters
        ----------
        X
            (n, d) array, sparse matrix or frame; for "precomputed" the matrix (n, n) of kernel values.
        y
            Ignored.
        sample_weight
            (n,) weights of the rows, none negative; 0 leaves a row out of the means, but it gets a label.
        """
        lloyd, kernel, seed = Lloyd.of(self), Kernel.resolve(self.kernel), resolve_seed(self.random_state)
        X = check_rows(self, X, reset=True)
        weights = lloyd.check_rows(X, sample_weight)
        space = kernel_space(X, weights, kernel, seed)
        best = lloyd.best_start(space, seed)
        warn_if_empty(best.n_found, lloyd.n_clusters, stacklevel=2)
        self.labels_, self.inertia_, self.n_iter_ = best.labels, best.inertia, best.n_iter
        self._means = space.cluster_means(X, best.codes, best.n_found)
        return self

    def predict(self, X: Any) -> IntArray:
        """Return the nearest cluster (n,) of each row of X (n, d), or of kernel values (n, n_train)."""
        check_is_fitted(self)
        return self._means.nearest(check_rows(self, X, reset=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed" or self.kernel == Kernel("precomputed")
        return tags
