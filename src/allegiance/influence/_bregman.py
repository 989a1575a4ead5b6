"""Bregman divergences as influence, and their diagrams in the span of the sites' gradients."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from allegiance._core.arithmetic import row_dots
from allegiance._core.parallel import for_row_blocks, slices, stream
from allegiance._core.parameters import Lazy
from allegiance._core.stored import Number, OrNone, Part, Sizes, floats, stored
from allegiance._core.validation import AnyArray, BoolArray, FloatArray, Rows, check_number, dense, is_sparse
from allegiance.geometry import span_axes

from ._base import INFLUENCES, Influence
from ._diagram import AffineFunctions, Diagram, Located
from ._linear_embedding import product_by_rows

if TYPE_CHECKING:
    from allegiance.fitting import Training

#: Points, and coordinates or directions, at which the functions of a new divergence are compared.
_TRIALS = 12
#: How far a gradient may be from finite differences, relative to its size, and a divergence below zero.
_GRADIENT_ERROR, _CONVEXITY_ERROR = 1e-5, 1e-9
#: Entries checked at a time.
_CHECKED = 2**20
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
        """Invert the gradient as :meth:`points` does, also where points are outside the domain of the divergence."""

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
        """Raise unless the smoothing of the divergence is a number that is not negative."""
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
        for rows in slices(X.shape[0], max(1, _CHECKED // max(X.shape[1], 1))):
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

    def _phi_values(self, Y: FloatArray) -> FloatArray:
        return self._call("phi", Y, Y.shape[:1])

    def gradients(self, Y: FloatArray) -> FloatArray:
        return self._call("gradient", Y, Y.shape)

    def rowwise(self, Y: FloatArray, C: FloatArray) -> FloatArray:
        Y, C = np.atleast_2d(Y), np.atleast_2d(C)
        return np.maximum(self._phi_values(Y) - self._phi_values(C) - row_dots(Y - C, self.gradients(C)), 0.0)

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
        values, gradients = self._phi_values(points), self.gradients(points)
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
            after, before = self._phi_values(point + step * directions), self._phi_values(point - step * directions)
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


#: Numbers of one chunk of rows in the user's coordinates: small enough to stay in the cache of a core.
_CHUNK = 2**17


def _in_domain(parts: dict[str, Any], sizes: Sizes) -> None:
    """Check a stored Bregman diagram: sites lie in its domain; without axes coordinates are the user's."""
    divergence: Any = sizes.kinds[parts["divergence"]["kind"]].cls
    low, high = divergence.domain
    for name in ("sites", "origin"):
        if not ((parts[name] > low) & (parts[name] < high)).all():
            raise ValueError(f"{name} lies outside the domain of the divergence.")
    if parts["axes"] is None:
        sizes.agree("r", sizes["d"], "sites")


