"""Streams: the same as in memory, and the same output however often a run was interrupted."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import Mock

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
from allegiance.domains import Polytope
from allegiance.engines import SharedSamples
from allegiance.fitting import Fitted, PreparedInput
from allegiance.influence import ItakuraSaito, Mahalanobis, Weights, Within
from allegiance.io import StreamProgress, Table, TableError, fit_stream, open_table, propose, score_stream
from allegiance.io.partitions import PartitionedSink
from allegiance.io.sinks import open_sink, write_table
from peak_memory import run_with_peak

COLUMNS = list("abcdef")
N = 700
LABELS: dict[str, Any] = {
    "numbers": [3, 5, 8, 13, 21],
    "names": list("vwxyz"),
    "leading zeros": ["1", "01", "2", "02", "002"],
    "whole floats": [0.0, 1.0, 2.0, 3.0, 4.0],
    "booleans": [False, True, True, False, True],
    "noise": [0, 1, -1, 2, 3],
}


@pytest.fixture
def data() -> pd.DataFrame:
    X, _ = make_blobs(N, n_features=6, centers=5, cluster_std=4.0, random_state=6)
    result = pd.DataFrame(X, columns=COLUMNS)
    result.insert(0, "id", [f"p{i:05d}" for i in range(N)])
    result["kind"] = np.arange(N) % 5
    return result


def labelled(data: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Label blobs, the first and the last hundred of them noise if there is any: batches that hold nothing else."""
    blobs = make_blobs(N, n_features=6, centers=5, cluster_std=4.0, random_state=6)[1]
    values = np.array(LABELS[kind])[blobs]
    if kind == "noise":
        values[:100] = values[600:] = -1
    return data.assign(kind=values)


@pytest.fixture
def scorer(data: pd.DataFrame) -> AffinityScorer:
    return AffinityScorer().fit(data[COLUMNS], make_blobs(N, centers=5, random_state=6)[1])


@pytest.fixture
def table(data: pd.DataFrame, tmp_path: Path) -> Path:
    path = tmp_path / "points.parquet"
    data.to_parquet(path, index=False, row_group_size=91)
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.parquet"


@pytest.mark.parametrize(
    ("top", "details", "batch_rows"),
    [(None, True, 100), (2, True, 64), (None, False, 10_000)],
    ids=["all", "top", "short"],
)
def test_output_has_the_bits_of_the_result_in_memory(top, details, batch_rows, scorer, data, table, out, tmp_path):
    asked: dict[str, Any] = {"batch_rows": batch_rows, "keep": ["id"], "top": top, "details": details}
    summary = score_stream(table, scorer, out, **asked)
    result = pd.read_parquet(out)
    assert list(result["id"]) == list(data["id"])
    wanted = scorer.affinity(data[COLUMNS], top=top).frame(details=details).reset_index(drop=True)
    pd.testing.assert_frame_equal(result.drop(columns="id"), wanted, check_exact=True, check_dtype=False)
    assert (summary.rows, summary.resumed) == (700, 0)
    assert summary.summary.n_points == 700


class _Watched(KMeans):
    """Notes the threads in which it predicts."""

    def predict(self, X: Any) -> Any:
        self.__dict__.setdefault("threads", []).append(threading.get_ident())
        return super().predict(X)


