"""A period in numbers: all that two months of data are compared by, in pieces that can be added up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp

from allegiance._core import (
    AnyArray,
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    OrNone,
    Part,
    Rows,
    Sizes,
    dense,
    floats,
    is_sparse,
    stored,
)
from allegiance.calibration import RowSample

from ._clusters import ATYPICAL, CONTESTED, CONTRADICTED

if TYPE_CHECKING:
    from ._result import AffinityResult


#: Groups of the members of a cluster: nothing wrong; contested or contradicted; unlike anything seen.
FINE, DOUBTFUL, UNLIKE = range(3)
_GROUPS = 3
#: Columns of the counts.
POINTS, N_CONTESTED, N_CONTRADICTED, N_UNLIKE = range(4)
#: Rows whose values are kept while a period is read, to see how each feature is distributed.
_VALUES = 4096
#: Rows unlike anything seen that are kept, to see whether they lie together.
_UNLIKE_ROWS = 1024
#: Levels of the quantiles that are kept of each feature.
LEVELS = np.linspace(0.0, 1.0, 129)


Mergeable = TypeVar("Mergeable", "Moments", RowSample)


@stored(
    "moments",
    count=floats("g", "d", low=0.0),
    mean=floats("g", "d"),
    squares=floats("g", "d", low=0.0, infinite=True),
)
@dataclass(frozen=True, eq=False)
class Moments:
    """Counts, means and sums of squared deviations, each (g, d), of d features in g groups of points.

    Missing values (NaN) are left out.
    """

    count: FloatArray
    mean: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, features: Rows, groups: IntArray, n_groups: int) -> Moments:
        """Take features (n, d), dense or sparse, of points in these groups (n,)."""
        n = groups.size
        member = sp.csr_array((np.ones(n), groups, np.arange(n + 1)), shape=(n, n_groups)).T
        if is_sparse(features):
            count = np.repeat(np.bincount(groups, minlength=n_groups)[:, None], features.shape[1], axis=1).astype(float)
            mean = dense(member @ features) / np.maximum(count, 1.0)
            squares = dense(member @ features.multiply(features)) - count * mean**2
            return cls(count, mean, np.maximum(squares, 0.0))
        known = ~np.isnan(features)
        values = np.where(known, features, 0.0).astype(np.float64, copy=False)
        count = member @ known.astype(np.float64)
        mean = (member @ values) / np.maximum(count, 1.0)
        deviations = np.where(known, values - mean[groups], 0.0)
        return cls(count, mean, member @ deviations**2)

    def plus(self, other: Moments) -> Moments:
        """Return the moments of both sets of points."""
        both = (np.stack(pair) for pair in zip(self.arrays(), other.arrays(), strict=True))
        return Moments._merged(*both)

    def arrays(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return counts, means and sums of squared deviations."""
        return self.count, self.mean, self.squares

    @classmethod
    def _merged(cls, count: FloatArray, mean: FloatArray, squares: FloatArray) -> Moments:
        """Merge along the first axis."""
        total = count.sum(axis=0)
        joint = (count * mean).sum(axis=0) / np.maximum(total, 1.0)
        return cls(total, joint, (squares + count * (mean - joint) ** 2).sum(axis=0))

    def take(self, kinds: tuple[int, ...]) -> Moments:
        """Return the moments by cluster (k + 1, d) of the members of some of the groups, together."""
        rows = [slice(kind, None, _GROUPS) for kind in kinds]
        return Moments._merged(*(np.stack([part[row] for row in rows]) for part in self.arrays()))

    def overall(self) -> Moments:
        """Return the moments (1, d) of all points."""
        return Moments._merged(*(part[:, None] for part in self.arrays()))

    @property
    def variance(self) -> FloatArray:
        """(g, d) variances, 0 where there are fewer than two values."""
        return self.squares / np.maximum(self.count - 1.0, 1.0)


class Period(NamedTuple):
    """Sums over the points of a period, and samples of them; periods that are read in pieces are added up.

    Arrays have a row for each cluster, and a last one for noise.
    """

    counts: IntArray
    """(k + 1, 4) points, contested, contradicted, unlike anything seen."""
    trust: FloatArray
    """(k + 1, 2) sums of trust and of its square."""
    moments: Moments | None
    """Of the features in 3 (k + 1) groups: see :data:`FINE`, :data:`DOUBTFUL`, :data:`UNLIKE`; None for too many."""
    rows: RowSample
    """Rows as the diagram needs them, to see how far scores of the points of a fit flatter."""
    values: RowSample | None
    """Features of a sample of points, whose codes are those of the groups of ``moments``."""
    unlike: RowSample | None
    """Features of a sample of the points unlike anything seen."""

    @classmethod
    def of(
        cls, result: AffinityResult, rows: Rows, features: Rows | None, *, n_rows: int, seed: int, start: int = 0
    ) -> Period:
        """Take scored points.

        Parameters
        ----------
        result
            Their scores, with trust.
        rows
            (n, p) as the diagram needs them.
        features
            (n, d) as the user knows them; None if there are too many to compare.
        n_rows
            Most rows that are kept of ``rows``.
        seed, start
            Decide which rows are kept: a seed, and the number of the first point in the whole period.
        """
        k, codes, verdict = result.n_clusters, result.codes, result.verdict
        unlike = is_unlike(result)
        cluster = np.where(codes < 0, k, codes)
        contested, contradicted = verdict == CONTESTED, verdict == CONTRADICTED
        flags = (np.ones(codes.size, dtype=bool), contested, contradicted, unlike)
        trust = np.nan_to_num(result.trust)
        group = np.where(unlike, UNLIKE, np.where(contested | contradicted, DOUBTFUL, FINE))
        moments = values = strange = None
        if features is not None:
            group += cluster * _GROUPS
            moments = Moments.of(features, group, _GROUPS * (k + 1))
            values = RowSample.of(features, group, limit=_VALUES, seed=seed, start=start)
            strange = RowSample.of(features, np.where(unlike, codes, -1), limit=_UNLIKE_ROWS, seed=seed, start=start)
        return cls(
            np.stack([np.bincount(cluster[flag], minlength=k + 1) for flag in flags], axis=1),
            np.stack([np.bincount(cluster, weights=trust**power, minlength=k + 1) for power in (1, 2)], axis=1),
            moments,
            RowSample.of(rows, codes, limit=n_rows, seed=seed, start=start),
            values,
            strange,
        )

    def plus(self, other: Period) -> Period:
        """Return what both sets of points add up to."""
        return Period(
            self.counts + other.counts,
            self.trust + other.trust,
            _sum(self.moments, other.moments),
            self.rows.plus(other.rows),
            _sum(self.values, other.values),
            _sum(self.unlike, other.unlike),
        )


