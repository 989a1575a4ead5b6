"""Forks between calls, and many threads at one scorer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from allegiance import AffinityScorer
from allegiance.engines import SharedSamples

from ._common import Attack, Tally, finish, start

#: Forks again and again between calls that use threads; each child scores too, with the same bits, and must end.
_FORKS = """
import os, signal, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from allegiance import AffinityScorer
from allegiance.engines import SharedSamples
X = np.random.default_rng(0).normal(size=(40, 8))
fitted = AffinityScorer(engine=SharedSamples(200_000), eps=0.02, n_jobs=2).fit(X, np.arange(40) % 9)
state = fitted.to_dict()
expected = fitted.affinity(X).affinity
for number in range(int(sys.argv[1])):
    scorer = AffinityScorer.from_dict(state)
    if number % 2:
        scorer.affinity(X)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        same = np.array_equal(scorer.affinity(X).affinity, expected)
        os._exit(0 if same else 3)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
_THREADS = 8
_SAVES = 10


def make(attempts: int, rng: np.random.Generator, folder: Path) -> Tally:
    """Fork, and share scorers between threads: no child hangs, and the bits are the same."""
    tally = Tally()
    forks = attempts * 2 // 3
    _count(tally, "forks between calls", forks, finish(start("-c", _FORKS, str(forks)), 60.0 * forks))
    X = rng.normal(size=(60, 8))
    fitted = AffinityScorer(engine=SharedSamples(20_000), eps=0.1, n_jobs=1, influence="euclidean").fit(
        X, np.arange(60) % 9
    )
    expected, state = fitted.affinity(X).affinity, fitted.to_dict()
    fitted.save(folder / "expected.scorer")
    whole = (folder / "expected.scorer").read_bytes()
    for attempt in range(max(attempts - forks, 1)):
        _share(AffinityScorer.from_dict(state), X, expected, whole, folder / "shared.scorer", tally, attempt)
    return tally


def _count(tally: Tally, what: str, expected: int, ended: tuple[int | None, str]) -> None:
    status, output = ended
    codes = [line for line in output.splitlines() if line.lstrip("-").isdigit()]
    good = codes.count("0")
    tally.held[what] += good
    if good < expected:
        tally.broken.append(f"{what}: {expected - good} of {expected} hung or failed ({status}): {output[-300:]}")


def _share(
    scorer: AffinityScorer, X: np.ndarray, expected: np.ndarray, whole: bytes, path: Path, tally: Tally, attempt: int
) -> None:
    """Score with one scorer, and save it to one file, from many threads at once."""

    def work(_: int) -> bool:
        scorer.save(path)
        return np.array_equal(scorer.affinity(X).affinity, expected)

    with ThreadPoolExecutor(_THREADS) as pool:
        same = all(pool.map(work, range(_SAVES)))
    if same and path.read_bytes() == whole:
        tally.held["scorers shared by threads"] += 1
    else:
        tally.broken.append(f"attempt {attempt}: threads got other bits, or saved another file")


ATTACKS = {
    "forks_and_threads": Attack(
        "forks and threads",
        "A process forked between calls can score; threads that share a scorer get the same bits and save whole files.",
        full=150,
        short=9,
        make=make,
    ),
}
