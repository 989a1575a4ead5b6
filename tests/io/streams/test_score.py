"""Scoring in batches: the same as in memory, and the same output however often it was interrupted."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
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
from sklearn.frozen import FrozenEstimator

from allegiance import AffinityScorer, PrecisionWarning
from allegiance.engines import SharedSamples
from allegiance.fitting import Fitted, PreparedInput
from allegiance.io._old_tables import PreparedSource, TableError, open_source, plan_features
from allegiance.io.streams import StreamProgress, fit_stream, score_stream
from peak_memory import run_with_peak
from tables import read_exactly

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
    return AffinityScorer().fit(data[COLUMNS], make_blobs(700, centers=5, random_state=6)[1])


@pytest.fixture
def trusting(data: pd.DataFrame) -> AffinityScorer:
    """Return a scorer with trust, fitted to labels some of which are doubtful."""
    return AffinityScorer(calibration=4).fit(data[COLUMNS], labelled(data, "noise")["kind"])


@pytest.fixture
def table(data: pd.DataFrame, tmp_path: Path) -> Path:
    path = tmp_path / "points.parquet"
    data.to_parquet(path, index=False, row_group_size=91)
    return path


def expected_table(
    scorer: AffinityScorer, data: pd.DataFrame, top: int | None = None, details: bool = True
) -> pd.DataFrame:
    return scorer.affinity(data[COLUMNS], top=top).frame(details=details).reset_index(drop=True)


@pytest.mark.parametrize(("top", "details"), [(None, True), (2, True), (None, False)], ids=["all", "top", "short"])
@pytest.mark.parametrize("batch_rows", [100, 64, 10_000])
def test_output_has_the_bits_of_the_result_in_memory(top, details, batch_rows, scorer, data, table, tmp_path):
    asked: dict[str, Any] = {"batch_rows": batch_rows, "keep": ["id"], "top": top, "details": details}
    summary = score_stream(table, scorer, tmp_path / "out.parquet", **asked)
    found = pd.read_parquet(tmp_path / "out.parquet")
    assert list(found["id"]) == list(data["id"])
    wanted = expected_table(scorer, data, top, details)
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
    score_stream(write(data, tmp_path), scorer, tmp_path / "out.arrow", batch_rows=150, details=True)
    found = feather.read_table(tmp_path / "out.arrow").to_pandas()
    tolerance = {"rtol": 1e-12} if write is write_csv else {"check_exact": True}
    pd.testing.assert_frame_equal(found, expected_table(scorer, data), check_dtype=False, **tolerance)


class _Watched(KMeans):
    """Notes the threads in which it predicts."""

    def predict(self, X: Any) -> Any:
        self.__dict__.setdefault("threads", []).append(threading.get_ident())
        return super().predict(X)


@pytest.mark.parametrize("write", [write_csv, write_arrow], ids=["of unknown length", "of known length"])
def test_batches_beside_each_other_give_the_same_output(write, data, tmp_path):
    """However many there are; and an estimator, which others may have written, never runs in two threads."""
    fitted = _Watched(5, random_state=0).fit(data[COLUMNS].to_numpy())
    source = write(data, tmp_path)
    outputs = []
    for n_jobs in (1, 2, 5):
        scorer = AffinityScorer(FrozenEstimator(fitted), n_jobs=n_jobs).fit(data[COLUMNS].to_numpy())
        fitted.__dict__["threads"] = []
        for batch_rows in (64, 400, 1000):
            out = tmp_path / f"{n_jobs}-{batch_rows}.csv"
            score_stream(source, scorer, out, columns=COLUMNS, batch_rows=batch_rows)
            outputs.append(out.read_bytes())
        assert set(fitted.__dict__["threads"]) == {threading.get_ident()}
    assert len(set(outputs)) == 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_in_one_of_many_batches_names_its_rows(n_jobs, data, table, tmp_path, monkeypatch):
    """The batches before it are kept."""
    scorer = AffinityScorer(n_jobs=n_jobs).fit(data[COLUMNS], data["kind"])
    score_prepared = Fitted.score_prepared

    def fail(self: Fitted, points: PreparedInput, top: int | None) -> Any:
        if points.rows[0, 0] == data["a"][350]:
            raise ValueError("no")
        return score_prepared(self, points, top)

    monkeypatch.setattr(Fitted, "score_prepared", fail)
    with pytest.raises(TableError, match=r"rows 350 to 399 of .*: no"):
        score_stream(table, scorer, tmp_path / "out.csv", columns=COLUMNS, batch_rows=50)
    assert not (tmp_path / "out.csv").exists()
    monkeypatch.undo()
    assert score_stream(table, scorer, tmp_path / "out.csv", columns=COLUMNS, batch_rows=50).resumed >= 200


def test_a_mapped_array(data, tmp_path):
    X = data[COLUMNS].to_numpy(dtype=np.float32)
    np.save(tmp_path / "x.npy", X)
    scorer = AffinityScorer(centers=X[:4]).fit(X)
    scorer.save(tmp_path / "a.scorer")
    score_stream(tmp_path / "x.npy", tmp_path / "a.scorer", tmp_path / "out.csv", batch_rows=99, details=True)
    found = read_exactly(tmp_path / "out.csv")
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
            score_stream(table, scorer, out, batch_rows=100, keep=["id"], verbose=interrupt_after(batches))
        assert not out.exists()
    rows: list[int] = []
    summary = score_stream(
        table, scorer, out, batch_rows=100, keep=["id"], verbose=lambda progress: rows.append(progress.rows)
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
            table, scorer, tmp_path / "out.csv", batch_rows=100, verbose=interrupt_after(n // 100 + (n % 100) / 100)
        )
    summary = score_stream(table, scorer, tmp_path / "out.csv", batch_rows=100)
    assert summary.resumed == summary.rows == n
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


CHILD = """
import sys, time
from allegiance.io.streams import score_stream
def slowly(progress):
    print(progress.rows, flush=True)
    time.sleep(0.2)
