"""Distance in the feature space of a kernel."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from allegiance._core import AnyArray, FloatArray, Rows, check_choice, dense, is_sparse

from ._diagram import Diagram, Located
from ._embedding import Embedding, LinearEmbedding
from ._feature_maps import Approximation, FeatureEmbedding
from ._influence import INFLUENCES, Influence, Training
from ._kernel_means import KernelEmbedding
from ._kernel_values import PARAMETERS, KernelFunction, SettledKernel, row_blocks
from ._power_diagram import PowerDiagram


@dataclass(frozen=True, eq=False, repr=False)
class Kernel(Influence):
    """Distance in the feature space of a kernel, where clusters are represented by their means: for curved clusters.

    Parameters
    ----------
    name
        "linear", "rbf", "polynomial", "laplacian", "cosine", "precomputed" (X is then the matrix of kernel values, and
        new rows hold kernel values against the points of the fit), or a function k(X, Y) -> (n, m).
    gamma
        For "rbf", "polynomial" and "laplacian". By default 1 over the total variance of X, for "laplacian" 1 over the
        sum of the columns' standard deviations.
    degree, coef0
        For "polynomial"; by default 3 and 1.
    approximation
        None for exact sums of kernel values, or ``Nystroem``, ``Fourier``, ``Hashing``: a map to finitely many
        features, for large n.

    Examples
    --------
    >>> from allegiance import Kernel, Nystroem
    >>> Kernel("rbf", gamma=0.5, approximation=Nystroem(200))
    Kernel('rbf', gamma=0.5, approximation=Nystroem(n_components=200))
    """

    name: str | KernelFunction
    _: KW_ONLY
    gamma: float | None = None
    degree: int | None = None
    coef0: float | None = None
    approximation: Approximation | None = None

    has_sites: ClassVar[bool] = False
    flat_sides: ClassVar[bool] = False

    @classmethod
    def resolve(cls, value: Any) -> Kernel:
        """Return what a user means by the name of a kernel, a function, or an object, checked."""
        kernel = value if isinstance(value, Kernel) else cls(value)
        kernel.check()
        return kernel

    def check(self) -> None:
        """Raise unless the kernel is known, and takes the parameters and the approximation given."""
        given = {name for name in ("gamma", "degree", "coef0") if getattr(self, name) is not None}
        if callable(self.name):
            if given:
                raise ValueError(
                    f"Kernel of a function takes no {', '.join(sorted(given))}: fix the function's own parameters with "
                    "functools.partial."
                )
        else:
            check_choice(self.name, "kernel", tuple(PARAMETERS))
            if unknown := given - set(PARAMETERS[self.name]):
                takes = ", ".join(PARAMETERS[self.name]) or "no parameters"
                raise ValueError(f"Kernel({self.name!r}) got {', '.join(sorted(unknown))}, but takes {takes}.")
        if self.approximation is not None:
            if not isinstance(self.approximation, Approximation):
                raise TypeError(
                    f"approximation of Kernel must be Nystroem(), Fourier() or Hashing(), got {self.approximation!r}."
                )
            self.approximation.check()
            if refusal := self.approximation.refusal(self.name):
                raise ValueError(refusal)

    @property
    def takes_points(self) -> bool:
        """Whether any place of the space of X can be scored."""
        return self.name != "precomputed"

    def settle(self, X: Rows, weights: FloatArray | None = None) -> SettledKernel:
        """Return the kernel with parameters that are missing chosen by the data X (n, d), with weights (n,) if any."""
        params = {name: getattr(self, name) for name in ("gamma", "degree", "coef0")}
        return SettledKernel.of(self.name, {k: v for k, v in params.items() if v is not None}, X, weights)

    def diagram(self, training: Training, *, keep_axes: bool) -> tuple[Diagram, Located | None]:
        """Return the Voronoi diagram of the means in feature space, and where the rows are."""
        X, codes = training.in_memory("influence=Kernel")
        kernel = self.settle(X)
        embedding: Embedding
        if self.approximation is None and self.name == "linear":
            # Its feature space is the user's own, where a box keeps the user's axes.
            means = _cluster_means(X, codes, training.n_clusters, kernel.shift)
            return PowerDiagram(LinearEmbedding.of_sites(means)), None
        if self.approximation is None:
            embedding, located = KernelEmbedding.fit_locate(X, codes, training.n_clusters, kernel, training.threads)
            return PowerDiagram(embedding), located
        transformer = self.approximation.fit(kernel, training.seed, X)
        embedding = FeatureEmbedding.of_clusters(X, codes, training.n_clusters, transformer)
        return PowerDiagram(embedding), None

    def describe(self) -> str:
        """Say in a few words what closeness means."""
        name = self.name if isinstance(self.name, str) else getattr(self.name, "__name__", "callable")
        return f"kernel {name}" if self.approximation is None else f"kernel {name}, {self.approximation!r}"


def _cluster_means(X: Rows, codes: AnyArray, n_clusters: int, shift: FloatArray | None) -> FloatArray:
    """Return the mean (k, d) of each cluster, summed around ``shift`` (d,) so that a common offset rounds nothing."""
    origin = np.zeros(X.shape[1]) if shift is None else shift
    sums = np.zeros((n_clusters, X.shape[1]))
    for part in row_blocks(slice(0, X.shape[0])):
        member = (codes[part] == np.arange(n_clusters)[:, None]).astype(np.float64)
        sums += dense(member @ X[part]) if is_sparse(X) else member @ (dense(X[part]) - origin)
    sizes = np.bincount(codes[codes >= 0], minlength=n_clusters)
    return sums / sizes[:, None] + (0.0 if is_sparse(X) else origin)


for _name in PARAMETERS:
    if _name != "cosine":  # the name means the distance itself, which needs no kernel
        INFLUENCES.add(_name, partial(Kernel, _name))
