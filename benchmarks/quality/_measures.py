"""How well a score finds the misassigned points: low scores should be theirs.

No measure depends on the order of the rows: points of equal score, such as saturated probabilities, count as if in
random order, except for the average precision, which takes them at once as scikit-learn does.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def auroc(trust: Floats, wrong: Bools) -> float:
    """Return the chance that a misassigned point scores lower than a well assigned one, equal scores counting half."""
    from scipy.stats import rankdata

    ranks = rankdata(trust)
    n_wrong = int(wrong.sum())
    n_right = wrong.size - n_wrong
    return float((ranks[~wrong].sum() - n_right * (n_right + 1) / 2.0) / (n_wrong * n_right))


def average_precision(trust: Floats, wrong: Bools) -> float:
    """Return the mean precision over the misassigned points in the order of review; equal scores come all at once."""
    _, group = np.unique(trust, return_inverse=True)
    size = np.bincount(group)
    hits = np.bincount(group, weights=wrong)
    precision = hits.cumsum() / size.cumsum()
    return float((precision * hits).sum() / wrong.sum())


def precision_at(trust: Floats, wrong: Bools, share: float) -> float:
    """Return how many of the least trusted points are misassigned; ``share`` of all, at least one point."""
    count = max(1, round(share * wrong.size))
    return float(expected_hits(trust, wrong)[count] / count)


def kept_accuracy(trust: Floats, wrong: Bools, coverage: Floats) -> Floats:
    """Return the share of well assigned points among the most trusted, for each share of points that is kept."""
    found = expected_hits(trust, wrong)
    kept = np.maximum(np.round(coverage * wrong.size).astype(int), 1)
    left = found[-1] - found[wrong.size - kept]
    return 1.0 - left / kept


def expected_hits(trust: Floats, wrong: Bools) -> Floats:
    """Return the expected number of misassigned points among the m least trusted, for m = 0 to n."""
    _, group = np.unique(trust, return_inverse=True)
    rate = np.bincount(group, weights=wrong) / np.bincount(group)
    return np.concatenate([[0.0], np.cumsum(rate[np.sort(group)])])