score_stream(sys.argv[1], sys.argv[2], sys.argv[3], batch_rows=50, keep=["id"], verbose=slowly)
"""


def test_a_killed_process_loses_nothing_and_repeats_nothing(scorer, table, tmp_path):
    """SIGKILL, several times: no chance to clean up."""
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
    (tmp_path / "out.parquet.partial" / ".allegiance-0badcafe-part-00000099.arrow").write_bytes(b"half")
    summary = score_stream(table, scorer, out, batch_rows=50, keep=["id"])
    assert 200 <= summary.resumed < 700
    score_stream(table, scorer, whole, batch_rows=50, keep=["id"])
    assert out.read_bytes() == whole.read_bytes()
    assert pq.read_table(out)["id"].to_pylist() == [f"p{i:05d}" for i in range(700)]
    assert not (tmp_path / "out.parquet.partial").exists()


@pytest.mark.parametrize("changed", ["scorer", "source", "batch_rows", "top", "details", "keep", "columns", "labels"])
def test_parts_of_another_run_are_not_mixed_in(changed, scorer, data, table, tmp_path):
    out = tmp_path / "out.parquet"
    settings: dict[str, Any] = {"batch_rows": 100, "keep": ["id"], "top": 2, "columns": COLUMNS, "details": True}
    with pytest.raises(KeyboardInterrupt):
        score_stream(table, scorer, out, verbose=interrupt_after(3), **settings)
    if changed == "scorer":
        scorer = AffinityScorer(random_state=1).fit(data[COLUMNS], data["kind"])
    elif changed == "source":
        time.sleep(0.01)
        data[::-1].to_parquet(table, index=False, row_group_size=91)
    else:
        others = {"batch_rows": 50, "top": 3, "keep": ["id", "kind"], "columns": COLUMNS[::-1], "labels": "kind"}
        settings[changed] = (others | {"details": False})[changed]
    with pytest.raises(TableError, match=rf"another run: {changed} differed.*resume=False"):
        score_stream(table, scorer, out, **settings)
    summary = score_stream(table, scorer, out, resume=False, **settings)
    assert (summary.rows, summary.resumed) == (700, 0)


#: One preparation and another one of the same columns: with one scorer, only the preparation tells the two runs apart.
PREPARATIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "impute": ({"impute": "drop"}, {"impute": "median"}),
    "standardize": ({"impute": "median"}, {"impute": "median", "standardize": True}),
    "one-hot": (
        {"impute": "median", "features": ["a", "b", "kind=0", "kind=1"]},
        {"impute": "median", "features": ["a", "b"], "one_hot": ["kind"]},
    ),
}


@pytest.mark.parametrize("name", PREPARATIONS)
def test_parts_of_rows_prepared_otherwise_are_not_mixed_in(name, data, tmp_path):
    data["kind"] = np.arange(700) % 2
    data["kind=0"], data["kind=1"] = data["kind"], 1 - data["kind"]
    data.loc[::9, "b"] = np.nan
    data.to_parquet(tmp_path / "points.parquet", index=False)
    source, out = open_source(tmp_path / "points.parquet"), tmp_path / "out.parquet"
    one, other = (
        PreparedSource(source, plan_features(source, **({"features": ["a", "b"]} | plan)), ["id"])
        for plan in PREPARATIONS[name]
    )
    columns = one.names[1:]
    scorer = fit_stream(one, AffinityScorer(centers=np.eye(4, len(columns))), columns=columns)
    settings: dict[str, Any] = {"batch_rows": 100, "keep": ["id"]}
    with pytest.raises(KeyboardInterrupt):
        score_stream(one, scorer, out, verbose=interrupt_after(3), **settings)
    with pytest.raises(TableError, match="another run: preparation differed"):
        score_stream(other, scorer, out, **settings)
    assert score_stream(one, scorer, out, **settings).resumed == 300


LABELS: dict[str, Any] = {
    "numbers": [3, 5, 8, 13, 21],
    "names": list("vwxyz"),
    "whole floats": [0.0, 1.0, 2.0, 3.0, 4.0],
    "booleans": [False, True, True, False, True],
    "noise": [0, 1, -1, 2, 3],
}


def labelled(data: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Label blobs, the last hundred of them noise if there is any, so that some batches hold nothing else."""
    blobs = make_blobs(700, n_features=6, centers=5, cluster_std=4.0, random_state=6)[1]
    values = np.array(LABELS[kind])[blobs]
    if kind == "noise":
        values[600:] = -1
    return data.assign(kind=values)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("kind", LABELS)
