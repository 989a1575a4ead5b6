"""A first look at an installed package, outside its source tree: ``python smoke.py [--extras]``."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import allegiance


def score() -> None:
    """Score points of three clusters, in a few dimensions and in many, and save the scorer."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 40)
    for dimensions in (2, 12):
        X = rng.normal(4.0 * labels[:, None], 1.0, (120, dimensions))
        result = allegiance.trust(X, labels)
        assert np.allclose(result.affinity.sum(axis=1), 1.0)
        assert result.expected_right > 0.8
        scorer = allegiance.AffinityScorer(calibration=5).fit(X, labels)
        scorer.save("points.scorer")
        again = allegiance.AffinityScorer.load("points.scorer").affinity(X)
        assert np.array_equal(again.affinity, scorer.affinity(X).affinity)


def use_extras() -> None:
    """Run the command, which writes a table, a report and a picture."""
    rng = np.random.default_rng(0)
    cluster = np.repeat([0, 1, 2], 40)
    rows = np.column_stack([rng.normal(4.0 * cluster[:, None], 1.0, (120, 3)), cluster])
    np.savetxt("points.csv", rows, delimiter=",", header="a,b,c,cluster", comments="")
    command = Path(sys.executable).parent / "allegiance"
    for arguments in (
        ["score", "points.csv", "--labels", "cluster", "-o", "scores.parquet", "--report", "report.html"],
        ["plot", "points.csv", "--kind", "profile", "--labels", "cluster", "-o", "profile.png"],
        ["info"],
    ):
        subprocess.run([command, *arguments], check=True, stdout=subprocess.DEVNULL)
    for written in ("scores.parquet", "report.html", "profile.png"):
        assert Path(written).stat().st_size > 1000, written


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        import os

        os.chdir(folder)
        assert "site-packages" in allegiance.__file__, f"{allegiance.__file__} is not the installed package"
        score()
        if "--extras" in sys.argv:
            use_extras()
    print(f"allegiance {allegiance.__version__} works on Python {sys.version.split()[0]}")
