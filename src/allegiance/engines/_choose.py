"""The choice of an engine: the only place that decides which one measures."""

from __future__ import annotations

import numpy as np

from allegiance._core._rows import row_sums
from allegiance.domains import UnboundedDomain
from allegiance.domains._base import is_polyhedral
from allegiance.geometry import TooManySimplicesError

from ._estimate import CLOSED_FORM, Engine, Estimate, Queries, Settings
from ._exact import MAX_DIM, MAX_SIMPLICES, ExactEngine
from ._hit_and_run import HitAndRunEngine
from ._rejection import RejectionEngine
from ._shared_samples import SharedSamplesEngine
from ._tessellation import Scene
from ._whole_space import UnboundedEngine

METHODS = ("auto", "exact", "shared", "hit-and-run", "rejection", "closed-form")

#: Most sites for which auto measures exactly, by dimension: there the triangulation takes about a second to build and
#: a query costs no more than some tens of microseconds (docs/decisions/0003-engine-choice.md).
_EXACT_SITES = {1: 2000, 2: 500, 3: 200, 4: 40}


def select_engine(scene: Scene, settings: Settings, method: str, *, leave_one_out: bool = False) -> Engine:
    """Return the engine that serves ``method``, or say why none can.

    ``auto`` chooses by dimension r and number of sites alone, never by the number of queries, so that scoring in
    chunks gives the same numbers:

    1. one distinct site: every affinity is known;
    2. the whole space: see :class:`UnboundedEngine`;
    3. leave-one-out: hit-and-run, since every query has cells of its own;
    4. flat walls and few sites in at most four dimensions: exact;
    5. else shared samples, and hit-and-run for the queries that get too few of them.
    """
    if scene.n_sites == 1:
        return _SingleSite()
    unbounded = isinstance(scene.domain, UnboundedDomain)
    if leave_one_out:
        main = _leave_one_out_engine(scene, settings, method, unbounded)
    elif unbounded:
        main = UnboundedEngine(scene, settings, method)
    else:
        main = _bounded_engine(scene, settings, method)
    return _Cascade(scene, settings, main, fall_back=not unbounded)


def _leave_one_out_engine(scene: Scene, settings: Settings, method: str, unbounded: bool) -> Engine:
    if unbounded:
        raise ValueError(
            "leave_one_out=True needs a bounded domain: without a point its cluster's site moves, and with it the hull "
            "that domain=None depends on. Use domain='box' or 'ball'."
        )
    if method in ("auto", "hit-and-run"):
        return HitAndRunEngine(scene, settings)
    if method == "rejection":
        return RejectionEngine(scene, settings)
    raise ValueError(
        f"method={method!r} measures all points in the same cells, but leave_one_out=True moves a site for each "
        "point. Use method='auto', 'hit-and-run' or 'rejection'."
    )


def _bounded_engine(scene: Scene, settings: Settings, method: str) -> Engine:
    if method == "closed-form":
        raise ValueError(
            "method='closed-form' holds for cells that no wall cuts: use domain=None with it, or method='auto'."
        )
    if method == "exact":
        return _exact_or_error(scene, settings)
    if method == "hit-and-run":
        return HitAndRunEngine(scene, settings)
    if method == "rejection":
        return RejectionEngine(scene, settings)
    if method == "auto" and is_polyhedral(scene.domain) and scene.n_sites <= _EXACT_SITES.get(scene.dim, 0):
        try:
            return ExactEngine(scene, settings)
        except (TooManySimplicesError, ArithmeticError):
            pass
    return SharedSamplesEngine(scene, settings)


def _exact_or_error(scene: Scene, settings: Settings) -> Engine:
    if not is_polyhedral(scene.domain):
        raise ValueError(
            f"method='exact' needs a domain with flat walls, not domain={scene.domain.name!r}: use 'box', a Polytope "
            "or None, or method='shared'."
        )
    try:
        return ExactEngine(scene, settings)
    except TooManySimplicesError as error:
        raise ValueError(
            f"method='exact' is limited to {MAX_SIMPLICES:,} simplices and {MAX_DIM} dimensions: {error}. Use "
            "method='auto' or 'shared'."
        ) from error
    except ArithmeticError as error:
        raise ValueError(f"method='exact' failed on these sites: {error}. Use method='auto'.") from error


class _SingleSite:
    """One distinct site owns everything."""

    block = 65_536

    def estimate(self, queries: Queries) -> Estimate:
        estimate = Estimate.blank(queries.n, 1, CLOSED_FORM)
        estimate.affinity[:] = 1.0
        return estimate


class _Cascade:
    """What needs no measuring first, then the main engine, then a walk for the cells that it could not measure."""

    def __init__(self, scene: Scene, settings: Settings, main: Engine, *, fall_back: bool) -> None:
        self._scene = scene
        self._main = main
        self.block = main.block
        self._walk = HitAndRunEngine(scene, settings) if fall_back else None

    def estimate(self, queries: Queries) -> Estimate:
        """Estimate the affinities of all queries."""
        rows, sites = self._scene.coincident(queries)
        if not rows.size:
            return self._measure(queries)
        estimate = Estimate.blank(queries.n, self._scene.n_sites, CLOSED_FORM)
        estimate.affinity[rows, sites] = 1.0
        known = np.unique(rows)
        estimate.affinity[known] /= row_sums(estimate.affinity[known])[:, None]
        others = np.setdiff1d(np.arange(queries.n), known, assume_unique=True)
        if others.size:
            estimate.put(others, self._measure(queries.take(others)))
        return estimate

    def _measure(self, queries: Queries) -> Estimate:
        estimate = self._main.estimate(queries)
        if self._walk is not None:
            estimate.fill(queries, self._walk)
        return estimate
