"""Text files that lose rows, columns or labels in careless hands."""

from __future__ import annotations

import pytest

from allegiance.io._old_tables import TableError, open_source
from allegiance.io._old_tables._quotes import swallowing_quote

ROWS = [f"{i},{i % 7},{'abc'[i % 3]}" for i in range(1000)]


def table_with(tmp_path, changes, name="table.csv"):
    rows = list(ROWS)
    for number, row in changes.items():
        rows[number] = row
    (tmp_path / name).write_text("\n".join(["x,y,kind", *rows]) + "\n")
    return tmp_path / name


@pytest.mark.parametrize("block", [8 << 20, 4096], ids=["one block", "many blocks"])
def test_a_quote_that_is_not_closed_is_named_by_its_line(tmp_path, monkeypatch, block):
    monkeypatch.setattr("allegiance.io._old_tables._csv._BLOCK", block)
    path = table_with(tmp_path, {500: '500,3,"b'})
    with pytest.raises(TableError, match=r"table\.csv: the quotation mark opened in line 502 is not closed"):
        open_source(path).read()
    # In another column than the last, the row has too few columns as well: the quote is what to tell.
    with pytest.raises(TableError, match="opened in line 502 is not closed"):
        open_source(table_with(tmp_path, {500: '500,"3,b'})).read()


def test_a_quote_that_the_next_one_closes_is_named_too(tmp_path):
    path = table_with(tmp_path, {500: '500,3,"b', 800: '800,2,"c"'})
    with pytest.raises(TableError, match="opened in line 502 is closed in line 802, in the middle of a value"):
        open_source(path).read()


def test_values_over_several_lines_are_read(tmp_path):
    path = table_with(tmp_path, {500: '500,3,"b\nc ""d"", e"', 600: '600,5,5" nail', 999: '999,5,"last\n"'})
    kinds = open_source(path).read()["kind"].to_pylist()
    assert len(kinds) == 1000
    assert (kinds[500], kinds[600], kinds[999]) == ('b\nc "d", e', '5" nail', "last\n")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('a,b\n1,"x"\n', None),
        ('a,b\n1,x"y\n', None),
        ('a,b\n"x"y,2\n', None),
        ('a,b\r\n"x\r\ny",2\r\n', None),
        ('a,b\n1,"x\n', "opened in line 2 is not closed"),
        ('a,b\n"x\ny","z\n', "opened in line 3 is not closed"),
        ('a,b\n1,"""\n2,""\n', "opened in line 2 is not closed"),
        ('a,b\n1,"x\n2,"y"\n', "opened in line 2 is closed in line 3"),
    ],
)
def test_quotes_that_swallow_lines(text, wrong):
    found = swallowing_quote(text.splitlines(keepends=True), ",")
    assert found is None if wrong is None else found is not None and wrong in found


@pytest.mark.parametrize("columns", [10_000, 8_200])
@pytest.mark.parametrize("quoted", [False, True])
def test_headers_of_any_length(tmp_path, columns, quoted):
    """Without quotes, the 8,192nd name of seven digits ends exactly where 64 KiB do: cut there, nothing looks wrong."""
    names = [f"{i:07d}" for i in range(columns)]
    header = ",".join(f'"{name}"' for name in names) if quoted else ",".join(names)
    (tmp_path / "wide.csv").write_text(f"{header}\n{','.join('1' for _ in names)}\n")
    source = open_source(tmp_path / "wide.csv")
    assert source.names == names
    assert source.read().num_columns == columns


def test_a_header_of_semicolons_beyond_64_kib(tmp_path):
    names = [f"feature{i}" for i in range(10_000)]
    (tmp_path / "wide.csv").write_text(";".join(names))
    assert open_source(tmp_path / "wide.csv").names == names


def test_a_quote_left_open_in_the_header(tmp_path):
    (tmp_path / "open.csv").write_text('a,"b\n' + "1,2\n" * 500_000)
    with pytest.raises(TableError, match="quotation mark"):
        open_source(tmp_path / "open.csv")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["1", "01"], ["1", "01"]),
        (["1", "+1"], ["1", "+1"]),
        (["10000000000000000001", "10000000000000000002"], ["10000000000000000001", "10000000000000000002"]),
        (["c0", "-1"], ["c0", "-1"]),
        (["1", " -1"], [1, -1]),
        (["1", ""], [1, None]),
        (["1.0", "-1"], [1.0, -1.0]),
        (["True", "False"], [True, False]),
        (["true", "True"], ["true", "True"]),
        (["2024-01-01", "2024-01-02"], ["2024-01-01", "2024-01-02"]),
    ],
)
def test_codes_become_numbers_only_if_they_stay_apart(tmp_path, written, read):
    (tmp_path / "table.csv").write_text("\n".join(["x,kind", *(f"0,{value}" for value in written)]))
    assert open_source(tmp_path / "table.csv", codes=["kind"]).read(["kind"])["kind"].to_pylist() == read


def test_codes_are_judged_by_all_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("allegiance.io._old_tables._csv._BLOCK", 4096)
    (tmp_path / "table.csv").write_text("\n".join(["x,kind", *["0,1"] * 5000, "0,01"]))
    assert set(open_source(tmp_path / "table.csv", codes=["kind"]).read()["kind"].to_pylist()) == {"1", "01"}
