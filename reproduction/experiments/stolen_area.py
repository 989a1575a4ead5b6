"""What one point steals from three cells, and the same territory sampled by hit-and-run."""

from __future__ import annotations

import numpy as np

from allegiance import AffinityScorer
from allegiance.domains import Polytope
from reproduction.figures import draw_stolen_area
from reproduction.framework import Check, Finding, Picture, Section, Setup

SITES = np.array([[2.0, 2.0], [8.0, 3.0], [4.5, 8.0]])
QUERY = np.array([4.6, 4.2])
CORNERS = ([0, 0], [10, 10])
REGION = Polytope.box(*CORNERS)


def example() -> AffinityScorer:
    """Return a scorer with three clusters in a square, measured exactly."""
    scorer = AffinityScorer(centers=SITES, domain=REGION, engine="exact", random_state=0, influence="euclidean")
    return scorer.fit(SITES)


def run(setup: Setup) -> Section:
    """Draw the territory of one point, and check its shares by counting places of a grid."""
    scorer = example()
    shares = scorer.transform(QUERY[None])[0]
    axes = draw_stolen_area(QUERY, shares, scorer.classes_, SITES, *CORNERS)
    counted = _counted_on_a_grid()
    difference = float(np.abs(shares - counted).max())
    return Section(
        title="Stolen area",
        method="The paper's figure shows a point that takes area from the Voronoi cells of three clusters, without "
        "coordinates. Ours are three centers and one point in a square.",
        pictures=(
            Picture(
                setup.save(axes.figure, "stolen_area"),
                "The territory of one point; its parts from the three cells are "
                + ", ".join(f"{share:.1%}" for share in shares),
            ),
        ),
        findings=(
            Finding(
                "Affinities are the shares of stolen area",
                (Check("largest difference", difference, "<", 2e-3, ".0e"),),
                "compared with counts on a grid of 1,000 x 1,000 places",
            ),
        ),
    )


def _counted_on_a_grid() -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    axis = (np.arange(1000) + 0.5) / 100.0
    places = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    distance = ((places[:, None, :] - SITES) ** 2).sum(axis=2)
    stolen = ((places - QUERY) ** 2).sum(axis=1) < distance.min(axis=1)
    owners = distance[stolen].argmin(axis=1)
    return np.bincount(owners, minlength=len(SITES)) / owners.size
