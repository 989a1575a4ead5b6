"""Bregman divergences from the representatives."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from allegiance._core import FloatArray, Rows, check_number, dense, is_sparse

from ._bregman_diagram import BregmanDiagram
from ._diagram import Diagram, Located
from ._divergence import BregmanDivergence, check_rows_inside
from ._generators import divergence_by_name
from ._influence import INFLUENCES, Influence, Training

#: Smoothing from here on may be beyond single precision once it is added to X.
_MOST_SMOOTHING = 1e30


class BregmanInfluence(Influence):
    """What all Bregman divergences share: rows inside the domain, and the diagram of the sites."""

    #: Added to every entry before divergences are computed.
    smoothing: float = 0.0

    @property
    @abstractmethod
    def divergence(self) -> BregmanDivergence:
        """The divergence itself."""

    @property
    def limits(self) -> tuple[float, float]:
        """The open interval in which every entry of X must lie."""
        low, high = self.divergence.domain
        return low - self.smoothing, high - self.smoothing

    def prepare(self, X: Rows, argument: str = "X") -> Rows:
        """Return rows with the smoothing added, if they lie inside the domain."""
        if is_sparse(X):
            raise TypeError(f"X is sparse, but influence {self!r} needs dense X: call X.toarray() first.")
        if self.smoothing:
            X = X + self.smoothing
        check_rows_inside(X, self.divergence, argument)
        return X

    def restore(self, sites: FloatArray) -> FloatArray:
        """Return sites without the smoothing."""
        return sites - self.smoothing if self.smoothing else sites

    def diagram(self, training: Training, *, keep_axes: bool) -> tuple[Diagram, Located | None]:
        """Return the Bregman diagram of the sites."""
        return BregmanDiagram.of_sites(training.sites, self.divergence, keep_axes=keep_axes), None

    def clusterer(self, n_clusters: int) -> Any:
        """Return k-means with the same divergence and one start."""
        from allegiance.clusterers import BregmanKMeans

        return BregmanKMeans(n_clusters, influence=self, n_init=1)

    def coordinates(self, diagram: Diagram, X: Rows, located: Located) -> FloatArray:
        """Return rows (n, d) without the smoothing, which the clusterer adds itself."""
        return self.restore(dense(X))

    def describe(self) -> str:
        """Say in a few words what closeness means."""
        return self.divergence.name


class _Smoothed(BregmanInfluence):
    """A divergence between positive numbers, to which a constant may be added."""

    def check(self) -> None:
        """Raise unless the smoothing is a number that is not negative."""
        check_number(self.smoothing, f"smoothing of {type(self).__name__}", low=0.0, high=_MOST_SMOOTHING, closed=True)


@INFLUENCES.register("kl")
@dataclass(frozen=True, eq=False, repr=False)
class KL(_Smoothed):
    """Generalised Kullback-Leibler divergence, for counts and shares: X must be positive.

    Parameters
    ----------
    smoothing
        Added to every entry of X and of the centers, so that zeros are accepted.

    Examples
    --------
    >>> from allegiance import KL, affinity
    >>> counts = [[9, 1, 0], [8, 2, 0], [1, 7, 2], [0, 9, 1]]
    >>> affinity(counts, ["sports", "sports", "news", "news"], influence=KL(smoothing=0.5)).owner
    array(['sports', 'sports', 'news', 'news'], dtype='<U6')
    """

    smoothing: float = 0.0

    @property
    def divergence(self) -> BregmanDivergence:
        """The divergence itself."""
        return divergence_by_name("kl")


@INFLUENCES.register("itakura-saito")
@dataclass(frozen=True, eq=False, repr=False)
class ItakuraSaito(_Smoothed):
    """Itakura-Saito divergence, for spectra: X must be positive, and its scale does not matter.

    Parameters
    ----------
    smoothing
        Added to every entry of X and of the centers, so that zeros are accepted.

    Examples
    --------
    >>> from allegiance import ItakuraSaito, affinity
    >>> spectra = [[1.0, 4.0], [10.0, 41.0], [4.0, 1.0], [39.0, 10.0]]
    >>> affinity(spectra, ["rising", "rising", "falling", "falling"], influence=ItakuraSaito()).owner
    array(['rising', 'rising', 'falling', 'falling'], dtype='<U7')
    """

    smoothing: float = 0.0

    @property
    def divergence(self) -> BregmanDivergence:
        """The divergence itself."""
        return divergence_by_name("itakura-saito")


@INFLUENCES.register("logistic")
@dataclass(frozen=True, eq=False, repr=False)
class Logistic(BregmanInfluence):
    """Logistic loss, for probabilities: every entry of X must lie strictly between 0 and 1.

    Examples
    --------
    >>> from allegiance import Logistic, affinity
    >>> chances = [[0.9, 0.2], [0.8, 0.1], [0.1, 0.7], [0.3, 0.9]]
    >>> affinity(chances, ["a", "a", "b", "b"], influence=Logistic()).owner
    array(['a', 'a', 'b', 'b'], dtype='<U1')
    """

    @property
    def divergence(self) -> BregmanDivergence:
        """The divergence itself."""
        return divergence_by_name("logistic")


@dataclass(frozen=True, eq=False, repr=False)
class Bregman(BregmanInfluence):
    """A divergence of your own, from a strictly convex function phi and its gradient.

    Both are checked when they are used, by finite differences and at pairs of points. The functions must treat each
    row by itself. To be pickled with an estimator they must be importable, so no lambdas.

    Parameters
    ----------
    phi
        Maps rows (n, d) to numbers (n,).
    gradient
        Maps rows (n, d) to the gradients (n, d) of phi.
    domain
        Open interval in which every coordinate must lie.
    inverse_gradient
        Maps gradients (n, d) back to rows (n, d). Optional: with fewer clusters than columns it is much faster.
    name
        What messages call it.

    Examples
    --------
    >>> import numpy as np
    >>> from allegiance import Bregman
    >>> def fourth_powers(Y):
    ...     return (Y**4).sum(axis=1)
    >>> def gradient(Y):
    ...     return 4 * Y**3
    >>> quartic = Bregman(fourth_powers, gradient, name="quartic")
    >>> quartic.divergence.between(np.array([[1.0]]), np.array([[0.0], [1.0]]))
    array([[1., 0.]])
    """

    phi: Callable[[FloatArray], FloatArray]
    gradient: Callable[[FloatArray], FloatArray]
    _: KW_ONLY
    domain: tuple[float, float] = (-np.inf, np.inf)
    inverse_gradient: Callable[[FloatArray], FloatArray] | None = None
    name: str = "custom"

    def check(self) -> None:
        """Raise unless phi is convex and the gradients are those of phi."""
        _ = self.divergence

    @property
    def divergence(self) -> BregmanDivergence:
        """The divergence itself."""
        return BregmanDivergence(
            self.phi, self.gradient, domain=self.domain, inverse_gradient=self.inverse_gradient, name=self.name
        )
