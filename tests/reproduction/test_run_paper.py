"""Running the paper's experiments: caching, skipping, and the page. The experiments here are made up."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

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
            asks="What the paper did.",
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
    run_paper(tmp_path, only=["ratios"], fresh=True)
    assert made_up["ratios"].runs == 3


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
