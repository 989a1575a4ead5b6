"""Scoring in batches: the same as in memory, and the same output however often it was interrupted."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from allegiance import AffinityScorer, PrecisionWarning, score_stream
from allegiance.streaming import StreamProgress
from allegiance.tables import TableError, open_source

COLUMNS = list("abcdef")


def frame(n: int = 700) -> pd.DataFrame:
    X, _ = make_blobs(n, n_features=6, centers=5, cluster_std=4.0, random_state=6)
    data = pd.DataFrame(X, columns=COLUMNS)
    data.insert(0, "id", [f"p{i:05d}" for i in range(n)])
    data["kind"] = np.arange(n) % 5
    return data


@pytest.fixture
def data() -> pd.DataFrame:
    return frame()


@pytest.fixture
def scorer(data: pd.DataFrame) -> AffinityScorer:
    return AffinityScorer(random_state=0).fit(data[COLUMNS], make_blobs(700, centers=5, random_state=6)[1])


@pytest.fixture
def table(data: pd.DataFrame, tmp_path: Path) -> Path:
    path = tmp_path / "points.parquet"
    data.to_parquet(path, index=False, row_group_size=91)
    return path


def expected_table(scorer: AffinityScorer, data: pd.DataFrame, top: int | None = None) -> pd.DataFrame:
    return scorer.affinity(data[COLUMNS], top=top).to_frame().reset_index(drop=True)


@pytest.mark.parametrize("top", [None, 2])
@pytest.mark.parametrize("batch_rows", [100, 64, 10_000])
def test_output_has_the_bits_of_the_result_in_memory(top, batch_rows, scorer, data, table, tmp_path):
    summary = score_stream(table, scorer, tmp_path / "out.parquet", batch_rows=batch_rows, keep=["id"], top=top)
    found = pd.read_parquet(tmp_path / "out.parquet")
    assert list(found["id"]) == list(data["id"])
    wanted = expected_table(scorer, data, top)
    pd.testing.assert_frame_equal(found.drop(columns="id"), wanted, check_exact=True, check_dtype=False)
    assert (summary.rows, summary.resumed) == (700, 0)
    assert 0 < summary.reading + summary.scoring + summary.writing <= summary.seconds
    assert not (tmp_path / "out.parquet.partial").exists()


def write_csv(data: pd.DataFrame, folder: Path) -> Any:
    data.to_csv(folder / "points.csv", index=False)
    return folder / "points.csv"


def write_arrow(data: pd.DataFrame, folder: Path) -> Any:
    feather.write_feather(pa.Table.from_pandas(data), folder / "points.arrow", compression="uncompressed")
    return folder / "points.arrow"


def write_several(data: pd.DataFrame, folder: Path) -> Any:
    for part, start in enumerate(range(0, 700, 123)):
        data[start : start + 123].to_parquet(folder / f"part-{part:02d}.parquet", index=False)
    return str(folder / "part-*.parquet")


@pytest.mark.parametrize("write", [write_csv, write_arrow, write_several])
def test_every_format_gives_the_same(write, scorer, data, tmp_path):
    score_stream(write(data, tmp_path), scorer, tmp_path / "out.arrow", batch_rows=150)
    found = feather.read_table(tmp_path / "out.arrow").to_pandas()
    tolerance = {"rtol": 1e-12} if write is write_csv else {"check_exact": True}
    pd.testing.assert_frame_equal(found, expected_table(scorer, data), check_dtype=False, **tolerance)


def test_a_mapped_array(data, tmp_path):
    X = data[COLUMNS].to_numpy(dtype=np.float32)
    np.save(tmp_path / "x.npy", X)
    scorer = AffinityScorer(centers=X[:4], random_state=0).fit(X)
    scorer.save(tmp_path / "a.scorer")
    score_stream(tmp_path / "x.npy", tmp_path / "a.scorer", tmp_path / "out.csv", batch_rows=99)
    found = pd.read_csv(tmp_path / "out.csv")
    np.testing.assert_allclose(found.filter(like="affinity_"), scorer.transform(X), rtol=1e-12)


def test_only_the_columns_needed_are_read(scorer, table, tmp_path, monkeypatch):
    seen = []
    source = open_source(table)
    chunks = source._chunks
    monkeypatch.setattr(
        source, "_chunks", lambda columns, start, rows: seen.append(columns) or chunks(columns, start, rows)
    )
    score_stream(source, scorer, tmp_path / "out.parquet", keep=["kind"])
    assert seen == [[*COLUMNS, "kind"]]


def interrupt_after(batches: int) -> Any:
    def stop(progress: StreamProgress) -> None:
        if progress.rows >= batches * 100:
            raise KeyboardInterrupt

    return stop


def test_an_interrupted_run_goes_on_where_it_stopped(scorer, table, tmp_path):
    out, whole = tmp_path / "out.parquet", tmp_path / "whole.parquet"
    score_stream(table, scorer, whole, batch_rows=100, keep=["id"])
    for batches in (2, 5):
        with pytest.raises(KeyboardInterrupt):
            score_stream(table, scorer, out, batch_rows=100, keep=["id"], progress=interrupt_after(batches))
        assert not out.exists()
    rows: list[int] = []
    summary = score_stream(
        table, scorer, out, batch_rows=100, keep=["id"], progress=lambda progress: rows.append(progress.rows)
    )
    assert summary.resumed == 500
    assert rows == [600, 700]
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("n", [700, 650], ids=["full last part", "short last part"])
def test_a_run_that_lacked_only_its_output(n, scorer, data, tmp_path):
    table = tmp_path / "points.parquet"
    data[:n].to_parquet(table, index=False)
    score_stream(table, scorer, tmp_path / "whole.csv", batch_rows=100)
    with pytest.raises(KeyboardInterrupt):
        score_stream(
            table, scorer, tmp_path / "out.csv", batch_rows=100, progress=interrupt_after(n // 100 + (n % 100) / 100)
        )
    summary = score_stream(table, scorer, tmp_path / "out.csv", batch_rows=100)
    assert summary.resumed == summary.rows == n
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


CHILD = """
import sys, time
from allegiance import score_stream
def slowly(progress):
    print(progress.rows, flush=True)
    time.sleep(0.2)
