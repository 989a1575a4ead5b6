"""The code of docs/extending.md, registered from outside the package and used in every way a user would."""

import importlib
import pickle
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.model_selection import GridSearchCV

from allegiance import AffinityScorer, affinity, load, trust
from allegiance._core.parameters import Parameters
from allegiance.domains import DOMAINS
from allegiance.engines import ENGINES
from allegiance.influence import INFLUENCES
from allegiance.io.streams import fit_stream

PAGE = Path(__file__).parents[1] / "docs" / "extending.md"
NAMES = {"stretched": INFLUENCES, "cube": DOMAINS, "grid": ENGINES}
RNG = np.random.default_rng(3)
LABELS = np.arange(90) % 3
X = RNG.normal(size=(90, 2)) + np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])[LABELS]


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module with the code of the page."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert len(blocks) == 4
    module = ModuleType("toys")
    monkeypatch.setitem(sys.modules, "toys", module)
    exec("\n\n".join(blocks), vars(module))
    yield module
    for name, registry in NAMES.items():
        registry.pop(name, None)
    for name in ("Stretched", "Cube", "Grid"):
        Parameters._by_name.pop(name, None)


def test_the_code_on_the_page_runs(toys):
    assert len(toys.result) == 60
    assert set(toys.result.frame(details=True)["engine"]) <= {"grid", "hit-and-run", "closed-form", "limit"}


def test_an_influence(toys):
    stretched = affinity(X, LABELS, influence=toys.Stretched(factor=3.0))
    np.testing.assert_allclose(
        stretched.affinity, affinity(X * [3.0, 1.0], LABELS, influence="euclidean").affinity, atol=1e-9
    )
    assert stretched.summary().measurement.influence == "Stretched(factor=3.0)"
    np.testing.assert_array_equal(
        affinity(X, LABELS, influence="stretched").affinity,
        affinity(X, LABELS, influence=toys.Stretched()).affinity,
    )
    with pytest.raises(ValueError, match="factor of Stretched must be positive, got -1"):
        affinity(X, LABELS, influence=toys.Stretched(factor=-1))


def test_a_domain(toys):
    region = AffinityScorer(domain="cube").fit(X, LABELS).fitted_.tessellation.region
    assert region.name == "cube"
    np.testing.assert_allclose(region.scale, region.scale[0])
    square = AffinityScorer(domain=toys.Cube(margin=1.0)).fit(X, LABELS).fitted_.tessellation.region
    np.testing.assert_allclose(square.scale, 2 * region.scale)


def test_an_engine(toys):
    exact = affinity(X, LABELS, engine="exact")
    counted = affinity(X, LABELS, engine=toys.Grid(per_axis=200), eps=0.1)
    by_grid = counted.frame(details=True)["engine"] == "grid"
    assert by_grid.sum() > 60
    assert np.abs(counted.affinity - exact.affinity)[by_grid].max() < 0.05
    far_too_many = RNG.normal(size=(20, 9))
    with pytest.raises(ValueError, match="engine='grid' needs a bounded domain of at most three dimensions"):
        affinity(far_too_many, np.arange(20) % 8, engine="grid")


def test_all_three_with_an_estimator(toys, tmp_path):
    settings = {"influence": toys.Stretched(3.0), "domain": toys.Cube(0.1), "engine": toys.Grid(40), "eps": 0.2}
    scorer = AffinityScorer(KMeans(3, n_init=1, random_state=0), **settings).fit(X)
    scorer.save(tmp_path / "toy.scorer")
    loaded = load(tmp_path / "toy.scorer")
    for again in (clone(scorer).fit(X), pickle.loads(pickle.dumps(scorer)), loaded):
        np.testing.assert_array_equal(again.transform(X), scorer.transform(X))
    search = GridSearchCV(scorer, {"influence__factor": [0.5, 2.0]}, scoring=lambda actual, X: 1.0, cv=2).fit(X)
    assert search.best_estimator_.influence == toys.Stretched(search.best_params_["influence__factor"])
    assert (loaded.influence, loaded.domain, loaded.engine) == (toys.Stretched(3.0), toys.Cube(0.1), toys.Grid(40))


def test_with_trust_and_from_a_stream(toys, tmp_path):
    result = trust(X, LABELS, influence="stretched", n_resamples=3)
    assert ((result.trust >= 0) & (result.trust <= 1)).all()
    frame, table = pd.DataFrame(X, columns=["a", "b"]), tmp_path / "table.csv"
    frame.assign(group=LABELS).to_csv(table, index=False)
    streamed = fit_stream(table, AffinityScorer(influence="stretched"), labels="group", batch_rows=40)
    whole = AffinityScorer(influence="stretched").fit(X, LABELS)
    np.testing.assert_allclose(streamed.transform(frame), whole.transform(X), atol=1e-12)


def test_messages_and_refusals_know_the_new_kinds(toys):
    with pytest.raises(ValueError, match=r"influence must be one of 'within'.*'stretched', got 'stretchd'"):
        affinity(X, LABELS, influence="stretchd")


@pytest.mark.parametrize(("module", "name"), [("engines", "Engine"), ("influence", "Influence"), ("domains", "Domain")])
def test_a_base_class_has_no_instances(module, name):
    with pytest.raises(TypeError, match="abstract"):
        getattr(importlib.import_module(f"allegiance.{module}"), name)()
