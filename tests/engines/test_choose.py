"""The choice of an engine at its limits."""

from types import SimpleNamespace

import numpy as np
import pytest

from allegiance.domains import Ball, Box, Polytope, Region
from allegiance.engines import Auto, ClosedForm, Exact, HitAndRun, SharedSamples, engine_names
from allegiance.influence import Weights
from scenes import euclidean, make_scene, measurer

#: The largest numbers of sites that are measured exactly, by dimension, as documented.
LIMITS = {1: 2000, 2: 500, 3: 200, 4: 40}


def region(kind, r):
    """A region of each kind in r dimensions."""
    walls = np.vstack([np.eye(r), -np.eye(r)])
    return {
        "box": lambda: Region.box("box", np.zeros(r), np.ones(r)),
        "ball": lambda: Region.ball("ball", np.zeros(r), 1.0),
        "polytope": lambda: Region("polytope", np.zeros(r), np.ones(r), np.inf, np.inf, walls, np.ones(2 * r)),
        "space": lambda: Region.everywhere("space", np.zeros(r), 1.0),
    }[kind]()


def chosen(kind, r, n_sites, engine=None):
    """The engine for so many sites over a region; nothing else of a tessellation may matter."""
    bare = SimpleNamespace(region=region(kind, r), dim=r, n_sites=n_sites, affinely_independent=n_sites == r + 1)
    return (engine or Auto()).choose(bare)


@pytest.mark.parametrize(
    ("kind", "r", "n_sites", "engine"),
    [
        *((kind, r, n, Exact()) for kind in ("box", "polytope") for r, limit in LIMITS.items() for n in (2, limit)),
        *((kind, r, limit + 1, SharedSamples()) for kind in ("box", "polytope") for r, limit in LIMITS.items()),
        *(("space", r, n, Exact()) for r, limit in LIMITS.items() for n in (r + 2, limit)),
        *(("space", r, limit + 1, HitAndRun()) for r, limit in LIMITS.items()),
        *(("space", r, r + 1, ClosedForm()) for r in (*LIMITS, 5, 8, 100)),
        *(("space", r, r + 2, HitAndRun()) for r in (5, 8, 100)),
        *((kind, r, 2, SharedSamples()) for kind in ("box", "ball", "polytope") for r in (5, 8, 100)),
        *(("ball", r, 2, SharedSamples()) for r in (2, 3, 4)),
        ("ball", 1, 2000, Exact()),
        ("ball", 1, 2001, SharedSamples()),
    ],
)
def test_limits_are_those_documented(kind, r, n_sites, engine):
    assert chosen(kind, r, n_sites) == engine


def test_the_chosen_engine_gets_the_samples_asked_for():
    assert chosen("box", 9, 9, Auto(max_samples=77)) == SharedSamples(max_samples=77)
    assert chosen("space", 4, 41, Auto(max_samples=77)) == HitAndRun(max_samples=77)


@pytest.mark.parametrize(
    ("domain", "r", "k", "engine"),
    [
        (Box(), 4, 40, "exact"),
        (Box(), 4, 41, "shared"),
        (Polytope.box([-9.0] * 4, [9.0] * 4), 4, 40, "exact"),
        (Polytope.box([-9.0] * 4, [9.0] * 4), 4, 41, "shared"),
        (Ball(), 2, 5, "shared"),
    ],
    ids=str,
)
def test_affinity_uses_the_engine_chosen(rng, domain, r, k, engine):
    centers = rng.normal(size=(k, r))
    result = euclidean(rng.normal(size=(4, r)), centers=centers, domain=domain, eps=0.2)
    assert engine in set(result.frame(details=True)["engine"])
    assert set(result.frame(details=True)["engine"]) <= {engine, "hit-and-run"}


@pytest.mark.parametrize(("domain", "engine"), [("box", "shared"), ("space", "hit-and-run")])
def test_sites_that_cannot_be_triangulated_are_sampled(rng, monkeypatch, domain, engine):
    def fail(*_):
        raise ValueError("engine='exact' failed on these sites")

    monkeypatch.setattr(Exact, "build", fail)
    tessellation, queries = make_scene(rng.normal(size=(6, 2)), 0.1 * rng.normal(size=(3, 2)), domain)
    assert engine in set(engine_names(measurer(tessellation, "auto").estimate(queries).engine))
    with pytest.raises(ValueError, match="failed on these sites"):
        measurer(tessellation, "exact")


def test_one_site_needs_no_engine(rng):
    result = euclidean(rng.normal(size=(5, 3)), centers=[[0.0, 0.0, 0.0]], engine="closed-form")
    assert set(result.frame(details=True)["engine"]) == {"closed-form"}
    assert (result.affinity == 1).all()


@pytest.mark.parametrize("engine", ["auto", "exact", "shared", "hit-and-run"])
@pytest.mark.parametrize("domain", ["box", "space"])
def test_where_all_clusters_are_in_one_place_the_heaviest_owns_it(domain, engine):
    """There is no volume to measure. Once: "zero-size array to reduction operation", and other errors of engines."""
    X, labels = np.ones((9, 2)), [0, 1, 1] * 3
    result = euclidean(X, labels, weights="size", domain=domain, engine=engine)
    np.testing.assert_array_equal(result.affinity, [[0.0, 1.0]] * 9)
    assert result.frame(details=True)["empty_cell"].all()
    heavy = euclidean(X, labels, weights=Weights([0.2, 0.1], query=1.0), domain=domain, engine=engine)
    np.testing.assert_array_equal(heavy.affinity, [[1.0, 0.0]] * 9)
    assert not heavy.frame(details=True)["empty_cell"].any()
