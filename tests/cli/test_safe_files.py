"""What the command says and does where files could be lost or mixed."""

from __future__ import annotations

import pytest

from allegiance.io.streams._checkpoint import Checkpoint
from allegiance.io.tables import open_source
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
        assert "is the input" in call(*words, code=1).stderr
    assert table.read_bytes() == before


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
