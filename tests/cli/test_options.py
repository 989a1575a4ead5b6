"""Options: their help reads alone, the page about them is complete, and kinds come from the registries."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
import pytest

from allegiance import trust
from allegiance._core import Registry
from allegiance.cli._kinds import registry_of
from allegiance.cli._main import program
from allegiance.cli._options import REPRESENTATIVES
from allegiance.influence import Euclidean
from allegiance.io._old_tables import open_source
from cli.command import call

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
KINDS = ["influence", "weights", "domain", "engine"]


def options(command):
    return [option for option in program.commands[command].params if isinstance(option, click.Option)]


@pytest.mark.parametrize("command", sorted(program.commands))
def test_the_page_has_every_option(command):
    text = PAGE.read_text()
    missing = [name for option in options(command) for name in option.opts if f"`{name}" not in text]
    assert missing == []


@pytest.mark.parametrize("command", sorted(program.commands))
def test_help_can_be_read_alone(command):
    """A sentence of several words, which does not need the name of the option to make sense."""
    for option in options(command):
        said = re.sub(r"\s*\[default.*", "", option.help or "")
        assert len(said.split()) >= 3, (option.name, said)
        assert said.endswith((".", "%.")), (option.name, said)
        assert said.split()[0] not in ("Of", "Its", "Times", "Or", "And", "For"), (option.name, said)


@pytest.mark.parametrize("argument", KINDS)
def test_help_lists_the_kinds_that_the_library_knows(argument):
    text = re.sub(r"\s+", "", call("score", "--help").stdout)
    registry = registry_of(argument)
    assert isinstance(registry, Registry)
    assert re.sub(r"\s+", "", registry.described()) in text


def test_representatives_are_those_of_the_library():
    from allegiance.fitting import _representatives

    assert _representatives.REPRESENTATIVES == REPRESENTATIVES


@dataclass(frozen=True, eq=False, repr=False)
class Stretched(Euclidean):
    """A kind from outside the package: it changes nothing, but it has a parameter."""

    factor: float = 1.0

    def describe(self) -> str:
        """Say what it is."""
        return f"stretched {self.factor:g}"


@pytest.fixture
def stretched():
    """Register a kind of influence for the time of a test."""
    registry = registry_of("influence")
    registry.register("stretched")(Stretched)
    yield
    del registry._makers["stretched"]


def test_a_kind_from_outside_appears_and_works(stretched, flowers, points, tmp_path):
    X, groups = points
    assert "stretched(factor)" in re.sub(r"\s+", "", call("score", "--help").stdout)
    words = ["score", flowers, "--labels", "species", "--id", "name", "--influence", "stretched:factor=2"]
    result = call(*words, "-v", "-o", tmp_path / "scores.csv")
    assert "stretched 2" in result.stdout
    expected = trust(X, groups, influence="euclidean")
    np.testing.assert_array_equal(open_source(tmp_path / "scores.csv").read()["trust"], expected.trust)
    completed = program.commands["score"].params
    [option] = [option for option in completed if option.name == "influence"]
    found = option.type.shell_complete(click.Context(program), option, "str")
    assert [item.value for item in found] == ["stretched"]
