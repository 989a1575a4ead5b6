"""Affinities against ratios of distances: equal on a line, a power of them in space."""

from __future__ import annotations

import numpy as np

from allegiance import AffinityScorer
from reproduction.datasets import FloatArray, stream
from reproduction.framework import Check, Finding, Section, Setup, Table, spread

DIMENSIONS = (1, 2, 3, 4)
N_SITES = 40
N_QUERIES = 2000
#: Draws of the sites, each with its share of the queries: one draw has few cells near the middle.
N_DRAWS = 10
#: The slope of log affinities over log distances is called proportional to d if slope / d stays in this range.
PROPORTIONAL = (0.75, 1.33)


def run(setup: Setup) -> Section:
    """Compare the two strongest clusters of random points in one to four dimensions."""
    on_line = max(_line_error(seed) for seed in setup.seeds)
    slopes = {d: np.array([_slope(d, seed) for seed in setup.seeds]) for d in DIMENSIONS}
    relative = [float(slopes[d].mean()) / d for d in DIMENSIONS]
    listed = ", ".join(f"{slopes[d].mean():.2f}" for d in DIMENSIONS)
    return Section(
        title="Ratios of distances and of volumes",
        method="The paper says that on a line affinities equal ratios of distances, and that in d dimensions ratios "
        "of distances behave like ratios of volumes to the power 1/d. We take 40 sites, uniform in the unit cube, "
        "2,000 queries in its middle, and the exact affinities without a box. On a line the affinity to the left "
        "neighbor is compared with the distance to the right one over the distance between the two. In d dimensions "
        "we fit log(affinity to the nearest site / to the second) = s log(distance to the second / to the nearest): "
        "the paper's sentence says s = d.",
        tables=(
            Table(
                ("dimensions d", "slope s", "s / d"),
                tuple((str(d), spread(slopes[d]), f"{slopes[d].mean() / d:.2f}") for d in DIMENSIONS),
            ),
        ),
        findings=(
            Finding(
                "On a line affinities equal ratios of distances",
                (Check("largest difference", on_line, "<", 1e-9, ".0e"),),
                f"{N_SITES} sites, {N_QUERIES:,} queries, {setup.n_seeds} seeds",
            ),
            Finding(
                "Ratios of distances behave like ratios of volumes to the power 1/d",
                (
                    Check("minimum of s / d", min(relative), ">=", PROPORTIONAL[0], ".2f"),
                    Check("maximum of s / d", max(relative), "<=", PROPORTIONAL[1], ".2f"),
                ),
                f"slopes {listed} in {DIMENSIONS[0]} to {DIMENSIONS[-1]} dimensions; proportionality needs d",
            ),
        ),
        remarks=(
            "The paper offers the power 1/d as a rule of thumb. Volumes do vary more than distances, but the power "
            "grows more slowly than d.",
        ),
    )


def _line_error(seed: int) -> float:
    rng = stream(seed, 0)
    sites = np.sort(rng.random(N_SITES))
    x = rng.uniform(sites[0], sites[-1], N_QUERIES)
    right = np.clip(np.searchsorted(sites, x), 1, N_SITES - 1)
    ratio = (sites[right] - x) / (sites[right] - sites[right - 1])
    return float(np.abs(_affinity(sites[:, None], x[:, None])[np.arange(N_QUERIES), right - 1] - ratio).max())


def _slope(d: int, seed: int) -> float:
    """Fit the power over many draws of the sites, with queries from the middle, where the hull contains them."""
    rng = stream(seed, d)
    draws = [(rng.random((N_SITES, d)), rng.uniform(0.4, 0.6, (N_QUERIES // N_DRAWS, d))) for _ in range(N_DRAWS)]
    distances, affinities = np.vstack([_log_ratios(*draw) for draw in draws]).T
    return float(np.polyfit(distances, affinities, 1)[0])


def _log_ratios(sites: FloatArray, x: FloatArray) -> FloatArray:
    """Return log ratios (m, 2) of distances and of affinities for the two nearest sites of each query."""
    distance = np.sqrt(((x[:, None, :] - sites) ** 2).sum(axis=2))
    nearest = np.argsort(distance, axis=1)[:, :2]
    shares = np.take_along_axis(_affinity(sites, x), nearest, axis=1)
    both = (shares > 0).all(axis=1)
    first, second = np.take_along_axis(distance, nearest, axis=1)[both].T
    return np.column_stack([np.log(second / first), np.log(shares[both, 0] / shares[both, 1])])


def _affinity(sites: FloatArray, x: FloatArray) -> FloatArray:
    scorer = AffinityScorer(centers=sites, domain="space", random_state=0, influence="euclidean")
    return scorer.fit(x).transform(x)
