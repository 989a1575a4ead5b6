"""The reference lists every public name, each exists, and pages show types and defaults."""

from __future__ import annotations  # the pages have annotations as they are written

import inspect
import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import pytest

import allegiance
from allegiance import AffinityResult, trust
from allegiance.influence import Kernel

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))

from docstrings import add_types, described_type, hide_constructor

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


def function(a, b: Any = None, c: float | Literal["verdict"] = 0.03, d: Callable[[Any], Any] | None = None):
    """Has one parameter of each kind."""


def test_type_and_default_come_from_the_signature():
    described = [described_type(one).replace("'", '"') for one in inspect.signature(function).parameters.values()]
    assert described == ["", "default=None", 'float or "verdict", default=0.03', "callable, default=None"]


def test_types_follow_the_names_of_parameters_only():
    lines = inspect.getdoc(trust).splitlines()
    typed = lines.copy()
    add_types(None, "function", "trust", trust, None, typed)
    changed = {old: new for old, new in zip(lines, typed, strict=True) if old != new}
    assert changed["n_resamples"] == "n_resamples : int, default=None"
    assert changed.keys() <= {*inspect.signature(trust).parameters}


def test_constructors_are_shown_for_classes_that_users_construct():
    assert hide_constructor(None, "class", "", Kernel) is None
    assert hide_constructor(None, "class", "", AffinityResult) == ("", None)
