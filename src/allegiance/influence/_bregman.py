"""Bregman divergences as influence."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from allegiance._core.parallel import stream
from allegiance._core.validation import FloatArray, Rows, check_number, dense, is_sparse, row_dots

from ._base import INFLUENCES, Diagram, Influence, Located, Training

#: Maps rows (n, d) to numbers (n,).
Potential: TypeAlias = Callable[[FloatArray], FloatArray]
#: Maps rows (n, d) to rows (n, d).
RowMap: TypeAlias = Callable[[FloatArray], FloatArray]
#: Maps two arrays that broadcast to one, coordinate by coordinate.
PairMap: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]
#: The same for three. Of y and its slope u relative to c, one may have digits where the other has none left.
TripleMap: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]

#: Points, and coordinates or directions, at which the functions of a new divergence are compared.
_TRIALS = 12
#: How far a gradient may be from finite differences, relative to its size, and a divergence below zero.
_GRADIENT_ERROR, _CONVEXITY_ERROR = 1e-5, 1e-9
#: Entries checked at a time.
_CHUNK = 2**20


class Coordinatewise(NamedTuple):
    """A divergence that is a sum over coordinates, in forms that lose no digits where y and c are close."""

    divergence: PairMap
    """D(y ‖ c) of each coordinate."""
    slope: PairMap
    """phi'(y) - phi'(c)."""
    point: PairMap
    """The y with phi'(y) - phi'(c) = u, for u and c; anything outside the domain if there is none."""
    spread: TripleMap
    """1 / phi''(y), for y, u and c as in ``point``: the second derivative of the conjugate of phi."""
    potential: TripleMap
    """D(c ‖ y), for y, u and c as in ``point``: the conjugate of phi, up to an affine function."""


@dataclass(frozen=True, repr=False)
class BregmanDivergence:
    """A strictly convex function phi, its gradient and the inverse of that, checked at construction; see ``Bregman``.

    ``coordinatewise`` are faster and more accurate forms of a phi that is a sum over coordinates.
    """

    phi: Potential
    gradient: RowMap
    inverse_gradient: RowMap
    _: KW_ONLY
    domain: tuple[float, float] = (-np.inf, np.inf)
    name: str = "custom"
    coordinatewise: Coordinatewise | None = None

    def __repr__(self) -> str:
        return f"BregmanDivergence(name={self.name!r}, domain={self.domain})"

    def __post_init__(self) -> None:
        low, high = (float(end) for end in self.domain)
        if not low < high:
            raise ValueError(
                f"domain of divergence {self.name!r} must be (low, high) with low < high, got {self.domain}."
            )
        object.__setattr__(self, "domain", (low, high))
        for d in (1, 2, 3):
            # A phi with parameters of its own takes only rows of their length: it is checked when it meets the data.
            if self._accepts(d):
                self.check(d)

    def check(self, d: int) -> None:
        """Raise ValueError unless phi is convex on rows of d numbers, and the gradients are those of phi."""
        points = _points_inside(self.domain, d)
        values, gradients = self._evaluate(points)
        self._check_gradient(points, gradients)
        gaps = _rows_between(values[:, None], points[:, None], values, gradients, points)
        size = np.abs(values).max() + np.abs(gradients).max() * np.abs(points).max() * d
        if gaps.min() < -_CONVEXITY_ERROR * size:
            c = int(np.unravel_index(gaps.argmin(), gaps.shape)[1])
            raise ValueError(
                f"phi of divergence {self.name!r} is not convex: it falls below its tangent at {points[c]}."
            )
        if gaps.max() <= _CONVEXITY_ERROR * size:
            raise ValueError(f"phi of divergence {self.name!r} is flat: it must be strictly convex.")
        back = np.asarray(self.inverse_gradient(gradients), dtype=np.float64)
        if back.shape != points.shape or not np.allclose(back, points, rtol=1e-6, atol=1e-9):
            raise ValueError(f"inverse_gradient of divergence {self.name!r} does not undo its gradient.")

    def between(self, Y: FloatArray, C: FloatArray) -> FloatArray:
        """Return D(y ‖ c) (n, m) of every row y of Y (n, d) from every row c of C (m, d)."""
        out = np.empty((Y.shape[0], C.shape[0]))
        if self.coordinatewise is None:
            values, (own, gradients) = self._values(Y), self._evaluate(C)
            for j, c in enumerate(C):
                out[:, j] = np.maximum(_rows_between(values, Y, own[j], gradients[j], c), 0.0)
            return out
        for j, c in enumerate(C):
            out[:, j] = self.rowwise(Y, c)
        return out

    def rowwise(self, Y: FloatArray, C: FloatArray) -> FloatArray:
        """Return D(y ‖ c) (n,) of each row of Y (n, d) from the same row of C (n, d); either may be one row (d,)."""
        if self.coordinatewise is not None:
            return np.maximum(self.coordinatewise.divergence(Y, C).sum(axis=1), 0.0)
        values = self._values(np.atleast_2d(Y))
        own, gradients = self._evaluate(np.atleast_2d(C))
        return np.maximum(_rows_between(values, np.atleast_2d(Y), own, gradients, C), 0.0)

    def slopes(self, Y: FloatArray, c: FloatArray) -> FloatArray:
        """Return ∇phi(y) - ∇phi(c) for rows y of Y (n, d) and one c (d,)."""
        if self.coordinatewise is not None:
            return self.coordinatewise.slope(Y, c)
        return self._evaluate(Y)[1] - self._evaluate(c[None])[1]

    def points(self, slopes: FloatArray, c: FloatArray) -> FloatArray:
        """Return the y with ∇phi(y) - ∇phi(c) = slope for each row of ``slopes`` (n, d), NaN where there is none."""
        if self.coordinatewise is not None:
            points = self.coordinatewise.point(slopes, c)
        else:
            points = np.array(self.inverse_gradient(self._evaluate(c[None])[1] + slopes), dtype=np.float64)
        # A point may reach the edge by rounding, but not pass it.
        low, high = self.domain
        if points.size:
            with np.errstate(invalid="ignore"):
                least, most = points.min(axis=1), points.max(axis=1)
            points[~((least >= low) & (most <= high) & (least > -np.inf) & (most < np.inf))] = np.nan
        return points

    def potentials(self, Y: FloatArray, slopes: FloatArray, c: FloatArray) -> FloatArray:
        """Return D(c ‖ y) (n,) for rows of Y (n, d) with ∇phi(y) - ∇phi(c) = slope (n, d)."""
        if self.coordinatewise is not None:
            return self.coordinatewise.potential(Y, slopes, c).sum(axis=1)
        return self.rowwise(c, Y)

    def _accepts(self, d: int) -> bool:
        points = _points_inside(self.domain, d)
        try:
            with np.errstate(all="ignore"):
                return (
                    np.shape(self.phi(points)) == points.shape[:1] and np.shape(self.gradient(points)) == points.shape
                )
        except (ValueError, IndexError):
            return False

    def _values(self, Y: FloatArray) -> FloatArray:
        values = np.asarray(self.phi(Y), dtype=np.float64)
        if values.shape != Y.shape[:1]:
            raise ValueError(
                f"phi of divergence {self.name!r} must map rows {Y.shape} to {Y.shape[:1]}, gave {values.shape}."
            )
        return values

    def _evaluate(self, Y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return phi (n,) and its gradient (n, d) after a look at shapes."""
        gradients = np.asarray(self.gradient(Y), dtype=np.float64)
        if gradients.shape != Y.shape:
            raise ValueError(
                f"gradient of divergence {self.name!r} must map rows {Y.shape} to {Y.shape}, gave {gradients.shape}."
            )
        return self._values(Y), gradients

    def _check_gradient(self, points: FloatArray, gradients: FloatArray) -> None:
        """Compare the gradient with central differences along coordinates, or along random signs if they are many."""
        d = points.shape[1]
        few = d <= _TRIALS
        directions = np.eye(d) if few else np.sign(stream(0, d).normal(size=(_TRIALS, d)))
        low, high = self.domain
        for point, gradient in zip(points, gradients, strict=True):
            room = min(np.min(point - low), np.min(high - point), 1.0)
            step = 1e-4 * room
            ends = np.concatenate([point + step * directions, point - step * directions])
            values = self._values(ends)
            with np.errstate(invalid="ignore"):
                slopes = (values[: len(directions)] - values[len(directions) :]) / (2.0 * step)
                given = directions @ gradient
            error = np.abs(slopes - given)
            rounding = 16 * np.finfo(float).eps * np.abs(values).max() / step
            allowed = _GRADIENT_ERROR * np.abs(directions * gradient).sum(axis=1).max() + rounding
            if not (error <= allowed).all():
                worst = int(np.nan_to_num(error, nan=np.inf).argmax())
                where = f"in coordinate {worst} at y = {point}" if few else "along a direction"
                raise ValueError(
                    f"gradient of divergence {self.name!r} is wrong {where}: it gives {given[worst]:.6g}, finite "
                    f"differences of phi give {slopes[worst]:.6g}, off by {error[worst]:.2g}."
                )


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
            reason = f"not strictly between {low:g} and {high:g}"
            remedy = _remedy(part[outside][0], divergence)
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


