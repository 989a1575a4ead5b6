"""Random calls of the public functions, with some invalid arguments."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import allegiance
from allegiance import AffinityScorer, Calibration, PrecisionWarning, load
from allegiance.domains import Ball, Box, Polytope
from allegiance.engines import Auto, ClosedForm, Exact, HitAndRun, SharedSamples
from allegiance.geometry import sample_polytope
from allegiance.influence import KL, ItakuraSaito, Kernel, Logistic, Mahalanobis, Weights, Within

from ._common import CONTEXT, Attack, Tally

#: Calls per task, and the number of processes (ATTACK_PROCESSES).
_PIECE = 250
_PROCESSES = int(os.environ.get("ATTACK_PROCESSES", len(os.sched_getaffinity(0))))
#: Errors that are documented, and warnings that may come with a result.
ERRORS = (ValueError, TypeError)
WARNINGS = (PrecisionWarning, ConvergenceWarning, UserWarning)


def make(attempts: int, rng: np.random.Generator, folder: Path) -> Tally:
    """Call functions at random; only documented errors that name an argument, and only sane results."""
    seeds = rng.integers(2**63, size=attempts).tolist()
    pieces = [seeds[start : start + _PIECE] for start in range(0, attempts, _PIECE)]
    tally = Tally()
    with ProcessPoolExecutor(min(_PROCESSES, len(pieces)), CONTEXT) as pool:
        for part in pool.map(_call_all, pieces, [folder] * len(pieces)):
            tally.held += part.held
            tally.broken += part.broken
    return tally


def _call_all(seeds: list[int], folder: Path) -> Tally:
    """Make one call per seed."""
    tally = Tally()
    for seed in seeds:
        call, words = _CALLS[int(np.random.default_rng(seed).integers(len(_CALLS)))]
        what = _outcome(call, words, Draw(np.random.default_rng([seed, 1])), folder)
        if what.startswith("broken"):
            tally.broken.append(f"seed {seed}, {call.__name__}: {what}")
        else:
            tally.held[what] += 1
    return tally


def _outcome(call: Callable[[Draw, Path], None], words: tuple[str, ...], draw: Draw, folder: Path) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            for kind in WARNINGS:
                warnings.simplefilter("ignore", kind)
            call(draw, folder)
    except ERRORS as error:
        return "refused" if _names_one_of(words + draw.named, str(error)) else f"broken: names nothing: {error!r}"
    except AssertionError as error:
        return f"broken: {error}"
    except Exception as error:
        return f"broken: {type(error).__name__}: {error}"
    return "sane result"


def _names_one_of(words: tuple[str, ...], message: str) -> bool:
    return any(re.search(rf"\b{re.escape(word)}\b", message) for word in words)


def assert_sane(result: Any) -> None:
    """Check the properties that every result must have."""
    shares = np.asarray(result.affinity)
    assert np.isfinite(shares).all(), "affinity is not finite"
    assert (shares >= 0).all(), "affinity is negative"
    assert np.abs(shares.sum(axis=1) - 1.0).max(initial=0.0) < 1e-9, "rows do not sum to 1"
    details = result.frame(details=True)
    for name in ("standard_error", "residual", "closeness", "own_affinity"):
        values = np.asarray(details[name] if name in details else getattr(result, name))
        assert np.isfinite(values).all(), f"{name} is not finite"
        assert (values >= 0).all(), f"{name} is negative"
    assert np.isin(details["owner"], result.classes).all(), "the owner is not a cluster"
    if "trust" in result.frame():
        labeled = ~np.isnan(result.trust)
        assert ((result.trust[labeled] >= 0) & (result.trust[labeled] <= 1)).all(), "trust is not a probability"
        assert np.isnan(result.trust[~labeled]).all(), "noise is trusted"


def _affinity(draw: Draw, folder: Path) -> None:
    X, labels = draw.clustering()
    assert_sane(allegiance.affinity(X, labels, **draw.settings()))


def _top(draw: Draw, folder: Path) -> None:
    X, labels = draw.clustering()
    result = allegiance.affinity(X, labels, top=draw.pick([1, 2], [0, -1, 10**6, 2.0, "1"]), **draw.settings())
    assert (np.diff(result.affinity, axis=1) <= 0).all(), "the largest do not come first"
    assert np.isfinite(result.affinity).all(), "affinity is not finite"


def _trust(draw: Draw, folder: Path) -> None:
    X, labels = draw.clustering()
    settings = draw.settings() | {
        "n_resamples": draw.pick([2, 3], [0, 1, -1, 2.5, 10**30, "2"]),
    }
    settings.pop("calibration", None)
    result = allegiance.trust(X, labels, **settings)
    assert_sane(result)
    low, high = result.replication_interval
    assert np.isnan(low) or 0 <= low <= high <= 1, "the interval is not within 0 to 1"
    str(result), result.by_cluster(), result.review(2)


def _new_points(draw: Draw, folder: Path) -> None:
    X, labels = draw.clustering()
    scorer = AffinityScorer(**draw.settings()).fit(X, labels)
    new = draw.rows_like(X)
    assert_sane(scorer.affinity(new))
    assert np.isin(scorer.predict(new), scorer.classes_).all(), "an unknown label"


def _saved(draw: Draw, folder: Path) -> None:
    X, labels = draw.clustering()
    scorer = AffinityScorer(**draw.settings()).fit(X, labels)
    path = folder / f"{os.getpid()}.scorer"
    scorer.save(path)
    before, after = scorer.affinity(X), load(path).affinity(X)
    assert np.array_equal(before.affinity, after.affinity), "a saved scorer gives other bits"


def _order(draw: Draw, folder: Path) -> None:
    X, labels = draw.clustering()
    settings = draw.settings()
    scorer = AffinityScorer(**settings).fit(X, labels)
    turned = scorer.affinity(X[::-1] if not hasattr(X, "iloc") else X.iloc[::-1]).affinity[::-1]
    assert np.array_equal(scorer.affinity(X).affinity, turned), "the order of the points matters"


def _compare(draw: Draw, folder: Path) -> None:
    X, labels = draw.clustering()
    calibration = draw.pick([2, 3], [0, -3, "2", None])
    scorer = AffinityScorer(influence="within", calibration=calibration, eps=0.2, n_jobs=1)
    compared = allegiance.compare_clusterings(X, {"one": labels, "other": draw.labels_like(labels)}, scorer=scorer)
    str(compared)


def _polytope(draw: Draw, folder: Path) -> None:
    d = int(draw.rng.integers(1, 5))
    A = draw.pick([np.vstack([np.eye(d), -np.eye(d)])], [np.eye(d), np.zeros((2, d)), [[np.nan] * d], np.ones(d), "A"])
    b = draw.pick([np.ones(2 * d)], [np.ones(3), -np.ones(2 * d), [np.inf] * 2 * d, None])
    n = draw.pick([5, 0], [-1, 2.5, 10**30, "5"])
    points = sample_polytope(A, b, n, random_state=draw.pick([0, None], [-1, "seed", 1.5]))
    assert (points @ np.asarray(A).T <= np.asarray(b) + 1e-9).all(), "a sample lies outside"


#: Names that an error may mention: parameters and classes of arguments.
_COMMON = (
    "X", "labels", "centers", "influence", "weights", "representative", "domain", "engine", "eps", "calibration",
    "n_jobs", "random_state", "n_resamples", "size_prior", "top", "clusterer", "Polytope", "Box", "Kernel", "kernel",
    "Mahalanobis", "covariance", "Weights", "divergence", "smoothing", "max_samples", "Calibration", "AffinityScorer",
)  # fmt: skip
#: A call is drawn in proportion to the number of times it is listed.
_CALLS: list[tuple[Callable[[Draw, Path], None], tuple[str, ...]]] = [
    *[(_affinity, _COMMON)] * 6,
    *[(_new_points, _COMMON)] * 3,
    (_top, _COMMON),
    (_trust, _COMMON),
    (_saved, _COMMON),
    (_order, _COMMON),
    (_compare, (*_COMMON, "clusterings", "scorer")),
    (_polytope, ("A", "b", "n", "random_state", "n_samples")),
]


#: Probability that an argument is invalid, and that a setting differs from its default.
_BAD, _SET = 0.06, 0.35
_SCALES = (1.0, 1.0, 1.0, 1e-3, 1e6, 1e-60, 1e60, 1e-200, 1e200)
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
        #: Further names that an error may mention: columns of the data.
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
        """Return other labels for the same number of rows, if it is known."""
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
                ["euclidean", "within", "kl", "itakura-saito", "logistic", "rbf", "cosine", "laplacian",
                 KL(smoothing=0.5), ItakuraSaito(smoothing=1.0), Logistic(), Within(), Kernel("polynomial"),
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
            "calibration": (
                [None, 2, Calibration(2, size_prior=0.0)],
                [0, -1, 2.5, "yes", huge, Calibration(2, size_prior=-1.0), Calibration(2, size_prior=np.nan)],
            ),
            "n_jobs": ([1, 2, None], [0, 1.5, "all"]),
            "random_state": ([0, 1, None, np.random.default_rng(0), np.random.RandomState(0)], [-1, "seed", 1.5, [1]]),
            "centers": ([None], [np.zeros((2, 2)), [[np.nan]], [], "centers", np.full((3, 2), 1e308), object()]),
        }  # fmt: skip


ATTACKS = {
    "random_calls": Attack(
        "random calls",
        "Rows sum to 1 and nothing is NaN, or a ValueError or TypeError names an argument.",
        full=20_000,
        short=250,
        make=make,
    ),
}
