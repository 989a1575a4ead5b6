"""The base of all engines: queries, estimates, settings, and the loop over blocks of queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from allegiance._core.arithmetic import row_sums
from allegiance._core.parameters import Parameters, Registry
from allegiance._core.progress import Verbose, progress
from allegiance._core.validation import AnyArray, BoolArray, FloatArray, check_count, check_number

if TYPE_CHECKING:
    from ._tessellation import Tessellation

#: Two-sided 95% point of the normal distribution: an interval is an estimate plus or minus this many standard errors.
Z95 = 1.959963984540054

#: Most samples, or steps of a walk, that are spent on one point unless the user says otherwise.
MAX_SAMPLES = 4_000_000
#: Megabytes of shared samples that a fitted engine keeps for later calls unless the user says otherwise.
CACHE_MB = 128
#: Least half-width of an interval that may be asked for: samples go with its inverse square.
LEAST_EPS = 1e-9


class PrecisionWarning(UserWarning):
    """Some affinities did not reach ``eps`` within the budget of the engine, or rounding hides some clusters."""


@dataclass(frozen=True)
class Settings:
    """Precision and resources, the same for all engines."""

    eps: float = 0.03
    """Half-width of the 95% interval of every affinity."""
    seed: int = 0
    threads: int = 1
    verbose: Verbose = False


class Queries(NamedTuple):
    """Points to score, in the unit coordinates of a tessellation."""

    a: FloatArray
    """(n, r) slopes of their functions."""
    b: FloatArray
    """(n,) constants of their functions."""
    position: FloatArray
    """(n, r) where they are."""

    def take(self, rows: AnyArray | slice) -> Queries:
        """Return some of the queries to an engine."""
        return Queries(self.a[rows], self.b[rows], self.position[rows])

    @property
    def n(self) -> int:
        """The number of queries."""
        return self.a.shape[0]


class Estimate(NamedTuple):
    """Affinities of n queries toward k sites."""

    affinity: FloatArray
    """(n, k), rows sum to 1; a row of zeros where the engine has no answer."""
    standard_error: FloatArray
    """(n, k), 0 where exact."""
    engine: AnyArray
    """(n,) uint8 codes, see :func:`engine_names`."""
    empty_cell: BoolArray
    """(n,) the query's cell is empty, and the affinity is the limit of a vanishing cell."""

    @classmethod
    def blank(cls, n: int, k: int, engine: int) -> Estimate:
        """Return an estimate to be filled in."""
        return cls(np.zeros((n, k)), np.zeros((n, k)), np.full(n, engine, np.uint8), np.zeros(n, dtype=bool))

    def put(self, rows: AnyArray | slice, other: Estimate) -> None:
        """Overwrite ``rows`` with the rows of another estimate."""
        for mine, theirs in zip(self, other, strict=True):
            mine[rows] = theirs

    def fill(self, queries: Queries, engine: FittedEngine) -> None:
        """Let another engine answer for the queries without an answer."""
        missing = np.flatnonzero(~self.has_answer)
        if missing.size:
            self.put(missing, engine.estimate(queries.take(missing)))

    @property
    def has_answer(self) -> BoolArray:
        """(n,) whether the engine has an answer."""
        return row_sums(self.affinity) > 0


class FittedEngine(ABC):
    """An engine fitted to one tessellation."""

    #: Preferred number of queries per call.
    block: int = 4096

    @abstractmethod
    def estimate(self, queries: Queries) -> Estimate:
        """Estimate affinities; the answer for a query does not depend on the other queries."""

    def prepare(self) -> None:  # noqa: B027
        """Compute and keep what the first queries would otherwise wait for; by default nothing."""


#: Most affinities measured at a time, where there are many sites.
_MAX_SHARES = 2**23


