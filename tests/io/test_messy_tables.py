"""Tables as people have them: each becomes features without an option, or is refused with one clear sentence."""

import gzip
from datetime import date

import numpy as np
import pytest

from allegiance.io import TableError, propose
from allegiance.io.tables import open_table

ROWS = 40


def lines(header, row, sep=",", n=ROWS, end="\n"):
    return end.join([sep.join(header), *(sep.join(map(str, row(i))) for i in range(n))]) + end


def german(number):
    return f"{number:,.2f}".translate(str.maketrans(",.", ".,"))


DAYS = [date(2024, 1 + i % 12, 1 + i % 28) for i in range(ROWS)]


def numbers(i):
    return i % 5, i / 3


AB = ("a", "b")


def messy(content, text="", names=AB, ids=()):
    """Return the content, what the output must contain, the columns of the matrix and the id that is proposed."""
    return content, text, names, ids


MESSY = {
    "plain": messy(lines("ab", numbers)),
    "semicolons, decimal comma": messy(lines("ab", lambda i: (f"{i},5", german(1000 * i)), ";")),
    "pipes": messy(lines("ab", numbers, "|")),
    "tabs": messy(lines("ab", numbers, "\t")),
    "spaces": messy(lines("ab", numbers, " ")),
    "carriage returns": messy(lines("ab", numbers, end="\r")),
    "a mark before UTF-8": messy(b"\xef\xbb\xbf" + lines("ab", numbers, end="\r\n").encode()),
    "UTF-16": messy(lines("äb", lambda i: (i % 5, "eé"[i % 2])).encode("utf-16"), "utf-16", names=("ä", "b=e", "b=é")),
    "UTF-16 without a mark": messy(lines("ab", numbers).encode("utf-16-le"), "utf-16-le"),
    "cp1252 in the header": messy(lines(["größe", "b"], numbers).encode("cp1252"), "cp1252", names=("größe", "b")),
    "euros": messy(lines("ab", lambda i: (f"{german(1234.5 * i)} €", i % 3), ";")),
    "dollars and percent": messy(
        lines("abc", lambda i: (f'"${i * 1234.5:,.2f}"', f"{i} %", f"({i})" if i % 2 else i)), names=("a", "b", "c")
    ),
    "words for missing": messy(
        lines("ab", lambda i: ("n/a" if i == 3 else "-" if i == 5 else i / 4, "unknown" if i < 4 else i / 3)),
        "'unknown' in b (4)",
    ),
    "blanks": messy(lines("ab", lambda i: ("" if i % 9 == 0 else i / 4, "  " if i == 3 else i % 7)), "median"),
    "-999 for missing": messy(
        lines("ab", lambda i: (-999 if i % 10 == 0 else i / 4, i % 7)), "-999 counts as missing in a (4)"
    ),
    "9999 for missing": messy(lines("ab", lambda i: (9999 if i % 10 == 0 else i, i % 7)), "9999 counts as missing"),
    "title lines": messy(
        "Report 2024\nmade by hand\n\n" + lines("abc", lambda i: (*numbers(i), "xyz"[i % 3])),
        "'Report 2024'",
        names=(*AB, "c=x", "c=y", "c=z"),
    ),
    "titles with separators": messy(
        "Report;;\n;;\n" + lines("abc", lambda i: (*numbers(i), i % 3), ";"),
        "2 lines above the header: 'Report' (",
        names=("a", "b", "c"),
    ),
    "a declared separator": messy("sep=;\n" + lines("ab", numbers, ";"), "sep="),
    "a row of sums": messy(
        lines("ab", lambda i: (f"k{i % 3}", i * 3 % 11)) + f"Summe:,{sum(i * 3 % 11 for i in range(ROWS))}\n",
        "(total): line 42",
        names=("a=k0", "a=k1", "a=k2", "b"),
    ),
    "no header": messy(lines(["0.5", "1.5"], lambda i: (i / 4, i / 3)), "no header", names=("x0", "x1")),
    "names of columns twice": messy(lines("aab", lambda i: (i % 5, i / 3, i / 4)), "a_2", names=("a", "a_2", "b")),
    "the index of a frame": messy(lines(["", *AB], lambda i: (i, *numbers(i))), "unnamed_1", ids=("unnamed_1",)),
    "a separator at the end of rows": messy("a,b\n" + "1,2,\n3,4,\n5,1,\n" * 5, "one column more"),
    "names of rows as R writes them": messy(
        "a b\n" + "".join(f"r{i} {i % 5} {i / 4}\n" for i in range(ROWS)), "row_name", ids=("row_name",)
    ),
    "dates, day first": messy(lines("ab", lambda i: (f"{DAYS[i]:%d.%m.%Y}", i % 5)), "day first"),
    "dates, month first": messy(lines("ab", lambda i: (f"{DAYS[i]:%m/%d/%Y}", i % 5)), "month first"),
    "dates that could be either": messy(lines("ab", lambda i: (f"{1 + i % 9}/{1 + i % 7}/2024", i % 5)), "dayfirst"),
    "dates with names": messy(lines("ab", lambda i: (f"{DAYS[i]:%d-%b-%Y}", i % 5))),
    "times with a zone": messy(lines("ab", lambda i: (f"{DAYS[i]}T10:00:00+02:00", i % 5)), "ISO"),
    "a constant date": messy(lines("ab", lambda i: ("2024-05-31", i % 5)), "a is always 2024-05-31", names=("b",)),
    "codes with leading zeros": messy(
        lines(["zip", "b"], lambda i: (f"0{i % 3}123", i % 5)), names=("zip=00123", "zip=01123", "zip=02123", "b")
    ),
    "identifiers": messy(
        lines(["customerID", "b"], lambda i: (f"k{i * 37}", i % 5)), "unique", names=("b",), ids=("customerID",)
    ),
    "a number that counts": messy(
        lines(["nr", "b"], lambda i: (i + 1000, i % 5)), "row counter", names=("b",), ids=("nr",)
    ),
    "constant, empty, free text": messy(
        lines("abcd", lambda i: (7, "", f"text number {i} {i // 2 * 2}" if i else "text number 1 0", i % 5)),
        "c has too many distinct texts",
        names=("d",),
    ),
    "too many values": messy(lines("ab", lambda i: (f"t{i // 2}", i % 5), n=200), "too many", names=("b",)),
    "truth values": messy(
        lines("ab", lambda i: ("true" if i % 2 else "false", i % 5)), names=("a=false", "a=true", "b")
    ),
    "compressed": messy(gzip.compress(lines("ab", numbers).encode())),
    "long whole numbers": messy(lines(["account", "b"], lambda i: (10**19 + i, i % 5)), names=("b",), ids=("account",)),
    "values over several lines": messy(
        lines("ab", lambda i: ('"x\ny"' if i % 2 else '"z, w"', i % 5)), names=("a=x\ny", "a=z, w", "b")
    ),
}
#: What the first rows of a column mean.
MEANT = [
    ("semicolons, decimal comma", "a", [0.5, 1.5, 2.5]),
    ("semicolons, decimal comma", "b", [0, 1000, 2000]),
    ("euros", "a", [0, 1234.5, 2469]),
    ("dollars and percent", "a", [0, 1234.5, 2469]),
    ("dollars and percent", "b", [0, 0.01, 0.02]),
    ("dollars and percent", "c", [0, -1, 2]),
    ("words for missing", "a", [0, 0.25, 0.5, np.nan, 1, np.nan]),
    ("-999 for missing", "a", [np.nan, 0.25]),
    ("dates, day first", "a", DAYS),
    ("dates, month first", "a", DAYS),
    ("dates with names", "a", DAYS),
    ("times with a zone", "a", [np.datetime64("2024-01-01T08:00")]),
    ("dates that could be either", "a", [np.datetime64("2024-01-01"), np.datetime64("2024-02-02")]),
]


