"""The reproduction is a user of the package: it imports only public names. The examples in its docstrings run."""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

import reproduction


def test_no_private_module_of_the_package_is_imported():
    sources = [path.read_text() for path in Path(reproduction.__file__).parent.rglob("*.py")]
    assert [
        name for text in sources for name in re.findall(r"^\s*(?:from|import) allegiance\S*\._\w+", text, re.M)
    ] == []


@pytest.mark.parametrize("module", ["datasets"])
def test_examples_run_and_are_right(module):
    result = doctest.testmod(import_module(f"reproduction.{module}"))
    assert result.attempted > 0
    assert result.failed == 0
