"""A table, runs that score it in parts, and what an undisturbed run gives."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from allegiance import AffinityScorer, score_stream
from allegiance.io import TableError

ROWS = 6_000
#: Processes are forked from one that has imported all this, and runs no other thread: they start in milliseconds.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["attacks._streams"])


def prepare(folder: Path) -> tuple[Path, Path]:
    """Write a table and a scorer for it; return both paths."""
    rng = np.random.default_rng(0)
    X, kind = rng.normal(size=(ROWS, 2)), np.arange(ROWS) % 3
    table, scorer = folder / "table.parquet", folder / "table.scorer"
    pq.write_table(pa.table({"id": np.arange(ROWS), "x": X[:, 0], "y": X[:, 1], "kind": kind}), table)
    frame = pa.table({"x": X[:, 0], "y": X[:, 1]})
    AffinityScorer(random_state=0).fit(frame.to_pandas(), kind).save(scorer)
    return table, scorer


def score(table: Path, scorer: Path, out: Path, batch_rows: int, details: bool = False) -> None:
    """Score the table, going on where an earlier run was killed."""
    try:
        score_stream(table, scorer, out, keep=["id"], batch_rows=batch_rows, details=details, force=True)
    except TableError as error:
        if "another run" not in str(error):
            raise
        raise SystemExit(1) from error


def run(*arguments: Any) -> Any:
    """Start a process that scores."""
    child = CONTEXT.Process(target=score, args=arguments)
    child.start()
    return child


def leftovers(folder: Path, known: set[str]) -> list[str]:
    """Return what lies in a folder besides what is known."""
    return sorted(path.name for path in folder.iterdir() if path.name not in known)
