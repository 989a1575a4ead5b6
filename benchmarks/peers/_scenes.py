"""The jobs: points around k random centres, one of n, d and k varied at a time around a centre."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Scene(NamedTuple):
    """The size of a job."""

    n: int
    d: int
    k: int


class Job(NamedTuple):
    """A clustering to be scored."""

    X: npt.NDArray[np.float64]
    """(n, d)"""
    labels: npt.NDArray[np.intp]
    """(n,) the centre each point was drawn around."""
    centers: npt.NDArray[np.float64]
    """(k, d) the means of the clusters."""


CENTRE = Scene(10_000, 50, 10)
SIZES = (1_000, 10_000, 100_000, 1_000_000)
SCENES = (
    *(CENTRE._replace(n=n) for n in SIZES),
    *(CENTRE._replace(d=d) for d in (2, 784)),
    *(CENTRE._replace(k=k) for k in (3, 50)),
)


def make_job(scene: Scene, seed: int = 0) -> Job:
    """Draw a job: centres and points with unit deviation in every direction."""
    rng = np.random.default_rng(seed)
    centers = rng.standard_normal((scene.k, scene.d))
    labels = np.arange(scene.n) % scene.k
    X = rng.standard_normal((scene.n, scene.d))
    for start in range(0, scene.n, 100_000):
        X[start : start + 100_000] += centers[labels[start : start + 100_000]]
    means = np.stack([X[i :: scene.k].mean(axis=0) for i in range(scene.k)])
    return Job(X, labels.astype(np.intp), means)
