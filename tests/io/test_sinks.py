"""Writing: every format, nothing half, nothing overwritten."""

import csv
import json
import math
import os
import sys
from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allegiance.io import TableError
from allegiance.io.sinks import open_sink, write_table
from allegiance.io.tables import open_table
from allegiance.io.workbooks import Percent

TABLE = pa.table(
    {"id": ["a", 'b,"c"', "d\ne", None], "x": [1.0, 0.1, None, 1e300], "stable": [True, False, None, True]}
)
FORMATS = ["csv", "tsv", "parquet", "arrow", "jsonl", "xlsx"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow", "feather", "xlsx"])
def test_what_is_written_is_read_again(tmp_path, ending):
    path = tmp_path / f"table.{ending}"
    with open_sink(path) as sink:
        sink.write(TABLE)
        sink.write(TABLE.slice(1, 2).combine_chunks().to_batches()[0])
    expected = [*TABLE.to_pylist(), *TABLE.to_pylist()[1:3]]
    result = open_table(path).read().to_pylist()
    if ending in ("csv", "tsv"):
        words = {True: "true", False: "false", None: None}
        expected = [{**row, "stable": words[row["stable"]]} for row in expected]
    assert result == expected
    write_table(path, TABLE.slice(0, 0), force=True)
    assert open_table(path).read(typed=False).num_rows == 0


@pytest.mark.parametrize("ending", ["csv", "jsonl", "xlsx"])
def test_nan_is_missing_in_every_format(tmp_path, ending):
    """NaN was `nan` in CSV files, blank in workbooks and null in JSON lines."""
    path = tmp_path / f"table.{ending}"
    write_table(path, pa.table({"id": ["a", "b"], "x": [math.nan, 2.0]}))
    assert open_table(path).read()["x"].to_pylist() == [None, 2.0]
    assert b"nan" not in path.read_bytes().lower() or ending == "xlsx"


@pytest.mark.parametrize("rows", [0, 2])
def test_json_lines(tmp_path, rows):
    write_table(tmp_path / "table.jsonl", pa.table({"name": ["é", "b"], "x": [math.nan, 2.0]}).slice(0, rows))
    expected = [{"name": "é", "x": None}, {"name": "b", "x": 2.0}][:rows]
    assert [json.loads(line) for line in (tmp_path / "table.jsonl").read_text().splitlines()] == expected


@given(
    st.lists(
        st.tuples(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1), st.text("ab,\"'\n\r;|")),
        min_size=1,
        max_size=5,
    )
)
def test_text_survives_the_csv_writer(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    write_table(path, pa.table({"first": [row[0] for row in rows], "second": [row[1] for row in rows]}))
    with path.open(newline="") as file:
        _, *result = csv.reader(file)
    assert [tuple(row) for row in result] == rows


def write_until(error, path, **settings):
    """Start to write a table, and raise an error in the middle."""
    with open_sink(path, **settings) as sink:
        sink.write(TABLE)
        assert len(set(os.listdir(path.parent)) - {path.name}) == 1
        raise error


@pytest.mark.parametrize("ending", FORMATS)
def test_an_interrupted_sink_leaves_nothing(tmp_path, ending):
    with pytest.raises(KeyboardInterrupt):
        write_until(KeyboardInterrupt, tmp_path / f"table.{ending}")
    assert os.listdir(tmp_path) == []


def test_nothing_is_overwritten_without_force(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("old")
    with pytest.raises(FileExistsError, match=r"already exists.*force=True"):
        open_sink(path)
    with pytest.raises(KeyboardInterrupt):
        write_until(KeyboardInterrupt, path, force=True)
    assert path.read_text() == "old"
    with open_sink(path, force=True) as sink:
        sink.write(TABLE)
    assert path.read_text().startswith("id,x,stable\n")
    with pytest.raises(FileExistsError, match="already exists"), open_sink(tmp_path / "new.csv"):
        (tmp_path / "new.csv").write_text("appeared in the meantime")
    assert (tmp_path / "new.csv").read_text() == "appeared in the meantime"
    (tmp_path / "link.csv").symlink_to(path)
    with open_sink(tmp_path / "link.csv", force=True) as sink:
        sink.write(TABLE.select(["x"]))
    assert (tmp_path / "link.csv").is_symlink()
    assert path.read_text().startswith("x\n")
    assert sorted(os.listdir(tmp_path)) == ["link.csv", "new.csv", "table.csv"]


def test_misuse_is_refused(tmp_path):
    with pytest.raises(TableError, match=r"table\.ods has no known ending"):
        open_sink(tmp_path / "table.ods")
    with pytest.raises(TableError, match="inside its with block"):
        open_sink(tmp_path / "table.csv").write(TABLE)
    with open_sink(tmp_path / "table.csv") as sink:
        sink.write(TABLE)
        with pytest.raises(TableError, match="different columns"):
            sink.write(TABLE.drop_columns(["x"]))


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_provenance_is_stored_where_there_is_room(tmp_path, ending):
    path = tmp_path / f"table.{ending}"
    with open_sink(path, metadata={"command": "allegiance score é", "eps": 0.03}) as sink:
        sink.write(TABLE)
    schema = pa.parquet.read_schema(path) if ending == "parquet" else pa.ipc.open_file(str(path)).schema
    assert json.loads(schema.metadata[b"allegiance"]) == {"command": "allegiance score é", "eps": 0.03}


def test_standard_output_gets_csv(capfdbinary):
    with open_sink("-") as sink:
        sink.write(pa.table({"a": [1]}))
    assert capfdbinary.readouterr().out == b"a\n1\n"
    assert not sys.stdout.closed


FORMULAS = ["=1+2", "+1", "-1", "@SUM(A1)", "\tx", "\rx", '=HYPERLINK("a","b")']


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_formulas_are_kept_verbatim_unless_they_are_to_be_escaped(tmp_path, ending):
    table = pa.table({"=name": [*FORMULAS, "plain", "a=b", None], "-x": [-1.0] * 10})
    result = {}
    for escape in (False, True):
        path = tmp_path / f"{escape}.{ending}"
        with open_sink(path, escape_formulas=escape) as sink:
            sink.write(table)
        with path.open(newline="") as file:
            result[escape] = list(csv.reader(file, delimiter="\t" if ending == "tsv" else ","))
    assert result[False] == [["=name", "-x"], *([text, "-1"] for text in [*FORMULAS, "plain", "a=b", ""])]
    escaped = [f"'{text}" for text in FORMULAS]
    assert result[True] == [["'=name", "'-x"], *([text, "-1"] for text in [*escaped, "plain", "a=b", ""])]


HARD = {
    "struct": pa.array([{"a": 1, "b": "x,y"}, None]),
    "list": pa.array([[1.5, float("nan")], None]),
    "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
    "string_view": pa.array(["a,b", None], pa.string_view()),
    "binary": pa.array([b"a\xff,", None]),
    "decimal": pa.array([1, None]).cast(pa.decimal128(30, 2)),
    "duration": pa.array([1, None], pa.duration("s")),
}


@pytest.mark.parametrize("ending", FORMATS)
def test_columns_of_any_kind_are_written(tmp_path, ending):
    path = tmp_path / f"table.{ending}"
    with open_sink(path) as sink:
        sink.check(pa.table(HARD).schema)
        sink.write(pa.table({**HARD, "n": [1, 2]}))
    if ending == "csv":
        texts = ['{"a": 1, "b": "x,y"}', "[1.5, null]", '[["a", 1]]', "a,b", "a\\xff,", "1.00", "1", "1"]
        with path.open(newline="") as file:
            assert list(csv.reader(file)) == [[*HARD, "n"], texts, [*[""] * 7, "2"]]
    elif ending == "jsonl":
        assert path.read_text().count('"n": ') == 2
    else:
        assert open_table(path).read()["n"].to_pylist() == [1, 2]


def test_workbooks_hold_no_formulas_and_may_have_a_summary(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    path = tmp_path / "table.xlsx"
    columns = {"when": [datetime(2024, 1, 31, 12)] * 8, "n": [10**17] * 8, "share": [0.613] * 8}
    table = pa.table({"=name": [*FORMULAS, "a<b&c\x01"], **columns, "price": pa.array([Decimal("1.50")] * 8)})
    table = table.append_column("age", pa.array(["19", "?", "1.5", "007", "1e5", None, "-3", "12"]))
    with open_sink(path) as sink:
        sink.formats, sink.numbers = {"share": "0%"}, ["age"]
        sink.write(table)
        sink.summary = [("Clusters", [["cluster", "replication", "rival"], ["a", Percent(0.91), "b"]])]
        sink.choices, sink.colors = {"=name": ["a", "b"]}, {"age": {"?": "#ff0000"}}
    book = openpyxl.load_workbook(path)
    cells = list(book["table"].iter_rows())
    assert [row[0].value for row in cells] == ["=name", *(text.replace("\r", "_x000D_") for text in FORMULAS), "a<b&c"]
    assert {row[0].data_type for row in cells} <= {"s", "inlineStr"}
    assert (cells[1][1].value, cells[1][2].value) == (datetime(2024, 1, 31, 12), str(10**17))
    assert (cells[1][3].number_format, cells[1][4].value) == ("0%", 1.5), "shares and decimals are numbers"
    assert [row[5].value for row in cells[1:]] == [19, "?", 1.5, "007", "1e5", None, -3, 12]
    assert cells[0][0].font.bold
    sheet = book["table"]
    assert (sheet.freeze_panes, sheet.auto_filter.ref) == ("A2", "A1:F9")
    assert sheet.data_validations.dataValidation[0].formula1 == '"a,b"'
    ((area, (rule,)),) = sheet.conditional_formatting._cf_rules.items()
    assert (str(area.sqref), rule.formula) == ("F2:F9", ['"?"'])
    assert [row[0] for row in book["summary"].values] == ["Clusters", "cluster", "a"]
    assert book["summary"]["B3"].number_format == "0%"


def test_a_sheet_that_is_full_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("allegiance.io.workbooks._SHEET_ROWS", 4)
    with pytest.raises(TableError, match="at most 3 rows"):
        write_table(tmp_path / "table.xlsx", TABLE)
    assert os.listdir(tmp_path) == []
