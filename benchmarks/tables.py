"""CPU seconds and memory to plan and prepare large tables: ``python benchmarks/tables.py [parquet|csv|wide]``.

The table is made in a temporary folder; reading runs in a process of its own, so that its memory is its own.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from _process_memory import peak

TABLES = {"parquet": ("table.parquet", 10_000_000), "csv": ("table.csv", 5_000_000), "wide": ("wide.csv", 4_000)}


def make(path: Path, rows: int) -> None:
    """Write ten columns of decimals, four of whole numbers, one of categories and one with gaps; or 10,000 columns."""
    import pyarrow as pa

    from allegiance.io.sinks import open_sink

    rng = np.random.default_rng(0)
    with open_sink(path) as sink:
        if path.stem == "wide":
            for _ in range(0, rows, 500):
                sink.write(pa.table({f"x{j}": rng.normal(size=500) for j in range(10_000)}))
            return
        for start in range(0, rows, 1_000_000):
            n = min(1_000_000, rows - start)
            columns = {f"x{j}": rng.normal(size=n) for j in range(10)}
            columns |= {f"i{j}": rng.integers(0, 1000, size=n) for j in range(4)}
            columns["category"] = np.array(["a", "bb", "ccc", "dd"])[rng.integers(0, 4, size=n)]
            gaps = pa.array(rng.normal(size=n), mask=rng.random(n) < 0.01)
            sink.write(pa.table({**columns, "gaps": gaps}))


def measure(path: str) -> None:
    """Plan a table and prepare it in batches; print CPU seconds and the largest amount of memory."""
    from allegiance.io import open_table, propose

    start = time.process_time()
    table = open_table(path)
    plan = propose(table)
    planned = time.process_time()
    from allegiance.io.batches import Rows

    rows = sum(len(batch.X) for batch in Rows(table, plan, None).batches(65_536))
    done = time.process_time()
    print(f"{rows:,} rows: plan {planned - start:.1f} CPU s, matrix {done - planned:.1f} CPU s, {peak() / 1e9:.2f} GB")


def main() -> None:
    """Make and measure the selected tables."""
    if len(sys.argv) == 3 and sys.argv[1] == "measure":
        measure(sys.argv[2])
        return
    for kind in sys.argv[1:] or TABLES:
        name, rows = TABLES[kind]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            make(path, rows)
            print(kind, f"{path.stat().st_size / 1e9:.2f} GB on disk", flush=True)
            subprocess.run([sys.executable, __file__, "measure", str(path)], check=True)


if __name__ == "__main__":
    main()