def _points_inside(domain: tuple[float, float], d: int) -> FloatArray:
    """Return a fixed set of points (_TRIALS, d) well inside the domain."""
    low, high = domain
    share = stream(0, d, 1).uniform(0.05, 0.95, (_TRIALS, d))
    if np.isfinite(low) and np.isfinite(high):
        return low + (high - low) * share
    if np.isfinite(low):
        return low + 3.0 * share
    return (high - 3.0 * share) if np.isfinite(high) else 4.0 * share - 2.0


def _rows_between(
    values: FloatArray, Y: FloatArray, own: FloatArray, gradients: FloatArray, C: FloatArray
) -> FloatArray:
    """Return phi(y) - phi(c) - <∇phi(c), y - c> from its parts, which broadcast; sums run over the last axis."""
    difference = Y - C
    if difference.ndim == 2:
        return values - own - row_dots(difference, gradients)
    return values - own - (difference * gradients).sum(axis=-1)


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


def _kl_phi(Y: FloatArray) -> FloatArray:
    return (Y * np.log(Y) - Y).sum(axis=1)


def _kl_divergence(y: FloatArray, c: FloatArray) -> FloatArray:
    return y * _log_ratio(y, c) - (y - c)


def _kl_point(u: FloatArray, c: FloatArray) -> FloatArray:
    points = np.exp(u)
    points *= c
    return points


