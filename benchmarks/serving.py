"""The service of docs/how-to/behind-an-api.md under load: requests, errors, latency, processor time per request.

``python benchmarks/serving.py --seconds 20`` starts the example of the page with two uvicorn workers and sends rows
from 16 clients. A model has 10 clusters and 16 columns, one of them a category.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import psutil

from allegiance import AffinityScorer
from allegiance.io import fit_stream, open_table, propose

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "behind-an-api.md"
CLIENTS, WORKERS, PORT = 16, 2, 8437


def save_model(path: Path) -> list[dict[str, Any]]:
    """Save a model, and return rows to score with it."""
    rng = np.random.default_rng(0)
    groups = rng.integers(10, size=5000)
    X = 4.0 * rng.normal(size=(10, 15))[groups] + rng.normal(size=(5000, 15))
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(15)]).assign(plan=np.where(groups % 2, "gold", "basic"))
    table = open_table(frame)
    fit_stream(table, AffinityScorer(calibration=5, random_state=0), plan=propose(table), n_clusters=10).save(path)
    return frame.head(500).to_dict("records")


def send(rows: list[dict[str, Any]], until: float) -> tuple[list[float], int]:
    """Send rows one after the other until a time; return the latencies and the number of errors."""
    latencies, errors = [], 0
    with httpx.Client(base_url=f"http://127.0.0.1:{PORT}", timeout=30.0) as client:
        while time.perf_counter() < until:
            started = time.perf_counter()
            errors += client.post("/score", json=rows[len(latencies) % len(rows)]).status_code != 200
            latencies.append(time.perf_counter() - started)
    return latencies, errors


def wait_until_ready() -> None:
    for _ in range(600):
        try:
            httpx.get(f"http://127.0.0.1:{PORT}/health")
            return
        except httpx.HTTPError:
            time.sleep(0.1)
    sys.exit("the service did not start.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = save_model(folder / "january.model")
        example = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
        assert example is not None
        (folder / "service.py").write_text(example[1], encoding="utf-8")
        words = ["uvicorn", "service:app", "--workers", str(WORKERS), "--port", str(PORT), "--log-level", "warning"]
        with subprocess.Popen([sys.executable, "-m", *words], cwd=folder, env=os.environ) as service:
            try:
                wait_until_ready()
                time.sleep(2.0)  # for the second worker
                processes = psutil.Process(service.pid).children(recursive=True)
                used = -sum(sum(process.cpu_times()[:2]) for process in processes)
                until = time.perf_counter() + seconds
                with ThreadPoolExecutor(CLIENTS) as pool:
                    answers = list(pool.map(lambda _: send(rows, until), range(CLIENTS)))
                used += sum(sum(process.cpu_times()[:2]) for process in processes)
                memory = [process.memory_info().rss / 2**20 for process in processes]
            finally:
                service.terminate()
    latencies = np.concatenate([each for each, _ in answers])
    median, high = np.percentile(latencies, [50, 99])
    print(f"load {os.getloadavg()[0]:.1f}; {CLIENTS} clients, {WORKERS} workers, {seconds:g} s")
    print(
        f"{latencies.size:,} requests, {sum(errors for _, errors in answers)} errors, {latencies.size / seconds:.0f}/s"
    )
    print(f"latency: median {1e3 * median:.0f} ms, 99 of 100 below {1e3 * high:.0f} ms")
    print(f"processor time: {1e3 * used / latencies.size:.2f} ms per request; memory of a worker {max(memory):.0f} MB")


if __name__ == "__main__":
    main()
