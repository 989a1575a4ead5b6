"""Types and defaults on the pages of the reference."""

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from allegiance import AffinityResult, trust
from allegiance.influence import Kernel

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))

from docstrings import add_types, described_type, hide_constructor


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
