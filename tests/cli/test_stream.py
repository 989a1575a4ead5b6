"""Tables read in passes: the scores of the same table in memory, whatever its length."""

from __future__ import annotations

import json
import os
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from allegiance.io._old_tables import open_sink, open_source
from cli.command import call
from peak_memory import run_with_peak


@pytest.fixture
def table(tmp_path, rng):
    """Points in five dimensions, some of them hard to measure, with names and a few holes."""
    X = rng.normal(size=(400, 5)) + 6 * rng.integers(0, 2, size=(400, 5))
    lines = [",".join([f"{i:04d}", *("" if i % 50 == 7 and j == 2 else repr(x) for j, x in enumerate(row))])
             for i, row in enumerate(X.tolist())]  # fmt: skip
    path = tmp_path / "points.csv"
    path.write_text("\n".join(["name,a,b,c,d,e", *lines]))
    np.savetxt(tmp_path / "centers.csv", X[::40] + 0.1, delimiter=",", header="a,b,c,d,e", comments="")
    return path


#: What summaries of streams and of tables in memory agree on.
SUMMED = ["supported", "contested", "contradicted", "stable", "atypical", "review", "note"]
SUMMED += ["replication", "replication_interval"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize(
    "more",
    [[], ["--details"], ["--details", "--top", "2"], ["--standardize"], ["--domain", "ball"], ["--eps", "0.2"]],
    ids=" ".join,
)
def test_given_centers_give_the_same_file_either_way(table, tmp_path, ending, more):
    common = ["score", table, "--id", "name", "--centers", tmp_path / "centers.csv", "--impute", "drop", "--json"]
    common += ["--batch-rows", 64, *more]
    summaries = []
    for way in ["--stream", "--in-memory"]:
        found = json.loads(call(*common, way, "-o", tmp_path / f"{way}.{ending}").stdout)
        assert found["points"] == 392
        summaries.append({name: found[name] for name in SUMMED})
    streamed, whole = tmp_path / f"--stream.{ending}", tmp_path / f"--in-memory.{ending}"
    if ending == "parquet":
        assert pa.parquet.read_table(streamed).equals(pa.parquet.read_table(whole))
        assert b"allegiance" in pa.parquet.read_schema(streamed).metadata
    else:
        assert streamed.read_bytes() == whole.read_bytes()
    for name, value in summaries[0].items():
        # Means of trust are added up batch by batch.
        assert value == (pytest.approx(summaries[1][name], rel=1e-12) if "right" in name else summaries[1][name])
    assert not list(tmp_path.glob("*.part*"))


def test_clusters_are_found_in_passes(table, tmp_path):
    common = ["score", table, "--id", "name", "--impute", "median", "--clusters", 6, "--stream"]
    result = call(*common, "-o", tmp_path / "scores.parquet")
    assert "mini-batch k-means" in result.stderr
    scores = open_source(tmp_path / "scores.parquet").read()
    assert scores["name"].to_pylist() == [f"{i:04d}" for i in range(400)]
    assert len(set(scores["label"].to_pylist())) == 6


def test_streams_reach_standard_output_or_nothing_at_all(table, tmp_path):
    common = ["score", "-", "--drop", "c", "--id", "name", "--clusters", 3, "--stream"]
    result = call(*common, "-o", "-", stdin=table.read_bytes())
    assert len(result.stdout.splitlines()) == 401
    assert "Expected right: " in result.stderr
    assert "Expected right: " in call(*common, stdin=table.read_bytes()).stdout


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_a_review_is_the_same_file_either_way(table, tmp_path, ending):
    common = ["score", table, "--id", "name", "--centers", tmp_path / "centers.csv", "--impute", "drop"]
    for review in ["20", "5%"]:
        common_to_both = [*common, "--review", review, "--batch-rows", 64, "--force"]
        for way in ["--stream", "--in-memory"]:
            call(*common_to_both, way, "-o", tmp_path / f"{way}.{ending}")
        streamed, whole = (open_source_of(tmp_path / f"{way}.{ending}") for way in ["--stream", "--in-memory"])
        assert streamed == whole
    printed = call(*common, "--review", "20", "--stream", "-o", "-").stdout
    assert len(printed.splitlines()) == 21
    assert not list(tmp_path.glob("*.part*"))


def open_source_of(path):
    """Return the content of a table: its rows, or its bytes if it is text."""
    return pa.parquet.read_table(path).to_pydict() if path.suffix == ".parquet" else path.read_bytes()


def test_what_needs_all_rows_is_said(table, tmp_path):
    common = ["score", table, "--id", "name", "--drop", "c", "--stream"]
    for words in [
        ["--clusters", "3", "--algorithm", "gmm"],
        ["--clusters", "3", "--influence", "rbf"],
        ["--clusters", "3", "--representative", "medoid"],
        ["--labels", "a", "--recluster", "spectral"],
        ["--clusters", "3", "--report", tmp_path / "r.html"],
    ]:
        assert "needs all rows in memory" in call(*common, *words, code=2).stderr
    words = ["--clusters", "3", "--influence", "rbf:gamma=2", "--scheduler", "tcp://127.0.0.1:9"]
    assert "needs all rows in memory: leave it or --scheduler out" in call(*common, *words, code=2).stderr


def test_long_tables_are_streamed_by_themselves(table, monkeypatch):
    monkeypatch.setattr("allegiance.cli._score.MANY_ROWS", 100)
    common = ["score", table, "--id", "name", "--drop", "c"]
    assert "mini-batch k-means" in call(*common, "--clusters", 3).stderr
    assert "mini-batch" not in call(*common, "--clusters", 3, "--in-memory").stderr
    told = call(*common, "--clusters", 3, "--algorithm", "gmm").stderr
    assert "400 rows are read into memory, since --algorithm gmm needs them all at once" in told


def test_an_interrupted_stream_goes_on_where_it_stopped(table, tmp_path, monkeypatch):
    from allegiance.io.streams._checkpoint import Checkpoint

    out = tmp_path / "scores.csv"
    common = ["score", table, "--id", "name", "--drop", "c", "--clusters", 3, "--stream", "--batch-rows", 64]
    call(*common, "-o", tmp_path / "whole.csv")
    add = Checkpoint.add

    def interrupted(self, batch):
        if self.n_parts == 3:
            raise KeyboardInterrupt
        add(self, batch)

    monkeypatch.setattr(Checkpoint, "add", interrupted)
    assert "goes on where this one stopped" in call(*common, "-o", out, code=130).stderr
    assert not out.exists()
    monkeypatch.setattr(Checkpoint, "add", add)
    resumed = call(*common, "-o", out, "--json")
    assert "192 of 400 rows were scored by an earlier run" in resumed.stderr
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()
    whole = json.loads(call(*common, "-o", tmp_path / "whole.csv", "--json", "--force").stdout)
    summary = json.loads(resumed.stdout)
    for name in [*SUMMED, "points", "labels", "clusters", "headlines"]:
        assert summary[name] == whole[name], name


def labelled(table, kind):
    """Return a table with labels: two groups, every seventh row noise if labels are numbers."""
    path = table.with_name(f"labelled {kind}.csv")
    header, *rows = table.read_text().splitlines()
    groups = [int(row.split(",")[1][:1] in "-0123") for row in rows]
    names = ["left", "right"] if kind == "names" else ["4", "2"]
    labels = ["-1" if kind == "numbers" and i % 7 == 3 else names[group] for i, group in enumerate(groups)]
    path.write_text(
        "\n".join([f"{header},group", *(f"{row},{label}" for row, label in zip(rows, labels, strict=True))])
    )
    return path


@pytest.mark.parametrize(
    ("kind", "ids"),
    [
        ("names", ["--id", "name"]),
        ("names", ["--id", "name", "--id", "group"]),
        ("numbers", ["--id", "name"]),
        ("numbers", ["--drop", "name"]),
    ],
    ids=["names", "labels carried over", "numbers", "row numbers"],
)
def test_given_labels_are_kept_either_way(table, tmp_path, kind, ids):
    common = ["score", labelled(table, kind), "--labels", "group", "--impute", "drop", *ids, "--batch-rows", 64]
    common += ["--details"]
    streamed, whole = (
        (json.loads(call(*common, way, "-o", tmp_path / f"{way}.parquet", "--json").stdout),
         open_source(tmp_path / f"{way}.parquet").read())
        for way in ["--stream", "--in-memory"]
    )  # fmt: skip
    assert streamed[1].schema.names == whole[1].schema.names
    for name in [*ids[1::2], "label", "engine"] if "--id" in ids else ["row", "label", "engine"]:
        assert streamed[1][name].equals(whole[1][name]), name
    affinities = [name for name in whole[1].schema.names if name.startswith("affinity_")]
    assert len(affinities) == 2
    exact = np.array(whole[1]["engine"]) == "exact"
    for name in affinities:
        one, other = (np.array(table[name]) for _, table in (streamed, whole))
        np.testing.assert_allclose(one, other, atol=5e-3)
        np.testing.assert_allclose(one[exact], other[exact], atol=1e-9)
    np.testing.assert_allclose(streamed[1]["trust"], whole[1]["trust"], atol=0.02)
    counts = [[(line["cluster"], line["points"]) for line in found["clusters"]] for found, _ in (streamed, whole)]
    assert sorted(counts[0], key=str) == sorted(counts[1], key=str)
    assert (counts[0][-1][0] == "noise") == (kind == "numbers")


@pytest.mark.parametrize("way", ["--stream", "--in-memory"])
def test_missing_labels_are_said_either_way(table, way):
    path = labelled(table, "names")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:90], lines[90].rpartition(",")[0] + ",", *lines[91:]]))
    result = call("score", path, "--labels", "group", "--id", "name", "--drop", "c", way, code=1)
    assert "'group'" in result.stderr
    assert "use -1" in result.stderr


