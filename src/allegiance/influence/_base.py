"""The base of all kinds of influence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allegiance._core.parameters import Parameters, Registry
from allegiance._core.validation import FloatArray, Rows

from ._diagram import Diagram, Located

if TYPE_CHECKING:
    from allegiance.fitting import Training


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
        """Undo :meth:`prepare` for sites (k, d) of this influence."""
        return sites

    @property
    def limits(self) -> tuple[float, float]:
        """The open interval in which an influence takes entries of X; by default any."""
        return -np.inf, np.inf

    @property
    def takes_points(self) -> bool:
        """Whether an influence can score any point in the space of X; False if rows hold kernel values."""
        return True

    @abstractmethod
    def diagram(self, training: Training, *, keep_axes: bool) -> tuple[Diagram, Located | None]:
        """Return the diagram of an influence, without weights, and the positions of all rows if they are known.

        ``keep_axes`` keeps the coordinates of X instead of those of the span of the sites.
        """

    def clusterer(self, n_clusters: int) -> Any:
        """Return a stand-in clusterer to try for labels of unknown origin; None for no other than the usual ones."""
        return None


INFLUENCES: Registry[Influence] = Registry("influence", Influence, first="within")
