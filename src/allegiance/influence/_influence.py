"""What a kind of influence is: it prepares rows, and turns the data of a fit into a diagram."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np

from allegiance._core import AnyArray, FloatArray, Parameters, Registry, Rows

from ._diagram import Diagram, Located


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

    @property
    def reach(self) -> FloatArray:
        """(d,) an upper bound, by column, of the distance of rows from the sites."""

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
    #: Whether the diagram needs :attr:`Training.reach`.
    uses_reach: ClassVar[bool] = False

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
        """Return rows (n, p), dense or CSR, where distance is influence: what calibration clusters anew.

        Unlike the positions in ``located`` they are not projected on the span of the sites, which the labels chose.
        """
        return diagram.unprojected(X, located)

    def describe(self) -> str:
        """Say in a few words what closeness means."""
        return repr(self)


INFLUENCES: Registry[Influence] = Registry("influence", Influence, first="euclidean")
