"""The choice of an engine, and the cascade that measures every row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from allegiance._core.arithmetic import row_sums

from ._base import CACHE_MB, CLOSED_FORM, ENGINES, MAX_SAMPLES, Engine, Estimate, FittedEngine, Queries, Settings
from ._exact import Exact
from ._hit_and_run import FittedHitAndRun, HitAndRun
from ._shared_samples import SharedSamples
from ._tessellation import Tessellation
from ._whole_space import ClosedForm, FittedWholeSpace

#: Most sites for which auto measures exactly, by dimension: there the triangulation takes about a second to build and
#: a query costs no more than some tens of microseconds (docs/dev/geometry.md).
EXACT_SITES = {1: 2000, 2: 500, 3: 200, 4: 40}


@ENGINES.register("auto")
@dataclass(frozen=True, eq=False, repr=False)
class Auto(Engine):
    """The engine that suits the number of dimensions r and of distinct representatives.

    It never depends on the number of points, so that scoring in chunks gives the same numbers:

    1. few representatives in at most four dimensions, and flat walls: exact;
    2. else shared samples, and hit-and-run for the points that get too few of them, for at most 2**25 / k steps each.
       Up to 2**39 / (k r) samples are drawn, but four times as many as an average cell needs. This only limits more
       than about 360 representatives in as many dimensions: some points then keep a larger ``standard_error``;
    3. in the whole space, inside the hull of the representatives: the closed form if there is one, exact if there are
       few, else hit-and-run.

    Parameters
    ----------
    max_samples
        Most samples, or steps of a walk, spent on one point. Points that need more get fewer, a larger
        ``standard_error`` and one warning.
    cache_mb
        Megabytes of shared samples kept for later calls; 0 keeps none. Results do not depend on it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from allegiance import affinity
    >>> iris = load_iris()
    >>> affinity(iris.data, iris.target, engine="auto").frame(details=True)["engine"].tolist()[:2]
    ['exact', 'exact']
    """

    max_samples: int = MAX_SAMPLES
    cache_mb: float = CACHE_MB

    exact_where_possible: ClassVar[bool] = True

    def choose(self, tessellation: Tessellation) -> Engine:
        """Return the engine that auto chooses for a tessellation; see above."""
        region = tessellation.region
        few = tessellation.n_sites <= EXACT_SITES.get(tessellation.dim, 0)
        if not region.bounded and tessellation.affinely_independent:
            return ClosedForm()
        if region.polyhedral and few:
            return Exact()
        return self._sampler(tessellation)

    def _sampler(self, tessellation: Tessellation) -> Engine:
        """Return the engine that auto chooses where cells are not triangulated."""
        if tessellation.region.bounded:
            return SharedSamples(self.max_samples, self.cache_mb)
        return HitAndRun(self.max_samples)

    def why_unsupported(self, tessellation: Tessellation) -> str | None:
        """Return None: some engine serves every tessellation."""
        return None

    def build(self, tessellation: Tessellation, settings: Settings) -> FittedEngine:
        """Build the engine that auto chooses, or a sampler if cells cannot be triangulated."""
        try:
            return self.choose(tessellation).build(tessellation, settings)
        except ValueError:
            return self._sampler(tessellation).build(tessellation, settings)


def build_engine(engine: Engine, tessellation: Tessellation, settings: Settings) -> FittedEngine:
    """Build the cascade of an engine for a tessellation; ValueError if it cannot measure there."""
    if tessellation.n_sites == 1 or tessellation.dim == 0:
        return _SinglePlace(tessellation)
    if not tessellation.region.bounded:
        return _Cascade(tessellation, settings, engine, FittedWholeSpace(tessellation, settings, engine))
    if why_unsupported := engine.why_unsupported(tessellation):
        raise ValueError(why_unsupported)
    return _Cascade(tessellation, settings, engine, engine.build(tessellation, settings))


class _SinglePlace(FittedEngine):
    """All sites are in one place, and differ only in weight: the heaviest owns it, unless the query is heavier.

    A single site owns everything.
    """

    block = 65_536

    def __init__(self, tessellation: Tessellation) -> None:
        self._constants = tessellation.functions.b

    def estimate(self, queries: Queries) -> Estimate:
        estimate = Estimate.blank(queries.n, self._constants.size, CLOSED_FORM)
        estimate.affinity[:, self._constants.argmin()] = 1.0
        estimate.empty_cell[:] = (self._constants.size > 1) & (queries.b > self._constants.min())
        return estimate


#: Most slacks of sites computed on a walk for one query that the main engine could not measure: about 0.01 s. A walk
#: that ends there has a larger standard error, and a warning says so.
_WALK_BUDGET = 2**25


class _Cascade(FittedEngine):
    """Queries at a site first, then the main engine, then walks for the cells that it could not measure."""

    def __init__(self, tessellation: Tessellation, settings: Settings, engine: Engine, main: FittedEngine) -> None:
        self._tessellation = tessellation
        self._main = main
        self.block = main.block
        self._settings = settings
        self._max_steps = min(engine.max_samples, max(_WALK_BUDGET // tessellation.n_sites, 1))

    @cached_property
    def _walk(self) -> FittedHitAndRun:
        """The last engine of the cascade, fitted when it is needed."""
        return FittedHitAndRun(self._tessellation, self._settings, self._max_steps)

    def estimate(self, queries: Queries) -> Estimate:
        """Answer queries at a site, and pass the others down the cascade."""
        rows, sites = self._tessellation.coincident(queries)
        if not rows.size:
            return self._measure(queries)
        estimate = Estimate.blank(queries.n, self._tessellation.n_sites, CLOSED_FORM)
        estimate.affinity[rows, sites] = 1.0
        known = np.unique(rows)
        estimate.affinity[known] /= row_sums(estimate.affinity[known])[:, None]
        others = np.setdiff1d(np.arange(queries.n), known, assume_unique=True)
        if others.size:
            estimate.put(others, self._measure(queries.take(others)))
        return estimate

    def prepare(self) -> None:
        """Prepare the main engine of the cascade."""
        self._main.prepare()

    def _measure(self, queries: Queries) -> Estimate:
        """Let the main engine of the cascade answer, and walks where it has no answer."""
        estimate = self._main.estimate(queries)
        if self._tessellation.region.bounded and not estimate.has_answer.all():
            estimate.fill(queries, self._walk)
        return estimate
