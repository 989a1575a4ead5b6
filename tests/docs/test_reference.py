"""The reference lists every public name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import allegiance
from allegiance import displays

DOCS = Path(__file__).parents[2] / "docs"
LISTED = set(re.findall(r"^   ([\w.]+)$", (DOCS / "reference" / "index.md").read_text(), re.MULTILINE))


@pytest.mark.parametrize("name", [*allegiance.__all__, *(f"displays.{name}" for name in displays.__all__)])
def test_every_public_name_is_in_the_reference(name):
    module = type(getattr(allegiance, name, None)).__name__ == "module"
    assert module or name in LISTED


def test_names_of_other_projects_exist():
    """Inventories are kept by hand: a name that is gone there must go here."""
    pages = [DOCS / "inventories" / f"{project}.txt" for project in ("numpy", "scikit-learn")]
    for line in [line for page in pages for line in page.read_text().splitlines()[1:]]:
        module, _, name = line.split()[0].rpartition(".")
        assert hasattr(__import__(module, fromlist=[name]), name), line
