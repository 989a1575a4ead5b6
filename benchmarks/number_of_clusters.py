"""How often ``stability_curve`` names the right number of clusters, and none where there are none.

``python benchmarks/number_of_clusters.py`` draws 144 datasets of round blobs and 40 without clusters, and prints how
often ``stability_curve`` and the silhouette are right. ``--seed 20`` draws other datasets, ``--draws 1`` a third of
them. ``--real`` uses Iris, Wine and the digits instead, whose classes need not be clusters.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import silhouette_score
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from allegiance import stability_curve

Floats = npt.NDArray[np.float64]
TRUE_K = (3, 4, 5, 8)
DIMENSIONS = (2, 3, 5, 10)
SEPARATIONS = (8.0, 6.0, 4.5)


class Data(NamedTuple):
    """One set of points; without clusters if k is 0."""

    kind: str
    k: int
    X: Floats

    @property
    def sizes(self) -> range:
        """The candidate numbers of clusters."""
        return range(2, 11) if self.k else range(2, 9)


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


def data_sets(seed: int, draws: int) -> Iterator[Data]:
    """Draw all sets."""
    for separation in SEPARATIONS:
        for d in DIMENSIONS:
            for k in TRUE_K:
                for draw in range(seed, seed + draws):
                    yield Data(f"{separation} | {d}", k, blobs(k, d, separation, draw))
    for kind in ("uniform", "normal"):
        for d in (2, 10):
            for draw in range(seed, seed + 10):
                yield Data(f"{kind}, {d}-D", 0, getattr(np.random.default_rng([d, draw]), kind)(size=(300, d)))


def by_silhouette(data: Data) -> int:
    """Return the number of clusters with the largest mean silhouette."""
    labels = {k: KMeans(k, n_init=5, random_state=0).fit_predict(data.X) for k in data.sizes}
    return max(labels, key=lambda k: float(silhouette_score(data.X, labels[k])))


def print_generated(seed: int, draws: int) -> None:
    """Print how often the curve and the silhouette are right, by kind of data."""
    rows: dict[str, list[tuple[int, int | None, int]]] = {}
    for data in data_sets(seed, draws):
        suggestion = stability_curve(data.X, KMeans(n_init=5), data.sizes, n_jobs=1).suggestion
        rows.setdefault(data.kind, []).append((data.k, suggestion, by_silhouette(data)))
    print("| separation | dimensions | right | silhouette right | wrong: true -> suggested |\n|---|---|---|---|---|")
    for kind, lines in rows.items():
        if not lines[0][0]:
            continue
        wrong = ", ".join(f"{k} -> {named}" for k, named, _ in lines if named != k)
        right, other = (sum(line[column] == line[0] for line in lines) for column in (1, 2))
        print(f"| {kind} | {right} of {len(lines)} | {other} of {len(lines)} | {wrong} |")
    print("\n| no clusters | no suggestion | suggested |\n|---|---|---|")
    for kind, lines in rows.items():
        if not lines[0][0]:
            named = [str(suggestion) for _, suggestion, _ in lines if suggestion is not None]
            print(f"| {kind} | {len(lines) - len(named)} of {len(lines)} | {', '.join(named)} |")


def print_real() -> None:
    """Print the suggestions of five seeds for Iris, Wine and the digits."""
    print("| data | classes | suggested, five seeds | equally stable, first seed |\n|---|---|---|---|")
    wine = StandardScaler().fit_transform(load_wine().data)
    for name, X, classes in (("Iris", load_iris().data, 3), ("Wine", wine, 3), ("digits", load_digits().data, 10)):
        sizes = range(2, 9) if classes == 3 else range(2, 15, 2)
        curves = [stability_curve(X, KMeans(n_init=5), sizes, random_state=seed) for seed in range(5)]
        suggestions = ", ".join(str(curve.suggestion) for curve in curves)
        print(f"| {name} | {classes} | {suggestions} | {', '.join(map(str, curves[0].contenders))} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=10, help="first of the seeds of the sets")
    parser.add_argument("--draws", type=int, default=3, help="draws of each kind of blobs")
    parser.add_argument("--real", action="store_true", help="use real datasets")
    arguments = parser.parse_args()
    with threadpool_limits(1):  # sets are small
        print_real() if arguments.real else print_generated(arguments.seed, arguments.draws)


if __name__ == "__main__":
    main()
