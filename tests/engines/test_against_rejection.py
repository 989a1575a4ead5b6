"""Every engine against plain rejection, which shares no code with the package."""

from __future__ import annotations

import numpy as np
import pytest

from allegiance import affinity
from allegiance.domains import Polytope
from allegiance.influence import Weights
from reference.rejection import rejection


@pytest.mark.parametrize(
    "engine", ["shared", *(pytest.param(engine, marks=pytest.mark.slow) for engine in ("exact", "hit-and-run"))]
)
@pytest.mark.parametrize(
    ("r", "weighted"),
    [
        (2, False),
        (4, True),
        pytest.param(2, True, marks=pytest.mark.slow),
        pytest.param(4, False, marks=pytest.mark.slow),
    ],
)
def test_shares_are_those_of_rejection(r, weighted, engine):
    """Within 4.5 joint standard errors: 60 independent shares would leave that with a probability of 4e-4."""
    rng = np.random.default_rng(5)
    centers, X = rng.normal(size=(6, r)), rng.normal(size=(10, r))
    lower, upper = np.full(r, -3.0), np.full(r, 3.0)
    weights = rng.uniform(0.0, 0.3, 6) if weighted else np.zeros(6)
    settings = {"weights": Weights(weights, query=0.1)} if weighted else {}
    region = Polytope.box(lower, upper)
    # Precise enough that the errors of small shares are nearly normal.
    result = affinity(
        X,
        centers=centers,
        domain=region,
        engine=engine,
        eps=0.01,
        random_state=0,
        **{"influence": "euclidean"} | settings,
    )
    for row, x in enumerate(X):
        y = rng.uniform(lower, upper, (200_000, r))
        shares, kept = rejection(centers, x, y, weights, 0.1 if weighted else 0.0)
        assert kept > 300
        error = np.sqrt(np.maximum(shares, 1 / kept) * (1 - shares) / kept + result.standard_error[row] ** 2)
        assert (np.abs(result.affinity[row] - shares) <= 4.5 * error + 1e-12).all()
