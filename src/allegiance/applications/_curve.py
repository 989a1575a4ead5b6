"""How stability changes with the number of clusters, beside data that has no clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from allegiance._core import AnyArray, FloatArray, IntArray, check_count, check_rows, check_sites, resolve_seed, stream
from allegiance._scorer import AffinityScorer
from allegiance.domains import Polytope
from allegiance.fitting import check_clusterer, fit_clusterer
from allegiance.results import FrameLike

#: Parameters that say how many clusters to find, in the order they are looked for.
_SIZE_PARAMETERS = ("n_clusters", "n_components")
_CAVEAT = (
    "The suggestion is the number of clusters whose mean confidence most exceeds that of uniform data clustered alike. "
    "It is a hint, not a test: it trusts the clusterer, and of groups within groups it may find either."
)


class _Stability(NamedTuple):
    confidence: float
    unstable: float


@dataclass(frozen=True, repr=False, eq=False)
class StabilityCurve:
    """Stability against the number of clusters, of the data and of reference data without clusters.

    Attributes
    ----------
    n_clusters
        (m,) the numbers of clusters, ascending.
    confidence
        (m,) mean confidence of the points.
    unstable
        (m,) share of the points that are not stable.
    reference_confidence
        (m,) mean confidence in the reference data, averaged over its draws.
    reference_unstable
        (m,) share of unstable points in the reference data, averaged over its draws.
    spread
        (m,) standard deviation of the reference's mean confidence from draw to draw, the error of its average included.
    chance
        The largest excess that any draw of the reference shows over the others, for any number of clusters.
    caveat
        What to keep in mind about ``suggested``, in words.
    """

    n_clusters: IntArray
    confidence: FloatArray
    unstable: FloatArray
    reference_confidence: FloatArray
    reference_unstable: FloatArray
    spread: FloatArray
    chance: float
    caveat: str = _CAVEAT

    @property
    def excess(self) -> FloatArray:
        """(m,) mean confidence of the data minus that of the reference."""
        return self.confidence - self.reference_confidence

    @property
    def suggested(self) -> int | None:
        """The number of clusters with the largest excess; None if a draw of uniform data shows as much by chance."""
        top = self.excess.argmax()
        return int(self.n_clusters[top]) if self.excess[top] > self.chance else None

    @property
    def contenders(self) -> IntArray:
        """The numbers of clusters whose excess is within one spread of the largest: the suggestion among them."""
        top = self.excess.argmax()
        return self.n_clusters[self.excess >= self.excess[top] - self.spread[top]]

    def to_frame(self, like: Any = None) -> Any:
        """Return one row per number of clusters.

        Columns are ``n_clusters``, ``unstable``, ``confidence``, ``reference_unstable``, ``reference_confidence``,
        ``excess`` and ``spread``.

        Parameters
        ----------
        like
            A frame of the library to use, such as polars; pandas by default.
        """
        reference = ("reference_unstable", "reference_confidence")
        names = ("n_clusters", "unstable", "confidence", *reference, "excess", "spread")
        columns: dict[str, AnyArray] = {name: getattr(self, name) for name in names}
        return FrameLike(None if like is None else FrameLike.of(like).backend).build(columns)

    def __repr__(self) -> str:
        rows = [
            f"{k:>8}  {unstable:>8.1%}  {confidence:>10.3f}  {reference:>9.3f}  {excess:>+7.3f} ± {spread:.3f}"
            f"{'  <- suggested' if k == self.suggested else ''}"
            for k, unstable, confidence, reference, excess, spread in zip(
                self.n_clusters,
                self.unstable,
                self.confidence,
                self.reference_confidence,
                self.excess,
                self.spread,
                strict=True,
            )
        ]
        header = f"{'clusters':>8}  {'unstable':>8}  {'confidence':>10}  {'reference':>9}  {'excess':>15}"
        title = "Stability against the number of clusters"
        return "\n".join([title, "", header, *rows, "", self._verdict(), self.caveat])

    def _verdict(self) -> str:
        if self.suggested is None:
            return f"No number of clusters stands out: uniform data exceeds itself by {self.chance:.3f} by chance."
        others = [str(k) for k in self.contenders if k != self.suggested]
        close = f"; within one spread of it: {', '.join(others)}" if others else ""
        return f"Suggested: {self.suggested} clusters{close}."


def stability_curve(
    X: Any,
    clusterer: Any,
    n_clusters: Iterable[int] = range(2, 11),
    *,
    n_references: int = 10,
    random_state: Any = None,
    **settings: Any,
) -> StabilityCurve:
    """Measure stability for several numbers of clusters, and suggest one.

    Fewer clusters are stable more easily, and with two every point is, so the curve of the data alone says little.
    Each number of clusters is therefore also asked of reference data without clusters: points drawn uniformly from a
    box around X, clustered and scored in the same way. What counts is how much more confident the data's own clusters
    are.

    Parameters
    ----------
    X
        (n, d) data: array or frame.
    clusterer
        A clusterer with a parameter ``n_clusters`` or ``n_components``, of which clones are fitted, or a function that
        takes the number of clusters and returns a clusterer. If its ``random_state`` is None, it is set from ours.
    n_clusters
        The numbers of clusters to try, each at least 2.
    n_references
        Number of draws of the reference data, at least 2. Each costs as much as the data itself. The more draws, the
        less often data without clusters gets a suggestion by chance.
    random_state
        Seed, generator, or None for a new seed.
    **settings
        Any other parameter of :class:`AffinityScorer` but ``estimator`` and ``centers``. A larger ``eps`` is faster;
        the means over all points stay precise.

    Returns
    -------
    StabilityCurve
        Unstable share and mean confidence against the number of clusters, and a suggestion with its caveat.

    See Also
    --------
    compare_clusterings : Point by point, for any candidates.

    Notes
    -----
    The box lies along the principal axes of X, or along its columns if that makes it smaller, and volume is measured
    along the same axes, so that data and reference fill the same region. For settings under which turning the data
    would change its affinities (kernels, divergences other than "euclidean" and "within", medians, a :class:`Polytope`
    as domain) the box lies along the columns always.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import make_blobs
    >>> from allegiance import stability_curve
    >>> X, _ = make_blobs(300, centers=[[0, 0], [8, 0], [0, 8], [8, 8]], random_state=0)
    >>> curve = stability_curve(X, KMeans(n_init=3), range(2, 7), n_references=3, random_state=0)
    >>> curve.suggested
    4
    """
    for name in ("estimator", "centers"):
        if name in settings:
            raise TypeError(f"{name} cannot be given to stability_curve: the clusters come from clusterer.")
    if check_count(n_references, "n_references") < 2:
        raise ValueError("n_references must be at least 2: one draw says nothing about chance.")
    make = _maker(clusterer)
    rows = _dense_rows(X, settings)
    sizes = _check_sizes(n_clusters, rows.shape[0])
    seed = resolve_seed(random_state)
    axes = _reference_axes(rows) if _turnable(settings) else np.eye(rows.shape[1])
    own = np.array([_stability(rows, axes, make(k), seed, settings) for k in sizes])
    reference = np.empty((n_references, sizes.size, 2))
    for draw in range(n_references):
        uniform = _uniform_in_box(rows, axes, stream(seed, 1, draw))
        reference[draw] = [_stability(uniform, axes, make(k), seed, settings) for k in sizes]
    confidence, unstable = reference[:, :, 0], reference[:, :, 1]
    return StabilityCurve(
        n_clusters=sizes,
        confidence=own[:, 0],
        unstable=own[:, 1],
        reference_confidence=confidence.mean(axis=0),
        reference_unstable=unstable.mean(axis=0),
        spread=confidence.std(axis=0, ddof=1) * np.sqrt(1 + 1 / n_references),
        chance=_excess_by_chance(confidence),
    )


def _excess_by_chance(confidence: FloatArray) -> float:
    """Return the largest amount by which a row of ``confidence`` (draws, m) exceeds the mean of the others."""
    n = confidence.shape[0]
    of_others = (confidence.sum(axis=0) - confidence) / (n - 1)
    return float((confidence - of_others).max())


def _maker(clusterer: Any) -> Callable[[int], Any]:
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
    try:
        check_clusterer(clusterer)
    except TypeError as error:
        raise TypeError(f"clusterer cannot be used: {error}") from error
    return clusterer


def _dense_rows(X: Any, settings: dict[str, Any]) -> FloatArray:
    if sp.issparse(X):
        raise TypeError("X is sparse: stability_curve draws uniform data in its box, which needs a dense array.")
    if settings.get("kernel") == "precomputed":
        raise ValueError("kernel='precomputed' leaves no coordinates to draw reference data in: pass the data itself.")
    return check_sites(np.asarray(check_rows(AffinityScorer(), X, reset=True), dtype=np.float64))


def _check_sizes(n_clusters: Any, n_rows: int) -> IntArray:
    if not isinstance(n_clusters, Iterable) or isinstance(n_clusters, (str, bytes)):
        raise TypeError(f"n_clusters must be some integers, such as range(2, 11), got {n_clusters!r}.")
    sizes = sorted({check_count(k, "n_clusters") for k in n_clusters})
    if not sizes:
        raise ValueError("n_clusters is empty: it needs at least one number of clusters.")
    if sizes[0] < 2:
        raise ValueError("n_clusters must be at least 2: a single cluster is certain of every point.")
    if sizes[-1] > n_rows:
        raise ValueError(f"n_clusters asks for {sizes[-1]} clusters but X has {n_rows} rows.")
    return np.array(sizes)


def _turnable(settings: dict[str, Any]) -> bool:
    """Return whether turning the data changes its affinities only through the box they are measured in."""
    return (
        settings.get("kernel") is None
        and settings.get("divergence", "euclidean") in ("euclidean", "within")
        and settings.get("representative", "mean") != "median"
        and not isinstance(settings.get("domain"), Polytope)
    )


def _stability(X: FloatArray, axes: FloatArray, clusterer: Any, seed: int, settings: dict[str, Any]) -> _Stability:
    """Cluster X as it is, and score it along ``axes``; the same seed for all, so that only data and clusters differ."""
    if hasattr(clusterer, "get_params") and clusterer.get_params(deep=False).get("random_state", seed) is None:
        clusterer = clone(clusterer).set_params(random_state=seed % 2**32)
    labels = fit_clusterer(clusterer, X, {}).labels
    result = AffinityScorer(random_state=seed, **settings).fit_affinity(X @ axes.T, labels)
    return _Stability(float(result.confidence.mean()), float(1 - result.stable.mean()))


def _reference_axes(X: FloatArray) -> FloatArray:
    """Return the axes (r, d) of the smaller of two boxes around X: along its principal axes, or along its columns.

    Principal axes follow clusters that lie in a subspace; but where no direction stands out they are arbitrary, and the
    box along them may be much larger than the data.
    """
    _, lengths, principal = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    if X.shape[1] > principal.shape[0] or lengths[-1] <= lengths[0] * X.shape[0] * np.finfo(float).eps:
        return principal
    columns = np.eye(X.shape[1])
    volumes = [np.log(np.ptp(X @ axes.T, axis=0)).sum() for axes in (columns, principal)]
    return columns if volumes[0] <= volumes[1] else principal


def _uniform_in_box(X: FloatArray, axes: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw as many points as X has, uniformly in the box around it along ``axes``."""
    along = X @ axes.T
    mean = X.mean(axis=0)
    outside = mean - (mean @ axes.T) @ axes
    return outside + rng.uniform(along.min(axis=0), along.max(axis=0), along.shape) @ axes
