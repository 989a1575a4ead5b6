"""Errors of the library speak Python; the command line says the same in its own words."""

from __future__ import annotations

import ast
import pickle
import re
from pathlib import Path

import pytest

import allegiance.io
from allegiance.cli._remedies import REMEDIES as COMMAND
from allegiance.cli._remedies import error_in_words_of_the_command
from allegiance.io import REMEDIES, OutputExistsError, TableError


def test_every_remedy_has_words_for_both():
    assert COMMAND.keys() == REMEDIES.keys()
    assert all(text.endswith(".") for text in [*COMMAND.values(), *REMEDIES.values()])
    assert not [text for text in REMEDIES.values() if "--" in text]
    assert not [text for text in COMMAND.values() if re.search(r"\w=", text)]


@pytest.mark.parametrize("kind", [TableError, OutputExistsError])
def test_an_error_keeps_its_remedy(kind):
    error = pickle.loads(pickle.dumps(kind("out.csv exists already.", "force")))
    assert str(error) == "out.csv exists already. Choose another name, or pass force=True."
    assert (
        error_in_words_of_the_command(error)
        == "out.csv exists already. Choose another name, or replace it with --force."
    )
    assert isinstance(error, ValueError if kind is TableError else FileExistsError)
    assert kind("only this").remedy is None


def texts_of(path: Path) -> list[str]:
    """Return the texts in a module that are not docstrings."""
    tree = ast.parse(path.read_text())
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docs]
    return [node.value for node in constants if isinstance(node.value, str)]


def test_no_text_of_the_library_names_an_option_of_the_command():
    modules = sorted(Path(allegiance.io.__file__).parent.rglob("*.py"))
    assert len(modules) > 20
    flagged = [(path.name, text) for path in modules for text in texts_of(path) if re.search(r"(^|\W)--\w", text)]
    assert not flagged
