"""The notebooks among the tutorials run without messages and show their results."""

from pathlib import Path

import pytest

jupytext = pytest.importorskip("jupytext")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
#: Texts that the outputs of each notebook must contain, and the packages it needs.
NOTEBOOKS = {
    "digits": (["allegiance-card", "<iframe srcdoc=", "image/png", "above chance"], ["matplotlib"]),
    "documents": (["allegiance-card", "replication", "words"], ["umap", "hdbscan"]),
    "cells": (["Leiden(", "CD34+", "image/png", "cells.html"], ["scanpy"]),
}
#: Libraries warn about each other.
pytestmark = pytest.mark.filterwarnings("ignore")


def test_every_notebook_is_run():
    notebooks = {path.stem for path in TUTORIALS.glob("*.md") if "jupytext" in path.read_text()}
    assert notebooks == set(NOTEBOOKS)


@pytest.mark.parametrize(
    "name", [name if name == "digits" else pytest.param(name, marks=pytest.mark.slow) for name in NOTEBOOKS]
)
def test_runs_without_messages_and_shows_its_results(name, tmp_path):
    expected, packages = NOTEBOOKS[name]
    for package in packages:
        pytest.importorskip(package)
    notebook = jupytext.read(TUTORIALS / f"{name}.md")
    client = nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert [output["text"] for output in outputs if output.get("name") == "stderr"] == []
    content = " ".join(str(output.get("data", output.get("text", ""))) for output in outputs)
    for text in expected:
        assert text in content
