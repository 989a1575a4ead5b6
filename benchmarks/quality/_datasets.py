"""Labeled data: scikit-learn's own, MNIST and Soybean, generators, and a folder of tables.

Decided once for all of them:

- Tables with columns in mixed units (iris, wine, breast_cancer, the folder's) are scaled to unit variance. Images,
  Soybean's codes and generated data stay as they are.
- More than 50 columns are replaced by their first 50 principal components, so that Gaussian mixtures can be fitted.
- A seed draws 80% of the rows of a real set, at most 1,000, so that intervals show more than the luck of a start. A
  generator draws new points. A class that a draw misses, such as one of two rows, is not a class of that draw.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.spatial.distance import pdist
from sklearn import datasets
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from reproduction.datasets import load_mnist_test, load_soybean

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

MOST_ROWS = 1000
MOST_COLUMNS = 50
_SHARE = 0.8


class Sample(NamedTuple):
    """What one seed draws."""

    X: Floats
    """(n, d)"""
    classes: Ints
    """(n,) reference classes, 0 to k - 1."""


@dataclass(frozen=True)
class LabeledSet:
    """A named source of labeled data."""

    name: str
    kind: str
    """"real" for those of the project itself, "table" for those of the folder, or "generated"."""
    draw: Callable[[int], Sample]


class UnavailableError(Exception):
    """A data set that is not on this machine."""


def all_sets(folder: Path | None = None) -> list[LabeledSet]:
    """Return all data sets of the project, and of the folder: files NAME.csv with the class in the last column."""
    own = [] if folder is None else [_from_csv(path) for path in sorted(folder.glob("*.csv"))]
    return [*_real_sets(), *_generated_sets(), *own]


# --- real data ---------------------------------------------------------------------------------------------------


def _real_sets() -> list[LabeledSet]:
    return [
        LabeledSet(name, "real", partial(_draw_rows, cache(partial(load, name)), scaled=scaled))
        for name, load, scaled in (
            ("iris", _scikit_learn, True),
            ("wine", _scikit_learn, True),
            ("breast_cancer", _scikit_learn, True),
            ("digits", _scikit_learn, False),
            ("mnist", _ours, False),
            ("soybean", _ours, False),
        )
    ]


def _scikit_learn(name: str) -> tuple[Floats, Sequence[object]]:
    return getattr(datasets, f"load_{name}")(return_X_y=True)


def _ours(name: str) -> tuple[Floats, Sequence[object]]:
    """Read one of the sets that are not part of the project: see ``reproduction.datasets``."""
    try:
        dataset = {"mnist": load_mnist_test, "soybean": load_soybean}[name]()
    except FileNotFoundError as error:
        raise UnavailableError(f"{name}: {error}") from error
    return np.asarray(dataset.X, float), dataset.reference.tolist()


def _from_csv(path: Path) -> LabeledSet:
    return LabeledSet(path.stem, "table", partial(_draw_rows, cache(partial(_read_csv, path)), scaled=True))


def _read_csv(path: Path) -> tuple[Floats, Sequence[object]]:
    """Read numbers with the class last; a first row that holds no numbers is a header."""
    frame = pd.read_csv(path, header=None, dtype=str)
    if pd.to_numeric(frame.iloc[0, :-1], errors="coerce").isna().any():
        frame = frame[1:]
    return frame.iloc[:, :-1].to_numpy(float), frame.iloc[:, -1].tolist()


def _draw_rows(load: Callable[[], tuple[Floats, Sequence[object]]], seed: int, *, scaled: bool) -> Sample:
    X, target = load()
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(X))[: min(MOST_ROWS, round(_SHARE * len(X)))]
    names, classes = np.unique(np.asarray(target)[rows], return_inverse=True)
    if names.size < 2:
        raise ValueError(f"a draw of {rows.size} rows has only the class {names[0]}: at least two classes are needed")
    return Sample(_prepared(np.asarray(X, float)[rows], scaled), classes.astype(np.intp))


def _prepared(X: Floats, scaled: bool) -> Floats:
    X = X[:, X.std(axis=0) > 0]
    if scaled:
        X = StandardScaler().fit_transform(X)
    if X.shape[1] > MOST_COLUMNS:
        X = PCA(MOST_COLUMNS, svd_solver="full").fit_transform(X)
    return X


# --- generated data ----------------------------------------------------------------------------------------------


def _generated_sets() -> list[LabeledSet]:
    """Vary one thing at a time around four round clusters of equal size in five columns, 2.5 deviations apart."""
    scenes: dict[str, Callable[[int], Sample]] = {
        "blobs": blobs,
        "separation-1.75": partial(blobs, separation=1.75),
        "separation-3.5": partial(blobs, separation=3.5),
        "imbalance-5": partial(blobs, imbalance=5.0),
        "imbalance-20": partial(blobs, imbalance=20.0),
        "stretch-common": partial(blobs, stretch=4.0),
        "stretch-own": partial(blobs, stretch=4.0, common=False),
        "spread-uneven": partial(blobs, spread=4.0),
        "columns-2": partial(blobs, d=2),
        "columns-20": partial(blobs, d=20),
        "columns-50": partial(blobs, d=50),
        "clusters-2": partial(blobs, k=2),
        "clusters-10": partial(blobs, k=10),
        "clusters-20": partial(blobs, k=20),
        "moons": _moons,
        "classification": _classification,
    }
    return [LabeledSet(name, "generated", draw) for name, draw in scenes.items()]


def blobs(
    seed: int,
    *,
    k: int = 4,
    d: int = 5,
    separation: float = 2.5,
    imbalance: float = 1.0,
    stretch: float = 1.0,
    common: bool = True,
    spread: float = 1.0,
) -> Sample:
    """Draw ``make_blobs`` around random centers.

    ``separation`` is the distance of the two closest centers, in deviations; ``imbalance`` the largest cluster over
    the smallest; ``stretch`` the longest axis of a cluster over its shortest, in ``common`` or each cluster its own;
    ``spread`` the widest cluster over the narrowest.
    """
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(k, d))
    centers *= separation / pdist(centers).min()
    shares = np.geomspace(1.0, imbalance, k)
    sizes = np.maximum(np.round(max(600, 50 * k) * shares / shares.sum()), 2).astype(int)
    deviations = rng.permutation(np.geomspace(spread**-0.5, spread**0.5, k))
    noise, classes = datasets.make_blobs(sizes.tolist(), centers=np.zeros((k, d)), cluster_std=1.0, random_state=seed)
    noise *= deviations[classes][:, None]
    maps = [_stretching(rng, d, stretch) for _ in range(k)]
    for c in range(k):
        noise[classes == c] @= maps[0 if common else c]
    return Sample(centers[classes] + noise, classes.astype(np.intp))


def _stretching(rng: np.random.Generator, d: int, ratio: float) -> Floats:
    """Return a map of determinant one whose longest axis is ``ratio`` times its shortest, in a random direction."""
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return (turn * np.geomspace(ratio**-0.5, ratio**0.5, d)) @ turn.T


def _moons(seed: int) -> Sample:
    X, classes = datasets.make_moons(600, noise=0.15, random_state=seed)
    return Sample(X, classes.astype(np.intp))


def _classification(seed: int) -> Sample:
    """Draw three classes in ten columns, of which four tell them apart and three repeat what those say."""
    X, classes = datasets.make_classification(
        600, 10, n_informative=4, n_redundant=3, n_classes=3, n_clusters_per_class=1, class_sep=1.5, random_state=seed
    )
    return Sample(X, classes.astype(np.intp))
