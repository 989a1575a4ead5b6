"""Show what cluster weights do: five Gaussians of 100 points each, then 500 points in each of the four corners.

Run it with ``python examples/density.py``. It prints the share of unstable points and of unstable area for both data
sets (the paper calls them 2D5C-500 and 2D5C-2100), with and without weights, averaged over ten draws. The region is the
same for all, so that only the clusters differ.
"""

from __future__ import annotations

import numpy as np

from allegiance import AffinityScorer, Polytope

MEANS = np.array([[0, 0], [-3, -3], [-3, 3], [3, -3], [3, 3]], dtype=float)
REGION = Polytope.box([-7, -7], [7, 7])
SETTINGS = {
    "no weights": {},
    "size": {"weights": "size"},
    "size, auto": {"weights": "size", "weight_scale": "auto"},
    "density, auto": {"weights": "density", "weight_scale": "auto"},
}
SEEDS = range(10)


def five_gaussians(in_corners: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points and labels: 100 points in the middle, ``in_corners`` in each corner, unit variance."""
    sizes = [100, *[in_corners] * 4]
    labels = np.repeat(np.arange(5), sizes)
    return MEANS[labels] + np.random.default_rng(seed).normal(size=(labels.size, 2)), labels


def unstable_shares(in_corners: int, seed: int, **settings: object) -> tuple[float, float]:
    """Return the shares of points, and of a grid over the middle of the region, that are not stable."""
    X, labels = five_gaussians(in_corners, seed)
    axis = np.linspace(-5, 5, 101)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    scorer = AffinityScorer(domain=REGION, **settings).fit(X, labels)
    return 1 - scorer.affinity(X).stable.mean(), 1 - scorer.affinity(grid).stable.mean()


def main() -> None:
    """Print the table."""
    print("| weights | points, 500 | points, 2100 | area, 500 | area, 2100 |")
    print("|---|---|---|---|---|")
    for name, settings in SETTINGS.items():
        small, large = (np.mean([unstable_shares(n, seed, **settings) for seed in SEEDS], axis=0) for n in (100, 500))
        print(f"| {name} | {small[0]:.1%} | {large[0]:.1%} | {small[1]:.1%} | {large[1]:.1%} |")


if __name__ == "__main__":
    main()