def _sum(one: Mergeable | None, other: Mergeable | None) -> Mergeable | None:
    return None if one is None or other is None else one.plus(other)


def is_unlike(result: AffinityResult) -> BoolArray:
    """Return which points (n,) are unlike anything seen: with a typicality below 1 %.

    In clusters of fewer than a hundred members, which cannot show 1 %, those that lie farther out than every member.
    """
    if result.members is None:
        return np.zeros(result.n_points, dtype=bool)
    sizes = np.diff(result.members.value.starts)
    farther = 1.5 / (1.0 + sizes)
    with np.errstate(invalid="ignore"):
        bar = np.where(result.noise, np.nan, np.maximum(ATYPICAL, farther)[result.codes])
        # A cluster without members has nothing to be unlike.
        return (result.typicality < bar) & (result.typicality < 1.0)


def unlike_rate(sizes: IntArray) -> FloatArray:
    """Return the chance (k,), for clusters of so many known members, that one more like them is called unlike."""
    known = np.maximum(np.ceil(ATYPICAL * (1.0 + sizes)) - 1.0, 1.0)
    return np.where(sizes > 0, known / (1.0 + sizes), 0.0)


def _three_groups(parts: dict[str, Any], sizes: Sizes) -> None:
    """Raise unless there are moments of three groups for each cluster and for noise."""
    if parts["moments"] is not None and len(parts["moments"]["count"]) != _GROUPS * (sizes["k"] + 1):
        raise ValueError("moments must be those of three groups for each cluster.")


@stored(
    "profile",
    _three_groups,
    names=Array(("d",), "label"),
    counts=Array(("k+1", 4), "int", low=0),
    trust=floats("k+1", 2, low=0.0),
    moments=OrNone(Part("moments", d="d")),
    quantiles=OrNone(floats(len(LEVELS), "d")),
    n_values=OrNone(Array(("d",), "int", low=0)),
    optimism=floats("k+1", 3),
)
@dataclass(frozen=True, eq=False)
class Profile:
    """What is kept of a period: counts, means and quantiles, but no rows. It can be saved with a scorer.

    Attributes
    ----------
    names
        (d,) names of the features.
    counts, trust, moments
        As in :class:`Period`.
    quantiles
        (129, d) of each feature; None if features were too many to compare.
    n_values
        (d,) how many values they come from.
    optimism
        (k + 1, 3) how far expected right, contested and contradicted shares may differ from those of new points
        because the scorer was fitted to these points: new minus known. The last row is for all points.
    values, unlike
        Samples of :class:`Period`; not saved.
    """

    names: AnyArray
    counts: IntArray
    trust: FloatArray
    moments: Moments | None
    quantiles: FloatArray | None
    n_values: IntArray | None
    optimism: FloatArray
    values: RowSample | None = field(default=None, repr=False)
    unlike: RowSample | None = field(default=None, repr=False)

    @classmethod
    def of(cls, period: Period, names: AnyArray, optimism: FloatArray) -> Profile:
        """Put a period that was read to its end into figures."""
        quantiles = n_values = None
        if period.values is not None:
            values = dense(period.values.rows).astype(np.float64, copy=False)
            n_values = (~np.isnan(values)).sum(axis=0)
            known = np.where(n_values > 0, values, 0.0)
            quantiles = np.nanquantile(known, LEVELS, axis=0)
        return cls(
            names,
            period.counts,
            period.trust,
            period.moments,
            quantiles,
            n_values,
            optimism,
            period.values,
            period.unlike,
        )

    def typical(self, cluster: int) -> FloatArray:
        """Return features (m, d) of a sample of the members of a cluster that are like those known."""
        assert self.values is not None
        chosen = (self.values.codes // _GROUPS == cluster) & (self.values.codes % _GROUPS != UNLIKE)
        return dense(self.values.rows[chosen])

    @property
    def n_points(self) -> int:
        """The number of points, noise included."""
        return int(self.counts[:, POINTS].sum())
