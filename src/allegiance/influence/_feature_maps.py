"""Approximate maps to the feature space of a kernel, for data too large for exact sums."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from allegiance._core import (
    AnyArray,
    FloatArray,
    Parameters,
    Part,
    Rows,
    check_count,
    dense,
    for_row_blocks,
    stored,
    stream,
)

from ._diagram import Located
from ._embedding import LinearEmbedding
from ._kernel_values import BLOCK_ROWS, KernelFunction, SettledKernel, float_rows, row_blocks


class Approximation(Parameters):
    """A map to finitely many features that have approximately a kernel as inner product: for large n."""

    n_components: int
    #: The kernels it serves; None for all that see the data.
    kernels: ClassVar[tuple[str, ...] | None] = None

    def check(self) -> None:
        """Raise unless the number of features is a positive integer."""
        check_count(self.n_components, f"n_components of {type(self).__name__}")

    def refusal(self, kernel: str | KernelFunction) -> str | None:
        """Say why a kernel cannot be approximated in this way; None if it can."""
        if kernel == "precomputed":
            return "approximation needs the data, but Kernel('precomputed') gives kernel values only."
        if self.kernels is not None and kernel not in self.kernels:
            served = " or ".join(f"Kernel({name!r})" for name in self.kernels)
            return f"approximation={type(self).__name__} needs {served}, got {kernel!r}."
        return None

    @abstractmethod
    def fit(self, kernel: SettledKernel, seed: int, X: Rows) -> Any:
        """Return a fitted transformer of rows (n, d), dense or CSR, to dense features (n, m)."""


@dataclass(frozen=True, eq=False, repr=False)
class Fourier(Approximation):
    """Random Fourier features, for "rbf".

    Parameters
    ----------
    n_components
        The number of features.

    Examples
    --------
    >>> from allegiance import Fourier, Kernel
    >>> Kernel("rbf", gamma=0.5, approximation=Fourier(800))
    Kernel('rbf', gamma=0.5, approximation=Fourier(n_components=800))
    """

    n_components: int = 500
    kernels: ClassVar[tuple[str, ...] | None] = ("rbf",)

    def fit(self, kernel: SettledKernel, seed: int, X: Rows) -> Any:
        """Draw the frequencies."""
        from sklearn.kernel_approximation import RBFSampler

        sampler = RBFSampler(
            gamma=kernel.params["gamma"], n_components=self.n_components, random_state=_seed32(_stream(seed))
        )
        return sampler.fit(float_rows(X[:1]))  # it learns only the number of columns


@dataclass(frozen=True, eq=False, repr=False)
class Nystroem(Approximation):
    """The span of some of the rows in feature space, for all kernels but "precomputed".

    Parameters
    ----------
    n_components
        The number of features; no more than the rows of X are used.

    Examples
    --------
    >>> from allegiance import Kernel, Nystroem
    >>> Kernel("laplacian", approximation=Nystroem(200))
    Kernel('laplacian', approximation=Nystroem(n_components=200))
    """

    n_components: int = 500

    def fit(self, kernel: SettledKernel, seed: int, X: Rows) -> Any:
        """Choose the rows."""
        from sklearn import kernel_approximation

        rng = _stream(seed)
        seed32 = _seed32(rng)
        chosen = np.sort(rng.permutation(X.shape[0])[: self.n_components])
        landmarks = float_rows(X[chosen])
        if callable(kernel.name):
            return _CallableNystroem(kernel, landmarks)
        sklearns = kernel_approximation.Nystroem(
            kernel=kernel.name, **kernel.params, n_components=len(chosen), random_state=seed32
        )
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                return sklearns.fit(landmarks)
        except np.linalg.LinAlgError as error:
            raise ValueError(f"X is too large for a kernel: scale it down. {error}.") from error


@dataclass(frozen=True, eq=False, repr=False)
class Hashing(Approximation):
    """A count sketch, for "linear" and "polynomial".

    Parameters
    ----------
    n_components
        The number of features.

    Examples
    --------
    >>> from allegiance import Hashing, Kernel
    >>> Kernel("polynomial", degree=2, approximation=Hashing(1000))
    Kernel('polynomial', degree=2, approximation=Hashing(n_components=1000))
    """

    n_components: int = 500
    kernels: ClassVar[tuple[str, ...] | None] = ("linear", "polynomial")

    def fit(self, kernel: SettledKernel, seed: int, X: Rows) -> Any:
        """Draw the hashes."""
        from sklearn.kernel_approximation import PolynomialCountSketch

        settings = kernel.params or {"gamma": 1.0, "degree": 1}
        sketch = PolynomialCountSketch(**settings, n_components=self.n_components, random_state=_seed32(_stream(seed)))
        return sketch.fit(float_rows(X[:1]))  # it learns only the number of columns


def _stream(seed: int) -> np.random.Generator:
    return stream(seed, *b"feature map")


def _seed32(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))


class _CallableNystroem:
    """What scikit-learn's Nystroem does, for a function of matrices, which that would call for each pair of rows."""

    def __init__(self, kernel: SettledKernel, landmarks: Rows) -> None:
        self._kernel = kernel
        self._landmarks = kernel.prepare(landmarks)
        u, s, v = np.linalg.svd(kernel.block(self._landmarks, self._landmarks))
        self._normalization = (u / np.sqrt(np.maximum(s, 1e-12)) @ v).T

    def transform(self, X: Rows) -> FloatArray:
        """Return features (n, m) of rows X (n, d)."""
        return self._kernel.block(self._kernel.prepare(X), self._landmarks) @ self._normalization


