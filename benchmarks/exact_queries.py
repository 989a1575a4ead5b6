"""Exact affinities, 2-D and 3-D, k = 5, box domain, on one thread: processor time per query.

Queries are uniform over the whole box of the data, inside and outside the hull of the sites. Our time is that of
``scorer.affinity(Q)`` on a fitted scorer, with input checks, labels and the result object, for so many queries that
fixed costs vanish; "kernel alone" is the volume computation without all that. Peers:

- Qhull by volume difference: cells of all sites from ``scipy.spatial.HalfspaceIntersection`` around the site, volumes
  from ``ConvexHull``, with the query inserted minus without (the latter computed once). Measured on some queries; our
  numbers must agree with these to 1e-9 before anything is timed.
- The ``cgal`` wheel's natural neighbour coordinates, 2-D only, for queries inside the hull only, since it has no answer
  for others; it knows no box, so it is checked against ``domain="space"``.
- CGAL's C++ templates, inside the hull only: constants of the project's notes on peers, measured elsewhere. Since that
  machine was not this one, a second row scales the constant by Qhull's time here over Qhull's time there.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial import ConvexHull, Delaunay, HalfspaceIntersection

from _report import Row, absent_row, faster_row
from _side_by_side import Task, side_by_side
from allegiance import AffinityScorer
from allegiance.engines import Exact, Settings

K = 5
#: Seconds per query by dimension, not measured here: CGAL 5.5.1 in C++, inside the hull, and, on the same machine as
#: that, Qhull by volume difference.
CGAL_CPP_SECONDS = {2: 0.4e-6, 3: 1.8e-6}
QHULL_SECONDS_THERE = {2: 712e-6, 3: 979e-6}
_AGREE = 1e-9

Floats = npt.NDArray[np.float64]


def run(quick: bool) -> list[Row]:
    """Time both dimensions."""
    return [row for dim in (2, 3) for row in _Scene(dim, 50_000 if quick else 500_000).rows(quick)]


class _Scene:
    """Sites, queries and a fitted scorer of one dimension."""

    def __init__(self, dim: int, n: int) -> None:
        rng = np.random.default_rng(dim)
        self.dim = dim
        self.sites = rng.uniform(0.15, 0.85, (K, dim))
        self.queries = rng.uniform(0.0, 1.0, (n, dim))
        self.scorer = AffinityScorer(centers=self.sites, engine="exact", n_jobs=1, random_state=0).fit(self.queries)

    def rows(self, quick: bool) -> list[Row]:
        qhull = _Qhull(self.sites, *_box(self.queries, self.sites))
        part = self.queries[: 50 if quick else 300]
        _check_equal(self.scorer.transform(part), np.array([qhull.affinity(x) for x in part]), "Qhull")
        tasks: dict[str, tuple[Task, int]] = {
            "ours": (lambda: self.scorer.affinity(self.queries), len(self.queries)),
            "kernel": (self._kernel(), len(self.queries)),
            "qhull": (lambda: [qhull.affinity(x) for x in part], len(part)),
        }
        cgal = _cgal_task(self, 500 if quick else 5_000) if self.dim == 2 else None
        if cgal is not None:
            tasks["cgal"] = cgal
        times = side_by_side(
            {name: task for name, (task, _) in tasks.items()}, 3 if quick else 9, clock=time.process_time
        )
        return self._compare({name: value.best / tasks[name][1] for name, value in times.items()})

    def _compare(self, seconds: dict[str, float]) -> list[Row]:
        what = f"exact {self.dim}-D k = 5, one query, 1 thread"
        constant = CGAL_CPP_SECONDS[self.dim]
        scaled = constant * seconds["qhull"] / QHULL_SECONDS_THERE[self.dim]
        named, named_scaled = "CGAL C++ in hull (constant)", "CGAL C++ in hull (constant, scaled)"
        rows = [
            faster_row(what, seconds["ours"], "Qhull, volume difference", seconds["qhull"], 1.0),
            faster_row(what, seconds["ours"], named, constant, 1.0),
            faster_row(what, seconds["ours"], named_scaled, scaled, 1.0),
            faster_row(f"{what}, kernel alone", seconds["kernel"], named_scaled, scaled, 1.0),
        ]
        if "cgal" in seconds:
            rows.append(faster_row(what, seconds["ours"], "cgal wheel, in hull", seconds["cgal"], 1.0))
        elif self.dim == 2:
            rows.append(absent_row(what, seconds["ours"], "cgal wheel"))
        return rows

    def _kernel(self) -> Task:
        fitted = self.scorer.fitted_
        measurer = Exact().build(fitted.tessellation, Settings())
        queries = fitted.tessellation.queries(fitted.locate(self.queries).position)
        return lambda: measurer.stolen(queries)


def _box(queries: Floats, sites: Floats) -> tuple[Floats, Floats]:
    """Return the corners of the box domain, from its definition: bounding box and a margin of 0.1 on each side."""
    everything = np.vstack([queries, sites])
    lower, upper = everything.min(axis=0), everything.max(axis=0)
    margin = 0.1 * (upper - lower)
    return lower - margin, upper + margin


def _check_equal(ours: Floats, theirs: Floats, peer: str) -> None:
    apart = float(np.abs(ours - theirs).max())
    if not apart <= _AGREE:
        raise AssertionError(f"allegiance and {peer} differ by {apart:.1e}")


class _Qhull:
    """Affinities as differences of cell volumes, the way one would write them with scipy."""

    def __init__(self, sites: Floats, lower: Floats, upper: Floats) -> None:
        dim = sites.shape[1]
        self._sites = sites
        walls = np.vstack([np.column_stack([np.eye(dim), -upper]), np.column_stack([-np.eye(dim), lower])])
        others = [np.delete(sites, i, axis=0) for i in range(len(sites))]
        self._cells = [np.vstack([_bisectors(c, o), walls]) for c, o in zip(sites, others, strict=True)]
        self._before = np.array([_volume(cell, c) for cell, c in zip(self._cells, sites, strict=True)])

    def affinity(self, x: Floats) -> Floats:
        """Return the affinities (k,) of one query."""
        after = [
            _volume(np.vstack([cell, _bisectors(c, x[None])]), c)
            for cell, c in zip(self._cells, self._sites, strict=True)
        ]
        stolen = self._before - after
        return stolen / stolen.sum()


def _bisectors(c: Floats, others: Floats) -> Floats:
    """Return half-spaces (m, r + 1) in Qhull's form: closer to ``c`` than to each of ``others``."""
    normals = others - c
    offsets = (normals * (others + c) / 2.0).sum(axis=1)
    return np.column_stack([normals, -offsets])


