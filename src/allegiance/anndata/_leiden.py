"""Leiden clustering, to be fitted to halves of the cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin

from allegiance._core import IntArray, require

_NEED = "recluster='leiden'"


class Leiden(ClusterMixin, BaseEstimator):
    """scanpy's neighbours and Leiden clustering as a scikit-learn clusterer: ``recluster="leiden"``.

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
        """Return Leiden with the parameters that made the groups of ``adata``, as far as scanpy recorded them."""
        defaults = cls()
        return cls(
            float(_recorded(adata, groupby, "resolution", defaults.resolution)),
            n_neighbors=int(_recorded(adata, "neighbors", "n_neighbors", defaults.n_neighbors)),
            metric=str(_recorded(adata, "neighbors", "metric", defaults.metric)),
        )

    def fit(self, X: Any, y: Any = None) -> Leiden:
        """Build the graph of neighbours and cluster it.

        Parameters
        ----------
        X
            (n, d) cells.
        y
            Ignored.
        """
        anndata = require("anndata", "anndata", _NEED)
        scanpy = require("scanpy", "scanpy", _NEED)
        require("igraph", "scanpy", _NEED)
        cells = anndata.AnnData(X)
        n_neighbors = min(self.n_neighbors, max(cells.n_obs - 1, 1))
        settings = {"metric": self.metric, "random_state": self.random_state}
        scanpy.pp.neighbors(cells, n_neighbors=n_neighbors, use_rep="X", **settings)
        scanpy.tl.leiden(
            cells,
            resolution=self.resolution,
            random_state=self.random_state,
            n_iterations=self.n_iterations,
            flavor="igraph",
            directed=False,
        )
        self.labels_: IntArray = cells.obs["leiden"].to_numpy().astype(np.int64)
        self.n_features_in_ = int(cells.n_vars)
        return self


def _recorded(adata: Any, key: str, name: str, default: Any) -> Any:
    """Return a parameter of ``uns[key]["params"]``, which old files hold as an array of one, or the default."""
    found = adata.uns.get(key, {})
    params = found.get("params", {}) if hasattr(found, "get") else {}
    return np.asarray(params.get(name, default)).ravel()[0]
