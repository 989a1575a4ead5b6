"""Influence, the diagram of the clusters under it, and their weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from allegiance._core.exact_sums import ExactSums
from allegiance._core.parallel import for_row_blocks, kernel_ready
from allegiance._core.parameters import Lazy, Parameters, Registry
from allegiance._core.validation import AnyArray, FloatArray, IntArray, Rows, check_choice, check_number, real_array

if TYPE_CHECKING:
    from allegiance.fitting import Training


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
    lazy_residual: Lazy[FloatArray]

    @property
    def residual(self) -> FloatArray:
        """(n,) distance from the span of the sites, in the user's units; for Bregman diagrams the divergence."""
        return self.lazy_residual.value


class Diagram(Protocol):
    """The clusters under a kind of influence: all that domains, engines and outputs need to know about it."""

    @property
    def positions(self) -> FloatArray:
        """(k, r) coordinates of the sites of a diagram."""

    @property
    def functions(self) -> AffineFunctions:
        """The k functions of the sites of a diagram."""

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper limits (r,) outside which the functions are undefined; infinite where there are none."""

    def locate(self, X: Rows, threads: int = 1) -> Located:
        """Map rows of X (n, d), dense or sparse, to the space where volume is measured."""

    def query_functions(self, position: FloatArray) -> AffineFunctions:
        """Return the function of each query, as if it were a cluster of its own."""

    def clearance(self, queries: AffineFunctions, position: FloatArray) -> FloatArray:
        """Return f_i - f_x (n, k) at ``position`` (n, r) for queries with these functions.

        At its own position a query is ahead of each site by its divergence from the site, which needs no difference of
        two large values.
        """

    @property
    def clearance_scale(self) -> float:
        """Size of the numbers that :meth:`clearance` subtracts, without differences of positions; 0 if there are none.

        A clearance is known to the rounding of such numbers, and otherwise to its own last digits.
        """

    def bisectors(self, site: int) -> tuple[FloatArray, FloatArray]:
        """Return N (k, r) and o (k,) with cell = {y: N y <= o}; the row of the site itself is zero.

        Equal to the differences of ``functions`` in exact arithmetic, but computed so that sites which nearly
        coincide keep an accurate bisector.
        """

    def divergences(self, located: Located, codes: AnyArray) -> FloatArray:
        """Return the divergence (n,) of each row from the site with its code, without weights, in the user's units."""

    def own_and_other(self, located: Located, codes: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return the roots (n,) of the divergences from the site with its code, and from the nearest other one.

        For rows of no cluster (-1) both are the distance from the nearest of all; if there is only one site the second
        is infinite.
        """

    def weighted(self, weights: FloatArray, query_weight: float) -> Diagram:
        """Return this diagram with weights (k,) of the sites and of a query, in units of the divergence."""


def nearest_sites(diagram: Diagram, position: FloatArray, threads: int = 1) -> IntArray:
    """Return the number (n,) of the site of a diagram with the lowest function at each position."""
    from allegiance._kernels.counting import owners_at

    position, columns, b = kernel_ready(position, diagram.functions.a.T, diagram.functions.b)
    nearest = np.empty(position.shape[0], np.int64)

    def work(rows: slice) -> None:
        owners_at(position[rows], columns, b, nearest[rows])

    for_row_blocks(work, position.shape[0], threads, products=position.size * b.size)
    return nearest


class Summary(Protocol):
    """A result for some rows that can be merged with that for other rows."""

    def merge(self, other: Any) -> Self:
        """Return the result for both sets of rows."""


AnySummary = TypeVar("AnySummary", bound=Summary)


class Influence(Parameters, ABC):
    """A kind of influence, which defines closeness: the base of ``Euclidean``, ``KL``, ``Kernel`` and all others.

    A new kind is one class with :meth:`diagram`, registered with ``@INFLUENCES.register("name")``.
    """

    #: Whether clusters are represented by points in the coordinates of X. If not, there are no ``centers``.
    has_sites: ClassVar[bool] = True
    #: Whether the diagram depends on the clusters of the rows, and not only on their representatives.
    needs_labels: ClassVar[bool] = False
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
        """Whether any point in the space of X can be scored; False if rows hold kernel values."""
        return True

    @abstractmethod
    def diagram(self, training: Training, *, keep_axes: bool) -> tuple[Diagram, Located | None]:
        """Return the diagram of the clusters, without weights, and the positions of all rows if they are known.

        ``keep_axes`` keeps the coordinates of X instead of those of the span of the sites.
        """

    def clusterer(self, n_clusters: int) -> Any:
        """Return a stand-in clusterer to try for labels of unknown origin; None for no other than the usual ones."""
        return None


INFLUENCES: Registry[Influence] = Registry("influence", Influence, first="within")


#: Clusters tighter than this share of the average spread count as this tight: a single point has no spread at all.
_LEAST_SPREAD = 1e-3
_OVERFLOW = (
    "weights and squared distances of X are too far apart in scale: rescale X "
    "or the weights, or use Weights(.., scale='auto')."
)


class SpreadSums(NamedTuple):
    """Sums over points from which the weights of clusters follow."""

    sizes: FloatArray
    """(k,) numbers of points."""
    sums: ExactSums
    """(k, 1) of their divergences from the representative of their cluster."""

    @classmethod
    def of(cls, codes: AnyArray, spread: FloatArray, k: int) -> SpreadSums:
        """Sum the divergences (n,) of points from the representatives of their clusters (n,), -1 for noise."""
        sizes = np.bincount(codes[codes >= 0], minlength=k).astype(np.float64)
        return cls(sizes, ExactSums.of(spread[:, None], codes, k))

    @property
    def spread(self) -> FloatArray:
        """(k,) sums of the divergences."""
        return self.sums.values[:, 0]

    def merge(self, other: SpreadSums) -> SpreadSums:
        """Return the sums of divergences over both sets of points."""
        return SpreadSums(self.sizes + other.sizes, self.sums.merge(other.sums))


@dataclass(frozen=True, eq=False, repr=False)
class Weights(Parameters):
    """How important each cluster is: its weight is subtracted from the squared distance, or divergence.

    Parameters
    ----------
    values
        "size": the share ``|C_i| / n`` of the points. "density": the share of ``|C_i| / s_i^(r/2)`` in their sum, where
        s_i is the mean divergence of the cluster's points from its representative and r the dimension in which volume
        is measured, so that s_i^(r/2) is proportional to the volume of the cluster. Or an array (k,).
    scale
        The factor that turns weights into squared distances. "auto" is the mean squared distance of the points from
        their representatives, so that rescaling the data changes nothing.
    query
        The weight of a point before scaling. None is the average over points, sum of weights / n: 1 / n for "size".

    Examples
    --------
    >>> from allegiance import affinity
    >>> from allegiance.influence import Weights
    >>> X, labels = [[0, 0], [1, 2], [0, 1], [1, 1], [6, 1], [8, 3], [4, 9], [5, 5]], [0, 0, 0, 0, 1, 1, 2, 2]
    >>> kinds = None, Weights("size", scale=20.0)
    >>> plain, weighted = (affinity(X, labels, influence="euclidean", weights=kind) for kind in kinds)
    >>> plain.affinity[4].round(2), weighted.affinity[4].round(2)
    (array([0.15, 0.84, 0.01]), array([0.15, 0.85, 0.  ]))
    """

    values: Any
    scale: float | str = 1.0
    query: float | None = None

    @classmethod
    def resolve(cls, value: Any) -> Weights | None:
        """Return checked weights from None, a name, an array (k,), or an object."""
        if value is None:
            return None
        weights = value if isinstance(value, Weights) else cls(value)
        weights.check()
        return weights

    def check(self) -> None:
        """Raise unless kind, scale and the weight of a point are valid."""
        if isinstance(self.values, str):
            check_choice(self.values, "weights", ("size", "density"))
        if isinstance(self.scale, str):
            check_choice(self.scale, "scale of Weights", ("auto",))
        else:
            check_number(self.scale, "scale of Weights", low=0.0)
        if self.query is not None:
            check_number(self.query, "query of Weights", low=-np.inf)

    def apply(self, diagram: Diagram, sums: SpreadSums) -> Diagram:
        """Return the diagram with these weights, computed from sums over the points of the fit."""
        k = sums.sizes.size
        n = max(float(sums.sizes.sum()), 1.0)
        mean_spread = float(sums.spread.sum()) / n
        if isinstance(self.values, str):
            dim = diagram.positions.shape[1]
            raw = sums.sizes / n if self.values == "size" else _densities(sums, mean_spread, dim)
        else:
            raw = real_array("weights", self.values, 1)
            if raw.shape != (k,):
                raise ValueError(f"weights has {raw.shape[0]} entries but there are {k} clusters: they must be equal.")
            if not np.isfinite(raw).all():
                raise ValueError("weights must be finite.")
        factor = mean_spread if isinstance(self.scale, str) else self.scale
        with np.errstate(over="ignore", invalid="ignore"):
            query_weight = float(raw.sum()) / n if self.query is None else self.query
            weighted = diagram.weighted(raw * factor, query_weight * factor)
            largest = max(np.abs(weighted.functions.b).max(), np.abs(weighted.clearance_scale))
        if not np.isfinite(largest):
            raise ValueError(_OVERFLOW)
        return weighted

    def describe(self) -> str:
        """Return a short description of the weights."""
        return f"weights {self.values if isinstance(self.values, str) else 'from an array'}"


def _densities(sums: SpreadSums, mean_spread: float, dim: int) -> FloatArray:
    """Return densities (k,) relative to their sum. Through logarithms: powers of r/2 overflow easily."""
    if mean_spread == 0:
        return sums.sizes / sums.sizes.sum()
    if not np.isfinite(mean_spread):
        raise ValueError(_OVERFLOW)
    mean = np.maximum(sums.spread / np.maximum(sums.sizes, 1.0), _LEAST_SPREAD * mean_spread)
    with np.errstate(divide="ignore"):
        logarithm = np.log(sums.sizes) - dim / 2.0 * np.log(mean)
    density: FloatArray = np.exp(logarithm - logarithm.max())
    return density / density.sum()