@pytest.mark.parametrize("name", MESSY)
def test_messy_tables_become_features_without_an_option(tmp_path, name):
    content, output, names, ids = MESSY[name]
    path = tmp_path / ("table.csv.gz" if name == "compressed" else "table.csv")
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    table = open_table(path)
    plan = propose(table)
    plan.raise_problems()
    assert (plan.ids, plan.names) == (ids, names)
    assert output in " ".join([*plan.describe(), *map(str, table.findings)])
    matrix = plan.matrix(table)
    assert np.isfinite(matrix).all()
    assert matrix.shape == (table.n_rows, len(names))
    for _, column, values in filter(lambda meant: meant[0] == name, MEANT):
        cells = table.read()[column].to_numpy()[: len(values)]
        np.testing.assert_array_equal(cells, np.array(values, dtype=cells.dtype))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "no header"),
        (b"a,b\n", "no rows"),
        (b"a,b\n1,2\n3\n4,5\n", "line 3: 1 columns"),
        (b'a,b\n"1\n1",2\n3,4,5\n', "line 4: 3 columns"),
        (b'a,b\n1,2\n3,"4\n', "line 3 is not closed"),
        (b'a,b\n1,2\n"3,4', "line 3 is not closed"),
        (b"a,b\n\0\0\0", "binary"),
        (b"a,b\n" + b"1,2\n" * 30_000 + b"1,\0\n", "NUL"),
        (b"PAR1rest", "Parquet"),
        (b"PK\x03\x04rest", "ZIP"),
        (b'a,b\n1,"' + b"x" * (17 << 20), "longer than 4 MB"),
        (b"a,b\n7,7\n7,7\n7,7\n", "no column that can be a feature"),
        (b"a,b\n1,inf\n2,1\n3,2\n", "infinite"),
        (lines("abc", lambda i: (i, i % 3, "a")).encode() + b'"two\nlines",1,"c\n', "line 42 is not closed"),
        (b'a,"b\n' + b"1,2\n" * 500_000, "quotation mark"),
    ],
)
def test_tables_that_cannot_be_used_raise_one_sentence(tmp_path, content, message):
    (tmp_path / "table.csv").write_bytes(content)
    with pytest.raises(TableError, match=message) as caught:
        propose(tmp_path / "table.csv").raise_problems()
    assert "\n" not in str(caught.value)


