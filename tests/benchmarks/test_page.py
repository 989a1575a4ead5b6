import json
from pathlib import Path

import numpy as np
import pytest

from peers._campaign import Measurement, _append
from peers._page import write_page as write_speed_page
from peers._scenes import SCENES
from peers._tasks import TASKS
from quality._cell import Cell
from quality._clusterers import CLUSTERERS
from quality._page import write_page as write_quality_page
from quality._reliability import binned
from quality._reliability_page import calibration_parts
from quality._results import Results
from quality._scores import CHANCES, SCORES
from quality._store import MEASURES, Store

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"


@pytest.fixture
def docs(tmp_path):
    """A folder with the project's page."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "benchmarks.md").write_text(PAGE.read_text())
    return folder


def random_cell(rng, name, kind, clusterer, seed, clusters=3):
    """A cell in which trust finds every misassigned point and is always right, and others know nothing."""
    key = {"set": name, "clusterer": clusterer, "seed": seed}
    about = {**key, "kind": kind, "rows": 10, "columns": 2, "clusters": clusters, "wrong": 0.2, "unmatched": 0.3}
    about |= {"low": 0.75, "high": 0.85, "seconds": 6.0}
    values = {score: dict(zip(MEASURES, rng.random(len(MEASURES)), strict=True)) for score in SCORES}
    values["trust"] = dict.fromkeys(MEASURES, 1.0)
    wrong, unmatched = np.arange(10) < 2, np.arange(10) < 3
    chances = {score: rng.random(10) for score in CHANCES} | {"trust": 1.0 - wrong}
    return Cell(
        about,
        [{**key, "score": score, **values[score]} for score in SCORES],
        [{**key, "score": score, "bins": binned(chances[score], wrong, unmatched)} for score in CHANCES],
    )


@pytest.fixture
def store(tmp_path, rng):
    """Results of four small sets, one of them with two clusters."""
    found = Store(tmp_path, "quality")
    found.note_made_with({"numpy": "2.0"})
    sets = (("iris", "real", 3), ("ecoli", "table", 5), ("blobs", "generated", 4), ("moons", "generated", 2))
    for name, kind, clusters in sets:
        for clusterer in CLUSTERERS:
            for seed in (0, 1):
                found.append(random_cell(rng, name, kind, clusterer, seed, clusters))
    return found


def test_the_study_writes_its_parts_of_the_page(store, docs, monkeypatch):
    monkeypatch.setattr("quality._page.digits_rows", list)
    monkeypatch.setattr("quality._page.cluster_rows", list)
    text = write_quality_page(store, docs)
    page = (docs / "benchmarks.md").read_text()
    assert "4 data sets (1 real, 1 tables of the folder, 2 generated), 2 draws each, 24 clusterings, 24 of them" in page
    # The best score by far is first in the headline, and ahead of the best peer everywhere; two clusters are apart.
    headline = next(line for line in text.splitlines() if line.startswith("| **"))
    assert headline.startswith("| **trust** | 1.0 | 1.000 ± 0.000 |")
    assert "Ahead of the best peer in 9 of 9 clusterings" in page
    assert "3 data sets, critical difference" in page
    assert "1 data sets, critical difference" in page
    assert {path.name for path in (docs / "images").iterdir()} == {
        "bench_quality_ranks.png",
        "bench_quality_coverage.png",
        "bench_quality_sets.png",
        "bench_quality_reliability.png",
    }


def test_calibration_is_shown_under_both_readings(store):
    parts = calibration_parts(Results.of(store.read()))
    # Always right by majority; by matching, one point in ten has a chance of 1 and is wrong.
    assert "| **trust** | 0.000 | 0.000 | 0.000 | 1.000 | 0.000 | +0.000 |" in parts["quality-calibration"]
    assert "| **trust** | 0.100 | 0.100 | 0.100 | 1.000 | 0.100 | +0.100 |" in parts["quality-calibration-matched"]
    assert "| interval of trust holds, majority | 100 % | 100 % |" in parts["quality-calibration-groups"]
    assert "| interval of trust holds, matching | 0 % | 0 % |" in parts["quality-calibration-groups"]
    assert "| moons | 2 | 0.800 | 0.800 | +0.000 | 0.700 | 0.000 | 0.100 |" in parts["quality-calibration-sets"]


def test_the_speed_study_writes_its_parts_of_the_page(tmp_path, docs):
    path, about = tmp_path / "speed.csv", tmp_path / "speed.json"
    versions = {"numpy": "2.0"}
    machine = {
        "cpu": "a processor",
        "cores": 2,
        "load_average": [0.1, 0.1, 0.1],
        "python": "3.11",
        "versions": versions,
    }
    about.write_text(json.dumps(machine))
    for task in TASKS:
        for stage in task.stages:
            seconds = 0.5 if task.name == "affinity" else 0.125 if task.name == "fuzzy" else 4.0
            done = [Measurement(task.name, stage.name, scene, "done", seconds, 1, 9.0, 60.0) for scene in SCENES[:2]]
            _append(path, [*done, Measurement(task.name, stage.name, SCENES[2], "time", np.nan, 0, np.nan, 60.0)])
    write_speed_page(path, about, docs)
    page = (docs / "benchmarks.md").read_text()
    assert "a processor, 2 cores" in page
    assert "| silhouette_samples | 4 s; 8.0 x faster | 4 s; 8.0 x faster | > 60 s |" in page
    assert "| fuzzy c-means memberships | 125 ms; **4.0 x slower** |" in page
    assert (docs / "images" / "bench_speed.png").exists()
