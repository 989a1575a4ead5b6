"""Bregman divergences: D(y ‖ c) = phi(y) - phi(c) - <∇phi(c), y - c> of a strictly convex function phi."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from allegiance._core import FloatArray, Rows, dense, row_dots, stream

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
    """A strictly convex function phi and its gradient, with what follows from them.

    Both are checked at construction, by finite differences and at pairs of points. The functions must treat each row
    by itself.

    Attributes
    ----------
    phi
        Maps rows (n, d) to numbers (n,).
    gradient
        Maps rows (n, d) to the gradients (n, d) of phi.
    domain
        Open interval in which every coordinate must lie.
    inverse_gradient
        Maps gradients (n, d) back to rows (n, d), if it is known.
    name
        What messages call it.
    coordinatewise
        Faster and more accurate forms of a phi that is a sum over coordinates.
    """

    phi: Potential
    gradient: RowMap
    _: KW_ONLY
    domain: tuple[float, float] = (-np.inf, np.inf)
    inverse_gradient: RowMap | None = None
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
        if self.inverse_gradient is not None:
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
            assert self.inverse_gradient is not None
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

    @property
    def invertible(self) -> bool:
        """Whether :meth:`points` can be called."""
        return self.coordinatewise is not None or self.inverse_gradient is not None

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
