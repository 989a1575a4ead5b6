"""Distances in the feature space of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from allegiance._core.arithmetic import row_dots, row_sums
from allegiance._core.parallel import for_row_blocks, on_one_thread, slices, stream
from allegiance._core.parameters import Lazy
from allegiance._core.stored import (
    POSITIVE,
    Matrix,
    Number,
    OrNone,
    Part,
    Sizes,
    Text,
    Unchecked,
    check_parts,
    floats,
    stored,
)
from allegiance._core.validation import AnyArray, FloatArray, Rows, check_choice, dense, float_rows, is_sparse

from ._base import INFLUENCES, Influence
from ._diagram import Diagram, Located
from ._linear_embedding import BLOCK_ROWS, MAX_RADIUS, LinearEmbedding, block_features, block_rows
from ._power_diagram import PowerDiagram

if TYPE_CHECKING:
    from allegiance.fitting import Training

#: The kernels with a name, and their parameters.
PARAMETERS: dict[str, tuple[str, ...]] = {
    "rbf": ("gamma",),
    "polynomial": ("gamma", "degree", "coef0"),
    "laplacian": ("gamma",),
    "precomputed": (),
}
KERNELS = tuple(PARAMETERS)
#: The approximations with a name, and the kernels that they serve.
APPROXIMATIONS: dict[str, tuple[str, ...]] = {
    "fourier": ("rbf",),
    "hashing": ("polynomial",),
    "nystroem": ("rbf", "polynomial", "laplacian"),
}
#: Features of a named approximation.
_N_FEATURES = 500


@dataclass(frozen=True, eq=False, repr=False)
class Kernel(Influence):
    """Distance in the feature space of a kernel, where clusters are represented by their means: for curved clusters.

    Parameters
    ----------
    name
        "rbf", "polynomial", "laplacian", "precomputed" (X is then the matrix of kernel values, and new rows hold kernel
        values against the points of the fit), or a function k(X, Y) -> (n, m).
    gamma
        For "rbf", "polynomial" and "laplacian". By default 1 over the total variance of X, for "laplacian" 1 over the
        sum of the columns' standard deviations.
    degree, coef0
        For "polynomial"; by default 3 and 1.
    approximation
        None for exact sums of kernel values. For large n, a map to finitely many features: "nystroem", "fourier"
        (random Fourier features, for "rbf") or "hashing" (a count sketch, for "polynomial"), each with 500 features; or
        a scikit-learn transformer, which is fitted to X.

    Examples
    --------
    >>> from allegiance.influence import Kernel
    >>> Kernel("rbf", gamma=0.5, approximation="nystroem")
    Kernel('rbf', gamma=0.5, approximation='nystroem')
    """

    name: str | Callable[..., Any]
    _: KW_ONLY
    gamma: float | None = None
    degree: int | None = None
    coef0: float | None = None
    approximation: Any = None

    has_sites: ClassVar[bool] = False
    flat_sides: ClassVar[bool] = False

    def check(self) -> None:
        """Raise unless the kernel is known and takes these parameters and this approximation."""
        settings = self._settings()
        if not callable(self.name):
            check_choice(self.name, "kernel", KERNELS)
        allowed = () if callable(self.name) else PARAMETERS[self.name]
        if unknown := ", ".join(sorted(set(settings) - set(allowed))):
            raise ValueError(f"Kernel({self.name!r}) got {unknown}, but takes {', '.join(allowed) or 'no parameters'}.")
        for name, value in settings.items():
            known = isinstance(value, Integral if name == "degree" else Real) and not isinstance(value, bool)
            if not (known and (value > 0 or (value == 0 and name == "coef0"))):
                kind = {"gamma": "a positive number", "degree": "a positive integer", "coef0": "zero or more"}[name]
                raise ValueError(f"{name} of Kernel must be {kind}, got {value!r}.")
        if self.approximation is not None:
            self._check_approximation(settings)

    def _check_approximation(self, settings: dict[str, Any]) -> None:
        """Raise unless the kernel supports this approximation."""
        if self.name == "precomputed":
            raise ValueError("approximation needs the data, but Kernel('precomputed') gives kernel values only.")
        if isinstance(self.approximation, str):
            check_choice(self.approximation, "approximation of Kernel", tuple(APPROXIMATIONS))
            if self.name not in APPROXIMATIONS[self.approximation]:
                served = " or ".join(f"Kernel({name!r})" for name in APPROXIMATIONS[self.approximation])
                raise ValueError(f"approximation={self.approximation!r} needs {served}, got {self.name!r}.")
        elif isinstance(self.approximation, type) or not hasattr(self.approximation, "transform"):
            raise TypeError(
                f"approximation of Kernel must be {', '.join(map(repr, APPROXIMATIONS))} or a transformer, got "
                f"{self.approximation!r}."
            )
        elif settings:
            raise ValueError(f"Kernel got {', '.join(settings)} and a transformer: set them on the transformer.")

    def _settings(self) -> dict[str, Any]:
        """Return the kernel parameters that the user set."""
        params = {name: getattr(self, name) for name in ("gamma", "degree", "coef0")}
        return {name: value for name, value in params.items() if value is not None}

    @property
    def takes_points(self) -> bool:
        """Whether the kernel is known, so that any point can be scored; not for precomputed values."""
        return self.name != "precomputed"

    def with_data(self, X: Rows) -> ResolvedKernel:
        """Return the kernel with missing parameters chosen from the data X (n, d).

        Scaling or moving the data then changes nothing under "rbf" and "laplacian", and on standardized data gamma is
        1 / d, as "scale" in scikit-learn's SVC.
        """
        if callable(self.name) or not PARAMETERS[self.name]:
            return ResolvedKernel(self.name, {})
        share = np.full(X.shape[0], 1.0 / X.shape[0])
        if is_sparse(X):
            mean = X.T @ share
            variance = np.maximum(X.multiply(X).T @ share - mean**2, 0.0)
        else:  # without a second copy of X
            parts = list(slices(X.shape[0], BLOCK_ROWS))
            mean = np.asarray(sum(share[part] @ dense(X[part]) for part in parts))
            variance = np.asarray(sum(share[part] @ (dense(X[part]) - mean) ** 2 for part in parts))
        spread = float((np.sqrt(variance) if self.name == "laplacian" else variance).sum())
        chosen = {"gamma": 1.0 / spread if spread > 0 else 1.0, "degree": 3, "coef0": 1.0} | self._settings()
        params = {name: chosen[name] for name in PARAMETERS[self.name]}
        return ResolvedKernel(self.name, params, mean if self.name == "rbf" and not is_sparse(X) else None)

    def feature_map(self, X: Rows, seed: int) -> Any:
        """Return the approximation, fitted to rows X (n, d): a transformer of rows to dense features (n, m)."""
        from sklearn import clone, kernel_approximation

        rng = stream(seed, *b"feature map")
        seed32 = int(rng.integers(2**31))
        if not isinstance(self.approximation, str):
            transformer = clone(self.approximation)
            if transformer.get_params().get("random_state", 0) is None:
                transformer.set_params(random_state=seed32)
            return transformer.fit(float_rows(X))
        kernel = self.with_data(X)
        common: dict[str, Any] = {**kernel.params, "random_state": seed32, "n_components": _N_FEATURES}
        if self.approximation == "fourier":
            return kernel_approximation.RBFSampler(**common).fit(float_rows(X[:1]))  # it learns the number of columns
        if self.approximation == "hashing":
            return kernel_approximation.PolynomialCountSketch(**common).fit(float_rows(X[:1]))
        chosen = np.sort(rng.permutation(X.shape[0])[:_N_FEATURES])
        common["n_components"] = chosen.size
        return kernel_approximation.Nystroem(kernel=kernel.name, **common).fit(float_rows(X[chosen]))

    def diagram(self, training: Training, *, keep_axes: bool) -> tuple[Diagram, Located | None]:
        """Return the Voronoi diagram of the means in feature space, and where the rows are."""
        X, codes = training.in_memory("influence=Kernel")
        if self.approximation is not None:
            transformer = self.feature_map(X, training.seed)
            means = _feature_means(X, codes, training.n_clusters, transformer)
            return PowerDiagram(LinearEmbedding.of_sites(means, transformer=transformer)), None
        kernel = self.with_data(X)
        embedding, located = KernelEmbedding.fit_locate(X, codes, training.n_clusters, kernel, training.threads)
        return PowerDiagram(embedding), located


def _has_parameters(parts: dict[str, Any], sizes: Sizes) -> None:
    """Raise unless the kernel has the parameters it takes, and no others."""
    settings, allowed = parts["params"], PARAMETERS[parts["name"]]
    if set(settings) != set(allowed):
        raise ValueError(f"params must be {', '.join(allowed) or 'empty'}, not {settings!r}.")
    check_parts(settings, dict.fromkeys(allowed, Number()), "params", sizes)


@stored(
    "kernel-function",
    agree=_has_parameters,
    name=Text(KERNELS),
    params=Unchecked(dict),
    shift=OrNone(floats("d")),
)
@dataclass(frozen=True)
class ResolvedKernel:
    """A kernel with all its parameters.

    ``name`` is one of ``KERNELS`` or a function k(X, Y) -> (n, m), ``params`` what it takes of gamma, degree and coef0.
    ``shift`` (d,) is subtracted from dense rows: distances under "rbf" do not change, but lose no digits to a large
    common offset.
    """

    name: str | Callable[..., Any]
    params: dict[str, Any]
    shift: FloatArray | None = None

    def prepare(self, X: Rows) -> Rows:
        """Return rows (n, d) ready for :meth:`block`."""
        return float_rows(X) if self.shift is None else dense(X) - self.shift

    def block(self, A: Rows, B: Rows) -> FloatArray:
        """Return the kernel values (n, m) of rows A (n, d) with rows B (m, d), both prepared."""
        if callable(self.name):
            values = np.asarray(self.name(A, B), dtype=np.float64)
            if values.shape != (A.shape[0], B.shape[0]):
                raise ValueError(f"kernel must return one value for each pair of rows, got shape {values.shape}.")
            return values
        if self.name == "laplacian":
            from sklearn.metrics.pairwise import manhattan_distances

            return np.exp(-self.params["gamma"] * manhattan_distances(with_short_indices(A), with_short_indices(B)))
        if is_sparse(A) != is_sparse(B):
            A, B = dense(A), dense(B)
        values = dense(A @ B.T)
        if self.name == "rbf":
            values *= -2.0
            values += _squares(A)[:, None]
            values += _squares(B)
            np.maximum(values, 0.0, out=values)
            values *= -self.params["gamma"]
            np.exp(values, out=values)
            return values
        return self._polynomial(values)

    def diagonal(self, A: Rows) -> FloatArray:
        """Return the kernel value (n,) of each row with itself."""
        if callable(self.name):
            return np.diagonal(self.block(A, A)).copy()
        if self.name in ("rbf", "laplacian"):
            return np.ones(A.shape[0])
        return self._polynomial(_squares(A))

    def _polynomial(self, values: FloatArray) -> FloatArray:
        """Return the polynomial kernel of inner products."""
        values = self.params["gamma"] * values + self.params["coef0"]
        result = values.copy()  # multiplied up, since NumPy's power is ten times as slow
        for _ in range(self.params["degree"] - 1):
            result *= values
        return result


def with_short_indices(rows: Rows) -> Rows:
    """Return sparse rows with 32-bit indices for the Laplacian kernel: scikit-learn's Manhattan distance needs them."""
    if not is_sparse(rows):
        return rows
    return sp.csr_array((rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32)), shape=rows.shape)


