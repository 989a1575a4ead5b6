"""Independent replicates of a clustering: the fraction of labels that replicate, known without classes.

One sample of a population is clustered. Twelve more samples, disjoint from it, are clustered with the same settings,
and the points of the first are placed in their clusters and matched. Tuning populations are those on which the
estimator was developed; evaluation populations were not used for that.
"""

from __future__ import annotations

import gzip
import os
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from sklearn.base import clone
from sklearn.cluster import DBSCAN, HDBSCAN, OPTICS, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.datasets import make_circles, make_moons, make_s_curve, make_swiss_roll
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances_argmin
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from allegiance.anndata import Leiden
from allegiance.calibration import matches

REPLICATES, ROWS = 12, 700
Floats = np.ndarray[Any, np.dtype[np.float64]]
Draw = Callable[[Any, int], Floats]


class Population(NamedTuple):
    """Source of independent samples."""

    role: str
    """ "tuning" or "evaluation"."""
    kind: str
    """ "real" or "generated"."""
    has_clusters: bool
    draw: Draw | None
    """Draws n rows; None for a table, whose rows are divided."""
    table: Callable[[], Floats] | None = None

    def samples(self, seed: int) -> Iterator[Floats]:
        """Yield independent samples of the same size."""
        if self.draw is not None:
            yield from (self.draw(np.random.default_rng([seed, i]), ROWS) for i in range(REPLICATES + 1))
        else:
            assert self.table is not None
            X = self.table()
            order, n = np.random.default_rng(seed).permutation(len(X)), min(ROWS, len(X) // (REPLICATES + 1))
            yield from (X[order[i * n : (i + 1) * n]] for i in range(REPLICATES + 1))


def blobs(k: int, d: int, separation: float, imbalance: float = 1.0, stretch: float = 1.0, noise: float = 0.0) -> Draw:
    """Return a function that draws from a Gaussian mixture, with a share of uniform noise."""
    rng = np.random.default_rng([k, d])
    centers = rng.normal(size=(k, d)) * separation / np.sqrt(2)
    shares = np.geomspace(1.0, imbalance, k)
    shape = np.linalg.qr(rng.normal(size=(d, d)))[0] * np.geomspace(stretch**-0.5, stretch**0.5, d)

    def draw(rng: Any, n: int) -> Floats:
        X = centers[rng.choice(k, n, p=shares / shares.sum())] + rng.normal(size=(n, d)) @ shape.T
        is_noise = rng.random(n) < noise
        X[is_noise] = rng.uniform(X.min(axis=0), X.max(axis=0), (is_noise.sum(), d))
        return X

    return draw


def _seeded(make: Callable[..., Any], **settings: Any) -> Draw:
    return lambda rng, n: make(n, random_state=int(rng.integers(2**31)), **settings)[0]


def correlated(rng: Any, n: int) -> Floats:
    """Draw normal rows with correlated columns."""
    return rng.normal(size=(n, 6)) @ np.linalg.cholesky(0.7 * np.ones((6, 6)) + 0.3 * np.eye(6)).T


def _rings(rng: Any, n: int) -> Floats:
    return make_circles(n, factor=0.4, noise=0.06, random_state=int(rng.integers(2**31)))[0]


def _one_hot(rng: Any, n: int) -> Floats:
    """Draw six categorical columns that depend on one of four classes, as one-hot columns."""
    preferred = np.random.default_rng(5).integers(4, size=(4, 6))
    which = rng.integers(4, size=n)
    values = np.where(rng.random((n, 6)) < 0.75, preferred[which], rng.integers(4, size=(n, 6)))
    return np.eye(4)[values].reshape(n, 24)


def _heavy_blobs(rng: Any, n: int) -> Floats:
    return 6.0 * np.random.default_rng(8).normal(size=(5, 4))[rng.integers(5, size=n)] + rng.standard_t(3, size=(n, 4))


def data_folder() -> Path | None:
    """Return the folder ``$ALLEGIANCE_DATA``, if there is one."""
    folder = os.environ.get("ALLEGIANCE_DATA")
    return Path(folder) if folder and Path(folder).is_dir() else None


def _csv(path: Path) -> Floats:
    X = np.genfromtxt(path, delimiter=",", skip_header=1)[:, :-1]
    return StandardScaler().fit_transform(X)


def _mnist(path: Path) -> Floats:
    with gzip.open(path) as file:
        pixels = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784) / 255.0
    return PCA(10, random_state=0).fit_transform(pixels)


