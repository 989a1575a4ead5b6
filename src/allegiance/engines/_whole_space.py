"""The whole space: bounded cells inside the hull of the sites, shares of directions outside."""

from __future__ import annotations

import numpy as np

from allegiance._core import AnyArray, BoolArray
from allegiance.domains import Region
from allegiance.geometry import Hull
from allegiance.influence import RecessionDiagram

from ._closed_form import ClosedFormMeasurer
from ._engine import Engine, Estimate, Measurer, Queries, Settings
from ._hit_and_run import HitAndRunMeasurer
from ._plane_directions import PlaneDirections
from ._tessellation import Tessellation


class WholeSpaceMeasurer:
    """Measure over the whole space, with an engine for each side of the hull of the sites.

    Queries inside the hull have a bounded cell, which the engine measures where it can. Outside the hull the cell is
    unbounded, and the limit of a growing ball is measured: the shares of the directions in which the query lies
    beyond every site.

    Parameters
    ----------
    tessellation
        Over the whole space.
    settings
        Precision and means.
    engine
        What the user asked for.

    Raises
    ------
    ValueError
        If the engine can serve neither side; from :meth:`estimate`, if it cannot serve some of the queries.
    """

    block = 4096

    def __init__(self, tessellation: Tessellation, settings: Settings, engine: Engine) -> None:
        self._tessellation = tessellation
        self._engine = engine
        independent = tessellation.affinely_independent
        self._hull = None if independent else Hull(tessellation.functions.a)
        self._corners = ClosedFormMeasurer(tessellation, settings) if independent else None
        ball = Region.ball("ball", np.zeros(tessellation.dim), 1.0)
        self._far_away = Tessellation(RecessionDiagram(tessellation.functions.a), ball)
        self._inside = _built(engine, tessellation, settings)
        in_plane = tessellation.dim == 2 and engine.exact_where_possible
        self._outside = PlaneDirections(self._far_away) if in_plane else _built(engine, self._far_away, settings)
        if self._inside is None and self._outside is None:
            raise ValueError(engine.refusal(tessellation))
        self._walk_inside = HitAndRunMeasurer(tessellation, settings, engine.max_samples)
        self._walk_outside = HitAndRunMeasurer(self._far_away, settings, engine.max_samples)

    def estimate(self, queries: Queries) -> Estimate:
        """Measure inside and outside the hull, each in its own way."""
        inside = self._in_hull(queries)
        rows_in, rows_out = np.flatnonzero(inside), np.flatnonzero(~inside)
        estimate = Estimate.blank(queries.n, self._tessellation.n_sites, 0)
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
            estimate.put(rows_out, self._estimate_outside(self._outside, queries.take(rows_out)))
        return estimate

    def _refusal(self, rows: AnyArray, where: str) -> str:
        return (
            f"engine={self._engine!r} with domain='space' cannot serve {rows.size} of the points, the first being row "
            f"{rows[0]}: it lies {where}. Use engine='auto', or domain='box'."
        )

    def _in_hull(self, queries: Queries) -> BoolArray:
        if self._corners is not None:
            return np.asarray((self._corners.coordinates(queries) > 1e-12).all(axis=1))
        assert self._hull is not None
        return self._hull.contains(queries.a)

    def _estimate_outside(self, measurer: Measurer, queries: Queries) -> Estimate:
        away = queries.a - self._far_away.functions.a.mean(axis=0)
        start = away / (2.0 * np.sqrt((away * away).sum(axis=1, keepdims=True)))
        directions = Queries(queries.a, np.zeros(queries.n), start)
        estimate = measurer.estimate(directions)
        # Near the hull the cone of directions is too thin to be hit; a walk inside it still finds its shares.
        estimate.fill(directions, self._walk_outside)
        estimate.hidden[:] = False
        return estimate._replace(
            affinity=self._far_away.expand(estimate.affinity),
            standard_error=self._far_away.expand(estimate.standard_error),
        )


def _built(engine: Engine, tessellation: Tessellation, settings: Settings) -> Measurer | None:
    return engine.build(tessellation, settings) if engine.refusal(tessellation) is None else None
