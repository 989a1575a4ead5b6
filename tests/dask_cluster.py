"""A Dask cluster on this machine, for tests."""

from collections.abc import Iterator
from contextlib import contextmanager

import dask
from dask.distributed import LocalCluster


@contextmanager
def two_workers() -> Iterator[LocalCluster]:
    """Start two worker processes, with patience: processes start slowly on a busy machine."""
    patience = {"distributed.comm.timeouts.connect": "120s", "distributed.comm.timeouts.tcp": "120s"}
    with (
        dask.config.set(patience),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
        ) as cluster,
    ):
        yield cluster