@pytest.mark.parametrize("ending", ["csv", "arrow", "parquet"])
def test_every_format_and_batches_measured_together_give_the_same(ending, data, tmp_path):
    """And an estimator, which others may have written, never runs in two threads."""
    fitted = _Watched(5, random_state=0).fit(data[COLUMNS].to_numpy())
    source, outputs = tmp_path / f"part-*.{ending}", set()
    for part, start in enumerate(range(0, 700, 123)):
        write_table(tmp_path / f"part-{part}.{ending}", pa.Table.from_pandas(data[start : start + 123]))
    for n_jobs in (1, 2, 5):
        scorer = AffinityScorer(FrozenEstimator(fitted), n_jobs=n_jobs).fit(data[COLUMNS].to_numpy())
        fitted.__dict__["threads"] = []
        for batch_rows in (64, 400, 1000):
            out = tmp_path / f"{n_jobs}-{batch_rows}.arrow"
            score_stream(source, scorer, out, columns=COLUMNS, batch_rows=batch_rows, details=True)
            outputs.add(feather.read_table(out).to_pandas().to_csv())
        assert set(fitted.__dict__["threads"]) == {threading.get_ident()}
    assert len(outputs) == 1
    expected = scorer.affinity(data[COLUMNS].to_numpy()).frame(details=True)
    tolerance = {"rtol": 1e-12} if ending == "csv" else {"check_exact": True}
    result = feather.read_table(out).to_pandas()
    pd.testing.assert_frame_equal(result, expected.reset_index(drop=True), check_dtype=False, **tolerance)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_in_one_of_many_batches_names_its_rows(n_jobs, data, table, tmp_path, monkeypatch):
    scorer = AffinityScorer(n_jobs=n_jobs).fit(data[COLUMNS], data["kind"])
    score_prepared = Fitted.score_prepared

    def fail(self: Fitted, points: PreparedInput, top: int | None) -> Any:
        if points.rows[0, 0] == data["a"][350]:
            raise ValueError("no")
        return score_prepared(self, points, top)

    monkeypatch.setattr(Fitted, "score_prepared", fail)
    with pytest.raises(TableError, match=r"rows 350 to 399 of .*: no"):
        score_stream(table, scorer, tmp_path / "out.csv", columns=COLUMNS, batch_rows=50)
    assert os.listdir(tmp_path) == ["points.parquet"]


def test_only_the_columns_needed_are_read(scorer, table, out, monkeypatch):
    seen: list[list[str]] = []
    source = open_table(table)
    batches = source.batches

    def watched(columns: Any, *rest: Any, **more: Any) -> Any:
        seen.append(list(columns))
        return batches(columns, *rest, **more)

    monkeypatch.setattr(source, "batches", watched)
    score_stream(source, scorer, out, keep=["kind"])
    assert seen == [[*COLUMNS, "kind"]]


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("kind", LABELS)
def test_the_labels_of_the_clustering_are_those_of_the_output(kind, ending, data, out, tmp_path):
    data = labelled(data, kind)
    path = tmp_path / f"points.{ending}"
    data.to_parquet(path, index=False) if ending == "parquet" else data.to_csv(path, index=False)
    fitted = fit_stream(path, labels="kind", columns=COLUMNS, batch_rows=100)
    score_stream(path, fitted, out, batch_rows=100, labels="kind", details=True)
    result = pd.read_parquet(out)
    expected = AffinityScorer().fit_affinity(data[COLUMNS], data["kind"]).frame(details=True)
    assert list(result.columns) == list(expected.columns)
    # Truth values in text are words.
    assert result["label"].astype(str).tolist() == expected["label"].astype(str).tolist()
    assert (result["label"] != result["owner"]).any(), "the nearest cluster would do as well"
    affinities = [frame.filter(like="affinity_") for frame in (result, expected)]
    np.testing.assert_array_equal(*affinities)


def test_counts_are_those_of_the_result_in_memory(data, tmp_path):
    noisy = labelled(data, "noise")
    scorer = AffinityScorer(calibration=4).fit(data[COLUMNS], noisy["kind"])
    table = tmp_path / "points.parquet"
    noisy.to_parquet(table, index=False)
    settings: dict[str, Any] = {"batch_rows": 100, "labels": "kind"}
    whole = score_stream(table, scorer, tmp_path / "whole.parquet", **settings).summary
    expected = scorer.fitted_.score(data[COLUMNS], labels=noisy["kind"]).summary()
    one, other = (json.loads(summary.to_json()) for summary in (whole, expected))
    assert one.pop("seconds") != other.pop("seconds")
    assert one == other
    assert whole.replication == expected.replication
    assert str(whole.clusters) == str(expected.clusters)  # NaN differs from itself


def test_few_columns_are_written_and_none_twice(scorer, data, table, tmp_path):
    score_stream(table, scorer, tmp_path / "out.csv", row_numbers=True, keep={"kind": "group"}, batch_rows=100)
    result = pd.read_csv(tmp_path / "out.csv")
    assert list(result) == ["row", "group", "label", "rival", "own_affinity", "typicality", "priority"]
    assert result["row"].tolist() == list(range(700))
    with pytest.raises(TableError, match="keep names 'label'"):
        score_stream(table, scorer, tmp_path / "twice.csv", keep={"kind": "label"})


