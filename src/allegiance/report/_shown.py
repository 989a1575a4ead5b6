"""Which points travel with the page."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allegiance._core import FloatArray, IntArray, stream
from allegiance.results import SUPPORTED, Result

#: Labels that are not supported kept on the page, the least trusted first; a page of 25 MB has room for no more.
MAX_DOUBTFUL = 50_000
#: Supported labels and points of noise kept on the page: enough to see their shape, few enough for any browser.
MAX_SUPPORTED = 10_000
MAX_NOISE = 5_000
#: Names the random streams of the samples among the streams of the result's seed.
_STREAM = 0x5E9027


class Part(NamedTuple):
    """How many points of a kind are on the page, and how many there are."""

    kept: int
    of: int

    @property
    def scale(self) -> float:
        """How many points each of those on the page stands for."""
        return self.of / max(self.kept, 1)


class Shown(NamedTuple):
    """The points on the page, and how many points they stand for."""

    rows: IntArray
    """(m,) rows of the result: noise, then labels, the most trusted first. What is drawn last lies on top."""
    doubtful: Part
    supported: Part
    noise: Part

    @property
    def is_complete(self) -> bool:
        """Whether the page shows every point."""
        return all(part.kept == part.of for part in (self.doubtful, self.supported, self.noise))


def choose_points(result: Result, values: FloatArray) -> Shown:
    """Keep the labels that are not supported, and samples of the others and of noise, drawn with the result's seed.

    Parameters
    ----------
    values
        (n,) what labels are ranked by, NaN for noise.
    """
    noise, supported = result.noise, result.verdict == SUPPORTED
    everything = [np.flatnonzero(kind) for kind in (~(noise | supported), supported, noise)]
    least_trusted = np.argsort(values[everything[0]], kind="stable")
    kept = [
        everything[0][least_trusted[:MAX_DOUBTFUL]],
        _sample(everything[1], MAX_SUPPORTED, result.how.seed, 0),
        _sample(everything[2], MAX_NOISE, result.how.seed, 1),
    ]
    rows = np.sort(np.concatenate(kept))
    order = np.argsort(np.where(noise[rows], -np.inf, -values[rows]), kind="stable")
    parts = (Part(some.size, every.size) for some, every in zip(kept, everything, strict=True))
    return Shown(rows[order], *parts)


def _sample(rows: IntArray, size: int, seed: int, number: int) -> IntArray:
    if rows.size <= size:
        return rows
    return stream(seed, _STREAM, number).choice(rows, size, replace=False, shuffle=False)
