"""Tables that many tests use."""

import numpy as np
import pytest


@pytest.fixture
def points(rng):
    """Three groups in the plane, with a few points between them."""
    centers = np.array([[0.0, 0.0], [6.0, 0.0], [3.0, 5.0]])
    groups = np.repeat(np.arange(3), 20)
    X = centers[groups] + rng.normal(size=(60, 2))
    return X, groups


@pytest.fixture
def flowers(tmp_path, points):
    """Those points as a CSV file with names and labels."""
    X, groups = points
    path = tmp_path / "flowers.csv"
    lines = [f"f{i:03d},{x!r},{y!r},{'abc'[g]}" for i, ((x, y), g) in enumerate(zip(X.tolist(), groups, strict=True))]
    path.write_text("\n".join(["name,width,height,species", *lines]) + "\n")
    return path
