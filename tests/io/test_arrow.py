"""Arrow in, Arrow out: the same bits however rows are cut, and in the engines of docs/distributed.md."""

import pickle
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from allegiance import AffinityScorer
from allegiance.drift import compare_profiles
from allegiance.io import TableError, fit_stream, open_table, propose, summarize_arrow

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
    result = scorer.score_arrow(table, keep=["id"], details=details)
    expected = scorer.affinity(rows).frame(details=details)
    assert result.column_names == ["id", *expected.columns]
    for name in expected.columns:
        assert np.array_equal(result[name].to_numpy(zero_copy_only=False), expected[name].to_numpy())


def test_batches_of_any_size_threads_and_order_of_columns_change_nothing(scorer, table, monkeypatch):
    whole = scorer.score_arrow(table, keep=["id"])
    batches = table.select(["c", "id", "a", "b"]).to_batches(max_chunksize=37)
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda batch: scorer.score_arrow(batch, keep=["id"]), batches))
    assert all(isinstance(part, pa.RecordBatch) for part in parts)
    assert pa.Table.from_batches(parts).equals(whole)
    for empty in (table.schema.empty_table(), pa.RecordBatch.from_pylist([], schema=table.schema)):
        assert scorer.score_arrow(empty, keep=["id"]).schema == whole.schema
    assert scorer.score_arrow(table, keep={"id": "customer"}).column_names[0] == "customer"
    # Once only the first 4,194,304 cells were scored.
    monkeypatch.setattr("allegiance.io.tables._BATCH_CELLS", 1)
    assert scorer.score_arrow(table, keep=["id"]).combine_chunks().equals(whole)
    assert scorer.score_arrow(table.combine_chunks().to_batches()[0], keep=["id"]).num_rows == 300


def test_labels_and_the_largest_affinities(scorer, rows, table):
    labels = scorer.predict(rows)[::-1].copy()
    result = scorer.score_arrow(table.append_column("cluster", pa.array(labels)), labels="cluster", top=2, details=True)
    expected = scorer.fitted_.score(rows, labels=labels, top=2)
    assert np.array_equal(result["label"].to_numpy(), labels)
    assert np.array_equal(result["trust"].to_numpy(), expected.trust)
    assert np.array_equal(result["affinity_2"].to_numpy(), expected.affinity[:, 1])


def test_frames_that_speak_arrow_are_taken(scorer, table):
    polars = pytest.importorskip("polars")
    assert scorer.score_arrow(polars.from_arrow(table)).equals(scorer.score_arrow(table))


def test_what_cannot_be_scored_is_named(scorer, table):
    with pytest.raises(TableError, match="has no column 'b'"):
        scorer.score_arrow(table.drop(["b"]))
    with pytest.raises(TableError, match="'trust', which is also a score column"):
        scorer.score_arrow(table, keep={"id": "trust"})
    with pytest.raises(TableError, match="must be a path, a list of paths or a frame, got list"):
        scorer.score_arrow([1, 2])
    missing = table.set_column(1, "a", pa.array([None] + [1.0] * 299))
    with pytest.raises(TableError, match=r"missing in a \(1\)"):
        scorer.score_arrow(missing)


def test_a_pipeline_is_scored_with_names_and_without(rows, table):
    pipeline = make_pipeline(StandardScaler(), KMeans(3, n_init=1, random_state=0))
    for X in (rows, rows.to_numpy()):
        scorer = AffinityScorer(pipeline).fit(X)
        assert (
            scorer.score_arrow(table, keep=["id"])["own_affinity"].to_pylist()
            == scorer.affinity(X).own_affinity.tolist()
        )


def test_a_model_takes_the_columns_of_its_table(table):
    words = table.append_column("plan", pa.array(["basic", "gold", None] * 100))
    plan = propose(open_table(words), id="id")
    model = fit_stream(words, plan=plan, n_clusters=3)
    result = model.score_arrow(words, keep=["id"])
    expected = model.affinity(words.to_pandas())
    assert result["own_affinity"].to_pylist() == expected.own_affinity.tolist()


