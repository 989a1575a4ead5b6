"""Independent repeats of a clustering: what comes back, known without classes.

One sample of a population is clustered; further samples, disjoint from it, are clustered in the same way, sixteen of a
labelled set and 64 of a generated population, and the points of the first are placed in their clusters and matched.
This does not depend on how trust is estimated: it is kept in ``out/repeats``.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from sklearn.base import clone
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.datasets import make_circles
from sklearn.metrics import pairwise_distances_argmin
from sklearn.mixture import GaussianMixture

from allegiance.calibration import matches
from allegiance.clusterers import Leiden

from ._datasets import UnavailableError, _prepared, all_sets

REPEATS, GENERATED_REPEATS = 16, 64
SIZES = (3, 6, 12, 26)
#: A scene needs this many points for each cluster.
ROWS_PER_CLUSTER = 12
MOST_ROWS = 800
GENERATED_ROWS = 600
STORE = Path(__file__).resolve().parents[2] / "out" / "repeats"
Floats = np.ndarray[Any, np.dtype[np.float64]]
Draw = Callable[[Any, int], Floats]

CLUSTERERS: dict[str, Callable[[int], Any]] = {
    "k-means": lambda k: KMeans(k, n_init=5),
    "mixture": lambda k: GaussianMixture(k, reg_covar=1e-3, n_init=1),
    "Ward": AgglomerativeClustering,
}
ODD: dict[str, Callable[[int], Any]] = {
    "spectral": lambda k: SpectralClustering(k, affinity="nearest_neighbors", n_neighbors=10),
    "HDBSCAN": lambda k: HDBSCAN(min_cluster_size=15, copy=True),
    "average": lambda k: AgglomerativeClustering(k, linkage="average"),
    "Leiden": Leiden,
}
#: Clusterings that k-means, mixtures and Ward cannot make; the number is that of the clusters, or the resolution.
ODD_SCENES = (
    ("rings, 2", "spectral", 2),
    ("digits", "spectral", 10),
    ("satimage", "spectral", 6),
    ("blobs, 5 in 2-D", "HDBSCAN", 5),
    ("blobs, 7 in 2-D", "HDBSCAN", 7),
    ("blobs, 12 in 2-D", "HDBSCAN", 12),
    ("noisy blobs, 4 in 2-D", "HDBSCAN", 4),
    ("noisy blobs, 6 in 3-D", "HDBSCAN", 6),
    ("digits", "Leiden", 1),
    ("satimage", "Leiden", 1),
    ("letter", "Leiden", 1),
    ("blobs, 4 in 5-D", "Leiden", 1),
    ("Gaussian, 10-D", "Leiden", 1),
    ("blobs, 5 in 2-D", "average", 5),
    ("Gaussian, 10-D", "average", 3),
)
#: Populations of these scenes only.
ODD_POPULATIONS = ("blobs, 5 in 2-D", "blobs, 7 in 2-D", "noisy blobs, 4 in 2-D", "noisy blobs, 6 in 3-D", "rings, 2")


class Population(NamedTuple):
    """Where samples come from."""

    name: str
    kind: str
    """"choosing" if the estimator was made on it, else "confirming"."""
    structure: bool
    """Whether it has clusters at all."""
    classes: int
    draw: Draw | None
    """Draws n rows; None for a labelled set, whose rows are divided."""

    def samples(self, seed: int) -> Iterator[Floats]:
        """Yield independent samples of the same size."""
        if self.draw is not None:
            for number in range(GENERATED_REPEATS + 1):
                yield self.draw(np.random.default_rng([seed, number]), GENERATED_ROWS)
            return
        X, _ = labelled(self.name)
        order, n = np.random.default_rng(seed).permutation(len(X)), self.rows
        for number in range(REPEATS + 1):
            yield X[order[number * n : (number + 1) * n]]

    @property
    def rows(self) -> int:
        """The rows of a sample."""
        if self.draw is not None:
            return GENERATED_ROWS
        return min(MOST_ROWS, len(labelled(self.name)[0]) // (REPEATS + 1))


def blobs(k: int, d: int, separation: float, imbalance: float = 1.0, stretch: float = 1.0) -> Draw:
    """Return a function that draws from one mixture, which its parameters decide."""
    rng = np.random.default_rng([k, d])
    centers = rng.normal(size=(k, d)) * separation / np.sqrt(2)
    shares = np.geomspace(1.0, imbalance, k)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    shape = turn * np.geomspace(stretch**-0.5, stretch**0.5, d)

    def draw(rng: Any, n: int) -> Floats:
        which = rng.choice(k, n, p=shares / shares.sum())
        return centers[which] + rng.normal(size=(n, d)) @ shape.T

    return draw


def correlated(rng: Any, n: int) -> Floats:
    """Draw normal rows whose columns are alike."""
    return rng.normal(size=(n, 6)) @ np.linalg.cholesky(0.7 * np.ones((6, 6)) + 0.3 * np.eye(6)).T


def noisy(k: int, d: int, separation: float) -> Draw:
    """Return a function that draws blobs of which every seventh point or so is noise."""
    clean = blobs(k, d, separation)

    def draw(rng: Any, n: int) -> Floats:
        X = clean(rng, n)
        noise = rng.random(n) < 0.15
        X[noise] = rng.uniform(X.min(axis=0), X.max(axis=0), (noise.sum(), d))
        return X

    return draw


def _rings(rng: Any, n: int) -> Floats:
    return make_circles(n, factor=0.4, noise=0.06, random_state=int(rng.integers(2**31)))[0]


@cache
def populations() -> dict[str, Population]:
    """Return every population that is at hand, by name."""
    generated: list[tuple[str, str, bool, Draw]] = [
        ("blobs, 10 in 20-D", "choosing", True, blobs(10, 20, 6.0)),
        ("Gaussian, 10-D", "choosing", False, lambda rng, n: rng.normal(size=(n, 10))),
        ("uniform, 5-D", "choosing", False, lambda rng, n: rng.uniform(size=(n, 5))),
        ("heavy tails, 5-D", "confirming", False, lambda rng, n: rng.standard_t(3, size=(n, 5))),
        ("correlated Gaussian, 6-D", "confirming", False, correlated),
        ("blobs, 4 in 5-D", "confirming", True, blobs(4, 5, 4.0)),
        ("blobs, 6 unequal in 3-D", "confirming", True, blobs(6, 3, 4.0, imbalance=8.0)),
        ("stretched blobs, 5 in 8-D", "confirming", True, blobs(5, 8, 5.0, stretch=5.0)),
        ("blobs, 12 in 2-D", "confirming", True, blobs(12, 2, 3.5)),
        ("blobs, 5 in 2-D", "confirming", True, blobs(5, 2, 7.0)),
        ("blobs, 7 in 2-D", "confirming", True, blobs(7, 2, 6.0)),
        ("noisy blobs, 4 in 2-D", "confirming", True, noisy(4, 2, 8.0)),
        ("noisy blobs, 6 in 3-D", "confirming", True, noisy(6, 3, 6.0)),
        ("rings, 2", "confirming", True, _rings),
    ]
    found = {
        name: Population(name, kind, structure, int(re.findall(r"\d+", name)[0]) if structure else 0, draw)
        for name, kind, structure, draw in generated
    }
    chosen_on = ("mnist", "letter", "satimage", "segment")
    for name in (*chosen_on, "digits", "yeast", "breast_cancer"):
        try:
            found[name] = Population(
                name, "choosing" if name in chosen_on else "confirming", True, labelled(name)[1], None
            )
        except UnavailableError:
            continue
    return found


@cache
def labelled(name: str) -> tuple[Floats, int]:
    """Return all rows of a labelled set, prepared as in the study, and its number of classes."""
    for one in all_sets(tables_folder()):
        if one.name == name:
            X, target = one.draw.args[0]()
            return _prepared(np.asarray(X, float), one.draw.keywords["scaled"]), len(set(map(str, target)))
    raise UnavailableError(f"{name}: not at hand")


def tables_folder() -> Path | None:
    """Return the folder of labelled tables in ``$ALLEGIANCE_DATA``, if there is one."""
    found = os.environ.get("ALLEGIANCE_DATA")
    return Path(found) / "tables" if found and (Path(found) / "tables").is_dir() else None


def scenes() -> list[tuple[str, str, int]]:
    """Return population, clusterer and number of clusters, smaller numbers first."""
    found = [one for one in ODD_SCENES if one[0] in populations()]
    usual = [one for one in populations().values() if one.name not in ODD_POPULATIONS]
    for place in range(len(SIZES) + 1):
        for population in usual:
            k = SIZES[place] if place < len(SIZES) else population.classes
            if k * ROWS_PER_CLUSTER <= population.rows and not (place == len(SIZES) and k in (0, *SIZES)):
                found += [(population.name, name, k) for name in CLUSTERERS]
    return found


class Scene(NamedTuple):
    """A clustering, and what became of its labels in repeats."""

    X: Floats
    labels: Any
    """(n,) 0 to k - 1, -1 for noise."""
    back: Any
    """(repeats, n) whether each label came back."""
    clusterer: Any


def scene(population: str, name: str, k: int) -> Scene:
    """Return a scene from the store, or measure it."""
    clusterer = (CLUSTERERS | ODD)[name](k)
    path = STORE / f"{population}, {name}, {k}.npz".replace(" ", "_")
    if path.exists():
        with np.load(path) as kept:
            return Scene(kept["X"], kept["labels"], kept["back"], clusterer)
    seed = crc32(f"{population}, {name}, {k}".encode())
    samples = populations()[population].samples(seed)
    X = next(samples)
    _, labels = fit_labels(clusterer, X, seed)
    back = []
    for number, other in enumerate(samples, 1):
        fitted, found = fit_labels(clusterer, other, (seed + 1000 * number) % 2**32)
        has_predict = hasattr(fitted, "predict")
        back.append(matches(labels, fitted.predict(X) if has_predict else found[pairwise_distances_argmin(X, other)]))
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, X=X, labels=labels, back=np.array(back))
    return Scene(X, labels, np.array(back), clusterer)


def fit_labels(clusterer: Any, X: Floats, seed: int) -> tuple[Any, Any]:
    """Return a fitted clone and its labels, 0 to k - 1, -1 for noise."""
    fitted = clone(clusterer)
    if "random_state" in fitted.get_params():
        fitted.set_params(random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = np.asarray(fitted.fit_predict(X))
    codes = np.full(len(X), -1)
    codes[found >= 0] = np.unique(found[found >= 0], return_inverse=True)[1]
    return fitted, codes