def _kl_spread(y: FloatArray, u: FloatArray, c: FloatArray) -> FloatArray:
    return y


def _kl_potential(y: FloatArray, u: FloatArray, c: FloatArray) -> FloatArray:
    potential = np.expm1(u)
    potential -= u
    potential *= c
    return potential


def _saito_phi(Y: FloatArray) -> FloatArray:
    return -np.log(Y).sum(axis=1)


def _saito_gradient(Y: FloatArray) -> FloatArray:
    return -1.0 / Y


def _saito_divergence(y: FloatArray, c: FloatArray) -> FloatArray:
    return (y - c) / c - _log_ratio(y, c)


def _saito_slope(y: FloatArray, c: FloatArray) -> FloatArray:
    return (y - c) / c / y


def _saito_point(u: FloatArray, c: FloatArray) -> FloatArray:
    return c / (1.0 - c * u)


def _saito_spread(y: FloatArray, u: FloatArray, c: FloatArray) -> FloatArray:
    return y * y


def _saito_potential(y: FloatArray, u: FloatArray, c: FloatArray) -> FloatArray:
    return -np.log1p(-c * u) - c * u


def _logistic_phi(Y: FloatArray) -> FloatArray:
    return (Y * np.log(Y) + (1.0 - Y) * np.log1p(-Y)).sum(axis=1)


def _logistic_gradient(Y: FloatArray) -> FloatArray:
    return np.log(Y) - np.log1p(-Y)


def _logistic_divergence(y: FloatArray, c: FloatArray) -> FloatArray:
    # Each as a generalised Kullback-Leibler divergence: what that adds to one side it takes from the other.
    return _kl_divergence(y, c) + _kl_divergence(1.0 - y, 1.0 - c)


