"""The reference lists every public name, and every name in it exists."""

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import allegiance

DOCS = Path(__file__).parents[2] / "docs"
LISTED = re.findall(r"^   ([\w.]+)$", (DOCS / "reference" / "index.md").read_text(), re.MULTILINE)


def test_every_public_name_is_in_the_reference():
    public = {name for name in allegiance.__all__ if not isinstance(getattr(allegiance, name), ModuleType)}
    public |= {f"displays.{name}" for name in allegiance.displays.__all__}
    assert public <= set(LISTED)


@pytest.mark.parametrize("name", LISTED)
def test_every_name_in_the_reference_exists(name):
    path, _, last = f"allegiance.{name}".rpartition(".")
    if path.startswith("allegiance.anndata"):
        pytest.importorskip("scanpy")
    assert getattr(import_module(path), last).__doc__


def test_names_of_other_projects_exist():
    """Inventories are kept by hand: a name that another project removes must be removed here."""
    pages = [DOCS / "inventories" / f"{project}.txt" for project in ("numpy", "scikit-learn")]
    for line in [line for page in pages for line in page.read_text().splitlines()[1:]]:
        module, _, name = line.split()[0].rpartition(".")
        assert hasattr(import_module(module), name), line
