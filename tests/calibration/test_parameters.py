import numpy as np
import pytest
from sklearn.cluster import KMeans

from allegiance.calibration import Calibration


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_resamples": 1}, ValueError, "n_resamples"),
        ({"n_resamples": 2.5}, TypeError, "n_resamples"),
        ({"max_rows": 0}, ValueError, "max_rows"),
        ({"max_rows": 1}, ValueError, "max_rows"),
        ({"crowding": -0.1}, ValueError, "crowding"),
        ({"crowding": np.nan}, ValueError, "crowding"),
        ({"clusterer": "kmeans"}, TypeError, "clusterer"),
        ({"clusterer": KMeans}, TypeError, "clusterer"),
    ],
)
def test_errors_name_the_parameter(settings, error, message):
    with pytest.raises(error, match=message):
        Calibration(**settings).check()


def test_defaults_and_a_clusterer_are_fine():
    Calibration().check()
    Calibration(n_resamples=2, clusterer=KMeans(3), max_rows=2, crowding=0).check()


def test_rows_of_the_sample():
    assert Calibration().n_rows(3) == 2000
    assert Calibration().n_rows(100) == 10_000
    assert Calibration(max_rows=300).n_rows(100) == 600
