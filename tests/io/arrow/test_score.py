"""Arrow in, Arrow out: the bits of everywhere else, however rows are cut."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.cluster import KMeans

from allegiance import AffinityScorer
from allegiance.io import TableError

NAMES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(300, 3)) + 4.0 * rng.integers(3, size=(300, 1)), columns=NAMES)


@pytest.fixture(scope="module")
def scorer(rows):
    return AffinityScorer(KMeans(3, n_init=2, random_state=0), influence="within", calibration=5, n_jobs=1).fit(rows)


@pytest.fixture(scope="module")
def table(rows):
    return pa.table({"id": [f"row {i}" for i in range(300)]} | {name: rows[name].to_numpy() for name in NAMES})


@pytest.mark.parametrize("details", [False, True])
def test_scores_are_those_of_affinity_to_the_last_bit(scorer, rows, table, details):
    found = scorer.score_arrow(table, keep=["id"], details=details)
    expected = scorer.affinity(rows).frame(details=details)
    assert found.column_names == ["id", *expected.columns]
    for name in expected.columns:
        assert np.array_equal(found[name].to_numpy(zero_copy_only=False), expected[name].to_numpy())


def test_batches_threads_and_order_of_columns_change_nothing(scorer, table):
    whole = scorer.score_arrow(table, keep=["id"])
    batches = table.select(["c", "id", "a", "b"]).to_batches(max_chunksize=37)
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda batch: scorer.score_arrow(batch, keep=["id"]), batches))
    assert all(isinstance(part, pa.RecordBatch) for part in parts)
    assert pa.Table.from_batches(parts).equals(whole)


def test_no_rows_give_the_columns_and_types_of_the_result(scorer, table):
    whole = scorer.score_arrow(table, keep={"id": "customer"})
    assert scorer.score_arrow(table.schema.empty_table(), keep={"id": "customer"}).schema == whole.schema
    empty = pa.RecordBatch.from_pylist([], schema=table.schema)
    assert scorer.score_arrow(empty, keep={"id": "customer"}).schema == whole.schema


def test_labels_and_the_largest_affinities(scorer, rows, table):
    labels = scorer.predict(rows)[::-1].copy()
    found = scorer.score_arrow(table.append_column("cluster", pa.array(labels)), labels="cluster", top=2, details=True)
    expected = scorer.fitted_.score(rows, labels=labels, top=2)
    assert np.array_equal(found["label"].to_numpy(), labels)
    assert np.array_equal(found["trust"].to_numpy(), expected.trust)
    assert np.array_equal(found["affinity_2"].to_numpy(), expected.affinity[:, 1])


def test_frames_that_speak_arrow_are_taken(scorer, table):
    polars = pytest.importorskip("polars")
    assert scorer.score_arrow(polars.from_arrow(table)).equals(scorer.score_arrow(table))


def test_what_cannot_be_scored_is_named(scorer, table):
    with pytest.raises(TableError, match=r"lacks the columns \['b'\]"):
        scorer.score_arrow(table.drop(["b"]))
    with pytest.raises(TableError, match="'trust', which is also a column of scores"):
        scorer.score_arrow(table, keep={"id": "trust"})
    with pytest.raises(TypeError, match="RecordBatch or Table, got list"):
        scorer.score_arrow([1, 2])
    missing = table.set_column(1, "a", pa.array([None] + [1.0] * 299))
    with pytest.raises(TableError, match="column 'a' of the Arrow data has no number in row 0"):
        scorer.score_arrow(missing)
