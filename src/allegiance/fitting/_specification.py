"""The parameters of a scorer, checked and with every name turned into its object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from allegiance._core import check_choice, check_jobs, check_number, effective_threads, resolve_seed
from allegiance.calibration import Calibration
from allegiance.domains import DOMAINS, Domain
from allegiance.engines import ENGINES, LEAST_EPS, Engine, Settings
from allegiance.influence import INFLUENCES, Influence, Weights

from ._clusterer import check_clusterer
from ._representatives import REPRESENTATIVES


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
            eps=check_number(scorer.eps, "eps", low=LEAST_EPS, high=1.0, closed=True),
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

    def _check_representative(self) -> None:
        """Raise where what stands for a cluster is not up to the user."""
        if not self.influence.has_sites and (self.centers is not None or self.representative != "mean"):
            raise ValueError(
                f"influence={self.influence!r} represents clusters by their means in its own space: leave out centers "
                "and representative."
            )

    def describe_influence(self) -> str:
        """Say in a few words what closeness means, weights included."""
        words = self.influence.describe()
        return words if self.weights is None else f"{words}, {self.weights.describe()}"
