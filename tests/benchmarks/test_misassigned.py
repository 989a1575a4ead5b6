from itertools import permutations

import numpy as np
import pytest

from quality._misassigned import by_majority, by_matching


def test_majority_marks_the_minority_of_each_cluster():
    labels = np.array([0, 0, 0, 1, 1, 1])
    classes = np.array([1, 1, 0, 1, 1, 0])
    # Both clusters have the same majority: by majority one class may rule twice, by matching it may not.
    np.testing.assert_array_equal(by_majority(labels, classes), [0, 0, 1, 0, 0, 1])
    assert by_matching(labels, classes).sum() == 3


def test_a_cluster_without_a_class_is_misassigned_under_the_matching():
    labels = np.array([0, 0, 0, 1, 1, 2])
    classes = np.array([0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(by_matching(labels, classes), [0, 0, 0, 0, 0, 1])
    assert not by_majority(labels, classes).any()


@pytest.mark.parametrize("seed", range(5))
def test_matching_is_the_best_of_all_permutations(seed):
    rng = np.random.default_rng(seed)
    labels, classes = rng.integers(0, 4, 60), rng.integers(0, 4, 60)
    best = min((np.array(names)[labels] != classes).sum() for names in permutations(range(4)))
    assert by_matching(labels, classes).sum() == best
    assert by_majority(labels, classes).sum() <= best