def _squares(rows: Rows) -> FloatArray:
    """Return the squared norm (n,) of each row."""
    if is_sparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
    with np.errstate(over="ignore"):
        return row_dots(rows, rows)


#: A block of kernel values: small enough for the cache.
_KERNEL_ROWS, _KERNEL_COLUMNS = 128, 1024
#: Diagonal values below this share of the largest are rounding.
_NO_NORM = 1e-12
#: Eigenvalues below minus this share of the largest are too large for rounding: the kernel has no feature space.
_INDEFINITE = 1e-6


def _precomputed_or_not(parts: dict[str, Any], sizes: Sizes) -> None:
    """Raise unless there are members to compare rows with, or the diagonal of their kernel values."""
    precomputed = parts["kernel"]["name"] == "precomputed"
    if (parts["members"] is None, parts["diagonal"] is not None) != (precomputed, precomputed):
        raise ValueError("it needs the members, or the diagonal for 'precomputed', but not both.")
    if precomputed:
        sizes.agree("d", sizes["m"], "diagonal")


@stored(
    "kernel-sums",
    agree=_precomputed_or_not,
    kernel=Part("kernel-function", d="d"),
    weights=Matrix("k", "m"),
    members=OrNone(Matrix("m", "d")),
    diagonal=OrNone(floats("m", low=0.0)),
)
@dataclass(frozen=True)
class KernelSums:
    """Sums Σ_j w_ij K(x, x_j) over members x_j with weights w_i, such as the means over the members of clusters i.

    Dense blocks are filled up to a fixed number of rows, and BLAS runs on one thread: then its usual implementations
    treat all rows alike, and the bits of a row do not depend on other rows. A kernel function must ensure that itself.

    ``weights`` are CSR (k, m), ``members`` (m, d) prepared rows; for "precomputed" they are
    None, since the m columns of new rows are values with them, and ``diagonal`` (m,) is that of the kernel matrix.
    """

    kernel: ResolvedKernel
    weights: Any
    members: Rows | None
    diagonal: FloatArray | None = None

    @cached_property
    def _blocks(self) -> list[tuple[Any, slice]]:
        """Blocks of members: their weights, and their rows."""
        blocks = slices(self.weights.shape[1], _KERNEL_COLUMNS)
        return [(sp.csr_array(self.weights[:, block]), block) for block in blocks]

    def sums(self, X: Rows, threads: int = 1) -> tuple[FloatArray, FloatArray]:
        """Return the sums (n, k) for rows X (n, d), or for rows (n, m) of kernel values, and K(x, x) (n,).

        For "precomputed", K(x, x) is unknown and replaced by the largest K(x, j)² / K(j, j) over the training rows j,
        which is at most K(x, x) (Cauchy-Schwarz), and equal to it if x is one of them.
        """
        if self.diagonal is not None and X.shape[1] != self.diagonal.size:
            n = self.diagonal.size
            raise ValueError(f"X must hold kernel values with the {n} training rows, got shape {X.shape}.")
        sums, squares = np.zeros((X.shape[0], self.weights.shape[0])), np.empty(X.shape[0])

        def write_kernel_sums(rows: slice) -> None:
            for part in slices(rows, _KERNEL_ROWS):
                self._write_block(X, part, sums[part], squares[part])

        if callable(self.kernel.name):  # which may not be safe in threads, or may use its own
            write_kernel_sums(slice(0, X.shape[0]))
        else:
            with on_one_thread(), np.errstate(over="ignore", invalid="ignore"):
                for_row_blocks(write_kernel_sums, X.shape[0], threads, multiple=_KERNEL_ROWS)
        if not (np.isfinite(sums).all() and np.isfinite(squares).all()):
            raise ValueError("kernel returns values that are not finite: scale X, or change the parameters of Kernel.")
        return sums, squares

    def _write_block(self, X: Rows, part: slice, sums: FloatArray, squares: FloatArray) -> None:
        """Add kernel values of some rows to ``sums`` (rows, k), and write their own to ``squares`` (rows,)."""
        count = part.stop - part.start
        if self.members is None:
            assert self.diagonal is not None
            values = dense(X[part])
            for weights, block in self._blocks:
                sums += (weights @ values[:, block].T).T
            known = self.diagonal > _NO_NORM * self.diagonal.max()
            squares[:] = (values[:, known] ** 2 / self.diagonal[known]).max(axis=1, initial=0.0)
            return
        if is_sparse(X) or callable(self.kernel.name):
            rows = self.kernel.prepare(X[part])
        else:
            rows = self.kernel.prepare(X[block_rows(part, _KERNEL_ROWS)])
        for weights, block in self._blocks:
            # The members first, since then the block lies in memory as the sparse product reads it.
            sums += (weights @ self.kernel.block(self.members[block], rows)).T[:count]
        squares[:] = self.kernel.diagonal(rows)[:count]


