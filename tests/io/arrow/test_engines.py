"""The lines of docs/scale.md that score in other engines, run as they stand there."""

import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.cluster import KMeans

from allegiance import AffinityScorer

PAGE = Path(__file__).parents[3] / "docs" / "scale.md"


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(240, 3)) + 4.0 * rng.integers(3, size=(240, 1))
    return pd.DataFrame(values, columns=["a", "b", "c"])


@pytest.fixture(scope="module")
def scorer(rows):
    return AffinityScorer(KMeans(3, n_init=2, random_state=0), influence="within", calibration=5, n_jobs=1).fit(rows)


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
    found = re.search(rf"<!-- engine: {engine} -->\n```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found, f"docs/scale.md has no lines for {engine}"
    return found.group(1)


def check(folder, scorer, rows):
    """Compare what was written with the scores of affinity, to the last bit."""
    scored = pq.read_table(folder / "scored.parquet").sort_by("id")
    expected = scorer.affinity(rows).frame()
    assert scored.column_names == ["id", *expected.columns]
    assert scored["id"].to_pylist() == list(range(len(rows)))
    for name in expected.columns:
        assert np.array_equal(scored[name].to_numpy(zero_copy_only=False), expected[name].to_numpy())


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_engine_in_this_process(engine, folder, scorer, rows):
    pytest.importorskip(engine, reason=f"{engine} is not installed")
    exec(lines_for(engine), {"scorer": scorer})
    check(folder, scorer, rows)


@pytest.mark.filterwarnings("default")
def test_dask(folder, scorer, rows):
    pytest.importorskip("dask.dataframe", reason="dask is not installed")
    exec(lines_for("dask"), {"scorer": scorer})
    scored = pq.read_table(folder / "scored.parquet")
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
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        exec(lines_for("spark"), {"scorer": scorer, "spark": spark})
    finally:
        spark.stop()
    check(folder, scorer, rows)
