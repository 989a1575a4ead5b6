"""What our own choices change, where the paper is silent."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans

from allegiance import affinity, datasets
from allegiance._core import AnyArray
from allegiance.metrics import lift_emd, rand_distance

from ._section import Section, Table, percent_spread, spread
from ._setup import DataSet, Setup

SPREADS = (0.7, 1.0, 1.3, 1.6)
DOMAINS = ("box", "ball", None)
#: Multiples of the median distance.
BANDWIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)


def run(setup: Setup) -> Section:
    """Vary one choice at a time."""
    present, missing = setup.sets("gaussians", "iris", "soybean", "mnist")
    return Section(
        title="What our choices change",
        asks="Where the paper does not say how, a choice had to be made. Each is varied here: how far the clusters "
        "of 2D5C spread, over which region volume is measured (most points lie outside the hull of the centres, "
        "where the paper's cells are unbounded), and the bandwidth of the kernel in LiftEMD.",
        tables=(_spreads(setup), _domains(present, setup), _bandwidths(setup)),
        remarks=(
            *missing,
            "A box of the data is the default: in our own study it ranks misassigned points better than the ball "
            "and the whole space. Without bounds (None) most of the weight comes from far away: on MNIST, where "
            "almost no digit lies in the hull of the means, far fewer points are stable.",
        ),
    )


def _spreads(setup: Setup) -> Table:
    rows = []
    for width in SPREADS:
        drawn = [datasets.load_2d5c(500, spread=width, random_state=seed) for seed in setup.seeds]
        labels = [KMeans(5, n_init=1, random_state=seed).fit_predict(each.data) for seed, each in enumerate(drawn)]
        rand = [rand_distance(found, each.target) for found, each in zip(labels, drawn, strict=True)]
        unstable = [_unstable(each.data, found, "box", 0) for found, each in zip(labels, drawn, strict=True)]
        rows.append((f"{width:g}", spread(rand), percent_spread(unstable)))
    return Table(
        ("standard deviation", "Rand distance of k-means (paper 0.26)", "unstable (paper 18 %)"),
        tuple(rows),
        "2D5C-500 with corners at (±3, ±3), by the spread of its clusters; 1 is ours",
    )


def _domains(present: list[DataSet], setup: Setup) -> Table:
    rows = []
    for data in present:
        labels = [KMeans(data.n_clusters, n_init=1, random_state=seed).fit_predict(data.X) for seed in setup.seeds]
        shares = [
            percent_spread([_unstable(data.X, found, domain, seed) for seed, found in enumerate(labels)])
            for domain in DOMAINS
        ]
        rows.append((data.name, *shares))
    return Table(
        ("data", *(f"domain {domain}" for domain in DOMAINS)),
        tuple(rows),
        "Share of unstable points of k-means, by the region over which volume is measured",
    )


def _bandwidths(setup: Setup) -> Table:
    data = setup.gaussians
    labels = [KMeans(5, n_init=1, random_state=seed).fit_predict(data.X) for seed in setup.seeds]
    differences = data.X[:, None, :] - data.X
    median = float(np.median(np.sqrt((differences**2).sum(axis=2))[np.triu_indices(data.X.shape[0], 1)]))
    rows = tuple(
        (
            f"{factor:g}",
            spread([lift_emd(data.X, found, data.reference, bandwidth=factor * median) for found in labels], 3),
        )
        for factor in BANDWIDTHS
    )
    return Table(
        ("bandwidth / median distance", "LiftEMD (paper 0.18)"),
        rows,
        "LiftEMD of k-means to the reference of 2D5C-500, by bandwidth; 1 is ours",
    )


def _unstable(X: AnyArray, labels: AnyArray, domain: str | None, seed: int) -> float:
    return 1.0 - float(affinity(X, labels, domain=domain, random_state=seed).stable.mean())