def test_an_encoding_is_detected_beyond_the_head_of_the_file(tmp_path):
    """The first 64 KB are plain ASCII, so that the whole file is read once more."""
    content = lines(["a", "kind"], lambda i: (i % 5, "süß" if i == 19_999 else "bitter"), n=20_000)
    (tmp_path / "table.csv").write_bytes(content.encode("cp1252"))
    table = open_table(tmp_path / "table.csv")
    assert propose(table).names == ("a", "kind=bitter", "kind=süß")
    assert "cp1252" in " ".join(map(str, table.findings))
    with pytest.raises(TableError, match="not utf-8 text"):
        open_table(tmp_path / "table.csv", encoding="utf-8").profile()


def test_several_files_are_read_like_one(tmp_path):
    """A table with decimal commas was off by a factor of 1,000 when it came in two files."""
    rows = ["a;b", "1,5;1.200", "2,5;3.400", "3,5;2.000", "4,5;1.100"]
    for name, part in (("one", rows), ("p1", rows[:3]), ("p2", [rows[0], *rows[3:]])):
        (tmp_path / f"{name}.csv").write_text("\n".join(part))
    one, two = open_table(tmp_path / "one.csv"), open_table([tmp_path / "p1.csv", tmp_path / "p2.csv"])
    assert one.read()["b"].to_pylist() == [1200, 3400, 2000, 1100]
    assert two.read() == one.read()
    np.testing.assert_array_equal(propose(two).matrix(two), propose(one).matrix(one))


def test_options_overrule_detection(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("title\na;d;e\n1.200;1/2/2024;7\n2.400;3/4/2024;-7\n")
    table = open_table(path, decimal=",", dayfirst=True, missing={"e": [-7]}, skip_rows=1, sep=";", encoding="latin-1")
    cells = table.read().to_pydict()
    assert cells["a"] == [1200, 2400]
    assert [moment.month for moment in cells["d"]] == [2, 4]
    assert propose(table, features=["e"]).columns[2].n_missing == 1
    for options, message in (
        ({"decimal": ";"}, "decimal"),
        ({"encoding": "klingon"}, "is unknown"),
        ({"format": "ods"}, "format"),
        ({"missing": {"x": [1]}}, "no column 'x'"),
    ):
        with pytest.raises(TableError, match=message):
            open_table(path, **options).profile()
