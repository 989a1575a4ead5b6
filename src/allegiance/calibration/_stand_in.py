"""The stand-in for a clusterer that is not known: the one that reproduces the labels best."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from allegiance._core.validation import AnyArray, FloatArray, IntArray, Rows, is_sparse

#: A stand-in with a lower adjusted Rand index does not reproduce the labels: one that found its clusters unaided, and
#: one that was started at the labels, which asks for more, since it keeps what is near an optimum.
_REPRODUCED, _REPRODUCED_IF_STARTED = 0.6, 0.8
#: One with this much needs no rival at all. Among more rows than are at hand, or than linkages take, that much will do.
_SAME, _SAME_IN_A_SAMPLE = 0.9995, 0.98
#: Most starts of k-means, whose number in the clustering at hand is not known, and the products of rows (3,000 at
#: most), columns and clusters that all starts may take together.
_STARTS, _PRODUCTS = 5, 10_000_000
#: Labels at which a clusterer stays this much are its own.
_ALIKE = 0.95
#: Rows by which linkages and HDBSCAN are judged, which cost the square of them.
_FEW_ROWS = 3000
#: Columns up to which mixtures with full covariances are tried, and members per column that such a cluster needs.
_FEW_COLUMNS, _ROWS_PER_COLUMN = 64, 2
#: Steps that k-means and mixtures take from the labels, if these were found in more rows than are at hand.
_STEPS, _FEW_STEPS = 100, 2
#: Rows below which only k-means is tried.
_LEAST_ROWS = 20
_MIN_CLUSTER_SIZES = (5, 10, 15, 20, 30, 50)
#: A cluster with fewer members may be what a linkage leaves over, which k-means started at it would keep.
_LEFT_OVER = 3


@dataclass(frozen=True)
class StandIn:
    """A clusterer that takes the place of the one that made the labels."""

    clusterer: Any
    name: str
    ari: float
    """Adjusted Rand index of the labels and of what it finds: unaided, or started at the labels."""
    unaided: bool
    other: StandIn | None = None
    """Another kind of clusterer that keeps every label, too. Nothing in the labels tells which made them."""

    @property
    def reproduces(self) -> bool:
        """Whether its clusters are those of the labels."""
        return self.ari >= (_REPRODUCED if self.unaided else _REPRODUCED_IF_STARTED)

    @property
    def is_found(self) -> bool:
        """Whether it found the labels unaided: if they do not come back, it is unstable, and still the right one."""
        return self.unaided and self.ari >= _ALIKE

    @property
    def is_sure(self) -> bool:
        """Whether it found the labels unaided, or stayed at them."""
        return self.unaided or self.ari >= _ALIKE


def stand_in(rows: Rows, codes: IntArray, *, whole: bool = True, others: Sequence[tuple[str, Any]] = ()) -> StandIn:
    """Choose the clusterer that reproduces the labels best, in the space of the rows as given.

    k-means and mixtures have many optima. They are started at the labels, which asks whether the labels are one of
    these; linkages and HDBSCAN have one answer. For labels with noise HDBSCAN is asked first; the others are judged by
    the points that have a label.

    Parameters
    ----------
    rows
        (m, d) dense or CSR, in an order that does not depend on how they were passed.
    codes
        (m,) cluster numbers, -1 for noise.
    whole
        Whether these are all rows that were clustered, and not a sample of them.
    others
        More candidates by name, such as those that an influence suggests, fitted unaided.
    """
    best = _best(rows, codes, whole, others)
    if not best.name.startswith("k-means") or not best.reproduces:
        return best
    if not whole or is_sparse(rows) or not _LEAST_ROWS <= rows.shape[0] <= _FEW_ROWS or (codes < 0).any():
        return best
    mixture = _unmoved_mixture(rows, codes)
    # k-means keeps each of its own labels. Where it does not, and a mixture does, the mixture made them.
    return replace(best, other=mixture) if best.ari >= _SAME else mixture or best


def _unmoved_mixture(rows: FloatArray, codes: IntArray) -> StandIn | None:
    """Return a mixture with full covariances that keeps every label, if it does."""
    from sklearn.metrics import adjusted_rand_score

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, clusterer, labels, _ in _mixtures(rows, codes, _STEPS, ("full",), rows_per_column=0):
            ari = float(adjusted_rand_score(codes, labels))
            if ari >= _SAME:
                return StandIn(clusterer, name, ari, unaided=False)
    return None


def _best(rows: Rows, codes: IntArray, whole: bool, others: Sequence[tuple[str, Any]]) -> StandIn:
    """Return the candidate with the greatest adjusted Rand index."""
    from sklearn.metrics import adjusted_rand_score

    inner = codes >= 0
    smallest = np.bincount(codes[inner])
    left_over = smallest[smallest > 0].min(initial=codes.size) < _LEFT_OVER
    part, own = rows[inner], codes[inner]
    # Each search ends all if it finds what is as good as this.
    same = _SAME if whole and own.size <= _FEW_ROWS else _SAME_IN_A_SAMPLE
    searches = [(same, own, _usual(part, own, whole, others)), (0.0, own, _costly(part, own, whole))]
    if not inner.all():
        searches.insert(0, (_REPRODUCED, codes, _density(rows, codes)))
    best = StandIn(None, "", -np.inf, False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for enough, judged, candidates in searches:
            for name, clusterer, labels, unaided in candidates:
                ari = float(adjusted_rand_score(judged[: labels.size], labels))
                # What is found without help is the better evidence.
                if best.clusterer is None or (round(ari, 3), unaided) > (round(best.ari, 3), best.unaided):
                    best = StandIn(clusterer, name, ari, unaided)
                if best.ari >= _SAME and not left_over:
                    return best
            if best.ari >= enough and not left_over:
                return best
    return best


Candidate = tuple[str, Any, AnyArray, bool]


def _density(rows: Rows, codes: IntArray) -> Iterator[Candidate]:
    """Yield HDBSCAN with several sizes of the smallest cluster, fitted to the first rows."""
    from sklearn.cluster import HDBSCAN

    few = rows[:_FEW_ROWS]
    for size in _MIN_CLUSTER_SIZES:
        if size <= few.shape[0]:
            shrunk = max(2, round(size * few.shape[0] / codes.size))
            labels = HDBSCAN(min_cluster_size=shrunk, copy=True).fit_predict(few)
            yield f"HDBSCAN (min_cluster_size={size})", HDBSCAN(min_cluster_size=size, copy=True), labels, True
    if few.shape[0] < _MIN_CLUSTER_SIZES[0]:
        yield "HDBSCAN", HDBSCAN(min_cluster_size=2, copy=True), np.zeros(few.shape[0], dtype=np.int64), True


def _usual(rows: Rows, codes: IntArray, whole: bool, others: Sequence[tuple[str, Any]]) -> Iterator[Candidate]:
    """Yield k-means, what the influence suggests, and Ward's method where it is not costly."""
    from sklearn.base import clone
    from sklearn.preprocessing import Normalizer, StandardScaler

    steps = _STEPS if whole else _FEW_STEPS
    yield _kmeans("k-means", rows, codes, steps)
    uneven = _is_uneven(rows)
    if uneven:
        yield _kmeans("k-means on standardised columns", rows, codes, steps, StandardScaler())
    for name, clusterer in others:
        if name == "cosine":
            yield _kmeans("k-means on rows of length one", rows, codes, steps, Normalizer())
        else:
            yield name, clusterer, np.asarray(clone(clusterer).fit_predict(rows)), True
    if whole and not is_sparse(rows) and _LEAST_ROWS <= rows.shape[0] <= _FEW_ROWS:
        yield from _linkages(rows, np.unique(codes).size, ("ward",), uneven)


