"""Running the paper's experiments: what is kept, skipped, resumed and written. The experiments here are made up."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from reproduction.framework import EXPERIMENTS, Check, Finding, Picture, Section, Table, run_paper

PNG = b"\x89PNG made up"


class Experiment:
    """A made-up experiment that counts its runs."""

    def __init__(self, title="Made up", error=None, picture=True):
        self.title, self.error, self.picture = title, error, picture
        self.runs = 0

    def run(self, setup):
        self.runs += 1
        if self.error is not None:
            raise self.error
        pictures = ()
        if self.picture:
            setup.pictures.mkdir(parents=True, exist_ok=True)
            (setup.pictures / "made_up.png").write_bytes(PNG)
            pictures = (Picture("made_up.png", "a picture"),)
        return Section(
            title=self.title,
            asks="What the paper did.",
            tables=(Table(("paper", "ours"), (("1 | 2", f"{setup.n_seeds} seeds"),), "a caption"),),
            pictures=pictures,
            findings=(
                Finding("it holds", (Check("gain", 0.5, ">", 0.25, ".2f"),), "seen"),
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


def test_the_page_keeps_what_another_run_finished(made_up, tmp_path):
    run_paper(tmp_path, only=["ratios"])
    outcomes = run_paper(tmp_path, only=["maps"], fresh=True)
    assert [outcome.name for outcome in outcomes] == ["maps"]
    assert made_up["ratios"].runs == 1
    page = (tmp_path / "paper.md").read_text()
    assert page.index("Made up maps") < page.index("Made up ratios")


@pytest.mark.parametrize("change", ["seeds", "fresh", "picture gone", "half a file"])
def test_runs_again_when_what_is_kept_does_not_serve(change, made_up, tmp_path):
    run_paper(tmp_path, only=["maps"])
    settings = {"seeds": {"n_seeds": 2}, "fresh": {"fresh": True}}.get(change, {})
    if change == "picture gone":
        (tmp_path / "images" / "paper" / "made_up.png").unlink()
    if change == "half a file":
        kept = tmp_path / "finished" / "maps.json"
        kept.write_text(kept.read_text()[:50])
    run_paper(tmp_path, only=["maps"], **settings)
    assert made_up["maps"].runs == 2


def test_an_experiment_without_its_data_is_skipped_by_name(made_up, tmp_path):
    made_up["digits"].error = FileNotFoundError("MNIST was not found. Put it there.")
    outcomes = run_paper(tmp_path, only=["maps", "digits"])
    assert [outcome.section is None for outcome in outcomes] == [False, True]
    page = (tmp_path / "paper.md").read_text()
    assert "Skipped: digits" in page
    assert "MNIST was not found. Put it there." in page
    made_up["digits"].error = None
    assert run_paper(tmp_path, only=["digits"])[0].section is not None


def test_an_interrupted_run_leaves_the_page_of_what_it_finished(made_up, tmp_path):
    made_up["maps"].error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        run_paper(tmp_path)
    assert "Made up distance" in (tmp_path / "paper.md").read_text()
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".")]
    made_up["maps"].error = None
    run_paper(tmp_path)
    assert (made_up["distance"].runs, made_up["maps"].runs, made_up["growth"].runs) == (1, 2, 1)


def test_the_page_shows_tables_pictures_findings_and_remarks(made_up, tmp_path):
    run_paper(tmp_path, only=["maps"], n_seeds=4)
    page = (tmp_path / "paper.md").read_text()
    assert "| 1 \\| 2 | 4 seeds |" in page
    assert "| it always holds | **no** | loss 50.0%, needs <= 25.0% | not always |" in page
    assert "![a picture](images/paper/made_up.png)" in page
    assert "a remark" in page
    assert "a caption" in page


def test_steps_of_an_experiment_are_kept_until_it_is_run_afresh(made_up, tmp_path):
    computed = []

    def run(setup):
        for step in ("a", "b"):
            setup.store.once(f"maps/{step}", lambda: computed.append(step) or step)  # noqa: B023
        return Experiment.run(made_up["maps"], setup)

    made_up["maps"].error = KeyboardInterrupt()
    sys.modules["reproduction.experiments.maps"].run = run
    with pytest.raises(KeyboardInterrupt):
        run_paper(tmp_path, only=["maps"])
    made_up["maps"].error = None
    run_paper(tmp_path, only=["maps"])
    assert computed == ["a", "b"]
    run_paper(tmp_path, only=["maps"], fresh=True)
    assert computed == ["a", "b"] * 2
