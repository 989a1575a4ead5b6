"""Distance to the representatives: Euclidean, or Mahalanobis with a covariance given or found."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from allegiance._core import AnyArray, FloatArray, Rows, check_choice

from ._diagram import Diagram, Located
from ._embedding import LinearEmbedding
from ._influence import INFLUENCES, Influence, Training
from ._power_diagram import PowerDiagram
from ._scatter import SHRINKAGES, WithinSums, scatter_sums, unit_of
from ._whitening import whitening_of


@INFLUENCES.register("euclidean")
@dataclass(frozen=True, eq=False, repr=False)
class Euclidean(Influence):
    """Squared Euclidean distance to the representatives, in the units of X.

    Examples
    --------
    >>> from allegiance import Euclidean, affinity
    >>> result = affinity([[0.0], [1.0], [4.0], [9.0], [10.0]], [0, 0, 1, 1, 1], influence=Euclidean())
    >>> result.affinity.round(2)
    array([[1.  , 0.  ],
           [0.93, 0.07],
           [0.51, 0.49],
           [0.  , 1.  ],
           [0.  , 1.  ]])
    """

    def diagram(self, training: Training, *, keep_axes: bool) -> tuple[Diagram, Located | None]:
        """Return the Voronoi diagram of the sites."""
        return PowerDiagram(LinearEmbedding.of_sites(training.sites, keep_axes=keep_axes)), None

    def describe(self) -> str:
        """Say in a few words what closeness means."""
        return "euclidean"


@INFLUENCES.register("within")
@dataclass(frozen=True, eq=False, repr=False)
class Within(Influence):
    """Mahalanobis distance with the pooled covariance of the clusters themselves: try it first on real tables.

    Units and correlations of the columns then do not matter.

    Parameters
    ----------
    shrinkage
        How the covariance is shrunk towards independent columns: "ledoit-wolf" or "oas".

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from allegiance import Within, affinity
    >>> wine = load_wine()
    >>> raw, within = (affinity(wine.data, wine.target, influence=kind) for kind in ("euclidean", Within()))
    >>> int((raw.owner != wine.target).sum()), int((within.owner != wine.target).sum())
    (49, 0)
    """

    shrinkage: str = "ledoit-wolf"

    uses_reach: ClassVar[bool] = True

    def check(self) -> None:
        """Raise unless the shrinkage is known."""
        check_choice(self.shrinkage, "shrinkage of Within", SHRINKAGES)

    def diagram(self, training: Training, *, keep_axes: bool) -> tuple[Diagram, Located | None]:
        """Return the Voronoi diagram of the whitened sites."""
        if not training.labelled:
            raise ValueError("influence='within' needs labels, to know which points vary around which centre.")
        sites, unit = training.sites, unit_of(training.reach)
        sums = training.total(partial(_scatter, sites, unit))
        covariance = sums.covariance(sites, self.shrinkage, unit)
        return _whitened(sites, covariance, keep_axes), None

    def describe(self) -> str:
        """Say in a few words what closeness means."""
        return "within" if self.shrinkage == "ledoit-wolf" else f"within, {self.shrinkage}"


@INFLUENCES.register("mahalanobis")
@dataclass(frozen=True, eq=False, repr=False)
class Mahalanobis(Influence):
    """Mahalanobis distance with a covariance of your own.

    Parameters
    ----------
    covariance
        (d, d) symmetric positive definite matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from allegiance import Mahalanobis, affinity
    >>> X = [[0.0, 0.0], [1.0, 90.0], [6.0, 50.0], [7.0, 10.0]]
    >>> affinity(X, [0, 0, 1, 1], influence=Mahalanobis(np.diag([1.0, 1000.0]))).owner
    array([0, 0, 1, 1])
    """

    covariance: Any

    def diagram(self, training: Training, *, keep_axes: bool) -> tuple[Diagram, Located | None]:
        """Return the Voronoi diagram of the whitened sites."""
        return _whitened(training.sites, self.covariance, keep_axes), None

    def describe(self) -> str:
        """Say in a few words what closeness means."""
        return "mahalanobis"


def _scatter(sites: FloatArray, unit: FloatArray, rows: Rows, codes: AnyArray) -> WithinSums:
    return scatter_sums(rows, codes, sites, unit)


def _whitened(sites: FloatArray, covariance: Any, keep_axes: bool) -> Diagram:
    whitening = whitening_of(covariance, sites.shape[1])
    return PowerDiagram(LinearEmbedding.of_sites(sites, keep_axes=keep_axes, whitening=whitening))
