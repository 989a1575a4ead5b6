"""How influence falls off around a cluster: from the user's parameters to a diagram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from allegiance._core._rows import is_sparse
from allegiance._core._typing import AnyArray, FloatArray, Rows
from allegiance._core._validation import Membership, check_choice, check_count, check_number
from allegiance.engines import Settings
from allegiance.influence import (
    BregmanDiagram,
    BregmanDivergence,
    Diagram,
    Embedding,
    FeatureEmbedding,
    LinearEmbedding,
    Located,
    PowerDiagram,
    embed_clusters,
)

from ._divergence import check_rows_inside
from ._feature_maps import APPROXIMATIONS, KERNELS, feature_map
from ._generators import divergence_by_name
from ._weights import WEIGHTS, SpreadSums
from ._whitening import SHRINKAGES, whitening_of, within_covariance

LINEAR = ("euclidean", "mahalanobis", "within")
BREGMAN = ("kl", "itakura-saito", "logistic", "exponential")
#: Divergences on positive numbers, for which adding a constant makes room for zeros.
SMOOTHED = ("kl", "itakura-saito")
WITHIN_NEEDS_LABELS = "divergence='within' needs labels, to know which points vary around which centre."


@dataclass(frozen=True)
class Influence:
    """The parameters of :class:`AffinityScorer` that say what closeness means."""

    divergence: Any
    covariance: Any
    shrinkage: str
    smoothing: float
    kernel: Any
    kernel_params: dict[str, Any] | None
    kernel_approximation: str | None
    n_components: int
    weights: Any
    query_weight: float | None
    weight_scale: float | str

    def check(self) -> None:
        """Raise unless the parameters make sense by themselves and together."""
        if not isinstance(self.divergence, BregmanDivergence):
            check_choice(self.divergence, "divergence", LINEAR + BREGMAN)
        check_choice(self.shrinkage, "shrinkage", SHRINKAGES)
        smoothing = check_number(self.smoothing, "smoothing", low=0.0, closed=True)
        if smoothing and self.divergence not in SMOOTHED:
            raise ValueError(f"smoothing is for divergence {' or '.join(SMOOTHED)}, not {self.divergence!r}.")
        if (self.covariance is None) == (self.divergence == "mahalanobis"):
            raise ValueError("covariance must be given with divergence='mahalanobis', and only then.")
        self._check_kernel()
        self._check_weights()

    def _check_kernel(self) -> None:
        check_choice(self.kernel_approximation, "kernel_approximation", (None, *APPROXIMATIONS))
        check_count(self.n_components, "n_components")
        if self.kernel is None:
            if self.kernel_params is not None or self.kernel_approximation is not None:
                raise ValueError("kernel_params and kernel_approximation need a kernel, such as kernel='rbf'.")
            return
        if not callable(self.kernel):
            check_choice(self.kernel, "kernel", KERNELS)
        if self.divergence != "euclidean":
            raise ValueError(
                f"kernel measures Euclidean distance in its own space: leave divergence at 'euclidean', not "
                f"{self.divergence!r}."
            )
        if not isinstance(self.kernel_params, (dict, type(None))):
            raise TypeError(f"kernel_params must be a dict, got {type(self.kernel_params).__name__}.")

    def _check_weights(self) -> None:
        if isinstance(self.weights, str):
            check_choice(self.weights, "weights", WEIGHTS)
        if isinstance(self.weight_scale, str):
            check_choice(self.weight_scale, "weight_scale", ("auto",))
        else:
            check_number(self.weight_scale, "weight_scale", low=0.0)
        if self.query_weight is not None:
            check_number(self.query_weight, "query_weight", low=-np.inf)
            if self.weights is None:
                raise ValueError("query_weight needs weights: without them all clusters and points weigh the same.")

    @property
    def _bregman(self) -> BregmanDivergence | None:
        if isinstance(self.divergence, BregmanDivergence):
            return self.divergence
        return divergence_by_name(self.divergence) if self.divergence in BREGMAN else None

    def prepare(self, X: Rows, argument: str = "X") -> Rows:
        """Return rows as the divergence needs them: smoothed, and inside its domain."""
        bregman = self._bregman
        if bregman is None:
            return X
        if is_sparse(X):
            raise TypeError(f"X is sparse, but divergence {bregman.name!r} needs dense X: call X.toarray() first.")
        if self.smoothing:
            X = X + self.smoothing
        check_rows_inside(X, bregman, argument)
        return X

    def fit(
        self, X: Rows, members: Membership | None, sites: FloatArray | None, settings: Settings, *, keep_axes: bool
    ) -> tuple[Diagram, Located]:
        """Return the diagram, without weights, and where the points of the fit are in it.

        Parameters
        ----------
        X
            (n, d) prepared rows of the fit.
        members
            Their clusters; None if only ``sites`` are known.
        sites
            (k, d) representatives; None for kernels, which know only their members.
        settings
            For the seed of random feature maps, and the threads.
        keep_axes
            Whether volume must be measured in the user's axes.
        """
        if self.kernel is not None:
            assert members is not None
            embedding, located = self._kernel_embedding(X, members, settings)
            return PowerDiagram(embedding), located
        assert sites is not None
        covariance = None
        if self.is_within:
            if members is None:
                raise ValueError(WITHIN_NEEDS_LABELS)
            covariance = within_covariance(X, members.codes, sites, self.shrinkage)
        diagram = self.diagram_of(sites, covariance, keep_axes=keep_axes)
        return diagram, diagram.locate(X, settings.threads)

    @property
    def is_within(self) -> bool:
        """Whether the covariance of the clusters themselves says what closeness means."""
        return isinstance(self.divergence, str) and self.divergence == "within"

    def diagram_of(self, sites: FloatArray, covariance: FloatArray | None, *, keep_axes: bool) -> Diagram:
        """Return the diagram of ``sites`` (k, d), without weights; for "within", given the covariance (d, d)."""
        bregman = self._bregman
        if bregman is not None:
            return BregmanDiagram.of_sites(sites, bregman, keep_axes=keep_axes)
        whitening = None
        if self.divergence != "euclidean":
            whitening = whitening_of(covariance if self.is_within else self.covariance, sites.shape[1])
        return PowerDiagram(LinearEmbedding.of_sites(sites, keep_axes=keep_axes, whitening=whitening))

    def _kernel_embedding(self, X: Rows, members: Membership, settings: Settings) -> tuple[Embedding, Located]:
        params = self.kernel_params or {}
        k = members.classes.size
        if self.kernel_approximation is None:
            return embed_clusters(X, members.codes, k, self.kernel, params, settings.threads)
        lift = feature_map(self.kernel_approximation, self.kernel, params, self.n_components, settings.seed, X)
        embedding = FeatureEmbedding.of_clusters(X, members.codes, k, lift)
        return embedding, embedding.locate(X, settings.threads)

    def weighted(self, diagram: Diagram, located: Located, codes: AnyArray) -> Diagram:
        """Return the diagram with the weights asked for, given where the points of the fit are."""
        if self.weights is None:
            return diagram
        return self.weighted_by(diagram, spread_sums(diagram, located, codes))

    def weighted_by(self, diagram: Diagram, sums: SpreadSums) -> Diagram:
        """Return the diagram with the weights asked for, given sums over the points of the fit."""
        dim = diagram.positions.shape[1]
        weights = sums.weights(self.weights, self.query_weight, self.weight_scale, dim)
        return diagram.weighted(weights.sites, weights.query)

    def describe(self) -> str:
        """Say in a few words what closeness means."""
        if self.kernel is not None:
            name = self.kernel if isinstance(self.kernel, str) else getattr(self.kernel, "__name__", "callable")
            approximation = f", {self.kernel_approximation} ({self.n_components})" if self.kernel_approximation else ""
            words = f"kernel {name}{approximation}"
        else:
            words = self.divergence if isinstance(self.divergence, str) else self.divergence.name
        if self.weights is None:
            return str(words)
        return f"{words}, weights {self.weights if isinstance(self.weights, str) else 'given'}"


def spread_sums(diagram: Diagram, located: Located, codes: AnyArray) -> SpreadSums:
    """Sum the divergences of points from the sites with their ``codes`` (n,), -1 for noise."""
    # Noise belongs to no cluster; its spread is computed against any site and then left out.
    spread = diagram.divergences(located, np.maximum(codes, 0))
    return SpreadSums.of(codes, spread, diagram.positions.shape[0])
