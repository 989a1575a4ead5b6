"""Running the paper: its data, caching, skipping, the page, and public names only."""

import os
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import reproduction
from reproduction import datasets
from reproduction.datasets import load_2d5c, load_3d5c, load_mnist_test, load_soybean
from reproduction.framework import EXPERIMENTS, Check, Finding, Picture, Section, Table, run_paper


class Experiment:
    """A made-up experiment that counts its runs."""

    def __init__(self, title):
        self.title, self.error, self.runs = title, None, 0

    def run(self, setup):
        self.runs += 1
        if self.error is not None:
            raise self.error
        setup.pictures.mkdir(parents=True, exist_ok=True)
        (setup.pictures / "made_up.png").write_bytes(b"\x89PNG made up")
        return Section(
            title=self.title,
            method="What the paper did.",
            tables=(Table(("paper", "ours"), (("1 | 2", f"{setup.n_seeds} seeds"),), "a caption"),),
            pictures=(Picture("made_up.png", "a picture"),),
            findings=(
                Finding("it holds", (Check("gain", 0.5, ">", 0.25, ".2f"),), "seen", "match"),
                Finding("it always holds", (Check("loss", 0.5, "<=", 0.25, ".1%"),), "not always"),
            ),
            remarks=("a remark",),
        )


@pytest.fixture
def made_up(monkeypatch):
    """Replace the modules of all experiments."""
    experiments = {name: Experiment(f"Made up {name}") for name in EXPERIMENTS}
    for name, experiment in experiments.items():
        module = ModuleType(name)
        module.run = experiment.run
        monkeypatch.setitem(sys.modules, f"reproduction.experiments.{name.replace('-', '_')}", module)
    return experiments


def test_the_page_keeps_finished_experiments_of_the_same_code_and_seeds(made_up, tmp_path):
    run_paper(tmp_path, only=["ratios"])
    (outcome,) = run_paper(tmp_path, only=["maps"])
    assert outcome.name == "maps"
    page = (tmp_path / "paper.md").read_text()
    assert page.index("Made up maps") < page.index("Made up ratios")
    run_paper(tmp_path, only=["ratios"])
    assert made_up["ratios"].runs == 1
    run_paper(tmp_path, only=["ratios"], n_seeds=2)
    assert made_up["ratios"].runs == 2


def test_changed_code_invalidates_the_cache(made_up, tmp_path, monkeypatch):
    run_paper(tmp_path, only=["maps"])
    monkeypatch.setattr("reproduction.framework.code_fingerprint", lambda: "changed")
    run_paper(tmp_path, only=["maps"])
    assert made_up["maps"].runs == 2


def test_an_experiment_without_its_data_is_skipped(made_up, tmp_path):
    made_up["digits"].error = FileNotFoundError("MNIST does not exist. Put it there.")
    outcomes = run_paper(tmp_path, only=["maps", "digits"])
    assert [outcome.section is None for outcome in outcomes] == [False, True]
    page = (tmp_path / "paper.md").read_text()
    assert "Skipped: digits" in page
    assert "Put it there." in page
    made_up["digits"].error = None
    assert run_paper(tmp_path, only=["digits"])[0].section is not None


def test_the_page_shows_claims_tables_pictures_and_remarks(made_up, tmp_path):
    run_paper(tmp_path, only=["maps"], n_seeds=4)
    page = (tmp_path / "paper.md").read_text()
    assert "**1 of 2 claims hold.**" in page
    assert "| 1 \\| 2 | 4 seeds |" in page
    assert (
        "| [it always holds](#made-up-maps) | **no** | none given | loss 50.0%, needs <= 25.0% | not always |" in page
    )
    assert "![a picture](images/paper/made_up.png)" in page
    assert "a remark" in page
    assert "a caption" in page


needs_files = pytest.mark.skipif(not os.environ.get("ALLEGIANCE_DATA"), reason="ALLEGIANCE_DATA is not set")


def test_sizes_and_centers_are_those_of_the_paper():
    np.testing.assert_array_equal(np.bincount(load_2d5c(500).reference), [100] * 5)
    np.testing.assert_array_equal(np.bincount(load_2d5c(2100).reference), [100, 500, 500, 500, 500])
    assert (load_2d5c(500).X.shape, load_3d5c().X.shape) == ((500, 2), (500, 3))
    np.testing.assert_array_equal(load_2d5c(2100).X[:500], load_2d5c(500).X)
    corners = load_3d5c().centers[1:]
    apart = np.linalg.norm(corners[:, None] - corners[None], axis=-1)[np.triu_indices(4, 1)]
    np.testing.assert_allclose(apart, np.sqrt(48))
    with pytest.raises(ValueError, match="n_points must be 500 or 2100"):
        load_2d5c(501)


@pytest.mark.parametrize("load", [load_2d5c, load_3d5c])
def test_draws_follow_seed_mean_and_spread(load):
    np.testing.assert_array_equal(load().X, load(random_state=0).X)
    assert (load(random_state=1).X != load().X).all()
    wide = load(spread=2.0)
    residual = wide.X - wide.centers[wide.reference]
    # 500 draws of each coordinate: standard errors of 0.09 and 0.06.
    np.testing.assert_allclose(residual.mean(axis=0), 0.0, atol=0.36)
    np.testing.assert_allclose(residual.std(axis=0), 2.0, atol=0.25)


@needs_files
def test_published_files_are_read():
    digits = load_mnist_test()
    assert digits.X.shape == (10_000, 784)
    assert digits.X.mean() / 255 == pytest.approx(0.13251, abs=5e-6)
    np.testing.assert_array_equal(
        np.bincount(digits.reference), [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    )
    plants = load_soybean()
    assert plants.X.shape == (47, 35)
    np.testing.assert_array_equal(np.bincount(plants.reference), [10, 10, 10, 17])


def test_missing_and_altered_files_are_rejected(tmp_path, monkeypatch):
    monkeypatch.setenv("ALLEGIANCE_DATA", str(tmp_path))
    for load, name in ((load_soybean, "soybean-small.data"), (load_mnist_test, "t10k-images-idx3-ubyte.gz")):
        with pytest.raises(FileNotFoundError, match=f"ALLEGIANCE_DATA.*{name}"):
            load()
    path = tmp_path / "soybean-small" / "soybean-small.data"
    path.parent.mkdir()
    path.write_text("0,1,D1\n")
    with pytest.raises(ValueError, match="truncated or altered"):
        datasets.load_soybean()


def test_no_private_module_of_the_package_is_imported():
    sources = [path.read_text() for path in Path(reproduction.__file__).parent.rglob("*.py")]
    assert [
        name for text in sources for name in re.findall(r"^\s*(?:from|import) allegiance\S*\._\w+", text, re.M)
    ] == []
