"""Options of calibration: how trust is estimated, and the limits on subsample sizes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from allegiance._core.parameters import Parameters
from allegiance._core.validation import check_count, check_number

from ._adapt import SUBSAMPLE_ROWS, as_clusterer, depends_on_size

#: Further subsample size limits, in rows: per cluster, and for clusterers that depend on it.
_ROWS_PER_CLUSTER, _DENSITY_ROWS = 25, 10_000
#: Share of the rows in a subsample for density clusterers: from halves, whose density is half of the whole, they find
#: other clusters. All others use halves.
DENSITY_SHARE = 0.8
#: Entries (rows times columns) of the sample that subsamples are drawn from, unless it needs more for two subsamples,
#: and of all subsamples beyond the first 20: one or two seconds of k-means. Other clusterers take about four times as
#: long (digits: 13 ms a subsample for k-means, 38 for a mixture, 47 for HDBSCAN and Leiden).
MAX_ENTRIES, SLOWER = 2_000_000, 4
#: Weight in the review order of cluster sizes and of item consensus, in standard deviations of the map's order.
REVIEW_WEIGHT = 0.25


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Parameters):
    """How to estimate the probability that a label replicates, from the data alone.

    Random halves of the rows, or 80% of them for density clusterers, are clustered, and all rows are placed in the new
    clusters. Subsample sizes are limited, so that the cost does not grow with the number of rows.

    Parameters
    ----------
    n_resamples
        Number of subsamples to cluster, at least 2. By default 20 to 400, enough for a Monte Carlo error of
        replication below 0.005 if the size of the data allows.
    clusterer
        The clusterer that made the labels: an estimator, a pipeline that ends in one, or a function from X to labels,
        for X as you pass it. It is cloned for each subsample. By default it is the fitted estimator or, if there are
        only labels, the stand-in that best reproduces them.
    rows_per_subsample
        Largest subsample size. By default 1,500, or 25 per cluster if that is more, or 10,000 for density and graph
        clusterers.
    size_prior
        How much earlier labels of large clusters are reviewed, in standard deviations of the logarithm of their size;
        large clusters contain several classes more often. It changes the review order, not trust.
    groups
        (n,) group of each row, such as a patient, a batch or a user. A subsample contains all rows of a group or none,
        so that trust is the probability that a label replicates in new groups.
    sample_weight
        (n,) weights of the rows, passed to ``fit`` of the clusterer.

    Examples
    --------
    >>> from sklearn.cluster import SpectralClustering
    >>> from sklearn.datasets import make_moons
    >>> from allegiance import AffinityScorer, Calibration
    >>> X, moon = make_moons(300, noise=0.05, random_state=0)
    >>> spectral = SpectralClustering(2, gamma=30, random_state=0)
    >>> calibration = Calibration(n_resamples=6, clusterer=spectral)
    >>> scorer = AffinityScorer(influence="rbf", calibration=calibration).fit(X, moon)
    >>> bool(scorer.affinity(X).replication > 0.8)
    True
    """

    n_resamples: int | None = None
    clusterer: Any = None
    rows_per_subsample: int | None = None
    size_prior: float = REVIEW_WEIGHT
    groups: Any = None
    sample_weight: Any = None

    @classmethod
    def resolve(cls, value: Any) -> Calibration | None:
        """Return the calibration for None, a boolean, a number of subsamples or an object, checked."""
        if value is None or value is False:
            return None
        if value is True:
            return cls()
        calibration = value if isinstance(value, Calibration) else cls(value)
        calibration.check()
        if calibration.clusterer is None:
            return calibration
        return replace(calibration, clusterer=as_clusterer(calibration.clusterer))

    def without_clusterer(self) -> Calibration:
        """Return the calibration without the clusterer and the data of single rows, for saved files."""
        return replace(self, clusterer=None, groups=None, sample_weight=None)

    def check(self) -> None:
        """Raise an error that names the invalid option of the calibration."""
        if self.n_resamples is not None and check_count(self.n_resamples, "n_resamples") < 2:
            raise ValueError("n_resamples must be at least 2, got 1: the interval needs several subsamples.")
        if self.rows_per_subsample is not None and check_count(self.rows_per_subsample, "rows_per_subsample") < 2:
            raise ValueError("rows_per_subsample must be at least 2, got 1.")
        check_number(self.size_prior, "size_prior", low=0.0, closed=True)
        if self.clusterer is not None:
            as_clusterer(self.clusterer)

    def max_rows(self, k: int, clusterer: Any = None) -> int:
        """Return how many rows a calibration allows in a subsample, for ``k`` clusters."""
        density = _DENSITY_ROWS if clusterer is not None and depends_on_size(clusterer) else 0
        return self.rows_per_subsample or max(_ROWS_PER_CLUSTER * k, SUBSAMPLE_ROWS, density)

    def n_rows(self, k: int, n_features: int = 1) -> int:
        """Return how many rows a calibration uses: it draws subsamples of them."""
        affordable = min(2 * _DENSITY_ROWS, MAX_ENTRIES // max(n_features, 1))
        return max(2 * self.max_rows(k), 0 if self.rows_per_subsample else affordable)