def test_the_labels_of_the_clustering_are_those_of_the_output(kind, ending, data, tmp_path):
    data = labelled(data, kind)
    path = tmp_path / f"points.{ending}"
    data.to_parquet(path, index=False) if ending == "parquet" else data.to_csv(path, index=False)
    fitted = fit_stream(path, labels="kind", columns=COLUMNS, batch_rows=100)
    score_stream(path, fitted, tmp_path / "out.parquet", batch_rows=100, labels="kind", details=True)
    found = pd.read_parquet(tmp_path / "out.parquet")
    expected = AffinityScorer().fit_affinity(data[COLUMNS], data["kind"]).frame(details=True)
    assert list(found.columns) == list(expected.columns)
    assert found["label"].tolist() == expected["label"].tolist()
    assert (found["label"] != found["owner"]).any(), "the nearest cluster would do as well"
    affinities = found.filter(like="affinity_")
    # Means differ by rounding, so that of a thousand samples one on a border may change sides.
    np.testing.assert_allclose(affinities, expected.filter(like="affinity_"), atol=5e-3)
    exact = expected["engine"].to_numpy() == "exact"
    np.testing.assert_allclose(affinities[exact], expected.filter(like="affinity_")[exact], atol=1e-9)
    clear = expected["margin"].to_numpy() > 0.02
    assert found["stable"][clear].tolist() == expected["stable"][clear].tolist()


def test_a_run_with_labels_goes_on_where_it_stopped(data, tmp_path):
    table, out, whole = (tmp_path / name for name in ("points.parquet", "out.parquet", "whole.parquet"))
    labelled(data, "noise").to_parquet(table, index=False)
    settings: dict[str, Any] = {"batch_rows": 100, "labels": "kind", "keep": ["kind"]}
    for sink in (whole, out):
        fitted = fit_stream(table, labels="kind", columns=COLUMNS, batch_rows=64)
        if sink == out:
            with pytest.raises(KeyboardInterrupt):
                score_stream(table, fitted, out, verbose=interrupt_after(4), **settings)
        summary = score_stream(table, fitted, sink, **settings)
        assert summary.resumed == (400 if sink == out else 0)
    assert out.read_bytes() == whole.read_bytes()
    found = pd.read_parquet(out)
    assert found["label"].tolist() == found["kind"].tolist()


