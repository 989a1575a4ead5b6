"""Tables as they come: each is either scored or refused with a sentence that helps."""

from __future__ import annotations

import os

import pytest

from allegiance.io._old_tables import open_source
from cli.command import call

GOOD = "a,b,group\n1,2,x\n2,1,x\n8,9,y\n9,8,y\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,b,group\n1,2,x\n2,1\n8,9,y\n", "line 3: 2 columns, but the header has 3"),
        (b"a,b,group\n", "a header, but no rows"),
        (b"", "is empty"),
        (b"a,a,group\n1,2,x\n", "more than one column named 'a'"),
        (b"a,b,group\n1,inf,x\n2,1,y\n", "infinite values in b (1)"),
        (b"a,b,group\n1,\xff,x\n2,1,y\n", "UTF-8"),
        (b"PAR1 and so on", "it is a Parquet file"),
    ],
    ids=["ragged", "header-only", "empty", "duplicate-columns", "infinity", "not-utf8", "not-text"],
)
def test_refused_with_a_reason(tmp_path, content, message):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    result = call("score", path, "--labels", "group", "-o", tmp_path / "scores.csv", code=1)
    assert result.stderr.startswith("Error: ")
    assert message in result.stderr
    assert os.listdir(tmp_path) == ["table.csv"]


def test_zero_rows_of_a_parquet_file(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet

    pa.parquet.write_table(pa.table({"a": pa.array([], pa.float64())}), tmp_path / "table.parquet")
    assert "no rows" in call("score", tmp_path / "table.parquet", "--clusters", 2, code=1).stderr


def test_a_folder(tmp_path):
    assert "is a folder" in call("score", tmp_path, "--labels", "group", code=1).stderr


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    (tmp_path / "table.csv").write_text(GOOD)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "permission denied" in call("score", tmp_path / "table.csv", "--labels", "group", code=1).stderr


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + GOOD.encode(),
        GOOD.replace("\n", "\r\n").encode(),
        GOOD.replace(",", ";").encode(),
        GOOD.rstrip("\n").encode(),
        GOOD.replace("\n", "\n\n").encode(),
    ],
    ids=["bom", "crlf", "semicolons", "no-last-newline", "blank-lines"],
)
def test_the_same_table_in_other_clothes(tmp_path, content):
    (tmp_path / "plain.csv").write_text(GOOD)
    (tmp_path / "table.csv").write_bytes(content)
    for name in ["plain", "table"]:
        call("score", tmp_path / f"{name}.csv", "--labels", "group", "-o", tmp_path / f"{name}.out.csv")
    assert (tmp_path / "plain.out.csv").read_bytes() == (tmp_path / "table.out.csv").read_bytes()


def test_unicode_names_and_labels(tmp_path):
    path, out = tmp_path / "größen.csv", tmp_path / "ergebnis.csv"
    path.write_text("größe,重さ,группа,名前\n1,2,ä,é\n2,1,ä,ß\n8,9,ö,日\n")
    call("score", path, "--labels", "группа", "--id", "名前", "--details", "-o", out)
    table = open_source(out).read()
    assert table["名前"].to_pylist() == ["é", "ß", "日"]
    assert {"affinity_ä", "affinity_ö"} <= set(table.column_names)


def test_a_frame_index_is_left_out_with_a_note(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("\n".join([f"{i - 1 if i else ''},{line}" for i, line in enumerate(GOOD.splitlines())]))
    result = call("score", path, "--labels", "group", "-o", tmp_path / "with.csv")
    assert "looks like the index of a frame" in result.stderr
    (tmp_path / "plain.csv").write_text(GOOD)
    call("score", tmp_path / "plain.csv", "--labels", "group", "-o", tmp_path / "without.csv")
    assert (tmp_path / "with.csv").read_bytes() == (tmp_path / "without.csv").read_bytes()
