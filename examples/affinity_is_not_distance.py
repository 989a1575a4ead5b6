"""Show that affinity is not distance: a point equally far from two centres, one of which has a neighbour.

Run it with ``python examples/affinity_is_not_distance.py``. It prints what affinity and distance say of the point,
where 100 runs of k-means from random seeds put it, and the same over ten draws of the data, for several spreads of the
clusters and other centres. It saves a picture of the territory the point would claim to
``out/affinity_is_not_distance.png``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import cdist

from allegiance import affinity_against_distance
from allegiance.applications._against_distance import AffinityAgainstDistance

SPREADS = (0.5, 0.7, 1.0, 1.5)
SEEDS = range(10)
#: Other centres, all with the point (0, 0) equally far from the second and the third.
OTHERS = (
    ((0, 2.5), (-3, 0), (3, 0), (3, -2)),
    ((0, -2), (-3, 1), (3, 1), (2, 3)),
    ((0, -2), (-3, 1), (3, 1), (3, -2)),
    ((0, 3), (-3, 0), (3, 0), (2, -3)),
    ((-2, -2), (-2, 2), (2, 2), (3, -1)),
)
COLORS = np.array([[0.60, 0.75, 0.90], [0.62, 0.85, 0.62], [0.97, 0.75, 0.55], [0.85, 0.70, 0.90]])


def print_runs() -> None:
    """Print the mean number of runs, of 100, that give the point to each centre."""
    print("| spread | c1 | c2 | c3 | c4 | draws with c2 before c3, level, behind |")
    print("|---|---|---|---|---|---|")
    for spread in SPREADS:
        runs = np.array([affinity_against_distance(spread=spread, random_state=seed).runs for seed in SEEDS])
        means = " | ".join(f"{mean:.1f}" for mean in runs.mean(axis=0))
        order = np.sign(runs[:, 1] - runs[:, 2])
        print(f"| {spread} | {means} | {(order > 0).sum()}, {(order == 0).sum()}, {(order < 0).sum()} |", flush=True)


def print_others() -> None:
    """Print affinities to c2 and c3, and mean runs that give the point to each centre, for other centres."""
    print("| c1, c2, c3, c4 | affinity to c2 | to c3 | runs: c1 | c2 | c3 | c4 |")
    print("|---|---|---|---|---|---|---|")
    for centers in OTHERS:
        results = [affinity_against_distance(centers, random_state=seed) for seed in SEEDS]
        means = " | ".join(f"{mean:.1f}" for mean in np.mean([result.runs for result in results], axis=0))
        _, second, third, _ = results[0].affinity
        print(f"| {', '.join(map(str, centers))} | {second:.2f} | {third:.2f} | {means} |", flush=True)


def save_picture(result: AffinityAgainstDistance, path: Path) -> None:
    """Draw the cells of the centres, and on top the cell of the point, coloured by whom it is taken from."""
    low, high = result.X.min(axis=0) - 0.5, result.X.max(axis=0) + 0.5
    x, y = np.linspace(low[0], high[0], 900), np.linspace(low[1], high[1], 900)
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    far = cdist(grid.reshape(-1, 2), result.centers)
    owner = far.argmin(axis=1).reshape(900, 900)
    stolen = np.linalg.norm(grid - result.query, axis=-1) <= far.min(axis=1).reshape(900, 900)
    shade = np.where(stolen[..., None], COLORS[owner], 0.5 + 0.5 * COLORS[owner])

    figure, ax = plt.subplots(figsize=(6.4, 5.2), layout="constrained")
    ax.imshow(shade, origin="lower", extent=(low[0], high[0], low[1], high[1]))
    ax.contour(x, y, stolen, levels=[0.5], colors="0.2", linewidths=1.2)
    ax.plot(*result.X[:-1].T, ".", color="0.45", markersize=2)
    ax.plot(*result.centers.T, "k^", markersize=8)
    ax.plot(*result.query, "ro", markersize=8)
    ax.annotate("q", result.query, xytext=(8, -4), textcoords="offset points", color="r", fontsize=12)
    for name, center, alpha, share in zip(
        result.names, result.centers, result.affinity, result.distance_share, strict=True
    ):
        text = f"{name}: affinity {alpha:.2f}\nby distance {share:.2f}"
        ax.annotate(text, center, xytext=(0, 9), textcoords="offset points", ha="center", fontsize=9)
    ax.set(xticks=[], yticks=[], title="The territory of q, by the centre it is taken from")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Tell, repeat, draw."""
    mpl.use("Agg")
    result = affinity_against_distance()
    print(result)
    print("\nMean number of runs over ten draws of the data, by the spread of the clusters:\n")
    print_runs()
    print("\nOther centres:\n")
    print_others()
    path = Path("out") / "affinity_is_not_distance.png"
    save_picture(result, path)
    print(f"\nThe territory of the point: {path}")


if __name__ == "__main__":
    main()
