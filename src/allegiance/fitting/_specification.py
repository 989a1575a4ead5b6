"""The parameters of a scorer, checked and with every name turned into its object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from allegiance._core import check_choice, check_jobs, check_number, effective_threads, resolve_seed
from allegiance.calibration import Calibration
from allegiance.domains import DOMAINS, Domain
from allegiance.engines import ENGINES, LEAST_EPS, UNDECIDED_EPS, VERDICT, Engine, Settings
from allegiance.influence import INFLUENCES, Influence, Weights

from ._clusterer import check_clusterer
from ._representatives import REPRESENTATIVES, WITHOUT_POINT


@dataclass(frozen=True, eq=False)
class Specification:
    """What a fit is asked for."""

    influence: Influence
    weights: Weights | None
    representative: str
    domain: Domain
    engine: Engine
    settings: Settings
    calibration: Calibration | None
    centers: Any
    """(k, d) representatives of the user's own, not checked; None to compute them."""

    @classmethod
    def of(cls, scorer: Any) -> Specification:
        """Check the parameters of a scorer that can be checked without data."""
        if scorer.estimator is not None:
            check_clusterer(scorer.estimator)
        check_choice(scorer.representative, "representative", REPRESENTATIVES)
        settings = Settings(
            eps=_checked_eps(scorer.eps),
            verdict=isinstance(scorer.eps, str),
            seed=resolve_seed(scorer.random_state),
            threads=effective_threads(check_jobs(scorer.n_jobs)),
            verbose=scorer.verbose,
        )
        specification = cls(
            influence=INFLUENCES.resolve(scorer.influence),
            weights=Weights.resolve(scorer.weights),
            representative=scorer.representative,
            domain=DOMAINS.resolve(scorer.domain),
            engine=ENGINES.resolve(scorer.engine),
            settings=settings,
            calibration=Calibration.resolve(scorer.calibration),
            centers=scorer.centers,
        )
        specification.domain.check_with(specification.influence)
        specification._check_representative()
        return specification

    @property
    def moves_means(self) -> bool:
        """Whether each point of the fit moves the mean of its own cluster."""
        return self.representative == WITHOUT_POINT

    def _check_representative(self) -> None:
        """Raise where what stands for a cluster is not up to the user."""
        by_means = self.moves_means or self.representative == "mean"
        if not self.influence.has_sites and (self.centers is not None or not by_means):
            raise ValueError(
                f"influence={self.influence!r} represents clusters by their means in its own space: leave out centers "
                "and representative."
            )
        if self.moves_means and self.centers is not None:
            raise ValueError(
                f"representative={self.representative!r} recomputes the mean of a cluster without one of its points: "
                "leave out centers."
            )
        if self.moves_means and self.weights is not None:
            raise ValueError(
                f"representative={self.representative!r} would change the weights with every point: use weights=None."
            )

    def describe_influence(self) -> str:
        """Say in a few words what closeness means, weights included."""
        words = self.influence.describe()
        return words if self.weights is None else f"{words}, {self.weights.describe()}"


def _checked_eps(eps: Any) -> float:
    """Return the half-width that an undecided point must reach."""
    if isinstance(eps, str):
        if eps != VERDICT:
            raise ValueError(f"eps must be a number or {VERDICT!r}, got {eps!r}.")
        return UNDECIDED_EPS
    return check_number(eps, "eps", low=LEAST_EPS, high=1.0, closed=True)
