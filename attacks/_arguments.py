"""Arguments drawn at random: mostly what users pass, sometimes what breaks careless code."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

from allegiance import (
    KL,
    Ball,
    Box,
    ClosedForm,
    Exact,
    HitAndRun,
    ItakuraSaito,
    Kernel,
    Logistic,
    Mahalanobis,
    Polytope,
    SharedSamples,
    Weights,
    Within,
)
from allegiance.engines import Auto

#: How often an argument is bad, and how often a setting is not left at its default.
_BAD, _SET = 0.06, 0.35
_SCALES = (1.0, 1.0, 1.0, 1e-3, 1e6, 1e-200, 1e200)
#: Few enough samples that a call takes milliseconds.
_SAMPLES = 4_000


class Draw:
    """A stream of arguments.

    Parameters
    ----------
    rng
        Where the choices come from.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        #: What an error may name besides the parameters: columns of the data.
        self.named: tuple[str, ...] = ()

    def pick(self, good: list[Any], bad: list[Any]) -> Any:
        """Return one of the good values, rarely one of the bad."""
        values = bad if self.rng.random() < _BAD else good
        return values[int(self.rng.integers(len(values)))]

    def clustering(self) -> tuple[Any, Any]:
        """Return rows and their labels."""
        n, d, k = int(self.rng.integers(2, 24)), int(self.rng.integers(1, 6)), int(self.rng.integers(1, 6))
        X = self._rows(n, d)
        labels = np.append(np.arange(min(k, n)), self.rng.integers(0, k, max(n - k, 0)))[:n]
        if self.rng.random() < 0.2:
            labels = np.where(self.rng.random(n) < 0.2, -1, labels)
        return self._container(X), self._labels(labels)

    def _rows(self, n: int, d: int) -> Any:
        X = self.rng.normal(size=(n, d)) * _SCALES[int(self.rng.integers(len(_SCALES)))]
        shape = self.rng.random()
        if shape < 0.1:
            X = np.abs(X)
        elif shape < 0.15:
            X = np.round(X)
        elif shape < 0.2:
            X[:, self.rng.integers(d)] = 3.0
        elif shape < 0.23:
            X[:] = X[0]
        elif shape < 0.26:
            X += 1e8
        elif shape < 0.29:
            X[self.rng.integers(n)] = 1e150
        return X

    def _container(self, X: Any) -> Any:
        good = [X, X, X, X.astype(np.float32) if np.abs(X).max() < 1e30 else X, X.tolist(), np.asfortranarray(X)]
        good += [pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])]), sp.csr_array(X), pl.DataFrame(X)]
        broken = X.copy()
        broken.flat[0] = self.rng.choice([np.nan, np.inf, 1e308])
        bad = [broken, X[:, 0], X[None], X * 1j, X[:0], X[:, :0], "X", None, {"a": [1.0]}, np.ma.masked_less(X, 0.0)]
        bad += [X.astype(str), X.astype(object), np.full(X.shape, "a"), object(), [[1.0], [1.0, 2.0]], sp.coo_array(X)]
        return self.pick(good, bad)

    def _labels(self, codes: Any) -> Any:
        names = np.where(codes < 0, "-1", np.char.add("c", codes.astype(str)))
        good = [codes, codes, codes.tolist(), codes.astype(np.int8), codes.astype(float), codes.astype(object), names]
        good += [pd.Series(names), pd.Categorical(names), pl.Series(codes), names.astype(object), pd.Series(codes)]
        good += [[Decimal(int(code)) for code in codes], pd.Series(codes, dtype="Int64"), names.astype("S")]
        bad = [codes[:-1], codes + 0.5, codes * 1e19, [*codes[1:], None], None, "labels", codes[:, None], codes * 1j]
        bad += [
            np.full(codes.size, -1),
            [*names[1:], 3],
            np.ma.masked_equal(codes, 0),
            {"a": 1},
            float("nan"),
            object(),
        ]
        bad += [pd.Series(["a", None] * codes.size, dtype="string")[: codes.size], [10**30] * codes.size, [[]], 3]
        bad += [[*codes[1:], "a\0"], np.array(["2020-01-01"] * codes.size, dtype="datetime64[D]")]
        return self.pick(good, bad)

    def labels_like(self, labels: Any) -> Any:
        """Return other labels of as many rows, where that can be told."""
        n = len(labels) if hasattr(labels, "__len__") else 3
        return self._labels(np.append([0], self.rng.integers(0, 3, max(n - 1, 0))))

    def rows_like(self, X: Any) -> Any:
        """Return new points with the columns of X, or with others."""
        d = X.shape[1] if hasattr(X, "shape") and len(X.shape) == 2 else len(X[0]) if isinstance(X, list) else 2
        if hasattr(X, "columns"):
            return X.head(2)
        new = self._rows(int(self.rng.integers(1, 8)), d)
        return self.pick([new, new.tolist(), sp.csr_array(new)], [new[:, 1:], new * np.nan, "X", new[:0], None])

    def settings(self) -> dict[str, Any]:
        """Return some settings of a scorer."""
        chosen: dict[str, Any] = {"eps": 0.2, "engine": Auto(max_samples=_SAMPLES), "n_jobs": 1}
        for name, (good, bad) in self._choices().items():
            if self.rng.random() < _SET:
                chosen[name] = self.pick(good, bad)
        return chosen

    def _choices(self) -> dict[str, tuple[list[Any], list[Any]]]:
        huge = 10**30
        return {
            "influence": (
                ["euclidean", "within", "kl", "itakura-saito", "logistic", "rbf", "linear", "cosine", "laplacian",
                 KL(smoothing=0.5), ItakuraSaito(smoothing=1.0), Logistic(), Within("oas"), Kernel("polynomial"),
                 Kernel("rbf", approximation="fourier"), Kernel("rbf", approximation="nystroem"), "mahalanobis"],
                ["psychic", None, 3, Kernel("rbf", gamma=-1.0), Kernel("rbf", gamma=np.inf), KL(smoothing=-1.0),
                 Mahalanobis(np.zeros((2, 2))), Mahalanobis([[np.nan]]), "precomputed", Kernel("nonsense"), KL,
                 Kernel("rbf", gamma=1e300), Kernel("polynomial", degree=400), KL(smoothing=1e300)],
            ),
            "weights": (
                ["size", "density", Weights("size", scale="auto"), Weights("density", scale=0.1), None],
                ["mass", [1.0, np.nan], [1e300, 1.0, -1e300], [1e308] * 3, [], 3, Weights("size", scale=-1.0),
                 Weights("size", query=np.inf), Weights("size", scale=1e300), np.ones((2, 2))],
            ),
            "representative": (["mean", "median", "medoid"], ["mode", None, 3, np.mean]),
            "domain": (
                ["box", "ball", "space", Box(0.5), Ball(), Box(0.0), Box(1e9)],
                ["cube", None, Box(-1.0), Box(1e300), Box(np.nan), Polytope([[1.0]], [1.0]), Polytope("A", "b"),
                 Polytope.box([1e9], [1e9 + 1]), Polytope.box([0.0, 0.0], [1e-9, 1.0]), 3],
            ),
            "engine": (
                [Auto(_SAMPLES), SharedSamples(_SAMPLES), HitAndRun(_SAMPLES), "exact", Exact(), ClosedForm()],
                ["fast", None, Auto(0), Auto(huge), SharedSamples(1), HitAndRun(-1), Exact,
                 HitAndRun(2.5)],  # type: ignore[arg-type]
            ),
            "eps": ([0.1, 0.3], [0.0, -1.0, 1.0, np.nan, "0.1", None, 1e-300]),
            "calibration": ([None, 2], [0, -1, 2.5, "yes", huge]),
            "n_jobs": ([1, 2, None], [0, 1.5, "all"]),
            "random_state": ([0, 1, None, np.random.default_rng(0), np.random.RandomState(0)], [-1, "seed", 1.5, [1]]),
            "centers": ([None], [np.zeros((2, 2)), [[np.nan]], [], "centers", np.full((3, 2), 1e308), object()]),
        }  # fmt: skip
