"""Checks of the table itself: rows that are not observations, headers, sentinels, identifiers, copies, not a table."""

import gzip
import io
import json
import shlex
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from allegiance.io import TableError, propose
from allegiance.io.tables import open_table

N = 120


@pytest.fixture
def rows() -> list[list[str]]:
    """Return rows of plausible measurements: a name, two numbers, a category."""
    rng = np.random.default_rng(0)
    heights, weights = rng.normal(170, 9, N).round(1), rng.normal(70, 12, N).round(1)
    return [[f"p{i}", str(heights[i]), str(weights[i]), "abc"[i % 3]] for i in range(N)]


HEADER = ["name", "height", "weight", "group"]


def write(path, lines: list[list[str]], sep: str = ","):
    path.write_text("\n".join(sep.join(line) for line in lines) + "\n", encoding="utf-8")
    return path


def total(rows: list[list[str]]) -> list[str]:
    return ["Baden", *(f"{sum(float(row[i]) for row in rows):.1f}" for i in (1, 2)), ""]


def mean(rows: list[list[str]]) -> list[str]:
    return ["Mean", *(f"{np.mean([float(row[i]) for row in rows]):.2f}" for i in (1, 2)), ""]


ODD_ROWS = {
    "a second header": (0, ["the name", "in the morning", "without shoes", "any"], "text in columns of numbers", 2),
    "units": (0, ["", "cm", "kg", ""], "text in columns of numbers", 2),
    "a repeated header": (60, HEADER, "repeated header", 62),
    "a footnote": (N, ["1) All values as measured by the staff.", "", "", ""], "without numbers", N + 2),
    "an empty row": (40, ["", "", "", ""], "empty", 42),
}


@pytest.mark.parametrize("kind", ODD_ROWS)
def test_rows_that_are_not_observations_are_left_out_with_their_lines(tmp_path, rows, kind):
    place, cells, reason, line = ODD_ROWS[kind]
    expected = propose(write(tmp_path / "clean.csv", [HEADER, *rows]))
    path = write(tmp_path / "odd.csv", [HEADER, *rows[:place], cells, *rows[place:]])
    table = open_table(path)
    plan = propose(table)
    assert (plan.used, plan.n_rows, table.n_rows) == (expected.used, N, N)
    (finding,) = [one for one in plan.findings if one.kind == "rows"]
    assert (finding.text, finding.remedy) == (f"Left out 1 row ({reason}): line {line}.", "--keep-rows all")
    np.testing.assert_array_equal(plan.matrix(table), expected.matrix(tmp_path / "clean.csv"))
    assert [batch.num_rows for batch in table.batches(rows=100, start=30)] == [90]
    assert table.read(typed=False)["name"].to_pylist() == [row[0] for row in rows]
    everything = open_table(path, keep_rows="all")
    assert everything.profile().n_rows == N + 1
    by_hand = open_table(path, keep_rows="all", skip_lines=[line])
    assert by_hand.read(typed=False).equals(table.read(typed=False))
    assert not [one for one in propose(by_hand).findings if one.kind == "rows"]


def with_totals(rows: list[list[str]], size: int, name: str) -> list[list[str]]:
    """Return the rows with a total after each group of this size."""
    groups = [rows[start : start + size] for start in range(0, N, size)]
    return [line for i, group in enumerate(groups) for line in (*group, [name.format(i), *total(group)[1:]])]


STATISTICS = {
    "a total": (lambda rows: [*rows, total(rows)], f"Left out 1 row (total): line {N + 2}."),
    "a total above its rows": (lambda rows: [["Total", *total(rows)[1:]], *rows], "Left out 1 row (total): line 2."),
    "the largest row": (lambda rows: [*rows, ["giant", "230.0", "160.0", "a"]], ""),
    "a product called Total": (lambda rows: [*rows, ["Total Gym", "171.0", "70.5", "a"]], ""),
    "subtotals": (lambda rows: with_totals(rows, 20, "Subtotal"), "Left out 6 rows (subtotal): lines 22, "),
    "totals of groups": (
        lambda rows: [*with_totals(rows, 40, "Part total {}"), ["Grand total", *total(rows)[1:]]],
        "Left out 4 rows (subtotal): lines 42, ",
    ),
    "means and other statistics": (
        lambda rows: [*rows, mean(rows), ["Max", "195.0", "99.0", ""]],
        f"Left out 2 rows (mean or other statistic): lines {N + 2}-{N + 3}.",
    ),
    "rows named like statistics": (
        lambda rows: [[f"Max {row[0]}" if i % 2 else f"Social media {i}", *row[1:]] for i, row in enumerate(rows)],
        "",
    ),
    "other statistics only": (
        lambda rows: [*rows, ["Max", "195.0", "99.0", "a"], ["Mean", "150.0", "45.0", "b"]],
        "",
    ),
}


