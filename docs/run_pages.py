"""Runs the code of the README and of every page: a pytest plugin, ``make docs-check``.

The Python blocks of a page share one namespace and one empty folder. Console blocks run in that folder and must exit as
the page shows. A ``text`` block right after a Python block, or after the name of an example (``python examples/x.py``),
is compared with what the code prints: numbers may differ a little, and ``...`` stands for any further lines. Pages may
use the names and tables below; invisible blocks of a page set up anything else. Commands such as ``make`` and ``pip``
do not run. A block that needs a cluster, a browser or a person says so in a comment: ``<!-- skip: next "reason" -->``.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any

import pytest
from sybil import Document, Example, Region, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.myst import CodeBlockParser, SkipParser

ROOT = Path(__file__).resolve().parents[1]
#: Commands that install, build the project, or serve until they are stopped.
NOT_RUN = ("make", "pip", "python", "curl", "sha256sum")
#: A block for an engine of tables, which the tests run with that engine.
ENGINE_BLOCK = re.compile(r"<!-- engine: ([\w ]+) -->\n\Z")
#: The printed output of the block before it.
PRINTED_BLOCK = re.compile(r"(?:```)?\n```text\n(.*?)\n```", re.DOTALL)
#: The printed output of an example.
EXAMPLE_BLOCK = re.compile(r"`python (examples/\w+\.py)`[^`]*?\n\n```text\n(.*?)\n```", re.DOTALL)
NUMBER = re.compile(r"\d[\d.,]*(?<![.,])")


def pytest_configure(config: pytest.Config) -> None:
    """Ignore pending deprecations between libraries."""
    config.addinivalue_line("filterwarnings", "ignore::PendingDeprecationWarning")


def set_up(namespace: dict[str, Any]) -> None:
    """Enter an empty folder with the tables that pages mention, and define the names that they use."""
    namespace["_home"] = os.getcwd()
    namespace["_folder"] = tempfile.TemporaryDirectory()
    os.chdir(namespace["_folder"].name)
    import matplotlib as mpl

    mpl.use("Agg")
    namespace.update(_names())
    _write_tables()


def tear_down(namespace: dict[str, Any]) -> None:
    """Leave the folder, and remove it."""
    os.chdir(namespace["_home"])
    with suppress(Exception):
        import matplotlib.pyplot as plt

        plt.close("all")
    namespace["_folder"].cleanup()


def _names() -> dict[str, Any]:
    """Return the names that pages use: data, labels, new points, a fitted scorer, common imports."""
    import numpy as np
    from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
    from sklearn.datasets import load_iris

    from allegiance import AffinityScorer, Calibration, trust

    X = load_iris(as_frame=True).data
    labels = KMeans(3, n_init=10, random_state=0).fit_predict(X)
    scorer = AffinityScorer(KMeans(3, n_init=10, random_state=0), influence="within", calibration=20).fit(X)
    return {
        "np": np,
        "KMeans": KMeans,
        "AgglomerativeClustering": AgglomerativeClustering,
        "SpectralClustering": SpectralClustering,
        "AffinityScorer": AffinityScorer,
        "Calibration": Calibration,
        "trust": trust,
        "X": X,
        "X_new": X.iloc[:10],
        "counts": np.random.default_rng(0).poisson(5, size=(len(X), 4)),
        "labels": labels,
        "scorer": scorer,
        "result": trust(X, labels),
        "right": np.arange(60) % 5 > 0,
    }


def _write_tables() -> None:
    """Write the tables that pages mention: customers in segments, month by month, and the parts of a large table."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    segment = rng.integers(0, 4, 400)
    plan = np.array(["basic", "family", "premium"])[np.minimum(segment, 2)]
    customers = pd.DataFrame(
        {
            "customer_id": [f"{number:05d}" for number in range(400)],
            "visits": rng.poisson(4 + 6 * segment),
            "avg_basket": rng.normal(30 + 25 * (segment % 2), 5).round(2),
            "months": rng.normal(20 + 8 * segment, 4).round(1),
            "since": "2024-05-31",
        }
    )
    customers.drop(columns="since").assign(segment=segment).to_csv("customers.csv", index=False)
    for month, shift, spread in (("jan", 0.0, 0.0), ("feb", 0.2, 0.0), ("mar", 9.0, 0.0), ("apr", 9.0, 12.0)):
        basket = customers.avg_basket + shift + rng.normal(0, spread, len(customers))
        visits = np.maximum(customers.visits + rng.normal(0, spread / 2, len(customers)).round(), 0)
        moved = customers.assign(plan=plan, avg_basket=basket.round(2), visits=visits.astype(int))
        moved.rename(columns={"customer_id": "customer"}).to_csv(f"{month}.csv", index=False)
    for part in range(2):
        rows = pd.DataFrame(rng.normal(3 * segment[:, None], 1.0, (400, 3)), columns=list("abc"))
        rows.insert(0, "id", range(400 * part, 400 * part + 400))
        rows.assign(cluster=segment).to_parquet(f"part-{part}.parquet", index=False)


