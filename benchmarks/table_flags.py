"""False alarms and hits of the table checks: ``python benchmarks/table_flags.py [FOLDER ...]``.

Base tables are the real ones of scikit-learn and statsmodels, and the CSV files of the folders. They are checked as
they are (every warning is listed, to be judged by hand), and then with one planted problem at a time. Tables at even
places of the sorted list served to choose thresholds, the others to evaluate them.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd

from allegiance.io import propose

_STATSMODELS = (
    "anes96|cancer|ccard|china_smoking|committee|copper|cpunish|engel|fair|fertility|grunfeld|heart|longley|macrodata|"
    "modechoice|nile|randhie|scotland|spector|stackloss|star98|statecrime|strikes|sunspots"
)
_SKLEARN = ("iris", "wine", "breast_cancer", "diabetes", "linnerud")
#: Cells of a table as text, header first.
Lines = list[list[str]]


def base_tables(folders: list[str]) -> Iterator[tuple[str, Lines]]:
    """Yield the name and the cells of each base table."""
    frames = {
        name: import_module("sklearn.datasets").__dict__[f"load_{name}"](as_frame=True).frame for name in _SKLEARN
    }
    datasets = import_module("statsmodels.datasets")
    frames |= {name: getattr(datasets, name).load_pandas().data for name in _STATSMODELS.split("|")}
    for path in sorted(path for folder in folders for path in Path(folder).glob("*.csv")):
        frames[path.stem] = pd.read_csv(path, sep=None, engine="python")
    for name in sorted(frames):
        text = frames[name].head(300).to_csv(index=False, lineterminator="\n", float_format="%.10g")
        lines = [line.split(",") for line in text.splitlines() if '"' not in line]
        if len(lines) > 10:
            yield name, lines


def numbers(lines: Lines) -> dict[int, np.ndarray]:
    """Return the columns of numbers without gaps and with many values, by position."""
    columns = {
        i: pd.to_numeric(pd.Series(cells), errors="coerce") for i, cells in enumerate(zip(*lines[1:], strict=True))
    }
    return {i: column.to_numpy() for i, column in columns.items() if column.notna().all() and column.nunique() > 12}


def plant_row(make: Callable[[Lines, np.random.Generator], list[str]], middle: bool = False) -> Callable[..., object]:
    """Return a function that inserts a row, and expects its line in a finding."""

    def plant(lines: Lines, rng: np.random.Generator) -> tuple[Lines, str, str] | None:
        row = make(lines, rng)
        place = int(rng.integers(2, len(lines))) if middle else len(lines)
        return ([*lines[:place], row, *lines[place:]], "rows", str(place + 1)) if row else None

    return plant


def plant_cells(value: str, share: float, kind: str, fits: Callable[[np.ndarray], bool]) -> Callable[..., object]:
    """Return a function that overwrites cells of a random column that ``fits``, and expects its name in a finding."""

    def plant(lines: Lines, rng: np.random.Generator) -> tuple[Lines, str, str] | None:
        columns = [i for i, column in numbers(lines).items() if fits(column)]
        if not columns:
            return None
        place, rows = int(rng.choice(columns)), rng.random(len(lines)) < share
        rows[rng.choice(np.arange(1, len(lines)), 3 if share else 1, replace=False)] = True
        rows[0] = False
        cells = [
            [*line[:place], value, *line[place + 1 :]] if row else line for line, row in zip(lines, rows, strict=True)
        ]
        return cells, kind, str(int(np.flatnonzero(rows)[0]) + 1) if kind == "strays" else lines[0][place]

    return plant


def statistic(name: str, function: Callable[[np.ndarray], float]) -> Callable[..., object]:
    """Return a function that adds a column of names, and a row of a statistic at the end."""

    def plant(lines: Lines, rng: np.random.Generator) -> tuple[Lines, str, str] | None:
        columns = {i: column for i, column in numbers(lines).items() if column.min() >= 0}
        cells = [f"{function(columns[i]):.6g}" if i in columns else "" for i in range(len(lines[0]))]
        named = [["name", *lines[0]], *([f"row {i}", *line] for i, line in enumerate(lines[1:]))]
        return ([*named, [name, *cells]], "rows", str(len(lines) + 1)) if len(columns) > 2 else None

    return plant


def copy_column(lines: Lines, rng: np.random.Generator) -> tuple[Lines, str, str] | None:
    """Append a column in another unit, rounded."""
    columns = numbers(lines)
    if not columns:
        return None
    place = int(rng.choice(list(columns)))
    copies = [f"{value * 2.54 + 1:.5g}" for value in columns[place]]
    cells = [[*line, cell] for line, cell in zip(lines, ["converted", *copies], strict=True)]
    return cells, "duplicates", "converted"


def subtotals(lines: Lines, rng: np.random.Generator) -> tuple[Lines, str, str] | None:
    """Add a column of names, and the sums of each third of the rows below it."""
    columns = [i for i, column in numbers(lines).items() if column.min() >= 0]
    named, rows = [["name", *lines[0]]], [[f"row {i}", *line] for i, line in enumerate(lines[1:])]
    for part in (rows[start::1][: len(rows) // 3] for start in range(0, len(rows) - 2, len(rows) // 3)):
        sums = {i: f"{sum(float(row[i + 1]) for row in part):.10g}" for i in columns}
        named += [*part, [f"Group total {len(named)}", *(sums.get(i, "") for i in range(len(lines[0])))]]
    return (named, "rows", "subtotal") if len(columns) > 2 else None


def two_headers(lines: Lines, rng: np.random.Generator) -> tuple[Lines, str, str] | None:
    """Put the last two names below a common one; the checks join them."""
    columns, last = numbers(lines), len(lines[0]) - 1
    if not {last, last - 1} <= {*columns} or len({*lines[0]}) < len(lines[0]):
        return None
    upper, lower = [*lines[0][:-2], "Group", ""], [*[""] * (last - 1), *lines[0][-2:]]
    return [upper, lower, *lines[1:]], "header", f"Group {lines[0][-1]}"


def positive(column: np.ndarray) -> bool:
    """Return whether all numbers are positive."""
    return bool(column.min() > 0)


def far_from_zero(column: np.ndarray) -> bool:
    """Return whether zero is far from all numbers."""
    return bool(column.min() > 0.4 * (column.max() - column.min()))


def whole(column: np.ndarray) -> bool:
    """Return whether all numbers are whole and not negative."""
    return bool((column >= 0).all() and (column % 1 == 0).all())


PROBLEMS = {
    "units below the header": lambda lines, rng: ([lines[0], ["in cm"] * len(lines[0]), *lines[1:]], "rows", "2"),
    "repeated header": plant_row(lambda lines, rng: lines[0], middle=True),
    "empty row": plant_row(lambda lines, rng: [""] * len(lines[0]), middle=True),
    "footnote": plant_row(lambda lines, rng: ["Source: own survey", *[""] * (len(lines[0]) - 1)]),
    "total": statistic("Total", np.sum),
    "mean": statistic("Mean", np.mean),
    "-999": plant_cells("-999", 0.03, "sentinel", positive),
    "9999": plant_cells("9999", 0.03, "sentinel", lambda column: positive(column) and column.max() < 2_000),
    "-1": plant_cells("-1", 0.2, "sentinel", whole),
    "zeros": plant_cells("0", 0.05, "sentinel", far_from_zero),
    "stray cell": plant_cells("see note", 0, "strays", positive),
    "one word": plant_cells("suppressed", 0.05, "strays", positive),
    "99 among answers": plant_cells("99", 0.05, "sentinel", lambda column: positive(column) and column.max() < 15),
    "subtotals": subtotals,
    "two header rows": two_headers,
    "half missing": plant_cells("", 0.6, "missing", positive),
    "copy": copy_column,
    "no header": lambda lines, rng: (lines[1:], "reading", "he"),
}


def check(lines: Lines, folder: str, **options: object) -> list[tuple[str, str, str]]:
    """Return the level, the kind and the text of each finding."""
    path = Path(folder) / "table.csv"
    path.write_text("\n".join(",".join(line) for line in lines) + "\n", encoding="utf-8")
    plan = propose(path, **options)
    header = ("note", "header", " ".join(column.name for column in plan.columns))
    return [header, *((one.level, one.kind, f"{one.text} {' '.join(one.columns)}") for one in plan.findings)]


def main() -> None:
    """Check the base tables, plant each problem in each table, and print both halves separately."""
    hits, tries, clean, alarms = Counter[tuple[str, str]](), Counter[tuple[str, str]](), Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for place, (name, lines) in enumerate(base_tables(sys.argv[1:])):
            half, rng = ("tuning", "evaluation")[place % 2], np.random.default_rng(place)
            before = check(lines, folder)
            warnings = [(kind, text) for level, kind, text in before if level != "note"]
            clean[half] += 1
            alarms[half] += bool(warnings)
            for kind, text in warnings:
                print(f"{half} {name}: {kind}: {text[:150]}")
            for problem, plant in PROBLEMS.items():
                planted = plant(lines, rng) if len(lines) > 30 and len(lines[0]) > 3 else None
                if planted is None:
                    continue
                cells, kind, expected = planted
                tries[problem, half] += 1
                new = [one for one in check(cells, folder) if one not in before]
                is_hit = any(one[1] == kind and expected in one[2] for one in new)
                hits[problem, half] += is_hit
                if not is_hit and half == "tuning":
                    print(f"  missed in {name}: {problem} ({expected}); {[one[1] for one in new]}")
    for half in ("tuning", "evaluation"):
        n_hits, n_tries = (sum(n for (_, where), n in counts.items() if where == half) for counts in (hits, tries))
        print(f"{half}: warnings on {alarms[half]} of {clean[half]} tables, {n_hits} of {n_tries} problems flagged")
        print(", ".join(f"{problem} {hits[problem, half]}/{tries[problem, half]}" for problem in PROBLEMS))


if __name__ == "__main__":
    main()
