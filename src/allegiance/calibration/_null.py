"""Null data: rows without clusters that keep each column's skew and tails and the rank correlations."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata

from allegiance._core.parallel import stream
from allegiance._core.validation import FloatArray, is_sparse

from ._adapt import SUBSAMPLE_ROWS
from ._replication import Refit, Replication, agreement

#: Null samples, in each of which two halves are clustered, and the odds that a label changes if there are clusters, at
#: most, over the odds in null data. If that holds for the best of the first third, no more samples are drawn.
_NULL_SAMPLES, _MAX_ODDS = 12, 0.7
#: Rows that margins and correlations are estimated from. With more than half as many columns, null rows are
#: combinations of these rows, which avoids a covariance matrix.
_NULL_ROWS = 2 * SUBSAMPLE_ROWS
#: Depth of a valley between two modes, in standard errors.
_VALLEY = 3.0


def null_replication(rows: Any, result: Replication, refit: Refit, size: int, seed: int, threads: int) -> float | None:
    """Return the replication in null data, or None if the labels replicate better.

    Halves are compared with each other, in the data and in the null data. None, too, if null data cannot be drawn:
    for sparse rows and for frames with text.
    """
    if is_sparse(rows):
        return None
    try:
        X = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    observed = float(result.kept.mean())
    m, rng, null, data = min(len(X), 2 * size), stream(seed, *b"null"), list[float](), NullData(X)
    while len(null) < _NULL_SAMPLES:
        sample = data.draw(m, rng)
        table = type(rows)(sample, columns=rows.columns) if hasattr(rows, "iloc") else sample
        halves = [(half, int(rng.integers(2**31 - 1))) for half in (np.arange(size), np.arange(m - size, m))]
        one, other = refit._replace(rows=table, weights=None).run(halves, threads)
        if isinstance(one, str) or isinstance(other, str):
            return None
        matched, labeled = agreement(one, other)
        null.append(float(matched.sum() / max(labeled.sum(), 1.0)))
        if len(null) == _NULL_SAMPLES // 3 and _is_better(observed, max(null)):
            return None
    mean = float(np.mean(null))
    return None if _is_better(observed, mean) else float(np.clip(result.share + mean - observed, 0.0, 1.0))


def _is_better(observed: float, null: float) -> bool:
    """Tell whether labels clearly replicate better than in null data: 98% is better than 97%, as 70% is than 61%."""
    return (1.0 - observed) * null < _MAX_ODDS * (1.0 - null) * observed


class NullData:
    """A Gaussian copula with the rank correlations of X (n, d) and its margins, smoothed until they are unimodal."""

    def __init__(self, X: FloatArray) -> None:
        from sklearn.covariance import ledoit_wolf

        X = X[:_NULL_ROWS]
        n, d = X.shape
        scores = ndtri((rankdata(X, axis=0) - 0.5) / n)
        scores /= np.maximum(scores.std(axis=0), 1e-12)
        if d > _NULL_ROWS // 2:
            root = scores / np.sqrt(n)
        else:
            values, vectors = np.linalg.eigh(np.atleast_2d(ledoit_wolf(scores, assume_centered=True)[0]))
            root = (vectors * np.sqrt(np.maximum(values, 0.0))).T
        self._root = root / np.maximum(np.sqrt((root**2).sum(axis=0)), 1e-12)
        self._margins = np.column_stack([_unimodal_margin(column) for column in X.T])

    def draw(self, m: int, rng: np.random.Generator) -> FloatArray:
        """Draw rows (m, d)."""
        n = len(self._margins)
        uniform = ndtr(rng.normal(size=(m, self._root.shape[0])) @ self._root)
        # Values between those at the ranks 0.5, 1.5, ... of n.
        rank = np.clip(uniform * n - 0.5, 0.0, n - 1.0)
        below = rank.astype(np.intp)
        low, high = (np.take_along_axis(self._margins, np.minimum(below + i, n - 1), axis=0) for i in range(2))
        return low + (rank - below) * (high - low)


def _unimodal_margin(x: FloatArray) -> FloatArray:
    """Return the sorted values of a column, spread with the smallest normal kernel that leaves one mode.

    Modes are counted between the 2% and 98% quantiles; mean and deviation stay, and columns
    without negative values remain so. The range does not: columns that fill it replicate well in four clusters.
    Columns of two values keep them: an answer of yes or no is not a cluster.
    """
    ordered, n_bins = np.sort(x), 200
    if np.unique(x).size <= 2:
        return ordered
    low, high = np.quantile(ordered, [0.02, 0.98])
    deviation = float(x.std())
    if high <= low or deviation == 0.0:
        return ordered
    density = np.histogram(x, n_bins, (low, high))[0].astype(np.float64)
    bins_per_unit = n_bins / (high - low)
    spread = min(deviation, float(np.subtract(*np.quantile(ordered, [0.75, 0.25]))) / 1.34) or deviation

    # The first one is too narrow to change the margin.
    bandwidths = 0.2 * spread * 1.1 ** np.arange(64)

    def is_unimodal(i: int) -> bool:
        sigma = bandwidths[i] * bins_per_unit
        smooth = gaussian_filter1d(density, sigma, mode="nearest", truncate=5.0)
        # A valley counts if it lies below the peaks on both sides by more than the noise of the smoothed counts.
        peaks = np.minimum(np.maximum.accumulate(smooth), np.maximum.accumulate(smooth[::-1])[::-1])
        return bool((peaks - smooth <= _VALLEY * np.sqrt(peaks / (2.0 * np.sqrt(np.pi) * sigma))).all())

    if is_unimodal(0):
        return ordered
    bandwidth = bandwidths[bisect_left(range(len(bandwidths) - 1), True, key=is_unimodal)]
    smooth = np.sort(ordered + bandwidth * ndtri((np.argsort(stream(x.size).random(x.size)) + 0.5) / x.size))
    smooth = (smooth - smooth.mean()) * (deviation / smooth.std()) + x.mean()
    return smooth if ordered[0] < 0.0 else np.sort(np.abs(smooth))
