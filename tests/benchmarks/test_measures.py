from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from quality._measures import auroc, average_precision, expected_hits, precision_at


@pytest.fixture(params=["distinct", "tied"])
def scored(request, rng):
    trust = rng.normal(size=80) if request.param == "distinct" else rng.integers(0, 5, 80).astype(float)
    wrong = rng.random(80) < 0.3
    return trust, wrong


def test_auroc_counts_pairs(scored):
    trust, wrong = scored
    pairs = [(a < b) + 0.5 * (a == b) for a in trust[wrong] for b in trust[~wrong]]
    assert auroc(trust, wrong) == pytest.approx(np.mean(pairs))
    assert auroc(trust, wrong) == pytest.approx(roc_auc_score(wrong, -trust))


def test_average_precision_is_that_of_scikit_learn(scored):
    trust, wrong = scored
    assert average_precision(trust, wrong) == pytest.approx(average_precision_score(wrong, -trust))


def test_hits_are_expected_over_the_order_of_equal_scores():
    trust = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 2.0])
    wrong = np.array([True, True, False, False, False, True])
    orders = [order for order in permutations(range(6)) if np.all(np.diff(trust[list(order)]) >= 0)]
    hits = np.mean([np.concatenate([[0], np.cumsum(wrong[list(order)])]) for order in orders], axis=0)
    np.testing.assert_allclose(expected_hits(trust, wrong), hits)
    assert precision_at(trust, wrong, 0.5) == pytest.approx(hits[3] / 3)