def test_summaries_of_partitions_add_up_to_that_of_all_rows(scorer, rows, table):
    expected = scorer.affinity(rows).summary()
    parts, start = [], 0
    for batch in [*table.to_batches(max_chunksize=70), table.schema.empty_table()]:
        parts.append(summarize_arrow(scorer, batch, start=start))
        start += batch.num_rows
    total = pickle.loads(pickle.dumps(parts[-1])) + parts[0]
    for part in parts[1:-1]:
        total = total + part
    np.testing.assert_array_equal(total.counts, expected.counts)
    assert (total.replication, total.review) == (expected.replication, expected.review)
    assert total.sentence in repr(scorer.affinity(rows))
    profile, whole = total.profile, scorer.profile(rows)
    np.testing.assert_array_equal(profile.counts, whole.counts)
    np.testing.assert_array_equal(profile.values.rows, whole.values.rows)
    assert not compare_profiles(scorer, whole, profile).drifted


# The lines of docs/distributed.md, run as they stand there.

PAGE = Path(__file__).parents[2] / "docs" / "distributed.md"


@pytest.fixture
def folder(rows, tmp_path, monkeypatch):
    """A folder with the table in two files, which is the current one."""
    (tmp_path / "rows").mkdir()
    for part, frame in enumerate(np.array_split(np.arange(len(rows)), 2)):
        table = pa.Table.from_pandas(rows.iloc[frame], preserve_index=False)
        pq.write_table(table.append_column("id", pa.array(frame)), tmp_path / "rows" / f"{part}.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines_for(engine):
    result = re.search(rf"<!-- engine: {engine} -->\n```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert result, f"docs/distributed.md has no lines for {engine}"
    return result.group(1)


def check(folder, scorer, rows):
    """Compare what was written with the scores of affinity, to the last bit."""
    scored = pq.read_table(folder / "scored.parquet").sort_by("id")
    expected = scorer.affinity(rows).frame()
    assert scored.column_names == ["id", *expected.columns]
    assert scored["id"].to_pylist() == list(range(len(rows)))
    for name in expected.columns:
        assert np.array_equal(scored[name].to_numpy(zero_copy_only=False), expected[name].to_numpy())


def check_summary(summary, scorer, rows):
    """Compare a summary of partitions with that of all rows, and run the lines about its answers."""
    result = scorer.affinity(rows)
    expected, profile = result.summary(), scorer.profile(rows)
    np.testing.assert_array_equal(summary.counts, expected.counts)
    assert summary.replication == expected.replication
    assert [line["priority"] for line in summary.review] == [line["priority"] for line in expected.review]
    assert not compare_profiles(scorer, profile, summary.profile).drifted
    # A profile samples all of these rows.
    assert summary.drivers().shares == pytest.approx(result.drivers(rows).shares)
    exec(lines_for("answers"), {"summary": summary, "scorer": scorer, "baseline": profile})


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_engine_in_this_process(engine, folder, scorer, rows):
    pytest.importorskip(engine, reason=f"{engine} is not installed")
    exec(lines_for(engine), {"scorer": scorer})
    check(folder, scorer, rows)


def test_summaries_of_engines(folder, scorer, rows):
    pytest.importorskip("duckdb")
    polars = pytest.importorskip("polars")
    namespace = {"scorer": scorer}
    exec(lines_for("duckdb summary"), namespace)
    check_summary(namespace["summary"], scorer, rows)
    batches = polars.scan_parquet("rows/*.parquet").collect_batches()
    parts = [summarize_arrow(scorer, batch, start=number << 20) for number, batch in enumerate(batches)]
    check_summary(reduce(add, parts), scorer, rows)


@pytest.mark.filterwarnings("default")
def test_dask(folder, scorer, rows):
    pytest.importorskip("dask.dataframe", reason="dask is not installed")
    exec(lines_for("dask"), {"scorer": scorer})
    scored = pq.read_table(folder / "scored.parquet")
    assert scored["id"].to_pylist() == list(range(len(rows)))
    assert np.array_equal(scored["trust"].to_numpy(), scorer.affinity(rows).trust)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_spark(folder, scorer, rows, monkeypatch):
    """Two workers in processes of their own, each with its own Java and Python."""
    pyspark = pytest.importorskip("pyspark.sql", reason="pyspark is not installed: pip install --group engines")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not installed")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    builder = pyspark.SparkSession.builder.master("local-cluster[2,1,1024]").appName("allegiance")
    builder = builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    spark = builder.getOrCreate()
    try:
        exec(lines_for("spark"), {"scorer": scorer, "spark": spark})
        namespace = {"scorer": scorer, "spark": spark}
        exec(lines_for("spark summary"), namespace)
    finally:
        spark.stop()
    check(folder, scorer, rows)
    check_summary(namespace["summary"], scorer, rows)