@stored(
    "features",
    transformer=Part("fourier", "count-sketch", "nystroem", d="d", m="m"),
    linear=Part("linear", k="k", d="m", r="r"),
)
@dataclass(frozen=True)
class FeatureEmbedding:
    """An approximate feature map, followed by the span of the clusters' means among the features.

    Attributes
    ----------
    transformer
        Any fitted transformer of rows (n, d), dense or CSR, to dense features (n, m).
    linear
        The embedding of the means (k, m) of the features.
    """

    transformer: Any
    linear: LinearEmbedding

    @classmethod
    def of_clusters(cls, X: Rows, codes: AnyArray, n_clusters: int, transformer: Any) -> FeatureEmbedding:
        """Embed the means of the features of X (n, d) over clusters with ``codes`` (n,), -1 for none."""
        sums: Any = 0.0
        for part in row_blocks(slice(0, X.shape[0])):
            member = codes[part] == np.arange(n_clusters)[:, None]
            sums = sums + member.astype(np.float64) @ block_of_features(transformer, X, part)
        sizes = np.bincount(codes[codes >= 0], minlength=n_clusters)
        return cls(transformer, LinearEmbedding.of_sites(sums / sizes[:, None]))

    @property
    def positions(self) -> FloatArray:
        """(k, r) coordinates of the sites."""
        return self.linear.positions

    @property
    def unit(self) -> float:
        """The length in these coordinates of a distance of 1 among the features."""
        return self.linear.unit

    def locate(self, X: Rows, threads: int = 1) -> Located:
        """Map rows of X (n, d) to the span of the sites; never holds the features of more than some rows."""
        position, off_span = np.empty((X.shape[0], self.positions.shape[1])), np.empty(X.shape[0])

        def locate_rows(rows: slice) -> None:
            for part in row_blocks(rows):
                position[part], off_span[part] = self.linear.locate(block_of_features(self.transformer, X, part))

        for_row_blocks(locate_rows, X.shape[0], threads, multiple=BLOCK_ROWS)
        return Located(position, off_span)

    affine = axis_aligned = False

    def unprojected(self, X: Rows, located: Located) -> FloatArray:
        """Return the features (n, m)."""
        return features_of(self.transformer, X)

    def differences(self, site: int) -> FloatArray:
        """Return the positions (k, r) of all sites relative to one."""
        return self.linear.differences(site)


def features_of(transformer: Any, X: Rows) -> FloatArray:
    """Return the features (n, m) of all rows of X (n, d)."""
    return np.concatenate([block_of_features(transformer, X, part) for part in row_blocks(slice(0, X.shape[0]))])


def block_of_features(transformer: Any, X: Rows, part: slice) -> FloatArray:
    """Return the features of some rows."""
    return padded_features(transformer, X, part)[: part.stop - part.start]


def padded_features(transformer: Any, X: Rows, part: slice) -> FloatArray:
    """Return the features (BLOCK_ROWS, m) of some rows, and of copies of the last one that fill the block.

    Products of blocks of one shape treat each row alike, whatever the others.
    """
    rows = np.minimum(np.arange(part.start, part.start + BLOCK_ROWS), part.stop - 1)
    with np.errstate(over="ignore", invalid="ignore"):  # distances of rows far away, whose kernel values are 0
        return dense(transformer.transform(float_rows(X[rows])))
