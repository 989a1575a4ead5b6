"""A Dask cluster as an executor."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from allegiance._core import require


@contextmanager
def connect(address: str, *, timeout: float = 30.0) -> Iterator[Executor]:
    """Connect to a running Dask cluster, as the ``executor`` of :func:`allegiance.score_stream`.

    A batch whose worker dies is scored by another one. The workers need allegiance, but not the files.

    Parameters
    ----------
    address
        Of the scheduler, such as ``"tcp://scheduler:8786"``.
    timeout
        Seconds to wait for it.

    Yields
    ------
    Executor
        What takes batches to the workers, until the block is left.

    Raises
    ------
    ConnectionError
        If no scheduler answers there.

    Examples
    --------
    For a table in parts, a fitted scorer and a scheduler that runs::

        with connect("tcp://scheduler:8786") as executor:
            score_stream("part-*.parquet", scorer, "scores.parquet", executor=executor)
    """
    library = require("distributed", "dask", "a Dask cluster")
    try:
        client = library.Client(address, timeout=timeout, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConnectionError(f"no Dask scheduler answers at {address}: {error}") from error
    with client:
        yield client.get_executor(pure=False)
