"""Figures of the paper that show cells: a power diagram, the territory of one point, and samples of it.

Two features and Euclidean distance only, where cells are polygons that can be cut exactly.
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from allegiance.geometry import sample_polytope
from reproduction.datasets import FloatArray
from reproduction.walks import cell_walls

COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999", "#F0E442")


def cut_cells(sites: FloatArray, weights: Any, lower: Any, upper: Any) -> list[FloatArray]:
    """Return the cells (m, 2) of the power diagram of sites (k, 2) in a box; no corner if a cell is empty."""
    (left, bottom), (right, top) = lower, upper
    box = np.array([[left, bottom], [right, bottom], [right, top], [left, top]], dtype=np.float64)
    return [_closer(box, site, weight, sites, weights) for site, weight in zip(sites, weights, strict=True)]


def cut_territory(query: Any, sites: FloatArray, weights: Any, lower: Any, upper: Any) -> list[FloatArray]:
    """Return what a point (2,) of weight 0 would take from each cell."""
    cells = cut_cells(sites, weights, lower, upper)
    return [
        _closer(cell, query, 0.0, sites[i : i + 1], weights[i : i + 1]) if cell.size else cell
        for i, cell in enumerate(cells)
    ]


def area(polygon: FloatArray) -> float:
    """Return the area of a polygon (m, 2)."""
    if not polygon.size:
        return 0.0
    x, y = (polygon - polygon[0]).T
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2.0


def draw_diagram(
    sites: FloatArray,
    weights: Any,
    lower: Any,
    upper: Any,
    *,
    X: FloatArray | None = None,
    labels: Any | None = None,
    ax: Any = None,
) -> Any:
    """Draw the cells, with a circle of radius sqrt(weight) around each site, and points; return the axes."""
    ax = _axes(lower, upper) if ax is None else ax
    angles = np.linspace(0.0, 2.0 * np.pi, 129)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    for i, cell in enumerate(cut_cells(sites, weights, lower, upper)):
        color = COLORS[i % len(COLORS)]
        ax.fill(*cell.T, facecolor=(color, 0.15), edgecolor="black", linewidth=0.9)
        if weights[i] > 0:
            ax.plot(*(sites[i] + np.sqrt(weights[i]) * circle).T, "--", color="black", linewidth=0.8)
        if X is not None and labels is not None:
            ax.scatter(*X[labels == np.unique(labels)[i]].T, s=8, color=color, zorder=3)
    ax.scatter(*sites.T, marker="x", color="black", zorder=4)
    return ax


def draw_stolen_area(query: Any, shares: FloatArray, names: Any, sites: FloatArray, lower: Any, upper: Any) -> Any:
    """Draw the territory of a point, colored by the clusters it is taken from, with its affinities as shares."""
    ax = draw_diagram(sites, np.zeros(len(sites)), lower, upper)
    for i, part in enumerate(cut_territory(query, sites, np.zeros(len(sites)), lower, upper)):
        ax.annotate(str(names[i]), sites[i], (6, 6), textcoords="offset points", fontweight="bold")
        if part.size:
            ax.fill(*part.T, facecolor=(COLORS[i % len(COLORS)], 0.75), edgecolor="none", zorder=2)
            if shares[i] >= 0.005:
                ax.annotate(
                    f"{shares[i]:.0%}", part.mean(axis=0), ha="center", va="center", fontweight="bold", zorder=5
                )
    ax.scatter(*query, marker="*", s=130, color="black", zorder=6)
    return ax


def draw_samples(
    query: Any, sites: FloatArray, lower: Any, upper: Any, n_samples: int, random_state: int
) -> tuple[Any, FloatArray]:
    """Draw samples of hit-and-run in the territory of a point; return the axes and the samples (n, 2)."""
    samples = sample_polytope(*cell_walls(sites, query, lower, upper), n_samples, random_state=random_state)
    owners = ((samples[:, None, :] - sites) ** 2).sum(axis=2).argmin(axis=1)
    ax = draw_diagram(sites, np.zeros(len(sites)), lower, upper)
    ax.scatter(*samples.T, s=5, c=[COLORS[i % len(COLORS)] for i in owners], zorder=3)
    ax.scatter(*query, marker="*", s=130, color="black", zorder=6)
    return ax, samples


def _axes(lower: Any, upper: Any) -> Any:
    _, ax = plt.subplots(figsize=(5.0, 5.0), layout="constrained")
    ax.set(xlim=(lower[0], upper[0]), ylim=(lower[1], upper[1]), aspect="equal")
    return ax


def _closer(polygon: FloatArray, point: Any, weight: float, others: FloatArray, weights: Any) -> FloatArray:
    """Return the part of a convex polygon (m, 2) where a weighted point is closer than all others (k, 2)."""
    for other, its_weight in zip(others, weights, strict=True):
        # |y - p|^2 - w <= |y - o|^2 - v is linear in y.
        beyond = 2.0 * polygon @ (other - point) + (point @ point - weight) - (other @ other - its_weight)
        corners: list[FloatArray] = []
        ahead = zip(polygon, np.roll(polygon, -1, axis=0), beyond, np.roll(beyond, -1), strict=True)
        for here, there, value, next_value in ahead:
            if value <= 0:
                corners.append(here)
            if (value < 0 < next_value) or (next_value < 0 < value):
                corners.append(here + (there - here) * (value / (value - next_value)))
        polygon = np.array(corners).reshape(-1, 2)
        if polygon.shape[0] < 3:
            return np.empty((0, 2))
    return polygon
