"""Compare clusterings of handwritten digits by trust, and look for a number of clusters.

Run it with ``python examples/compare_clusterings.py``. It scores four clusterings of the 1,797 digits of scikit-learn,
says whose labels can be trusted more and which digits no clustering has a supported label for, and prints the stability
curve of Wine. With ``--real`` it suggests numbers of clusters for Iris, Wine and the digits instead. How often the
suggestion is right is the question of ``benchmarks/number_of_clusters.py``.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from allegiance import AffinityScorer, compare_clusterings, stability_curve


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


def real() -> None:
    """Print what is suggested for data with known classes, which need not be clusters."""
    print("| data | classes | suggested, five seeds | as stable, first seed |\n|---|---|---|---|")
    wine = StandardScaler().fit_transform(load_wine().data)
    for name, X, classes in (("Iris", load_iris().data, 3), ("Wine", wine, 3), ("digits", load_digits().data, 10)):
        sizes = range(2, 9) if classes == 3 else range(2, 15, 2)
        scorers = [AffinityScorer(calibration=20, random_state=seed) for seed in range(5)]
        curves = [stability_curve(X, KMeans(n_init=5), sizes, scorer=scorer) for scorer in scorers]
        found = ", ".join(str(curve.suggestion) for curve in curves)
        print(f"| {name} | {classes} | {found} | {', '.join(map(str, curves[0].contenders))} |", flush=True)


def main() -> None:
    """Show the comparison and a curve, or suggestions for real data."""
    parser = argparse.ArgumentParser(description="Compare clusterings by trust in their labels.")
    parser.add_argument("--real", action="store_true", help="suggest numbers of clusters for real data")
    (real if parser.parse_args().real else show)()


if __name__ == "__main__":
    main()
