"""Coordinates that no plane of the data stands for: UMAP, or the user's own."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from allegiance._core import AnyArray, FloatArray, RandomState, Rows, check_choice, resolve_seed

from ._plane import principal_plane
from ._section import PlaneDiagram


def embed(rows: Rows, projection: Any, random_state: RandomState) -> tuple[FloatArray, tuple[str, str]]:
    """Return the coordinates (n, 2) of each row, and the names of the two axes."""
    if isinstance(projection, str):
        check_choice(projection, "projection", (None, "pca", "umap"))
        return _umap(rows, random_state), ("UMAP 1", "UMAP 2")
    position = np.asarray(projection, dtype=np.float64)
    if position.shape != (rows.shape[0], 2) or not np.isfinite(position).all():
        raise ValueError(
            f"projection must be 'pca', 'umap' or finite coordinates of shape ({rows.shape[0]}, 2), got an array of "
            f"shape {position.shape}."
        )
    return position, ("first coordinate", "second coordinate")


def place(rows: Rows, projection: Any, random_state: RandomState) -> tuple[FloatArray, tuple[str, str]]:
    """Return the coordinates (n, 2) of each row (n, d), and the names of the axes: principal ones by default."""
    if projection is not None and not (isinstance(projection, str) and projection == "pca"):
        return embed(rows, projection, random_state)
    if rows.shape[1] < 2:
        raise ValueError(
            "a map needs at least two columns: pass projection=, coordinates (n, 2), or use plot.profile()."
        )
    plane = principal_plane(rows, np.asarray(rows.mean(axis=0), dtype=np.float64).ravel(), "the mean")
    return plane.project(rows), plane.names


def _umap(rows: Rows, random_state: RandomState) -> FloatArray:
    try:
        umap = import_module("umap")
    except ImportError as error:
        raise ImportError("projection='umap' needs UMAP: pip install umap-learn, or use projection='pca'.") from error
    seed = resolve_seed(random_state) % 2**32
    return np.asarray(umap.UMAP(n_components=2, random_state=seed).fit_transform(rows), dtype=np.float64)


def without_plane(position: FloatArray, classes: AnyArray, names: tuple[str, str]) -> PlaneDiagram:
    """Return a diagram with nothing in it but the room for points (n, 2)."""
    lower, upper = position.min(axis=0), position.max(axis=0)
    reach = np.where(upper > lower, 0.05 * (upper - lower), 0.5)
    return PlaneDiagram(classes, lower - reach, upper + reach, names, "", None, None, ())
