"""Independent replicates of a clustering: the fraction of labels that replicate, known without classes.

One sample of a population is clustered. Twelve more samples, disjoint from it, are clustered with the same settings,
and the points of the first are placed in their clusters and matched. Tuning populations are those on which the
estimator was developed; evaluation populations were not used for that. Samples, labels and replicates are cached, since
they do not depend on the estimator.
"""

import os
import pickle
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import pandas as pd
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
from reproduction.datasets import load_mnist_test

REPLICATES, ROWS = 12, 500
#: Samples of each setting whose labels are compared with the twelve others.
SAMPLES = 4
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

    def samples(self, seed: int, rows: int = ROWS) -> Iterator[Floats]:
        """Yield independent samples of the same size."""
        if self.draw is not None:
            yield from (self.draw(np.random.default_rng([seed, i]), rows) for i in range(REPLICATES + 1))
        else:
            assert self.table is not None
            X = self.table()
            order, n = np.random.default_rng(seed).permutation(len(X)), min(rows, len(X) // (REPLICATES + 1))
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


def _products(rng: Any, n: int) -> Floats:
    """Draw counts and prices with long tails and one-hot categories, as in a table of customers."""
    kind = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    amounts = rng.lognormal(np.array([[1.0, 0.0, 2.0], [2.0, 1.5, 0.5], [0.0, 2.5, 1.0]])[kind], 0.8)
    categories = np.where(rng.random((n, 2)) < 0.7, kind[:, None], rng.integers(4, size=(n, 2)))
    return np.column_stack([np.log1p(amounts), np.eye(4)[categories].reshape(n, 8)])


def _topics(n_topics: int, d: int, spread: float) -> Draw:
    """Return a function that draws unit vectors around topics of unequal size and width, as sentence embeddings are."""
    rng = np.random.default_rng([n_topics, d])
    centers, widths = rng.normal(size=(n_topics, d)), rng.uniform(0.6, 1.4, n_topics) * spread
    decay = np.geomspace(1.0, 0.2, d)
    shares = rng.dirichlet(np.full(n_topics, 2.0))

    def draw(rng: Any, n: int) -> Floats:
        topic = rng.choice(n_topics, n, p=shares)
        X = (centers[topic] + widths[topic, None] * rng.standard_t(5, size=(n, d))) * decay
        return X / np.linalg.norm(X, axis=1, keepdims=True)

    return draw


def _spirals(rng: Any, n: int) -> Floats:
    angle, arm = 1.5 * np.pi * np.sqrt(rng.random(n)) + 0.5, rng.integers(3, size=n)
    turned = angle + 2.0 * np.pi * arm / 3.0
    return np.column_stack([angle * np.cos(turned), angle * np.sin(turned)]) + rng.normal(scale=0.25, size=(n, 2))


def _islands(rng: Any, n: int) -> Floats:
    """Draw points of bent bands of unequal density in the plane, as in a map by UMAP."""
    fixed = np.random.default_rng(11)
    shares, where = fixed.dirichlet(np.full(9, 1.5)), fixed.uniform(-8.0, 8.0, (9, 2))
    turn, length, bend = fixed.uniform(0, 2 * np.pi, 9), fixed.uniform(0.5, 2.5, 9), fixed.normal(size=9)
    island, along = rng.choice(9, n, p=shares), rng.uniform(-1.0, 1.0, n)
    u, v = length[island] * along, 0.5 * bend[island] * along**2 + rng.normal(scale=0.25, size=n)
    cos, sin = np.cos(turn[island]), np.sin(turn[island])
    return where[island] + np.column_stack([cos * u - sin * v, sin * u + cos * v])


def _skewed(rng: Any, n: int) -> Floats:
    """Draw blobs with Student t noise whose columns are exponentiated."""
    return np.exp(0.5 * blobs(4, 5, 4.0, imbalance=4.0)(rng, n) + 0.2 * rng.standard_t(3, size=(n, 5)))


def data_folder() -> Path | None:
    """Return the folder ``$ALLEGIANCE_DATA``, if there is one."""
    folder = os.environ.get("ALLEGIANCE_DATA")
    return Path(folder) if folder and Path(folder).is_dir() else None


def _csv(path: Path) -> Floats:
    X = np.genfromtxt(path, delimiter=",", skip_header=1)[:, :-1]
    return StandardScaler().fit_transform(X)


def _numbers(path: Path) -> Floats:
    """Read the numeric columns of a table, without its identifier, standardized."""
    frame = pd.read_csv(path).iloc[:, 1:].apply(pd.to_numeric, errors="coerce").dropna(axis=1, thresh=8000).dropna()
    return StandardScaler().fit_transform(frame.to_numpy(np.float64))


def _bank(path: Path) -> Floats:
    """Read a table of customers: standardized numbers and one-hot categories."""
    frame = pd.read_csv(path, sep=";").drop(columns="y").sample(12_000, random_state=0)
    numbers = frame.select_dtypes("number").apply(lambda column: np.arcsinh(column / column.std()))
    categories = pd.get_dummies(frame.select_dtypes("object"), dtype=float)
    return np.hstack([StandardScaler().fit_transform(numbers), categories.to_numpy()])


def _air_quality(path: Path) -> Floats:
    frame = (
        pd.read_csv(path, sep=";", decimal=",").iloc[:, 2:15].drop(columns="NMHC(GT)").replace(-200, np.nan).dropna()
    )
    return StandardScaler().fit_transform(frame.to_numpy(np.float64))


def _mnist(path: Path) -> Floats:
    return PCA(10, random_state=0).fit_transform(load_mnist_test().X / 255.0)


def _arrays(path: Path) -> Floats:
    return np.load(path)["X"].astype(np.float64)


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
        "heavy-tailed skewed blobs, 4 in 5-D": generated("tuning", True, _skewed),
        "mixed customers, 3 in 11-D": generated("tuning", True, _products),
        "topics, 12 in 40-D": generated("tuning", True, _topics(12, 40, 0.7)),
        "islands": generated("tuning", True, _islands),
        "rings": generated("evaluation", True, _rings),
        "heavy-tailed blobs, 5 in 4-D": generated("evaluation", True, _heavy_blobs),
        "stretched blobs, 5 in 8-D": generated("evaluation", True, blobs(5, 8, 5.0, stretch=5.0)),
        "noisy blobs, 6 in 3-D": generated("evaluation", True, blobs(6, 3, 6.0, noise=0.15)),
        "one-hot, 4 in 24-D": generated("evaluation", True, _one_hot),
        "correlated Gaussian, 6-D": generated("evaluation", False, correlated),
        "gamma, 4-D": generated("evaluation", False, lambda rng, n: rng.gamma(1.5, size=(n, 4))),
        "Student t, 5-D": generated("evaluation", False, lambda rng, n: rng.standard_t(4, size=(n, 5))),
        "spirals": generated("evaluation", True, _spirals),
        "topics, 20 in 25-D": generated("evaluation", True, _topics(20, 25, 0.5)),
        "Swiss roll": generated("evaluation", False, _seeded(make_swiss_roll, noise=0.5)),
        "S-curve": generated("tuning", False, _seeded(make_s_curve, noise=0.05)),
    }
    if (folder := data_folder()) is not None:
        for name, role, file, read in (
            *((name, "tuning", f"tables/{name}.csv", _csv) for name in ("letter", "satimage", "segment")),
            ("air quality", "tuning", "real/AirQualityUCI.csv", _air_quality),
            ("bank customers, one-hot", "tuning", "real/bank-full.csv", _bank),
            ("credit cards", "evaluation", "real/cc_general.csv", _numbers),
            ("mnist", "tuning", "mnist/t10k-images-idx3-ubyte.gz", _mnist),
            *((path.stem, "evaluation", path, _arrays) for path in sorted((folder / "populations").glob("*.npz"))),
        ):
            if (folder / file).exists():
                result[name] = Population(role, "real", True, None, cache(partial(read, folder / file)))
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
        **{f"HDBSCAN {size}": lambda X, size=size: HDBSCAN(size, copy=True) for size in (5, 10, 15, 30, 50)},
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
OPTICS_ON = (
    *("noisy blobs, 6 in 3-D", "diamonds", "chameleon_t7", "rings", "topics, 20 in 25-D", "shuttle"),
    *("moons", "islands", "uneven blobs, 3 in 5-D", "mnist", "blobs, 10 in 20-D", "air quality"),
)