def _costly(rows: Rows, codes: IntArray, whole: bool) -> Iterator[Candidate]:
    """Yield mixtures and linkages, judged by the first rows."""
    if is_sparse(rows) or rows.shape[0] < _LEAST_ROWS:
        return
    few, codes, whole = rows[:_FEW_ROWS], codes[:_FEW_ROWS], whole and rows.shape[0] <= _FEW_ROWS
    yield from _mixtures(few, codes, _STEPS if whole else _FEW_STEPS)
    linkages = ("average", "complete", "single") if whole else ("ward", "average", "complete", "single")
    yield from _linkages(few, np.unique(codes).size, linkages, _is_uneven(few))


def _is_uneven(rows: Rows) -> bool:
    """Tell whether standardising the columns changes anything."""
    if is_sparse(rows):
        return False
    deviations = rows.std(axis=0)
    return bool(deviations.max(initial=0.0) > 1.01 * deviations.min(initial=np.inf))


def _linkages(rows: FloatArray, k: int, linkages: Sequence[str], uneven: bool) -> Iterator[Candidate]:
    """Yield hierarchical clusterings; Ward's on standardised columns, too, where these differ."""
    from sklearn.cluster import AgglomerativeClustering
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    for linkage in linkages:
        name = "Ward's method" if linkage == "ward" else f"{linkage} linkage"
        clusterer = AgglomerativeClustering(k, linkage=linkage)
        yield name, clusterer, clusterer.fit_predict(rows), True
        if linkage == "ward" and uneven:
            pipeline = make_pipeline(StandardScaler(), AgglomerativeClustering(k))
            yield f"{name} on standardised columns", pipeline, pipeline.fit_predict(rows), True


