"""Tables as they come: each is either scored or refused with a sentence that helps, and no output."""

from __future__ import annotations

import csv
import os

import pytest

from cli.command import call

ROWS = [(x, y, "xy"[group]) for group in (0, 1) for x, y in [(1, 2), (2, 1), (1.5, 2.5), (2, 2), (1, 1)]]
GOOD = "a,b,group\n" + "".join(f"{x + 7 * (g == 'y')},{y},{g}\n" for x, y, g in ROWS)
QUICK = ("--labels", "group", "--resamples", "2")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,b,group\n1,2,x\n2,1\n8,9,y\n", "line 3: 2 columns"),
        (b"a,b,group\n1,inf,x\n2,1,y\n", "infinite"),
        (b"a,b,group\n" + b"1,2,x\n" * 30_000 + b"1,\0,y\n", "NUL"),
        (b'a,b,group\n1,2,"x\n2,1,y\n', "quotation mark"),
    ],
    ids=["ragged", "infinity", "late-nul", "open-quote"],
)
def test_refused_with_a_reason(tmp_path, content, message):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    result = call("score", path, *QUICK, "-o", tmp_path / "scores.csv", code=1)
    assert "Error: " in result.stderr
    assert message in result.stderr
    assert os.listdir(tmp_path) == ["table.csv"]


@pytest.mark.parametrize(
    "content",
    [GOOD.replace(",", ";").replace("\n", "\r\n").encode("utf-16"), ("A title\n\n" + GOOD).encode()],
    ids=["utf-16", "title"],
)
def test_the_same_table_in_other_clothes(tmp_path, content):
    (tmp_path / "plain.csv").write_text(GOOD)
    (tmp_path / "table.csv").write_bytes(content)
    for name in ["plain", "table"]:
        call("score", tmp_path / f"{name}.csv", *QUICK, "-o", tmp_path / f"{name}.out.csv")
    assert (tmp_path / "plain.out.csv").read_bytes() == (tmp_path / "table.out.csv").read_bytes()


def test_unicode_names_and_labels_come_out_as_they_went_in(tmp_path):
    path, out = tmp_path / "größen.csv", tmp_path / "ergebnis.csv"
    rows = [[f"{i}{'日é'[i % 2]}", str(i % 5), str(i % 3), "äö"[i // 10]] for i in range(20)]
    path.write_text("名前,größe,重さ,группа\n" + "\n".join(map(",".join, rows)), encoding="utf-8")
    call("score", path, "--labels", "группа", "--resamples", "2", "-o", out)
    with out.open(encoding="utf-8", newline="") as file:
        header, *result = csv.reader(file)
    assert header[:4] == ["名前", "größe", "重さ", "группа"]
    assert [row[:4] for row in result] == rows