def test_labels_may_be_noise_blank_or_wrong(data, tmp_path):
    named = labelled(data, "names")
    scorer = AffinityScorer().fit(data[COLUMNS], named["kind"])
    named.loc[600:, "kind"] = "-1"  # noise, which the fit did not see
    named.loc[150, "kind"] = ""
    named.to_csv(tmp_path / "points.csv", index=False)
    settings: dict[str, Any] = {"labels": "kind", "keep": ["id"], "batch_rows": 100}
    summary = score_stream(tmp_path / "points.csv", scorer, tmp_path / "out.csv", **settings)
    result = pd.read_csv(tmp_path / "out.csv", dtype=str)
    expected = named[named.index != 150]
    assert result["id"].tolist() == expected["id"].tolist(), "a row without a label is left out"
    assert result["label"].tolist() == expected["kind"].tolist()
    assert result["priority"].isna().tolist() == (expected["kind"] == "-1").tolist()
    assert summary.summary.n_points - summary.summary.n_labels == 100
    named.loc[150, "kind"] = "q"
    named.to_csv(tmp_path / "points.csv", index=False)
    with pytest.raises(ValueError, match=r"rows 100 to 199 of .*'q'"):
        score_stream(tmp_path / "points.csv", scorer, tmp_path / "wrong.csv", **settings)


def test_labels_are_not_features_of_tables_without_names(data, out, tmp_path):
    X = data[COLUMNS].to_numpy()
    np.save(tmp_path / "x.npy", np.column_stack([X, data["kind"]]))
    scorer = AffinityScorer().fit(X, data["kind"])
    score_stream(tmp_path / "x.npy", scorer, out, labels="x6")
    assert pd.read_parquet(out)["label"].tolist() == data["kind"].tolist()


def test_progress_tells_rate_and_time_left(scorer, table, tmp_path):
    seen: list[StreamProgress] = []
    score_stream(table, scorer, tmp_path / "a.csv", batch_rows=300, verbose=seen.append)
    assert [(look.rows, look.total) for look in seen] == [(300, N), (600, N), (N, N)]
    assert all(look.rate > 0 for look in seen)
    assert seen[-1].seconds_left == 0
    assert "1:23:20 left" in str(StreamProgress(0, 500_000, 100.0))
    assert "left" not in str(seen[-1])
    assert "left" not in str(StreamProgress(1000, None, 100.0))


