"""How many points of an enclosing ball are rejected for each one inside the cell."""

from __future__ import annotations

import numpy as np

from allegiance.geometry import sample_polytope
from reproduction.datasets import FloatArray, stream
from reproduction.framework import Check, Finding, Section, Setup, Table
from reproduction.walks import cell_walls

DIMENSIONS = (2, 5, 10, 15, 20)
CLAIMED = 1000
#: Draws stop at this many kept points, or at this many draws.
_ENOUGH = 200
_MAX_DRAWS = 2_000_000
_BLOCK = 100_000
_BALL_SAMPLES = 2000


def run(setup: Setup) -> Section:
    """Draw from the ball in two to twenty dimensions."""
    rejected = {d: [_rejections(d, seed) for seed in setup.seeds] for d in DIMENSIONS}
    rows = tuple((str(d), _number(np.median(rejected[d])), _number(min(rejected[d]))) for d in DIMENSIONS)
    minimum = min(rejected[20])
    return Section(
        title="Rejection from an enclosing ball",
        method="The paper found that in twenty dimensions over 1,000 points are rejected for each good sample, but "
        "does not say for which diagram. Ours: 2 d sites from a standard normal distribution, a query at their mean, "
        "and the box around the sites. The ball is the smallest around the mean of 2,000 points of the cell that "
        "contains all of them. It is smaller than any ball that contains the cell, so the counts are lower bounds.",
        tables=(Table(("dimensions", "rejected per kept point, median over seeds", "minimum"), rows),),
        findings=(
            Finding(
                "In twenty dimensions more than 1,000 points are rejected for each good one",
                (Check("minimum over draws of the sites", minimum, ">", CLAIMED, ",.0f"),),
                f"median {_number(float(np.median(rejected[20])))} over {setup.n_seeds} draws of the sites",
            ),
        ),
        remarks=(
            f"Counts stop at {_MAX_DRAWS:,} draws: a larger count means that few points or none were kept. With shared "
            "samples, a query receives about one sample in k + 1, in any dimension.",
            "The farthest of 2,000 points sets the radius, and the volume grows with its twentieth power, so these "
            "counts vary: an earlier run on another machine had a median of 2,044 and a minimum of 1,470 in twenty "
            "dimensions.",
        ),
    )


def _rejections(d: int, seed: int) -> float:
    """Return how many points of the ball are rejected for each one kept."""
    rng = stream(seed, d)
    sites = rng.standard_normal((2 * d, d))
    A, b = cell_walls(sites, sites.mean(axis=0), sites.min(axis=0), sites.max(axis=0))
    inside = sample_polytope(A, b, _BALL_SAMPLES, thin=d, random_state=seed)
    center = inside.mean(axis=0)
    radius = float(np.sqrt(((inside - center) ** 2).sum(axis=1).max()))
    kept, n_draws = sample_by_rejection(A, b, center, radius, rng)
    return (n_draws - len(kept)) / max(len(kept), 1)


def sample_by_rejection(
    A: FloatArray, b: FloatArray, center: FloatArray, radius: float, rng: np.random.Generator
) -> tuple[FloatArray, int]:
    """Draw uniform points of a ball and keep those with A z <= b; return these, and how many were drawn."""
    kept: list[FloatArray] = []
    n_draws = 0
    while sum(map(len, kept)) < _ENOUGH and n_draws < _MAX_DRAWS:
        direction = rng.standard_normal((_BLOCK, center.size))
        length = radius * rng.random((_BLOCK, 1)) ** (1.0 / center.size)
        z = center + length * direction / np.linalg.norm(direction, axis=1, keepdims=True)
        kept.append(z[(z @ A.T <= b).all(axis=1)])
        n_draws += _BLOCK
    return np.concatenate(kept), n_draws


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"
