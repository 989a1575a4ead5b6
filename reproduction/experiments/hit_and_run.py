"""Hit-and-run in the cell of one point."""

from __future__ import annotations

import numpy as np

from allegiance.geometry import sample_polytope
from reproduction.figures import COLORS, draw_diagram
from reproduction.framework import Check, Finding, Picture, Section, Setup
from reproduction.walks import cell_walls

from .stolen_area import CORNERS, QUERY, SITES, example

N_SAMPLES = 1000
#: Three standard deviations of a share near 1/2, doubled, since samples of a walk depend on each other.
TOLERANCE = 0.1


def run(setup: Setup) -> Section:
    """Draw samples, and compare the shares of their owners with the exact ones."""
    samples = sample_polytope(*cell_walls(SITES, QUERY, *CORNERS), N_SAMPLES, random_state=0)
    owners = ((samples[:, None, :] - SITES) ** 2).sum(axis=2).argmin(axis=1)
    sampled = np.bincount(owners, minlength=len(SITES)) / N_SAMPLES
    difference = float(np.abs(sampled - example().transform(QUERY[None])[0]).max())
    axes = draw_diagram(SITES, np.zeros(len(SITES)), *CORNERS)
    axes.scatter(*samples.T, s=5, color=np.array(COLORS)[owners], zorder=3)
    axes.scatter(*QUERY, marker="*", s=130, color="black", zorder=6)
    return Section(
        title="Hit-and-run samples",
        method="The paper's figure shows samples of a Voronoi cell. Ours are 1,000 samples of the cell in the "
        "previous section.",
        pictures=(
            Picture(setup.save(axes.figure, "hit_and_run"), "1,000 steps of hit-and-run in the territory of one point"),
        ),
        findings=(
            Finding(
                "Owners of the samples have the shares of the areas",
                (Check("largest difference", difference, "<", TOLERANCE, ".3f"),),
                f"the owners of {N_SAMPLES:,} samples against the exact areas",
            ),
        ),
    )
