"""Figures of the paper that show cells: a power diagram, and the territory of one point.

Two features and Euclidean distance only. Cells are drawn from the owners of a fine grid of places.
"""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb

from reproduction.datasets import FloatArray

COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999", "#F0E442")
#: Places of the grid along each axis.
GRID = 800


def draw_diagram(
    sites: FloatArray,
    weights: Any,
    lower: Any,
    upper: Any,
    *,
    X: FloatArray | None = None,
    labels: Any | None = None,
    query: Any | None = None,
) -> Any:
    """Draw the cells, with a circle of radius sqrt(weight) around each site, and points; return the axes.

    The territory of ``query`` (2,), a point of weight 0, is drawn in the colors of the cells it is taken from.
    """
    _, ax = plt.subplots(figsize=(5.0, 5.0), layout="constrained")
    ax.set(xlim=(lower[0], upper[0]), ylim=(lower[1], upper[1]), aspect="equal")
    axes = [np.linspace(low, high, GRID) for low, high in zip(lower, upper, strict=True)]
    places = np.stack(np.meshgrid(*axes), axis=-1)
    power = np.stack([((places - site) ** 2).sum(axis=-1) for site in sites]) - np.reshape(weights, (-1, 1, 1))
    owner = power.argmin(axis=0)
    opacity = np.full(owner.shape, 0.15)
    if query is not None:
        opacity[((places - query) ** 2).sum(axis=-1) <= power.min(axis=0)] = 0.75
        ax.scatter(query[0], query[1], marker="*", s=130, color="black", zorder=6)
    colors = np.array([to_rgb(COLORS[i % len(COLORS)]) for i in range(len(sites))])
    ax.imshow(np.dstack([colors[owner], opacity]), origin="lower", extent=ax.axis(), aspect="equal")
    for i, (site, weight) in enumerate(zip(sites, weights, strict=True)):
        ax.contour(*axes, owner == i, levels=[0.5], colors="black", linewidths=0.9)
        ax.add_patch(mpl.patches.Circle(site, np.sqrt(weight), fill=False, linestyle="--", linewidth=0.8))
        if X is not None and labels is not None:
            members = X[labels == np.unique(labels)[i]]
            ax.scatter(members[:, 0], members[:, 1], s=8, color=colors[i], zorder=3)
    ax.scatter(*sites.T, marker="x", color="black", zorder=4)
    return ax


def draw_stolen_area(query: Any, shares: FloatArray, names: Any, sites: FloatArray, lower: Any, upper: Any) -> Any:
    """Draw the territory of a point, colored by the clusters it is taken from, with its affinities at their sites."""
    ax = draw_diagram(sites, np.zeros(len(sites)), lower, upper, query=query)
    for name, share, site in zip(names, shares, sites, strict=True):
        ax.annotate(f"{name}: {share:.0%}", site, (6, 6), textcoords="offset points", fontweight="bold")
    return ax
