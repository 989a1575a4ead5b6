"""Seeds and streams: every random number of the package starts here."""

from __future__ import annotations

import numpy as np

from ._typing import RandomState


def resolve_seed(random_state: RandomState) -> int:
    """Turn what the user passed as ``random_state`` into one integer that can be stored and replayed.

    An integer is kept; ``None`` takes fresh entropy; a ``Generator`` or ``RandomState`` is advanced by one draw.
    """
    if random_state is None:
        return int(np.random.default_rng().integers(2**63))
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ValueError(f"random_state must be a non-negative integer, got {random_state}.")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    raise TypeError(
        "random_state must be None, an integer, a numpy.random.Generator or a numpy.random.RandomState, "
        f"got {type(random_state).__name__}."
    )


def stream(seed: int, *key: int) -> np.random.Generator:
    """Return the generator of the stream named ``key`` under ``seed``.

    Streams with different keys are independent, and a stream does not depend on which others were used before it:
    that is what makes results the same for any thread count, chunk size and order of rows.
    """
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))
