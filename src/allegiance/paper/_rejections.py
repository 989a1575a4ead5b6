"""How many points of an enclosing ball are rejected for each one inside the cell."""

from __future__ import annotations

import numpy as np

from allegiance import sample_polytope
from allegiance._core import FloatArray, stream

from ._section import Finding, Section, Table
from ._setup import Setup

DIMENSIONS = (2, 5, 10, 15, 20)
CLAIMED = 1000
#: Draws stop at this many kept points, or at this many draws.
_KEPT = 200
_DRAWN = 2_000_000
_BLOCK = 100_000
_BALL_SAMPLES = 2000


def run(setup: Setup) -> Section:
    """Draw from the ball in two to twenty dimensions."""
    rejected = {d: [_rejections(d, seed) for seed in setup.seeds] for d in DIMENSIONS}
    rows = tuple((str(d), _number(np.median(rejected[d])), _number(min(rejected[d]))) for d in DIMENSIONS)
    least = min(rejected[20])
    return Section(
        title="Rejection from an enclosing ball",
        asks="The paper found that in twenty dimensions over 1,000 points are rejected for each good sample, "
        "without saying of which diagram. Ours: 2 d sites from a standard normal distribution, a query at their "
        "mean, and the box around the sites. The ball is the smallest around the mean of 2,000 points of the cell "
        "that contains them all: smaller than any ball that contains the cell, so that the counts are lower bounds.",
        tables=(Table(("dimensions", "rejected per kept point, median over seeds", "least"), rows),),
        findings=(
            Finding(
                "In twenty dimensions more than 1,000 points are rejected for each good one",
                least > CLAIMED,
                f"at least {_number(least)} in each of {setup.n_seeds} draws of the sites",
            ),
        ),
        remarks=(
            f"Counts stop at {_DRAWN:,} draws: a larger one means that none or few points were kept. By shared "
            "samples a query gets about one in k + 1, in any dimension.",
        ),
    )


def _rejections(d: int, seed: int) -> float:
    """Return how many points of the ball are rejected for each one kept."""
    rng = stream(seed, d)
    sites = rng.standard_normal((2 * d, d))
    A, b = _cell(sites, sites.mean(axis=0))
    inside = sample_polytope(A, b, _BALL_SAMPLES, thin=d, random_state=seed)
    center = inside.mean(axis=0)
    radius = float(np.sqrt(((inside - center) ** 2).sum(axis=1).max()))
    kept = drawn = 0
    while kept < _KEPT and drawn < _DRAWN:
        direction = rng.standard_normal((_BLOCK, d))
        length = radius * rng.random((_BLOCK, 1)) ** (1.0 / d)
        z = center + length * direction / np.linalg.norm(direction, axis=1, keepdims=True)
        kept += int((z @ A.T <= b).all(axis=1).sum())
        drawn += _BLOCK
    return (drawn - kept) / max(kept, 1)


def _cell(sites: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the half-spaces of the cell of ``x`` among the sites, inside the box around the sites."""
    eye = np.eye(x.size)
    A = np.vstack([2.0 * (sites - x), eye, -eye])
    return A, np.concatenate([(sites**2).sum(axis=1) - x @ x, sites.max(axis=0), -sites.min(axis=0)])


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"