def test_runs_that_prepare_rows_otherwise_are_not_mixed(table, tmp_path, monkeypatch):
    from allegiance.io.streams._checkpoint import Checkpoint

    out = tmp_path / "scores.csv"
    common = ["score", table, "--id", "name", "--centers", tmp_path / "centers.csv", "--domain", "space"]
    common += ["--stream", "--batch-rows", 64, "-o", out]
    add = Checkpoint.add
    monkeypatch.setattr(Checkpoint, "add", lambda self, batch: interrupt() if self.n_parts else add(self, batch))
    call(*common, "--impute", "median", code=130)
    monkeypatch.setattr(Checkpoint, "add", add)
    assert "preparation differed" in call(*common, "--impute", "drop", code=1).stderr
    assert "differed" in call(*common, "--impute", "median", "--standardize", code=1).stderr
    assert "64 of 400 rows" in call(*common, "--impute", "median").stderr


def interrupt():
    raise KeyboardInterrupt


def test_a_cluster_gives_the_same_file(table, tmp_path, scheduler):
    common = ["score", labelled(table, "numbers"), "--id", "name", "--impute", "median", "--batch-rows", 64]
    for name, words in {
        "labels": ["--labels", "group"],
        "clusters": ["--clusters", 3, "--drop", "group", "--details", "--top", 2],
        "given": ["--centers", tmp_path / "centers.csv", "--drop", "group"],
    }.items():
        here, there = tmp_path / f"{name}.csv", tmp_path / f"{name} there.csv"
        call(*common, *words, "--stream", "-o", here)
        result = call(*common, *words, "--scheduler", scheduler, "-o", there)
        assert "Expected right: " in result.stdout
        assert there.read_bytes() == here.read_bytes()
        assert len(here.read_text().splitlines()) == 401
    call(*common, *words, "--in-memory", "-o", tmp_path / "memory.csv")
    assert (tmp_path / "memory.csv").read_bytes() == here.read_bytes()


