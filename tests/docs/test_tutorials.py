"""The tutorials are notebooks: they run from top to bottom, quietly, and show what they promise."""

from pathlib import Path

import pytest

jupytext = pytest.importorskip("jupytext")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
#: What the outputs of each must hold, and the packages it needs.
PROMISED = {
    "digits": (["allegiance-card", "<iframe srcdoc=", "image/png", "above chance"], ["matplotlib"]),
    "documents": (["allegiance-card", "replication", "words"], ["umap", "hdbscan"]),
    "cells": (["Leiden(", "CD34+", "image/png", "cells.html"], ["scanpy"]),
}
#: Libraries warn about each other; what a reader would see as red is not wanted.
pytestmark = pytest.mark.filterwarnings("ignore")


def test_every_tutorial_is_run():
    """Those that are notebooks; the code of the others runs with that of all pages."""
    notebooks = [path for path in TUTORIALS.glob("*.md") if "jupytext" in path.read_text()]
    assert {path.stem for path in notebooks} == set(PROMISED)


@pytest.mark.parametrize(
    "name", [name if name == "digits" else pytest.param(name, marks=pytest.mark.slow) for name in PROMISED]
)
def test_runs_and_shows_what_it_promises(name, tmp_path):
    promised, needed = PROMISED[name]
    for package in needed:
        pytest.importorskip(package)
    notebook = jupytext.read(TUTORIALS / f"{name}.md")
    client = nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    said = [output["text"] for output in outputs if output.get("name") == "stderr"]
    assert not said
    shown = " ".join(str(output.get("data", output.get("text", ""))) for output in outputs)
    for text in promised:
        assert text in shown, text
