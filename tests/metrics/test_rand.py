"""Rand distance against counting pairs."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import rand_score

from allegiance.metrics import rand_distance

labelings = st.integers(2, 25).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n) for _ in range(3)])
)


def by_counting(a, b):
    pairs = list(combinations(range(len(a)), 2))
    return sum((a[i] == a[j]) != (b[i] == b[j]) for i, j in pairs) / len(pairs)


@given(labelings)
def test_counts_pairs_and_is_a_metric(case):
    a, b, c = case
    assert rand_distance(a, b) == by_counting(a, b)
    assert rand_distance(a, b) == rand_distance(b, a)
    assert rand_distance(a, c) <= rand_distance(a, b) + rand_distance(b, c) + 1e-12
    assert rand_distance(a, [4 - label for label in a]) == 0
    together = np.array(a)[:, None] == a
    assert (rand_distance(a, b) == 0) == (together == (np.array(b)[:, None] == b)).all()


def test_is_one_minus_the_rand_index_of_scikit_learn(rng):
    a, b = rng.integers(0, 7, 3000), rng.integers(0, 5, 3000)
    assert rand_distance(a, b) == pytest.approx(1 - rand_score(a, b), abs=1e-14)


def test_takes_names_and_treats_noise_as_points_apart():
    assert rand_distance(["x", "x", "y"], [2, 2, 7]) == 0
    assert rand_distance([0, 0, -1, -1], [0, 0, 1, 2]) == 0
    assert rand_distance([0, 0, -1, -1], [0, 0, 1, 1]) == pytest.approx(1 / 6)


def test_extremes():
    assert rand_distance([0], [5]) == 0
    assert rand_distance([0, 0, 0], [0, 1, 2]) == 1


def test_many_labels_need_no_table_of_all_pairs_of_labels():
    n = 1_000_000  # a dense table would need 10^12 numbers
    everyone_alone, in_pairs = np.arange(n), np.arange(n) // 2
    assert rand_distance(everyone_alone, in_pairs) == 1 / (n - 1)


@pytest.mark.parametrize(
    ("a", "b", "error", "message"),
    [
        ([0, 1], [0, 1, 2], ValueError, "labels_b cannot be used: labels has 3 entries"),
        ([[0, 1]], [0], ValueError, "labels_a cannot be used"),
        ([0.5, 1], [0, 1], ValueError, "labels_a cannot be used"),
        (3, [0, 1], TypeError, "labels_a must be one label per point"),
        ([], [], ValueError, "labels_a cannot be used"),
    ],
    ids=["lengths", "shape", "fractions", "number", "empty"],
)
def test_bad_input_is_named(a, b, error, message):
    with pytest.raises(error, match=message):
        rand_distance(a, b)