def _volume(halfspaces: Floats, inside: Floats) -> float:
    return float(ConvexHull(HalfspaceIntersection(halfspaces, inside).intersections).volume)


def _cgal_task(scene: _Scene, n: int) -> tuple[Task, int] | None:
    """Return the cgal wheel's coordinates of up to ``n`` queries inside the hull, None if it is not installed."""
    try:
        from CGAL.CGAL_Interpolation import natural_neighbor_coordinates_2
        from CGAL.CGAL_Kernel import Point_2
        from CGAL.CGAL_Triangulation_2 import Delaunay_triangulation_2
    except ImportError:
        return None
    inside = scene.queries[Delaunay(scene.sites).find_simplex(scene.queries) >= 0][:n]
    triangulation = Delaunay_triangulation_2()
    for x, y in scene.sites.tolist():
        triangulation.insert(Point_2(x, y))
    number = {tuple(site): i for i, site in enumerate(scene.sites.tolist())}

    def coordinates(x: float, y: float) -> list[float]:
        neighbours: list[Any] = []
        norm, _ = natural_neighbor_coordinates_2(triangulation, Point_2(x, y), neighbours)
        row = [0.0] * K
        for pair in neighbours:
            site = pair.first
            row[number[site.x(), site.y()]] = pair.second / norm
        return row

    unbounded = AffinityScorer(centers=scene.sites, domain="space", n_jobs=1, random_state=0).fit(scene.queries)
    theirs = np.array([coordinates(x, y) for x, y in inside[:200].tolist()])
    _check_equal(unbounded.transform(inside[:200]), theirs, "cgal")
    rows = inside.tolist()
    return lambda: [coordinates(x, y) for x, y in rows], len(inside)
