"""Tables with every kind of quote, byte and type, compared with Python's csv module."""

from __future__ import annotations

import csv
import datetime
import decimal
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from click.testing import CliRunner

from allegiance.cli._program import program

from ._common import Attack, Tally

#: Identifiers as spreadsheets, programs and people write them.
_CELLS = (
    "", "a", "007", "1e5", "-1", "NaN", "null", "True", "é", "日本", "a b", " a", "a\tb", "=1+1", "@x", "2020-01-01",
    "<script>", "a'b", "\\", "1,5", "a;b", 'say ""hi""', "two\nlines", "x" * 300,
)  # fmt: skip
_LABELS = (
    ("c0", "c1", "c2"),
    ("0", "1", "2"),
    ("1", "01", "2"),
    ("c0", "c1", "-1"),
    ("=a", "@b", "+c"),
    ("a b", "é", ""),
)


def make(attempts: int, rng: np.random.Generator, folder: Path) -> Tally:
    """Score tables at random: every row of the table comes out with its identifier, or the command refuses."""
    tally = Tally()
    for attempt in range(attempts):
        kind = (_csv, _broken_csv, _parquet)[attempt % 3]
        path, ids, style = kind(rng, folder)
        stream = ["--stream"] if rng.random() < 0.5 else []
        out = folder / "out.parquet"
        words = [
            "score",
            path,
            "--labels",
            "kind",
            "--id",
            "id",
            "-o",
            out,
            "--quiet",
            "--resamples",
            "0",
            "--eps",
            "0.3",
            *stream,
        ]
        outcome = _outcome([str(word) for word in words], out, ids)
        if outcome.startswith("broken"):
            tally.broken.append(f"attempt {attempt}, {style}, {stream}: {outcome}")
        else:
            tally.held[f"{path.suffix.lstrip('.')}: {outcome}"] += 1
    return tally


def _outcome(words: list[str], out: Path, ids: list[str] | None) -> str:
    """Return the outcome of a run; ``ids`` are the expected identifiers, None if the table is broken."""
    out.unlink(missing_ok=True)
    result = CliRunner().invoke(program, words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return f"broken: {type(result.exception).__name__}: {result.exception}"
    if result.exit_code:
        if "This is a bug" in result.output or "Traceback" in result.output:
            return f"broken: an unforeseen error: {result.output[-300:]}"
        return "refused" if not out.exists() else "broken: refused, and yet wrote"
    written = ["" if value is None else str(value) for value in pq.read_table(out)["id"].to_pylist()]
    if ids is None:
        return "broken: an unreadable table was scored"
    return (
        "every row"
        if written == ["" if value == "None" else value for value in ids]
        else f"broken: {len(written)} rows of {len(ids)}, or other identifiers"
    )


def _columns(rng: np.random.Generator) -> tuple[list[list[str]], list[str]]:
    """Return the cells of a table with a header, and its identifiers."""
    n = int(rng.integers(12, 40))
    labels = _LABELS[int(rng.integers(len(_LABELS)))]
    ids = [_CELLS[int(rng.integers(len(_CELLS)))].replace('""', '"') for _ in range(n)]
    if len(set(ids)) == 1:
        ids[0] = "one"
    cells = [[ids[i], f"{rng.normal():.3f}", f"{rng.normal():.3f}", labels[i % 3] or "none"] for i in range(n)]
    return [["id", "x", "y", "kind"], *cells], ids


def _written(cells: list[list[str]], delimiter: str, quoting: Any, line: str) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator=line).writerows(cells)
    return text.getvalue()


def _csv(rng: np.random.Generator, folder: Path) -> tuple[Path, list[str] | None, str]:
    """Write a valid CSV in one of many styles."""
    cells, ids = _columns(rng)
    order = rng.permutation(4)
    cells = [[row[i] for i in order] for row in cells]
    quoting = (csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC)[int(rng.integers(3))]
    line = ("\n", "\r\n")[int(rng.integers(2))]
    encoding = ("utf-8", "utf-8-sig")[int(rng.integers(2))]
    path = folder / ("table.csv" if rng.random() < 0.7 else "table.tsv")
    text = _written(cells, "," if path.suffix == ".csv" else "\t", quoting, line)
    if rng.random() < 0.2:
        text = text.rstrip("\r\n")
    path.write_bytes(text.encode(encoding))
    return path, ids, f"quoting {quoting}, {line!r}, {encoding}"