@stored(
    "kernel",
    means=Part("kernel-sums", k="k", d="d"),
    gram=floats("k", "k"),
    axes=floats("k", "r"),
    positions=floats("k", "r"),
    unit=Number(low=POSITIVE),
)
@dataclass(frozen=True)
class KernelEmbedding:
    """The span of the clusters' means in the feature space of a kernel.

    With G the mean kernel values between clusters (``gram``), J the centring matrix and J G J = E Λ Eᵀ, the means are
    at E √Λ and a row with mean kernel values g(x) at Λ^(-1/2) Eᵀ J (g(x) - G 1/k). Since G holds squares, directions in
    which the means differ by less than about 1e-7 of their size are lost, where ``LinearEmbedding`` keeps them to
    1e-15. ``means``, ``gram`` (k, k) and ``axes`` (k, r) = E Λ^(-1/2) number the clusters by their first rows,
    ``positions`` (k, r) as the user does.
    """

    means: KernelSums
    gram: FloatArray
    axes: FloatArray
    positions: FloatArray
    unit: float = 1.0

    @classmethod
    def fit_locate(
        cls, X: Rows, codes: AnyArray, n_clusters: int, kernel: ResolvedKernel, threads: int = 1
    ) -> tuple[KernelEmbedding, Located]:
        """Embed the means of clusters with ``codes`` (n,), and locate the rows of X with the same kernel values.

        Each kernel value is computed once, in blocks: n = 20,000 rows never need n² numbers at a time.
        """
        codes, rank = _number_by_first_row(codes, n_clusters)
        precomputed = kernel.name == "precomputed"
        if precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(f"X must be square for Kernel('precomputed'), got shape {X.shape}.")
        members = np.flatnonzero(codes >= 0)
        cluster, column = codes[members], members if precomputed else np.arange(members.size)
        shares = 1.0 / np.bincount(cluster, minlength=n_clusters)[cluster]
        weights = sp.csr_array(
            (shares, (cluster, column)), shape=(n_clusters, X.shape[0] if precomputed else members.size)
        )
        if precomputed:
            means = KernelSums(kernel, weights, None, np.array(X.diagonal(), dtype=np.float64))
        else:
            means = KernelSums(kernel, weights, kernel.prepare(X[members]))
        g, squares = means.sums(X, threads)
        gram: FloatArray = dense(weights @ (g if precomputed else g[members]))
        # Products of d terms, sums of k: the scale of their rounding. A kernel of single precision says so.
        eps = float(np.finfo(X.dtype).eps) if precomputed and X.dtype.kind == "f" else np.finfo(float).eps
        values, vectors = _axes(gram, 8 * eps * max(n_clusters, X.shape[1], 16))
        embedding = cls(means, gram, vectors / np.sqrt(values), (vectors * np.sqrt(values))[rank])
        return embedding, embedding._locate(g, squares)

    def locate(self, X: Rows, threads: int = 1) -> Located:
        """Map rows of X (n, d), or of kernel values (n, n_train) for "precomputed", to the span of the sites.

        A row's result does not depend on the others, see :class:`KernelSums`. For "precomputed", ``residual`` is
        exact for training rows and a lower bound for others.
        """
        return self._locate(*self.means.sums(X, threads))

    def _locate(self, g: FloatArray, norms: FloatArray) -> Located:
        """Locate rows in feature space from their kernel sums (n, k) with the clusters and squared norms (n,)."""
        center = self.gram.mean(axis=1)
        away = g - center
        # Axis by axis, since a matrix product would not round every row alike.
        position = np.empty((g.shape[0], self.axes.shape[1]))
        for c in range(position.shape[1]):
            position[:, c] = row_dots(away, self.axes[:, c])
        squares = row_dots(position, position)
        residual = norms - 2.0 * row_sums(g) / center.size + center.mean() - squares
        far = np.sqrt(squares) / (
            MAX_RADIUS * max(float(np.abs(self.positions).max(initial=0.0)), np.finfo(float).tiny)
        )
        position /= np.maximum(far, 1.0)[:, None]
        return Located(position, Lazy.known(np.sqrt(np.maximum(residual, 0.0))))