@stored(
    "bregman",
    agree=_in_domain,
    sites=floats("k", "d"),
    divergence=Part("kl", "itakura-saito", "logistic"),
    origin=floats("d"),
    axes=OrNone(floats("r", "d")),
    weights=OrNone(floats("k")),
    query_weight=Number(),
)
@dataclass(frozen=True)
class BregmanDiagram:
    """The diagram of D(y ‖ c_i) - w_i, which is D(y ‖ origin) plus an affine function of y.

    With a_i = ∇phi(c_i) - ∇phi(origin) that function is D(origin ‖ c_i) - w_i - <a_i, y - origin>: relative to a site
    in the middle, so that no large numbers cancel.

    If the a_i span the space (``axes`` is None), coordinates are the user's own. If not, only the coordinates of y in
    their span matter. Each row is replaced there by the one point with the same coordinates whose gradient lies in the
    affine span of those of the sites, its I-projection x̂: D(x ‖ c_i) = D(x ‖ x̂) + D(x̂ ‖ c_i) for every site.

    ``origin`` (d,) is the site closest to all, ``axes`` (r, d) orthonormal rows that span the a_i. Weights are in units
    of the divergence.
    """

    sites: FloatArray
    divergence: BregmanInfluence
    origin: FloatArray
    axes: FloatArray | None
    weights: FloatArray | None = None
    query_weight: float = 0.0

    @classmethod
    def of_sites(cls, sites: FloatArray, divergence: BregmanInfluence, *, keep_axes: bool = False) -> BregmanDiagram:
        """Find the span of the gradients at ``sites`` (k, d), or keep the user's axes whatever the span."""
        d = sites.shape[1]
        divergence.check_functions(d)
        # In a fixed order of the rows, so that renumbering the clusters cannot turn the axes of the box.
        ordered = sites[np.lexsort(sites.T[::-1])]
        origin = ordered[divergence.between(ordered, ordered).sum(axis=0).argmin()]
        slopes = divergence.slopes(ordered, origin)
        axes = span_axes(slopes - slopes.mean(axis=0), float(np.abs(divergence.gradients(ordered)).max()))
        in_own_axes = keep_axes or axes.shape[0] == d
        return cls(sites, divergence, origin, None if in_own_axes else np.ascontiguousarray(axes))

    @cached_property
    def _family(self) -> Family:
        """The points whose gradients lie in the affine span of those of the sites."""
        assert self.axes is not None
        return Family(self.divergence, self.origin, self.axes)

    @cached_property
    def dim(self) -> int:
        """The number of coordinates of the Bregman diagram."""
        return self.sites.shape[1] if self.axes is None else self.axes.shape[0]

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper limits (r,) of the domain of the divergence; infinite in reduced coordinates."""
        low, high = self.divergence.domain if self.axes is None else (-np.inf, np.inf)
        return np.full(self.dim, low), np.full(self.dim, high)

    @cached_property
    def positions(self) -> FloatArray:
        """(k, r) coordinates of the sites of the Bregman diagram."""
        return self.sites if self.axes is None else self._family.positions(self.sites)[0]

    @cached_property
    def _slopes(self) -> FloatArray:
        """(k, r) slopes of the sites."""
        slopes = self.divergence.slopes(self.sites, self.origin)
        if self.axes is None:
            return slopes
        return product_by_rows(slopes, np.zeros(slopes.shape[1]), self.axes)[0]

    @cached_property
    def _constants(self) -> FloatArray:
        """(k,) constants of the sites, without weights."""
        return self._constants_of(self.sites, self._slopes)

    def _constants_of(self, points: FloatArray, slopes: FloatArray) -> FloatArray:
        """Return D(origin ‖ y) (n,) of points (n, d), moved to where the coordinates begin."""
        constants = self.divergence.rowwise(self.origin, points)
        return constants + row_dots(slopes, self.origin) if self.axes is None else constants

    @property
    def _site_weights(self) -> FloatArray:
        """(k,) weights of the sites of the Bregman diagram."""
        return np.zeros(self.sites.shape[0]) if self.weights is None else self.weights

    @property
    def functions(self) -> AffineFunctions:
        """The k functions of the sites of the Bregman diagram."""
        return AffineFunctions(self._slopes, self._constants - self._site_weights)

    def locate(self, X: Rows, threads: int = 1) -> Located:
        """Map rows of X (n, d), inside the domain, to positions (n, r); ``residual`` is their D(x ‖ x̂)."""
        if self.axes is None:
            return Located(np.array(dense(X)), Lazy.known(np.zeros(X.shape[0])))
        position, residual = np.empty((X.shape[0], self.dim)), np.empty(X.shape[0])

        @np.errstate(over="ignore", invalid="ignore")
        def locate_rows(rows: slice) -> None:
            for part in self._chunks(rows):
                x = dense(X[part])
                position[part] = self._family.positions(x)[0]
                slopes, constants = self._project(position[part])
                # Both from the origin: the difference is D(x ‖ x̂), since x and x̂ have the same position.
                inside = row_dots(slopes, position[part]) - constants
                residual[part] = np.maximum(self.divergence.rowwise(x, self.origin) - inside, 0.0)

        for_row_blocks(locate_rows, X.shape[0], threads)
        np.nan_to_num(residual, copy=False, nan=np.finfo(float).max, posinf=np.finfo(float).max)
        return Located(position, Lazy.known(residual))

    def _chunks(self, rows: int | slice) -> Iterator[slice]:
        """Return chunks of rows to compute Bregman divergences for, small enough for the cache."""
        return slices(rows, max(1, _CHUNK // self.sites.shape[1]))

    @cached_property
    def _inverse_hessians(self) -> FloatArray:
        """(k, r, r) derivatives of the slopes by the position at each site."""
        k = self.sites.shape[0]
        with np.errstate(all="ignore"):
            hessians = self._family.hessians(self._slopes, self.sites, self._family.combine(self._slopes))
        return np.stack([solve_rows(hessians, np.tile(unit, (k, 1))) for unit in np.eye(self.dim)], axis=2)

    def _project(self, position: FloatArray) -> AffineFunctions:
        """Return the functions of the I-projections of rows with these positions (n, r), without weights."""
        n = position.shape[0]
        if self.dim == 0:
            return AffineFunctions(np.zeros((n, 0)), np.zeros(n))
        nearest = np.zeros(n, dtype=np.int64)
        lowest = np.full(n, np.inf)
        for i, (slope, constant) in enumerate(zip(self._slopes, self._constants, strict=True)):
            value = constant - row_dots(position, slope)
            nearest[value < lowest] = i
            np.minimum(lowest, value, out=lowest)
        known = AffineFunctions(self._slopes[nearest], self._constants[nearest])
        return _Search(self._family, position, known, self.positions[nearest], self._inverse_hessians[nearest]).run()

    def query_functions(self, position: FloatArray) -> AffineFunctions:
        """Return the function of each position (n, r) in the Bregman diagram."""
        slopes, constants = np.empty(position.shape), np.empty(position.shape[0])
        low, high = self.divergence.domain
        for part in self._chunks(position.shape[0]):
            if self.axes is not None:
                slopes[part], constants[part] = self._project(position[part])
                continue
            # Clusters that lose their only point are at zero, which may be outside; their functions are not used.
            inside = ((position[part] > low) & (position[part] < high)).all(axis=1, keepdims=True)
            points = np.where(inside, position[part], self.origin)
            slopes[part] = self.divergence.slopes(points, self.origin)
            constants[part] = self._constants_of(points, slopes[part])
        return AffineFunctions(slopes, constants - self.query_weight)

    def clearance(self, queries: AffineFunctions, position: FloatArray) -> FloatArray:
        """Return D(x̂ ‖ c_i) (n, k) of each query from each site, less the site's lead in weight."""
        ahead = np.empty((position.shape[0], self.sites.shape[0]))
        for i, (slope, constant) in enumerate(zip(*self.functions, strict=True)):
            ahead[:, i] = (constant - queries.b) - row_dots(slope - queries.a, position)
        return ahead

    @property
    def clearance_scale(self) -> float:
        """The size of the functions of the Bregman diagram, whose values are subtracted."""
        slopes, constants = self.functions
        return float((np.abs(constants) + row_dots(np.abs(slopes), np.abs(self.positions))).max())

    def bisectors(self, site: int) -> tuple[FloatArray, FloatArray]:
        """Return the half-spaces {y: <a_j - a_i, y> <= <a_j - a_i, c_i> + D(c_i ‖ c_j) + w_i - w_j} of one cell."""
        normals = self.divergence.slopes(self.sites, self.sites[site])
        if self.axes is not None:
            normals = product_by_rows(normals, np.zeros(self.sites.shape[1]), self.axes)[0]
        lead = self._site_weights[site] - self._site_weights
        away = self.divergence.rowwise(self.sites[site], self.sites)
        return normals, row_dots(normals, self.positions[site]) + away + lead

    def divergences(self, located: Located, codes: AnyArray) -> FloatArray:
        """Return D(x ‖ c) (n,) of each row from the site c with its code."""
        away = np.empty(located.position.shape[0])
        for part in self._chunks(away.shape[0]):
            position, site = located.position[part], codes[part]
            if self.axes is None:
                away[part] = self.divergence.rowwise(position, self.sites[site])
                continue
            projected = self._project(position)
            away[part] = located.residual[part] + self._between(projected, position, site)
        return away

    def own_and_other(self, located: Located, codes: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return the root (n,) of the Bregman divergence of each row from its own site, and the nearest other."""
        n, k = codes.shape[0], self.sites.shape[0]
        own, other = np.empty(n), np.empty(n)
        for part in self._chunks(n):
            position, code = located.position[part], codes[part]
            if self.axes is None:
                away = self.divergence.between(position, self.sites)
            else:
                projected = self._project(position)
                away = np.column_stack([self._between(projected, position, np.array([site])) for site in range(k)])
                away += located.residual[part, None]
            rows = np.flatnonzero(code >= 0)
            mine = away.min(axis=1)
            mine[rows] = away[rows, code[rows]]
            away[rows, code[rows]] = np.inf
            own[part], other[part] = mine, away.min(axis=1)
        return np.sqrt(own), np.sqrt(other)

    def _between(self, projected: AffineFunctions, position: FloatArray, site: AnyArray) -> FloatArray:
        """Return D(x̂ ‖ c) (n,) of I-projections at ``position`` (n, r) from the sites with numbers (n,) or (1,)."""
        inside = (self._constants[site] - projected.b) - row_dots(self._slopes[site] - projected.a, position)
        return np.maximum(inside, 0.0)

    def weighted(self, weights: FloatArray, query_weight: float) -> BregmanDiagram:
        """Return this Bregman diagram with weights (k,) of the sites and of a query."""
        return replace(self, weights=weights, query_weight=query_weight)


_EPS = float(np.finfo(float).eps)
#: Evaluations after which a row is given up, and the residual, relative to the point, at which one that no longer
#: improves counts as converged.
_MAX_EVALUATIONS, _STALLED = 500, 1e-9
#: A step is accepted if the slope along it ends below this share of the slope downhill at its start.
_UPHILL = 0.5
#: Step of the finite differences that replace the second derivatives of a custom divergence.
_DIFFERENCE = 1e-5
#: Hessians of more coordinates than this are products of matrices; below, sums over precomputed products of axes.
_FEW_AXES = 24


@dataclass(frozen=True)
class Family:
    """All points y with ∇phi(y) = ∇phi(origin) + theta @ axes, for some theta (r,).

    Positions are z = axes (y - origin). On the family z is the gradient, by theta, of the convex function
    psi(theta) = D(origin ‖ y), so that the member with a given position is one convex minimum of r variables.
    ``axes`` (r, d) are orthonormal rows.
    """

    divergence: BregmanInfluence
    origin: FloatArray
    axes: FloatArray

    @cached_property
    def dim(self) -> int:
        """The number of coordinates of the family of points."""
        return self.axes.shape[0]

    @cached_property
    def _columns(self) -> FloatArray:
        """(d, r) the transposed axes of the family."""
        return np.ascontiguousarray(self.axes.T)

    @cached_property
    def size(self) -> float:
        """The length of the origin of a Bregman diagram, which determines the rounding of positions."""
        return float(np.linalg.norm(self.origin))

    @cached_property
    def _pairs(self) -> FloatArray:
        """(r (r + 1) / 2, d) products of two axes."""
        first, second = np.triu_indices(self.dim)
        return np.ascontiguousarray(self.axes[first] * self.axes[second])

    def positions(self, Y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return positions (n, r) of rows of Y (n, d), and their distances (n,) from the family's origin."""
        position, squares = product_by_rows(Y, self.origin, self.axes)
        return position, np.sqrt(squares)

    def combine(self, theta: FloatArray) -> FloatArray:
        """Return theta @ axes (n, d)."""
        return product_by_rows(theta, np.zeros(self.dim), self._columns)[0]

    def members(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the points (n, d) with coordinates theta (n, r), NaN where there is none, and theta @ axes (n, d)."""
        slopes = self.combine(theta)
        return self.divergence.points(slopes, self.origin), slopes

    def moments(self, spread: FloatArray) -> FloatArray:
        """Return axes diag(s) axesᵀ (n, r, r) for rows s of ``spread`` (n, d)."""
        n, r = spread.shape[0], self.dim
        if r > _FEW_AXES:
            # One product per row, of the same shape for every row, so that other rows cannot change its rounding.
            return np.stack([(self.axes * row) @ self._columns for row in spread]) if n else np.empty((0, r, r))
        upper, _ = product_by_rows(spread, np.zeros(spread.shape[1]), self._pairs)
        moments = np.empty((n, r, r))
        first, second = np.triu_indices(r)
        moments[:, first, second] = upper
        moments[:, second, first] = upper
        return moments

    def hessians(self, theta: FloatArray, Y: FloatArray, slopes: FloatArray) -> FloatArray:
        """Return the derivatives (n, r, r) of position by theta at members Y (n, d) with slopes theta @ axes (n, d)."""
        spread = self.divergence.spread(Y, slopes, self.origin)
        return self._difference_hessians(theta) if spread is None else self.moments(spread)

    def _difference_hessians(self, theta: FloatArray) -> FloatArray:
        """Return the same as :meth:`hessians` by finite differences, for custom divergences."""
        hessians = np.empty((*theta.shape, self.dim))
        step = _DIFFERENCE * (1.0 + np.abs(theta).max(axis=1, initial=0.0))
        for c in range(self.dim):
            ends = []
            for sign in (1.0, -1.0):
                moved = theta.copy()
                moved[:, c] += sign * step
                ends.append(self.positions(self.members(moved)[0])[0])
            hessians[:, :, c] = (ends[0] - ends[1]) / (2.0 * step)[:, None]
        return (hessians + hessians.transpose(0, 2, 1)) / 2.0


class _Search:
    """Damped Newton steps toward the members of a family with positions ``target`` (n, r), each row by itself.

    They minimize psi(theta) - <theta, target>, from members ``near``, one per row, with their positions (n, r) and the
    derivatives (n, r, r) of theta by position there. The slope of this convex function along a step decides: if it
    still falls at the end of the step, or rises little, the step is accepted; if not, it is shortened to where the
    slope would vanish if it grew evenly. Targets at the edge of what the domain allows, or beyond, are not found.
    """

    def __init__(
        self, family: Family, target: FloatArray, near: AffineFunctions, position: FloatArray, inverse: FloatArray
    ) -> None:
        self.family, self.target = family, target
        self.theta, self.psi = (part.copy() for part in near)
        self.residual = position - target
        self.step = -np.einsum("nij,nj->ni", inverse, self.residual)
        self.length = np.ones(target.shape[0])
        self.tolerance = 16.0 * _EPS * np.sqrt(family.origin.shape[0])
        # Rows at a known member keep its theta to the last bit.
        rounding = _EPS * (family.size + _lengths(target))
        self.converged: BoolArray = _lengths(self.residual) <= rounding

    def run(self) -> AffineFunctions:
        """Return theta (n, r) and psi(theta) (n,) of the members; ValueError if some are not found."""
        rows = np.flatnonzero(~self.converged)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for _ in range(_MAX_EVALUATIONS):
                if not rows.size:
                    break
                rows = self._advance(rows)
        if failed := int(np.count_nonzero(~self.converged)):
            raise ValueError(
                f"X: the projection on the span of the clusters was not found for {failed} of {self.target.shape[0]} "
                f"rows: are they at the edge of the domain of divergence {self.family.divergence.title!r}, or its "
                "functions wrong?"
            )
        return AffineFunctions(self.theta, self.psi)

    def _advance(self, rows: AnyArray) -> AnyArray:
        """Try one step for each row, and return the rows that need another."""
        step, before = self.step[rows], self.residual[rows]
        trial = self.theta[rows] + self.length[rows, None] * step
        Y, slopes = self.family.members(trial)
        position, distance = self.family.positions(Y)
        residual = position - self.target[rows]
        downhill = -row_dots(before, step)
        uphill = row_dots(residual, step)
        accepted = uphill <= _UPHILL * downhill
        error = _lengths(residual) / (distance + self.family.size)
        stalled = (error <= _STALLED) & (_lengths(residual) >= 0.9 * _lengths(before))
        done = (error <= self.tolerance) | stalled
        take = accepted | done
        self.theta[rows[take]], self.residual[rows[take]] = trial[take], residual[take]
        self.converged[rows[done]] = True
        if done.any():
            self.psi[rows[done]] = self.family.divergence.potentials(Y[done], slopes[done], self.family.origin)
        again = accepted & ~done
        if again.any():
            hessians = self.family.hessians(trial[again], Y[again], slopes[again])
            self.step[rows[again]] = -solve_rows(hessians, residual[again])
            self.length[rows[again]] = 1.0
        short = rows[~take]
        share = downhill[~take] / (downhill[~take] + uphill[~take])
        self.length[short] *= np.clip(np.nan_to_num(share, nan=0.25), 0.1, 0.9)
        # A step that is not downhill, or vanished, comes from a Hessian without digits left.
        alive = np.isfinite(self.step[rows]).all(axis=1) & (self.length[rows] > _EPS) & ~done
        return rows[alive]


def _lengths(residuals: FloatArray) -> FloatArray:
    """Return the lengths (n,) of Newton's residuals (n, r), where NumPy's ``norm`` takes several calls."""
    return np.sqrt((residuals * residuals).sum(axis=1))


def solve_rows(matrices: FloatArray, right: FloatArray) -> FloatArray:
    """Solve Newton's step: return matrix⁻¹ right (n, r) for positive matrices (n, r, r), NaN where one is not.

    A trace of a ridge keeps one singular matrix from stopping the others.
    """
    trace = np.trace(matrices, axis1=1, axis2=2)
    usable = np.isfinite(matrices).all(axis=(1, 2)) & (trace > 0)
    ridge = np.where(usable, 1e-15 * trace, 1.0)[:, None, None] * np.eye(right.shape[1])
    solutions: AnyArray = np.linalg.solve(
        np.where(usable[:, None, None], matrices, 0.0) + ridge, np.where(usable[:, None], right, 0.0)[:, :, None]
    )[:, :, 0]
    solutions[~usable] = np.nan
    return solutions
