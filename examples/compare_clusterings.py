"""Compare clusterings of handwritten digits point by point, and look for a number of clusters.

Run it with ``python examples/compare_clusterings.py``. It scores four clusterings of the 1,797 digits of scikit-learn,
says which digits any of them is sure of and which none is, and prints the stability curve of Wine. With ``--check`` it
finds out instead how often the suggested number of clusters is right: on blobs with a known number, on data without
clusters, and on Iris, Wine and the digits. That takes some minutes.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import silhouette_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from allegiance import compare_clusterings, stability_curve

TRUE_K = (3, 4, 5, 8)
DIMENSIONS = (2, 3, 5, 10)
SEPARATIONS = (8.0, 6.0, 4.5)
#: Not those that the rule was chosen with.
SEEDS = range(10, 13)
NULL_SEEDS = range(10, 20)
NULL_REFERENCES = 9
#: Enough for means over all points.
FAST = {"eps": 0.1, "n_references": 5}


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
        random_state=0,
    )
    print(comparison)
    wrong_side = np.array([result.owner != result.label for result in comparison.results.values()]).mean(axis=1)
    print("\nDigits that belong more to another cluster than to their own:")
    for name, share in zip(comparison.names, wrong_side, strict=True):
        print(f"  {name:<10}  {share:.1%}")
    print(f"\nThe first digits that no clustering is sure of: rows {np.flatnonzero(comparison.none_sure)[:8]}\n")
    print(stability_curve(StandardScaler().fit_transform(load_wine().data), KMeans(n_init=10), random_state=0))


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


def best_silhouette(X: np.ndarray) -> int:
    """Return the number of clusters with the largest mean silhouette."""
    scores = {k: silhouette_score(X, KMeans(k, n_init=5, random_state=0).fit_predict(X)) for k in range(2, 11)}
    return max(scores, key=scores.get)


def check_blobs() -> None:
    """Print how often the suggestion is right where the number of clusters is known."""
    print("| separation | dimensions | right | silhouette right | wrong: true -> suggested |")
    print("|---|---|---|---|---|")
    for separation in SEPARATIONS:
        for d in DIMENSIONS:
            wrong, by_silhouette = [], 0
            for k in TRUE_K:
                for seed in SEEDS:
                    X = blobs(k, d, separation, seed)
                    suggested = stability_curve(X, KMeans(n_init=5), random_state=seed, **FAST).suggested
                    by_silhouette += best_silhouette(X) == k
                    if suggested != k:
                        wrong.append(f"{k} -> {suggested}")
            n = len(TRUE_K) * len(SEEDS)
            right = f"{n - len(wrong)} of {n} | {by_silhouette} of {n}"
            print(f"| {separation} | {d} | {right} | {', '.join(wrong)} |", flush=True)


def check_nothing() -> None:
    """Print what is suggested where there are no clusters."""
    print("| no clusters | no suggestion | suggested |\n|---|---|---|")
    for kind in ("uniform", "normal"):
        for d in (2, 10):
            draws = [getattr(np.random.default_rng([d, seed]), kind)(size=(300, d)) for seed in NULL_SEEDS]
            found = []
            for X in draws:
                settings = {**FAST, "n_references": NULL_REFERENCES, "random_state": 0}
                found.append(stability_curve(X, KMeans(n_init=5), range(2, 9), **settings).suggested)
            named = ", ".join(str(k) for k in found if k is not None)
            print(f"| {kind}, {d}-D | {found.count(None)} of {len(found)} | {named} |", flush=True)


def check_real() -> None:
    """Print what is suggested for data with known classes, which need not be clusters."""
    print("| data | classes | suggested, five seeds | within one spread, first seed |\n|---|---|---|---|")
    wine = StandardScaler().fit_transform(load_wine().data)
    for name, X, classes in (("Iris", load_iris().data, 3), ("Wine", wine, 3), ("digits", load_digits().data, 10)):
        sizes = range(2, 9) if classes == 3 else range(2, 15, 2)
        curves = [stability_curve(X, KMeans(n_init=5), sizes, random_state=seed, **FAST) for seed in range(5)]
        found = ", ".join(str(curve.suggested) for curve in curves)
        print(f"| {name} | {classes} | {found} | {', '.join(map(str, curves[0].contenders))} |", flush=True)


def check() -> None:
    """Print how often the suggestion is right."""
    for part in (check_blobs, check_nothing, check_real):
        part()
        print()


def main() -> None:
    """Show, or check."""
    parser = argparse.ArgumentParser(description="Compare clusterings point by point.")
    parser.add_argument("--check", action="store_true", help="find out how often the suggested number is right")
    (check if parser.parse_args().check else show)()


if __name__ == "__main__":
    main()
