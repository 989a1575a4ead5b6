"""Calibration: how trust is learnt."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from allegiance._core import Parameters, check_count, check_number

#: Rows of a half: this many, or this many per cluster if that is more. Larger halves did no better in trials.
_ROWS_OF_A_HALF = 1000
_ROWS_PER_CLUSTER = 50


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Parameters):
    """How to learn, from the data alone, the chance that a label holds.

    Half of a sample is clustered anew and the other half is put into the new clusters, several times. Labels whose
    points keep their company hold. The cost does not depend on the number of rows.

    Parameters
    ----------
    n_resamples
        Number of times that a half is clustered anew, at least 2.
    clusterer
        A scikit-learn clusterer that is cloned and fitted to each half, in the user's own coordinates. None stands for
        k-means with one start in the space of influence. Pass the clusterer that made the labels if k-means cannot
        find such clusters: curved shapes, or noise.
    max_rows
        Number of rows of a half; None stands for 50 rows per cluster, or 1,000 if that is more. Smaller data sets are
        used whole.
    crowding
        How much less points of large and wide clusters are trusted, in standard deviations of log(size x spread);
        such clusters more often hold several classes. 0 switches it off.

    Examples
    --------
    >>> from sklearn.cluster import SpectralClustering
    >>> from sklearn.datasets import make_moons
    >>> from allegiance import AffinityScorer, Calibration
    >>> X, moon = make_moons(300, noise=0.05, random_state=0)
    >>> spectral = SpectralClustering(2, gamma=30, random_state=0)
    >>> calibration = Calibration(n_resamples=5, clusterer=spectral)
    >>> scorer = AffinityScorer(influence="rbf", calibration=calibration).fit(X, moon)
    >>> scorer.affinity(X).expected_right > 0.8
    True
    """

    n_resamples: int = 20
    clusterer: Any = None
    max_rows: int | None = None
    crowding: float = 0.25

    @classmethod
    def resolve(cls, value: Any) -> Calibration | None:
        """Return what a user means by None, a number of resamples, or an object, checked."""
        if value is None or value is False:
            return None
        if value is True:
            return cls()
        calibration = value if isinstance(value, Calibration) else cls(value)
        calibration.check()
        return calibration

    def without_clusterer(self) -> Calibration:
        """Return the same with k-means, for saved files."""
        return replace(self, clusterer=None)

    def check(self) -> None:
        """Raise an error that names the parameter that cannot be used."""
        if check_count(self.n_resamples, "n_resamples") < 2:
            raise ValueError("n_resamples must be at least 2, got 1: the error of trust comes from their differences.")
        if self.max_rows is not None and check_count(self.max_rows, "max_rows") < 2:
            raise ValueError("max_rows must be at least 2, got 1: it is the number of rows that are clustered anew.")
        check_number(self.crowding, "crowding", low=0.0, closed=True)
        if self.clusterer is None:
            return
        missing = [name for name in ("get_params", "fit") if not hasattr(self.clusterer, name)]
        if missing or isinstance(self.clusterer, type):
            raise TypeError(
                "clusterer must be a scikit-learn clusterer, an instance with fit and get_params, or None, "
                f"got {self.clusterer!r}."
            )

    def n_rows(self, k: int) -> int:
        """Return the number of rows of the sample, two halves, for ``k`` clusters."""
        return 2 * (self.max_rows or max(_ROWS_PER_CLUSTER * k, _ROWS_OF_A_HALF))
