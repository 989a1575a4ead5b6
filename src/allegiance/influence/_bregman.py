"""Bregman divergences as influence."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allegiance._core.parallel import slices, stream
from allegiance._core.stored import Number, stored
from allegiance._core.validation import FloatArray, Rows, check_number, dense, is_sparse, row_dots

from ._base import INFLUENCES, Diagram, Influence, Located

if TYPE_CHECKING:
    from allegiance.fitting import Training

#: Points, and coordinates or directions, at which the functions of a new divergence are compared.
_TRIALS = 12
#: How far a gradient may be from finite differences, relative to its size, and a divergence below zero.
_GRADIENT_ERROR, _CONVEXITY_ERROR = 1e-5, 1e-9
#: Entries checked at a time.
_CHUNK = 2**20
#: Smoothing from here on may be beyond single precision once it is added to X.
_MOST_SMOOTHING = 1e30
_REMEDY = "transform the data, or use another influence."
_REMEDY_FOR_ZEROS = (
    "for zeros in counts or shares use smoothing, a small number added to every entry, as in KL(smoothing=0.5)."
)


class BregmanInfluence(Influence):
    """D(y ‖ c) = phi(y) - phi(c) - <∇phi(c), y - c> for a strictly convex phi on an interval of each coordinate.

    Subclasses replace the default methods by forms that lose no digits.
    """

    #: The open interval in which coordinates lie, smoothing included.
    domain: tuple[float, float]
    #: Added to every entry before divergences are computed.
    smoothing: float = 0.0

    @abstractmethod
    def gradients(self, Y: FloatArray) -> FloatArray:
        """Return the gradients (n, d) of phi at rows (n, d)."""

    @abstractmethod
    def rowwise(self, Y: FloatArray, C: FloatArray) -> FloatArray:
        """Return D(y ‖ c) (n,) of each row of Y (n, d) from the same row of C (n, d); either may be one row (d,)."""

    def slopes(self, Y: FloatArray, c: FloatArray) -> FloatArray:
        """Return ∇phi(y) - ∇phi(c) for rows y of Y (n, d) and one c (d,)."""
        return self.gradients(Y) - self.gradients(c[None])

    @abstractmethod
    def _unchecked_points(self, slopes: FloatArray, c: FloatArray) -> FloatArray:
        """Do the same as :meth:`points`, whether or not the points are inside the domain of the divergence."""

    def potentials(self, Y: FloatArray, slopes: FloatArray, c: FloatArray) -> FloatArray:
        """Return D(c ‖ y) (n,) for rows of Y (n, d) with ∇phi(y) - ∇phi(c) = slope (n, d)."""
        return self.rowwise(c, Y)

    def spread(self, Y: FloatArray, slopes: FloatArray, c: FloatArray) -> FloatArray | None:
        """Return 1 / phi'' (n, d) at such rows, if phi is a sum over coordinates."""
        return None

    def between(self, Y: FloatArray, C: FloatArray) -> FloatArray:
        """Return D(y ‖ c) (n, m) of every row y of Y (n, d) from every row c of C (m, d)."""
        return np.column_stack([self.rowwise(Y, c) for c in C]) if len(C) else np.empty((len(Y), 0))

    def points(self, slopes: FloatArray, c: FloatArray) -> FloatArray:
        """Return the y with ∇phi(y) - ∇phi(c) = slope for each row of ``slopes`` (n, d), NaN where there is none."""
        points = self._unchecked_points(slopes, c)
        # A point may reach the edge by rounding, but not pass it.
        low, high = self.domain
        if points.size:
            with np.errstate(invalid="ignore"):
                least, most = points.min(axis=1), points.max(axis=1)
            points[~((least >= low) & (most <= high) & (least > -np.inf) & (most < np.inf))] = np.nan
        return points

    @property
    def title(self) -> str:
        """The name of the divergence in messages."""
        return str(self.registered_as)

    def check(self) -> None:
        """Raise unless the smoothing is a number that is not negative."""
        check_number(self.smoothing, f"smoothing of {type(self).__name__}", low=0.0, high=_MOST_SMOOTHING, closed=True)

    def check_functions(self, d: int) -> None:
        """Raise ValueError unless phi is convex on rows of d numbers, and the gradients are those of phi."""

    @property
    def limits(self) -> tuple[float, float]:
        """The open interval in which every entry of X must lie for the divergence."""
        low, high = self.domain
        return low - self.smoothing, high - self.smoothing

    def prepare(self, X: Rows, argument: str = "X") -> Rows:
        """Return rows with the smoothing added; ValueError if an entry is outside the domain of the divergence."""
        if is_sparse(X):
            raise TypeError(f"X is sparse, but influence {self!r} needs dense X: call X.toarray() first.")
        if self.smoothing:
            X = X + self.smoothing
        low, high = self.domain
        for rows in slices(X.shape[0], max(1, _CHUNK // max(X.shape[1], 1))):
            part = dense(X[rows])
            if part.size == 0 or (part.min() > low and part.max() < high):
                # Inside, but numbers end sooner than some domains: exp(y) is infinite from 710 on.
                with np.errstate(over="ignore", divide="ignore"):
                    outside = ~np.isfinite(self.gradients(part))
                reason, remedy = "too extreme for its gradient to be computed", "scale the data."
            else:
                outside = ~((part > low) & (part < high))
                reason, remedy = f"not strictly between {low:g} and {high:g}", _REMEDY
                if part[outside][0] == 0.0 and self.domain == (0.0, np.inf):
                    remedy = _REMEDY_FOR_ZEROS
            if outside.any():
                row, column = np.argwhere(outside)[0]
                raise ValueError(
                    f"{argument} does not fit influence {self.title!r}: row {rows.start + row}, column {column} is "
                    f"{part[row, column]:g}, {reason}; {remedy}"
                )
        return X

    def restore(self, sites: FloatArray) -> FloatArray:
        """Return sites without the smoothing."""
        return sites - self.smoothing if self.smoothing else sites

    def diagram(self, training: Training, *, keep_axes: bool) -> tuple[Diagram, Located | None]:
        """Return the Bregman diagram of the sites."""
        from ._bregman_diagram import BregmanDiagram

        return BregmanDiagram.of_sites(training.sites, self, keep_axes=keep_axes), None

    def clusterer(self, n_clusters: int) -> Any:
        """Return k-means with the same divergence and one start."""
        from allegiance.clusterers import BregmanKMeans

        return BregmanKMeans(n_clusters, influence=self, n_init=1)


class SeparableInfluence(BregmanInfluence):
    """A divergence whose phi is a sum over coordinates, in forms that lose no digits where y and c are close.

    All but the gradients broadcast, coordinate by coordinate. Of y and its slope u relative to c, one may have
    digits where the other has none left.
    """

    @abstractmethod
    def by_coordinate(self, y: FloatArray, c: FloatArray) -> FloatArray:
        """Return D(y ‖ c) of each coordinate."""

    @abstractmethod
    def potential(self, u: FloatArray, c: FloatArray) -> FloatArray:
        """Return D(c ‖ y) for y with slope u: the conjugate of phi, up to an affine function."""

    def rowwise(self, Y: FloatArray, C: FloatArray) -> FloatArray:
        return np.maximum(self.by_coordinate(Y, C).sum(axis=1), 0.0)

    def potentials(self, Y: FloatArray, slopes: FloatArray, c: FloatArray) -> FloatArray:
        return self.potential(slopes, c).sum(axis=1)


@INFLUENCES.register("kl")
@stored("kl", smoothing=Number(0.0))
@dataclass(frozen=True, eq=False, repr=False)
class KL(SeparableInfluence):
    """Generalized Kullback-Leibler divergence, for counts and shares: X must be positive.

    Parameters
    ----------
    smoothing
        Added to every entry of X and of the centers, so that zeros are accepted.

    Examples
    --------
    >>> from allegiance import affinity
    >>> from allegiance.influence import KL
    >>> counts = [[9, 1, 0], [8, 2, 0], [1, 7, 2], [0, 9, 1]]
    >>> result = affinity(counts, ["sports", "sports", "news", "news"], influence=KL(smoothing=0.5))
    >>> result.frame(details=True)["owner"].tolist()
    ['sports', 'sports', 'news', 'news']
    """

    smoothing: float = 0.0

    domain = (0.0, np.inf)  # of phi(y) = y log y - y

    def gradients(self, Y: FloatArray) -> FloatArray:
        return np.log(Y)

    def by_coordinate(self, y: FloatArray, c: FloatArray) -> FloatArray:
        return _kl(y, c)

    def slopes(self, Y: FloatArray, c: FloatArray) -> FloatArray:
        return _log_ratio(Y, c)

    def _unchecked_points(self, slopes: FloatArray, c: FloatArray) -> FloatArray:
        return np.exp(slopes) * c

    def potential(self, u: FloatArray, c: FloatArray) -> FloatArray:
        return (np.expm1(u) - u) * c

    def spread(self, Y: FloatArray, slopes: FloatArray, c: FloatArray) -> FloatArray:
        return Y


@INFLUENCES.register("itakura-saito")
@stored("itakura-saito", smoothing=Number(0.0))
@dataclass(frozen=True, eq=False, repr=False)
class ItakuraSaito(SeparableInfluence):
    """Itakura-Saito divergence, for spectra: X must be positive, and its scale does not matter.

    Parameters
    ----------
    smoothing
        Added to every entry of X and of the centers, so that zeros are accepted.

    Examples
    --------
    >>> from allegiance import affinity
    >>> from allegiance.influence import ItakuraSaito
    >>> spectra = [[1.0, 4.0], [10.0, 41.0], [4.0, 1.0], [39.0, 10.0]]
    >>> result = affinity(spectra, ["rising", "rising", "falling", "falling"], influence=ItakuraSaito())
    >>> result.frame(details=True)["owner"].tolist()
    ['rising', 'rising', 'falling', 'falling']
    """

    smoothing: float = 0.0

    domain = (0.0, np.inf)  # of phi(y) = -log y

    def gradients(self, Y: FloatArray) -> FloatArray:
        return -1.0 / Y

    def by_coordinate(self, y: FloatArray, c: FloatArray) -> FloatArray:
        return (y - c) / c - _log_ratio(y, c)

    def slopes(self, Y: FloatArray, c: FloatArray) -> FloatArray:
        return (Y - c) / c / Y

    def _unchecked_points(self, slopes: FloatArray, c: FloatArray) -> FloatArray:
        return c / (1.0 - c * slopes)

    def potential(self, u: FloatArray, c: FloatArray) -> FloatArray:
        return -np.log1p(-c * u) - c * u

    def spread(self, Y: FloatArray, slopes: FloatArray, c: FloatArray) -> FloatArray:
        return Y * Y


@INFLUENCES.register("logistic")
@stored("logistic")
@dataclass(frozen=True, eq=False, repr=False)
class Logistic(SeparableInfluence):
    """Logistic loss, for probabilities: every entry of X must lie strictly between 0 and 1.

    Examples
    --------
    >>> from allegiance import affinity
    >>> from allegiance.influence import Logistic
    >>> chances = [[0.9, 0.2], [0.8, 0.1], [0.1, 0.7], [0.3, 0.9]]
    >>> result = affinity(chances, ["a", "a", "b", "b"], influence=Logistic())
    >>> result.frame(details=True)["owner"].tolist()
    ['a', 'a', 'b', 'b']
    """

    domain = (0.0, 1.0)  # of phi(y) = y log y + (1 - y) log(1 - y)

    def gradients(self, Y: FloatArray) -> FloatArray:
        return np.log(Y) - np.log1p(-Y)

    def by_coordinate(self, y: FloatArray, c: FloatArray) -> FloatArray:
        # As generalized Kullback-Leibler divergences: what that adds to one side it takes from the other.
        return _kl(y, c) + _kl(1.0 - y, 1.0 - c)

    def slopes(self, Y: FloatArray, c: FloatArray) -> FloatArray:
        return _log_ratio(Y, c) - _log_ratio(1.0 - Y, 1.0 - c)

    def _unchecked_points(self, slopes: FloatArray, c: FloatArray) -> FloatArray:
        return c / (c + (1.0 - c) * np.exp(-slopes))

    def potential(self, u: FloatArray, c: FloatArray) -> FloatArray:
        # The same for 1 - y, so that the exponential does not overflow.
        side = np.where(u > 0, 1.0 - c, c)
        down = -np.abs(u)
        return np.log1p(side * np.expm1(down)) - side * down

    def spread(self, Y: FloatArray, slopes: FloatArray, c: FloatArray) -> FloatArray:
        return Y * self._unchecked_points(-slopes, 1.0 - c)


def _log_ratio(y: FloatArray, c: FloatArray) -> FloatArray:
    """Return log(y / c), to full accuracy also where y is close to c."""
    relative = (y - c) / c
    ratio = y / c
    logs = np.log(ratio)
    # The rounding of the ratio enters its logarithm and the ratio less one alike, and cancels between them.
    ratio -= 1.0
    equal = ratio == 0.0
    np.divide(logs, ratio, out=logs, where=~equal)
    np.copyto(logs, 1.0, where=equal)
    logs *= relative
    return logs


def _kl(y: FloatArray, c: FloatArray) -> FloatArray:
    """Return the generalized Kullback-Leibler divergence of each coordinate."""
    return y * _log_ratio(y, c) - (y - c)


@dataclass(frozen=True, eq=False, repr=False)
class Bregman(BregmanInfluence):
    """A custom divergence, from a strictly convex function phi, its gradient and the inverse of the gradient.

    All are checked when they are used, by finite differences and at pairs of points. The functions must treat each row
    by itself. To be pickled with an estimator they must be importable, so no lambdas.

    Parameters
    ----------
    phi
        Maps rows (n, d) to numbers (n,).
    gradient
        Maps rows (n, d) to the gradients (n, d) of phi.
    inverse_gradient
        Maps gradients (n, d) back to rows (n, d).
    domain
        Open interval in which every coordinate must lie.

    Examples
    --------
    >>> import numpy as np
    >>> from allegiance.influence import Bregman
    >>> def fourth_powers(Y):
    ...     return (Y**4).sum(axis=1)
    >>> def gradient(Y):
    ...     return 4 * Y**3
    >>> def inverse(A):
    ...     return np.cbrt(A / 4)
    >>> quartic = Bregman(fourth_powers, gradient, inverse)
    >>> quartic.between(np.array([[1.0]]), np.array([[0.0], [1.0]]))
    array([[1., 0.]])
    """

    phi: Callable[[FloatArray], FloatArray]
    gradient: Callable[[FloatArray], FloatArray]
    inverse_gradient: Callable[[FloatArray], FloatArray]
    _: KW_ONLY
    domain: tuple[float, float] = (-np.inf, np.inf)

    def check(self) -> None:
        """Raise unless the domain is an interval; the functions are compared once the number of columns is known."""
        if not self.domain[0] < self.domain[1]:
            raise ValueError(f"domain of Bregman must be (low, high) with low < high, got {self.domain}.")

    @property
    def title(self) -> str:
        """The name of the divergence in messages: that of phi."""
        return getattr(self.phi, "__name__", "custom")

    def _values(self, Y: FloatArray) -> FloatArray:
        return self._call("phi", Y, Y.shape[:1])

    def gradients(self, Y: FloatArray) -> FloatArray:
        return self._call("gradient", Y, Y.shape)

    def rowwise(self, Y: FloatArray, C: FloatArray) -> FloatArray:
        Y, C = np.atleast_2d(Y), np.atleast_2d(C)
        return np.maximum(self._values(Y) - self._values(C) - row_dots(Y - C, self.gradients(C)), 0.0)

    def _unchecked_points(self, slopes: FloatArray, c: FloatArray) -> FloatArray:
        slopes = self.gradients(c[None]) + slopes
        return self._call("inverse_gradient", slopes, slopes.shape).copy()

    def _call(self, name: str, rows: FloatArray, shape: tuple[int, ...]) -> FloatArray:
        """Call one of the functions of the divergence, and check the shape of the result."""
        values = np.asarray(getattr(self, name)(rows), dtype=np.float64)
        if values.shape != shape:
            raise ValueError(
                f"{name} of divergence {self.title!r} must map rows {rows.shape} to {shape}, gave {values.shape}."
            )
        return values

    def check_functions(self, d: int) -> None:
        """Raise ValueError unless phi is convex on rows of d numbers, and the gradients are those of phi."""
        points = _points_inside(self.domain, d)
        values, gradients = self._values(points), self.gradients(points)
        self._check_gradient(points, gradients)
        gaps = values[:, None] - values - ((points[:, None] - points) * gradients).sum(axis=-1)
        size = np.abs(values).max() + np.abs(gradients).max() * np.abs(points).max() * d
        if gaps.min() < -_CONVEXITY_ERROR * size:
            c = int(np.unravel_index(gaps.argmin(), gaps.shape)[1])
            raise ValueError(
                f"phi of divergence {self.title!r} is not convex: it falls below its tangent at {points[c]}."
            )
        if gaps.max() <= _CONVEXITY_ERROR * size:
            raise ValueError(f"phi of divergence {self.title!r} is flat: it must be strictly convex.")
        if not np.allclose(self._call("inverse_gradient", gradients, points.shape), points, rtol=1e-6, atol=1e-9):
            raise ValueError(f"inverse_gradient of divergence {self.title!r} does not undo its gradient.")

    def _check_gradient(self, points: FloatArray, gradients: FloatArray) -> None:
        """Compare the gradient with central differences along coordinates, or along random signs if they are many."""
        d = points.shape[1]
        few = d <= _TRIALS
        directions = np.eye(d) if few else np.sign(stream(0, d).normal(size=(_TRIALS, d)))
        low, high = self.domain
        for point, gradient in zip(points, gradients, strict=True):
            step = 1e-4 * min(np.min(point - low), np.min(high - point), 1.0)
            after, before = self._values(point + step * directions), self._values(point - step * directions)
            slopes, claimed = (after - before) / (2.0 * step), directions @ gradient
            error = np.abs(slopes - claimed)
            rounding = 16 * np.finfo(float).eps * max(np.abs(after).max(), np.abs(before).max()) / step
            allowed = _GRADIENT_ERROR * np.abs(directions * gradient).sum(axis=1).max() + rounding
            if not (error <= allowed).all():
                worst = int(np.nan_to_num(error, nan=np.inf).argmax())
                where = f"in coordinate {worst} at y = {point}" if few else "along a direction"
                raise ValueError(
                    f"gradient of divergence {self.title!r} is wrong {where}: it gives {claimed[worst]:.6g}, finite "
                    f"differences of phi give {slopes[worst]:.6g}."
                )


def _points_inside(domain: tuple[float, float], d: int) -> FloatArray:
    """Return a fixed set of points (_TRIALS, d) well inside the domain."""
    low, high = domain
    share = stream(0, d, 1).uniform(0.05, 0.95, (_TRIALS, d))
    if np.isfinite(low) and np.isfinite(high):
        return low + (high - low) * share
    if np.isfinite(low):
        return low + 3.0 * share
    return (high - 3.0 * share) if np.isfinite(high) else 4.0 * share - 2.0
