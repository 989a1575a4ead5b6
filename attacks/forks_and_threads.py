"""Forks while other threads are at work, and many threads at one scorer."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from allegiance import AffinityScorer
from allegiance.engines import SharedSamples

from ._common import Attack, Tally, finish, start

#: Forks again and again while a thread draws samples with fresh scorers; each child scores too, and must end.
_FORKS = """
import os, signal, sys, threading, warnings
warnings.simplefilter("ignore")
import numpy as np
from allegiance import AffinityScorer
from allegiance.engines import SharedSamples
X = np.random.default_rng(0).normal(size=(40, 8))
fitted = AffinityScorer(engine=SharedSamples(200_000), eps=0.02, n_jobs=1).fit(X, np.arange(40) % 9)
state = fitted.to_dict()
expected = fitted.affinity(X).affinity
shared, stop = [AffinityScorer.from_dict(state)], threading.Event()
def draw():
    while not stop.is_set():
        shared[0] = AffinityScorer.from_dict(state)
        shared[0].affinity(X)
thread = threading.Thread(target=draw)
thread.start()
rng = np.random.default_rng(int(sys.argv[2]))
for _ in range(int(sys.argv[1])):
    stop.wait(float(rng.uniform(0.0, 0.03)))
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        same = np.array_equal(shared[0].affinity(X).affinity, expected)
        os._exit(0 if same else 3)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
stop.set()
thread.join()
"""
#: The same while a thread compiles kernels, with no cache to find them in. All is imported before: what a thread is
#: importing when its process is forked, the child cannot import, in any Python program.
_COMPILING = """
import os, signal, sys, threading, warnings
warnings.simplefilter("ignore")
import numpy as np
from allegiance import AffinityScorer, affinity
X = np.random.default_rng(0).normal(size=(30, 6))
def score():
    affinity(X, np.arange(30) % 7, engine="shared", eps=0.3)
import sklearn.cluster, scipy.optimize, scipy.spatial
from allegiance._kernels import _grouping, _owner_chain, _owner_counts, _projection
AffinityScorer().fit(X[:, :1], np.arange(30) % 7)
thread = threading.Thread(target=score)
thread.start()
threading.Event().wait(float(sys.argv[2]))
child = os.fork()
if child == 0:
    signal.alarm(120)
    score()
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
thread.join()
"""
_THREADS = 8
_SAVES = 10


def make(attempts: int, rng: np.random.Generator, folder: Path) -> Tally:
    """Fork, and share scorers between threads: no child hangs, and the bits are the same."""
    tally = Tally()
    forks, compiling = attempts * 2 // 3, max(attempts // 30, 1)
    seed = str(int(rng.integers(2**31)))
    _count(tally, "forks while samples are drawn", forks, finish(start("-c", _FORKS, str(forks), seed), 60.0 * forks))
    for _ in range(compiling):
        words = ("-c", _COMPILING, "1", str(float(rng.uniform(0.2, 4.0))))
        child = start(*words, env=os.environ | {"ALLEGIANCE_CACHE": "0"})
        _count(tally, "forks while kernels are compiled", 1, finish(child, 300.0))
    X = rng.normal(size=(60, 8))
    fitted = AffinityScorer(engine=SharedSamples(20_000), eps=0.1, n_jobs=1, influence="euclidean").fit(
        X, np.arange(60) % 9
    )
    expected, state = fitted.affinity(X).affinity, fitted.to_dict()
    fitted.save(folder / "expected.scorer")
    whole = (folder / "expected.scorer").read_bytes()
    for attempt in range(max(attempts - forks - compiling, 1)):
        _share(AffinityScorer.from_dict(state), X, expected, whole, folder / "shared.scorer", tally, attempt)
    return tally


def _count(tally: Tally, what: str, expected: int, ended: tuple[int | None, str]) -> None:
    status, said = ended
    codes = [line for line in said.splitlines() if line.lstrip("-").isdigit()]
    good = codes.count("0")
    tally.held[what] += good
    if good < expected:
        tally.broken.append(f"{what}: {expected - good} of {expected} hung or failed ({status}): {said[-300:]}")


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
        "A process forked at any moment can score; threads that share a scorer get the same bits and save whole files.",
        full=150,
        short=9,
        make=make,
    ),
}