def measure(engine: FittedEngine, tessellation: Tessellation, position: FloatArray, settings: Settings) -> Estimate:
    """Let an engine estimate the affinities (n, k) of positions (n, r), in the coordinates of the diagram.

    Memory beyond the result is that of one block of queries, whatever n.
    """
    n = position.shape[0]
    estimate = None
    for rows, part in measure_blocks(engine, tessellation, position, settings):
        if estimate is None:
            estimate = part if rows == slice(0, n) else Estimate.blank(n, tessellation.n_clusters, 0)
        if estimate is not part:
            estimate.put(rows, part)
    return estimate or Estimate.blank(n, tessellation.n_clusters, 0)


def measure_blocks(
    engine: FittedEngine, tessellation: Tessellation, position: FloatArray, settings: Settings
) -> Iterator[tuple[slice, Estimate]]:
    """Yield an engine's estimates of blocks of positions (n, r), with their rows, for all clusters."""
    n = position.shape[0]
    size = min(engine.block, max(_MAX_SHARES // tessellation.n_sites, 1024))
    with progress(n, "affinity", settings.verbose) as advance:
        for start in range(0, n, size):
            rows = slice(start, min(start + size, n))
            yield rows, tessellation.expand(engine.estimate(tessellation.queries(position[rows])))
            advance(rows.stop - rows.start)


class Engine(Parameters, ABC):
    """How volume is measured: the base of ``Exact``, ``SharedSamples`` and the others.

    A new engine is a class with :meth:`why_unsupported` and :meth:`build`, registered by ``@ENGINES.register("name")``.
    """

    #: Whether exact shares are wanted wherever there is a way to them, even if it is not this engine's own.
    exact_where_possible: ClassVar[bool] = False
    #: Most samples, or steps of a walk, spent on one point; engines that sample make it a parameter.
    max_samples: int = MAX_SAMPLES
    #: Megabytes of samples that the fitted engine keeps, likewise.
    cache_mb: float = CACHE_MB

    def check(self) -> None:
        """Raise unless the number of samples or steps is a positive integer, and the cache not negative."""
        check_count(self.max_samples, f"max_samples of {type(self).__name__}")
        check_number(self.cache_mb, f"cache_mb of {type(self).__name__}", low=0.0, closed=True)

    @abstractmethod
    def why_unsupported(self, tessellation: Tessellation) -> str | None:
        """Say why this engine cannot measure over a tessellation, and what to do; None if it can."""

    @abstractmethod
    def build(self, tessellation: Tessellation, settings: Settings) -> FittedEngine:
        """Build the fitted engine; ValueError if that fails for a reason that cannot be known before."""


ENGINES: Registry[Engine] = Registry("engine", Engine, first="auto")
_NAMES = "closed-form", "exact", "shared", "hit-and-run", "limit"
#: Codes in :attr:`Estimate.engine`, and keys of random streams; those of other registered engines follow.
CLOSED_FORM, EXACT, SHARED, HIT_AND_RUN, LIMIT = range(len(_NAMES))


def engine_code(name: str) -> int:
    """Return the code of a registered engine."""
    return _all_names().index(name)


def engine_names(codes: AnyArray) -> AnyArray:
    """Return the names (n,) of engines with these codes (n,)."""
    return np.array(_all_names())[codes]


def _all_names() -> list[str]:
    """Return the names of all engines in the order of their codes."""
    return [*_NAMES, *(name for name in ENGINES if name not in _NAMES)]


def binomial_errors(counts: AnyArray, total: AnyArray) -> FloatArray:
    """Return standard errors of the shares ``counts / total`` of independent samples, for hits (n, k) of total (n,).

    Two successes and two failures are added (Agresti and Coull), so that a share of 0 or 1 seen in a few samples does
    not claim certainty. The total may be an effective number of samples.
    """
    size = np.asarray(total, dtype=np.float64)[:, None] + 4.0
    share = (counts + 2.0) / size
    errors: FloatArray = np.sqrt(share * np.maximum(1.0 - share, 2.0 / size) / size)
    return errors