def _number_by_first_row(codes: AnyArray, n_clusters: int) -> tuple[AnyArray, AnyArray]:
    """Renumber clusters by their first rows, so that their order does not matter to the bits of a kernel embedding.

    Return the new codes (n,), and the number (k,) that each cluster gets.
    """
    present, first = np.unique(codes, return_index=True)
    present, first = present[present >= 0], first[present >= 0]
    rank = np.arange(n_clusters)
    rank[present[np.argsort(first)]] = np.arange(present.size)
    return np.where(codes >= 0, rank[codes], -1), rank


def _axes(gram: FloatArray, rounding: float) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues (r,) and vectors (k, r) of the centered ``gram`` (k, k) above rounding, largest first."""
    size = float(np.abs(gram).max())
    if np.abs(gram - gram.T).max() > _INDEFINITE * size:
        raise ValueError("kernel must be symmetric: its mean values between clusters are not.")
    centered = (gram + gram.T) / 2.0
    centered = centered - centered.mean(axis=0)
    centered -= centered.mean(axis=1)[:, None]
    values, vectors = np.linalg.eigh(centered)
    values, vectors = values[::-1], vectors[:, ::-1]
    if values[-1] < -_INDEFINITE * size:
        raise ValueError("kernel must be positive semidefinite: some distance between clusters has a negative square.")
    rank = int(np.count_nonzero(values > rounding * (values[0] + size)))
    values, vectors = values[:rank], vectors[:, :rank] - vectors[:, :rank].mean(axis=0)
    # The sign by the largest entry; of two alike, by the cluster whose own values are smaller, then by the first row.
    scale = size if size > 0 else 1.0
    key = np.lexsort([np.round(total / scale, 9) for total in (gram.sum(axis=1), np.diagonal(gram))])
    magnitude = np.abs(vectors[key])
    leading = key[(magnitude >= (1.0 - 1e-6) * magnitude.max(axis=0, initial=0.0)).argmax(axis=0)]
    return values, vectors * np.sign(vectors[leading, np.arange(rank)])


def _feature_means(X: Rows, codes: AnyArray, n_clusters: int, transformer: Any) -> FloatArray:
    """Return the means (k, m) of kernel features of X (n, d) over clusters with ``codes`` (n,), -1 for none."""
    sums: Any = 0.0
    for part in slices(X.shape[0], BLOCK_ROWS):
        member = codes[part] == np.arange(n_clusters)[:, None]
        sums = sums + member.astype(np.float64) @ block_features(transformer, X, part)[: member.shape[1]]
    means: FloatArray = sums / np.bincount(codes[codes >= 0], minlength=n_clusters)[:, None]
    return means


for _name in KERNELS:
    INFLUENCES[_name] = partial(Kernel, _name)
