"""Kernels, and approximate maps to their feature spaces for data too large for exact sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from allegiance._core._random import stream
from allegiance._core._rows import dense, is_sparse, row_dots
from allegiance._core._threads import for_row_blocks
from allegiance._core._typing import AnyArray, FloatArray, Rows

from ._diagram import Located
from ._embedding import LinearEmbedding

KernelFunction: TypeAlias = Callable[..., Any]
KERNELS = ("linear", "rbf", "polynomial", "laplacian", "cosine", "precomputed")
#: The approximations and the kernels they serve; None for all that see the data.
APPROXIMATIONS = {"fourier": ("rbf",), "nystroem": None, "hash": ("linear", "polynomial")}
_PARAMETERS = {"rbf": ("gamma",), "laplacian": ("gamma",), "polynomial": ("gamma", "degree", "coef0")}
#: Rows mapped at a time: always as many, so that BLAS treats each row alike whatever the others.
_ROWS = 256


class Prepared(NamedTuple):
    """Rows (n, d) as a kernel wants them, dense or CSR in float64, and their squared norms (n,)."""

    rows: Rows
    squares: FloatArray


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters settled.

    Attributes
    ----------
    name
        One of ``KERNELS``, or a function k(X, Y) -> (n, m).
    params
        What the kernel takes of gamma, degree and coef0; for a function, its keywords.
    shift
        (d,) subtracted from dense rows. Distances under "linear" and "rbf" do not change, but lose no digits to a
        large common offset.
    """

    name: str | KernelFunction
    params: dict[str, Any]
    shift: FloatArray | None = None

    @classmethod
    def of(
        cls, kernel: str | KernelFunction, params: dict[str, Any] | None, X: Rows, weights: FloatArray | None = None
    ) -> Kernel:
        """Check a kernel and its parameters, and choose what is missing by the data X (n, d), with weights (n,) if any.

        gamma is 1 / Σ_j var_j for "rbf" and "polynomial" and 1 / Σ_j √var_j for "laplacian", over the columns j of X:
        scaling or moving the data then changes nothing under "rbf" and "laplacian", and on standardised data it is
        1 / d, as "scale" in scikit-learn's SVC. degree is 3 and coef0 is 1.
        """
        params = dict(params or {})
        if callable(kernel):
            return cls(kernel, params)
        if kernel not in KERNELS:
            raise ValueError(f"kernel must be one of {', '.join(KERNELS)} or a function k(X, Y), got {kernel!r}.")
        allowed = _PARAMETERS.get(kernel, ())
        if unknown := set(params) - set(allowed):
            listed = ", ".join(allowed) or "no parameters"
            raise ValueError(f"kernel_params has {sorted(unknown)}, but kernel={kernel!r} takes {listed}.")
        if kernel in ("precomputed", "cosine"):
            return cls(kernel, {})
        mean, variance = _mean_and_variance(X, weights)
        if allowed:
            params = {name: params.get(name) for name in allowed}
            _settle(params, float((np.sqrt(variance) if kernel == "laplacian" else variance).sum()))
        return cls(kernel, params, mean if kernel in ("linear", "rbf") and not is_sparse(X) else None)

    def prepare(self, X: Rows) -> Prepared:
        """Return rows (n, d) ready for :meth:`block`."""
        rows = _float_rows(X) if self.shift is None else dense(X) - self.shift
        if callable(self.name):
            return Prepared(rows, np.empty(0))
        squares = _squares(rows)
        if self.name == "cosine":
            factor = 1.0 / np.sqrt(np.where(squares > 0, squares, 1.0))
            rows = sp.diags_array(factor) @ rows if is_sparse(rows) else rows * factor[:, None]
            squares = (squares > 0).astype(np.float64)
        return Prepared(rows, squares)

    def block(self, A: Prepared, B: Prepared, count: int | None = None) -> FloatArray:
        """Return the kernel values (count, m) of the first ``count`` of the rows A (n, d) with all rows B (m, d)."""
        if callable(self.name):
            values = np.asarray(self.name(A.rows, B.rows, **self.params), dtype=np.float64)
            if values.shape != (A.rows.shape[0], B.rows.shape[0]):
                raise ValueError(f"kernel must return one value for each pair of rows, got shape {values.shape}.")
            return values[:count]
        if self.name == "laplacian":
            from sklearn.metrics.pairwise import manhattan_distances

            return np.exp(-self.params["gamma"] * manhattan_distances(_short(A.rows[:count]), _short(B.rows)))
        if is_sparse(A.rows) != is_sparse(B.rows):
            A, B = Prepared(dense(A.rows), A.squares), Prepared(dense(B.rows), B.squares)
        values = dense(A.rows @ B.rows.T)[:count]
        if self.name == "rbf":
            values *= -2.0
            values += A.squares[:count, None]
            values += B.squares
            np.maximum(values, 0.0, out=values)
            values *= -self.params["gamma"]
            np.exp(values, out=values)
        return self._polynomial(values) if self.name == "polynomial" else values

    def diagonal(self, A: Prepared) -> FloatArray:
        """Return the kernel value (n,) of each row with itself."""
        if callable(self.name):
            return np.diagonal(self.block(A, A)).copy()
        if self.name in ("rbf", "laplacian"):
            return np.ones(A.squares.shape[0])
        return self._polynomial(A.squares) if self.name == "polynomial" else A.squares

    def _polynomial(self, values: FloatArray) -> FloatArray:
        values = self.params["gamma"] * values + self.params["coef0"]
        result = values.copy()  # multiplied up, since NumPy's power is ten times as slow
        for _ in range(self.params["degree"] - 1):
            result *= values
        return result