def _logistic_slope(y: FloatArray, c: FloatArray) -> FloatArray:
    return _log_ratio(y, c) - _log_ratio(1.0 - y, 1.0 - c)


def _logistic_point(u: FloatArray, c: FloatArray) -> FloatArray:
    return c / (c + (1.0 - c) * np.exp(-u))


def _logistic_inverse(A: FloatArray) -> FloatArray:
    return 1.0 / (1.0 + np.exp(-A))


def _logistic_spread(y: FloatArray, u: FloatArray, c: FloatArray) -> FloatArray:
    return y * _logistic_point(-u, 1.0 - c)


def _logistic_potential(y: FloatArray, u: FloatArray, c: FloatArray) -> FloatArray:
    # The same for 1 - y, so that the exponential does not overflow.
    side = np.where(u > 0, 1.0 - c, c)
    down = -np.abs(u)
    return np.log1p(side * np.expm1(down)) - side * down


def _squared_phi(Y: FloatArray) -> FloatArray:
    return (Y * Y).sum(axis=1)


def _squared_gradient(Y: FloatArray) -> FloatArray:
    return 2.0 * Y


def _squared_divergence(y: FloatArray, c: FloatArray) -> FloatArray:
    return (y - c) ** 2


def _squared_slope(y: FloatArray, c: FloatArray) -> FloatArray:
    return 2.0 * (y - c)


def _squared_point(u: FloatArray, c: FloatArray) -> FloatArray:
    return c + 0.5 * u


def _squared_inverse(A: FloatArray) -> FloatArray:
    return 0.5 * A


def _squared_spread(y: FloatArray, u: FloatArray, c: FloatArray) -> FloatArray:
    return np.full_like(y, 0.5)


def _squared_potential(y: FloatArray, u: FloatArray, c: FloatArray) -> FloatArray:
    return 0.25 * u * u


#: phi, its gradient and the inverse of that, the domain, and the accurate forms.
_BUILT_IN: dict[str, tuple[tuple[Potential, RowMap, RowMap, tuple[float, float]], Coordinatewise]] = {
    "kl": (
        (_kl_phi, np.log, np.exp, (0.0, np.inf)),
        Coordinatewise(_kl_divergence, _log_ratio, _kl_point, _kl_spread, _kl_potential),
    ),
    "itakura-saito": (
        (_saito_phi, _saito_gradient, _saito_gradient, (0.0, np.inf)),
        Coordinatewise(_saito_divergence, _saito_slope, _saito_point, _saito_spread, _saito_potential),
    ),
    "logistic": (
        (_logistic_phi, _logistic_gradient, _logistic_inverse, (0.0, 1.0)),
        Coordinatewise(_logistic_divergence, _logistic_slope, _logistic_point, _logistic_spread, _logistic_potential),
    ),
    "squared": (
        (_squared_phi, _squared_gradient, _squared_inverse, (-np.inf, np.inf)),
        Coordinatewise(_squared_divergence, _squared_slope, _squared_point, _squared_spread, _squared_potential),
    ),
}
#: What :func:`divergence_by_name` knows.
DIVERGENCES = tuple(_BUILT_IN)


@cache
def divergence_by_name(name: str) -> BregmanDivergence:
    """Return a named divergence.

    ================  ==============================================  ===========
    name              phi, summed over coordinates                    domain
    ================  ==============================================  ===========
    "kl"              y log y - y (generalised Kullback-Leibler)      y > 0
    "itakura-saito"   -log y                                          y > 0
    "logistic"        y log y + (1 - y) log(1 - y)                    0 < y < 1
    "squared"         y²                                              all y
    ================  ==============================================  ===========
    """
    if name not in _BUILT_IN:
        raise ValueError(f"divergence must be one of {', '.join(map(repr, DIVERGENCES))}, got {name!r}.")
    (phi, gradient, inverse, domain), forms = _BUILT_IN[name]
    return BregmanDivergence(phi, gradient, inverse, domain=domain, name=name, coordinatewise=forms)


#: Smoothing from here on may be beyond single precision once it is added to X.
_MOST_SMOOTHING = 1e30


