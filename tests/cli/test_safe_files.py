"""What the command says and does where files could be lost or mixed."""

from __future__ import annotations

import pyarrow as pa
import pytest

from allegiance.io._old_tables import open_source
from allegiance.io.streams._checkpoint import Checkpoint
from cli.command import call


@pytest.fixture
def table(tmp_path):
    """A feature called row, decimal numbers as labels where the format has them, ids that spreadsheets would run."""
    path = tmp_path / "points.csv"
    rows = [f"=A{i},{i % 13},{i % 7},0{i % 2 + 1}" for i in range(200)]
    path.write_text("\n".join(["id,row,y,kind", *rows, ""]))
    return path


@pytest.mark.parametrize("way", ["--stream", "--in-memory"])
def test_the_input_is_never_replaced(table, way):
    before = table.read_bytes()
    for option in ["-o", "--report"] if way == "--in-memory" else ["-o"]:
        words = ["score", table, "--labels", "kind", "--id", "id", option, table, "--force", way]
        assert "is an input" in call(*words, code=1).stderr
    assert table.read_bytes() == before


@pytest.mark.parametrize(
    "words",
    [
        ["report", "--labels", "kind", "-o"],
        ["plot", "--labels", "kind", "-o"],
        ["compare", "--labels", "kind", "--algorithm", "kmeans", "--clusters", 2, "-o"],
        ["consensus", "--drop", "kind", "--clusters", 2, "-o"],
        ["curve", "--drop", "kind", "--clusters", "2-3", "-o"],
    ],
    ids=lambda words: words[0],
)
def test_no_command_replaces_its_input(table, tmp_path, words):
    command, *options = words
    # Pictures and pages have endings of their own, but a link may have any name.
    ending = {"report": "html", "plot": "png"}.get(command, "csv")
    output = tmp_path / f"link.{ending}"
    output.symlink_to(table)
    before = table.read_bytes()
    assert "is an input" in call(command, table, *options, output, "--id", "id", "--force", code=1).stderr
    assert table.read_bytes() == before


def test_centers_are_an_input_too(table, tmp_path):
    centers = tmp_path / "centers.csv"
    centers.write_text("row,y\n1,2\n9,5\n")
    words = ["score", table, "--centers", centers, "--drop", "kind", "--id", "id", "-o", centers, "--force"]
    assert "is an input" in call(*words, code=1).stderr
    assert centers.read_text() == "row,y\n1,2\n9,5\n"


@pytest.mark.parametrize("way", ["--stream", "--in-memory"])
def test_identifiers_that_cannot_be_written_are_known_before_the_work(table, tmp_path, way, monkeypatch):
    points = open_source(table, text=["kind"]).read().drop(["id"])
    ids = pa.array([(1, 2, 3)] * 200, pa.month_day_nano_interval())
    with pa.OSFile(str(tmp_path / "points.arrow"), "wb") as file:
        whole = points.append_column("id", ids)
        with pa.ipc.new_file(file, whole.schema) as writer:
            writer.write_table(whole)

    def fail(*_, **__):
        raise AssertionError("rows were scored")

    monkeypatch.setattr("allegiance.AffinityScorer.fit_affinity", fail)
    words = ["score", tmp_path / "points.arrow", "--labels", "kind", "--id", "id", way, "-o", tmp_path / "out.parquet"]
    told = call(*words, code=1).stderr
    assert "column 'id' is of type month_day_nano_interval, which parquet files cannot hold" in told


@pytest.mark.parametrize("way", ["--stream", "--in-memory"])
def test_formulas_are_escaped_on_request(table, tmp_path, way):
    out = tmp_path / "scores.csv"
    common = ["score", table, "--labels", "kind", "--id", "id", way, "-o", out, "--force"]
    call(*common)
    assert out.read_text().splitlines()[1].startswith("=A0,")
    call(*common, "--escape-formulas")
    assert out.read_text().splitlines()[1].startswith("'=A0,")


def test_a_feature_called_row_is_scored_either_way(table, tmp_path):
    found = {}
    for way in ["--stream", "--in-memory"]:
        out = tmp_path / f"{way}.csv"
        call("score", table, "--labels", "kind", "--drop", "id", way, "-o", out)
        found[way] = open_source(out, text=["label"]).read(["row", "label"]).to_pydict()
    assert found["--stream"] == found["--in-memory"]
    assert found["--stream"]["row"] == list(range(200))
    assert found["--stream"]["label"] == [f"0{i % 2 + 1}" for i in range(200)]


def test_the_command_names_its_own_options(table, tmp_path, monkeypatch):
    out = tmp_path / "scores.csv"
    common = ["score", table, "--labels", "kind", "--id", "id", "--stream", "--batch-rows", 64, "-o", out]
    add = Checkpoint.add

    def interrupted(self, batch):
        add(self, batch)
        raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "add", interrupted)
    call(*common, code=130)
    monkeypatch.setattr(Checkpoint, "add", add)
    told = call(*common, "--details", code=1).stderr
    assert "another run: details differed. Start again with --restart" in told
    (tmp_path / "scores.csv.partial" / "manifest.json").write_text("{")
    told = call(*common, code=1).stderr
    assert "description is damaged. Start again with --restart" in told
    assert "resume" not in told
    call(*common, "--restart")
    told = call(*common, code=1).stderr
    assert "exists already. Choose another name, or replace it with --force." in told
    assert out.read_text().splitlines()[1].startswith("=A0,")
