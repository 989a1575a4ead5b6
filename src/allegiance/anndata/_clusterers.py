"""Leiden and Louvain clustering as scikit-learn clusterers."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin

from allegiance._core.validation import IntArray, require


class Leiden(ClusterMixin, BaseEstimator):
    """scanpy's neighbours and Leiden clustering as a scikit-learn clusterer.

    Parameters
    ----------
    resolution
        How fine the clusters are.
    n_neighbors
        Neighbours of each cell in the graph; fewer if there are fewer cells.
    metric
        Distance between cells.
    n_iterations
        Iterations of the algorithm; -1 for as many as improve the result.
    random_state
        Seed.

    Attributes
    ----------
    labels_
        (n,) cluster of each cell.
    """

    def __init__(
        self,
        resolution: float = 1.0,
        *,
        n_neighbors: int = 15,
        metric: str = "euclidean",
        n_iterations: int = 2,
        random_state: int = 0,
    ) -> None:
        self.resolution = resolution
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.n_iterations = n_iterations
        self.random_state = random_state

    @classmethod
    def like(cls, adata: Any, groupby: str) -> Leiden:
        """Return one with the parameters that made the groups of ``adata``, as far as scanpy recorded them.

        Parameters
        ----------
        adata
            The annotated data.
        groupby
            The key of ``uns`` under which ``scanpy.tl.leiden`` or ``scanpy.tl.louvain`` recorded them: its
            ``key_added``.
        """
        found = {
            "resolution": recorded(adata, groupby, "resolution"),
            "n_iterations": recorded(adata, groupby, "n_iterations"),
            "n_neighbors": recorded(adata, "neighbors", "n_neighbors"),
            "metric": recorded(adata, "neighbors", "metric"),
        }
        return cls(**{name: value for name, value in found.items() if value is not None})

    def fit(self, X: Any, y: Any = None) -> Leiden:
        """Build the graph of neighbours and cluster it.

        Parameters
        ----------
        X
            (n, d) cells.
        y
            Ignored.
        """
        caller = type(self).__name__
        anndata, scanpy = require("anndata", "anndata", caller), require("scanpy", "anndata", caller)
        require("igraph", "anndata", caller)
        cells = anndata.AnnData(X)
        neighbors = {"n_neighbors": min(self.n_neighbors, max(cells.n_obs - 1, 1)), "metric": self.metric}
        scanpy.pp.neighbors(cells, use_rep="X", random_state=self.random_state, **neighbors)
        self.labels_: IntArray = np.asarray(self._partition(scanpy, cells), dtype=np.int64)
        self.n_features_in_ = int(cells.n_vars)
        return self

    def _partition(self, scanpy: Any, cells: Any) -> Any:
        """Return the cluster (n,) of each cell of a graph."""
        scanpy.tl.leiden(
            cells,
            resolution=self.resolution,
            random_state=self.random_state,
            n_iterations=self.n_iterations,
            flavor="igraph",
            directed=False,
        )
        return cells.obs["leiden"].to_numpy()


class Louvain(Leiden):
    """scanpy's neighbours and Louvain clustering as a scikit-learn clusterer; parameters as in ``Leiden``."""

    def _partition(self, scanpy: Any, cells: Any) -> Any:
        igraph = require("igraph", "anndata", "Louvain")
        edges = cells.obsp["connectivities"].tocoo()
        upper = edges.row < edges.col
        pairs = np.column_stack([edges.row[upper], edges.col[upper]])
        graph = igraph.Graph(n=cells.n_obs, edges=pairs.tolist())
        igraph.set_random_number_generator(random.Random(self.random_state))
        try:
            weights = edges.data[upper].astype(np.float64).tolist()
            return graph.community_multilevel(weights=weights, resolution=self.resolution).membership
        finally:
            igraph.set_random_number_generator(random)


def recorded(adata: Any, key: str, name: str) -> Any:
    """Return a parameter of ``uns[key]["params"]``, which old files hold as an array of one; None if it is missing."""
    found = adata.uns.get(key, {})
    params = found.get("params", {}) if hasattr(found, "get") else {}
    value = params.get(name) if hasattr(params, "get") else None
    return None if value is None else np.asarray(value).ravel()[0].item()