class _CallableNystroem:
    """What scikit-learn's Nystroem does, for a function of matrices, which that would call for each pair of rows."""

    def __init__(self, kernel: Kernel, landmarks: Rows) -> None:
        self._kernel = kernel
        self._landmarks = kernel.prepare(landmarks)
        u, s, v = np.linalg.svd(kernel.block(self._landmarks, self._landmarks))
        self._normalization = (u / np.sqrt(np.maximum(s, 1e-12)) @ v).T

    def transform(self, X: Rows) -> FloatArray:
        """Return features (n, m) of rows X (n, d)."""
        return self._kernel.block(self._kernel.prepare(X), self._landmarks) @ self._normalization


def feature_map(
    approximation: str,
    kernel: str | KernelFunction,
    params: dict[str, Any] | None,
    n_components: int,
    seed: int,
    X: Rows,
) -> Any:
    """Return a fitted transformer whose features have approximately the kernel as inner product.

    Parameters
    ----------
    approximation
        "fourier", random Fourier features, for "rbf"; "nystroem", the span of some of the rows, for all kernels but
        "precomputed"; "hash", a count sketch, for "linear" and "polynomial".
    kernel, params, X
        As in :meth:`Kernel.of`.
    n_components, seed
        The number of features, no more than the rows of X for "nystroem", and the seed of the random choices.
    """
    _check_pair(approximation, kernel)
    from sklearn.kernel_approximation import Nystroem, PolynomialCountSketch, RBFSampler

    settled = Kernel.of(kernel, params, X)
    rng = stream(seed, *b"feature map")
    seed32 = int(rng.integers(2**31))
    if approximation == "nystroem":
        chosen = np.sort(rng.permutation(X.shape[0])[:n_components])
        landmarks = _float_rows(X[chosen])
        if callable(kernel):
            return _CallableNystroem(settled, landmarks)
        return Nystroem(kernel=kernel, **settled.params, n_components=len(chosen), random_state=seed32).fit(landmarks)
    rows = _float_rows(X[:1])  # both of these learn nothing but the number of columns
    if approximation == "fourier":
        return RBFSampler(gamma=settled.params["gamma"], n_components=n_components, random_state=seed32).fit(rows)
    settings = settled.params or {"gamma": 1.0, "degree": 1}
    return PolynomialCountSketch(**settings, n_components=n_components, random_state=seed32).fit(rows)


