"""Peak memory of scoring 1,000,000 x 50 float32 points against 10 centres, in a fresh process.

The process imports the library and scores a few points first, so that compiled code and libraries count as baseline;
then it makes the data and resets the kernel's high-water mark of resident memory. The peak during the one call, minus
the baseline, must stay below input plus output plus 500 MB. Output are all arrays of the result. On systems without
``/proc/self/clear_refs`` the peak is that of the whole process, which can only be larger.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np

from _report import Row, limit_row, quantity

ALLOWANCE = 500_000_000


def run(quick: bool) -> list[Row]:
    """Measure in a fresh process."""
    n = 100_000 if quick else 1_000_000
    done = subprocess.run([sys.executable, __file__, str(n)], check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(done.stdout)
    limit = found["input"] + found["output"] + ALLOWANCE
    known = f"input {quantity(found['input'], 'B')}, output {quantity(found['output'], 'B')}"
    what = f"peak memory, {n:,} x 50 float32, k = 10 ({known})"
    return [limit_row(what, found["peak"], "B", limit, **found)]


def measure(n: int) -> dict[str, float]:
    """Score ``n`` points in this process and return bytes: input, output, peak beyond the baseline."""
    from allegiance import affinity

    rng = np.random.default_rng(0)
    centers = rng.standard_normal((10, 50), dtype=np.float32)
    affinity(rng.standard_normal((500, 50), dtype=np.float32), centers=centers, random_state=0)
    baseline = _resident()
    X = rng.standard_normal((n, 50), dtype=np.float32)
    for start in range(0, n, 100_000):
        rows = X[start : start + 100_000]
        rows += centers[np.arange(len(rows)) % 10]
    _reset_peak()
    result = affinity(X, centers=centers, random_state=0)
    peak = _peak() - baseline
    arrays = {id(value): value for value in vars(result).values() if isinstance(value, np.ndarray)}
    return {
        "input": X.nbytes,
        "output": sum(array.nbytes for array in arrays.values()),
        "peak": peak,
        "seconds": result.how.seconds,
    }


def _reset_peak() -> None:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def _peak() -> int:
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _resident() -> int:
    return _status("VmRSS") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _status(field: str) -> int | None:
    """Return a size in bytes from the kernel's account of this process."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":")), None)


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
