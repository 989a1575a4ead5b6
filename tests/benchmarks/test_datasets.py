import numpy as np
import pytest
from scipy.spatial.distance import pdist

from quality._datasets import MOST_COLUMNS, MOST_ROWS, all_sets, blobs


def set_named(name, folder=None):
    return next(data for data in all_sets(folder) if data.name == name)


def means_of(sample):
    return np.stack([sample.X[sample.classes == c].mean(axis=0) for c in range(sample.classes.max() + 1)])


@pytest.mark.parametrize("name", ["iris", "digits", "moons", "clusters-10"])
def test_a_seed_is_a_draw(name):
    data = set_named(name)
    first, again, other = data.draw(0), data.draw(0), data.draw(1)
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)
    assert len(first.X) == len(first.classes) <= MOST_ROWS
    assert first.X.shape[1] <= MOST_COLUMNS


def test_blobs_are_as_far_apart_as_asked():
    near, far = blobs(0, separation=2.0), blobs(0, separation=20.0)
    assert pdist(means_of(near)).min() == pytest.approx(2.0, abs=0.4)
    assert pdist(means_of(far)).min() == pytest.approx(20.0, abs=0.4)


@pytest.mark.parametrize("common", [True, False])
def test_stretch_is_the_longest_axis_over_the_shortest(common):
    sample = blobs(0, stretch=4.0, common=common, separation=50.0)
    covariances = [np.cov(sample.X[sample.classes == c].T) for c in range(4)]
    for covariance in covariances:
        values = np.linalg.eigvalsh(covariance)
        assert np.sqrt(values[-1] / values[0]) == pytest.approx(4.0, rel=0.25)
    alike = np.linalg.norm(covariances[0] - covariances[1]) / np.linalg.norm(covariances[0])
    assert (alike < 0.4) == common


@pytest.mark.parametrize("header", ["", "height,width,kind\n"])
def test_a_folder_of_tables_is_read(tmp_path, rng, header):
    X = rng.normal(size=(30, 2))
    rows = "".join(f"{a},{b},{'red' if i % 3 else 'blue'}\n" for i, (a, b) in enumerate(X))
    (tmp_path / "flowers.csv").write_text(header + rows)
    sample = set_named("flowers", tmp_path).draw(0)
    assert sample.X.shape == (24, 2)
    assert set(sample.classes) == {0, 1}
