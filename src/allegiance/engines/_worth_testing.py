"""Which samples are worth testing for the queries of a site: learnt once, from the sites and the region alone.

A sample y can be stolen by a query next to site i only if its margin f_i(y) - f_owner(y) is small, and samples that are
hardly ever stolen need not all be tested: kept with a known probability p, they count 1/p times. The variance for a
given number of tests is least if p goes with the root of the chance that a sample is stolen. That chance is measured
for pilots: queries between a random site and a random place, as a function of the volume with a smaller margin. No
answer is biased by what is learnt here, only more or less precise.
"""

from __future__ import annotations

import numpy as np

from allegiance._core import AnyArray, FloatArray, IntArray, kernel_ready

from ._single_precision import SingleFunctions
from ._tessellation import Tessellation

#: Queries from which the chance is learnt, and how far they are from their site towards a random place, at most.
_PILOTS = 64
_REACH = 0.5
#: Samples of the region for it: enough that some fall into an average cell.
_SURVEY_PER_SITE = 32
_MIN_SURVEY, _MAX_SURVEY = 2**11, 2**14
#: Edges of volume beyond the own cell between which the chance is taken as constant, in shares of an average cell: the
#: first one, and their number in an octave.
_FIRST_EDGE = 0.25
_PER_OCTAVE = 2
#: Least probability, in means divided by the number of sites: queries that steal what others hardly ever do should not
#: wait too long.
_LEAST = 5.0


def margin_limits(tessellation: Tessellation, classes: int, rng: np.random.Generator) -> AnyArray:
    """Return limits (k, classes) float32 of margin: up to ``limits[i, c]`` a sample is kept with probability 2**-c.

    Parameters
    ----------
    tessellation
        Sites and region.
    classes
        Number of probabilities 1, 1/2, 1/4 and so on; the last limit is infinite.
    rng
        For the survey.
    """
    k = tessellation.n_sites
    size = min(max(_SURVEY_PER_SITE * k, _MIN_SURVEY), _MAX_SURVEY)
    survey = tessellation.region.sample(size, rng)
    sites = _values(survey, *tessellation.functions)
    highest = sites.max(axis=0)
    margins = np.sort(highest - sites, axis=1)
    own = (margins <= 0).sum(axis=1)
    edges = _FIRST_EDGE / k * 2.0 ** (np.arange(_PER_OCTAVE * np.log2(k / _FIRST_EDGE) + 1) / _PER_OCTAVE)
    place = np.minimum(own[:, None] + np.ceil(edges * size).astype(np.int64), size - 1)
    at_edges = np.take_along_axis(margins, place, axis=1)
    kept = _kept(tessellation, survey, sites, highest, own, at_edges, edges, rng)
    limits = np.full((k, classes), np.inf, np.float32)
    for c in range(classes - 1):
        last = np.searchsorted(-kept, -(2.0 ** -(c + 0.5)), side="right")
        if last < edges.size:
            limits[:, c] = at_edges[:, last - 1] if last else 0.0
    return limits


def _kept(
    tessellation: Tessellation,
    survey: AnyArray,
    sites: AnyArray,
    highest: AnyArray,
    own: IntArray,
    at_edges: AnyArray,
    edges: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the probability (number of edges,) with which samples before each edge are kept, descending."""
    pilots = _pilots(tessellation, rng)
    nearest = np.array([np.square(a - tessellation.functions.a).sum(axis=1).argmin() for a in pilots[0]])
    stolen = _values(survey, *pilots) >= highest
    hits = np.zeros(edges.size + 2)
    own_volume = 0.0
    for row, site in zip(stolen, nearest, strict=True):
        margins = highest[row] - sites[site, row]
        if margins.size:
            bins = np.where(margins <= 0, 0, 1 + np.searchsorted(at_edges[site], margins))
            hits += np.bincount(bins, minlength=hits.size) / margins.size
            own_volume += own[site] / highest.size
    if own_volume == 0.0 or hits[0] == 0.0:
        return np.ones(edges.size)
    widths = np.diff(np.minimum(edges, 1.0), prepend=0.0) * max(stolen.any(axis=1).sum(), 1)
    chance = hits[1:-1] / np.maximum(widths, 1e-300) / (hits[0] / own_volume)
    # What is stolen beyond an edge may be stolen before it.
    falling = np.maximum.accumulate(np.minimum(chance, 1.0)[::-1])[::-1]
    probabilities = np.sqrt(falling)
    mean = own_volume / len(pilots[0]) + (probabilities * np.diff(np.minimum(edges, 1.0), prepend=0.0)).sum()
    return np.maximum(probabilities, min(_LEAST / tessellation.n_sites, 1.0) * mean)


def _pilots(tessellation: Tessellation, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return the functions of queries at random distances from random sites, towards random places."""
    region = tessellation.region
    sites = tessellation.positions[rng.integers(tessellation.n_sites, size=_PILOTS)]
    places = region.center + region.scale * region.sample(_PILOTS, rng)
    share = _REACH * rng.random((_PILOTS, 1))
    queries = tessellation.queries(sites + share * (places - sites))
    return queries.a, queries.b


def _values(points: AnyArray, a: FloatArray, b: FloatArray) -> AnyArray:
    """Return <a_i, y> - b_i (k, m) in single precision, the same bits on any number of threads."""
    from allegiance._kernels._affine_block import BLOCK
    from allegiance._kernels._owners import site_values

    slopes, constants, _ = SingleFunctions.of(a, b)
    (ready,) = kernel_ready(points.astype(np.float32))
    values = np.empty((slopes.shape[0], BLOCK), np.float32)
    found = np.empty((a.shape[0], points.shape[0]), np.float32)
    for start in range(0, points.shape[0], BLOCK):
        part = ready[start : start + BLOCK]
        site_values(part, slopes, constants, values)
        found[:, start : start + part.shape[0]] = values[: a.shape[0], : part.shape[0]]
    return found
