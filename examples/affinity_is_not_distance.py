"""Show that affinity is not distance: a point equally far from two centres, one of which has a neighbour.

Run it with ``python examples/affinity_is_not_distance.py``. It prints what distance and affinity say of the point, and
saves a picture of the territory that the point would claim to ``out/affinity_is_not_distance.png``. What runs of
k-means do with such a point is an experiment of the paper: ``python -m reproduction --only distance``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from allegiance import AffinityScorer, Polytope
from allegiance.displays import StolenAreaDisplay

#: c4 stands beside c3, and takes part of what the point would take from c3.
CENTERS = np.array([[0.0, -2.0], [-3.0, 0.0], [3.0, 0.0], [3.0, 3.0]])
QUERY = np.array([0.0, 0.0])


def main() -> None:
    """Print the table and draw the territory."""
    scorer = AffinityScorer(centers=CENTERS, domain=Polytope.box([-6, -6], [6, 6])).fit(CENTERS)
    affinity = scorer.transform(QUERY[None])[0]
    distance = np.linalg.norm(CENTERS - QUERY, axis=1)
    print("centre  distance  by distance  affinity")
    for i, (far, share) in enumerate(zip(distance, affinity, strict=True)):
        print(f"c{i + 1:<5}  {far:>8.2f}  {1 / far / (1 / distance).sum():>11.3f}  {share:>8.3f}")
    path = Path("out") / "affinity_is_not_distance.png"
    path.parent.mkdir(exist_ok=True)
    StolenAreaDisplay.from_estimator(scorer, QUERY).figure_.savefig(path, dpi=110)
    print(f"\nThe territory of the point: {path}")


if __name__ == "__main__":
    main()
