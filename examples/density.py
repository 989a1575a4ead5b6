"""Show what cluster weights do: five Gaussians of 100 points each, then 500 points in each of the four corners.

Run it with ``python examples/density.py``. It prints the share of unstable points and of unstable area for both data
sets (the paper calls them 2D5C-500 and 2D5C-2100), with and without weights, averaged over ten draws. The region is the
same for all, so that only the clusters differ.
"""

from __future__ import annotations

import numpy as np

from allegiance import AffinityScorer, Polytope
from allegiance.datasets import load_2d5c

REGION = Polytope.box([-7, -7], [7, 7])
SETTINGS = {
    "no weights": {},
    "size": {"weights": "size"},
    "size, auto": {"weights": "size", "weight_scale": "auto"},
    "density, auto": {"weights": "density", "weight_scale": "auto"},
}
SEEDS = range(10)


def unstable_shares(n_points: int, seed: int, **settings: object) -> tuple[float, float]:
    """Return the shares of points, and of a grid over the middle of the region, that are not stable."""
    five = load_2d5c(n_points, random_state=seed)
    axis = np.linspace(-5, 5, 101)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    scorer = AffinityScorer(domain=REGION, **settings).fit(five.data, five.target)
    return 1 - scorer.affinity(five.data).stable.mean(), 1 - scorer.affinity(grid).stable.mean()


def main() -> None:
    """Print the table."""
    print("| weights | points, 500 | points, 2100 | area, 500 | area, 2100 |")
    print("|---|---|---|---|---|")
    for name, settings in SETTINGS.items():
        small, large = (np.mean([unstable_shares(n, seed, **settings) for seed in SEEDS], axis=0) for n in (500, 2100))
        print(f"| {name} | {small[0]:.1%} | {large[0]:.1%} | {small[1]:.1%} | {large[1]:.1%} |")


if __name__ == "__main__":
    main()