@pytest.mark.parametrize("kind", STATISTICS)
def test_totals_and_means_are_left_out_if_their_numbers_prove_them(tmp_path, rows, kind):
    make, expected = STATISTICS[kind]
    plan = propose(write(tmp_path / "t.csv", [HEADER, *make(rows)]))
    findings = [one for one in plan.findings if one.kind == "rows"]
    assert plan.n_rows == (N if expected else len(make(rows)))
    assert [one.text[: len(expected)] for one in findings] == ([expected] if expected else [])
    assert all(str(one).endswith("(to undo: --keep-rows all)") for one in findings)


def test_a_row_of_means_without_a_name_is_left_out(tmp_path, rows):
    ages = np.random.default_rng(1).normal(40, 9, N).round(1)
    table = pd.DataFrame([row[1:3] for row in rows], columns=["height", "weight"]).astype(float).assign(age=ages)
    with_means = pd.concat([table, table.mean().round(2).to_frame().T])
    with_means.to_csv(tmp_path / "t.csv", index=False)
    plan = propose(tmp_path / "t.csv")
    assert (plan.n_rows, [one.text for one in plan.findings]) == (N, [f"Left out 1 row (means): line {N + 2}."])
    nearly = pd.concat([table, table.mean().to_frame().T.assign(age=5.5)])
    nearly.to_csv(tmp_path / "t.csv", index=False)
    assert not propose(tmp_path / "t.csv").findings


@pytest.mark.parametrize(
    ("value", "column", "is_flagged"),
    [
        ("-1", "count", True),
        ("-1", "price", True),
        ("0", "fee", False),
        ("0", "height", True),
        ("0", "count", False),
        ("-1", "height", True),
        ("-1", "change", False),
    ],
)
def test_numbers_that_may_mean_missing_are_flagged_and_kept(tmp_path, rows, value, column, is_flagged):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame([row[1:3] for row in rows], columns=["height", "weight"])
    frame["count"], frame["change"] = rng.integers(0, 60, N), rng.integers(-9, 10, N)
    frame["height"] = frame["height"].astype(float).round().astype(int)
    frame["price"] = rng.gamma(2.0, size=N).round(2) + 0.01
    frame["fee"] = np.where(rng.random(N) < 0.8, 0.0, 15 + rng.random(N).round(2))
    frame.loc[::6, column] = int(value)
    frame.to_csv(tmp_path / "t.csv", index=False)
    plan = propose(tmp_path / "t.csv")
    flags = [one for one in plan.findings if one.kind == "sentinel"]
    is_certain = (value, column) == ("-1", "height")
    assert [(one.columns, one.level) for one in flags] == ([((column,), "warning")] if is_flagged else [])
    if is_flagged and not is_certain:
        assert flags[0].remedy == f'--missing "{column}={value}"'
        assert "warning" not in {one.level for one in propose(tmp_path / "t.csv", missing={column: [value]}).findings}
    assert sum(one.n_missing for one in plan.columns) == (20 if is_certain else 0)


def test_numbers_with_units_are_named(tmp_path, rows):
    lines = [[*row[:2], f"{row[2]} kg", f"{row[1]} {'cm' if i % 2 else 'in'}"] for i, row in enumerate(rows)]
    (finding,) = propose(write(tmp_path / "t.csv", [[*HEADER[:3], "mixed"], *lines])).findings
    assert finding.text.startswith("Left out, because every number has a unit: weight ('kg').")


def test_codes_for_no_answer_are_missing_or_flagged(tmp_path):
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(
        {"q1": rng.integers(1, 6, N), "income": rng.integers(200, 990, N) * 100, "age": rng.integers(18, 99, N)}
    )
    frame.loc[::7, "q1"], frame.loc[3::6, "income"], frame.loc[:2, "age"] = 99, 99999, 99
    frame.to_csv(tmp_path / "t.csv", index=False)
    plan = propose(tmp_path / "t.csv")
    assert [one.n_missing for one in plan.columns] == [18, 0, 0]
    texts = [one.text for one in plan.findings if one.kind == "sentinel"]
    assert texts[1] == "99999 may mean missing in income (20): it is much more frequent than other values."
    assert len(texts) == 2


