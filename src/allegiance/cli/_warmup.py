"""``allegiance warmup``: compile now what would be compiled on first use."""

from __future__ import annotations

import time

import click

from ._console import print_json, say
from ._options import RunOptions, run_options

EPILOG = """\b
Examples:
  allegiance warmup
  RUN pip install 'allegiance[cli]' && allegiance warmup     # in a Dockerfile
"""


@click.command(epilog=EPILOG, short_help="Compile the kernels now.")
@run_options
def warmup(run: RunOptions) -> None:
    """Compile the kernels, so that the first real run does not have to.

    They are kept on disk until the package, Python, numba or the processor changes.
    """
    import numpy as np

    from allegiance import trust
    from allegiance.geometry import sample_polytope

    started = time.perf_counter()
    rng = np.random.default_rng(0)
    # Few dimensions are measured exactly, many by samples, those of many clusters from banks; the rest by walks.
    for dimensions, clusters, engine in [(2, 8, "exact"), (6, 8, "shared"), (6, 20, "shared"), (6, 8, "hit-and-run")]:
        X = rng.normal(size=(4 * clusters, dimensions))
        trust(X, np.arange(4 * clusters) % clusters, engine=engine, eps=0.2, n_resamples=2)
    sample_polytope(np.vstack([np.eye(2), -np.eye(2)]), np.ones(4), 10, random_state=0)
    seconds = time.perf_counter() - started
    if run.json:
        print_json({"seconds": seconds})
    else:
        say(run, f"Kernels are ready ({seconds:.1f} s).")
