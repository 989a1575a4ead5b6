"""How many clusters are suggested for real data with known classes: ``python benchmarks/number_of_clusters_real.py``.

Classes need not be clusters, so this is a look, not a score; ``number_of_clusters.py`` has the sets where the answer is
known.
"""

from __future__ import annotations

from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from allegiance import AffinityScorer, stability_curve

SEEDS = range(5)


def main() -> None:
    """Print the suggestions of five seeds for Iris, Wine and the digits."""
    print("| data | classes | suggested, five seeds | as stable, first seed |\n|---|---|---|---|")
    wine = StandardScaler().fit_transform(load_wine().data)
    for name, X, classes in (("Iris", load_iris().data, 3), ("Wine", wine, 3), ("digits", load_digits().data, 10)):
        sizes = range(2, 9) if classes == 3 else range(2, 15, 2)
        scorers = [AffinityScorer(calibration=20, random_state=seed, influence="euclidean") for seed in SEEDS]
        curves = [stability_curve(X, KMeans(n_init=5), sizes, scorer=scorer) for scorer in scorers]
        found = ", ".join(str(curve.suggestion) for curve in curves)
        print(f"| {name} | {classes} | {found} | {', '.join(map(str, curves[0].contenders))} |", flush=True)


if __name__ == "__main__":
    main()