score_stream(sys.argv[1], sys.argv[2], sys.argv[3], batch_rows=50, keep=["id"], progress=slowly)
"""


def test_a_killed_process_loses_nothing_and_repeats_nothing(scorer, table, tmp_path):
    """SIGKILL, several times: nobody gets to clean up."""
    out, whole = tmp_path / "out.parquet", tmp_path / "whole.parquet"
    scorer.save(tmp_path / "a.scorer")
    arguments = [sys.executable, "-c", CHILD, str(table), str(tmp_path / "a.scorer"), str(out)]
    for _ in range(2):
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            for _ in range(2):
                child.stdout.readline()
            os.kill(child.pid, signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    assert not out.exists()
    # What a process may leave behind if it dies while it writes.
    (tmp_path / "out.parquet.partial" / "part-00000099.arrow.tmp").write_bytes(b"half")
    summary = score_stream(table, scorer, out, batch_rows=50, keep=["id"])
    assert 200 <= summary.resumed < 700
    score_stream(table, scorer, whole, batch_rows=50, keep=["id"])
    assert out.read_bytes() == whole.read_bytes()
    assert pq.read_table(out)["id"].to_pylist() == [f"p{i:05d}" for i in range(700)]
    assert not (tmp_path / "out.parquet.partial").exists()


@pytest.mark.parametrize("changed", ["scorer", "source", "batch_rows", "top", "keep", "columns"])
def test_parts_of_another_run_are_not_mixed_in(changed, scorer, data, table, tmp_path):
    out = tmp_path / "out.parquet"
    settings: dict[str, Any] = {"batch_rows": 100, "keep": ["id"], "top": 2, "columns": COLUMNS}
    with pytest.raises(KeyboardInterrupt):
        score_stream(table, scorer, out, progress=interrupt_after(3), **settings)
    if changed == "scorer":
        scorer = AffinityScorer(random_state=1).fit(data[COLUMNS], data["kind"])
    elif changed == "source":
        time.sleep(0.01)
        data[::-1].to_parquet(table, index=False, row_group_size=91)
    else:
        settings |= {changed: {"batch_rows": 50, "top": 3, "keep": ["id", "kind"], "columns": COLUMNS[::-1]}[changed]}
    with pytest.raises(TableError, match=rf"another run: {changed} differed.*resume=False"):
        score_stream(table, scorer, out, **settings)
    summary = score_stream(table, scorer, out, resume=False, **settings)
    assert (summary.rows, summary.resumed) == (700, 0)


def test_a_folder_of_somebody_else_is_left_alone(scorer, table, tmp_path):
    folder = tmp_path / "out.parquet.partial"
    folder.mkdir()
    (folder / "thesis.txt").write_text("all of it")
    for resume in (True, False):
        with pytest.raises(TableError, match="in the way"):
            score_stream(table, scorer, tmp_path / "out.parquet", resume=resume)
    assert (folder / "thesis.txt").read_text() == "all of it"


def test_an_existing_output_is_kept_unless_forced(scorer, table, tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("mine")
    with pytest.raises(TableError, match="exists already"):
        score_stream(table, scorer, out)
    assert out.read_text() == "mine"
    assert score_stream(table, scorer, out, force=True).rows == 700


def test_progress_tells_rate_and_time_left(scorer, table, tmp_path, capsys):
    seen: list[StreamProgress] = []
    score_stream(table, scorer, tmp_path / "a.csv", batch_rows=300, progress=seen.append)
    assert [(look.rows, look.total) for look in seen] == [(300, 700), (600, 700), (700, 700)]
    assert all(look.rate > 0 for look in seen)
    assert seen[-1].seconds_left == 0
    assert str(StreamProgress(1000, 5000, 100.0)) == "1,000 of 5,000 rows, 100 rows/s, 40 s left"
    assert str(StreamProgress(1000, None, 100.0)) == "1,000 rows, 100 rows/s"
    assert StreamProgress(0, 500_000, 100.0).seconds_left == 5000
    assert "1 h 23 min left" in str(StreamProgress(0, 500_000, 100.0))
    score_stream(table, scorer, tmp_path / "b.csv", batch_rows=300, progress=True)
    assert "700 of 700 rows" in capsys.readouterr().err


def test_one_warning_for_all_batches(data, table, tmp_path):
    scorer = AffinityScorer(random_state=0, method="shared", eps=0.01, max_samples=3000).fit(
        data[COLUMNS], data["kind"]
    )
    with pytest.warns(PrecisionWarning, match="of 700 points") as found:
        score_stream(table, scorer, tmp_path / "out.csv", batch_rows=100)
    assert len(found) == 1


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"columns": ["a", "b"]}, "2 features, but AffinityScorer is expecting 6"),
        ({"columns": ["id"]}, "'id' .* does not hold numbers"),
        ({"keep": ["nobody"]}, "no column 'nobody'"),
        ({"batch_rows": 0}, "batch_rows"),
        ({"top": 0}, "top"),
    ],
)
def test_bad_input(settings, says, scorer, table, tmp_path):
    with pytest.raises(ValueError, match=says):
        score_stream(table, scorer, tmp_path / "out.csv", **settings)


def test_a_run_that_failed_at_once_leaves_nothing_in_the_way(scorer, table, tmp_path):
    with pytest.raises(ValueError, match="2 features"):
        score_stream(table, scorer, tmp_path / "out.csv", columns=["a", "b"])
    assert score_stream(table, scorer, tmp_path / "out.csv").rows == 700
    with pytest.raises(TableError, match="sink must be a file"):
        score_stream(table, scorer, "-")


def test_names_of_scores_are_not_written_twice(scorer, data, tmp_path):
    data.rename(columns={"kind": "label"}).to_parquet(tmp_path / "points.parquet", index=False)
    with pytest.raises(TableError, match="keep names 'label'"):
        score_stream(tmp_path / "points.parquet", scorer, tmp_path / "out.csv", keep=["label"])


@pytest.mark.slow
def test_memory_does_not_grow_with_the_table(tmp_path):
    """Ten times the rows, the same peak, in processes of their own."""
    script = (
        "import resource, sys\n"
        "from allegiance import score_stream\n"
        "score_stream(sys.argv[1], sys.argv[2], sys.argv[3], batch_rows=5000, top=1)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)\n"
    )
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400_000, 2))
    AffinityScorer(centers=X[:4], random_state=0).fit(X[:100]).save(tmp_path / "a.scorer")
    peaks = []
    for n in (40_000, 400_000):
        path = tmp_path / f"{n}.parquet"
        pq.write_table(pa.table({"a": X[:n, 0], "b": X[:n, 1]}), path, row_group_size=10_000)
        arguments = [
            sys.executable,
            "-c",
            script,
            str(path),
            str(tmp_path / "a.scorer"),
            str(tmp_path / f"{n}.out.parquet"),
        ]
        peaks.append(float(subprocess.run(arguments, capture_output=True, text=True, check=True).stdout))
    scores = 400_000 * 14 * 8 / 2**20
    assert peaks[1] - peaks[0] < scores / 2, "megabytes"


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_an_executor_gives_the_same_bytes(kind, data, table, tmp_path, monkeypatch):
    monkeypatch.setattr("allegiance.streaming._batches._IN_FLIGHT", 3)
    scorer = AffinityScorer(KMeans(5, n_init=1, random_state=0), random_state=0).fit(data[COLUMNS])
    score_stream(table, scorer, tmp_path / "here.parquet", batch_rows=60, keep=["id"])
    settings = {"mp_context": multiprocessing.get_context("spawn")} if kind is ProcessPoolExecutor else {}
    with kind(2, **settings) as executor:
        summary = score_stream(table, scorer, tmp_path / "there.parquet", batch_rows=60, keep=["id"], executor=executor)
    assert summary.rows == 700
    assert (tmp_path / "there.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()