class Setting(NamedTuple):
    """A clustering, and the clusters in which replicates place its rows."""

    X: Floats
    labels: Any
    """(n,) 0 to k - 1, -1 for noise."""
    placed: Any
    """(replicates, n) clusters of the replicates, -1 for noise."""
    clusterer: Any

    @property
    def replicated(self) -> Any:
        """(replicates, n) whether each label replicates."""
        return np.array([matches(self.labels, placed) for placed in self.placed])

    @property
    def is_clustered(self) -> bool:
        """Whether there are two clusters, and not nearly everything is noise."""
        return self.labels.max() > 0 and (self.labels >= 0).mean() >= 0.05


def settings(role: str, family: str) -> list[tuple[str, str]]:
    """Return population and clusterer of each setting."""
    names = [name for name, population in populations().items() if population.role == role]
    return [(name, title) for name in names for title in CLUSTERERS[family] if title != "OPTICS" or name in OPTICS_ON]


def cache_folder() -> Path:
    """Return the folder ``$ALLEGIANCE_CACHE``, by default one in the user's cache."""
    return Path(os.environ.get("ALLEGIANCE_CACHE", Path.home() / ".cache" / "allegiance-benchmarks"))


def cached(key: str, compute: Callable[[], Any]) -> Any:
    """Return what was computed for this key before, or compute it."""
    path = cache_folder() / f"{crc32(key.encode()):08x}-{''.join(c if c.isalnum() else '_' for c in key)[:80]}.pickle"
    if path.exists():
        return pickle.loads(path.read_bytes())
    value = compute()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_bytes(pickle.dumps(value))
    partial.replace(path)
    return value


