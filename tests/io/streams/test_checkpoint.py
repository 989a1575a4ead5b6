"""Interrupted runs: never mixed with others, never at the cost of files that are not ours."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from allegiance import AffinityScorer
from allegiance.io import TableError
from allegiance.io._old_tables import PreparedSource, open_sink, open_source, plan_features
from allegiance.io.streams import score_stream
from allegiance.io.streams._checkpoint import Checkpoint

N = 600


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    columns = {"id": np.arange(N), "x": rng.normal(size=N), "y": rng.normal(size=N), "kind": np.arange(N) % 3}
    pq.write_table(pa.table(columns), tmp_path / "points.parquet")
    return tmp_path / "points.parquet"


@pytest.fixture
def scorer(table: Path) -> AffinityScorer:
    found = pq.read_table(table)
    return AffinityScorer().fit(found.select(["x", "y"]), np.array(found["kind"]))


#: Scores slowly, and says when it has begun.
CHILD = """
import sys, time
from allegiance.io.streams import score_stream
def slowly(progress):
    print(progress.rows, flush=True)
    time.sleep(0.3)
score_stream(sys.argv[1], sys.argv[2], sys.argv[3], batch_rows=int(sys.argv[4]), keep=["id"], verbose=slowly)
"""


def test_two_runs_to_one_output_are_not_mixed(scorer, table, tmp_path):
    """Without a lock 700 rows come out here for 600: the parts of one run, then those of the other."""
    out = tmp_path / "out.parquet"
    scorer.save(tmp_path / "a.scorer")
    words = [sys.executable, "-c", CHILD, str(table), str(tmp_path / "a.scorer"), str(out)]
    with subprocess.Popen([*words, "100"], stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "100\n"
        for settings in ({"batch_rows": 60}, {"batch_rows": 100}, {"batch_rows": 60, "resume": False}):
            with pytest.raises(TableError, match=rf"being written by another run, process {first.pid} on .* since "):
                score_stream(table, scorer, out, keep=["id"], **settings)
        first.stdout.read()
    assert first.returncode == 0
    assert pq.read_table(out)["id"].to_pylist() == list(range(N))
    assert sorted(os.listdir(tmp_path)) == ["a.scorer", "out.parquet", "points.parquet"]


def test_a_run_in_this_process_excludes_others_too(tmp_path):
    with Checkpoint(tmp_path / "out.csv", {}, resume=True) as parts:
        with (
            pytest.raises(TableError, match=f"process {os.getpid()}"),
            Checkpoint(tmp_path / "out.csv", {}, resume=True),
        ):
            raise AssertionError
        parts.remove()
    assert os.listdir(tmp_path) == []


def interrupted(table: Path, scorer: AffinityScorer, out: Path, rows: int = 300, **settings: Any) -> None:
    def stop(progress: Any) -> None:
        if progress.rows >= rows:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_stream(table, scorer, out, batch_rows=100, verbose=stop, **settings)


def test_runs_are_compared_whichever_parts_are_there(scorer, table, tmp_path):
    """Parts behind a gap are never taken for those of this run."""
    out = tmp_path / "out.parquet"
    interrupted(table, scorer, out, top=1)
    (tmp_path / "out.parquet.partial" / "part-00000000.arrow").unlink()
    interrupted(table, scorer, out, rows=100, top=2)
    assert score_stream(table, scorer, out, batch_rows=100, top=2).resumed == 100


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize("manifest", ['{"scorer": "mine"}', "[]", "not JSON"])
def test_a_folder_with_some_manifest_is_left_alone(scorer, table, tmp_path, manifest, resume):
    folder = tmp_path / "out.parquet.partial"
    folder.mkdir()
    (folder / "manifest.json").write_text(manifest)
    (folder / "thesis.txt").write_text("all of it")
    with pytest.raises(TableError, match="in the way"):
        score_stream(table, scorer, tmp_path / "out.parquet", resume=resume)
    assert sorted(os.listdir(folder)) == ["manifest.json", "thesis.txt"]


@pytest.mark.parametrize("resume", [True, False])
def test_only_our_own_files_are_removed_from_our_folder(scorer, table, tmp_path, resume):
    out = tmp_path / "out.parquet"
    interrupted(table, scorer, out)
    folder = tmp_path / "out.parquet.partial"
    (folder / "notes.txt").write_text("half way")
    (folder / "part-1.arrow").write_text("copy")
    assert score_stream(table, scorer, out, batch_rows=100, resume=resume).resumed == (300 if resume else 0)
    assert sorted(os.listdir(folder)) == ["notes.txt", "part-1.arrow"]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff"])
def test_a_damaged_manifest_has_a_remedy(scorer, table, tmp_path, content):
    out = tmp_path / "out.parquet"
    interrupted(table, scorer, out)
    (tmp_path / "out.parquet.partial" / "manifest.json").write_bytes(content)
    with pytest.raises(TableError, match=r"description is damaged\. Pass resume=False") as caught:
        score_stream(table, scorer, out, batch_rows=100)
    assert caught.value.remedy == "restart"
    assert score_stream(table, scorer, out, batch_rows=100, resume=False).rows == N


def test_the_input_is_never_replaced(scorer, table):
    before = table.read_bytes()
    with pytest.raises(TableError, match="is an input"):
        score_stream(table, scorer, table, force=True)
    assert table.read_bytes() == before
    assert not table.with_name("points.parquet.partial").exists()


#: Dies while the output is put together from its parts.
DYING = """
import os, signal, sys
from allegiance.io.streams import score_stream
score_stream(sys.argv[1], sys.argv[2], sys.argv[3], batch_rows=100,
             observe=lambda batch: os.kill(os.getpid(), signal.SIGKILL))