def _kmeans(name: str, rows: Rows, codes: IntArray, steps: int, scaler: Any = None) -> Candidate:
    """Return k-means, started at the labels, behind a transformer or without one."""
    from sklearn.cluster import KMeans
    from sklearn.pipeline import make_pipeline

    if scaler is not None:
        rows = scaler.fit_transform(rows)
    means = _means(rows, codes)
    labels = KMeans(len(means), init=means, n_init=1, max_iter=steps).fit_predict(rows)
    starts = _PRODUCTS // (min(rows.shape[0], _FEW_ROWS) * rows.shape[1] * len(means))
    clusterer = KMeans(len(means), n_init=int(np.clip(starts, 1, _STARTS)))
    from sklearn.base import clone

    return name, clusterer if scaler is None else make_pipeline(clone(scaler), clusterer), labels, False


def _means(rows: Rows, codes: IntArray) -> FloatArray:
    """Return the means (k, d) of the clusters that occur."""
    return np.array([np.asarray(rows[codes == c].mean(axis=0)).ravel() for c in np.unique(codes)])


def _mixtures(
    rows: FloatArray,
    codes: IntArray,
    steps: int,
    kinds: Sequence[str] = ("full", "diag", "tied", "spherical"),
    rows_per_column: int = _ROWS_PER_COLUMN,
) -> Iterator[Candidate]:
    """Yield Gaussian mixtures of some kinds, started at the labels."""
    from sklearn.mixture import GaussianMixture

    present, place, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    means = _means(rows, codes)
    residuals, reg = rows - means[place], max(1e-3 * float(rows.var()), 1e-12)
    for kind in kinds:
        if kind in ("full", "tied") and rows.shape[1] > _FEW_COLUMNS:
            continue
        if kind == "full" and np.median(sizes) < rows_per_column * rows.shape[1]:
            continue  # with so few members any labels are an optimum
        try:
            started = GaussianMixture(
                present.size, covariance_type=kind, reg_covar=reg, max_iter=steps, weights_init=sizes / sizes.sum(),
                means_init=means, precisions_init=_precisions(residuals, place, sizes, kind, reg),
            )  # fmt: skip
            labels = started.fit_predict(rows)
        except (ValueError, NotImplementedError, np.linalg.LinAlgError):  # the second where array API dispatch is on
            continue
        yield (
            f"a Gaussian mixture ({kind})",
            GaussianMixture(present.size, covariance_type=kind, reg_covar=reg),
            labels,
            False,
        )


def _precisions(residuals: FloatArray, place: IntArray, sizes: IntArray, kind: str, reg: float) -> FloatArray:
    """Return the inverse covariances of the clusters in scikit-learn's shapes."""
    d, k = residuals.shape[1], sizes.size
    if kind == "tied":
        tied: FloatArray = np.linalg.inv(residuals.T @ residuals / len(residuals) + reg * np.eye(d)).astype(np.float64)
        return tied
    if kind == "full":
        own = [residuals[place == c] for c in range(k)]
        return np.array([np.linalg.inv(part.T @ part / len(part) + reg * np.eye(d)) for part in own])
    variances = np.array([(residuals[place == c] ** 2).mean(axis=0) for c in range(k)])
    return 1.0 / ((variances if kind == "diag" else variances.mean(axis=1)) + reg)
