"""How trust in labels changes with the number of clusters, compared with data that has no clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans

from allegiance._core import AnyArray, FloatArray, IntArray, check_count, check_rows, progress, stream
from allegiance._scorer import AffinityScorer
from allegiance.calibration import Calibration, row_priorities
from allegiance.clusterers import on_one_thread
from allegiance.fitting import Specification, cluster
from allegiance.influence import BregmanInfluence, Kernel
from allegiance.notebook import Card, curve_picture
from allegiance.results import FrameLike, text_table

from ._compare import calibrated_scorer

#: Parameters that say how many clusters to find, in the order they are looked for.
_SIZE_PARAMETERS = ("n_clusters", "n_components")
#: Trust above chance that differs by less counts as equal.
_TIE = 0.02
_TITLE = "Trust above chance against the number of clusters"
_HEADINGS = ("clusters", "above chance", "half of the halves", "no clusters", "at most", "")
_CAVEAT = (
    "The suggestion is the largest number of clusters that comes back as well as any other when halves of the data are "
    "clustered anew. It is a hint, not a test: it trusts the clusterer, and of groups within groups it names the "
    "finest that are as stable."
)


@dataclass(frozen=True, repr=False, eq=False)
class StabilityCurve:
    """Trust in labels against the number of clusters, of the data and of reference data without clusters.

    Attributes
    ----------
    n_clusters
        (m,) the numbers of clusters, ascending.
    by_half
        (m, n_resamples) trust above chance in the labels for each half that was clustered anew: (E - C) / (1 - C) with
        E the share of their company that points keep, and C that of unrelated partitions with clusters of these sizes.
    reference
        (n_references, m) trust above chance in each draw of the reference data.
    caveat
        What to keep in mind about the suggestion, in words.

    See Also
    --------
    allegiance.stability_curve : What returns it, with an example.
    """

    n_clusters: IntArray
    by_half: FloatArray
    reference: FloatArray
    caveat: str = _CAVEAT

    @property
    def above_chance(self) -> FloatArray:
        """(m,) trust above chance: the median over the halves, so that a few unlucky starts do not matter."""
        return np.median(self.by_half, axis=1)

    @property
    def contenders(self) -> IntArray:
        """The numbers of clusters whose trust above chance is within 0.02 of the largest."""
        return self.n_clusters[self.above_chance >= self.above_chance.max() - _TIE]

    @property
    def contrast(self) -> float:
        """How many times less doubt (1 minus trust above chance) the largest contender leaves than the reference does.

        The reference's doubt is the median over its draws, for the same number of clusters; 0.02 is added to both.
        """
        return _contrast(self.above_chance, self.reference)

    @property
    def contrast_by_chance(self) -> float:
        """The largest contrast that any draw of the reference, treated like the data, has with the other draws."""
        draws = range(self.reference.shape[0])
        return max(_contrast(self.reference[i], np.delete(self.reference, i, axis=0)) for i in draws)

    @property
    def suggestion(self) -> int | None:
        """The largest of the contenders; None if data without clusters have as much contrast by chance."""
        return int(self.contenders[-1]) if self.contrast > self.contrast_by_chance else None

    def frame(self, like: Any = None) -> Any:
        """Return one row per number of clusters.

        Columns are ``n_clusters``, ``above_chance``, ``low`` and ``high`` (quartiles over the halves), ``reference``
        (median over the draws), ``reference_high`` (largest of them) and ``suggested``.

        Parameters
        ----------
        like
            A frame of the library to use, such as polars; pandas by default.
        """
        columns = self.columns() | {"suggested": self.n_clusters == (self.suggestion or 0)}
        return FrameLike(None if like is None else FrameLike.of(like).backend).build(columns)

    def columns(self) -> dict[str, AnyArray]:
        """Return the numbers (m,) of :meth:`frame` by name."""
        low, high = np.quantile(self.by_half, [0.25, 0.75], axis=1)
        return {
            "n_clusters": self.n_clusters,
            "above_chance": self.above_chance,
            "low": low,
            "high": high,
            "reference": np.median(self.reference, axis=0),
            "reference_high": self.reference.max(axis=0),
        }

    def _cells(self) -> list[tuple[str, ...]]:
        lines = zip(*self.columns().values(), strict=True)
        return [
            (
                f"{k}",
                f"{above:.3f}",
                f"{low:.3f} to {high:.3f}",
                f"{reference:.3f}",
                f"{reached:.3f}",
                "<- suggested" if k == self.suggestion else "",
            )
            for k, above, low, high, reference, reached in lines
        ]

    def __repr__(self) -> str:
        table = text_table(_HEADINGS, self._cells(), left=("",))
        return "\n".join([_TITLE, "", *table, "", self.verdict, self.caveat])

    def _repr_html_(self) -> str:
        k, above, low, high, reference, reached = self.columns().values()
        picture = curve_picture(k, above, (low, high), (reference, reached), self.suggestion, _TITLE)
        key = "Blue: the data, with the middle half of the halves. Grey: data without clusters, up to its largest."
        return Card(_TITLE, [self.verdict, key], picture, _HEADINGS, self._cells(), ("",), [self.caveat]).html()

    def plot(self, ax: Any = None, **kw: Any) -> Any:
        """Draw the curve, and return the :class:`allegiance.displays.StabilityCurveDisplay`.

        Parameters
        ----------
        ax
            Axes to draw on; by default those of a new figure.
        **kw
            For :meth:`allegiance.displays.StabilityCurveDisplay.plot`.
        """
        from allegiance.displays import StabilityCurveDisplay

        return StabilityCurveDisplay.from_curve(self, ax=ax, **kw)

    @property
    def verdict(self) -> str:
        """What the suggestion is, or why there is none, in words."""
        contrast, by_chance = f"{self.contrast:.1f}", f"{self.contrast_by_chance:.1f}"
        found = f"{contrast} times less doubt than in data without clusters ({by_chance} by chance)"
        if self.suggestion is None:
            return f"No number of clusters stands out: at best {found}."
        others = [str(k) for k in self.contenders if k != self.suggestion]
        close = f"; as stable: {', '.join(others)}" if others else ""
        return f"Suggested: {self.suggestion} clusters{close}; {found}."


def _contrast(trust: FloatArray, reference: FloatArray) -> float:
    """Compare trust above chance (m,) with that of reference data (r, m), at the largest of the contenders."""
    chosen = np.flatnonzero(trust >= trust.max() - _TIE)[-1]
    doubt = 1.0 - np.median(reference[:, chosen])
    return float((doubt + _TIE) / (1.0 - trust[chosen] + _TIE))


def stability_curve(
    X: Any,
    clusterer: Any,
    n_clusters: Iterable[int] = range(2, 11),
    *,
    scorer: AffinityScorer | None = None,
    n_references: int = 10,
    refit: bool = False,
) -> StabilityCurve:
    """Measure trust in labels for several numbers of clusters, and suggest one.

    For each number of clusters, halves of the data are clustered anew, and points that were left out are asked how much
    of their company they keep. That is compared with chance, so that few clusters have no advantage. The same is asked
    of reference data without clusters: points drawn uniformly from a box around X. If any draw of it stands out from
    the others as much as the data does, nothing is suggested. No affinity is measured, and the cost does not depend on
    the number of rows.

    Parameters
    ----------
    X
        (n, d) data: array or frame. If it has more than 2,000 rows, or 50 per cluster if that is more, a sample.
    clusterer
        A clusterer with a parameter ``n_clusters`` or ``n_components``, of which clones are fitted, or a function that
        takes the number of clusters and returns a clusterer. If its ``random_state`` is None, it is set.
    n_clusters
        The numbers of clusters to try, each at least 2.
    scorer
        Influence, calibration, seed, threads and ``verbose``; it has no clusters of its own. By default
        ``AffinityScorer(calibration=20)``: Euclidean distance, as in k-means. Not "within", whose covariance comes from
        the labels: it stretches space across any cut, so that even a cut through uniform data comes back.
    n_references
        Number of draws of the reference data, at least 2. Each costs as much as the data itself. Data without clusters
        get a suggestion by chance at most about once in ``n_references + 1`` times.
    refit
        Cluster halves with the clusterer itself instead of k-means with one start: for clusters that k-means cannot
        find, such as rings. Slower.

    Returns
    -------
    StabilityCurve
        Trust above chance against the number of clusters, and a suggestion with its caveat.

    See Also
    --------
    compare_clusterings : Point by point, for any candidates.

    Notes
    -----
    The box lies along the principal axes of X, or along its columns if that makes it smaller; for divergences other
    than "euclidean" and "within", which may restrict the sign of entries, along the columns always.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import make_blobs
    >>> from allegiance import stability_curve
    >>> X, _ = make_blobs(300, centers=[[0, 0], [8, 0], [0, 8], [8, 8]], random_state=0)
    >>> curve = stability_curve(X, KMeans(n_init=3), range(2, 7), n_references=3)
    >>> curve.suggestion
    4
    """
    checked = calibrated_scorer(scorer, "stability_curve", influence="euclidean")
    draws, make = check_count(n_references, "n_references"), clusterer_maker(clusterer)
    if draws < 2:
        raise ValueError("n_references must be at least 2: one draw says nothing about chance.")
    specification = Specification.of(checked)
    rows = _dense_rows(X, specification)
    sizes = _check_sizes(n_clusters, rows.shape[0])
    calibration = specification.calibration or Calibration()
    seed = specification.settings.seed
    rows = _sampled(rows, calibration.most_rows(int(sizes[-1])), seed)
    by_columns = isinstance(specification.influence, BregmanInfluence)
    axes = np.eye(rows.shape[1]) if by_columns else reference_axes(rows)
    trust_in = TrustBySize(checked, calibration, make, refit)
    own, reference = np.empty((sizes.size, calibration.n_resamples)), np.empty((draws, sizes.size))
    with progress((1 + draws) * sizes.size, "stability curve", checked.verbose, unit="clusterings") as advance:
        for draw in range(-1, draws):
            data = rows if draw < 0 else uniform_in_box(rows, axes, stream(seed, 1, draw))
            for i, k in enumerate(sizes):
                by_half = trust_in(data, int(k))
                if draw < 0:
                    own[i] = by_half
                else:
                    reference[draw, i] = np.median(by_half)
                advance(1)
    return StabilityCurve(sizes, own, reference)


def _dense_rows(X: Any, specification: Specification) -> FloatArray:
    if sp.issparse(X):
        raise TypeError("X is sparse: stability_curve draws uniform data in its box, which needs a dense array.")
    influence = specification.influence
    if isinstance(influence, Kernel) and influence.name == "precomputed":
        raise ValueError("scorer has a precomputed kernel: there are no coordinates to draw reference data in.")
    return np.asarray(check_rows(BaseEstimator(), X, reset=True), dtype=np.float64)


def _sampled(X: FloatArray, limit: int, seed: int) -> FloatArray:
    """Return at most ``limit`` rows, by the seed and the number of rows alone."""
    if X.shape[0] <= limit:
        return X
    return X[np.sort(np.argsort(row_priorities(seed, 0, X.shape[0]), kind="stable")[:limit])]


def _check_sizes(n_clusters: Any, n_rows: int) -> IntArray:
    if not isinstance(n_clusters, Iterable) or isinstance(n_clusters, (str, bytes)):
        raise TypeError(f"n_clusters must be some integers, such as range(2, 11), got {n_clusters!r}.")
    sizes = sorted({check_count(k, "n_clusters") for k in n_clusters})
    if not sizes:
        raise ValueError("n_clusters is empty: it needs at least one number of clusters.")
    if sizes[0] < 2:
        raise ValueError("n_clusters must be at least 2: a single cluster always holds.")
    if sizes[-1] > n_rows:
        raise ValueError(f"n_clusters asks for {sizes[-1]} clusters but X has {n_rows} rows.")
    return np.array(sizes)


class TrustBySize:
    """Trust above chance in the labels of data, by the half that was clustered anew."""

    def __init__(
        self, scorer: AffinityScorer, calibration: Calibration, make: Callable[[int], Any], refit: bool
    ) -> None:
        self.scorer = clone(scorer).set_params(calibration=None, verbose=False)
        self.calibration, self.make, self.refit = calibration, make, refit

    def __call__(self, X: FloatArray, k: int) -> FloatArray:
        """Cluster X (n, d) into k clusters, and return trust above chance (n_resamples,)."""
        clusterer = self.make(k)
        if hasattr(clusterer, "get_params") and clusterer.get_params(deep=False).get("random_state", 0) is None:
            clusterer = clone(clusterer).set_params(random_state=self.scorer.random_state % 2**32)
        with on_one_thread():
            labels = cluster(clusterer, X)
        calibration = self.calibration
        if self.refit or calibration.clusterer is None:
            # One start: more would hide how far the answer depends on the rows.
            calibration = replace(calibration, clusterer=clusterer if self.refit else KMeans(k, n_init=1))
        fitted = clone(self.scorer).fit(X, labels).fitted_
        return fitted.replicate(X, labels, calibration).above_chance


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


def reference_axes(X: FloatArray) -> FloatArray:
    """Return the axes (r, d) of the smaller of two boxes around X (n, d): along its principal axes, or its columns.

    Principal axes follow clusters that lie in a subspace; but where no direction stands out they are arbitrary, and the
    box along them may be much larger than the data.
    """
    _, lengths, principal = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    if X.shape[1] > principal.shape[0] or lengths[-1] <= lengths[0] * X.shape[0] * np.finfo(float).eps:
        return principal
    columns = np.eye(X.shape[1])
    volumes = [np.log(np.ptp(X @ axes.T, axis=0)).sum() for axes in (columns, principal)]
    return columns if volumes[0] <= volumes[1] else principal


def uniform_in_box(X: FloatArray, axes: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw as many points as X (n, d) has, uniformly in the box around it along ``axes`` (r, d)."""
    along = X @ axes.T
    mean = X.mean(axis=0)
    outside = mean - (mean @ axes.T) @ axes
    return outside + rng.uniform(along.min(axis=0), along.max(axis=0), along.shape) @ axes
