"""What is kept of a period: counts, moments and samples by cluster, which add up over its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from allegiance._core.stored import Array, OrNone, floats, stored
from allegiance._core.validation import AnyArray, BoolArray, FloatArray, IntArray, Rows, dense, is_sparse
from allegiance.calibration import RowSample
from allegiance.fitting import Fitted
from allegiance.influence import Kernel
from allegiance.results import ATYPICAL, AffinityResult, count_by_cluster, distance_and_closeness

#: Most features that are compared one by one, and rows whose moments are computed at a time.
_MOST_FEATURES, _BLOCK = 1000, 8192
#: Rows of a period whose values are kept while it is read: of all points, and of atypical ones.
_VALUES, _STRANGE = 4096, 1024
#: Levels of the quantiles that are kept of each feature.
LEVELS = np.linspace(0.0, 1.0, 129)
#: Relative differences up to this are rounding, that of float32 included.
ROUNDING = 1e-7
#: What a profile is called among the parts of a fitted object.
_BASELINE = "baseline"


@stored(
    "profile",
    names=Array(("d",), "label"),
    counts=Array(("k+1", 2), "int", low=0),
    moments=OrNone(floats(2, 3, "k+1", "d")),
    quantiles=OrNone(floats(len(LEVELS), "d")),
    n_values=OrNone(Array(("d",), "int", low=0)),
)
@dataclass(frozen=True, eq=False)
class Profile:
    """What is kept of a period. Profiles of its parts add up: ``profile.plus(other)``.

    Attributes
    ----------
    names
        (d,) names of the features.
    counts
        (k + 1, 2) points and atypical points of each cluster; the last row is noise.
    moments
        (2, 3, k + 1, d) counts, means and sums of squared deviations of the features in each cluster, of its typical
        points and of its atypical ones. None if there are more than 1,000 features.
    quantiles, n_values
        (129, d) quantiles of each feature, and (d,) how many values they come from: set by :meth:`without_rows`.
    values, strange
        Samples of the rows and of the atypical rows. They are not saved.
    """

    names: AnyArray
    counts: IntArray
    moments: FloatArray | None
    quantiles: FloatArray | None = None
    n_values: IntArray | None = None
    values: RowSample | None = field(default=None, repr=False)
    strange: RowSample | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls, codes: IntArray, atypical: BoolArray, k: int, features: Rows, names: Any, *, seed: int, start: int = 0
    ) -> Profile:
        """Take points with cluster numbers (n,), -1 for noise, and features (n, d); ``start`` numbers the first."""
        counts = count_by_cluster(codes, k, [np.ones(codes.size, dtype=bool), atypical])
        if features.shape[1] > _MOST_FEATURES:
            return cls(np.array([], dtype=object), counts, None)
        group = np.where(codes < 0, k, codes) + (k + 1) * atypical
        strange = np.where(atypical, codes, -1)
        return cls(
            np.array(names, dtype=object),
            counts,
            _moments(features, group, 2 * (k + 1)).reshape(3, 2, k + 1, -1).swapaxes(0, 1),
            values=RowSample.of(features, group, limit=_VALUES, seed=seed, start=start),
            strange=RowSample.of(features, strange, limit=_STRANGE, seed=seed, start=start),
        )

    def plus(self, other: Profile) -> Profile:
        """Return the profile of both sets of points, which must not overlap."""
        moments = values = strange = None
        if self.moments is not None and other.moments is not None:
            moments = _pooled(np.stack([self.moments, other.moments]), axis=2)
        if self.values is not None and other.values is not None:
            values = self.values.plus(other.values)
        if self.strange is not None and other.strange is not None:
            strange = self.strange.plus(other.strange)
        return Profile(self.names, self.counts + other.counts, moments, values=values, strange=strange)

    def without_rows(self) -> Profile:
        """Return the same with quantiles instead of samples of rows: this is what is saved."""
        if self.values is None:
            return self
        values = dense(self.values.rows).astype(np.float64, copy=False)
        n_values = (~np.isnan(values)).sum(axis=0)
        quantiles = np.nanquantile(np.where(n_values > 0, values, 0.0), LEVELS, axis=0)
        return replace(self, quantiles=quantiles, n_values=n_values, values=None, strange=None)

    @property
    def n_points(self) -> int:
        """The number of points, noise included."""
        return int(self.counts[:, 0].sum())

    def by_cluster(self, *, typical: bool = False) -> FloatArray:
        """Return counts, means and squares (3, k + 1, d) of the members of each cluster, or of the typical ones."""
        assert self.moments is not None
        return self.moments[0] if typical else _pooled(self.moments)

    def overall(self) -> FloatArray:
        """Return counts, means and squares (3, d) of all points."""
        return _pooled(self.by_cluster().swapaxes(0, 1))

    def spread(self) -> FloatArray:
        """Return the usual standard deviation (d,) of each feature inside a cluster; that of all where it is 0."""
        number, _, squares = self.by_cluster(typical=True)
        freedom = np.maximum(number - 1.0, 0.0).sum(axis=0)
        pooled = np.sqrt(squares.sum(axis=0) / np.maximum(freedom, 1.0))
        every = self.overall()
        return np.where(pooled > ROUNDING * np.abs(every[1]), pooled, np.sqrt(variance_of(every)))


def _moments(features: Rows, groups: IntArray, n_groups: int) -> FloatArray:
    """Return counts, means and squares (3, g, d) of features (n, d) of points in groups (n,); NaN is left out."""
    parts = []
    for start in range(0, max(groups.size, 1), _BLOCK):
        rows, group = dense(features[start : start + _BLOCK]), groups[start : start + _BLOCK]
        member = sparse.csr_array((np.ones(group.size), group, np.arange(group.size + 1)), (group.size, n_groups)).T
        known = ~np.isnan(rows)
        values = np.where(known, rows, 0.0).astype(np.float64, copy=False)
        number = member @ known.astype(np.float64)
        mean = (member @ values) / np.maximum(number, 1.0)
        parts.append([number, mean, member @ np.where(known, values - mean[group], 0.0) ** 2])
    return _pooled(np.array(parts))


def _pooled(parts: FloatArray, axis: int = 1) -> FloatArray:
    """Merge counts, means and squares of several sets of points (m, 3, ...), or with the three along ``axis``."""
    number, mean, squares = np.moveaxis(parts, axis, 0)
    total = number.sum(axis=0)
    joint = (number * mean).sum(axis=0) / np.maximum(total, 1.0)
    return np.stack([total, joint, (squares + number * (mean - joint) ** 2).sum(axis=0)], axis=axis - 1)


def variance_of(moments: FloatArray) -> FloatArray:
    """Return variances, 0 where there are fewer than two values."""
    variance: FloatArray = moments[2] / np.maximum(moments[0] - 1.0, 1.0)
    return variance


def profile_rows(
    fitted: Fitted,
    X: Any,
    *,
    result: AffinityResult | None = None,
    features: Rows | None = None,
    names: Sequence[str] | None = None,
    start: int = 0,
) -> Profile:
    """Return the profile of rows: one period, or a part of it that is added to others.

    Parameters
    ----------
    fitted
        What labels new points: ``scorer.fitted_``.
    X
        (n, d) the rows. They pass the transformers of the scorer once.
    result
        Their scores, if they are known: then X does not pass the transformers at all where ``features`` are given.
    features, names
        (n, d) and (d,) what periods are compared by; by default the numbers of X, in their own units.
    start
        The number of the first row in the whole period.
    """
    if fitted.influence == Kernel("precomputed"):
        raise ValueError("comparing periods needs points, but influence='precomputed' has only their kernel values.")
    if fitted.members is None:
        raise ValueError("comparing periods needs the distances of members, which this scorer lacks: fit it again.")
    columns, baseline = fitted.columns, baseline_of(fitted)
    prepared = None
    if result is None:
        prepared = columns.check(X)
        codes, typicality = _typicality(fitted.without_preprocessing(), prepared)
    else:
        codes, typicality = result.codes, result.typicality
    if features is None:
        known = columns.known_names
        features = _numbers(X, known) if columns.preparation is not None else columns.check(X)
        made = None if columns.preparation is None or baseline is None else columns.prepared_names
        if baseline is not None and made is not None and list(baseline.names) == list(made):
            known = made
            features = _in_own_units(columns.preparation, columns.check(X) if prepared is None else prepared)
        names = [f"x{i}" for i in range(features.shape[1])] if known is None else list(known)
    # In clusters of under 100 members a point is atypical if it lies farther out than every member.
    bar = np.maximum(ATYPICAL, 1.5 / (1.0 + member_sizes(fitted)))
    with np.errstate(invalid="ignore"):
        # A cluster without members has nothing to be unlike.
        atypical = (codes >= 0) & (typicality < bar[codes]) & (typicality < 1.0)
    seed = fitted.specification.settings.seed
    return Profile.of(codes, atypical, fitted.classes.size, features, names, seed=seed, start=start)


def _typicality(fitted: Fitted, rows: Rows) -> tuple[IntArray, FloatArray]:
    """Return the clusters (n,) that new points get, and their typicality (n,). No volume is measured."""
    points = fitted.prepare_input(rows)
    located = fitted.locate(points.rows)
    codes = fitted.codes_of_new(points.rows, located) if points.codes is None else points.codes
    distance, _ = distance_and_closeness(fitted.diagram, located, codes, fitted.specification.settings.threads)
    assert fitted.members is not None
    return codes, fitted.members.value.typicality(codes, distance)


def member_sizes(fitted: Fitted) -> IntArray:
    assert fitted.members is not None
    return np.diff(fitted.members.value.starts)


def _numbers(X: Any, names: AnyArray | None) -> Rows:
    """Return the numbers (n, d) of X as they come, in their own units, NaN for what is not a number."""
    frame = nw.from_native(X, pass_through=True, eager_only=True)
    if isinstance(frame, nw.DataFrame):
        return np.column_stack(
            [
                column.cast(nw.Float64).to_numpy().astype(np.float64)
                if column.dtype.is_numeric() or column.dtype == nw.Boolean
                else np.full(len(column), np.nan)
                for column in (frame[name] for name in (frame.columns if names is None else names))
            ]
        )
    values = X if is_sparse(X) else np.asarray(X)
    return values if values.dtype.kind in "biuf" else np.full(values.shape, np.nan)


def _in_own_units(preparation: Any, matrix: Rows) -> Rows:
    """Return what a pipeline of transformers makes, before it is scaled in the last step."""
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

    last = preparation.steps[-1][1] if isinstance(preparation, Pipeline) else None
    scalers = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)
    return last.inverse_transform(matrix) if isinstance(last, scalers) else matrix


def with_baseline(fitted: Fitted, profile: Profile) -> Fitted:
    """Return the same with the profile of a first period, which later ones are compared with."""
    return fitted.with_part(_BASELINE, profile.without_rows())


def baseline_of(fitted: Fitted) -> Profile | None:
    """Return the profile of the first period, if it was kept."""
    found = fitted.parts.get(_BASELINE)
    return found if isinstance(found, Profile) else None
