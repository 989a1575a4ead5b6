"""The counting kernel of the shared samples against a matrix product of the same shape.

Counting needs f_q(y) for all 10,000 queries q and samples y of one bank: as many multiply-adds as the float32 product
of a 10,000 x 9 with a 9 x (samples) matrix, after which nothing has been compared or counted yet. Both sides work on
blocks of rows on the library's own threads, all cores, with BLAS held to one thread per block. The product writes to
memory that exists; once as a whole and once in tiles of 32 rows that stay in the cache, and the faster one counts.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from _machine import usable_cores
from _mnist import Job, mnist_job
from _report import Row
from _side_by_side import Task, side_by_side
from allegiance import AffinityScorer, SharedSamples
from allegiance._core.parallel import for_row_blocks
from allegiance._kernels.counting import count_owners

_TILE = 32


def run(quick: bool) -> list[Row]:
    """Time kernel and product in turns."""
    job = mnist_job()
    n = job.X.shape[0]
    counting, shape = _counting(job)
    tasks = {"ours": counting, **_products(*shape)}
    with threadpool_limits(1):
        times = side_by_side(tasks, 10 if quick else 60)
    work = float(np.prod(shape))
    rates = {name: work / value.best for name, value in times.items()}
    theirs = max(rates["whole"], rates["tiles"])
    ratio = rates["ours"] / theirs
    return [
        Row(
            f"counting kernel, {n:,} x {shape[1]} x {shape[2]:,}",
            rates["ours"] / 1e9,
            "G multiply-adds/s",
            "float32 matrix product",
            theirs / 1e9,
            ratio,
            ">= 0.333 x",
            ratio >= 1 / 3,
            {"rates": rates},
        )
    ]


def _counting(job: Job) -> tuple[Task, tuple[int, int, int]]:
    """Return the library's count of one bank for all points, and the shape of its work."""
    fitted = AffinityScorer(centers=job.centers).fit(job.X).fitted_
    scene = fitted.tessellation
    engine = SharedSamples().build(scene, fitted.specification.settings)
    queries = scene.queries(scene.diagram.locate(job.X).position)
    bank = engine._bank(0)  # type: ignore[attr-defined]
    counts = np.zeros((queries.n, scene.n_sites), np.int64)

    rows = np.arange(queries.n)

    def work(part: slice) -> None:
        count_owners(rows[part], queries.a, queries.b, *scene.functions, *bank, counts)

    def task() -> None:
        for_row_blocks(work, queries.n, usable_cores())

    samples = int((bank.blocks[:, 0] == 0).sum())  # the rest of a block is padding, and no useful work
    return task, (queries.n, scene.dim, samples)


def _products(n: int, r: int, samples: int) -> dict[str, Task]:
    """Return the product of random float32 matrices (n, r) and (r, samples), whole and in tiles."""
    rng = np.random.default_rng(0)
    left = rng.standard_normal((n, r), dtype=np.float32)
    right = rng.standard_normal((r, samples), dtype=np.float32)
    out = np.empty((n, samples), np.float32)

    def whole(rows: slice) -> None:
        np.matmul(left[rows], right, out=out[rows])

    def tiles(rows: slice) -> None:
        tile: npt.NDArray[np.float32] = np.empty((_TILE, samples), np.float32)
        for start in range(rows.start, rows.stop, _TILE):
            part = left[start : min(start + _TILE, rows.stop)]
            np.matmul(part, right, out=tile[: part.shape[0]])

    return {
        "whole": lambda: for_row_blocks(whole, n, usable_cores()),
        "tiles": lambda: for_row_blocks(tiles, n, usable_cores()),
    }
