"""Data of MNIST shape: 10,000 images of 784 pixels, and ten centres."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reproduction.datasets import load_mnist_test

N, D, K = 10_000, 784, 10
_SIDE = 28


class Job(NamedTuple):
    """A clustering to be scored."""

    X: npt.NDArray[np.float64]
    """(10000, 784) pixels, 0 to 255."""
    labels: npt.NDArray[np.intp]
    """(10000,)"""
    centers: npt.NDArray[np.float64]
    """(10, 784)"""
    truth: npt.NDArray[np.intp]
    """(10000,) the digits."""
    source: str
    """Real or synthetic, for the table."""


def mnist_job() -> Job:
    """Cluster the MNIST test set if there is a copy on this machine, else a synthetic stand-in."""
    from sklearn.cluster import KMeans

    try:
        digits = load_mnist_test(download_if_missing=False)
        X, truth, source = digits.data, digits.target, "the MNIST test set"
    except FileNotFoundError:
        X, truth, source = _synthetic_digits(), np.arange(N) % K, "synthetic digits"
    means = KMeans(K, n_init=1, random_state=0).fit(X)
    return Job(X, means.labels_.astype(np.intp), means.cluster_centers_, truth.astype(np.intp), source)


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