def test_a_person_reads_few_columns(trusting, scorer, data, table, tmp_path):
    score_stream(table, trusting, tmp_path / "trust.csv", keep=["id"])
    found = read_exactly(tmp_path / "trust.csv")
    assert list(found) == ["id", "label", "trust", "verdict", "rival", "own_affinity", "typicality"]
    np.testing.assert_array_equal(found["trust"], trusting.affinity(data[COLUMNS]).trust)
    score_stream(table, scorer, tmp_path / "affinity.csv")
    assert list(pd.read_csv(tmp_path / "affinity.csv")) == ["label", "verdict", "rival", "own_affinity", "typicality"]


def test_counts_are_those_of_the_result_in_memory_and_survive_an_interruption(trusting, data, tmp_path):
    table, out = tmp_path / "points.parquet", tmp_path / "out.parquet"
    noisy = labelled(data, "noise")
    noisy.to_parquet(table, index=False)
    settings: dict[str, Any] = {"batch_rows": 100, "labels": "kind"}
    whole = score_stream(table, trusting, tmp_path / "whole.parquet", **settings).tally
    with pytest.raises(KeyboardInterrupt):
        score_stream(table, trusting, out, verbose=interrupt_after(4), **settings)
    resumed = score_stream(table, trusting, out, **settings)
    assert resumed.resumed == 400
    assert resumed.tally.to_json() == whole.to_json()
    assert resumed.tally.replication == whole.replication
    expected = trusting.fitted_.score(data[COLUMNS], labels=noisy["kind"]).tally()
    np.testing.assert_array_equal(whole.counts, expected.counts)
    np.testing.assert_array_equal(whole.rivals, expected.rivals)
    assert (whole.undecided, whole.empty_cells, whole.engines) == (
        expected.undecided,
        expected.empty_cells,
        expected.engines,
    )
    # Sums over batches and over all rows at once differ by rounding.
    np.testing.assert_allclose(whole.replication, expected.replication, rtol=1e-12)
    np.testing.assert_allclose(whole.trust, expected.trust, rtol=1e-12)


def test_names_may_be_noise_that_the_fit_did_not_see(data, tmp_path):
    named = labelled(data, "names")
    scorer = AffinityScorer().fit(data[COLUMNS], named["kind"])
    named.loc[600:, "kind"] = "-1"
    named.to_csv(tmp_path / "points.csv", index=False)
    summary = score_stream(tmp_path / "points.csv", scorer, tmp_path / "out.csv", labels="kind", batch_rows=100)
    found = pd.read_csv(tmp_path / "out.csv", dtype=str)
    assert found["label"].tolist() == named["kind"].tolist()
    assert (found["verdict"] == "noise").tolist() == (named["kind"] == "-1").tolist()
    assert summary.tally.n_points - summary.tally.n_labelled == 100


def test_labels_are_not_features_of_tables_without_names(data, tmp_path):
    X = data[COLUMNS].to_numpy()
    np.save(tmp_path / "x.npy", np.column_stack([X, data["kind"]]))
    scorer = AffinityScorer().fit(X, data["kind"])
    score_stream(tmp_path / "x.npy", scorer, tmp_path / "out.parquet", labels="x6")
    assert pd.read_parquet(tmp_path / "out.parquet")["label"].tolist() == data["kind"].tolist()


@pytest.mark.parametrize(
    ("label", "says"),
    [
        (7, "rows 100 to 199 of .* column 'kind': labels has 7, which is not one of the clusters"),
        ("", "'kind' .* has no label in row 150"),
        (1.5, "discrete"),
    ],
)
def test_bad_labels(label, says, scorer, data, tmp_path):
    data["kind"] = data["kind"].astype(object)
    data.loc[150, "kind"] = label
    data.to_csv(tmp_path / "points.csv", index=False)
    with pytest.raises(ValueError, match=says):
        score_stream(tmp_path / "points.csv", scorer, tmp_path / "out.csv", labels="kind", batch_rows=100)


