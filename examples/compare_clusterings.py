"""Compare clusterings of handwritten digits by trust, and look for a number of clusters.

Run it with ``python examples/compare_clusterings.py``. It scores four clusterings of the 1,797 digits of scikit-learn,
says whose labels can be trusted more and which digits no clustering has a supported label for, and prints the stability
curve of Wine. With ``--check`` it finds out instead how often the suggested number of clusters is right: on blobs with
a known number, on data without clusters, and on Iris, Wine and the digits. That takes half an hour on two cores.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import silhouette_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from allegiance import AffinityScorer, compare_clusterings, stability_curve

TRUE_K = (3, 4, 5, 8)
DIMENSIONS = (2, 3, 5, 10)
SEPARATIONS = (8.0, 6.0, 4.5)
SEEDS = range(10, 13)
NULL_SEEDS = range(10, 20)


def show() -> None:
    """Compare four clusterings of the digits, and print one curve."""
    digits = load_digits()
    comparison = compare_clusterings(
        digits.data,
        {
            "k-means": KMeans(10, n_init=10, random_state=0),
            "ward": AgglomerativeClustering(10),
            "mixture": GaussianMixture(10, covariance_type="spherical", random_state=0),
            "true digit": digits.target,
        },
    )
    print(comparison)
    rows = np.flatnonzero(comparison.never_supported)
    print(f"\nThe first digits without a supported label under any clustering: rows {rows[:8]}\n")
    print(stability_curve(StandardScaler().fit_transform(load_wine().data), KMeans(n_init=10)))


def blobs(k: int, d: int, separation: float, seed: int) -> np.ndarray:
    """Draw 60 points around each of k centres that are at least ``separation`` standard deviations apart."""
    rng = np.random.default_rng([k, d, seed])
    side = 1.2 * separation * k ** (1 / d)
    centers = np.empty((0, d))
    while len(centers) < k:
        candidate = rng.uniform(0, side, d)
        if (np.linalg.norm(centers - candidate, axis=1) >= separation).all():
            centers = np.vstack([centers, candidate])
        side *= 1.001
    return np.repeat(centers, 60, axis=0) + rng.normal(size=(60 * k, d))


def blob_sets() -> Iterator[tuple[float, int, int, np.ndarray]]:
    """Yield separation, dimension, number of clusters and points of the 144 sets; their order numbers them."""
    for separation in SEPARATIONS:
        for d in DIMENSIONS:
            for k in TRUE_K:
                for seed in SEEDS:
                    yield separation, d, k, blobs(k, d, separation, seed)


def best_silhouette(X: np.ndarray) -> int:
    """Return the number of clusters with the largest mean silhouette."""
    scores = {k: silhouette_score(X, KMeans(k, n_init=5, random_state=0).fit_predict(X)) for k in range(2, 11)}
    return max(scores, key=scores.get)


def check_blobs(references: int) -> None:
    """Print how often the suggestion is right where the number of clusters is known.

    The rule was chosen on the sets with even numbers; those with odd numbers confirm it.
    """
    print(
        "| separation | dimensions | right, even sets | right, odd sets | silhouette right | wrong: true -> suggested |"
    )
    print("|---|---|---|---|---|---|")
    lines: dict[tuple[float, int], list[tuple[bool, int, int | None, bool]]] = {}
    for number, (separation, d, k, X) in enumerate(blob_sets()):
        curve = stability_curve(X, KMeans(n_init=5), n_references=references)
        line = (number % 2 == 0, k, curve.suggestion, best_silhouette(X) == k)
        lines.setdefault((separation, d), []).append(line)
    for (separation, d), found in lines.items():
        cells = []
        for even in (True, False):
            half = [line for line in found if line[0] == even]
            cells.append(f"{sum(k == suggested for _, k, suggested, _ in half)} of {len(half)}")
        wrong = ", ".join(f"{k} -> {suggested}" for _, k, suggested, _ in found if k != suggested)
        by_silhouette = sum(line[3] for line in found)
        print(f"| {separation} | {d} | {' | '.join(cells)} | {by_silhouette} of {len(found)} | {wrong} |")


def check_nothing(references: int) -> None:
    """Print what is suggested where there are no clusters."""
    print("| no clusters | no suggestion | suggested |\n|---|---|---|")
    for kind in ("uniform", "normal"):
        for d in (2, 10):
            draws = [getattr(np.random.default_rng([d, seed]), kind)(size=(300, d)) for seed in NULL_SEEDS]
            curves = [stability_curve(X, KMeans(n_init=5), range(2, 9), n_references=references) for X in draws]
            found = [curve.suggestion for curve in curves]
            named = ", ".join(str(k) for k in found if k is not None)
            print(f"| {kind}, {d}-D | {found.count(None)} of {len(found)} | {named} |", flush=True)


def check_real(references: int) -> None:
    """Print what is suggested for data with known classes, which need not be clusters."""
    print("| data | classes | suggested, five seeds | as stable, first seed |\n|---|---|---|---|")
    wine = StandardScaler().fit_transform(load_wine().data)
    for name, X, classes in (("Iris", load_iris().data, 3), ("Wine", wine, 3), ("digits", load_digits().data, 10)):
        sizes = range(2, 9) if classes == 3 else range(2, 15, 2)
        scorers = [AffinityScorer(calibration=20, random_state=seed) for seed in range(5)]
        curves = [
            stability_curve(X, KMeans(n_init=5), sizes, scorer=scorer, n_references=references) for scorer in scorers
        ]
        found = ", ".join(str(curve.suggestion) for curve in curves)
        print(f"| {name} | {classes} | {found} | {', '.join(map(str, curves[0].contenders))} |", flush=True)


def check(references: int) -> None:
    """Print how often the suggestion is right."""
    for part in (check_nothing, check_real, check_blobs):
        part(references)
        print()


def main() -> None:
    """Show, or check."""
    parser = argparse.ArgumentParser(description="Compare clusterings by trust in their labels.")
    parser.add_argument("--check", action="store_true", help="find out how often the suggested number is right")
    parser.add_argument("--references", type=int, default=10, help="draws of data without clusters in the check")
    arguments = parser.parse_args()
    if arguments.check:
        check(arguments.references)
    else:
        show()


if __name__ == "__main__":
    main()
