"""What goes into an engine and what comes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from allegiance._core._rows import row_sums
from allegiance._core._typing import AnyArray, BoolArray, FloatArray

#: Two-sided 95 % point of the normal distribution: an interval is an estimate plus or minus this many standard errors.
Z95 = 1.959963984540054

#: Which engine measured a point, by the code kept in :attr:`Estimate.engine`.
ENGINE_NAMES = ("closed-form", "exact", "shared", "hit-and-run", "rejection", "limit")
CLOSED_FORM, EXACT, SHARED, HIT_AND_RUN, REJECTION, LIMIT = range(6)


class PrecisionWarning(UserWarning):
    """Some affinities did not reach the precision asked for within ``max_samples``."""


@dataclass(frozen=True)
class Settings:
    """How precisely to measure, and with what means."""

    eps: float = 0.03
    """Half-width of the 95 % interval of every affinity."""
    max_samples: int = 1_000_000
    """Most samples, or steps of a walk, spent on one point."""
    seed: int = 0
    threads: int = 1
    verbose: bool = False


class Moved(NamedTuple):
    """For each query, one site whose function is replaced: its own cluster without it."""

    site: AnyArray
    """(n,) int64, -1 where nothing is replaced."""
    a: FloatArray
    """(n, r)"""
    b: FloatArray
    """(n,), inf where the cluster had no other point."""


class Queries(NamedTuple):
    """Points to score, in the unit coordinates of a scene."""

    a: FloatArray
    """(n, r) slopes of their functions."""
    b: FloatArray
    """(n,) constants of their functions."""
    position: FloatArray
    """(n, r) where they are."""
    moved: Moved | None = None

    def take(self, rows: AnyArray | slice) -> Queries:
        """Return some of the queries."""
        moved = None if self.moved is None else Moved(*(part[rows] for part in self.moved))
        return Queries(self.a[rows], self.b[rows], self.position[rows], moved)

    @property
    def n(self) -> int:
        """The number of queries."""
        return self.a.shape[0]


class Estimate(NamedTuple):
    """Affinities of n queries towards k sites."""

    affinity: FloatArray
    """(n, k), rows sum to 1; a row of zeros where the engine found nothing."""
    standard_error: FloatArray
    """(n, k), 0 where exact."""
    engine: AnyArray
    """(n,) uint8 codes, see ENGINE_NAMES."""
    hidden: BoolArray
    """(n,) the query's cell is empty, and the affinity is the limit of a vanishing cell."""

    @classmethod
    def blank(cls, n: int, k: int, engine: int) -> Estimate:
        """Return an estimate to be filled in."""
        return cls(np.zeros((n, k)), np.zeros((n, k)), np.full(n, engine, np.uint8), np.zeros(n, dtype=bool))

    def put(self, rows: AnyArray | slice, other: Estimate) -> None:
        """Overwrite ``rows`` with the rows of another estimate."""
        for mine, theirs in zip(self, other, strict=True):
            mine[rows] = theirs

    def fill(self, queries: Queries, engine: Engine) -> None:
        """Let another engine answer for the queries without an answer."""
        missing = np.flatnonzero(~self.found)
        if missing.size:
            self.put(missing, engine.estimate(queries.take(missing)))

    @property
    def found(self) -> BoolArray:
        """(n,) whether the engine gave an answer."""
        return row_sums(self.affinity) > 0


class Engine(Protocol):
    """A way to measure the shares of a query's cell."""

    block: int
    """How many queries it likes to be given at a time."""

    def estimate(self, queries: Queries) -> Estimate:
        """Estimate affinities; the answer for a query does not depend on the other queries."""


def binomial_errors(counts: AnyArray, total: AnyArray) -> FloatArray:
    """Return standard errors of the shares ``counts / total`` of independent samples.

    Two successes and two failures are added (Agresti and Coull), so that a share of 0 or 1 seen in a few samples does
    not claim certainty.

    Parameters
    ----------
    counts
        (n, k) hits by owner.
    total
        (n,) hits; may be an effective number of independent samples.
    """
    size = np.asarray(total, dtype=np.float64)[:, None] + 4.0
    share = (counts + 2.0) / size
    errors: FloatArray = np.sqrt(share * np.maximum(1.0 - share, 2.0 / size) / size)
    return errors
