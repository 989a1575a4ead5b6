"""The clusterings that a consensus is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.metrics import euclidean_distances
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from allegiance._core import AnyArray, FloatArray, Rows, dense, for_row_blocks, is_sparse, stream
from allegiance.fitting import cluster

LINKAGES: tuple[Literal["single", "average", "complete", "ward"], ...] = ("single", "average", "complete", "ward")
#: Most rows whose distances are held: twice 1.6 GB.
MOST_ROWS = 20_000
#: Rows whose distances to all others are computed at a time.
_ROWS = 128


def base_labelings(clusterings: Any, X: Any, n_rows: int) -> dict[str, AnyArray]:
    """Return the labels (n,) that each clustering gives the rows of X (n, d), by name.

    Parameters
    ----------
    clusterings
        A list, or a dictionary by name, of labels (n,), of clusterers to fit, and of fitted clusterers to ask.
    X
        (n, d) the data as the user passed it, so that a clusterer sees the frame that it may want.
    n_rows
        The number n of its rows.
    """
    named = clusterings.items() if isinstance(clusterings, Mapping) else ((None, each) for each in _listed(clusterings))
    labelings: dict[str, AnyArray] = {}
    for i, (name, clustering) in enumerate(named):
        labels = _labels_of(clustering, X, n_rows, f"clusterings[{i if name is None else name!r}]")
        labelings[_unused(name, clustering, labelings)] = labels
    if not labelings:
        raise ValueError("clusterings is empty: give at least one, or None for the default ones.")
    return labelings


def accept_sparse(clusterings: Any) -> bool:
    """Tell whether all clusterers among ``clusterings``, as in :func:`base_labelings`, take sparse data."""
    each = clusterings.values() if isinstance(clusterings, Mapping) else clusterings
    if each is None or not hasattr(each, "__iter__"):
        return True
    clusterers = [one for one in each if hasattr(one, "__sklearn_tags__") and not isinstance(one, type)]
    return all(get_tags(one).input_tags.sparse for one in clusterers)


def default_labelings(X: Rows, n_clusters: int, seed: int, threads: int) -> dict[str, AnyArray]:
    """Cluster X (n, d) by k-means and by single, average, complete and Ward linkage.

    All linkages share the n (n - 1) / 2 distances, which SciPy copies once: 16 bytes a pair in all.
    """
    n = X.shape[0]
    if n > MOST_ROWS:
        raise ValueError(
            f"clusterings=None would hold the distances of all pairs of {n:,} rows, {8e-9 * n * n:.0f} GB: give "
            f"clusterings of your own for more than {MOST_ROWS:,} rows."
        )
    from scipy.cluster.hierarchy import linkage

    kmeans = KMeans(n_clusters, n_init=10, random_state=int(stream(seed, *b"k-means").integers(2**31)))
    labelings = {"k-means": np.asarray(kmeans.fit(X).labels_)}
    if n == n_clusters:  # and a single row has no tree
        return labelings | {method: np.arange(n) for method in LINKAGES}
    distances = _condensed_distances(X, threads)
    for method in LINKAGES:
        labelings[method] = _cut(linkage(distances, method), n_clusters)
    return labelings


def _condensed_distances(X: Rows, threads: int) -> FloatArray:
    """Return the distances of rows i < j, row after row, as SciPy's linkage reads them."""
    n = X.shape[0]
    if not is_sparse(X):
        X = dense(X)
        X = X - X.mean(axis=0)  # a common offset would cost digits
    distances = np.empty(n * (n - 1) // 2)
    starts = np.concatenate([[0], np.cumsum(np.arange(n - 1, 0, -1))])

    def fill(rows: slice) -> None:
        for start in range(rows.start, rows.stop, _ROWS):
            stop = min(start + _ROWS, rows.stop)
            with np.errstate(over="ignore", invalid="ignore"):
                block = euclidean_distances(X[start:stop], X[start:])
            for i in range(start, stop):
                distances[starts[i] : starts[i] + n - 1 - i] = block[i - start, i - start + 1 :]

    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        for_row_blocks(fill, n, threads, multiple=_ROWS)
    if not np.isfinite(distances).all():
        raise ValueError("X is too large for distances: scale it down.")
    return distances


def _cut(tree: FloatArray, n_clusters: int) -> AnyArray:
    """Return labels (n,) of exactly ``n_clusters`` clusters, by leaving out the last merges of a tree (n - 1, 4)."""
    n = tree.shape[0] + 1
    merges = n - n_clusters
    children = tree[:merges, :2].astype(np.int64)
    parents = np.arange(n, n + merges)
    edges = sp.coo_array(
        (np.ones(2 * merges), (children.ravel(order="F"), np.concatenate([parents, parents]))), shape=(2 * n, 2 * n)
    )
    from scipy.sparse.csgraph import connected_components

    _, component = connected_components(edges, directed=False)
    return np.unique(component[:n], return_inverse=True)[1]


def _listed(clusterings: Any) -> list[Any]:
    if isinstance(clusterings, str) or not hasattr(clusterings, "__iter__"):
        raise TypeError(
            "clusterings must be a list, or a dictionary by name, of labels and clusterers, "
            f"got {type(clusterings).__name__}."
        )
    return list(clusterings)


def _labels_of(clustering: Any, X: Any, n_rows: int, where: str) -> AnyArray:
    if isinstance(clustering, type) or not hasattr(clustering, "fit"):
        if np.ndim(clustering) != 1:
            raise TypeError(f"{where} must be a clusterer or one label per row of X, got {clustering!r}.")
        return np.asarray(clustering)
    try:
        check_is_fitted(clustering)
    except NotFittedError:
        return cluster(clustering, X)
    if hasattr(clustering, "predict"):
        return np.asarray(clustering.predict(X))
    labels = np.asarray(getattr(clustering, "labels_", ()))
    if labels.shape != (n_rows,):
        raise ValueError(
            f"{where} is fitted to other data than the {n_rows} rows of X, and cannot predict: pass it unfitted."
        )
    return labels


def _unused(name: Any, clustering: Any, taken: dict[str, AnyArray]) -> str:
    """Return the name given, or one by the kind of clustering that is not yet taken."""
    if name is not None:
        return str(name)
    kind = type(clustering).__name__ if hasattr(clustering, "fit") else "labels"
    number, unused = 1, kind
    while unused in taken:
        number += 1
        unused = f"{kind} {number}"
    return unused
