"""The five clusters, their contour map and their heat map."""

from __future__ import annotations

import numpy as np

from allegiance import AffinityScorer
from allegiance.displays import AffinityFieldDisplay
from reproduction.datasets import FloatArray, load_2d5c
from reproduction.figures import draw_diagram
from reproduction.framework import Check, Finding, Picture, Section, Setup


def run(setup: Setup) -> Section:
    """Draw the data and the two maps."""
    data = load_2d5c(500)
    scorer = AffinityScorer(random_state=0, influence="euclidean").fit(data.X, data.reference)
    lower, upper = data.X.min(axis=0) - 0.5, data.X.max(axis=0) + 0.5
    sites = scorer.cluster_centers_
    points = draw_diagram(sites, np.zeros(len(sites)), lower, upper, X=data.X, labels=data.reference)
    contour = AffinityFieldDisplay(scorer, data.X, labels=data.reference).plot(kind="contour")
    heat = AffinityFieldDisplay(scorer, data.X, labels=data.reference).plot(kind="heat", show_points=False)
    at_centers = scorer.affinity(scorer.cluster_centers_).affinity.max(axis=1)
    corners = scorer.cluster_centers_[1:]
    between = scorer.affinity((corners + scorer.cluster_centers_[0]) / 2.0).affinity.max(axis=1)
    difference = at_centers.min() - between.max()
    return Section(
        title="Five clusters, a contour map and a heat map",
        method="The paper draws 2D5C-500, contours of equal affinity, and a gray map in which lower affinity is "
        "brighter. The generator of the data is ours: standard normal clusters around (0, 0) and (±3, ±3).",
        pictures=(
            Picture(setup.save(points.figure, "five_clusters"), "2D5C-500 and its Voronoi cells"),
            Picture(
                setup.save(contour.figure_, "contour_map"),
                "Contours of the largest affinity; the line of 1/2 bounds the unstable region",
            ),
            Picture(setup.save(heat.figure_, "heat_map"), "The same in gray: brighter means lower affinity"),
        ),
        findings=(
            Finding(
                "Affinity is highest at the centers and low between clusters",
                (Check("minimum at centers minus maximum between:", difference, ">", 0.0, ".2f"),),
                f"the largest affinity at the five centers is {_range(at_centers)}, halfway from the corners to the "
                f"middle {_range(between)}",
            ),
        ),
    )


def _range(shares: FloatArray) -> str:
    low, high = f"{shares.min():.2f}", f"{shares.max():.2f}"
    return low if low == high else f"{low} to {high}"
