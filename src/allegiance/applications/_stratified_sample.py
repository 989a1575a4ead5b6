"""A sample of which a chosen share is stable."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from allegiance._core import BoolArray, FloatArray, IntArray, Rows, check_count, check_number
from allegiance.clusterers import KMeansStarts

from ._nearest_centers import NearestCenters

DEFAULT_SIZE = "2*sqrt(n)"
#: Shares of stable points that "auto" tries, besides their share among all points.
FRACTIONS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
#: How often "auto" sets points aside and draws anew.
REPEATS = 5
#: Most points that "auto" sets aside, in sizes of the sample.
_HELD_OUT = 5


class Pools(NamedTuple):
    """Row numbers of the stable and of the unstable points, in random order."""

    stable: IntArray
    unstable: IntArray

    @classmethod
    def shuffled(cls, rows: IntArray, stable: BoolArray, rng: np.random.Generator) -> Pools:
        """Divide ``rows`` by the flags ``stable`` of all points."""
        rows = rng.permutation(rows)
        return cls(rows[stable[rows]], rows[~stable[rows]])

    @property
    def fraction(self) -> float:
        """The share of stable points."""
        return self.stable.size / (self.stable.size + self.unstable.size)

    def n_stable(self, size: int, fraction: float) -> int:
        """Return how many of ``size`` points are stable: the share asked for, or as near as the pools allow."""
        return min(max(round(fraction * size), size - self.unstable.size), self.stable.size)

    def sample(self, size: int, fraction: float) -> IntArray:
        """Take the first rows of both pools, ``size`` together, and return them in ascending order."""
        n_stable = self.n_stable(size, fraction)
        return np.sort(np.concatenate([self.stable[:n_stable], self.unstable[: size - n_stable]]))

    def warn_of_shortage(self, size: int, fraction: float, stacklevel: int) -> None:
        """Warn if the share asked for is not available."""
        wanted, got = round(fraction * size), self.n_stable(size, fraction)
        if wanted == got:
            return
        short, there, asked = ("stable", self.stable.size, wanted)
        if got > wanted:
            short, there, asked = ("unstable", self.unstable.size, size - wanted)
        warnings.warn(
            f"stable_fraction={fraction:g} asks for {asked} {short} points in a sample of {size}, but there are only "
            f"{there}: the sample is filled up with {'un' if short == 'stable' else ''}stable ones.",
            UserWarning,
            stacklevel=stacklevel + 1,
        )


def size_of_sample(sample_size: Any, n: int, n_clusters: int) -> int:
    """Return the number of points to take of ``n``."""
    if isinstance(sample_size, str):
        size = round(2.0 * np.sqrt(n))
    elif isinstance(sample_size, Integral):
        size = int(sample_size)
    else:
        size = round(float(sample_size) * n)
    return min(max(size, n_clusters), n)


def check_sample_size(sample_size: Any) -> None:
    """Raise unless ``sample_size`` is the default, a number of points or a share of them."""
    if isinstance(sample_size, str):
        if sample_size != DEFAULT_SIZE:
            raise ValueError(f"sample_size must be {DEFAULT_SIZE!r}, an integer or a share, got {sample_size!r}.")
    elif isinstance(sample_size, Integral):
        check_count(sample_size, "sample_size")
    elif check_number(sample_size, "sample_size", low=0.0) > 1.0:
        raise ValueError(f"sample_size={sample_size!r} is no share of the points: use an integer for their number.")


def check_stable_fraction(fraction: Any) -> None:
    """Raise unless ``fraction`` is "auto" or a number from 0 to 1."""
    if isinstance(fraction, str):
        if fraction != "auto":
            raise ValueError(f"stable_fraction must be 'auto' or a number from 0 to 1, got {fraction!r}.")
    elif check_number(fraction, "stable_fraction", low=0.0, closed=True) > 1.0:
        raise ValueError(f"stable_fraction must be 'auto' or a number from 0 to 1, got {fraction!r}.")


def held_out_losses(
    X: Rows,
    stable: BoolArray,
    size: int,
    fractions: FloatArray,
    kmeans: KMeansStarts,
    seeds: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the mean squared distance (repeats, fractions) of points set aside from their nearest centre.

    The fractions of one repeat share the points set aside and, as far as they go, the points drawn.
    """
    n = X.shape[0]
    n_held = min(_HELD_OUT * size, n - size)
    losses = np.empty((REPEATS, fractions.size))
    for repeat in range(REPEATS):
        rows = rng.permutation(n)
        held = X[np.sort(rows[:n_held])]
        pools = Pools.shuffled(np.sort(rows[n_held:]), stable, rng)
        for j, fraction in enumerate(fractions):
            found = kmeans.from_seeds(X[pools.sample(size, fraction)], seeds, rng)
            losses[repeat, j] = NearestCenters.of(found.centers, n_jobs=1).assign(held).squared.mean()
    return losses


def best_fraction(
    X: Rows, stable: BoolArray, size: int, kmeans: KMeansStarts, seeds: FloatArray, rng: np.random.Generator
) -> float:
    """Return the share of stable points with which points set aside are closest to their centres.

    Ties go to the share of stable points among all.
    """
    everyone = float(stable.mean())
    if size == stable.size or everyone in (0.0, 1.0):
        return everyone
    fractions = np.array([everyone, *FRACTIONS])
    losses = held_out_losses(X, stable, size, fractions, kmeans, seeds, rng)
    return float(fractions[losses.mean(axis=0).argmin()])