def test_stray_cells_are_reported_with_their_lines(tmp_path, rows):
    rows[70][1] = "tall"
    lines = [HEADER, *rows[:10], ['"two\nlines"', *rows[10][1:]], *rows[11:]]
    (finding,) = propose(write(tmp_path / "t.csv", lines)).findings
    assert finding.text == "'height' has 1 cell that is not a number and counts as missing: 'tall' in line 73."


def test_lines_count_blank_lines_and_values_over_several_lines(tmp_path, rows):
    lines = [HEADER, *rows[:10], ['"two\nlines"', *rows[10][1:]], [], *rows[11:50], HEADER, *rows[50:]]
    table = open_table(write(tmp_path / "t.csv", lines))
    (finding,) = [one for one in propose(table).findings if one.kind == "rows"]
    assert "line 54." in finding.text
    assert table.read(typed=False).num_rows == N


def test_workbooks_with_titles_totals_and_footnotes(tmp_path, rows):
    pytest.importorskip("openpyxl")
    cells = [["Report"], [], HEADER, *([r[0], float(r[1]), float(r[2]), r[3]] for r in rows)]
    cells += [["Total", *(sum(float(r[i]) for r in rows) for i in (1, 2))], [], ["1) As measured."], ["2) Ever."]]
    cells = [[*row, *[None] * (4 - len(row))] for row in cells]
    pd.DataFrame(cells).to_excel(tmp_path / "t.xlsx", index=False, header=False)
    plan = propose(tmp_path / "t.xlsx")
    assert plan.n_rows == N
    texts = " ".join(one.text for one in plan.findings)
    assert f"(total): line {N + 4}." in texts
    assert f"(without numbers): lines {N + 6}-{N + 7}." in texts


def test_a_missing_header_is_reported(tmp_path, rows):
    path = write(tmp_path / "t.csv", [row[1:] for row in rows])
    finding = propose(path).findings[0]
    assert (finding.level, finding.remedy) == ("warning", "--no-header")
    plan = propose(path, header=False)
    assert (plan.n_rows, plan.used) == (N, ("x0", "x1", "x2"))
    assert not any(one.remedy == "--no-header" for one in plan.findings)
    assert not propose(write(tmp_path / "u.csv", [HEADER, *rows])).findings


def test_clean_tables_have_no_findings(tmp_path, rows):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "income": rng.lognormal(10, 1, N).round(),
            "children": rng.poisson(1, N),
            "score": rng.integers(1, 101, N),
            "balance": rng.normal(0, 500, N).round(2),
            "delay": np.where(rng.random(N) < 0.5, 0, rng.integers(1, 60, N)),
            "city": rng.choice(["Rome", "Oslo", "Bern"], N),
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    plan = propose(tmp_path / "t.csv")
    assert (plan.findings, len(plan.used)) == ([], 6)


def test_identifiers_and_counters_are_not_features(tmp_path, rows):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame([row[1:3] for row in rows], columns=["height", "weight"])
    frame["CLIENTNUM"] = 700_000_000 + rng.choice(10**8, N, replace=False)
    frame["reference"] = np.append(rng.choice(10**6, N - 1, replace=False), 17)
    frame["Unnamed: 0"] = rng.permutation(np.append(np.arange(N - 30), np.arange(30)))
    frame["shuffled"] = rng.permutation(N)
    frame["customer_id"] = np.arange(1000, 1000 + N)
    frame["key"] = [f"k{i}" for i in range(N)]
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert propose(tmp_path / "t.csv").used == ("height", "weight")
    # A second identifier stays out if another column is named as the identifier.
    plan = propose(tmp_path / "t.csv", id="key")
    assert (plan.ids, plan.used) == (("key",), ("height", "weight"))
    # Prices are different in every row, but do not identify it.
    frame = frame[["height", "weight"]].assign(price=["lots", "few", "some", *frame["CLIENTNUM"].astype(str)[3:]])
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert propose(tmp_path / "t.csv").ids == ()


def test_a_name_identifies_rows_better_than_their_number(tmp_path, rows):
    frame = pd.DataFrame([row[1:3] for row in rows], columns=["height", "weight"])
    frame.insert(0, "rownames", np.arange(1, N + 1))
    frame["tweet"] = [f"{'a long text ' * 8}{i}" for i in range(N)]
    assert propose(frame).ids == ("rownames",)
    frame["name"] = [f"person {i}" for i in range(N)]
    assert (propose(frame).ids, propose(frame).used) == (("name",), ("height", "weight"))


