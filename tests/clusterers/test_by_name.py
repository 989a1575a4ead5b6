import pytest

from allegiance.cli import _options
from allegiance.clusterers import ALGORITHMS, LIKE_KMEANS, clusterer_by_name


def test_the_command_line_offers_these_algorithms():
    # The command repeats the names, so that --help imports no clusterer.
    assert _options.ALGORITHMS == ALGORITHMS
    assert _options.LIKE_KMEANS == LIKE_KMEANS


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_name_makes_a_clusterer(name):
    made = clusterer_by_name(name, 3, 7, 9)
    known = made.get_params()
    assert known.get("n_clusters", known.get("n_components", 3)) == 3
    assert known.get("random_state", 7) == 7
    assert known.get("min_cluster_size", 9) == 9
