"""Jobs that are measured with shared samples, beside scores that need none and beside testing all samples.

Ours is the whole public call on all cores, checks and building included, at the default ``eps`` of 0.03. Gaussian
blobs, centres twice as far apart as points from their centre; seed 15, which nothing was chosen on. Peers:

- ``sklearn.metrics.silhouette_samples`` on the same array and labels.
- The posterior of a Gaussian mixture that is fitted already: what a model gives that knows the blobs' shape.
- Plain counting, which tests every sample for every point: the same job on one thread, processor time, building
  included. More than 1 means that choosing samples pays.
- ``trust`` on 384-dimensional unit vectors, as embeddings of documents are, k = 100.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics import silhouette_samples
from sklearn.mixture import GaussianMixture

from _report import Row, faster_row, limit_row
from _side_by_side import side_by_side
from allegiance import affinity, trust
from allegiance.engines import _shared_samples

Floats = npt.NDArray[np.float64]


class Blobs(NamedTuple):
    """Points of k clusters."""

    X: Floats
    labels: npt.NDArray[np.intp]

    @classmethod
    def draw(cls, n: int, d: int, k: int) -> Blobs:
        """Draw n points in d dimensions."""
        rng = np.random.default_rng(15)
        labels = rng.integers(k, size=n)
        return cls(2.0 * rng.standard_normal((k, d))[labels] + rng.standard_normal((n, d)), labels)

    def score(self, eps: float | str = 0.03, n_jobs: int | None = None) -> object:
        """Score all points."""
        return affinity(self.X, self.labels, eps=eps, random_state=0, n_jobs=n_jobs)


def run(quick: bool) -> list[Row]:
    """Measure all jobs."""
    less, turns = (10, 1) if quick else (1, 5)
    return [
        *_against_silhouette(1000, 50, 10, 1.0, 4 * turns),
        *_against_silhouette(10_000 // less, 50, 50, 4.0, turns),
        _each_point(3000 // less, 50, 100, turns),
        *(_on_one_thread(n // less, d, k, turns) for n, d, k in ((20_000, 16, 20), (10_000, 50, 50), (3000, 50, 100))),
        _embeddings(7000 // less),
    ]


def _against_silhouette(n: int, d: int, k: int, at_least: float, turns: int) -> list[Row]:
    blobs = Blobs.draw(n, d, k)
    mixture = GaussianMixture(k, covariance_type="diag", max_iter=3, random_state=0).fit(blobs.X)
    tasks = {
        "ours": blobs.score,
        "silhouette": lambda: silhouette_samples(blobs.X, blobs.labels),
        "mixture": lambda: mixture.predict_proba(blobs.X),
    }
    best = {name: times.best for name, times in side_by_side(tasks, turns).items()}
    what = f"affinity, {n:,} x {d}, k = {k}"
    return [
        faster_row(what, best["ours"], "sklearn silhouette_samples", best["silhouette"], at_least),
        faster_row(what, best["ours"], "posterior of a fitted mixture", best["mixture"]),
    ]


def _each_point(n: int, d: int, k: int, turns: int) -> Row:
    best = side_by_side({"ours": Blobs.draw(n, d, k).score}, turns)["ours"].best
    return limit_row(f"affinity, {n:,} x {d}, k = {k}: each point", best / n, "s", 1e-3)


def _on_one_thread(n: int, d: int, k: int, turns: int) -> Row:
    blobs = Blobs.draw(n, d, k)
    tasks = {"chosen": lambda: blobs.score(n_jobs=1), "all": _all_tested(lambda: blobs.score(n_jobs=1))}
    best = side_by_side(tasks, turns, clock=time.process_time)
    what = f"affinity, {n:,} x {d}, k = {k}, one thread"
    return faster_row(what, best["chosen"].best, "all samples tested", best["all"].best)


def _all_tested(task: Callable[[], object]) -> Callable[[], object]:
    """Return a task that is done by plain counting, whatever the number of sites."""

    def changed() -> object:
        many = _shared_samples.MANY_SITES
        _shared_samples.MANY_SITES = 0
        try:
            return task()
        finally:
            _shared_samples.MANY_SITES = many

    return changed


def _embeddings(n: int) -> Row:
    blobs = Blobs.draw(n, 384, 100)
    X = blobs.X / np.linalg.norm(blobs.X, axis=1, keepdims=True)
    started = time.perf_counter()
    trust(X, blobs.labels, random_state=0)
    return limit_row(f"trust, {n:,} x 384, k = 100", time.perf_counter() - started, "s", 20.0)