def setting(population: str, title: str, number: int = 0, rows: int = ROWS) -> Setting:
    """Return one of the clusterings of a population, with its replicates."""
    return cached(f"{population}, {title}, {rows}", lambda: _measure(population, title, rows))[number]


def _measure(population: str, title: str, rows: int) -> list[Setting]:
    """Cluster thirteen samples, and place the rows of the first ones in the clusters of all others."""
    seed = crc32(f"{population}, {title}".encode())
    samples = list(populations()[population].samples(seed, rows))
    make = next(family[title] for family in CLUSTERERS.values() if title in family)
    clusterer = make(samples[0])
    fits = [fit_labels(clusterer, X, (seed + 1000 * number) % 2**32) for number, X in enumerate(samples)]
    return [
        Setting(
            samples[i],
            fits[i][1],
            np.array([place(*fits[j], samples[j], samples[i]) for j in range(len(fits)) if j != i], dtype=np.int16),
            clusterer,
        )
        for i in range(SAMPLES)
    ]


def place(fitted: Any, codes: Any, sample: Floats, X: Floats) -> Any:
    """Return the clusters of X (n,) by prediction, or those of the nearest rows of the sample."""
    return fitted.predict(X) if hasattr(fitted, "predict") else codes[pairwise_distances_argmin(X, sample)]


def bottom_decile(values: pd.Series) -> float:
    """Return the mean of the lowest tenth."""
    return float(values.nsmallest(max(len(values) // 10, 1)).mean())


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
