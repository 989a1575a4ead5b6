import numpy as np
import pytest

from quality._cell import Cell, measured_cells
from quality._datasets import LabeledSet, Sample
from quality._store import Store


def make_cell(name="iris", clusterer="ward", seed=0, auroc=0.75):
    key = {"set": name, "clusterer": clusterer, "seed": seed}
    about = {**key, "kind": "real", "rows": 10, "columns": 2, "clusters": 3, "wrong": 0.2, "unmatched": 0.25}
    about |= {"seconds": 1.5}
    scores = [{**key, "score": score, "auroc": auroc} for score in ("a", "b")]
    return Cell(about, scores)


def test_scores_without_their_cell_are_dropped(tmp_path):
    store = Store(tmp_path, "quality")
    store.append(make_cell(seed=0))
    kept = store.cells_path.read_text()
    store.append(make_cell(seed=1))
    store.cells_path.write_text(kept)  # as if the run had been stopped between the two files
    store.append(make_cell(seed=2))
    store.tidy()
    assert store.finished() == {("iris", "ward", 0), ("iris", "ward", 2)}
    assert [row.split(",")[2] for row in store.scores_path.read_text().splitlines()] == ["seed", "0", "0", "2", "2"]


def test_a_clustering_without_mistakes_has_nothing_to_find(rng):
    for library in ("skfuzzy", "hdbscan", "cake_ensemble"):
        pytest.importorskip(library)
    X = np.repeat([[0.0, 0.0], [90.0, 0.0]], 20, axis=0) + rng.normal(size=(40, 2))
    easy = LabeledSet("easy", "generated", lambda seed: Sample(X, np.arange(40) // 20))
    (cell,) = measured_cells(easy, 0, ["k-means"])
    assert cell.about["wrong"] == 0.0
    assert cell.about["rows"] == 40
    assert np.isnan(cell.scores[0]["auroc"])
