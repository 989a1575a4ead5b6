"""Peak memory of scoring 1,000,000 x 50 float32 points against 10 centres, in a fresh process.

The process imports the library and scores a few points first, so that compiled code and libraries count as baseline;
then it makes the data and resets the kernel's high-water mark of resident memory. The peak during the one call, minus
the baseline, must stay below input plus output plus 500 MB. Output are all arrays of the result. On systems without
``/proc/self/clear_refs`` the peak is that of the whole process, which can only be larger.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

from _process_memory import peak, reset_peak, resident
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
    baseline = resident()
    X = rng.standard_normal((n, 50), dtype=np.float32)
    for start in range(0, n, 100_000):
        rows = X[start : start + 100_000]
        rows += centers[np.arange(len(rows)) % 10]
    reset_peak()
    result = affinity(X, centers=centers, random_state=0)
    beyond = peak() - baseline
    arrays = {id(value): value for value in vars(result).values() if isinstance(value, np.ndarray)}
    return {
        "input": X.nbytes,
        "output": sum(array.nbytes for array in arrays.values()),
        "peak": beyond,
        "seconds": result.how.seconds,
    }


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
