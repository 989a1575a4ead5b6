"""Tessellations and functions for the tests of engines and influences."""

from functools import partial

import numpy as np

from allegiance import affinity
from allegiance.domains import DOMAINS, Extent
from allegiance.engines import ENGINES, Settings, Tessellation, build_engine
from allegiance.influence import Bregman, LinearEmbedding, PowerDiagram

#: Affinity by the paper's distance.
euclidean = partial(affinity, influence="euclidean")


def quartic(Y):
    return (Y**4).sum(axis=1) + (Y**2).sum(axis=1)


def quartic_gradient(Y):
    return 4 * Y**3 + 2 * Y


def quartic_inverse(G):
    """Cardano's formula for y with 4 y^3 + 2 y = g."""
    half = G / 8
    root = np.sqrt(half**2 + 1 / 216)
    return np.cbrt(half + root) + np.cbrt(half - root)


QUARTIC = Bregman(quartic, quartic_gradient, quartic_inverse)


def tessellate(diagram, position, domain="box"):
    """Return the tessellation that a fit to points at ``position`` (n, r) builds over a domain."""
    extent = Extent.of(diagram, np.vstack([position, diagram.positions]), radius=True)
    return Tessellation(diagram, DOMAINS.resolve(domain).region(diagram, extent))


def make_scene(centers, X, domain="box"):
    """Return the tessellation that ``affinity(X, centers=centers, domain=domain)`` builds, and its queries."""
    diagram = PowerDiagram(LinearEmbedding.of_sites(np.asarray(centers, dtype=float)))
    position = diagram.locate(np.asarray(X, dtype=float)).position
    tessellation = tessellate(diagram, position, domain)
    return tessellation, tessellation.queries(position)


def measurer(tessellation, engine="auto", **settings):
    """Return what measures over a tessellation with the engine of this name, or this engine."""
    return build_engine(ENGINES.resolve(engine), tessellation, Settings(**settings))


def points_in_hull(rng, centers, n):
    """Return random convex combinations of the centres, away from the boundary of their hull."""
    shares = rng.dirichlet(np.full(len(centers), 1.5), n)
    shares = 0.9 * shares + 0.1 / len(centers)
    return shares @ centers


def users_coordinates(tessellation, z):
    """Return points (n, r) in the unit coordinates of a Euclidean tessellation in those of X, if its axes were kept."""
    region, embedding = tessellation.region, tessellation.diagram.embedding
    return (z * region.scale + region.center) / embedding.unit + embedding.shift
