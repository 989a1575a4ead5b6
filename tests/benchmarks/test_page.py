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
from quality._scores import SCORES
from quality._store import MEASURES, Store

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"


@pytest.fixture
def docs(tmp_path):
    """A folder with the project's page."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "benchmarks.md").write_text(PAGE.read_text())
    return folder


def random_cell(rng, name, kind, clusterer, seed):
    key = {"set": name, "clusterer": clusterer, "seed": seed}
    about = {**key, "kind": kind, "rows": 10, "columns": 2, "clusters": 3, "wrong": 0.2, "unmatched": 0.25}
    values = {score: dict(zip(MEASURES, rng.random(len(MEASURES)), strict=True)) for score in SCORES}
    values["within box"] = dict.fromkeys(MEASURES, 1.0)
    return Cell(about, [{**key, "score": score, **values[score]} for score in SCORES])


def test_the_study_writes_its_parts_of_the_page(tmp_path, docs, rng):
    store = Store(tmp_path, "quality")
    store.note_made_with({"numpy": "2.0"})
    for name, kind in (("iris", "real"), ("wine", "real"), ("blobs", "generated")):
        for clusterer in CLUSTERERS:
            for seed in (0, 1):
                store.append(random_cell(rng, name, kind, clusterer, seed))
    text = write_quality_page(store, docs)
    page = (docs / "benchmarks.md").read_text()
    assert "3 data sets, 18 clusterings, 18 of them" in page
    # The best score by far is first in the headline, and ahead of the best peer everywhere.
    headline = next(line for line in text.splitlines() if line.startswith("| **"))
    assert headline.startswith("| **within box** | 1.0 | 1.000 ± 0.000 |")
    assert "Ahead of the best peer in 9 of 9 clusterings" in page
    assert {path.name for path in (docs / "images").iterdir()} == {
        "bench_quality_ranks.png",
        "bench_quality_coverage.png",
        "bench_quality_sets.png",
    }


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
