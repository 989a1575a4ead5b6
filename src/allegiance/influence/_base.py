"""What an influence is, and the diagram that it makes of a fitted clustering."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from allegiance._core.parameters import Parameters, Registry
from allegiance._core.validation import AnyArray, FloatArray, Rows


class AffineFunctions(NamedTuple):
    """Functions f_i(y) = b_i - <a_i, y>, one per row; lower means closer."""

    a: FloatArray
    """(m, r) slopes."""
    b: FloatArray
    """(m,) constants."""


class Located(NamedTuple):
    """Rows of X in the space where volume is measured."""

    position: FloatArray
    """(n, r) coordinates."""
    residual: FloatArray
    """(n,) distance, for Bregman diagrams divergence, of each row from the span of the sites, in the user's units."""


def no_bounds(r: int) -> tuple[FloatArray, FloatArray]:
    """Return limits that exclude nothing in r dimensions."""
    return np.full(r, -np.inf), np.full(r, np.inf)


class Diagram(Protocol):
    """A kind of influence. Domains, engines and outputs ask for nothing else, so a new kind is one new class."""

    @property
    def positions(self) -> FloatArray:
        """(k, r) coordinates of the sites."""

    @property
    def functions(self) -> AffineFunctions:
        """The k functions of the sites."""

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper limits (r,) outside which the functions mean nothing; infinite where there are none."""

    def locate(self, X: Rows, threads: int = 1) -> Located:
        """Map rows of X (n, d), dense or sparse, to the space where volume is measured."""

    def query_functions(self, position: FloatArray) -> AffineFunctions:
        """Return the function of each query, as if it were a cluster of its own."""

    def clearance(self, queries: AffineFunctions, position: FloatArray) -> FloatArray:
        """Return f_i - f_x (n, k) at ``position`` (n, r) for queries with these functions.

        At home a query is ahead of each site by its divergence from the site, which can be computed without the
        cancellation of subtracting two values of large functions.
        """

    @property
    def clearance_scale(self) -> float:
        """Size of the numbers that :meth:`clearance` subtracts, differences of positions aside; 0 if there are none.

        A clearance is known to the rounding of such numbers, and otherwise to its own last digits.
        """

    def bisectors(self, site: int) -> tuple[FloatArray, FloatArray]:
        """Return N (k, r) and o (k,) with cell = {y: N y <= o}; the row of the site itself is zero.

        Equal to the differences of ``functions`` in exact arithmetic, but computed so that sites which nearly
        coincide keep an accurate bisector.
        """

    @property
    def affine(self) -> bool:
        """Whether coordinates are an invertible affine map of those of X."""

    @property
    def axis_aligned(self) -> bool:
        """Whether every coordinate is one of X, scaled and shifted."""

    def unprojected(self, X: Rows, located: Located) -> Rows:
        """Return rows (n, p), dense or CSR, not reduced to the span of the sites, where distance is influence."""

    def divergences(self, located: Located, codes: AnyArray) -> FloatArray:
        """Return the divergence (n,) of each row from the site with its code, weights aside, in the user's units."""

    def distances(self, located: Located, codes: AnyArray) -> FloatArray:
        """Return the root (n,) of the divergence of each row from the site with its code, in the user's units."""

    def own_and_other(self, located: Located, codes: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return :meth:`distances` (n,) from the site with its code, and from the nearest other one.

        For rows of no cluster (-1) both are the distance from the nearest of all; if there is only one site the second
        is infinite.
        """

    def weighted(self, weights: FloatArray, query_weight: float) -> Diagram:
        """Return this diagram with weights (k,) of the sites and of a query, in units of the divergence."""


class Summary(Protocol):
    """Something computed from rows that can be merged with the same from other rows."""

    def plus(self, other: Any) -> Self:
        """Return what both sets of rows give together."""


AnySummary = TypeVar("AnySummary", bound=Summary)


class Training(Protocol):
    """The data of a fit, as far as an influence may ask for it: in memory, from a file or from many machines."""

    n_clusters: int
    labelled: bool
    """Whether rows have clusters; if not, only ``sites`` are known."""
    seed: int
    threads: int

    @property
    def sites(self) -> FloatArray:
        """(k, d) representatives of the clusters, prepared."""

    def total(self, summarise: Callable[[Rows, AnyArray], AnySummary]) -> AnySummary:
        """Go once through the data, and merge ``summarise(rows, codes)`` of prepared rows (m, d) and clusters (m,)."""

    def in_memory(self, wanted_by: str) -> tuple[Rows, AnyArray]:
        """Return all prepared rows (n, d) and their clusters (n,), or raise ValueError if they are not in memory."""


class Influence(Parameters):
    """What closeness means: the base of ``Euclidean``, ``KL``, ``Kernel`` and all others.

    A new kind is one class with :meth:`diagram`, registered with ``@INFLUENCES.register("name")``.
    """

    #: Whether clusters are represented by points in the coordinates of X. If not, there are no ``centers``.
    has_sites: ClassVar[bool] = True
    #: Whether straight lines stay straight when rows are prepared, so that cells have flat sides in the space of X.
    flat_sides: ClassVar[bool] = True

    def prepare(self, X: Rows, argument: str = "X") -> Rows:
        """Return rows (n, d) as the diagram needs them, or raise ValueError naming ``argument`` and the row."""
        return X

    def restore(self, sites: FloatArray) -> FloatArray:
        """Return prepared sites (k, d) in the coordinates of X."""
        return sites

    @property
    def limits(self) -> tuple[float, float]:
        """The open interval in which every entry of X must lie."""
        return -np.inf, np.inf

    @property
    def takes_points(self) -> bool:
        """Whether any place of the space of X can be scored; not so if rows hold kernel values."""
        return True

    @abstractmethod
    def diagram(self, training: Training, *, keep_axes: bool) -> tuple[Diagram, Located | None]:
        """Return the diagram of the clusters, without weights, and where the rows are if that came along.

        ``keep_axes`` asks for the coordinates of X instead of those of the span of the sites.
        """

    def clusterer(self, n_clusters: int) -> Any:
        """Return the clusterer that calibration refits to :meth:`coordinates`; None for k-means."""
        return None

    def coordinates(self, diagram: Diagram, X: Rows, located: Located) -> Rows:
        """Return rows (n, p), dense or CSR, where distance is influence: calibration clusters subsamples of them.

        Unlike the positions in ``located`` they are not projected on the span of the sites, which the labels chose.
        """
        return diagram.unprojected(X, located)

    def describe(self) -> str:
        """Say in a few words what closeness means."""
        return repr(self)


INFLUENCES: Registry[Influence] = Registry("influence", Influence, first="euclidean")
