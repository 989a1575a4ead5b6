"""The data sets of the paper: what is drawn, where files are looked for, and that only the published ones are used."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import struct
from dataclasses import replace
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets

from reproduction.datasets import _files, _soybean, load_2d5c, load_3d5c, load_mnist_test, load_soybean
from reproduction.datasets._files import DataFile, cache_folder, obtain
from reproduction.datasets._idx import format_idx, parse_idx

CONTENT = b"some measurements\n" * 50
PACKED = gzip.compress(CONTENT, mtime=0)
IMAGES = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
IDX = struct.pack(">IIII", 2051, 2, 3, 4) + bytes(range(24))
needs_files = pytest.mark.skipif(not os.environ.get("ALLEGIANCE_DATA"), reason="ALLEGIANCE_DATA names no folder")


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


FILE = DataFile("things", "things.gz", sha256(PACKED), sha256(CONTENT))


def offline() -> list[bytes]:
    raise OSError("no route to host")


def get(download=offline, **settings) -> bytes:
    (content,) = obtain("The things", [FILE], download, download_if_missing=True, **settings)
    return content


@pytest.fixture
def own(tmp_path, monkeypatch) -> Path:
    """The user's folder of data; the cache is another empty folder."""
    monkeypatch.setattr(_files.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("ALLEGIANCE_DATA", str(tmp_path / "own"))
    (tmp_path / "own" / "things").mkdir(parents=True)
    return tmp_path / "own"


def test_drawn_sets_are_those_of_the_paper():
    np.testing.assert_array_equal(np.bincount(load_2d5c(500).target), [100] * 5)
    np.testing.assert_array_equal(np.bincount(load_2d5c(2100).target), [100, 500, 500, 500, 500])
    assert (load_2d5c(500).data.shape, load_3d5c().data.shape) == ((500, 2), (500, 3))
    np.testing.assert_array_equal(load_2d5c(2100).data[:500], load_2d5c(500).data)
    corners = load_3d5c().centers[1:]
    apart = np.linalg.norm(corners[:, None] - corners[None], axis=-1)[np.triu_indices(4, 1)]
    np.testing.assert_allclose(apart, np.sqrt(48))
    with pytest.raises(ValueError, match="n_points must be 500 or 2100"):
        load_2d5c(501)


@pytest.mark.parametrize("load", [load_2d5c, load_3d5c])
def test_draws_have_their_seed_mean_and_spread(load):
    np.testing.assert_array_equal(load().data, load(random_state=0).data)
    assert (load(random_state=1).data != load().data).all()
    np.testing.assert_allclose(np.linalg.norm(load().centers[1:], axis=1), np.sqrt(18))
    wide = load(spread=2.0)
    residual = wide.data - wide.centers[wide.target]
    # 500 draws of each coordinate: standard errors of 0.09 and 0.06.
    np.testing.assert_allclose(residual.mean(axis=0), 0.0, atol=0.36)
    np.testing.assert_allclose(residual.std(axis=0), 2.0, atol=0.25)
    with pytest.raises(ValueError, match="spread"):
        load(spread=-1.0)


@pytest.mark.parametrize("place", ["things/things.gz", "things.gz", "things/things"])
def test_files_are_found_in_the_users_folder(own, place):
    (own / place).write_bytes(PACKED if place.endswith(".gz") else CONTENT)
    assert get() == CONTENT


@pytest.mark.parametrize("content", [PACKED[:-1], b"", PACKED + b"\x00", gzip.compress(CONTENT + b"!", mtime=0)])
def test_no_altered_file_is_used(own, content):
    path = own / "things" / "things.gz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="truncated or altered") as caught:
        get()
    assert str(path) in str(caught.value)
    path.unlink()
    with pytest.raises(ValueError, match="truncated or altered"):
        get(lambda: [b"<html>"])
    assert not cache_folder().exists()


def test_a_missing_file_says_where_to_put_it(own):
    with pytest.raises(FileNotFoundError, match="no route to host") as caught:
        get()
    assert f"things.gz  (SHA-256 {FILE.sha256})" in str(caught.value)
    assert str(own) in str(caught.value)


def test_idx_files_there_and_back():
    np.testing.assert_array_equal(parse_idx(IDX, 3, "images"), IMAGES)
    assert format_idx(IMAGES) == IDX
    for content in (b"", b"<html>not found</html>", IDX[:10], IDX[:-1], IDX + b"\x00"):
        with pytest.raises(ValueError, match="pictures"):
            parse_idx(content, 3, "pictures")


@needs_files
def test_real_files():
    digits = load_mnist_test(download_if_missing=False)
    assert digits.data.shape == (10_000, 784)
    assert digits.data.mean() / 255 == pytest.approx(0.13251, abs=5e-6)
    np.testing.assert_array_equal(np.bincount(digits.target), [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009])
    plants = load_soybean(download_if_missing=False)
    assert plants.data.shape == (47, 35)
    np.testing.assert_array_equal(np.bincount(plants.target), [10, 10, 10, 17])


def test_soybean_is_parsed_and_kept(own, monkeypatch):
    rows = "\n".join(",".join([str(i % 3)] * 35 + [f"D{i % 4 + 1}"]) for i in range(8)) + "\n"
    known = replace(_soybean._FILE, sha256=sha256(rows.encode()), unpacked_sha256=sha256(rows.encode()))
    monkeypatch.setattr(_soybean, "_FILE", known)
    answers = iter([io.BytesIO(rows.encode())])
    monkeypatch.setattr(_soybean, "urlopen", lambda address, timeout: next(answers))
    for _ in range(2):
        np.testing.assert_array_equal(load_soybean().target, [0, 1, 2, 3] * 2)


def test_mnist_offline_says_where_to_put_the_files(own, monkeypatch):
    def fail(*args, **kwargs):
        raise URLError("name resolution failed")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)
    with pytest.raises(FileNotFoundError, match="ALLEGIANCE_DATA") as caught:
        load_mnist_test()
    assert "t10k-images-idx3-ubyte.gz  (SHA-256 8d422c7b" in str(caught.value)
