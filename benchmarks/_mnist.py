"""Data of MNIST shape: 10,000 images of 784 pixels, and ten centres."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

N, D, K = 10_000, 784, 10
_SIDE = 28
_IMAGES = Path("mnist") / "t10k-images-idx3-ubyte.gz"


class Job(NamedTuple):
    """A clustering to be scored."""

    X: npt.NDArray[np.float64]
    """(10000, 784) pixels, 0 to 255."""
    labels: npt.NDArray[np.intp]
    """(10000,)"""
    centers: npt.NDArray[np.float64]
    """(10, 784)"""
    source: str
    """Real or synthetic, for the table."""


def mnist_job() -> Job:
    """Cluster the MNIST test set, from the folder named by ``ALLEGIANCE_DATA``, else a synthetic stand-in."""
    from sklearn.cluster import KMeans

    folder = os.environ.get("ALLEGIANCE_DATA")
    path = Path(folder) / _IMAGES if folder else None
    if path is not None and path.exists():
        X, source = _read_images(path), "the MNIST test set"
    else:
        X, source = _synthetic_digits(), "synthetic digits"
    means = KMeans(K, n_init=1, random_state=0).fit(X)
    return Job(X, means.labels_.astype(np.intp), means.cluster_centers_, source)


def _read_images(path: Path) -> npt.NDArray[np.float64]:
    with gzip.open(path) as file:
        pixels = np.frombuffer(file.read(), np.uint8, offset=16)
    return pixels.reshape(-1, D).astype(np.float64)


def _synthetic_digits() -> npt.NDArray[np.float64]:
    """Draw ten shapes of a few soft strokes each; every image bends the strokes of its shape and adds noise."""
    rng = np.random.default_rng(0)
    strokes = 8
    place = rng.uniform(6.0, 22.0, (K, strokes, 2))
    shape = np.arange(N) % K
    centre = place[shape] + rng.normal(0.0, 1.5, (N, strokes, 2))
    weight = rng.uniform(100.0, 255.0, (N, strokes))
    grid = np.arange(_SIDE)
    rows = np.exp(-((grid - centre[:, :, :1]) ** 2) / 8.0)
    columns = np.exp(-((grid - centre[:, :, 1:]) ** 2) / 8.0)
    images = np.einsum("ns,nsy,nsx->nyx", weight, rows, columns, optimize=True).reshape(N, D)
    return np.clip(images + rng.normal(0.0, 10.0, images.shape), 0.0, 255.0)
