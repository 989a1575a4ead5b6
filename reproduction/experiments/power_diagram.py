"""The power diagram of weighted sites."""

from __future__ import annotations

from allegiance import AffinityScorer
from allegiance.domains import Polytope
from reproduction.datasets import stream
from reproduction.figures import draw_diagram
from reproduction.framework import Check, Finding, Picture, Section, Setup

N_SITES = 12
#: Places at which the owner is compared with the definition.
N_PLACES = 10_000


def run(setup: Setup) -> Section:
    """Draw random sites with random weights, and compare owners with the definition."""
    rng = stream(0)
    sites = rng.uniform(0.0, 10.0, (N_SITES, 2))
    weights = rng.uniform(0.0, 4.0, N_SITES)
    scorer = AffinityScorer(
        centers=sites, weights=weights, domain=Polytope.box([-1, -1], [11, 11]), random_state=0, influence="euclidean"
    )
    scorer.fit(sites)
    axes = draw_diagram(sites, weights, [-1, -1], [11, 11])
    places = rng.uniform(-1.0, 11.0, (N_PLACES, 2))
    power = ((places[:, None, :] - sites) ** 2).sum(axis=2) - weights
    wrong = int((scorer.predict(places) != power.argmin(axis=1)).sum())
    return Section(
        title="A power diagram",
        method="The paper's figure shows the power diagram of some points with circles for their weights, without "
        "coordinates. Ours: 12 uniform sites with uniform weights; a circle has radius √w.",
        pictures=(Picture(setup.save(axes.figure, "power_diagram"), "A power diagram; circles have radius √w"),),
        findings=(
            Finding(
                "Cells of the power diagram are where |y - c|² - w is smallest",
                (Check("places with another owner", wrong, "<=", 0, ".0f"),),
                f"{N_PLACES:,} random places compared with the definition",
            ),
        ),
    )