def _broken_csv(rng: np.random.Generator, folder: Path) -> tuple[Path, list[str] | None, str]:
    """Write an invalid CSV, which would lose or mix up rows."""
    cells, ids = _columns(rng)
    text = _written(cells, ",", csv.QUOTE_MINIMAL, "\n")
    lines = text.split("\n")
    # Not inside a value of several lines, where anything may stand.
    plain = [number for number, line in enumerate(lines) if number and line.count(",") == 3 and '"' not in line]
    place = plain[int(rng.integers(len(plain)))]
    breaks: dict[str, Callable[[], str]] = {
        "an open quote": lambda: "\n".join([*lines[:place], '"' + lines[place], *lines[place + 1 :]]),
        "an open quote at the end": lambda: text.rstrip("\n")[:-2] + ',"c0\n',
        "a cell more": lambda: "\n".join([*lines[:place], "extra," + lines[place], *lines[place + 1 :]]),
        "a cell less": lambda: text.rstrip("\n") + "\nlast,1.0\n",
        "no number": lambda: text.rstrip("\n") + f"\nlast,abc,1.0,{cells[-1][3]}\n",
        "a number missing": lambda: text.rstrip("\n") + "\nlast,,1.0,c0\n",
        "a label missing": lambda: text.rstrip("\n") + "\nlast,1.0,1.0,\n",
        "infinity": lambda: text.rstrip("\n") + "\nlast,inf,1.0,c0\n",
        "a name twice": lambda: text.replace("id,x,y,kind", "id,x,x,kind", 1),
        "no header": lambda: "",
        "a header alone": lambda: lines[0],
        "bytes that are not text": lambda: text.replace("kind", "k\udcffnd", 1),
        "NUL bytes": lambda: "\0".join(text),
        "UTF-16": lambda: text.encode("utf-16").decode("latin-1"),
    }
    kind = list(breaks)[int(rng.integers(len(breaks)))]
    path = folder / "broken.csv"
    encoding = "latin-1" if kind == "UTF-16" else "utf-8"
    path.write_bytes(breaks[kind]().encode(encoding, "surrogateescape"))
    # The table rules repair some of these: they fill a gap or a word among numbers, leave out a row without a label,
    # and make a name unique. A row with words in several columns of numbers would not count as data.
    mended = {
        "a number missing": [*ids, "last"],
        "no number": [*ids, "last"],
        "a label missing": ids,
        "a name twice": ids,
        "UTF-16": ids,
    }
    return path, mended.get(kind), kind


def _parquet(rng: np.random.Generator, folder: Path) -> tuple[Path, list[str] | None, str]:
    """Write a Parquet file with an identifier of an unusual type, or a cut one."""
    n = int(rng.integers(12, 40))
    number = np.arange(n)
    columns: dict[str, Any] = {
        "text": pa.array([_CELLS[int(rng.integers(len(_CELLS)))] for _ in number]),
        "dictionary": pa.array([f"v{i % 5}" for i in number]).dictionary_encode(),
        "view": pa.array([f"v{i}" for i in number]).cast(pa.string_view()),
        "large": pa.array([f"v{i}" for i in number], pa.large_string()),
        "decimal": pa.array([decimal.Decimal(int(i)) / 100 for i in number]),
        "date": pa.array([datetime.date(2020, 1, 1) + datetime.timedelta(int(i)) for i in number]),
        "time": pa.array([datetime.datetime(2020, 1, 1, int(i) % 24) for i in number], pa.timestamp("ns")),
        "uint64": pa.array(number.astype(np.uint64) + np.uint64(2**63)),
        "half": pa.array(number.astype(np.float16)),
        "bool": pa.array(number % 2 == 0),
        "nulls": pa.array([None if i % 3 else f"v{i}" for i in number]),
        "struct": pa.array([{"a": int(i), "b": "x"} for i in number]),
        "list": pa.array([[int(i), 2] for i in number]),
    }
    kind = list(columns)[int(rng.integers(len(columns)))]
    table = pa.table({"id": columns[kind], "x": rng.normal(size=n), "y": rng.normal(size=n), "kind": number % 3})
    path = folder / "table.parquet"
    pq.write_table(table, path)
    if rng.random() < 0.2:
        path.write_bytes(path.read_bytes()[: int(rng.integers(path.stat().st_size))])
        return path, None, f"{kind}, cut"
    return path, [str(value) for value in table["id"].to_pylist()], kind


ATTACKS = {
    "hostile_tables": Attack(
        "hostile tables",
        "Every row of a table comes out once, with its identifier as it was, or the command says why it reads none.",
        full=600,
        short=60,
        make=make,
    ),
}
