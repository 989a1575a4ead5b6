"""Ways to read the paper's definition of affinity, where its text leaves a choice: each gives shares of some rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import nnls

from allegiance import AffinityScorer, affinity
from allegiance.domains import Box, Polytope
from reproduction.datasets import FloatArray, stream
from reproduction.walks import shares_in_ball, widened_box

from ._clustered import Clustered

Reading: TypeAlias = Callable[[Clustered], FloatArray]

#: Of the ball in which walks go, in units of the data's own.
RADIUS = 3.0
#: As in the paper: steps before counting, and counted.
BURN_IN = STEPS = 1000
#: Samples of the box in which territories are counted.
SAMPLES = 50_000
#: Weight of the centers' mean in points moved to the border of their hull.
INSIDE = 1e-6


def measured(**settings: Any) -> Reading:
    """Return the reading that settings of ``affinity`` describe."""

    def shares(case: Clustered) -> FloatArray:
        scorer = AffinityScorer(random_state=case.seed, influence="euclidean", **settings).fit(case.X, case.labels)
        return np.asarray(scorer.transform(case.X[case.rows]))

    return shares


def without_the_point(case: Clustered) -> FloatArray:
    """Take the mean of a point's own cluster without the point; a point without territory goes to the nearest mean.

    Territory is counted in samples of the box, in the span of the means, and belongs to the clusters as they were.
    """
    middle = case.centers.mean(axis=0)
    axes = np.eye(middle.size)
    if len(case.centers) <= middle.size:
        axes = np.linalg.svd(case.centers - middle, full_matrices=False)[2][: len(case.centers) - 1]
    X, sites = case.X @ axes.T, case.centers @ axes.T
    samples = stream(case.seed, 0).uniform(*widened_box(X), (SAMPLES, X.shape[1]))
    squares = np.array([((samples - site) ** 2).sum(axis=1) for site in sites])
    owner = squares.argmin(axis=0)
    nearest_two = np.sort(squares, axis=0)[:2]
    sizes = np.bincount(case.labels)
    shares = np.zeros((case.rows.size, len(sites)))
    for share, row in zip(shares, case.rows, strict=True):
        own, x = case.labels[row], X[row]
        others = np.where(owner == own, nearest_two[1], nearest_two[0])
        if sizes[own] > 1:
            moved = sites[own] + (sites[own] - x) / (sizes[own] - 1)
            others = np.minimum(others, ((samples - moved) ** 2).sum(axis=1))
        stolen = owner[((samples - x) ** 2).sum(axis=1) <= others]
        if not stolen.size:
            stolen = ((sites - x) ** 2).sum(axis=1).argmin()[None]
        share[:] = np.bincount(stolen, minlength=len(sites)) / stolen.size
    return shares


def uncentered(case: Clustered) -> FloatArray:
    """Project on the span of the centers as vectors, as the paper's SVD does: one dimension more than they need."""
    _, sizes, axes = np.linalg.svd(case.centers, full_matrices=False)
    span = axes[sizes > 1e-9 * sizes[0]]
    X, centers = case.X @ span.T, case.centers @ span.T
    region = Polytope.box(*widened_box(X))
    return np.asarray(
        affinity(X[case.rows], centers=centers, domain=region, random_state=case.seed, influence="euclidean").affinity
    )


def in_the_hull(case: Clustered) -> FloatArray:
    """Move every point to the nearest one in the hull of the centers, where its cell is bounded."""
    middle = case.centers.mean(axis=0)
    _, _, axes = np.linalg.svd(case.centers - middle, full_matrices=False)
    sites, rows = (case.centers - middle) @ axes.T, (case.X[case.rows] - middle) @ axes.T
    # Weights that sum to one, by a row that weighs more than all others.
    heavy = 1e4 * np.abs(sites).max()
    system = np.vstack([sites.T, np.full(len(sites), heavy)])
    weights = np.array([nnls(system, np.append(row, heavy))[0] for row in rows])
    weights /= weights.sum(axis=1, keepdims=True)
    # Not quite to the border of the hull, where the cell is not bounded.
    moved = ((1.0 - INSIDE) * weights + INSIDE / len(sites)) @ case.centers
    settings: dict[str, Any] = {"domain": "space", "random_state": case.seed, "influence": "euclidean"}
    return np.asarray(affinity(moved, centers=case.centers, **settings).affinity)


def ball_of_walks(case: Clustered) -> tuple[FloatArray, float]:
    """Return the center and the radius of the ball of three times the data's radius."""
    middle = case.X.mean(axis=0)
    return middle, RADIUS * float(np.sqrt(((case.X - middle) ** 2).sum(axis=1).max()))


def walk(*, one_sided: bool, stream_of: int = 0) -> Reading:
    """Walk in all coordinates, in a ball of three times the data's radius."""

    def shares(case: Clustered) -> FloatArray:
        # The mean of the data is one of the centers', weighted: it lies in their span.
        middle, radius = ball_of_walks(case)
        return shares_in_ball(
            case.centers - middle,
            case.X[case.rows] - middle,
            radius,
            n_steps=STEPS,
            burn_in=BURN_IN,
            one_sided=one_sided,
            rng=stream(case.seed, stream_of),
        )

    return shares


OURS = "box around the data, widened by a tenth (ours)"
HULL = "points moved into the hull of the centers"
#: Ours first. All others differ from it in what they say.
READINGS: dict[str, Reading] = {
    OURS: measured(),
    "box, not widened": measured(domain=Box(0.0)),
    "box, widened by its whole extent": measured(domain=Box(1.0)),
    "ball to the farthest point": measured(domain="ball"),
    "whole space": measured(domain="space"),
    "SVD without centering": uncentered,
    "means without the point": without_the_point,
    "weights by size, |C|/n": measured(weights="size"),
    HULL: in_the_hull,
    "all coordinates, ball of three radii, whole chords": walk(one_sided=False),
    "all coordinates, ball of three radii, one-sided chords": walk(one_sided=True),
}
