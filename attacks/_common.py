"""Shared by all attacks: their description, counts, processes, saved scorers, and runs that score a table."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from allegiance import AffinityScorer
from allegiance.domains import Polytope
from allegiance.engines import Auto
from allegiance.influence import Kernel, Weights
from allegiance.io import TableError
from allegiance.io.streams import score_stream

#: The module of every attack, in the order of the table.
MODULES = {
    "random_calls": "random_calls",
    "damaged_files": "files",
    "crafted_files": "files",
    "kills": "processes",
    "one_output": "processes",
    "full_disk": "full_disk",
    "forks_and_threads": "forks_and_threads",
    "hostile_tables": "hostile_tables",
    "injection": "injection",
}


@dataclass
class Tally:
    """The outcomes of an attack."""

    held: Counter[str] = field(default_factory=Counter)
    """Attempts that kept the promise, by outcome."""
    broken: list[str] = field(default_factory=list)
    """Descriptions of attempts that broke it, with everything needed to repeat them."""
    skipped: str | None = None
    """Why the attack cannot run here."""

    @property
    def attempts(self) -> int:
        """The number of attempts."""
        return self.held.total() + len(self.broken)


@dataclass(frozen=True)
class Attack:
    """One kind of attack.

    Attributes
    ----------
    name
        The name in the table.
    promise
        The statement that must hold after every attempt.
    full, short
        Number of attempts in a full run and in the slow tests.
    make
        Makes a number of attempts with random numbers from a generator, in an empty folder.
    """

    name: str
    promise: str
    full: int
    short: int
    make: Callable[[int, np.random.Generator, Path], Tally]


def load(name: str) -> Attack:
    """Return an attack by its name."""
    attack: Attack = import_module(f"attacks.{MODULES[name]}").ATTACKS[name]
    return attack


def generator(seed: int, name: str) -> np.random.Generator:
    """Return the random numbers of one attack, which do not depend on the other attacks."""
    return np.random.default_rng([seed, *name.encode()])


#: Seconds after which a process counts as hanging, even on a busy machine.
TIMEOUT = 180.0


def start(*words: str, **settings: Any) -> subprocess.Popen[str]:
    """Start ``python words``."""
    return subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **settings
    )


def finish(child: subprocess.Popen[str], timeout: float = TIMEOUT) -> tuple[int | None, str]:
    """Wait for a process; return its exit status (None if it hung and was killed) and its output."""
    try:
        out, err = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = child.communicate()
        return None, out + err
    return child.returncode, out + err


def command(*words: str | Path) -> list[str]:
    """Return the Python arguments that run the command line of the package."""
    return ["-c", "from allegiance.cli import main; main()", *map(str, words)]


_IRIS = load_iris()


class Saved(NamedTuple):
    """A scorer and rows that it can score."""

    scorer: AffinityScorer
    rows: Any


def saved_scorers() -> dict[str, Saved]:
    """Return a scorer of each kind by name; together they contain every kind of object that a file can hold."""
    X = _IRIS.data[::3]
    sparse = sp.csr_array(np.where(X > 1.5, X, 0.0))
    settings: dict[str, tuple[Any, dict[str, Any]]] = {
        "power": (X, {"weights": Weights([0.1, 0.2, 0.3]), "influence": "within", "calibration": 3}),
        "space": (X, {"domain": "space"}),
        "polytope": (X, {"domain": Polytope.box([0.0] * 4, [9.0] * 4)}),
        "kl": (X[:, :3], {"influence": "kl", "weights": "size"}),
        "kernel": (X, {"influence": "rbf"}),
        "sparse": (sparse, {"influence": "polynomial"}),
        "precomputed": (X @ X.T, {"influence": "precomputed"}),
        "fourier": (X, {"influence": Kernel("rbf", approximation="fourier")}),
        "nystroem": (X, {"influence": Kernel("rbf", approximation="nystroem")}),
        "sketch": (X, {"influence": Kernel("polynomial", approximation="hashing")}),
    }
    quick: dict[str, Any] = {"eps": 0.2, "engine": Auto(max_samples=4_000), "n_jobs": 1, "random_state": 0}
    labels = np.array(_IRIS.target_names)[_IRIS.target[::3]]
    by_labels = {name: (X, labels, chosen) for name, (X, chosen) in settings.items()}
    prepared = make_pipeline(StandardScaler(), PCA(3), KMeans(3, n_init=1, random_state=0))
    mixture = GaussianMixture(3, random_state=0)
    estimators = {"pipeline": prepared, "mixture": mixture}
    by_estimator = {name: (X, None, {"estimator": estimator}) for name, estimator in estimators.items()}
    return {
        name: Saved(AffinityScorer(**{"influence": "euclidean"} | (quick | chosen)).fit(X, labels), X)
        for name, (X, labels, chosen) in (by_labels | by_estimator).items()
    }


def leaves(state: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path to every value of a state that is not a dict."""
    for name, value in state.items():
        if isinstance(value, dict):
            yield from leaves(value, (*path, name))
        else:
            yield (*path, name)


def get_value(state: dict[str, Any], path: tuple[str, ...]) -> Any:
    """Return one value of a state."""
    for name in path:
        state = state[name]
    return state


def with_value(state: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Return a state with one value replaced."""
    name, *rest = path
    return state | {name: with_value(state[name], tuple(rest), value) if rest else value}


ROWS = 6_000
#: Processes are forked from one that has imported all this, and runs no other thread: they start in milliseconds.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["attacks._common"])


def prepare(folder: Path) -> tuple[Path, Path]:
    """Write a table and a scorer for it; return both paths."""
    rng = np.random.default_rng(0)
    X, kind = rng.normal(size=(ROWS, 2)), np.arange(ROWS) % 3
    table, scorer = folder / "table.parquet", folder / "table.scorer"
    pq.write_table(pa.table({"id": np.arange(ROWS), "x": X[:, 0], "y": X[:, 1], "kind": kind}), table)
    frame = pa.table({"x": X[:, 0], "y": X[:, 1]})
    AffinityScorer(random_state=0, influence="euclidean").fit(frame.to_pandas(), kind).save(scorer)
    return table, scorer


def score(table: Path, scorer: Path, out: Path, batch_rows: int, details: bool = False) -> None:
    """Score a file to a file, which is replaced, or a folder to a folder, where only missing files are written."""
    whole = table.is_file()
    try:
        score_stream(
            table, scorer, out if whole else f"{out}/", keep=["id"], batch_rows=batch_rows, details=details, force=whole
        )
    except TableError as error:
        if "another run" not in str(error):
            raise
        raise SystemExit(1) from error


def run(*arguments: Any) -> Any:
    """Start a scoring process."""
    child = CONTEXT.Process(target=score, args=arguments)
    child.start()
    return child


def split(table: Path, folder: Path, n_files: int) -> Path:
    """Write a table as several files; return their folder."""
    folder.mkdir()
    rows = pq.read_table(table)
    size = -(-rows.num_rows // n_files)
    for number in range(n_files):
        pq.write_table(rows.slice(number * size, size), folder / f"{number:03d}.parquet")
    return folder


def leftovers(folder: Path, known: set[str]) -> list[str]:
    """Return the files of a folder, except known ones."""
    return sorted(path.name for path in folder.iterdir() if path.name not in known)
