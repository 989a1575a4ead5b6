"""Iris, Soybean and MNIST: the real files where ``ALLEGIANCE_DATA`` names their folder, and imitations elsewhere."""

from __future__ import annotations

import hashlib
import io
import os
from dataclasses import replace
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from reproduction.datasets import _mnist, _soybean, load_iris, load_mnist_test, load_soybean
from reproduction.datasets._idx import format_idx

needs_files = pytest.mark.skipif(
    not os.environ.get("ALLEGIANCE_DATA"), reason="ALLEGIANCE_DATA does not name a folder with the published files"
)


@pytest.fixture
def nothing_local(tmp_path, monkeypatch):
    monkeypatch.setattr("reproduction.datasets._files.sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("ALLEGIANCE_DATA", raising=False)
    return tmp_path / "allegiance"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_iris_is_that_of_scikit_learn():
    ours, theirs = load_iris(), sklearn.datasets.load_iris()
    np.testing.assert_array_equal(ours.data, theirs.data)
    np.testing.assert_array_equal(ours.target, theirs.target)


@needs_files
class TestRealFiles:
    def test_mnist(self):
        digits = load_mnist_test(download_if_missing=False)
        assert digits.data.shape == (10_000, 784)
        assert digits.data.dtype == np.float64
        assert digits.data.max() == 255
        assert digits.data.mean() / 255 == pytest.approx(0.13251, abs=5e-6)
        np.testing.assert_array_equal(
            np.bincount(digits.target), [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
        )
        np.testing.assert_array_equal(digits.images[5, 7], digits.data[5, 7 * 28 : 8 * 28])
        assert len(digits.feature_names) == 784

    def test_soybean(self):
        plants = load_soybean(download_if_missing=False)
        assert plants.data.shape == (47, 35)
        np.testing.assert_array_equal(np.bincount(plants.target), [10, 10, 10, 17])
        assert (np.ptp(plants.data, axis=0) == 0).sum() == 14
        assert len(np.unique(plants.data, axis=0)) == 47
        assert len(plants.feature_names) == 35
        assert len(plants.target_names) == 4


class TestMnistFromOpenML:
    @pytest.fixture
    def whole(self, monkeypatch, rng):
        """An imitation of OpenML's copy: 30 rows, of which the last 20 are the test set."""
        images = rng.integers(256, size=(30, 784))
        labels = rng.integers(10, size=30)
        self.calls = []

        def fetch(*args, **kwargs):
            self.calls.append((args, kwargs))
            return Bunch(data=images, target=labels.astype(str).astype(object))

        monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
        monkeypatch.setattr(_mnist, "_N", 20)
        for name, values in (("_IMAGES", images[10:].reshape(-1, 28, 28)), ("_LABELS", labels[10:])):
            content = format_idx(values.astype(np.uint8))
            monkeypatch.setattr(_mnist, name, replace(getattr(_mnist, name), unpacked_sha256=sha256(content)))
        return images, labels

    def test_is_the_last_rows_and_then_comes_from_the_cache(self, nothing_local, whole):
        images, labels = whole
        for _ in range(2):
            digits = load_mnist_test()
            np.testing.assert_array_equal(digits.data, images[10:])
            np.testing.assert_array_equal(digits.target, labels[10:])
        assert len(self.calls) == 1
        args, kwargs = self.calls[0]
        assert args == ("mnist_784",)
        assert kwargs["version"] == 1
        assert sorted(path.name for path in nothing_local.rglob("*ubyte")) == [
            "t10k-images-idx3-ubyte",
            "t10k-labels-idx1-ubyte",
        ]

    def test_other_rows_are_refused(self, nothing_local, whole):
        images, _ = whole
        images[12, 100] ^= 1
        with pytest.raises(ValueError, match="t10k-images-idx3-ubyte is truncated or altered"):
            load_mnist_test()
        assert not nothing_local.exists()

    def test_is_not_asked_if_told_so(self, nothing_local, whole):
        with pytest.raises(FileNotFoundError, match=r"MNIST test set was not found.*"):
            load_mnist_test(download_if_missing=False)
        assert self.calls == []

    def test_offline_says_where_to_put_the_files(self, nothing_local, monkeypatch):
        def offline(*args, **kwargs):
            raise URLError("name resolution failed")

        monkeypatch.setattr(sklearn.datasets, "fetch_openml", offline)
        with pytest.raises(FileNotFoundError, match="ALLEGIANCE_DATA") as caught:
            load_mnist_test()
        assert "t10k-images-idx3-ubyte.gz  (SHA-256 8d422c7b" in str(caught.value)
        assert "t10k-labels-idx1-ubyte.gz  (SHA-256 f7ae60f9" in str(caught.value)
        assert "name resolution failed" in str(caught.value)


class TestSoybeanFromUCI:
    ROWS = "\n".join(",".join([str(i % 3)] * 35 + [f"D{i % 4 + 1}"]) for i in range(8)) + "\n"

    def test_is_parsed_and_kept(self, nothing_local, monkeypatch):
        content = self.ROWS.encode()
        known = replace(_soybean._FILE, sha256=sha256(content), unpacked_sha256=sha256(content))
        monkeypatch.setattr(_soybean, "_FILE", known)
        asked = []

        def answer(address, timeout):
            asked.append(address)
            return io.BytesIO(content)

        monkeypatch.setattr(_soybean, "urlopen", answer)
        for _ in range(2):
            plants = load_soybean()
            np.testing.assert_array_equal(plants.target, [0, 1, 2, 3] * 2)
            np.testing.assert_array_equal(plants.data, np.repeat(np.arange(8) % 3, 35).reshape(8, 35))
        assert len(asked) == 1

    def test_something_else_is_refused(self, nothing_local, monkeypatch):
        monkeypatch.setattr(_soybean, "urlopen", lambda address, timeout: io.BytesIO(b"<html>moved</html>"))
        with pytest.raises(ValueError, match=r"soybean-small\.data is truncated or altered"):
            load_soybean()

    def test_offline_says_where_to_put_the_file(self, nothing_local, monkeypatch):
        def offline(address, timeout):
            raise URLError("no network")

        monkeypatch.setattr(_soybean, "urlopen", offline)
        with pytest.raises(FileNotFoundError, match=r"soybean-small\.data  \(SHA-256 f096d167"):
            load_soybean()