class BregmanInfluence(Influence):
    """What all Bregman divergences share: rows inside the domain, and the diagram of the sites."""

    #: Added to every entry before divergences are computed.
    smoothing: float = 0.0

    @property
    @abstractmethod
    def divergence(self) -> BregmanDivergence:
        """The divergence itself."""

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

    def coordinates(self, diagram: Diagram, X: Rows, located: Located) -> FloatArray:
        """Return rows (n, d) without the smoothing, which the clusterer adds itself."""
        return self.restore(dense(X))

    def describe(self) -> str:
        """Say in a few words what closeness means."""
        return self.divergence.name


class _Smoothed(BregmanInfluence):
    """A divergence between positive numbers, to which a constant may be added."""

    def check(self) -> None:
        """Raise unless the smoothing is a number that is not negative."""
        check_number(self.smoothing, f"smoothing of {type(self).__name__}", low=0.0, high=_MOST_SMOOTHING, closed=True)


@INFLUENCES.register("kl")
@dataclass(frozen=True, eq=False, repr=False)
class KL(_Smoothed):
    """Generalised Kullback-Leibler divergence, for counts and shares: X must be positive.

    Parameters
    ----------
    smoothing
        Added to every entry of X and of the centers, so that zeros are accepted.

    Examples
    --------
    >>> from allegiance import affinity
    >>> from allegiance.influence import KL
    >>> counts = [[9, 1, 0], [8, 2, 0], [1, 7, 2], [0, 9, 1]]
    >>> affinity(counts, ["sports", "sports", "news", "news"], influence=KL(smoothing=0.5)).owner
    array(['sports', 'sports', 'news', 'news'], dtype='<U6')
    """

    smoothing: float = 0.0

    @property
    def divergence(self) -> BregmanDivergence:
        """The divergence itself."""
        return divergence_by_name("kl")


@INFLUENCES.register("itakura-saito")
@dataclass(frozen=True, eq=False, repr=False)
class ItakuraSaito(_Smoothed):
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
    >>> affinity(spectra, ["rising", "rising", "falling", "falling"], influence=ItakuraSaito()).owner
    array(['rising', 'rising', 'falling', 'falling'], dtype='<U7')
    """

    smoothing: float = 0.0

    @property
    def divergence(self) -> BregmanDivergence:
        """The divergence itself."""
        return divergence_by_name("itakura-saito")


@INFLUENCES.register("logistic")
@dataclass(frozen=True, eq=False, repr=False)
class Logistic(BregmanInfluence):
    """Logistic loss, for probabilities: every entry of X must lie strictly between 0 and 1.

    Examples
    --------
    >>> from allegiance import affinity
    >>> from allegiance.influence import Logistic
    >>> chances = [[0.9, 0.2], [0.8, 0.1], [0.1, 0.7], [0.3, 0.9]]
    >>> affinity(chances, ["a", "a", "b", "b"], influence=Logistic()).owner
    array(['a', 'a', 'b', 'b'], dtype='<U1')
    """

    @property
    def divergence(self) -> BregmanDivergence:
        """The divergence itself."""
        return divergence_by_name("logistic")


@dataclass(frozen=True, eq=False, repr=False)
class Bregman(BregmanInfluence):
    """A divergence of your own, from a strictly convex function phi, its gradient and the inverse of the gradient.

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
    name
        What messages call it.

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
    >>> quartic = Bregman(fourth_powers, gradient, inverse, name="quartic")
    >>> quartic.divergence.between(np.array([[1.0]]), np.array([[0.0], [1.0]]))
    array([[1., 0.]])
    """

    phi: Callable[[FloatArray], FloatArray]
    gradient: Callable[[FloatArray], FloatArray]
    inverse_gradient: Callable[[FloatArray], FloatArray]
    _: KW_ONLY
    domain: tuple[float, float] = (-np.inf, np.inf)
    name: str = "custom"

    def check(self) -> None:
        """Raise unless phi is convex and the gradients are those of phi."""
        _ = self.divergence

    @property
    def divergence(self) -> BregmanDivergence:
        """The divergence itself."""
        return BregmanDivergence(self.phi, self.gradient, self.inverse_gradient, domain=self.domain, name=self.name)
