"""What our own choices change, where the paper is silent: the dataset 2D5C, and the kernel of LiftEMD."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans

from allegiance import affinity
from allegiance.influence import Kernel
from allegiance.metrics import lift_emd, rand_distance
from reproduction.datasets import load_2d5c
from reproduction.framework import Section, Setup, Table, percent_spread, spread

SPREADS = (0.7, 1.0, 1.3, 1.6, 3.0, 3.25)
#: Multiples of the median distance.
BANDWIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)


def run(setup: Setup) -> Section:
    """Vary one choice at a time."""
    return Section(
        title="Effects of our choices",
        method="Where the paper leaves a choice open, we had to make one. This section varies two of them: the spread "
        "of the clusters of 2D5C and the kernel bandwidth of LiftEMD. The next two sections vary the definition of "
        "affinity itself.",
        tables=(_spreads(setup), _bandwidths(setup)),
        remarks=(
            "2D5C comes close to the paper's Rand distance and unstable share at the same time only if its Gaussians "
            "are so wide that two fifths of the points are nearer to another center than to their own. The paper "
            "calls its clusters visibly separate, so this is not its dataset.",
            "We also tried sixteen kernels and bandwidths for LiftEMD, each with ten normalizations. None gave all of "
            "the paper's values for k-means (0.18, 0.12, 0.32 and 0.13 on 2D5C, Iris, Soybean and MNIST). The code of "
            "this page does not repeat that search.",
        ),
    )


def _spreads(setup: Setup) -> Table:
    return Table(
        (
            "standard deviation",
            "Rand distance of k-means (paper 0.26)",
            "unstable (paper 18%)",
            "nearer to another center",
        ),
        tuple(_spread_row(width, setup) for width in SPREADS),
        "2D5C-500 with corners at (±3, ±3), by the spread of its clusters; 1 is ours",
    )


def _spread_row(width: float, setup: Setup) -> tuple[str, ...]:
    rand, unstable, astray = [], [], []
    for seed in setup.seeds:
        points = load_2d5c(500, spread=width, random_state=seed)
        labels = KMeans(5, n_init=1, random_state=seed).fit_predict(points.X)
        rand.append(rand_distance(labels, points.reference))
        unstable.append(1.0 - float(affinity(points.X, labels, random_state=0, influence="euclidean").stable.mean()))
        nearest = ((points.X[:, None, :] - np.asarray(points.centers)) ** 2).sum(axis=2).argmin(axis=1)
        astray.append(float((nearest != points.reference).mean()))
    return f"{width:g}", spread(rand), percent_spread(unstable), percent_spread(astray)


def _bandwidths(setup: Setup) -> Table:
    data = load_2d5c(500)
    labels = [KMeans(5, n_init=1, random_state=seed).fit_predict(data.X) for seed in setup.seeds]
    differences = data.X[:, None, :] - data.X
    median = float(np.median(np.sqrt((differences**2).sum(axis=2))[np.triu_indices(data.X.shape[0], 1)]))
    rows = []
    for factor in BANDWIDTHS:
        kernel = Kernel("rbf", gamma=1.0 / (2.0 * (factor * median) ** 2))
        distances = [lift_emd(data.X, codes, data.reference, kernel=kernel) for codes in labels]
        rows.append((f"{factor:g}", spread(distances, 3)))
    return Table(
        ("bandwidth / median distance", "LiftEMD (paper 0.18)"),
        tuple(rows),
        "LiftEMD of k-means to the reference of 2D5C-500, by bandwidth; 1 is ours",
    )
