"""What to tell a user when low trust may have another cause than wrong labels."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from allegiance._core import IntArray

from ._company import Company
from ._evidence import Evidence
from ._overlap import above_chance, dice_overlap, expected_dice, shares

#: New clusterings that agree with each other this much more than with the labels have found something else.
_GAP = 0.2
#: Neighbours that share a label this often above chance make the labels a pattern in the data, whatever its shape.
_COHERENT = 0.5
#: Agreement with neighbours and with new clusterings below these is what shuffled labels have.
_INCOHERENT = 0.1
_LOST = 0.2
#: Points whose neighbours are looked up.
_QUERIES = 500


def diagnose(sample: Evidence, company: Company, new: IntArray, clusterer: Any) -> str | None:
    """Return why trust should not be taken at face value, or None.

    Three agreements decide, each 0 at chance and 1 at best: of the labels with new clusterings, of new clusterings
    with each other, and of the labels of nearest neighbours.

    Parameters
    ----------
    sample
        Labelled points.
    new
        (n_resamples, m) new cluster numbers, -1 for noise.
    clusterer
        The user's own, or None for k-means.
    """
    if np.ptp(sample.codes) == 0:
        return None
    with_labels = above_chance(company.mean, company.chance)
    with_neighbours, error = neighbour_agreement(sample)
    if with_labels < _LOST and with_neighbours < _INCOHERENT + 2.0 * error:
        return (
            "The labels look unrelated to the data: neighbouring points share a label hardly more often than chance, "
            "and no new clustering brings the labels back. Check that labels and rows are in the same order."
        )
    with_each_other = mutual_agreement(new)
    if with_each_other - with_labels < _GAP or with_neighbours < max(_COHERENT, with_labels):
        return None
    figures = f"(agreement {max(with_labels, 0.0):.2f} with the labels, {with_each_other:.2f} with itself)"
    if clusterer is None:
        return (
            f"k-means, which stands in for the clusterer that made the labels, finds other clusters {figures}. Low "
            "trust may be due to k-means and not to the labels: pass clusterer=, the clusterer that made them."
        )
    return (
        f"clusterer={clusterer!r} finds other clusters than those of the labels {figures}. Low trust may be due to the "
        "clusterer and not to the labels: pass clusterer= with the parameters that made them."
    )


def mutual_agreement(new: IntArray) -> float:
    """Return how well new clusterings (n_resamples, m) agree with each other, above chance; noise is left out."""
    agreements = []
    for one, other in pairwise(new):
        placed = (one >= 0) & (other >= 0)
        a, b = one[placed], other[placed]
        if a.size:
            agreements.append(above_chance(float(dice_overlap(a, b)[a, b].mean()), expected_dice(shares(a), shares(b))))
    return float(np.mean(agreements)) if agreements else 0.0


def neighbour_agreement(sample: Evidence) -> tuple[float, float]:
    """Return how often a point and its nearest neighbour share a label, above chance, and the standard error."""
    from sklearn.neighbors import NearestNeighbors

    codes, m = sample.codes, sample.codes.size
    queries = np.unique(np.linspace(0, m - 1, min(m, _QUERIES)).astype(np.int64))
    search = NearestNeighbors(n_neighbors=2, algorithm="brute").fit(sample.coordinates)
    found = search.kneighbors(sample.coordinates[queries], return_distance=False)
    nearest = np.where(found[:, 0] == queries, found[:, 1], found[:, 0])
    chance = float((shares(codes) ** 2).sum())
    same = float((codes[nearest] == codes[queries]).mean())
    return above_chance(same, chance), float(np.sqrt(chance * (1.0 - chance) / queries.size)) / (1.0 - chance)
