"""Shared samples: uniform samples of the region serve every query."""

from __future__ import annotations

from dataclasses import dataclass

from allegiance._core import check_count

from ._bank_counts import BankCounts
from ._engine import ENGINES, MAX_SAMPLES, Engine, Measurer, Settings
from ._plain_counts import PlainCounts
from ._tessellation import Tessellation

#: With more sites than the first number and up to the second, samples are chosen for each site: with fewer or more,
#: choosing costs more than it saves (docs/decisions/0011-owner-banks.md).
FEW_SITES, MANY_SITES = 16, 128


@ENGINES.register("shared")
@dataclass(frozen=True, eq=False, repr=False)
class SharedSamples(Engine):
    """Uniform samples of the region for all points: the default in more than a few dimensions.

    Parameters
    ----------
    max_samples
        Most samples tested for one point. Points that need more get fewer, a larger ``standard_error`` and one warning.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from allegiance import SharedSamples, affinity
    >>> wine = load_wine()
    >>> result = affinity(wine.data, wine.target, engine=SharedSamples(max_samples=10**7), eps=0.02)
    >>> bool((1.96 * result.standard_error).max() <= 0.02)
    True
    """

    max_samples: int = MAX_SAMPLES

    def check(self) -> None:
        """Raise unless the number of samples is a positive integer."""
        check_count(self.max_samples, "max_samples of SharedSamples")

    def refusal(self, tessellation: Tessellation) -> str | None:
        """Say why there is no uniform sample; None if there is one."""
        if not tessellation.region.bounded:
            return "engine='shared' needs a bounded domain: use domain='box' or 'ball', or engine='auto'."
        return None

    def build(self, tessellation: Tessellation, settings: Settings) -> Measurer:
        """Return what counts."""
        counts = BankCounts if FEW_SITES < tessellation.n_sites <= MANY_SITES else PlainCounts
        return counts(tessellation, settings, self.max_samples)
