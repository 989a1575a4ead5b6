"""How often ``stability_curve`` names the right number of clusters, and suggests none where there are none.

``python benchmarks/number_of_clusters.py`` draws 48 datasets of round blobs and 12 without clusters. ``--real`` uses
labeled real datasets instead (``$ALLEGIANCE_DATA``) with up to 12 classes, which need not be clusters.
``--seed 20`` draws other datasets, ``--draws 3`` three times as many.
"""

import argparse
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score
from threadpoolctl import threadpool_limits

from allegiance import stability_curve
from quality._datasets import UnavailableError, all_sets
from quality._replicates import data_folder

Floats = npt.NDArray[np.float64]
TRUE_K = (3, 4, 5, 8)
DIMENSIONS = (2, 3, 5, 10)
SEPARATIONS = (8.0, 6.0, 4.5)
MOST_CLASSES = 12


class Data(NamedTuple):
    """One set of points; without clusters if k is 0."""

    kind: str
    name: str
    k: int
    X: Floats


def blobs(k: int, d: int, separation: float, seed: int) -> Floats:
    """Draw 60 points around each of k centers that are at least ``separation`` standard deviations apart."""
    rng = np.random.default_rng([k, d, seed])
    side = 1.2 * separation * k ** (1 / d)
    centers = np.empty((0, d))
    while len(centers) < k:
        candidate = rng.uniform(0, side, d)
        if (np.linalg.norm(centers - candidate, axis=1) >= separation).all():
            centers = np.vstack([centers, candidate])
        side *= 1.001
    return np.repeat(centers, 60, axis=0) + rng.normal(size=(60 * k, d))


def generated(seed: int, draws: int) -> Iterator[Data]:
    """Draw blobs, and data without clusters."""
    for kind in ("uniform", "normal"):
        for d in (2, 10):
            for draw in range(seed, seed + 3 * draws):
                X = getattr(np.random.default_rng([d, draw]), kind)(size=(300, d))
                yield Data("no clusters", f"{kind}, {d}-D, {draw}", 0, X)
    for separation in SEPARATIONS:
        for d in DIMENSIONS:
            for k in TRUE_K:
                for draw in range(seed, seed + draws):
                    kind = f"blobs {separation} deviations apart"
                    yield Data(kind, f"{k} in {d}-D, {draw}", k, blobs(k, d, separation, draw))


def real() -> Iterator[Data]:
    """Draw the labeled real datasets, at most 1,000 rows each."""
    folder = data_folder()
    for data in all_sets(None if folder is None else folder / "tables"):
        try:
            X, classes = data.draw(0)
        except UnavailableError:
            continue
        if data.kind != "generated" and (k := int(classes.max()) + 1) <= MOST_CLASSES:
            yield Data("real", data.name, k, X)


def measure(data: Data) -> dict[str, object]:
    """Return the suggestion and the best number of the curve, and that of the largest silhouette."""
    sizes = range(2, MOST_CLASSES + 3 if data.kind == "real" else 11)
    curve = stability_curve(data.X, KMeans(n_init=5), sizes, n_jobs=1, random_state=0)
    labels = {k: KMeans(k, n_init=5, random_state=0).fit_predict(data.X) for k in sizes}
    silhouette = max(labels, key=lambda k: float(silhouette_score(data.X, labels[k])))
    return {"kind": data.kind, "name": data.name, "k": data.k, "suggestion": curve.suggestion, "best": curve.best,
            "silhouette": silhouette}  # fmt: skip


def main() -> None:
    """Print each dataset, and how often each method is right or within one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=10, help="first of the seeds of the sets")
    parser.add_argument("--draws", type=int, default=1, help="draws of each kind of blobs, a third of those without")
    parser.add_argument("--real", action="store_true", help="use real datasets")
    arguments = parser.parse_args()
    rows = []
    with threadpool_limits(1):  # sets are small
        for data in real() if arguments.real else generated(arguments.seed, arguments.draws):
            rows.append(measure(data))
            print(*rows[-1].values(), sep=" | ", flush=True)
    print("\n| data | sets | no suggestion | suggestion: right, within one | best | silhouette |\n" + "|---" * 6 + "|")
    for kind, part in pd.DataFrame(rows).groupby("kind", sort=False):
        off = part[["suggestion", "best", "silhouette"]].astype(float).sub(part.k, axis=0).abs()
        cells = [f"{(off[name] == 0).sum()}, {(off[name] <= 1).sum()}" for name in off]
        none = part.suggestion.isna().sum()
        print("|", " | ".join(map(str, [kind, len(part), none, *(cells if part.k.any() else ["-"] * 3)])), "|")


if __name__ == "__main__":
    main()
