"""Workflows, the hook before a commit and the script before a change lands call targets of the Makefile."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from release.matrix import VERSIONS

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.MULTILINE))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def steps(workflow: Path) -> list[dict[str, Any]]:
    return [step for job in yaml.safe_load(workflow.read_text())["jobs"].values() for step in job["steps"]]


def promised_pythons() -> set[str]:
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    return {match[1] for line in classifiers if (match := re.fullmatch(r".*:: (3\.\d+)", line))}


def targets_of(command: str) -> set[str]:
    """Return the targets named in a ``make`` command, without its variables."""
    first, *words = command.split()
    assert first == "make", command
    return {word for word in words if "=" not in word}


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_only_make_targets_that_exist(workflow):
    commands = [line for step in steps(workflow) if "run" in step for line in step["run"].splitlines()]
    assert commands
    for command in commands:
        assert targets_of(command) <= TARGETS, command


def test_what_must_pass_before_a_change_lands_exists():
    commands = [line for line in (ROOT / ".ci" / "run").read_text().splitlines() if line.startswith("make ")]
    assert commands
    for command in commands:
        assert targets_of(command) <= TARGETS, command


def test_every_target_is_listed_by_help_and_declared_as_no_file():
    declared = re.search(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE)
    assert declared is not None
    assert set(declared[1].split()) == TARGETS
    assert set(re.findall(r"^([a-z-]+):.*##", MAKEFILE, re.MULTILINE)) == TARGETS


def test_the_hook_runs_make_lint_and_downloads_nothing():
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local"
    (hook,) = repository["hooks"]
    assert (hook["entry"], hook["language"], hook["pass_filenames"]) == ("make lint", "system", False)


def test_every_promised_python_is_tested():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())
    assert set(workflow["jobs"]["test"]["strategy"]["matrix"]["python"]) == promised_pythons()
    assert set(VERSIONS) == promised_pythons()