def test_words_within_names_are_neither_codes_nor_ids(tmp_path, rows):
    counts = np.arange(N) % 12 + 1
    frame = pd.DataFrame({"height": [float(row[1]) for row in rows], "capacity": counts, "MPG.city": counts * 2 % 23})
    frame["unitid"], frame["humid"] = np.repeat(np.arange(N // 2) * 97 + 5_000, 2), np.repeat(np.arange(N // 2) % 57, 2)
    plan = propose(frame)
    assert plan.used == ("height", "capacity", "MPG.city", "humid")
    assert not [one for one in plan.findings if one.kind == "codes"]


def test_yes_or_blank_columns_are_binary(tmp_path, rows):
    lines = [
        [*HEADER, "garden", "lift"],
        *([*row, "1" if i % 3 else "", "yes" if i % 9 == 0 else ""] for i, row in enumerate(rows)),
    ]
    path = write(tmp_path / "t.csv", lines)
    for impute in ("median", "drop"):
        plan = propose(path, impute=impute)
        assert {"garden=1", "garden=(missing)", "lift=yes", "lift=(missing)"} <= set(plan.names)
        assert plan.matrix(path).shape[0] == N


def test_mostly_missing_columns_free_text_and_copies(tmp_path, rows):
    note = "the customer called and asked whether the delivery could be moved to another day please"
    lines = [[*HEADER, "rare", "half", "copy", "inches", "letter", "notes"]]
    for i, row in enumerate(rows):
        inches = f"{float(row[1]) / 2.54 + 0.01 * (i % 2):.4f}"
        extra = [row[1] if i % 8 == 0 else "", row[2] if i % 3 == 0 else "", row[1], inches, row[3].upper()]
        lines.append([*row, *extra, note + str(i % 40)])
    plan = propose(write(tmp_path / "t.csv", lines))
    assert plan.used == ("height", "weight", "group", "half", "inches", "letter")
    kinds = {(one.kind, one.level): one.columns for one in plan.findings}
    assert kinds["missing", "warning"] == ("half",)
    assert kinds["copies", "note"] == ("height", "copy")
    pairs = {one.columns for one in plan.findings if one.kind == "duplicates"}
    assert pairs == {("height", "inches"), ("group", "letter")}
    assert plan.remedy == "--drop inches --drop letter --drop half"


def test_codes_and_duplicate_rows_are_noted(tmp_path, rows):
    lines = [[*row[:3], str(1 + i % 4)] for i, row in enumerate(rows)]
    plan = propose(write(tmp_path / "t.csv", [[*HEADER[:3], "Region"], *lines, lines[5]]), id="name")
    findings = {one.kind: one for one in plan.findings}
    assert (findings["codes"].remedy, findings["codes"].level) == ("--one-hot Region", "warning")
    assert "1 row repeats" in findings["duplicate rows"].text
    # Zip codes are not numbers, and have too many values for categories.
    lines = [[*row[:3], str(10_000 + 37 * (i // 2))] for i, row in enumerate(rows)]
    plan = propose(write(tmp_path / "zip.csv", [[*HEADER[:3], "zip"], *lines]), id="name")
    assert plan.used == ("height", "weight")


def test_files_that_do_not_look_like_a_table_are_refused(tmp_path, rows):
    kinds = (
        lambda i: ["Sales", *[""] * 6],
        lambda i: ["Q1", "", f"{i}.5", "", "", f"{i * 7}", ""],
        lambda i: ["", str(i * i), "", "North", "", "", f"{i}.25"],
    )
    lines = [list("abcdefg"), *(kinds[i % 3](i) for i in range(30))]
    with pytest.raises(TableError, match="does not look like a table"):
        propose(write(tmp_path / "t.csv", lines), keep_rows="all").raise_problems()
    wide = [list("abcdefg"), *(["k", str(i % 7), *["same"] * 5] for i in range(30))]
    plan = propose(write(tmp_path / "w.csv", wide))
    assert [one.kind for one in plan.findings if one.level == "error"] == ["not a table"]
    assert not propose(tmp_path / "w.csv", features="b").problems
    settings = [["key", "value"], *([f"k{i}", "abc"[i % 3]] for i in range(30))]
    (problem,) = propose(write(tmp_path / "s.csv", settings)).problems
    assert "only 'value' of 2 columns can be used. Name the columns" in problem


def test_sentinels_are_missing_categories_too(tmp_path):
    lines = [["code", "x"], *([str(-999 if i % 10 == 0 else i % 4), str(i % 7)] for i in range(N))]
    plan = propose(write(tmp_path / "t.csv", lines), one_hot="code")
    assert [name for name in plan.names if name.startswith("code")][-1] == "code=(missing)"
    matrix = propose(tmp_path / "t.csv", one_hot="code", scale=False).matrix(tmp_path / "t.csv")
    assert (matrix[:, :-1].sum(axis=1) == 1).all()


def test_json_keeps_digits_and_flattens_records(tmp_path):
    ids = [10**19 + i for i in range(40)]
    records = [{"key": ids[i], "size": {"w": i / 4, "h": i % 7}, "tags": ["a"], "ok": i % 2 == 0} for i in range(40)]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, records)))
    (tmp_path / "t.json").write_text(json.dumps(records, indent=1))
    (tmp_path / "object.json").write_text(json.dumps({"count": 40, "data": records}, indent=1))
    for name in ("t.jsonl", "t.json", "object.json"):
        table = open_table(tmp_path / name)
        assert table.read(["key"])["key"].to_pylist() == [str(one) for one in ids]
        plan = propose(table)
        assert (plan.ids, plan.used) == (("key",), ("size.w", "size.h", "ok"))
        assert any("'tags'" in one.text for one in plan.findings)
    (tmp_path / "mixed.jsonl").write_text(
        "\n".join(json.dumps({"key": 2**60 + i or 1.5, "x": i}) for i in range(9)) + '\n{"key": 1.5, "x": 3}'
    )
    assert len(set(open_table(tmp_path / "mixed.jsonl").read(["key"], typed=False)["key"].to_pylist())) == 10
    (tmp_path / "n.json").write_text("[1, 2]")
    with pytest.raises(TableError, match="one JSON object per row"):
        open_table(tmp_path / "n.json")


def test_files_named_twice_and_hidden_folders_are_read_once(tmp_path, rows):
    path = write(tmp_path / "a.csv", [HEADER, *rows])
    table = open_table([path, str(path)])
    assert table.profile().n_rows == N
    assert "more than once" in str(table.findings[0])
    (tmp_path / ".ipynb_checkpoints").mkdir()
    write(tmp_path / ".ipynb_checkpoints" / "a-checkpoint.csv", [HEADER, *rows])
    assert open_table(tmp_path).profile().n_rows == N


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_skipping_more_rows_than_there_are_is_an_error(tmp_path, rows, ending):
    frame = pd.DataFrame(rows, columns=HEADER)
    path = tmp_path / f"t.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_excel(path, index=False)
    with pytest.raises(TableError, match="skip_rows="):
        open_table(path, skip_rows=9_999)


def test_one_far_cell_does_not_make_a_huge_sheet(tmp_path):
    sheet = (
        '<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
        '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
        "</sheetData></worksheet>"
    )
    pd.DataFrame({"a": [1]}).to_excel(tmp_path / "small.xlsx", index=False)
    with zipfile.ZipFile(tmp_path / "small.xlsx") as small, zipfile.ZipFile(tmp_path / "far.xlsx", "w") as far:
        for name in small.namelist():
            far.writestr(name, sheet if name.endswith("sheet1.xml") else small.read(name))
    with pytest.raises(TableError, match="1,048,576 rows and 16,384 columns"):
        open_table(tmp_path / "far.xlsx")


def test_long_lines_in_compressed_files_are_refused(tmp_path):
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1) as stream:
        stream.write(b"a,b\n1,2\n3,")
        for _ in range(12):
            stream.write(b"4" * (1 << 20))
    (tmp_path / "t.csv.gz").write_bytes(buffer.getvalue())
    with pytest.raises(TableError, match="longer than 4 MB"):
        propose(tmp_path / "t.csv.gz")


def test_columns_of_a_wide_table_are_profiled_as_alone(tmp_path):
    """Short columns are read many at a time, and those that are not plain numbers one by one."""
    rng = np.random.default_rng(3)
    makers = [
        lambda: rng.normal(size=12).round(3).astype(str),
        lambda: rng.integers(0, 9, 12).astype(str),
        lambda: np.where(rng.random(12) < 0.3, "", rng.integers(0, 9, 12).astype(str)),
        lambda: np.char.zfill(rng.integers(0, 99, 12).astype(str), 3),
        lambda: rng.choice(["a", "b", "n/a", "1"], 12),
        lambda: np.array([f"{day}.01.2024" for day in rng.integers(1, 29, 12)]),
        lambda: np.full(12, ""),
    ]
    columns = {f"c{i}": pa.array(makers[i % 7]() if i % 20 else makers[0](), pa.string()) for i in range(600)}
    profiles = open_table(pa.table(columns)).profile().columns
    for name in (f"c{i}" for i in range(30)):
        alone = open_table(pa.table({name: columns[name]})).profile().columns
        assert repr(profiles[name]) == repr(alone[name])


def test_a_header_of_two_rows_is_joined(tmp_path, rows):
    groups, names = ["name", "Body", "", "Class"], ["", "height (cm)", "weight (kg)", "of school"]
    expected = ["name", "Body height (cm)", "Body weight (kg)", "Class of school"]
    for top in ([], [["A report"], []]):
        path = write(tmp_path / "t.csv", [*top, groups, names, *rows])
        assert (open_table(path).columns, propose(path).n_rows) == (expected, N)
    # Names that occur twice take the group above them, even without a blank below the group of the first column.
    path = write(tmp_path / "u.csv", [["", "2019", "", ""], ["name", "size", "mass", "size"], *rows])
    assert open_table(path).columns[1:] == ["size", "mass", "size_2"]
    path = write(tmp_path / "v.csv", [["", "2019", "", "2020"], ["name", "size", "mass", "size"], *rows])
    assert open_table(path).columns == ["name", "2019 size", "2019 mass", "2020 size"]
    # Units below a complete header are not names.
    path = write(tmp_path / "w.csv", [HEADER, ["", "cm", "kg", ""], *rows])
    assert open_table(path).columns == HEADER


def test_placeholder_dates_and_nines_with_a_decimal_are_missing(tmp_path, rows):
    days = np.datetime64("2001-03-01") + np.arange(N)
    lines = [[*row[:2], "999.9" if i % 9 == 0 else row[2], str(days[i])] for i, row in enumerate(rows)]
    lines = [[*line[:3], "1900-01-01" if i % 10 == 0 else line[3]] for i, line in enumerate(lines)]
    plan = propose(write(tmp_path / "t.csv", [[*HEADER[:3], "joined"], *lines]))
    assert {one.name: one.n_missing for one in plan.features} == {"height": 0, "weight": 14, "joined": 12}
    texts = [one.text.partition(" in ")[0] for one in plan.findings if one.kind == "sentinel"]
    assert sorted(texts) == ["1900-01-01 counts as missing", "999.9 counts as missing"]
    assert sum(one.n_missing for one in propose(tmp_path / "t.csv", keep_sentinels=True).features) == 0


def test_one_repeated_word_among_numbers_means_missing(tmp_path, rows):
    for words in (["s"] * 9, ["s", "x"] * 5):
        lines = [[words.pop() if words and i % 13 == 0 else row[1], row[2]] for i, row in enumerate(rows)]
        is_number = "x" not in {line[0] for line in lines}
        assert (propose(write(tmp_path / "t.csv", [["a", "b"], *lines])).columns[0].role == "feature") is is_number
    with_marker = [["a", "b"], *([row[1] if i % 20 else "s", row[2]] for i, row in enumerate(rows))]
    (finding,) = [one for one in propose(write(tmp_path / "u.csv", with_marker)).findings if one.kind == "strays"]
    assert "'a' has 6 cells that are not numbers and count as missing: 's' in line 2" in finding.text


def test_repeated_ids_are_noted_and_postal_codes_are_not_numbers(tmp_path, rows):
    rng = np.random.default_rng(4)
    lines = [[f"C{i // 2}", *row[1:3], str(rng.integers(10_000, 10_099))] for i, row in enumerate(rows)]
    plan = propose(write(tmp_path / "u.csv", [["customer_id", "height", "weight", "zip"], *lines]))
    (finding,) = plan.findings
    assert finding.text.startswith("customer_id repeats (60 values in 120 rows)")
    assert plan.used == ("height", "weight")


def test_remedies_can_be_pasted_into_a_shell(tmp_path, rows):
    names = ["name", "size, in cm", "price ($)", "the group"]
    lines = [[*row[:2], f"{float(row[1]) * 2 + 0.01 * (i % 3):.3f}", f"{row[1]}1"] for i, row in enumerate(rows)]
    path = write(tmp_path / "t.csv", [names, *lines], sep=";")
    plan = propose(path)
    options, values = (shlex.split(plan.remedy)[i::2] for i in (0, 1))
    dropped = [name for value in values for name in ([value] if value in names else value.split(","))]
    assert ({*options}, propose(path, drop=dropped).used) == ({"--drop"}, ("size, in cm",))
