"""Cells of the figures, against exact affinities and the definition."""

from __future__ import annotations

import numpy as np
import pytest

from allegiance import affinity
from allegiance.domains import Polytope
from allegiance.influence import Weights
from reproduction.figures import area, cut_cells, cut_territory, draw_diagram, draw_samples, draw_stolen_area

SITES = np.array([[2.0, 2.0], [6.0, 3.0], [3.0, 7.0], [8.0, 8.0]])
BOX = ([0.0, 0.0], [10.0, 10.0])


@pytest.mark.parametrize("weights", [np.zeros(4), np.array([4.0, 0.5, 2.0, 0.0])], ids=["voronoi", "power"])
def test_areas_are_affinities(weights):
    query = np.array([4.0, 4.0])
    parts = np.array([area(part) for part in cut_territory(query, SITES, weights, *BOX)])
    settings = {"domain": Polytope.box(*BOX), "engine": "exact", "weights": Weights(weights, query=0.0)}
    expected = affinity(query[None], centers=SITES, **{"influence": "euclidean"} | settings).affinity[0]
    np.testing.assert_allclose(parts / parts.sum(), expected, atol=1e-9)
    assert sum(map(area, cut_cells(SITES, weights, *BOX))) == pytest.approx(100.0)


def test_figures():
    pytest.importorskip("matplotlib").use("Agg")
    query = np.array([4.0, 4.0])
    draw_diagram(SITES, np.ones(4), *BOX, X=SITES, labels=np.arange(4))
    draw_stolen_area(query, np.full(4, 0.25), np.arange(4), SITES, *BOX)
    _, samples = draw_samples(query, SITES, *BOX, 200, 0)
    nearest = np.linalg.norm(samples[:, None] - SITES, axis=2).min(axis=1)
    assert (np.linalg.norm(samples - query, axis=1) <= nearest + 1e-9).all()
