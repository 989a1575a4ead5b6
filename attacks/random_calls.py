"""Random calls of the public functions, with arguments of which some are bad."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import allegiance
from allegiance import AffinityScorer, PrecisionWarning

from ._arguments import Draw
from ._attack import Attack, Tally
from ._streams import CONTEXT

#: Calls that one process makes at a time, and processes; ATTACK_PROCESSES says how many.
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
    """Make the calls that some seeds stand for."""
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
    """Check what must hold of every result, whatever was asked."""
    shares = np.asarray(result.affinity)
    assert np.isfinite(shares).all(), "affinity is not finite"
    assert (shares >= 0).all(), "affinity is negative"
    assert np.abs(shares.sum(axis=1) - 1.0).max(initial=0.0) < 1e-9, "rows do not sum to 1"
    for name in ("standard_error", "residual", "closeness", "own_affinity"):
        values = getattr(result, name)
        assert np.isfinite(values).all(), f"{name} is not finite"
        assert (values >= 0).all(), f"{name} is negative"
    assert np.isin(result.owner, result.classes).all(), "the owner is not a cluster"
    if result.calibrated:
        labelled = ~result.noise
        assert ((result.trust[labelled] >= 0) & (result.trust[labelled] <= 1)).all(), "trust is not a chance"
        assert np.isnan(result.trust[~labelled]).all(), "noise is trusted"


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
        "crowding": draw.pick([0.25, 0.0, 1.0], [-1.0, np.nan, np.inf, "no"]),
    }
    settings.pop("calibration", None)
    result = allegiance.trust(X, labels, **settings)
    assert_sane(result)
    low, high = result.replication_interval
    assert np.isnan(low) or 0 <= low <= high <= 1, "the interval is not one of chances"
    str(result), result.by_cluster(), result.review(2)


def _new_points(draw: Draw, folder: Path) -> None:
    X, labels = draw.clustering()
    scorer = AffinityScorer(**draw.settings()).fit(X, labels)
    new = draw.rows_like(X)
    assert_sane(scorer.affinity(new))
    assert np.isin(scorer.predict(new), scorer.classes_).all(), "a label that is none"


def _saved(draw: Draw, folder: Path) -> None:
    X, labels = draw.clustering()
    scorer = AffinityScorer(**draw.settings()).fit(X, labels)
    path = folder / f"{os.getpid()}.scorer"
    scorer.save(path)
    before, after = scorer.affinity(X), AffinityScorer.load(path).affinity(X)
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
    points = allegiance.sample_polytope(A, b, n, random_state=draw.pick([0, None], [-1, "seed", 1.5]))
    assert (points @ np.asarray(A).T <= np.asarray(b) + 1e-9).all(), "a sample lies outside"


#: What an error may name: parameters, and objects that are passed as such.
_COMMON = (
    "X", "labels", "centers", "influence", "weights", "representative", "domain", "engine", "eps", "calibration",
    "n_jobs", "random_state", "n_resamples", "crowding", "top", "clusterer", "Polytope", "Box", "Kernel", "kernel",
    "Mahalanobis", "covariance", "Weights", "divergence", "smoothing", "max_samples", "Calibration", "AffinityScorer",
)  # fmt: skip
#: Each call is as likely as it is often listed.
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

ATTACK = Attack(
    "random calls",
    "Rows sum to 1 and nothing is NaN, or a ValueError or TypeError names an argument.",
    full=20_000,
    short=250,
    make=make,
)