@cache
def populations() -> dict[str, Population]:
    """Return all populations by name; tables only if ``$ALLEGIANCE_DATA`` has them."""

    def generated(role: str, has_clusters: bool, draw: Draw) -> Population:
        return Population(role, "generated", has_clusters, draw)

    result = {
        "blobs, 8 in 10-D": generated("tuning", True, blobs(8, 10, 3.1)),
        "blobs, 10 in 20-D": generated("tuning", True, blobs(10, 20, 6.0)),
        "uneven blobs, 3 in 5-D": generated("tuning", True, blobs(3, 5, 4.0, imbalance=8.0)),
        "moons": generated("tuning", True, _seeded(make_moons, noise=0.07)),
        "Gaussian, 5-D": generated("tuning", False, lambda rng, n: rng.normal(size=(n, 5))),
        "uniform, 3-D": generated("tuning", False, lambda rng, n: rng.uniform(size=(n, 3))),
        "lognormal, 6-D": generated("tuning", False, lambda rng, n: rng.lognormal(size=(n, 6))),
        "rings": generated("evaluation", True, _rings),
        "heavy-tailed blobs, 5 in 4-D": generated("evaluation", True, _heavy_blobs),
        "stretched blobs, 5 in 8-D": generated("evaluation", True, blobs(5, 8, 5.0, stretch=5.0)),
        "noisy blobs, 6 in 3-D": generated("evaluation", True, blobs(6, 3, 6.0, noise=0.15)),
        "one-hot, 4 in 24-D": generated("evaluation", True, _one_hot),
        "correlated Gaussian, 6-D": generated("evaluation", False, correlated),
        "gamma, 4-D": generated("evaluation", False, lambda rng, n: rng.gamma(1.5, size=(n, 4))),
        "Student t, 5-D": generated("evaluation", False, lambda rng, n: rng.standard_t(4, size=(n, 5))),
        "Swiss roll": generated("evaluation", False, _seeded(make_swiss_roll, noise=0.5)),
        "S-curve": generated("tuning", False, _seeded(make_s_curve, noise=0.05)),
    }
    if (folder := data_folder()) is not None:
        for name in ("letter", "satimage", "segment"):
            if (path := folder / "tables" / f"{name}.csv").exists():
                result[name] = Population("tuning", "real", True, None, cache(lambda path=path: _csv(path)))
        if (path := folder / "mnist" / "t10k-images-idx3-ubyte.gz").exists():
            result["mnist"] = Population("tuning", "real", True, None, cache(lambda path=path: _mnist(path)))
        for path in sorted((folder / "populations").glob("*.npz")):
            result[path.stem] = Population(
                "evaluation", "real", True, None, cache(lambda path=path: np.load(path)["X"].astype(np.float64))
            )
    return result


def _dbscan(X: Floats) -> Any:
    distance = NearestNeighbors(n_neighbors=6).fit(X).kneighbors(X)[0][:, 5]
    return DBSCAN(eps=float(np.quantile(distance, 0.8)), min_samples=5)


#: By family and name, a function from the first sample to the clusterer.
CLUSTERERS: dict[str, dict[str, Callable[[Floats], Any]]] = {
    "centroid": {
        **{f"k-means {k}": lambda X, k=k: KMeans(k, n_init=5) for k in (3, 6, 12)},
        "mixture 4": lambda X: GaussianMixture(4, reg_covar=1e-3, n_init=1),
        "diagonal mixture 3": lambda X: GaussianMixture(3, covariance_type="diag", reg_covar=1e-3),
        "Ward 6": lambda X: AgglomerativeClustering(6),
        "average 5": lambda X: AgglomerativeClustering(5, linkage="average"),
    },
    "density": {
        **{f"HDBSCAN {size}": lambda X, size=size: HDBSCAN(size, copy=True) for size in (5, 15, 50)},
        "HDBSCAN 10 leaf": lambda X: HDBSCAN(10, cluster_selection_method="leaf", copy=True),
        "DBSCAN": _dbscan,
        "OPTICS": lambda X: OPTICS(min_samples=10, xi=0.02),
    },
    "graph": {
        **{f"Leiden {r}": lambda X, r=r: Leiden(r) for r in (0.3, 1.0, 2.0)},
        "spectral 6": lambda X: SpectralClustering(6, affinity="nearest_neighbors"),
    },
}
#: OPTICS takes a second for 700 rows, so it runs on these populations only.
OPTICS_ON = ("noisy blobs, 6 in 3-D", "diamonds", "chameleon_t7", "rings")


class Setting(NamedTuple):
    """A clustering, and whether its labels replicate."""

    X: Floats
    labels: Any
    """(n,) 0 to k - 1, -1 for noise."""
    replicated: Any
    """(replicates, n) whether each label replicates."""
    clusterer: Any


def settings(role: str, family: str) -> list[tuple[str, str]]:
    """Return population and clusterer of each setting."""
    names = [name for name, population in populations().items() if population.role == role]
    return [(name, title) for name in names for title in CLUSTERERS[family] if title != "OPTICS" or name in OPTICS_ON]


def setting(population: str, title: str) -> Setting:
    """Cluster a sample and its replicates."""
    seed = crc32(f"{population}, {title}".encode())
    samples = populations()[population].samples(seed)
    X = next(samples)
    make = next(family[title] for family in CLUSTERERS.values() if title in family)
    clusterer = make(X)
    _, labels = fit_labels(clusterer, X, seed)
    replicated = []
    for number, other in enumerate(samples, 1):
        fitted, codes = fit_labels(clusterer, other, (seed + 1000 * number) % 2**32)
        placed = fitted.predict(X) if hasattr(fitted, "predict") else codes[pairwise_distances_argmin(X, other)]
        replicated.append(matches(labels, placed))
    return Setting(X, labels, np.array(replicated), clusterer)


def fit_labels(clusterer: Any, X: Floats, seed: int) -> tuple[Any, Any]:
    """Return a fitted clone and its labels, 0 to k - 1, -1 for noise."""
    fitted = clone(clusterer)
    if "random_state" in fitted.get_params():
        fitted.set_params(random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = np.asarray(fitted.fit_predict(X))
    codes = np.full(len(X), -1)
    codes[labels >= 0] = np.unique(labels[labels >= 0], return_inverse=True)[1]
    return fitted, codes
