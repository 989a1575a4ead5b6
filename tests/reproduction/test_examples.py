"""The examples in docstrings run and say the truth."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("module", ["against_distance", "datasets._five_gaussians", "datasets._iris"])
def test_examples_run_and_say_the_truth(module):
    found = doctest.testmod(import_module(f"reproduction.{module}"))
    assert found.attempted > 0
    assert found.failed == 0
