"""Ten million rows in a partitioned folder: rate, memory, where the time goes; Dask; many clusters; sparse data.

``make bench-scale``, or ``python benchmarks/scale.py --quick`` on a fiftieth of the rows; what is printed on standard
output is the block in docs/scale.md. ``--rows 100000000 --streams-only`` scores a hundred million rows (6.4 GB on
disk). Each measurement runs in its own process, so that its peak memory is its own.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from _machine import describe_machine, machine_lines
from _report import Row, limit_row, save, table
from _scale_jobs import FILE_ROWS

JOBS = Path(__file__).with_name("_scale_jobs.py")
#: Bytes on disk per row, for the table and the output.
BYTES_PER_ROW = 150
#: Memory limits: of streams, and of measurements with a thousand clusters or wide sparse rows.
STREAM_LIMIT, LIMIT = 2**29, 2e9
#: Rows of the measurement of the command line.
COMMAND_ROWS = 5_000_000
#: Targets: rows per second, and for a thousand clusters seconds once and per point.
RATE, PREPARE, EACH = 500_000, 5.0, 1e-3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="200,000 rows")
    parser.add_argument("--rows", type=int, help="rows of the table, instead of 10,000,000")
    parser.add_argument("--streams-only", action="store_true", help="leave out Dask, many clusters and sparse data")
    arguments = parser.parse_args()
    quick = arguments.quick
    n = arguments.rows or (200_000 if quick else 10_000_000)
    machine = describe_machine()
    print(machine_lines(machine), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        free = shutil.disk_usage(folder).free
        if free < n * BYTES_PER_ROW:
            sys.exit(f"{n:,} rows need {n * BYTES_PER_ROW / 1e9:.1f} GB in {folder}, but {free / 1e9:.1f} GB are free.")
        rows = _stream_rows(Path(folder), n)
        if not arguments.streams_only:
            rows += [*_dask_rows(Path(folder), n // 10), *_other_rows(quick)]
    print(table(rows))
    print(f"written to {save('scale', rows, machine)}")


def _job(name: str, *arguments: Any) -> dict[str, Any]:
    command = [sys.executable, str(JOBS), name, *map(str, arguments)]
    print(f"... {name} {' '.join(map(str, arguments[1:]))}", file=sys.stderr, flush=True)
    result: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return result


def _rate(what: str, n: int, seconds: float, peer: str = "", theirs: float | None = None, **details: Any) -> Row:
    ratio = None if theirs is None else theirs / seconds
    rate = None if theirs is None else n / theirs / 1e6
    return Row(what, n / seconds / 1e6, "M rows/s", peer, rate, ratio, details=details)


def _at_least(what: str, rate: float, wanted: float) -> Row:
    return Row(what, rate / 1e6, "M rows/s", target=f">= {wanted / 1e6:g} M rows/s", met=rate >= wanted)


def _stream_rows(folder: Path, n: int) -> list[Row]:
    points = _job("write", folder, n)
    fit = _job("fit", folder)
    read, predict, score = _job("read", folder), _job("predict", folder), _job("score", folder)
    n_command = min(n, COMMAND_ROWS)
    command = _job("command", folder, -(-n_command // FILE_ROWS))
    limit = ", limit enforced" if command["enforced"] else ""
    job = f"allegiance score --clusters 20 --save, {n_command:,} rows, one processor{limit}"
    shape = f"{n:,} x 16 float32, k = 20"
    return [
        _rate(f"read Parquet alone, {shape}", n, read["seconds"]),
        _rate("fit_stream, n_clusters=20", n, fit["seconds"], peak=fit["peak"]),
        _rate("score_stream", n, score["seconds"], "reading alone", read["seconds"], job=score),
        _at_least("score_stream", n / score["seconds"], RATE),
        _rate("score_stream", n, score["seconds"], "MiniBatchKMeans.predict", predict["seconds"]),
        limit_row("peak memory of score_stream", score["peak"], "B", STREAM_LIMIT),
        limit_row("peak memory of fit_stream", fit["peak"], "B", STREAM_LIMIT),
        Row("processor time of a row in score_stream", score["processor"] / n),
        *(Row(f"... of it {stage}", seconds / n) for stage, seconds in score["stages"].items()),
        _rate(job, n_command, command["seconds"]),
        Row("... processor time of a row", command["processor"] / n_command),
        limit_row("... peak memory", command["peak"], "B", STREAM_LIMIT),
        Row("the table on disk, for each row", points["bytes"] / n, "bytes"),
        Row("output on disk, for each row", score["output_bytes"], "bytes"),
    ]


def _dask_rows(folder: Path, n: int) -> list[Row]:
    one, two = (_job("dask", folder, n, workers) for workers in (1, 2))
    return [
        _rate(f"Dask, 1 worker, {n:,} rows", n, one["seconds"]),
        _rate(f"Dask, 2 workers, {n:,} rows", n, two["seconds"], "1 worker", one["seconds"]),
    ]


def _other_rows(quick: bool) -> list[Row]:
    many = _job("many", "-", 200 if quick else 2000)
    sparse = _job("sparse", "-", 10_000 if quick else 100_000)
    text = f"TF-IDF {sparse['n']:,} x 50,000, {sparse['density']:.1%} filled, k = 10"
    return [
        limit_row("k = 1,000, d = 50, top=3: prepare, once for a scorer", many["prepare"], "s", PREPARE, **many),
        limit_row("k = 1,000, d = 50, top=3: each point", many["each"], "s", EACH),
        Row("k = 1,000, d = 50, top=3: processor time of a point", many["processor_each"]),
        limit_row("k = 1,000, d = 50, top=3: peak memory", many["peak"], "B", LIMIT),
        Row(f"{text}: fit and score", sparse["seconds"], details=sparse),
        limit_row(f"{text}: peak memory", sparse["peak"], "B", LIMIT),
    ]


if __name__ == "__main__":
    main()
