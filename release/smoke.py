"""Use an installed package outside its source tree: ``python smoke.py core|cli|all``.

Each word is an environment: the package alone, with the extra ``cli``, or with ``all``. An error about a missing
library must name the extra that installs it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import allegiance

COMMAND = Path(sys.executable).parent / "allegiance"
LABELS = np.repeat([0, 1, 2], 40)


def points(dimensions: int) -> np.ndarray:
    """Return points of three clusters."""
    return np.random.default_rng(0).normal(4.0 * LABELS[:, None], 1.0, (120, dimensions))


def score() -> None:
    """Score points in a few dimensions and in many, and save and load the scorer."""
    for dimensions in (2, 12):
        X = points(dimensions)
        result = allegiance.trust(X, LABELS)
        assert np.allclose(result.affinity.sum(axis=1), 1.0)
        assert result.replication > 0.8
        scorer = allegiance.AffinityScorer(calibration=5).fit(X, LABELS)
        scorer.save("own.model")
        reloaded = allegiance.load("own.model").affinity(X)
        assert np.array_equal(reloaded.affinity, scorer.affinity(X).affinity)
    assert abs(allegiance.metrics.lift_emd(X, LABELS, LABELS)) < 1e-6


def check_core_errors() -> None:
    """Use features that need an extra."""
    X = points(2)
    result, scorer = allegiance.trust(X, LABELS), allegiance.AffinityScorer().fit(X, LABELS)
    features: list[tuple[str, Callable[[], Any]]] = [
        ("io", result.frame),
        ("report", lambda: result.report("report.html", X)),
        ("report", lambda: result.serve(X, open_browser=False)),
        ("plot", result.plot),
        ("io", lambda: allegiance.io.score_stream("points.csv", scorer, "out.csv")),
    ]
    for extra, use in features:
        message = ""
        try:
            use()
        except ImportError as error:
            message = str(error)
        assert f"pip install 'allegiance[{extra}]'" in message, f"without the extra {extra}: {message!r}"
    assert not Path("report.html").exists()
    check_error(["--version"], "cli")


def use_the_command() -> None:
    """Score a table, save the model, and score with it."""
    write_table()
    call("score", "points.csv", "--labels", "cluster", "-o", "scores.parquet", "--save", "points.model")
    call("score", "points.csv", "--model", "points.model", "-o", "again.csv")
    call("model", "points.model")
    assert "numba" in call("--version")
    assert len(Path("again.csv").read_text().splitlines()) == 121
    assert Path("scores.parquet").stat().st_size > 1000


def check_command_errors() -> None:
    """Use options that need another extra."""
    table = ["points.csv", "--labels", "cluster"]
    check_error(["score", *table, "-o", "other.csv", "--report", "report.html"], "report")
    check_error(["review", *table, "--no-browser"], "report")
    assert not [name for name in ("other.csv", "report.html") if Path(name).exists()]


def use_extras() -> None:
    """Write a report and a picture, open the served page, and read a frame."""
    call("score", "points.csv", "--labels", "cluster", "-o", "other.csv", "--report", "report.html")
    assert "</html>" in Path("report.html").read_text()
    X = points(3)
    result = allegiance.trust(X, LABELS)
    assert len(result.frame()) == 120
    result.plot().figure_.savefig("profile.png")
    assert Path("profile.png").read_bytes().startswith(b"\x89PNG")
    with result.serve(X, open_browser=False, log="points.jsonl") as review:
        page = urllib.request.urlopen(review.url, timeout=60).read().decode()
        assert "</html>" in page


def write_table() -> None:
    """Write the points as a table with their labels."""
    rows = np.column_stack([points(3), LABELS])
    np.savetxt("points.csv", rows, delimiter=",", header="a,b,c,cluster", comments="")


def call(*arguments: str) -> str:
    """Run the command and return its output."""
    return subprocess.run([COMMAND, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


def check_error(arguments: list[str], extra: str) -> None:
    """Check that the command fails with a message that names the extra."""
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode != 0, arguments
    assert f"pip install 'allegiance[{extra}]'" in done.stderr, f"{arguments}: {done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr


#: The trials in each environment.
TRIALS: dict[str, tuple[Callable[[], None], ...]] = {
    "core": (score, check_core_errors),
    "cli": (score, use_the_command, check_command_errors),
    "all": (score, use_the_command, use_extras),
}

if __name__ == "__main__":
    environment = sys.argv[1]
    assert "site-packages" in allegiance.__file__, f"{allegiance.__file__} is not the installed package"
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for trial in TRIALS[environment]:
            trial()
        os.chdir("/")
    print(f"allegiance {allegiance.__version__} ({environment}) works on Python {sys.version.split()[0]}")