"""


def test_a_run_killed_while_merging_leaves_nothing_for_ever(scorer, table, tmp_path):
    out = tmp_path / "out.parquet"
    scorer.save(tmp_path / "a.scorer")
    words = [sys.executable, "-c", DYING, str(table), str(tmp_path / "a.scorer"), str(out)]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    assert len(list(tmp_path.glob(".allegiance-*"))) == 1
    assert score_stream(table, scorer, out, batch_rows=100).resumed == N
    assert sorted(os.listdir(tmp_path)) == ["a.scorer", "out.parquet", "points.parquet"]


#: A limit on the size of files stands in for a full disk: writing fails in the same way.
FULL = """
import resource, sys
from allegiance.io.streams import score_stream
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), resource.RLIM_INFINITY))
try:
    score_stream(sys.argv[1], sys.argv[2], sys.argv[3], batch_rows=100, details=True)
except OSError as error:
    print(error.filename)
    print(error.strerror)
"""


@pytest.mark.parametrize(("limit", "what"), [(5_000, "part-00000000.arrow"), (30_000, "out.parquet")])
def test_a_full_disk_names_the_file_and_says_that_the_run_can_be_resumed(scorer, table, tmp_path, limit, what):
    out = tmp_path / "out.parquet"
    scorer.save(tmp_path / "a.scorer")
    words = [sys.executable, "-c", FULL, str(table), str(tmp_path / "a.scorer"), str(out), str(limit)]
    said = subprocess.run(words, check=True, capture_output=True, text=True)
    name, reason = said.stdout.splitlines()
    assert Path(name).name == what
    assert reason.endswith(f"What was scored is kept in {out}.partial: make room and start the same run again")
    assert not list(tmp_path.rglob("*.part"))
    assert score_stream(table, scorer, out, batch_rows=100, details=True).resumed == (
        0 if what.startswith("part") else N
    )


def test_what_is_written_can_be_observed(scorer, table, tmp_path):
    """All of it, in order, also what an interrupted run had scored."""
    out = tmp_path / "out.parquet"
    interrupted(table, scorer, out, keep=["id"])
    seen: list[Any] = []
    score_stream(table, scorer, out, batch_rows=100, keep=["id"], observe=seen.append)
    assert pa.Table.from_batches(seen).equals(pq.read_table(out))


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize(
    "ids",
    [
        pa.array([{"a": i} for i in range(N)]),
        pa.array([[i] for i in range(N)]),
        pa.array([str(i) for i in range(N)], pa.string_view()),
    ],
    ids=["struct", "list", "string_view"],
)
def test_identifiers_of_any_kind_are_carried_over(scorer, table, tmp_path, ids, ending):
    with open_sink(tmp_path / "points.arrow") as sink:
        sink.write(pq.read_table(table).set_column(0, "id", ids))
    source = open_source(tmp_path / "points.arrow")
    prepared = PreparedSource(source, plan_features(source, apart=["id", "kind"]), ["id", "kind"])
    assert score_stream(prepared, scorer, tmp_path / f"out.{ending}", keep=["id"], batch_rows=100).rows == N


def test_identifiers_that_the_output_cannot_hold_are_refused_before_the_work(scorer, table, tmp_path, monkeypatch):
    with pa.OSFile(str(tmp_path / "points.arrow"), "wb") as file:
        whole = pq.read_table(table).set_column(0, "id", pa.array([(1, 2, 3)] * N, pa.month_day_nano_interval()))
        with pa.ipc.new_file(file, whole.schema) as writer:
            writer.write_table(whole)
    with pytest.raises(TableError, match="column 'id' is of type month_day_nano_interval"):
        score_stream(tmp_path / "points.arrow", scorer, tmp_path / "out.parquet", keep=["id"])
    assert not (tmp_path / "out.parquet.partial").exists()


def test_a_feature_called_row_beside_numbered_rows(table, tmp_path):
    columns = pq.read_table(table).rename_columns(["row", "x", "y", "kind"])
    pq.write_table(columns, table)
    source = open_source(table)
    prepared = PreparedSource(source, plan_features(source, apart=["kind"]), ["kind"], number=True)
    fitted = AffinityScorer().fit(columns.select(["row", "x", "y"]), np.array(columns["kind"]))
    assert prepared.row_column is not None
    score_stream(prepared, fitted, tmp_path / "out.parquet", keep={prepared.row_column: "row"})
    found = pq.read_table(tmp_path / "out.parquet")
    assert found.column_names[:2] == ["row", "label"]
    assert found["row"].to_pylist() == list(range(N))


@pytest.mark.parametrize(
    "labels", [[Decimal(i % 3) for i in range(N)], [f"2024-01-0{i % 3 + 1}" for i in range(N)]], ids=["decimal", "date"]
)
def test_decimal_and_time_labels(table, tmp_path, labels):
    from allegiance.io.streams import fit_stream

    values = pa.array(labels) if isinstance(labels[0], Decimal) else pa.array(labels).cast(pa.date32())
    pq.write_table(pq.read_table(table).drop(["kind"]).append_column("kind", values), table)
    fitted = fit_stream(table, labels="kind", columns=["x", "y"])
    score_stream(table, fitted, tmp_path / "out.csv", labels="kind", keep=["id"])
    found = open_source(tmp_path / "out.csv", text=["label"]).read(["label"])["label"].to_pylist()
    assert found == [str(label) for label in labels]


def test_labels_with_leading_zeros_stay_apart(tmp_path):
    from allegiance.io.streams import fit_stream

    rows = [f"{i % 7},{i % 5},{['1', '01'][i % 2]},{i:03d}" for i in range(50)]
    (tmp_path / "points.csv").write_text("\n".join(["x,y,kind,id", *rows]))
    fitted = fit_stream(tmp_path / "points.csv", labels="kind", columns=["x", "y"])
    assert fitted.classes_.tolist() == ["01", "1"]
    score_stream(tmp_path / "points.csv", fitted, tmp_path / "out.parquet", labels="kind", keep=["id"])
    found = pq.read_table(tmp_path / "out.parquet")
    assert found["label"].to_pylist() == [["1", "01"][i % 2] for i in range(50)]
    assert found["id"].to_pylist() == [f"{i:03d}" for i in range(50)]


def test_the_manifest_describes_the_run(scorer, table, tmp_path):
    interrupted(table, scorer, tmp_path / "out.csv", keep=["id"])
    described = json.loads((tmp_path / "out.csv.partial" / "manifest.json").read_text())
    assert (described["batch_rows"], described["keep"]) == (100, {"id": "id"})