def _check_pair(approximation: str, kernel: str | KernelFunction) -> None:
    if approximation not in APPROXIMATIONS:
        raise ValueError(f"kernel_approximation must be one of {', '.join(APPROXIMATIONS)}, got {approximation!r}.")
    if kernel == "precomputed":
        raise ValueError("kernel_approximation needs the data, but kernel='precomputed' gives kernel values only.")
    allowed = APPROXIMATIONS[approximation]
    if allowed and kernel not in allowed:
        raise ValueError(f"kernel_approximation={approximation!r} needs kernel={' or '.join(allowed)}, got {kernel!r}.")


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
        for part in _parts(slice(0, X.shape[0])):
            member = codes[part] == np.arange(n_clusters)[:, None]
            sums = sums + member.astype(np.float64) @ _features(transformer, X, part)
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
            for part in _parts(rows):
                position[part], off_span[part] = self.linear.locate(_features(self.transformer, X, part))

        for_row_blocks(locate_rows, X.shape[0], threads, multiple=_ROWS)
        return Located(position, off_span)

    def differences(self, site: int) -> FloatArray:
        """Return the positions (k, r) of all sites relative to one."""
        return self.linear.differences(site)


def _parts(rows: slice) -> list[slice]:
    return [slice(start, min(start + _ROWS, rows.stop)) for start in range(rows.start, rows.stop, _ROWS)]


def _features(transformer: Any, X: Rows, part: slice) -> FloatArray:
    """Return the features of some rows, mapped together with copies of the last one that fill the block."""
    rows = np.minimum(np.arange(part.start, part.start + _ROWS), part.stop - 1)
    return dense(transformer.transform(_float_rows(X[rows])))[: part.stop - part.start]


def _float_rows(X: Rows) -> Rows:
    return X.astype(np.float64) if is_sparse(X) else dense(X)


def _short(rows: Rows) -> Rows:
    """Return rows with the 32-bit indices that scikit-learn's Manhattan distance asks of sparse ones."""
    if not is_sparse(rows):
        return rows
    return sp.csr_array((rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32)), shape=rows.shape)


def _squares(rows: Rows) -> FloatArray:
    """Return the squared norm (n,) of each row."""
    if is_sparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
    with np.errstate(over="ignore"):
        return row_dots(rows, rows)


def _settle(params: dict[str, Any], spread: float) -> None:
    """Fill in the parameters that are None, and check the others: elsewhere there is no feature space."""
    if not np.isfinite(spread):
        raise ValueError("X is too large for a kernel: scale it down.")
    missing = {"gamma": 1.0 / spread if spread > 0 else 1.0, "degree": 3, "coef0": 1.0}
    params.update({name: missing[name] for name, value in params.items() if value is None})
    for name, value in params.items():
        known = isinstance(value, Integral if name == "degree" else Real) and not isinstance(value, bool)
        if not (known and (value > 0 or (value == 0 and name == "coef0"))):
            kind = {"gamma": "a positive number", "degree": "a positive integer", "coef0": "zero or more"}[name]
            raise ValueError(f"kernel_params[{name!r}] must be {kind}, got {value!r}.")


def _mean_and_variance(X: Rows, weights: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Return mean (d,) and variance (d,) of the columns of X (n, d), without a second copy of X."""
    share = np.full(X.shape[0], 1.0 / X.shape[0]) if weights is None else weights / weights.sum()
    parts = _parts(slice(0, X.shape[0]))
    with np.errstate(over="ignore", invalid="ignore"):
        if is_sparse(X):
            mean = X.T @ share
            return mean, np.maximum(X.multiply(X).T @ share - mean**2, 0.0)
        mean = np.asarray(sum(share[part] @ dense(X[part]) for part in parts))
        return mean, np.asarray(sum(share[part] @ (dense(X[part]) - mean) ** 2 for part in parts))