def test_one_warning_for_all_batches(data, table, tmp_path):
    scorer = AffinityScorer(engine=SharedSamples(max_samples=3000), eps=0.01).fit(data[COLUMNS], data["kind"])
    with pytest.warns(PrecisionWarning, match="of 700 points") as result:
        score_stream(table, scorer, tmp_path / "out.csv", batch_rows=100)
    assert len(result) == 1


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"columns": ["a", "b"]}, "2 features, but AffinityScorer is expecting 6"),
        ({"columns": ["id"]}, "column 'id' contains .* not a number"),
        ({"keep": ["nothing"]}, "no column 'nothing'"),
        ({"labels": "nothing"}, "no column 'nothing'"),
        ({"sink": "points.parquet", "force": True}, "is an input"),
        ({"batch_rows": 0}, "batch_rows"),
        ({"top": 0}, "top"),
    ],
)
def test_bad_input_leaves_nothing_in_the_way(settings, says, scorer, table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = table.read_bytes()
    with pytest.raises(ValueError, match=says):
        score_stream(table, scorer, **{"sink": "out.csv"} | settings)
    assert table.read_bytes() == before
    assert score_stream(table, scorer, "out.csv").rows == N
    assert sorted(os.listdir(tmp_path)) == ["out.csv", "points.parquet"]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_table(tmp_path):
    """Twenty-five times the rows, the same peak, which varies by up to 25 MB from run to run."""
    script = (
        "import sys\n"
        "from allegiance.io import score_stream\n"
        "score_stream(sys.argv[1], sys.argv[2], sys.argv[3], batch_rows=5000, top=1)\n"
    )
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_000, 2))
    AffinityScorer(centers=X[:4]).fit(X[:100]).save(tmp_path / "a.model")
    peaks = []
    for n in (40_000, 1_000_000):
        path = tmp_path / f"{n}.parquet"
        pq.write_table(pa.table({"a": X[:n, 0], "b": X[:n, 1]}), path, row_group_size=10_000)
        peaks.append(run_with_peak(script, path, tmp_path / "a.model", tmp_path / f"{n}.out.parquet")[1])
    scores = 1_000_000 * 14 * 8
    assert peaks[1] - peaks[0] < scores / 2


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, pytest.param(ProcessPoolExecutor, marks=pytest.mark.slow)])
def test_an_executor_gives_the_same_bytes(kind, data, table, tmp_path, monkeypatch):
    # Neither limit is always the first to be reached.
    monkeypatch.setattr("allegiance.io.streams._IN_FLIGHT", 3 if kind is ThreadPoolExecutor else 64)
    monkeypatch.setattr("allegiance.io.streams._BYTES_IN_FLIGHT", 10_000)
    scorer = AffinityScorer(KMeans(5, n_init=1, random_state=0), calibration=4).fit(data[COLUMNS])
    common: dict[str, Any] = {"batch_rows": 60, "keep": ["id"], "labels": "kind"}
    score_stream(table, scorer, tmp_path / "here.parquet", **common)
    settings = {"mp_context": multiprocessing.get_context("spawn")} if kind is ProcessPoolExecutor else {}
    with kind(2, **settings) as executor:
        summary = score_stream(table, scorer, tmp_path / "there.parquet", executor=executor, **common)
    assert summary.rows == 700
    assert (tmp_path / "there.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()


# Folders: one finished file per partition.


def split(data: pd.DataFrame, folder: Path, rows: int = 175) -> Path:
    folder.mkdir()
    for start in range(0, N, rows):
        data[start : start + rows].to_parquet(folder / f"{start:03d}.parquet", index=False)
    return folder


def stop_after(rows: int) -> Any:
    def stop(progress: StreamProgress) -> None:
        if progress.rows >= rows:
            raise KeyboardInterrupt

    return stop


def test_a_folder_that_was_interrupted_gets_its_missing_files(scorer, data, tmp_path):
    source, whole, out = split(data, tmp_path / "in"), tmp_path / "whole", tmp_path / "out"
    settings: dict[str, Any] = {"batch_rows": 50, "keep": ["id"]}
    score_stream(source, scorer, f"{whole}/", **settings)
    for rows in (200, 400):
        with pytest.raises(KeyboardInterrupt):
            score_stream(source, scorer, f"{out}/", verbose=stop_after(rows), **settings)
        assert not list(out.rglob(".allegiance-*"))
    summary = score_stream(source, scorer, f"{out}/", **settings)
    assert (summary.rows, summary.resumed) == (N, 350)
    for path in whole.glob("*.parquet"):
        assert path.read_bytes() == (out / path.name).read_bytes()
    again = score_stream(source, scorer, f"{out}/", **settings)
    assert again.resumed == N
    first, second = (json.loads(each.summary.to_json()) | {"seconds": 0} for each in (summary, again))
    assert first == second


def test_a_run_killed_between_a_file_and_its_record_can_be_repeated(scorer, table, tmp_path, monkeypatch):
    """The file was refused as one that allegiance had not written."""
    source, out = table.rename(table.with_name("run.parquet")), tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(PartitionedSink, "finish", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            score_stream(source, scorer, f"{out}/")
    (out / ".allegiance-0123456789ab-run.parquet").touch()
    assert score_stream(source, scorer, f"{out}/").rows == N
    assert [path.name for path in out.glob("*.parquet")] == ["run.parquet"]
    assert not list(out.rglob(".allegiance-*"))
    assert not (out / "_allegiance" / "run.json").exists()


@pytest.mark.parametrize("changed", ["scorer", "source", "top", "keep", "labels"])
def test_files_of_another_run_are_not_mixed_in(changed, scorer, data, tmp_path):
    source, out = split(data, tmp_path / "in"), f"{tmp_path / 'out'}/"
    settings: dict[str, Any] = {"batch_rows": 100, "keep": ["id"], "top": 2, "columns": COLUMNS, "details": True}
    score_stream(source, scorer, out, **settings)
    if changed == "scorer":
        scorer = AffinityScorer(random_state=1).fit(data[COLUMNS], data["kind"])
    elif changed == "source":
        data[::-1].head(175).to_parquet(source / "000.parquet", index=False)
    else:
        settings[changed] = {"top": 3, "keep": ["id", "kind"], "labels": "kind"}[changed]
    with pytest.raises(TableError, match="was written by another run"):
        score_stream(source, scorer, out, **settings)
    assert score_stream(source, scorer, out, force=True, **settings).resumed == 0


def test_long_files_give_several_parts(scorer, table, tmp_path, monkeypatch):
    monkeypatch.setattr("allegiance.io.partitions.PART_ROWS", 300)
    score_stream(table, scorer, f"{tmp_path / 'out'}/", keep=["id"], batch_rows=80)
    rows = {path.stem: pq.read_table(path)["id"].to_pylist() for path in (tmp_path / "out").glob("*.parquet")}
    assert {name: len(ids) for name, ids in rows.items()} == {
        "points-00000": 300,
        "points-00001": 300,
        "points-00002": 100,
    }
    assert [name for _, ids in sorted(rows.items()) for name in ids] == [f"p{i:05d}" for i in range(N)]


def test_partitions_do_not_need_a_writable_current_folder(scorer, table, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    access, here = os.access, os.getcwd()
    monkeypatch.setattr(os, "access", lambda path, mode: os.fspath(path) != here and access(path, mode))
    assert score_stream(table, scorer, f"{tmp_path / 'out'}/").rows == N


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on open files")
def test_a_folder_may_have_more_files_than_a_process_may_open(scorer, data, tmp_path):
    import resource

    (tmp_path / "in").mkdir()
    for number in range(40):
        data[number : number + 2].to_parquet(tmp_path / "in" / f"{number:02}.parquet")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/dev/fd")) + 30, hard))
    try:
        done = score_stream(tmp_path / "in", scorer, f"{tmp_path / 'out'}/", columns=COLUMNS)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert done.rows == 80


def test_a_file_that_changes_while_it_is_read_is_refused(data, tmp_path):
    data.to_parquet(tmp_path / "a.parquet", row_group_size=100)
    table = open_table(tmp_path / "a.parquet")
    data.head(300).to_parquet(tmp_path / "a.parquet", row_group_size=100)
    with pytest.raises(TableError, match=r"a\.parquet was changed by another program"):
        table.read()


def test_only_one_run_writes_a_folder(scorer, table, tmp_path):
    with (
        PartitionedSink(tmp_path / "out"),
        pytest.raises(TableError, match="being written by another run"),
    ):
        score_stream(table, scorer, f"{tmp_path / 'out'}/")


def test_a_run_leaves_the_temporary_files_of_others_alone(scorer, table, tmp_path):
    """A stream to scores.csv deleted the unfinished january-scores.csv of another run."""
    with open_sink(tmp_path / "january-scores.csv") as other:
        other.write(pa.table({"x": [1]}))
        score_stream(table, scorer, tmp_path / "scores.csv")
    assert (tmp_path / "january-scores.csv").read_text() == "x\n1\n"


CHILD = """
import sys, time
from allegiance.io import score_stream
def slowly(progress):
    print(progress.rows, flush=True)
    time.sleep(0.1)
score_stream(sys.argv[1], sys.argv[2], sys.argv[3], batch_rows=50, keep=["id"], verbose=slowly)
"""


@pytest.fixture(scope="module")
def s3():
    """A local object store."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    settings = {"AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(name, value)
        store = pytest.importorskip("s3fs").S3FileSystem()
        store.mkdir("bucket")
        yield store
    server.stop()


@pytest.mark.slow
@pytest.mark.parametrize("place", ["local", "s3"])
def test_a_killed_process_leaves_only_finished_files(place, scorer, data, tmp_path, request):
    """SIGKILL, several times: no chance to clean up."""
    source = split(data, tmp_path / "in")
    model = tmp_path / "a.model"
    out = f"{tmp_path / 'out'}/"
    if place == "s3":
        store = request.getfixturevalue("s3")
        store.put(str(source), "bucket/in", recursive=True)
        out = "s3://bucket/out/"
        scorer.save("s3://bucket/a.model")
        source, model = "s3://bucket/in", "s3://bucket/a.model"
    else:
        scorer.save(model)
    words = [sys.executable, "-c", CHILD, str(source), str(model), out]
    for lines in (5, 4):
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(lines):
                process.stdout.readline()
            os.kill(process.pid, signal.SIGKILL)
    summary = score_stream(str(source), str(model), out, batch_rows=50, keep=["id"])
    assert summary.rows == N
    assert 175 <= summary.resumed < N
    assert open_table(out).read(["id"]).column(0).to_pylist() == [f"p{i:05d}" for i in range(N)]


def test_identifiers_that_the_output_cannot_hold_are_refused_before_the_work(scorer, table, out, tmp_path):
    held = pq.read_table(table).set_column(0, "id", pa.array([(1, 2, 3)] * N, pa.month_day_nano_interval()))
    with pytest.raises(TableError, match="column 'id' has type month_day_nano_interval"):
        score_stream(held, scorer, out, keep=["id"])


# Fits in passes.

FEATURES = list("abcd")


def positive(n: int = 500, k: int = 6) -> pd.DataFrame:
    X, labels = make_blobs(n, n_features=4, centers=k, cluster_std=3.0, random_state=5)
    return pd.DataFrame(np.abs(X) + 0.1, columns=FEATURES).assign(kind=labels)


FITS: dict[str, dict[str, Any]] = {
    "plain": {},
    "ball": {"domain": "ball"},
    "whole space": {"domain": "space"},
    "own region": {"domain": Polytope.box([-50.0] * 4, [50.0] * 4)},
    "within": {"influence": "within"},
    "within in a ball": {"influence": Within(), "domain": "ball"},
    "size": {"weights": Weights("size", scale="auto")},
    "density": {"weights": Weights("density", scale=0.1)},
    "kl": {"influence": "kl"},
    "smoothed": {"influence": ItakuraSaito(smoothing=1.0)},
    "mahalanobis": {"influence": Mahalanobis(np.diag([1.0, 2.0, 3.0, 4.0]))},
}


@pytest.mark.parametrize("k", [3, pytest.param(6, marks=pytest.mark.slow)], ids=["reduced", "own axes"])
@pytest.mark.parametrize("name", FITS)
def test_labels_give_the_bits_of_memory(name, k):
    data = positive(k=k)
    X, scorer = data[FEATURES], AffinityScorer(**FITS[name])
    streamed = fit_stream(data, scorer, labels="kind", batch_rows=73)
    expected = scorer.fit(X, data["kind"])
    for attribute in ("cluster_centers_", "classes_", "feature_names_in_"):
        np.testing.assert_array_equal(getattr(streamed, attribute), getattr(expected, attribute), err_msg=attribute)
    assert streamed.affinity(X).frame(details=True).equals(expected.affinity(X).frame(details=True))


@pytest.mark.parametrize("ending", ["parquet", "npy"])
@pytest.mark.parametrize("settings", [{}, {"weights": "size"}, {"domain": "ball"}])
def test_given_centers_give_the_same_bits(settings, ending, tmp_path):
    X = positive()[FEATURES]
    X.to_parquet(tmp_path / "points.parquet", index=False)
    if ending == "npy":
        X = X.to_numpy(dtype=np.float32)
        np.save(tmp_path / "points.npy", X)
    scorer = AffinityScorer(influence="euclidean", centers=np.asarray(X)[[0, 9, 99]], **settings)
    streamed = fit_stream(tmp_path / f"points.{ending}", scorer, batch_rows=64)
    expected = scorer.fit(X)
    assert hasattr(streamed, "feature_names_in_") == (ending == "parquet")
    result, wanted = streamed.fitted_.tessellation.functions, expected.fitted_.tessellation.functions
    for one, other in zip(result, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(streamed.transform(X), expected.transform(X))


def test_a_large_common_offset_rounds_nothing():
    data = positive()
    data[FEATURES] += 1e9
    streamed = fit_stream(data, labels="kind", batch_rows=50)
    exact = (data[FEATURES] - 1e9).groupby(data["kind"]).mean()
    np.testing.assert_allclose(streamed.cluster_centers_ - 1e9, exact, atol=1e-5)


def test_labels_name_given_centers():
    data = positive(k=3)
    data["kind"] = np.array(["ant", "bee", "cat"])[data["kind"]]
    scorer = AffinityScorer(centers=np.eye(3, 4), weights="size")
    streamed = fit_stream(data, scorer, labels="kind", batch_rows=90)
    assert list(streamed.classes_) == ["ant", "bee", "cat"]
    np.testing.assert_allclose(streamed.fitted_.diagram.weights, data.groupby("kind").size() / len(data))


@pytest.mark.parametrize("settings", [{}, {"influence": "within"}, {"weights": "size"}])
def test_clusters_are_those_of_kmeans_whatever_the_batches(settings):
    """Once a single step of mini-batch k-means, on tables of one batch."""
    scorer = AffinityScorer(random_state=4, **settings)
    X = positive()[FEATURES]
    fits = [fit_stream(X, scorer, n_clusters=5, batch_rows=rows) for rows in (37, 100, 1000)]
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0].cluster_centers_, other.cluster_centers_)
    squares = ((X.to_numpy()[:, None] - fits[0].cluster_centers_) ** 2).sum(axis=2)
    assert squares.min(axis=1).sum() <= 1.01 * KMeans(5, n_init=10, random_state=0).fit(X).inertia_
    expected = AffinityScorer(centers=fits[0].cluster_centers_, random_state=4, **settings)
    expected.fit(X, squares.argmin(axis=1))
    np.testing.assert_allclose(fits[0].transform(X), expected.transform(X), atol=5e-3)


def test_a_category_that_decides_the_clusters_does_not_hide_the_numbers():
    """Its deviation from the centers of k-means, by rounding only, once outweighed all other columns."""
    data = positive(k=6)
    data = data.assign(kind=np.where(data["kind"] % 2, "gold", "basic"))
    data[FEATURES] += 40 * (data[["kind"]] == "gold").to_numpy()
    plan = propose(open_table(data))
    model = fit_stream(data, AffinityScorer(influence="within", random_state=0), plan=plan, n_clusters=6)
    X = plan.matrix(data)
    expected = AffinityScorer(influence="within", random_state=0).fit(X, model.predict(data))
    np.testing.assert_array_equal(model.scorer.transform(X), expected.transform(X))


@pytest.mark.parametrize("profiled", [True, False])
def test_kmeans_sees_a_sample_of_a_long_table(profiled, tmp_path, monkeypatch):
    """The pass of the profile has drawn it; without one the table is read once."""
    monkeypatch.setattr("allegiance.io.streams.SAMPLE_ROWS", 700)
    data = positive(n=2_000)
    data.to_parquet(tmp_path / "points.parquet", index=False)
    table = open_table(tmp_path / "points.parquet")
    plan = propose(table, features=FEATURES, scale=False)
    source, passes, chunks = table if profiled else open_table(tmp_path / "points.parquet"), [], Table._chunks
    monkeypatch.setattr(Table, "_chunks", lambda self, *a, **k: passes.append(a) or chunks(self, *a, **k))
    fitted = fit_stream(source, n_clusters=6, plan=plan).scorer
    assert len(passes) == (0 if profiled else 1)
    direct = fit_stream(tmp_path / "points.parquet", n_clusters=6, columns=FEATURES, batch_rows=90)
    np.testing.assert_array_equal(fitted.cluster_centers_, direct.cluster_centers_)
    X = data[FEATURES].to_numpy()
    inertia = ((X[:, None] - fitted.cluster_centers_) ** 2).sum(axis=2).min(axis=1).sum()
    assert inertia <= 1.1 * KMeans(6, n_init=10, random_state=0).fit(X).inertia_


@pytest.mark.parametrize(
    ("parameters", "settings", "says"),
    [
        ({}, {}, "n_clusters, or labels, or a scorer with centers"),
        ({}, {"n_clusters": 3, "labels": "kind"}, "n_clusters, or labels, or a scorer with centers"),
        ({"influence": "rbf"}, {"labels": "kind"}, "needs all rows in memory"),
        ({"representative": "medoid"}, {"labels": "kind"}, "representative='medoid' needs all rows"),
        ({"estimator": KMeans(3)}, {"labels": "kind"}, "estimator needs all rows"),
        ({}, {"labels": "nothing"}, "no column 'nothing'"),
        ({"centers": np.eye(3)}, {"columns": FEATURES}, "centers has 3 columns but X has 4"),
        ({"centers": np.eye(4)}, {"labels": "kind"}, "labels names 6 clusters but centers has 4"),
        ({}, {"labels": "a", "columns": ["b"]}, "discrete"),
        ({}, {"labels": "kind", "batch_rows": 0}, "batch_rows"),
    ],
)
def test_bad_input_of_a_fit(parameters, settings, says):
    with pytest.raises(ValueError, match=says):
        fit_stream(positive(), AffinityScorer(**parameters), **settings)
