"""The paper's largest job: 10,000 x 784, k = 10, centres given, eps = 0.03, through the public ``affinity``.

Our time is the whole call, checks and reduction included, on all cores. Peers:

- ``sklearn.metrics.silhouette_samples``, the usual score per point, on the same array and the labels of the same
  clustering, with all cores for its matrix products; once in float64 and once in float32, where it is faster.
- One hit-and-run chain per point from ``hopsy`` (its fastest walk, along coordinates) at the same number of effective
  samples, measured on some points and scaled to all. Each chain runs in the same reduced coordinates and box as ours,
  starts at the point itself, which saves the search for a start, and after 1,000 steps of burn-in keeps every ninth
  step: handing a step to Python costs ten times the step, so keeping all would be slower for the same precision.
  hopsy uses one process: its own parallel switch is slower on many small chains (see the project's notes on peers).
- The paper's time, a constant measured by its authors on their machine.

Effective samples are p (1 - p) / SE², pooled over the clusters: sum of p (1 - p) over sum of SE². For us SE is the
``standard_error`` of the result. For a chain it comes from the means of 32 batches of the indicators of the owner,
over a pilot run; the timed run then keeps as many samples as reach our number for the same point.
"""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from _mnist import Job, K, mnist_job
from _report import Row, absent_row, faster_row
from _side_by_side import side_by_side
from allegiance import AffinityResult, affinity

EPS = 0.03
#: "Power to the Points: Validating Data Memberships in Clusterings", table of running times, row "MNIST test data":
#: sampling alone, 1,000 samples, for all points by the text (its caption says for one). Measured by the authors.
PAPER_SECONDS = 0.58
_BURN_IN = 1000
_BATCHES = 32

Floats = npt.NDArray[np.float64]


def run(quick: bool) -> list[Row]:
    """Time the job and its peers."""
    job = mnist_job()
    turns = 2 if quick else 7
    what = f"MNIST job on {job.source}"
    rows = _against_silhouette(job, turns, what)
    rows.append(faster_row(f"{what}, float64", rows[0].ours, "the paper, its machine (constant)", PAPER_SECONDS, 1.0))
    rows.append(_against_hopsy(job, turns, what, n_points=10 if quick else 100))
    return rows


def _score(X: npt.NDArray[Any], job: Job) -> AffinityResult:
    return affinity(X, centers=job.centers, eps=EPS, random_state=0)


def _against_silhouette(job: Job, turns: int, what: str) -> list[Row]:
    from sklearn.metrics import silhouette_samples

    rows = []
    for dtype in (np.float64, np.float32):
        X = job.X.astype(dtype)
        tasks = {
            "ours": lambda X=X: _score(X, job),
            "silhouette": lambda X=X: silhouette_samples(X, job.labels),
        }
        times = side_by_side(tasks, turns)
        ours, theirs = times["ours"].best, times["silhouette"].best
        seconds = {name: value.seconds for name, value in times.items()}
        rows.append(
            faster_row(f"{what}, {np.dtype(dtype)}", ours, "sklearn silhouette_samples", theirs, 25.0, seconds=seconds)
        )
    return rows


def _against_hopsy(job: Job, turns: int, what: str, n_points: int) -> Row:
    label = f"{what}, same effective samples"
    result = _score(job.X, job)
    hopsy = _import_hopsy()
    if hopsy is None:
        return absent_row(label, side_by_side({"ours": lambda: _score(job.X, job)}, turns)["ours"].best, "hopsy")
    points = np.random.default_rng(1).choice(job.X.shape[0], n_points, replace=False)
    wanted = _effective_samples(result.affinity, result.standard_error)[points]
    chains = _Chains(hopsy, job, points)
    worth = chains.pilot(result.affinity[points])
    kept = np.ceil(wanted / worth).astype(int)
    times = side_by_side({"ours": lambda: _score(job.X, job), "hopsy": lambda: chains.run(kept)}, turns)
    scaled = times["hopsy"].best * job.X.shape[0] / n_points
    return faster_row(
        label,
        times["ours"].best,
        f"hopsy, {n_points} points scaled",
        scaled,
        100.0,
        median_effective_samples=float(np.median(wanted)),
        median_kept=float(np.median(kept)),
        effective_per_kept=float(np.median(worth)),
    )


def _import_hopsy() -> ModuleType | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a dependency announces its next version
            import hopsy
    except ImportError:
        return None
    return hopsy


def _effective_samples(share: Floats, error: Floats) -> Floats:
    """Return how many independent samples (n,) would be as precise as shares (n, k) with these errors."""
    return (share * (1.0 - share)).sum(axis=1) / (error * error).sum(axis=1)


class _Chains:
    """One hit-and-run chain per point, in the reduced coordinates and the box of the library's definition."""

    def __init__(self, hopsy: ModuleType, job: Job, points: npt.NDArray[np.intp]) -> None:
        self._hopsy = hopsy
        origin = job.centers.mean(axis=0)
        basis = np.linalg.svd(job.centers - origin, full_matrices=False)[2][: K - 1].T
        everything = (np.vstack([job.X, job.centers]) - origin) @ basis
        lower, upper = everything.min(axis=0), everything.max(axis=0)
        scale = (upper - lower) * 0.6  # half the extent, and the margin of 0.1 on each side
        unit = (everything - (lower + upper) / 2.0) / scale
        self._points = unit[points]
        self._sites = unit[-K:]
        self._metric = scale * scale
        self.dim = K - 1

    def polytope(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the half-spaces of the cell of x against each site: slopes (k, r) and offsets (k,)."""
        slopes = 2.0 * (self._sites - x) * self._metric
        return slopes, ((self._sites**2 - x**2) * self._metric).sum(axis=1)

    def owners(self, index: int, kept: int) -> npt.NDArray[np.intp]:
        """Walk in the cell of one point and return the site (kept,) that owns each kept position."""
        x = self._points[index]
        slopes, offsets = self.polytope(x)
        cube = np.eye(self.dim)
        A, b = np.vstack([slopes, cube, -cube]), np.concatenate([offsets, np.ones(2 * self.dim)])
        problem = self._hopsy.Problem(A, b, starting_point=x)
        chain = self._hopsy.MarkovChain(problem, self._hopsy.UniformCoordinateHitAndRunProposal)
        random = self._hopsy.RandomNumberGenerator(seed=index)
        self._hopsy.sample(chain, random, 1, thinning=_BURN_IN)
        positions = self._hopsy.sample(chain, random, kept, thinning=self.dim)[1][0]
        return (offsets[:, None] - slopes @ positions.T).argmin(axis=0)

    def run(self, kept: npt.NDArray[np.int_]) -> None:
        """Walk for every point."""
        for index, number in enumerate(kept):
            np.bincount(self.owners(index, int(number)), minlength=K)

    def pilot(self, expected: Floats, length: int = 8192) -> Floats:
        """Return effective samples per kept position (n,), after a check that the chains agree with our shares."""
        worth = np.empty(len(self._points))
        found = np.empty((len(self._points), K))
        for index in range(len(self._points)):
            batches = np.eye(K)[self.owners(index, length)].reshape(_BATCHES, -1, K).mean(axis=1)
            found[index] = batches.mean(axis=0)
            error = batches.std(axis=0, ddof=1, keepdims=True) / np.sqrt(_BATCHES)
            worth[index] = _effective_samples(found[index : index + 1], error)[0] / length
        apart = np.abs(found - expected).max()
        if apart > 3.0 * EPS:
            raise AssertionError(f"hopsy and allegiance differ by {apart:.3f}: they do not measure the same cells")
        return worth
