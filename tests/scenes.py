"""Scenes for the tests of engines."""

import numpy as np

from allegiance.domains import BallDomain, BoxDomain, UnboundedDomain
from allegiance.engines import Scene
from allegiance.influence import LinearEmbedding, PowerDiagram


def make_scene(centers, X, domain="box", margin=0.1):
    """The scene that ``affinity(X, centers=centers, domain=domain)`` builds, and its queries."""
    diagram = PowerDiagram(LinearEmbedding.of_sites(np.asarray(centers, dtype=float)))
    position = diagram.locate(np.asarray(X, dtype=float)).position
    points = np.vstack([position, diagram.positions])
    if domain == "box":
        where = BoxDomain(points.min(axis=0), points.max(axis=0), margin)
    elif domain == "ball":
        center = diagram.positions.mean(axis=0)
        where = BallDomain(center, np.sqrt(((points - center) ** 2).sum(axis=1).max()))
    else:
        where = UnboundedDomain(diagram.positions)
    scene = Scene(diagram, where)
    return scene, scene.queries(position)


def points_in_hull(rng, centers, n):
    """Random convex combinations of the centres, away from the boundary of their hull."""
    shares = rng.dirichlet(np.full(len(centers), 1.5), n)
    shares = 0.9 * shares + 0.1 / len(centers)
    return shares @ centers
