"""The density pair: the middle cluster loses influence when the corners grow."""

from __future__ import annotations

import numpy as np

from allegiance import AffinityScorer
from allegiance.displays import AffinityFieldDisplay
from allegiance.domains import Polytope
from allegiance.influence import Weights
from reproduction.datasets import DataSet, load_2d5c
from reproduction.framework import Check, Finding, Picture, Section, Setup, Table, percent_spread

REGION = Polytope.box([-7, -7], [7, 7])
WEIGHTS = {
    "no weights": None,
    "size": Weights("size"),
    "size, scaled": Weights("size", scale="auto"),
    "density, scaled": Weights("density", scale="auto"),
}
#: An area below this share of the other one is clearly smaller, to the eye of a reader of contours.
CLEARLY = 0.9
#: The setting of the pictures.
SHOWN = "size, scaled"


def run(setup: Setup) -> Section:
    """Compare unstable points and area of both datasets with and without weights."""
    shares = {
        name: np.array([[_shares(n, seed, weights) for n in (500, 2100)] for seed in setup.seeds])
        for name, weights in WEIGHTS.items()
    }
    rows = tuple(
        (name, *(percent_spread(values[:, which, what]) for what in (0, 1) for which in (0, 1)))
        for name, values in shares.items()
    )
    points, area = (shares["size"][:, :, what].mean(axis=0) for what in (0, 1))
    return Section(
        title="The density pair",
        method="The paper compares the contours of 2D5C-500 with those of 2D5C-2100, whose four corners have 500 "
        "points each, in a power diagram weighted by size, and sees fewer unstable regions in the denser one. We "
        "measure the share of unstable points, and of unstable area in the square from -5 to 5. Weights are |C|/n as "
        "in the paper, or scaled by the mean squared distance within clusters, so that they do not depend on units. "
        "The region is the same for all.",
        pictures=tuple(_picture(setup, data) for data in (load_2d5c(500), load_2d5c(2100))),
        tables=(Table(("weights", "points, 500", "points, 2100", "area, 500", "area, 2100"), rows, "Unstable shares"),),
        findings=(
            Finding(
                "With dense corners a smaller share of points is unstable (weights by size)",
                (Check("unstable share of 2100 over that of 500:", points[1] / points[0], "<", 1.0, ".2f"),),
                f"{points[0]:.1%} of 500, {points[1]:.1%} of 2100",
            ),
            Finding(
                "With dense corners a clearly smaller area is unstable (weights by size)",
                (Check("unstable area of 2100 over that of 500:", area[1] / area[0], "<", CLEARLY, ".2f"),),
                f"{area[0]:.1%} and {area[1]:.1%} of the square",
            ),
        ),
        remarks=(
            "The share of unstable points falls without weights too: fewer of the points lie near the middle. The "
            "area does not depend on the positions of the points, so it shows the effect of the weights alone.",
        ),
    )


def _shares(n_points: int, seed: int, weights: Weights | None) -> tuple[float, float]:
    """Return the unstable shares of points and of area."""
    points = load_2d5c(n_points, random_state=seed)
    axis = np.linspace(-5, 5, 101)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    scorer = _scorer(points, weights)
    return 1.0 - float(scorer.affinity(points.X).stable.mean()), 1.0 - float(scorer.affinity(grid).stable.mean())


def _scorer(data: DataSet, weights: Weights | None) -> AffinityScorer:
    scorer = AffinityScorer(domain=REGION, weights=weights, random_state=0, influence="euclidean")
    return scorer.fit(data.X, data.reference)


def _picture(setup: Setup, data: DataSet) -> Picture:
    display = AffinityFieldDisplay(_scorer(data, WEIGHTS[SHOWN]), data.X, labels=data.reference).plot(point_kw={"s": 6})
    file = setup.save(display.figure_, f"density_{data.X.shape[0]}")
    return Picture(file, f"{data.name}, weighted by size (scaled): contours of the largest affinity")
