"""A real cluster of worker processes, one of which dies."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import dask.array as da
import numpy as np
import pytest
from dask.distributed import Client

from allegiance import AffinityScorer, affinity, score_stream
from allegiance.io.dask import connect
from dask_cluster import two_workers

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(3)
CENTERS = RNG.normal(size=(7, 6)) * 3
X = CENTERS[RNG.integers(7, size=4000)] + RNG.normal(size=(4000, 6)) * 2
LABELS = ((X[:, None] - CENTERS) ** 2).sum(axis=2).argmin(axis=1)


@pytest.fixture
def client() -> Iterator[Client]:
    with two_workers() as cluster, Client(cluster) as client:
        yield client


def slowly(block: np.ndarray) -> np.ndarray:
    """Give somebody the time to kill a worker."""
    time.sleep(0.15)
    return block


def test_a_cluster_gives_what_numpy_gives(client):
    lazy = da.from_array(X, chunks=(500, 6))
    result = affinity(lazy, centers=CENTERS, random_state=0)
    expected = affinity(X, centers=CENTERS, random_state=0)
    np.testing.assert_array_equal(result.affinity.compute(), expected.affinity)
    fitted = AffinityScorer(random_state=0, influence="within").fit(lazy, da.from_array(LABELS, chunks=500))
    in_memory = AffinityScorer(random_state=0, influence="within").fit(X, LABELS)
    np.testing.assert_allclose(fitted.cluster_centers_, in_memory.cluster_centers_, rtol=1e-12)


def test_a_worker_killed_in_mid_run_loses_nothing(client):
    pids: dict[str, Any] = client.run(os.getpid)
    assert len(set(pids.values())) == 2
    lazy = da.from_array(X, chunks=(100, 6)).map_blocks(slowly, dtype=float, meta=np.empty((0, 0)))
    scorer = AffinityScorer(centers=CENTERS, random_state=0).fit(X)
    running = scorer.affinity(lazy).affinity.persist()
    time.sleep(1.5)
    os.kill(next(iter(pids.values())), signal.SIGKILL)
    np.testing.assert_array_equal(running.compute(), scorer.transform(X))
    assert set(client.run(os.getpid).values()) != set(pids.values()), "a worker did die"


def test_a_table_is_scored_by_address_though_a_worker_dies(client, tmp_path):
    np.save(tmp_path / "x.npy", X)
    scorer = AffinityScorer(centers=CENTERS, random_state=0).fit(X)
    score_stream(tmp_path / "x.npy", scorer, tmp_path / "here.parquet", batch_rows=100)
    pid = next(iter(client.run(os.getpid).values()))
    killed = []

    def kill_once(progress: Any) -> None:
        if not killed:
            os.kill(pid, signal.SIGKILL)
            killed.append(progress.rows)

    with connect(client.scheduler.address) as executor:
        score_stream(
            tmp_path / "x.npy",
            scorer,
            tmp_path / "there.parquet",
            batch_rows=100,
            executor=executor,
            verbose=kill_once,
        )
    assert killed == [100]
    assert (tmp_path / "there.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()


def test_nobody_at_the_address():
    with pytest.raises(ConnectionError, match="no Dask scheduler"), connect("tcp://127.0.0.1:9", timeout=0.5):
        pass
