"""Affinities by one hit-and-run chain of hopsy for each point: the paper's recipe with the fastest public sampler.

Each chain walks along coordinates (hopsy's fastest walk) inside the cell of its point, in the reduced coordinates and
the box of the library's definition, from the point itself: 1,000 steps of burn-in and 1,000 kept. hopsy uses one
process: its own parallel switch is slower on many small chains.
"""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

from ._scenes import Job

Floats = npt.NDArray[np.float64]
_BURN_IN = _KEPT = 1000
_MARGIN = 0.1


def score_with_chains(job: Job) -> Floats:
    """Return the affinities (n, k)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a dependency announces its next version
        import hopsy

    points, sites, metric = reduced(job)
    k, r = sites.shape
    walls = np.vstack([np.eye(r), -np.eye(r)])
    random = hopsy.RandomNumberGenerator(seed=0)
    shares = np.empty((len(points), k))
    for index, x in enumerate(points):
        slopes = 2.0 * (sites - x) * metric
        offsets = ((sites**2 - x**2) * metric).sum(axis=1)
        A, b = np.vstack([slopes, walls]), np.concatenate([offsets, np.ones(2 * r)])
        chain = hopsy.MarkovChain(hopsy.Problem(A, b, starting_point=x), hopsy.UniformCoordinateHitAndRunProposal)
        hopsy.sample(chain, random, 1, thinning=_BURN_IN)
        kept = hopsy.sample(chain, random, _KEPT)[1][0]
        owners = (offsets[:, None] - slopes @ kept.T).argmin(axis=0)
        shares[index] = np.bincount(owners, minlength=k) / _KEPT
    return shares


def reduced(job: Job) -> tuple[Floats, Floats, Floats]:
    """Return points (n, r) and sites (k, r) in the span of the sites, the box being [-1, 1]^r, and the metric (r,)."""
    k, d = job.centers.shape
    origin = job.centers.mean(axis=0)
    basis = np.linalg.svd(job.centers - origin, full_matrices=False)[2][: k - 1].T if k <= d else np.eye(d)
    points, sites = (job.X - origin) @ basis, (job.centers - origin) @ basis
    lower = np.minimum(points.min(axis=0), sites.min(axis=0))
    upper = np.maximum(points.max(axis=0), sites.max(axis=0))
    half = (upper - lower) * (0.5 + _MARGIN)
    middle = (lower + upper) / 2.0
    return (points - middle) / half, (sites - middle) / half, half * half
