"""Bregman divergences as influence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from allegiance._core.parallel import stream
from allegiance._core.validation import FloatArray, Rows, check_number, dense, is_sparse, row_dots

from ._base import INFLUENCES, Diagram, Influence, Located, Training

#: Points, and coordinates or directions, at which the functions of a new divergence are compared.
_TRIALS = 12
#: How far a gradient may be from finite differences, relative to its size, and a divergence below zero.
_GRADIENT_ERROR, _CONVEXITY_ERROR = 1e-5, 1e-9
#: Entries checked at a time.
_CHUNK = 2**20


class BregmanDivergence(ABC):
    """D(y ‖ c) = phi(y) - phi(c) - <∇phi(c), y - c> for a strictly convex phi on an interval of each coordinate."""

    name: str
    domain: tuple[float, float]

    @abstractmethod
    def gradient(self, Y: FloatArray) -> FloatArray:
        """Return the gradients (n, d) of phi at rows (n, d)."""

    @abstractmethod
    def rowwise(self, Y: FloatArray, C: FloatArray) -> FloatArray:
        """Return D(y ‖ c) (n,) of each row of Y (n, d) from the same row of C (n, d); either may be one row (d,)."""

    @abstractmethod
    def slopes(self, Y: FloatArray, c: FloatArray) -> FloatArray:
        """Return ∇phi(y) - ∇phi(c) for rows y of Y (n, d) and one c (d,)."""

    @abstractmethod
    def _unchecked_points(self, slopes: FloatArray, c: FloatArray) -> FloatArray:
        """Do the same as :meth:`points`, whether or not the points are inside the domain."""

    @abstractmethod
    def potentials(self, Y: FloatArray, slopes: FloatArray, c: FloatArray) -> FloatArray:
        """Return D(c ‖ y) (n,) for rows of Y (n, d) with ∇phi(y) - ∇phi(c) = slope (n, d)."""

    @abstractmethod
    def spread(self, Y: FloatArray, slopes: FloatArray, c: FloatArray) -> FloatArray | None:
        """Return 1 / phi'' (n, d) at such rows, if phi is a sum over coordinates."""

    def check(self, d: int) -> None:  # noqa: B027
        """Raise ValueError unless phi is convex on rows of d numbers, and the gradients are those of phi."""

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


@dataclass(frozen=True)
class _Given(BregmanDivergence):
    """The divergence of functions that a user wrote."""

    _phi: Callable[[FloatArray], FloatArray]
    _gradient: Callable[[FloatArray], FloatArray]
    _inverse_gradient: Callable[[FloatArray], FloatArray]
    domain: tuple[float, float]
    name: str

    def phi(self, Y: FloatArray) -> FloatArray:
        return self._shaped("phi", self._phi, Y, Y.shape[:1])

    def gradient(self, Y: FloatArray) -> FloatArray:
        return self._shaped("gradient", self._gradient, Y, Y.shape)

    def inverse_gradient(self, A: FloatArray) -> FloatArray:
        return self._shaped("inverse_gradient", self._inverse_gradient, A, A.shape)

    def rowwise(self, Y: FloatArray, C: FloatArray) -> FloatArray:
        Y, C = np.atleast_2d(Y), np.atleast_2d(C)
        return np.maximum(self.phi(Y) - self.phi(C) - row_dots(Y - C, self.gradient(C)), 0.0)

    def slopes(self, Y: FloatArray, c: FloatArray) -> FloatArray:
        return self.gradient(Y) - self.gradient(c[None])

    def _unchecked_points(self, slopes: FloatArray, c: FloatArray) -> FloatArray:
        return self.inverse_gradient(self.gradient(c[None]) + slopes).copy()

    def potentials(self, Y: FloatArray, slopes: FloatArray, c: FloatArray) -> FloatArray:
        return self.rowwise(c, Y)

    def spread(self, Y: FloatArray, slopes: FloatArray, c: FloatArray) -> None:
        return None

    def _shaped(self, name: str, function: Any, rows: FloatArray, shape: tuple[int, ...]) -> FloatArray:
        values = np.asarray(function(rows), dtype=np.float64)
        if values.shape != shape:
            raise ValueError(
                f"{name} of divergence {self.name!r} must map rows {rows.shape} to {shape}, gave {values.shape}."
            )
        return values

    def check(self, d: int) -> None:
        """Raise ValueError unless phi is convex on rows of d numbers, and the gradients are those of phi."""
        points = _points_inside(self.domain, d)
        values, gradients = self.phi(points), self.gradient(points)
        self._check_gradient(points, gradients)
        gaps = values[:, None] - values - ((points[:, None] - points) * gradients).sum(axis=-1)
        size = np.abs(values).max() + np.abs(gradients).max() * np.abs(points).max() * d
        if gaps.min() < -_CONVEXITY_ERROR * size:
            c = int(np.unravel_index(gaps.argmin(), gaps.shape)[1])
            raise ValueError(
                f"phi of divergence {self.name!r} is not convex: it falls below its tangent at {points[c]}."
            )
        if gaps.max() <= _CONVEXITY_ERROR * size:
            raise ValueError(f"phi of divergence {self.name!r} is flat: it must be strictly convex.")
        if not np.allclose(self.inverse_gradient(gradients), points, rtol=1e-6, atol=1e-9):
            raise ValueError(f"inverse_gradient of divergence {self.name!r} does not undo its gradient.")

    def _check_gradient(self, points: FloatArray, gradients: FloatArray) -> None:
        """Compare the gradient with central differences along coordinates, or along random signs if they are many."""
        d = points.shape[1]
        few = d <= _TRIALS
        directions = np.eye(d) if few else np.sign(stream(0, d).normal(size=(_TRIALS, d)))
        low, high = self.domain
        for point, gradient in zip(points, gradients, strict=True):
            step = 1e-4 * min(np.min(point - low), np.min(high - point), 1.0)
            after, before = self.phi(point + step * directions), self.phi(point - step * directions)
            slopes, given = (after - before) / (2.0 * step), directions @ gradient
            error = np.abs(slopes - given)
            rounding = 16 * np.finfo(float).eps * max(np.abs(after).max(), np.abs(before).max()) / step
            allowed = _GRADIENT_ERROR * np.abs(directions * gradient).sum(axis=1).max() + rounding
            if not (error <= allowed).all():
                worst = int(np.nan_to_num(error, nan=np.inf).argmax())
                where = f"in coordinate {worst} at y = {point}" if few else "along a direction"
                raise ValueError(
                    f"gradient of divergence {self.name!r} is wrong {where}: it gives {given[worst]:.6g}, finite "
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


class _Separable(BregmanDivergence):
    """A phi that is a sum over coordinates, in forms that lose no digits where y and c are close.

    All but the gradients broadcast, coordinate by coordinate. Of y and its slope u relative to c, one may have
    digits where the other has none left.
    """

    @abstractmethod
    def each(self, y: FloatArray, c: FloatArray) -> FloatArray:
        """Return D(y ‖ c) of each coordinate."""

    @abstractmethod
    def potential(self, u: FloatArray, c: FloatArray) -> FloatArray:
        """Return D(c ‖ y) for y with slope u: the conjugate of phi, up to an affine function."""

    def rowwise(self, Y: FloatArray, C: FloatArray) -> FloatArray:
        return np.maximum(self.each(Y, C).sum(axis=1), 0.0)

    def potentials(self, Y: FloatArray, slopes: FloatArray, c: FloatArray) -> FloatArray:
        return self.potential(slopes, c).sum(axis=1)

    def __reduce__(self) -> tuple[Any, ...]:
        # There is one of each, which saved files name.
        return _named, (self.name,)


class _KL(_Separable):
    """phi(y) = y log y - y: generalized Kullback-Leibler."""

    name, domain = "kl", (0.0, np.inf)

    def gradient(self, Y: FloatArray) -> FloatArray:
        return np.log(Y)

    def each(self, y: FloatArray, c: FloatArray) -> FloatArray:
        return y * _log_ratio(y, c) - (y - c)

    def slopes(self, Y: FloatArray, c: FloatArray) -> FloatArray:
        return _log_ratio(Y, c)

    def _unchecked_points(self, slopes: FloatArray, c: FloatArray) -> FloatArray:
        return np.exp(slopes) * c

    def potential(self, u: FloatArray, c: FloatArray) -> FloatArray:
        return (np.expm1(u) - u) * c

    def spread(self, Y: FloatArray, slopes: FloatArray, c: FloatArray) -> FloatArray:
        return Y


class _ItakuraSaito(_Separable):
    """phi(y) = -log y."""

    name, domain = "itakura-saito", (0.0, np.inf)

    def gradient(self, Y: FloatArray) -> FloatArray:
        return -1.0 / Y

    def each(self, y: FloatArray, c: FloatArray) -> FloatArray:
        return (y - c) / c - _log_ratio(y, c)

    def slopes(self, Y: FloatArray, c: FloatArray) -> FloatArray:
        return (Y - c) / c / Y

    def _unchecked_points(self, slopes: FloatArray, c: FloatArray) -> FloatArray:
        return c / (1.0 - c * slopes)

    def potential(self, u: FloatArray, c: FloatArray) -> FloatArray:
        return -np.log1p(-c * u) - c * u

    def spread(self, Y: FloatArray, slopes: FloatArray, c: FloatArray) -> FloatArray:
        return Y * Y


class _Logistic(_Separable):
    """phi(y) = y log y + (1 - y) log(1 - y)."""

    name, domain = "logistic", (0.0, 1.0)

    def gradient(self, Y: FloatArray) -> FloatArray:
        return np.log(Y) - np.log1p(-Y)

    def each(self, y: FloatArray, c: FloatArray) -> FloatArray:
        # As generalized Kullback-Leibler divergences: what that adds to one side it takes from the other.
        kl = DIVERGENCES["kl"]
        return kl.each(y, c) + kl.each(1.0 - y, 1.0 - c)

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


#: The divergences with a name.
DIVERGENCES: dict[str, _Separable] = {each.name: each for each in (_KL(), _ItakuraSaito(), _Logistic())}


def _named(name: str) -> _Separable:
    return DIVERGENCES[name]


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


def check_rows_inside(X: Rows, divergence: BregmanDivergence, argument: str = "X") -> None:
    """Raise ValueError if an entry of X (n, d) is outside the domain of ``divergence``, naming the first."""
    low, high = divergence.domain
    rows = max(1, _CHUNK // max(X.shape[1], 1))
    for start in range(0, X.shape[0], rows):
        part = dense(X[start : start + rows])
        if part.size == 0 or (part.min() > low and part.max() < high):
            # Inside, but numbers end sooner than some domains: exp(y) is infinite from 710 on.
            with np.errstate(over="ignore", divide="ignore"):
                outside = ~np.isfinite(divergence.gradient(part))
            reason, remedy = "too extreme for its gradient to be computed", "scale the data."
        else:
            outside = ~((part > low) & (part < high))
            reason, remedy = f"not strictly between {low:g} and {high:g}", _remedy(part[outside][0], divergence)
        if outside.any():
            row, column = np.argwhere(outside)[0]
            raise ValueError(
                f"{argument} does not fit influence {divergence.name!r}: row {start + row}, column {column} is "
                f"{part[row, column]:g}, {reason}; {remedy}"
            )


def _remedy(value: float, divergence: BregmanDivergence) -> str:
    if value == 0.0 and divergence.domain == (0.0, np.inf):
        return (
            "for zeros in counts or shares use smoothing, a small number added to every entry, as in KL(smoothing=0.5)."
        )
    return "transform the data, or use another influence."


#: Smoothing from here on may be beyond single precision once it is added to X.
_MOST_SMOOTHING = 1e30


class BregmanInfluence(Influence):
    """What all Bregman divergences share: rows inside the domain, and the diagram of the sites."""

    #: Added to every entry before divergences are computed.
    smoothing: float = 0.0

    def check(self) -> None:
        """Raise unless the smoothing is a number that is not negative."""
        check_number(self.smoothing, f"smoothing of {type(self).__name__}", low=0.0, high=_MOST_SMOOTHING, closed=True)

    @property
    def divergence(self) -> BregmanDivergence:
        """The divergence itself."""
        return DIVERGENCES[str(self.registered_as)]

    @property
    def limits(self) -> tuple[float, float]:
        """The open interval in which every entry of X must lie."""
        low, high = self.divergence.domain
        return low - self.smoothing, high - self.smoothing

    def prepare(self, X: Rows, argument: str = "X") -> Rows:
        """Return rows with the smoothing added, if they lie inside the domain."""
        if is_sparse(X):
            raise TypeError(f"X is sparse, but influence {self!r} needs dense X: call X.toarray() first.")
        if self.smoothing:
            X = X + self.smoothing
        check_rows_inside(X, self.divergence, argument)
        return X

    def restore(self, sites: FloatArray) -> FloatArray:
        """Return sites without the smoothing."""
        return sites - self.smoothing if self.smoothing else sites

    def diagram(self, training: Training, *, keep_axes: bool) -> tuple[Diagram, Located | None]:
        """Return the Bregman diagram of the sites."""
        from ._bregman_diagram import BregmanDiagram

        return BregmanDiagram.of_sites(training.sites, self.divergence, keep_axes=keep_axes), None

    def clusterer(self, n_clusters: int) -> Any:
        """Return k-means with the same divergence and one start."""
        from allegiance.clusterers import BregmanKMeans

        return BregmanKMeans(n_clusters, influence=self, n_init=1)


@INFLUENCES.register("kl")
@dataclass(frozen=True, eq=False, repr=False)
class KL(BregmanInfluence):
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


@INFLUENCES.register("itakura-saito")
@dataclass(frozen=True, eq=False, repr=False)
class ItakuraSaito(BregmanInfluence):
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


@INFLUENCES.register("logistic")
@dataclass(frozen=True, eq=False, repr=False)
class Logistic(BregmanInfluence):
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
    >>> quartic.divergence.between(np.array([[1.0]]), np.array([[0.0], [1.0]]))
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
    def divergence(self) -> BregmanDivergence:
        """The divergence itself."""
        return _Given(
            self.phi, self.gradient, self.inverse_gradient, self.domain, getattr(self.phi, "__name__", "custom")
        )