def test_labels_must_be_a_column(scorer, table, tmp_path):
    with pytest.raises(TableError, match="no column 'nothing'"):
        score_stream(table, scorer, tmp_path / "out.csv", labels="nothing")


def test_a_folder_that_is_not_ours_is_left_alone(scorer, table, tmp_path):
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
    with pytest.raises(FileExistsError, match="already exists"):
        score_stream(table, scorer, out)
    assert out.read_text() == "mine"
    assert score_stream(table, scorer, out, force=True).rows == 700


def test_progress_tells_rate_and_time_left(scorer, table, tmp_path, capsys):
    seen: list[StreamProgress] = []
    score_stream(table, scorer, tmp_path / "a.csv", batch_rows=300, verbose=seen.append)
    assert [(look.rows, look.total) for look in seen] == [(300, 700), (600, 700), (700, 700)]
    assert all(look.rate > 0 for look in seen)
    assert seen[-1].seconds_left == 0
    assert str(StreamProgress(1000, 5000, 100.0)) == "1,000 of 5,000 rows, 100 rows/s, 40 s left"
    assert str(StreamProgress(1000, None, 100.0)) == "1,000 rows, 100 rows/s"
    assert StreamProgress(0, 500_000, 100.0).seconds_left == 5000
    assert "1 h 23 min left" in str(StreamProgress(0, 500_000, 100.0))
    score_stream(table, scorer, tmp_path / "b.csv", batch_rows=300, verbose=True)
    assert "scoring: 700 rows in" in capsys.readouterr().err


def test_one_warning_for_all_batches(data, table, tmp_path):
    scorer = AffinityScorer(engine=SharedSamples(max_samples=3000), eps=0.01).fit(data[COLUMNS], data["kind"])
    with pytest.warns(PrecisionWarning, match="of 700 points") as found:
        score_stream(table, scorer, tmp_path / "out.csv", batch_rows=100)
    assert len(found) == 1


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"columns": ["a", "b"]}, "2 features, but AffinityScorer is expecting 6"),
        ({"columns": ["id"]}, "'id' .* does not hold numbers"),
        ({"keep": ["nothing"]}, "no column 'nothing'"),
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
    """Ten times the rows, the same peak."""
    script = (
        "import sys\n"
        "from allegiance import score_stream\n"
        "score_stream(sys.argv[1], sys.argv[2], sys.argv[3], batch_rows=5000, top=1)\n"
    )
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400_000, 2))
    AffinityScorer(centers=X[:4]).fit(X[:100]).save(tmp_path / "a.scorer")
    peaks = []
    for n in (40_000, 400_000):
        path = tmp_path / f"{n}.parquet"
        pq.write_table(pa.table({"a": X[:n, 0], "b": X[:n, 1]}), path, row_group_size=10_000)
        peaks.append(run_with_peak(script, path, tmp_path / "a.scorer", tmp_path / f"{n}.out.parquet")[1])
    scores = 400_000 * 14 * 8
    assert peaks[1] - peaks[0] < scores / 2


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_an_executor_gives_the_same_bytes(kind, data, table, tmp_path, monkeypatch):
    # Neither limit is always the first to be reached.
    monkeypatch.setattr("allegiance.io.streams._batches._IN_FLIGHT", 3 if kind is ThreadPoolExecutor else 64)
    monkeypatch.setattr("allegiance.io.streams._batches._BYTES_IN_FLIGHT", 10_000)
    scorer = AffinityScorer(KMeans(5, n_init=1, random_state=0), calibration=4).fit(data[COLUMNS])
    common: dict[str, Any] = {"batch_rows": 60, "keep": ["id"], "labels": "kind"}
    score_stream(table, scorer, tmp_path / "here.parquet", **common)
    settings = {"mp_context": multiprocessing.get_context("spawn")} if kind is ProcessPoolExecutor else {}
    with kind(2, **settings) as executor:
        summary = score_stream(table, scorer, tmp_path / "there.parquet", executor=executor, **common)
    assert summary.rows == 700
    assert (tmp_path / "there.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()
