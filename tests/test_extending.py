"""The code of docs/extending.md, registered from outside the package and used in every way a user would."""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pyarrow.csv
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.model_selection import GridSearchCV

from allegiance import AffinityScorer, affinity, trust
from allegiance._core import Parameters
from allegiance._core.parameters import load_plugins
from allegiance.domains import DOMAINS
from allegiance.engines import ENGINES
from allegiance.influence import INFLUENCES
from allegiance.io.streams import fit_stream
from cli.command import call

PAGE = Path(__file__).parents[1] / "docs" / "extending.md"
NAMES = {"stretched": INFLUENCES, "cube": DOMAINS, "grid": ENGINES}
RNG = np.random.default_rng(3)
LABELS = np.arange(90) % 3
X = RNG.normal(size=(90, 2)) + np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])[LABELS]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an installed package, as pip would leave it, whose module holds the code of the page."""
    folder = tmp_path_factory.mktemp("site-packages")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert len(blocks) == 4
    (folder / "toys.py").write_text("\n\n".join(blocks))
    metadata = folder / "toys-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n")
    table = re.search(r"```toml\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    group, entry = re.findall(r'"([\w.]+)"\]\n(.*)', table[1])[0]
    (metadata / "entry_points.txt").write_text(f"[{group}]\n{entry.replace(chr(34), '')}\n")
    return folder


@pytest.fixture
def installed(package: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package can be found, but has not been imported."""
    monkeypatch.syspath_prepend(package)
    load_plugins.cache_clear()
    yield
    forget()
    load_plugins.cache_clear()


@pytest.fixture
def toys(installed: None) -> ModuleType:
    """The module, imported."""
    return import_module("toys")


def write_table(folder: Path) -> Path:
    """Write data and labels to a CSV file."""
    lines = [f"{a!r},{b!r},{label}" for (a, b), label in zip(X.tolist(), LABELS, strict=True)]
    (folder / "table.csv").write_text("\n".join(["a,b,group", *lines]))
    return folder / "table.csv"


def forget() -> None:
    for name, registry in NAMES.items():
        if name in registry:
            registry.remove(name)
    for name in ("Stretched", "Cube", "Grid"):
        Parameters._by_name.pop(name, None)
    sys.modules.pop("toys", None)


def test_the_code_on_the_page_runs(toys):
    assert toys.result.n_points == 60
    assert set(toys.result.engine) <= {"grid", "hit-and-run", "closed-form", "limit"}


def test_an_influence(toys):
    stretched = affinity(X, LABELS, influence=toys.Stretched(factor=3.0))
    np.testing.assert_allclose(stretched.affinity, affinity(X * [3.0, 1.0], LABELS).affinity, atol=1e-9)
    assert stretched.how.influence == "Stretched(factor=3.0)"
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
    by_grid = counted.engine == "grid"
    assert by_grid.sum() > 60
    assert np.abs(counted.affinity - exact.affinity)[by_grid].max() < 0.05
    far_too_many = RNG.normal(size=(20, 9))
    with pytest.raises(ValueError, match="engine='grid' needs a bounded domain of at most three dimensions"):
        affinity(far_too_many, np.arange(20) % 8, engine="grid")


def test_all_three_with_an_estimator(toys, tmp_path):
    settings = {"influence": toys.Stretched(3.0), "domain": toys.Cube(0.1), "engine": toys.Grid(40), "eps": 0.2}
    scorer = AffinityScorer(KMeans(3, n_init=1, random_state=0), **settings).fit(X)
    again = clone(scorer).fit(X)
    np.testing.assert_array_equal(again.transform(X), scorer.transform(X))
    copied = pickle.loads(pickle.dumps(scorer))
    np.testing.assert_array_equal(copied.transform(X), scorer.transform(X))
    scorer.save(tmp_path / "toy.scorer")
    loaded = AffinityScorer.load(tmp_path / "toy.scorer")
    np.testing.assert_array_equal(loaded.transform(X), scorer.transform(X))
    assert (loaded.influence, loaded.domain, loaded.engine) == (toys.Stretched(3.0), toys.Cube(0.1), toys.Grid(40))


def test_in_a_search(toys):
    grid = {"influence__factor": [0.5, 1.0, 2.0]}
    scorer = AffinityScorer(KMeans(3, n_init=1, random_state=0), influence=toys.Stretched())
    search = GridSearchCV(scorer, grid, scoring=lambda found, X: found.affinity(X).own_affinity.mean(), cv=2).fit(X)
    assert search.best_estimator_.influence == toys.Stretched(search.best_params_["influence__factor"])


def test_with_trust_and_from_a_stream(toys, tmp_path):
    result = trust(X, LABELS, influence="stretched", n_resamples=3)
    assert ((result.trust >= 0) & (result.trust <= 1)).all()
    table = write_table(tmp_path)
    streamed = fit_stream(table, AffinityScorer(influence="stretched"), labels="group", batch_rows=40)
    whole = AffinityScorer(influence="stretched").fit(X, LABELS)
    frame = pd.DataFrame(X, columns=["a", "b"])
    np.testing.assert_allclose(streamed.transform(frame), whole.transform(X), atol=1e-12)


def test_by_name_alone(installed):
    """An installed package is found by the name of what it brings."""
    assert "toys" not in sys.modules
    affinity(X, LABELS, influence="stretched")
    assert "toys" in sys.modules
    assert "cube" in DOMAINS


def test_a_saved_scorer_finds_its_classes(toys, tmp_path):
    """In a process that has not imported the package: kinds by name and as objects."""
    scorer = AffinityScorer(influence=toys.Stretched(3.0), domain="cube").fit(X, LABELS)
    scorer.save(tmp_path / "toy.scorer")
    expected = scorer.transform(X)
    forget()
    load_plugins.cache_clear()
    np.testing.assert_array_equal(AffinityScorer.load(tmp_path / "toy.scorer").transform(X), expected)


def test_on_the_command_line(installed, tmp_path):
    kinds = ["--influence", "stretched:factor=3", "--domain", "cube:margin=0.1"]
    command = ["score", write_table(tmp_path), "--labels", "group", *kinds, "--no-calibration", "--details"]
    call(*command, "-o", tmp_path / "out.csv")
    toys = sys.modules["toys"]
    expected = affinity(X, LABELS, influence=toys.Stretched(3), domain=toys.Cube(0.1)).affinity
    table = pyarrow.csv.read_csv(tmp_path / "out.csv")
    found = np.column_stack([table[f"affinity_{name}"] for name in range(3)])
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert "stretched (factor)" in " ".join(call("score", "--help").stdout.split())
    refused = call(*command[:4], "--engine", "gird", code=2).stderr
    assert "'grid'" in refused


def test_messages_and_refusals_know_the_new_kinds(toys):
    with pytest.raises(ValueError, match=r"influence must be one of 'euclidean'.*'stretched', got 'stretchd'"):
        affinity(X, LABELS, influence="stretchd")


def test_afterwards_they_are_gone():
    for name, registry in NAMES.items():
        assert name not in registry
    with pytest.raises(ValueError, match="must be one of"):
        affinity(X, LABELS, influence="stretched")
