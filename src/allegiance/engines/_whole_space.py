"""The whole space: bounded cells inside the hull of the sites, shares of directions outside."""

from __future__ import annotations

import numpy as np

from allegiance._core._typing import AnyArray, BoolArray
from allegiance.domains import BallDomain, BoxDomain
from allegiance.geometry import Hull
from allegiance.influence import RecessionDiagram

from ._closed_form import ClosedFormEngine
from ._estimate import Engine, Estimate, Queries, Settings
from ._exact import ExactEngine
from ._hit_and_run import HitAndRunEngine
from ._plane_directions import ArcEngine
from ._rejection import RejectionEngine
from ._shared_samples import SharedSamplesEngine
from ._tessellation import Scene

#: Auto measures bounded cells exactly up to this dimension and number of sites, and walks above.
_MAX_EXACT_DIM = 4
_MAX_EXACT_SITES = 60
#: Half-widths of the boxes in which bounded cells are measured exactly, in units of the sites' spread.
_HALF_WIDTHS = tuple(4.0 * 8.0**level for level in range(8))


class UnboundedEngine:
    """Measure over the whole space.

    Queries inside the hull of the sites have a bounded cell: its shares are barycentric coordinates if the sites are
    affinely independent, else they are measured. Outside the hull the cell is unbounded, and the limit of
    a growing ball is measured: the shares of the directions in which the query lies beyond every site.

    Parameters
    ----------
    scene
        A scene over an unbounded domain.
    settings
        Precision and means.
    method
        What the user asked for; "auto" takes the exact way where there is one.

    Raises
    ------
    ValueError
        If the method cannot serve this scene; from :meth:`estimate`, if it cannot serve some of the queries.
    """

    block = 4096

    def __init__(self, scene: Scene, settings: Settings, method: str) -> None:
        self._scene = scene
        self._method = method
        self._hull = None if scene.affinely_independent else Hull(scene.functions.a)
        self._closed_form = ClosedFormEngine(scene, settings) if scene.affinely_independent else None
        if method == "closed-form" and self._closed_form is None:
            raise ValueError(
                f"method='closed-form' needs affinely independent sites, but {scene.n_sites} distinct sites span only "
                f"{scene.dim} dimensions. Use method='auto'."
            )
        self._inside = self._engine_inside(scene, settings)
        self._outside_scene = Scene(RecessionDiagram(scene.functions.a), BallDomain(np.zeros(scene.dim), 1.0))
        self._outside = self._engine_outside(settings)
        self._walk_inside = HitAndRunEngine(scene, settings)
        self._walk_outside = HitAndRunEngine(self._outside_scene, settings)

    def _engine_inside(self, scene: Scene, settings: Settings) -> Engine | None:
        small = scene.dim <= _MAX_EXACT_DIM and scene.n_sites <= _MAX_EXACT_SITES
        if self._method in ("auto", "closed-form") and self._closed_form is not None:
            return self._closed_form
        if self._method == "exact" or (self._method == "auto" and small):
            return _GrowingBoxes(scene, settings)
        if self._method in ("auto", "hit-and-run"):
            return HitAndRunEngine(scene, settings)
        if self._method == "rejection":
            return RejectionEngine(scene, settings)
        return None

    def _engine_outside(self, settings: Settings) -> Engine | None:
        scene = self._outside_scene
        if self._method in ("auto", "exact"):
            if scene.dim == 1:
                return ExactEngine(scene, settings)
            if scene.dim == 2:
                return ArcEngine(scene)
        if self._method in ("auto", "shared"):
            return SharedSamplesEngine(scene, settings)
        if self._method == "hit-and-run":
            return HitAndRunEngine(scene, settings)
        if self._method == "rejection":
            return RejectionEngine(scene, settings)
        return None

    def estimate(self, queries: Queries) -> Estimate:
        """Measure inside and outside the hull, each in its own way."""
        inside = self._in_hull(queries)
        rows_in, rows_out = np.flatnonzero(inside), np.flatnonzero(~inside)
        estimate = Estimate.blank(queries.n, self._scene.n_sites, 0)
        if rows_in.size:
            if self._inside is None:
                raise ValueError(
                    self._refusal(rows_in, "inside the hull of the sites, where no bounded region is shared")
                )
            part = queries.take(rows_in)
            found = self._inside.estimate(part)
            found.fill(part, self._walk_inside)
            estimate.put(rows_in, found)
        if rows_out.size:
            if self._outside is None:
                raise ValueError(self._refusal(rows_out, "outside the hull of the sites, where its cell is unbounded"))
            estimate.put(rows_out, self._estimate_outside(queries.take(rows_out)))
        return estimate

    def _refusal(self, rows: AnyArray, where: str) -> str:
        return (
            f"method={self._method!r} with domain=None cannot serve {rows.size} of the points, the first being row "
            f"{rows[0]}: it lies {where}. Use method='auto', or domain='box'."
        )

    def _in_hull(self, queries: Queries) -> BoolArray:
        if self._closed_form is not None:
            return np.asarray((self._closed_form.coordinates(queries) > 1e-12).all(axis=1))
        assert self._hull is not None
        return self._hull.contains(queries.a)

    def _estimate_outside(self, queries: Queries) -> Estimate:
        assert self._outside is not None
        scene = self._outside_scene
        away = queries.a - scene.functions.a.mean(axis=0)
        start = away / (2.0 * np.sqrt((away * away).sum(axis=1, keepdims=True)))
        directions = Queries(queries.a, np.zeros(queries.n), start)
        estimate = self._outside.estimate(directions)
        # Near the hull the cone of directions is too thin to be hit; a walk inside it still finds its shares.
        estimate.fill(directions, self._walk_outside)
        estimate.hidden[:] = False
        return estimate._replace(
            affinity=scene.expand(estimate.affinity), standard_error=scene.expand(estimate.standard_error)
        )


class _GrowingBoxes:
    """Exact volumes of bounded cells, each in the smallest box whose walls it does not reach."""

    block = 65_536

    def __init__(self, scene: Scene, settings: Settings) -> None:
        self._scene = scene
        self._settings = settings
        self._boxes: dict[float, ExactEngine] = {}

    def estimate(self, queries: Queries) -> Estimate:
        """Measure; queries must lie inside the hull of the sites."""
        estimate = Estimate.blank(queries.n, self._scene.n_sites, 0)
        waiting = np.arange(queries.n)
        for half_width in _HALF_WIDTHS:
            box = self._box(half_width)
            part = queries.take(waiting)
            part = Queries(part.a * half_width, part.b, part.position / half_width)
            cut = box.reaches_walls(part)
            if half_width == _HALF_WIDTHS[-1]:
                cut[:] = False
            done = np.flatnonzero(~cut)
            estimate.put(waiting[done], box.estimate(part.take(done)))
            waiting = waiting[cut]
            if not waiting.size:
                break
        return estimate

    def _box(self, half_width: float) -> ExactEngine:
        if half_width not in self._boxes:
            domain = self._scene.domain
            reach = half_width * domain.scale
            box = BoxDomain(domain.center - reach, domain.center + reach, 0.0)
            self._boxes[half_width] = ExactEngine(Scene(self._scene.diagram, box), self._settings)
        return self._boxes[half_width]
