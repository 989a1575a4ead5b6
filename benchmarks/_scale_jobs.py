"""The measurements of ``scale.py``, each run in a process of its own: ``_scale_jobs.py NAME FOLDER ARGUMENTS``."""

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from _process_memory import limit_group, peak

FEATURES, CLUSTERS = 16, 20
BATCH, FILE_ROWS = 65_536, 1_000_000
#: Memory limit of the command line, in bytes.
MEMORY = 512 * 2**20


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def _compile_kernels() -> None:
    """Let every kernel run once, so that no measurement contains its compilation."""
    from allegiance import affinity

    X = np.random.default_rng(0).standard_normal((32, 6))
    for rows in (X, X.astype(np.float32)):
        for engine in ("shared", "hit-and-run"):
            affinity(rows, np.arange(32) % 8, engine=engine, eps=0.2, random_state=0, influence="euclidean")


def write(folder: str, n: str) -> dict[str, Any]:
    """Write overlapping clusters as float32 columns, in files of up to a million rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    centers = 2.0 * rng.standard_normal((CLUSTERS, FEATURES), dtype=np.float32)
    schema = pa.schema([(f"x{i}", pa.float32()) for i in range(FEATURES)])
    points = Path(folder) / "points"
    points.mkdir()
    for first in range(0, int(n), FILE_ROWS):
        stop, path = min(first + FILE_ROWS, int(n)), points / f"{first // FILE_ROWS:05}.parquet"
        with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
            for start in range(first, stop, BATCH):
                size = min(BATCH, stop - start)
                X = centers[rng.integers(CLUSTERS, size=size)] + rng.standard_normal((size, FEATURES), dtype=np.float32)
                writer.write_batch(pa.record_batch([np.ascontiguousarray(column) for column in X.T], schema=schema))
    return {"bytes": _size(points)}


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.parquet"))


def fit(folder: str) -> dict[str, Any]:
    from allegiance import AffinityScorer
    from allegiance.io import fit_stream

    settings = AffinityScorer(random_state=0, influence="euclidean")
    seconds, scorer = _timed(lambda: fit_stream(Path(folder) / "points", settings, n_clusters=CLUSTERS))
    scorer.save(Path(folder) / "points.model")
    return {"seconds": seconds, "peak": peak()}


def read(folder: str) -> dict[str, Any]:
    from allegiance.io import open_table

    source = open_table(Path(folder) / "points")
    seconds, rows = _timed(lambda: sum(batch.num_rows for batch in source.batches(rows=BATCH)))
    return {"seconds": seconds, "rows": rows}


def predict(folder: str) -> dict[str, Any]:
    """Label the same batches by k-means: what a user of scikit-learn would do."""
    from sklearn.cluster import MiniBatchKMeans

    from allegiance import load
    from allegiance.io import open_table

    centers = load(Path(folder) / "points.model").cluster_centers_.astype(np.float32)
    kmeans = MiniBatchKMeans(CLUSTERS, init=centers, n_init=1, max_iter=1).fit(np.repeat(centers, 3, axis=0))
    source = open_table(Path(folder) / "points")

    def label() -> int:
        total = 0
        for batch in source.batches(rows=BATCH):
            X = np.column_stack([column.to_numpy() for column in batch.columns])
            total += kmeans.predict(X).shape[0]
        return total

    return {"seconds": _timed(label)[0], "peak": peak()}


def score(folder: str) -> dict[str, Any]:
    """Score the table, and say how much processor time each stage takes, in whichever thread it runs."""
    from allegiance import load
    from allegiance.io import score_stream, sinks, streams

    _compile_kernels()
    scorer = load(Path(folder) / "points.model")
    output = Path(folder) / "out"
    stages = dict.fromkeys(["reading and preparing", "checking", "measuring", "writing"], 0.0)
    streams.Rows.batches = _counted_items(streams.Rows.batches, "reading and preparing", stages)
    for home, name, stage in (
        (streams.BatchScorer, "enter", "checking"),
        (streams.BatchScorer, "measure", "measuring"),
        (sinks.Sink, "write", "writing"),
    ):
        setattr(home, name, _counted(getattr(home, name), stage, stages))
    used = time.process_time()
    summary = score_stream(Path(folder) / "points", scorer, f"{output}/")
    return {
        "seconds": summary.seconds,
        "processor": time.process_time() - used,
        "output_bytes": _size(output) / summary.rows,
        "stages": stages,
        "peak": peak(),
    }


def command(folder: str, n_files: str) -> dict[str, Any]:
    """Fit a model to the first files and score them with the command line, on one processor.

    The memory limit is enforced where this process may create cgroups.
    """
    import os
    import resource
    import subprocess

    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    files = sorted(map(str, (Path(folder) / "points").glob("*.parquet")))[: int(n_files)]
    outputs = ["-o", f"{folder}/command/", "--save", f"{folder}/command.model", "--quiet"]
    words = [sys.executable, "-m", "allegiance", "score", *files, "--clusters", str(CLUSTERS), *outputs]
    with limit_group(MEMORY) as enter:
        seconds, _ = _timed(lambda: subprocess.run(words, check=True, preexec_fn=enter))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    unit = 1 if sys.platform == "darwin" else 1024
    processor, most = used.ru_utime + used.ru_stime, used.ru_maxrss * unit
    return {"seconds": seconds, "processor": processor, "peak": most, "enforced": enter is not None}


def _counted(work: Callable[..., Any], stage: str, stages: dict[str, float]) -> Callable[..., Any]:
    """Return a function that adds the processor time of its thread to a stage."""

    def counted(*args: Any, **settings: Any) -> Any:
        used = time.thread_time()
        try:
            return work(*args, **settings)
        finally:
            stages[stage] += time.thread_time() - used

    return counted


def _counted_items(work: Callable[..., Any], stage: str, stages: dict[str, float]) -> Callable[..., Any]:
    """Return the same for a generator, of the time that its items take."""

    def counted(*args: Any, **settings: Any) -> Any:
        items = iter(work(*args, **settings))
        following = _counted(lambda: next(items, None), stage, stages)
        while (item := following()) is not None:
            yield item

    return counted


def dask(folder: str, n: str, workers: str) -> dict[str, Any]:
    """Score the first rows of the table on a cluster of worker processes with one thread each."""
    import dask.array as da
    from dask.distributed import Client, LocalCluster

    from allegiance import load
    from allegiance.io import open_table

    scorer = load(Path(folder) / "points.model")
    del scorer.feature_names_in_
    batches = open_table(Path(folder) / "points").batches(rows=int(n))
    X = np.column_stack([column.to_numpy() for column in next(batches).columns])
    with (
        LocalCluster(n_workers=int(workers), threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        lazy = da.from_array(X, chunks=(max(int(n) // 40, 1), FEATURES)).persist()
        client.gather(client.map(len, [[]]))
        scorer.score_samples(lazy[: int(n) // 20]).compute()
        seconds, _ = _timed(lambda: scorer.score_samples(lazy).mean().compute())
    return {"seconds": seconds}


def many(_: str, n: str) -> dict[str, Any]:
    """Score points of a thousand clusters in 50 dimensions; the first call pays for what a scorer keeps."""
    from allegiance import AffinityScorer

    _compile_kernels()
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((1000, 50))
    X = centers[rng.integers(1000, size=int(n))] + rng.standard_normal((int(n), 50))
    scorer = AffinityScorer(centers=centers, random_state=0, influence="euclidean").fit(X)
    first, _ = _timed(lambda: scorer.affinity(X[:64], top=3))
    again, _ = _timed(lambda: scorer.affinity(X[:64], top=3))
    used = time.process_time()
    seconds, result = _timed(lambda: scorer.affinity(X, top=3))
    processor = time.process_time() - used
    walked = float((result.frame(details=True)["engine"] == "hit-and-run").mean())
    each = {"each": seconds / int(n), "processor_each": processor / int(n)}
    return {"prepare": first - again, **each, "walked": walked, "peak": peak()}


def sparse(_: str, n: str) -> dict[str, Any]:
    """Fit to and score TF-IDF rows of fifty words out of 50,000, those of a class more alike."""
    import scipy.sparse as sp
    from sklearn.feature_extraction.text import TfidfTransformer

    from allegiance import affinity

    _compile_kernels()
    rng = np.random.default_rng(0)
    rows, words = int(n), 50
    labels = rng.integers(10, size=rows)
    # Each of the fifty comes from a thousand words of its own, so that no row has a word twice.
    chosen = (rng.zipf(1.3, (rows, words)) + 100 * labels[:, None]) % 1000
    columns = (chosen + 1000 * np.arange(words)).astype(np.int32)
    starts = np.arange(0, rows * words + 1, words, dtype=np.int32)
    counts = sp.csr_array((1.0 + rng.poisson(1.0, rows * words), columns.ravel(), starts), shape=(rows, 50_000))
    X = TfidfTransformer().fit_transform(counts)
    seconds, _ = _timed(lambda: affinity(X, labels, random_state=0, influence="euclidean"))
    return {"n": rows, "density": X.nnz / (rows * 50_000), "seconds": seconds, "peak": peak()}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