def run_python(example: Example) -> None:
    """Run a block of Python in the namespace of its page, unless the tests run it with a specific engine."""
    engine = ENGINE_BLOCK.search(example.document.text, 0, example.start)
    if engine:
        pytest.skip(f"run with {engine[1]} by tests/io/test_arrow.py")
    printed = io.StringIO()
    with redirect_stdout(printed):
        PythonEvaluator()(example)
    expected = PRINTED_BLOCK.match(example.document.text, example.end)
    if expected:
        check_printed(expected[1], printed.getvalue(), example.line)


def find_examples(document: Document) -> Iterator[Region]:
    """Yield the outputs of examples that a page shows."""
    for match in EXAMPLE_BLOCK.finditer(document.text):
        yield Region(match.start(), match.end(), match.groups(), run_example)


def run_example(example: Example) -> None:
    """Run a script of ``examples`` and compare what it prints with the page."""
    script, expected = example.parsed
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, ROOT / script], env=environment, capture_output=True, text=True, timeout=300, check=True
    )
    check_printed(expected, done.stdout, example.line)


def check_printed(page: str, printed: str, line: int) -> None:
    """Raise unless the lines on the page are those that were printed, up to spaces and small differences."""
    expected = page.strip().splitlines()
    actual = printed.strip().splitlines()
    if expected[-1] == "...":
        expected.pop()
        actual = actual[: len(expected)]
    agree = len(actual) == len(expected) and all(map(lines_agree, expected, actual))
    assert agree, f"line {line}: the page shows\n{page}\nbut the code prints\n{printed}"


def lines_agree(expected: str, actual: str) -> bool:
    """Return whether two lines have the same words and nearly the same numbers."""
    words = [re.sub(r"\s+", " ", NUMBER.sub("#", text)).strip() for text in (expected, actual)]
    return words[0] == words[1] and all(map(numbers_agree, NUMBER.findall(expected), NUMBER.findall(actual)))


def numbers_agree(expected: str, actual: str) -> bool:
    """Return whether two printed numbers differ by at most a tenth, or by 3 of their last digit."""
    first, second = (float(text.replace(",", "")) for text in (expected, actual))
    last_digit = 10.0 ** -len(expected.partition(".")[2])
    return abs(first - second) <= max(0.1 * first, 3.0 * last_digit)


def run_console(example: Example) -> None:
    """Run the lines of a console block that begin with ``$``, and check how they end."""
    lines = example.parsed.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "120"}
    status = 0
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        command = _whole_command(lines[start:end])
        output = lines[start + 1 : end]
        if command.split()[0] in NOT_RUN:
            continue
        if command == "echo $?":
            assert output[0] == str(status), f"line {example.line}: exit status {status}, not {output[0]}"
            continue
        done = subprocess.run(
            ["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        status = done.returncode
        fails = any(re.match(r"(Error|Usage):", line) for line in output)
        checked = end < len(lines) and lines[end] == "$ echo $?"
        if not checked:
            assert (status != 0) == fails, f"line {example.line}: {command}\nexit status {status}\n{done.stderr}"


def _whole_command(lines: list[str]) -> str:
    """Return a command with the lines it is continued on, without a trailing comment."""
    command = lines[0].removeprefix("$ ")
    for line in lines[1:]:
        if not command.endswith("\\"):
            break
        command = command[:-1] + line.strip()
    return re.sub(r"\s{2,}#.*$", "", command)


pytest_collect_file = Sybil(
    parsers=[
        CodeBlockParser("python", run_python),
        CodeBlockParser("console", run_console),
        find_examples,
        SkipParser(),
    ],
    path=str(ROOT),
    patterns=["README.md", "docs/*.md", "docs/how-to/*.md", "docs/tutorials/*.md"],
    setup=set_up,
    teardown=tear_down,
).pytest()
