"""The paper's datasets: their draws, and that only the published files are used."""

from __future__ import annotations

import os

import numpy as np
import pytest

from reproduction import datasets
from reproduction.datasets import load_2d5c, load_3d5c, load_mnist_test, load_soybean

needs_files = pytest.mark.skipif(not os.environ.get("ALLEGIANCE_DATA"), reason="ALLEGIANCE_DATA is not set")


def test_sizes_and_centers_are_those_of_the_paper():
    np.testing.assert_array_equal(np.bincount(load_2d5c(500).reference), [100] * 5)
    np.testing.assert_array_equal(np.bincount(load_2d5c(2100).reference), [100, 500, 500, 500, 500])
    assert (load_2d5c(500).X.shape, load_3d5c().X.shape) == ((500, 2), (500, 3))
    np.testing.assert_array_equal(load_2d5c(2100).X[:500], load_2d5c(500).X)
    corners = load_3d5c().centers[1:]
    apart = np.linalg.norm(corners[:, None] - corners[None], axis=-1)[np.triu_indices(4, 1)]
    np.testing.assert_allclose(apart, np.sqrt(48))
    with pytest.raises(ValueError, match="n_points must be 500 or 2100"):
        load_2d5c(501)


@pytest.mark.parametrize("load", [load_2d5c, load_3d5c])
def test_draws_follow_seed_mean_and_spread(load):
    np.testing.assert_array_equal(load().X, load(random_state=0).X)
    assert (load(random_state=1).X != load().X).all()
    wide = load(spread=2.0)
    residual = wide.X - wide.centers[wide.reference]
    # 500 draws of each coordinate: standard errors of 0.09 and 0.06.
    np.testing.assert_allclose(residual.mean(axis=0), 0.0, atol=0.36)
    np.testing.assert_allclose(residual.std(axis=0), 2.0, atol=0.25)


@needs_files
def test_published_files_are_read():
    digits = load_mnist_test()
    assert digits.X.shape == (10_000, 784)
    assert digits.X.mean() / 255 == pytest.approx(0.13251, abs=5e-6)
    np.testing.assert_array_equal(
        np.bincount(digits.reference), [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    )
    plants = load_soybean()
    assert plants.X.shape == (47, 35)
    np.testing.assert_array_equal(np.bincount(plants.reference), [10, 10, 10, 17])


def test_missing_and_altered_files_are_rejected(tmp_path, monkeypatch):
    monkeypatch.setenv("ALLEGIANCE_DATA", str(tmp_path))
    for load, name in ((load_soybean, "soybean-small.data"), (load_mnist_test, "t10k-images-idx3-ubyte.gz")):
        with pytest.raises(FileNotFoundError, match=f"ALLEGIANCE_DATA.*{name}"):
            load()
    path = tmp_path / "soybean-small" / "soybean-small.data"
    path.parent.mkdir()
    path.write_text("0,1,D1\n")
    with pytest.raises(ValueError, match="truncated or altered"):
        datasets.load_soybean()
