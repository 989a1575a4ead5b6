"""What every experiment is given: how many seeds, where pictures go, and the data sets of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reproduction import datasets
from reproduction.arrays import AnyArray, FloatArray

from ._store import Store

#: Dots per inch of the pictures: sharp enough on a page, small enough for a repository.
DPI = 80


class DataSet(NamedTuple):
    """A labelled data set under the paper's name."""

    name: str
    X: FloatArray
    reference: AnyArray

    @property
    def n_clusters(self) -> int:
        """The number of reference classes."""
        return int(np.unique(self.reference).size)


@dataclass(frozen=True)
class Setup:
    """The setting of one run.

    Parameters
    ----------
    pictures
        Folder for figures.
    n_seeds
        How many seeds each random experiment is repeated with.
    store
        What is kept between runs. A long experiment keeps its steps here, under ``name/step``.
    """

    pictures: Path
    n_seeds: int
    store: Store

    @property
    def seeds(self) -> range:
        """The seeds themselves."""
        return range(self.n_seeds)

    @cached_property
    def gaussians(self) -> DataSet:
        """2D5C-500."""
        return _labelled("2D5C-500", datasets.load_2d5c(500))

    @cached_property
    def dense_gaussians(self) -> DataSet:
        """2D5C-2100."""
        return _labelled("2D5C-2100", datasets.load_2d5c(2100))

    @cached_property
    def gaussians_3d(self) -> DataSet:
        """3D5C-500."""
        return _labelled("3D5C-500", datasets.load_3d5c())

    @cached_property
    def iris(self) -> DataSet:
        """Iris."""
        return _labelled("Iris", datasets.load_iris())

    @cached_property
    def soybean(self) -> DataSet:
        """Soybean (small)."""
        return _labelled("Soybean", datasets.load_soybean())

    @cached_property
    def mnist(self) -> DataSet:
        """The test set of MNIST, pixels from 0 to 1, in single precision."""
        loaded = _labelled("MNIST test data", datasets.load_mnist_test())
        return loaded._replace(X=(loaded.X / 255.0).astype(np.float32))

    def sets(self, *names: str) -> tuple[list[DataSet], list[str]]:
        """Return those of the data sets that are at hand, and a sentence for each of the others."""
        present, missing = [], []
        for name in names:
            try:
                present.append(getattr(self, name))
            except FileNotFoundError as error:
                missing.append(f"Skipped: {name}. {error}")
        return present, missing

    def save(self, figure: Any, name: str) -> str:
        """Save a matplotlib figure and return the name of its file."""
        file = f"{name}.png"
        self.pictures.mkdir(parents=True, exist_ok=True)
        figure.savefig(self.pictures / file, dpi=DPI)
        figure.clear()
        return file


def _labelled(name: str, bunch: Any) -> DataSet:
    return DataSet(name, np.asarray(bunch.data, dtype=np.float64), np.asarray(bunch.target))