def test_an_address_where_nothing_answers(table, tmp_path, monkeypatch):
    monkeypatch.setattr("allegiance.cli._stream.ANSWER_SECONDS", 0.5)
    common = ["score", table, "--id", "name", "--drop", "c", "--clusters", 3, "-o", tmp_path / "out.csv"]
    for address in ["nonsense", "", "tcp://"]:
        assert "is not of the form HOST:PORT" in call(*common, "--scheduler", address, code=2).stderr
    common += ["--scheduler", "tcp://127.0.0.1:9"]
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in call(*common, code=1).stderr
    assert "leave --in-memory or --scheduler out" in call(*common, "--in-memory", code=2).stderr
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert "pip install 'allegiance[dask]'" in call(*common, code=1).stderr
    assert not list(tmp_path.glob("out.csv*"))


@pytest.mark.slow
@pytest.mark.parametrize("way", ["--centers", "--clusters"])
def test_five_million_rows_in_bounded_memory(tmp_path, rng, way):
    n, batch = 5_000_000, 250_000
    path, out = tmp_path / "big.csv", tmp_path / "scores.parquet"
    centers = np.array([[0.0, 0, 0, 0], [9, 0, 0, 0], [0, 9, 0, 0], [0, 0, 9, 0], [0, 0, 0, 9], [9, 9, 9, 9]])
    with open_sink(path) as sink:
        for start in range(0, n, batch):
            X = (centers[rng.integers(0, 6, batch)] + rng.normal(size=(batch, 4))).round(3)
            columns = {"key": np.arange(start, start + batch)} | {f"x{j}": X[:, j] for j in range(4)}
            sink.write(pa.table(columns))
    np.savetxt(tmp_path / "centers.csv", centers, delimiter=",", header="x0,x1,x2,x3", comments="")
    given = tmp_path / "centers.csv" if way == "--centers" else 6
    words = ["score", path, "--id", "key", way, given, "--eps", 0.1, "-o", out, "--json"]
    printed, peak = run_with_peak("from allegiance.cli import main\nmain()", *words)
    found = json.loads(printed)
    assert found["points"] == n
    assert [cluster["points"] for cluster in found["clusters"]] == pytest.approx([n / 6] * 6, rel=0.01)
    keys = open_source(out).read(["key"])["key"]
    assert keys[0].as_py() == "0"
    assert (len(keys), keys[-1].as_py()) == (n, str(n - 1))
    assert os.path.getsize(path) > 100e6
    # The matrix alone has 160 MB, its table of scores more than 500; imports alone take some 400.
    assert peak < 1.2e9
