"""Trust above chance in clusterings of the same data that differ in their number of clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from allegiance._core import FloatArray
from allegiance._scorer import AffinityScorer
from allegiance.calibration import Calibration, above_chance
from allegiance.clusterers import on_one_thread
from allegiance.fitting import cluster

#: Parameters that say how many clusters to find, in the order they are looked for.
_SIZE_PARAMETERS = ("n_clusters", "n_components")


class TrustBySize:
    """Trust above chance in the labels of data, by the half that was clustered anew."""

    def __init__(
        self, scorer: AffinityScorer, calibration: Calibration, make: Callable[[int], Any], refit: bool
    ) -> None:
        # Volumes are not measured: of all engines this one takes the least to set up.
        self.scorer = clone(scorer).set_params(calibration=None, engine="shared", verbose=False)
        self.calibration, self.make, self.refit = calibration, make, refit

    def __call__(self, X: FloatArray, k: int) -> FloatArray:
        """Cluster X (n, d) into k clusters, and return trust above chance (n_resamples,)."""
        clusterer = self.make(k)
        if hasattr(clusterer, "get_params") and clusterer.get_params(deep=False).get("random_state", 0) is None:
            clusterer = clone(clusterer).set_params(random_state=self.scorer.random_state % 2**32)
        with on_one_thread():
            labels = cluster(clusterer, X)
        calibration = replace(self.calibration, clusterer=clusterer) if self.refit else self.calibration
        fitted = clone(self.scorer).fit(X, labels).fitted_
        company = fitted.company(X, labels, calibration)
        return np.array([above_chance(kept, company.chance) for kept in company.by_resample])


def clusterer_maker(clusterer: Any) -> Callable[[int], Any]:
    """Return a function from a number of clusters to a clusterer."""
    if callable(clusterer) and not hasattr(clusterer, "fit"):
        return lambda k: _checked(clusterer(k))
    _checked(clusterer)
    known = clusterer.get_params(deep=False) if hasattr(clusterer, "get_params") else {}
    name = next((name for name in _SIZE_PARAMETERS if name in known), None)
    if name is None:
        raise TypeError(
            f"clusterer has neither n_clusters nor n_components: {clusterer!r}. Pass a function that takes the number "
            "of clusters, such as lambda k: make_pipeline(StandardScaler(), KMeans(k))."
        )
    return lambda k: clone(clusterer).set_params(**{name: k})


def _checked(clusterer: Any) -> Any:
    if isinstance(clusterer, type) or not hasattr(clusterer, "fit"):
        raise TypeError(f"clusterer must be an instance of a clusterer, such as KMeans(), got {clusterer!r}.")
    return clusterer
