"""Points of a period, scored as new ones, and what is kept of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from allegiance._core import AnyArray, FloatArray, IntArray, Rows, is_sparse, stream
from allegiance.calibration import Calibration, RowSample
from allegiance.influence import Kernel
from allegiance.results import CONTESTED, CONTRADICTED, AffinityResult, FrameLike, Period, Profile

from ._fit import InMemory, fit
from ._fitted import Fitted
from ._labels import Labels

#: Most features that periods are compared by.
_MOST_FEATURES = 1000
#: Halves that a sample is fitted to, to see how far scores of the points of a fit flatter. The mean of so many is
#: steady to about a tenth; what is left is allowed for when periods are compared.
_HALVES = 10
#: Precision of the scores of halves: means over many points need less than single ones.
_EPS = 0.05


def period_of(fitted: Fitted, X: Any, start: int = 0, features: Rows | None = None) -> Period:
    """Score points (n, d) as new ones, and return what they add up to.

    Parameters
    ----------
    fitted
        What scores, with trust.
    X
        The points, as the user passed them.
    start
        The number of the first of them in the whole period.
    features
        (n, d) the features that the user knows; by default the numbers of X.
    """
    check_comparable(fitted)
    result = fitted.score(X, top=1)
    rows = fitted.rows(X)
    n_rows = (fitted.specification.calibration or Calibration()).most_rows(fitted.classes.size)
    seed = fitted.specification.settings.seed
    known = _features(fitted, X) if features is None else features
    if known is not None and known.shape[1] > _MOST_FEATURES:
        known = None
    return Period.of(result, rows, known, n_rows=n_rows, seed=seed, start=start)


def profile_of(fitted: Fitted, period: Period, *, reference: bool, names: Sequence[str] | None = None) -> Profile:
    """Return the figures of a period.

    Parameters
    ----------
    fitted
        What scored it.
    period
        Read to its end.
    reference
        Whether others will be compared with it.
    names
        (d,) of the features; by default those of the columns.
    """
    k = fitted.classes.size
    n = int(period.counts[:k, 0].sum())
    optimism = _optimism(fitted, period.rows, n) if reference else np.zeros((k + 1, 3))
    known = _feature_names(fitted) if names is None else names
    return Profile.of(period, np.array([] if period.values is None else known, dtype=object), optimism)


#: What a profile is called among the parts of a fitted object.
_BASELINE = "baseline"


def with_baseline(fitted: Fitted, profile: Profile) -> Fitted:
    """Return the same with the figures of a first period, which later ones are compared with."""
    return fitted.with_part(_BASELINE, profile)


def baseline_of(fitted: Fitted) -> Profile | None:
    """Return the figures of the first period, if they were kept."""
    found = fitted.parts.get(_BASELINE)
    return found if isinstance(found, Profile) else None


def check_comparable(fitted: Fitted) -> None:
    """Raise unless the periods of a scorer can be compared."""
    if fitted.trust_map is None:
        raise ValueError(
            "comparing periods needs trust, but the scorer has no calibration: fit AffinityScorer(..., calibration=20)."
        )
    if fitted.influence == Kernel("precomputed"):
        raise ValueError("comparing periods needs points, but influence='precomputed' has only their kernel values.")


def _feature_names(fitted: Fitted) -> AnyArray:
    """Return the names (d,) of the features that periods are compared by."""
    columns = fitted.columns
    names = columns.prepared_names if _compares_prepared(fitted) else columns.known_names
    numbered = [f"x{number}" for number in range(columns.n_features)]
    return np.array(numbered if names is None else names, dtype=object)


def _compares_prepared(fitted: Fitted) -> bool:
    """Tell whether the first period was compared by what transformers make of X."""
    baseline, prepared = baseline_of(fitted), fitted.columns.prepared_names
    if fitted.columns.preparation is None or baseline is None or prepared is None:
        return False
    return list(baseline.names) == list(prepared)


def _features(fitted: Fitted, X: Any) -> Rows | None:
    """Return the features (n, d) that the user knows.

    Behind transformers these are the numbers of X as they come, in their own units, NaN where there is none; or what
    the transformers make, if the first period was compared by that.
    """
    columns = fitted.columns
    if columns.preparation is None:
        return columns.check(X)
    if _compares_prepared(fitted):
        return in_own_units(columns.preparation, columns.check(X))
    frame = nw.from_native(X, pass_through=True, eager_only=True)
    if isinstance(frame, nw.DataFrame):
        names = columns.known_names if columns.known_names is not None else frame.columns
        return np.column_stack([_numbers(frame[name]) for name in names])
    values = X if is_sparse(X) else np.asarray(X)
    return values if values.dtype.kind in "biuf" else np.full(values.shape, np.nan)


def in_own_units(preparation: Any, matrix: Rows) -> Rows:
    """Return what a pipeline of transformers makes, before it is scaled in the last step."""
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

    last = preparation.steps[-1][1] if isinstance(preparation, Pipeline) else None
    known = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)
    return last.inverse_transform(matrix) if isinstance(last, known) else matrix


def _numbers(column: nw.Series[Any]) -> FloatArray:
    if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        return np.full(len(column), np.nan)
    return column.cast(nw.Float64).to_numpy().astype(np.float64)


def _optimism(fitted: Fitted, sample: RowSample, n_points: int) -> FloatArray:
    """Estimate how far the points of the fit flatter: expected right, contested, contradicted (k + 1, 3).

    Halves of a sample are clustered and fitted anew, starting from the clusters there are, and both halves are scored.
    What the other half does worse shrinks with the number of points of the fit.
    """
    k, m = fitted.classes.size, sample.codes.size
    if m < 4:
        return np.zeros((k + 1, 3))
    coordinates = fitted.influence.coordinates(fitted.diagram, sample.rows, fitted.locate(sample.rows))
    settle = fitted.influence.clusterer(k) is None
    found = []
    # k-means on one thread adds up in the same order on any machine.
    with threadpool_limits(1):
        for number in range(_HALVES):
            inside = _half(sample.codes, fitted.specification.settings.seed, number)
            codes = sample.codes[inside]
            if settle:
                codes = _settled(coordinates[inside], codes)
            result, present = _refitted_scores(fitted, sample.rows, inside, codes)
            found.append(_figures(result, ~inside, present, k) - _figures(result, inside, present, k))
    with np.errstate(invalid="ignore"):
        known = ~np.isnan(found)
        mean = np.nan_to_num(found).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return mean * (m / 2) / max(n_points, 1)


def _half(codes: IntArray, seed: int, number: int) -> AnyArray:
    """Return which points (m,) are in a random half of each cluster, the larger one."""
    order = np.lexsort((stream(seed, *b"optimism", number).random(codes.size), codes))
    firsts = np.searchsorted(codes[order], codes[order])
    inside = np.empty(codes.size, dtype=bool)
    inside[order] = (np.arange(codes.size) - firsts) % 2 == 0
    return inside


def _settled(coordinates: FloatArray, codes: IntArray) -> IntArray:
    """Return the clusters (h,) of points after k-means from the clusters they are in."""
    from sklearn.cluster import KMeans

    present, place = np.unique(codes, return_inverse=True)
    sums = np.stack([coordinates[place == number].mean(axis=0) for number in range(present.size)])
    labels: IntArray = KMeans(present.size, init=sums, n_init=1, max_iter=100).fit_predict(coordinates)
    return present[labels]


def _refitted_scores(fitted: Fitted, rows: Rows, inside: AnyArray, codes: IntArray) -> tuple[AffinityResult, IntArray]:
    """Fit to the points inside, in these clusters, with the trust that is known, and score all points as new ones.

    Return the scores, and the number in ``fitted`` of each cluster there.
    """
    specification = fitted.specification
    present = np.unique(codes)
    complete = present.size == fitted.classes.size
    settings = replace(specification.settings, eps=max(_EPS, specification.settings.eps), verbose=False)
    asked = replace(
        specification,
        settings=settings,
        calibration=None,
        centers=None,
        weights=specification.weights if complete else None,
    )
    labels = Labels.of(codes, codes.size)
    again = fit(asked, InMemory(rows[inside], labels), fitted.columns, threads=settings.threads).fitted
    assert fitted.trust_map is not None
    assert again.members is not None
    reach = again.members.value.farthest
    trust_map = fitted.trust_map.take(present, reach)
    located = again.locate(rows)
    nearest = again.codes_of_new(rows, located)
    return again.score_located(located, nearest, FrameLike(), 0.0, top=1).with_trust(trust_map), present


def _figures(result: AffinityResult, chosen: AnyArray, present: IntArray, k: int) -> FloatArray:
    """Return expected right, contested and contradicted shares (k + 1, 3) of some points, in all last; NaN for none."""
    codes = present[result.codes[chosen]]
    columns = (result.trust, result.verdict == CONTESTED, result.verdict == CONTRADICTED)
    sums = np.stack([np.bincount(codes, column[chosen], minlength=k) for column in columns], axis=1)
    numbers = np.bincount(codes, minlength=k)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.vstack([sums, sums.sum(axis=0)]) / np.append(numbers, numbers.sum())[:, None]
