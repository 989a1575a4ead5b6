"""What ``make matrix`` skips, it skips by name."""

from __future__ import annotations

import sys

import pytest

from release import matrix


@pytest.fixture
def commands(monkeypatch):
    """Return the list of commands that were run; those with a word of ``failing`` in them fail."""
    found: list[tuple[str, ...]] = []
    failing = {"no such word"}

    def run(*command: str) -> bool:
        found.append(command)
        return not failing & set(command)

    monkeypatch.setattr(matrix, "run", run)
    monkeypatch.setattr(matrix, "find_interpreter", lambda version: None if version == "3.12" else sys.executable)
    return found, failing


def outcome(monkeypatch, capsys, *arguments: str) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["matrix.py", *arguments])
    return matrix.main(), capsys.readouterr().out


def test_interpreters_that_are_missing_are_skipped(commands, monkeypatch, capsys):
    failed, said = outcome(monkeypatch, capsys)
    assert failed == 0
    assert said.split("\n")[1:-1] == [
        "Python 3.11                    passed",
        "Python 3.12                    skipped: no such interpreter",
        "Python 3.13                    passed",
        "Python 3.11, lowest versions   passed",
    ]


def test_libraries_without_a_build_are_skipped_and_the_rest_is_tested(commands, monkeypatch, capsys):
    found, failing = commands
    failing |= {"--group", "scanpy>=1.10"}
    failed, said = outcome(monkeypatch, capsys, "--jobs", "3.13", "tests/x")
    assert failed == 0
    assert "Python 3.13                    passed, without scanpy>=1.10" in said
    assert found[-1][-1] == "tests/x"


@pytest.mark.parametrize(("word", "reason"), [("pytest", "failed"), ("venv", "failed: no environment")])
def test_failures_are_counted(commands, monkeypatch, capsys, word, reason):
    commands[1].add(word)
    failed, said = outcome(monkeypatch, capsys, "--jobs", "3.11,lowest")
    assert failed == 2
    assert f"lowest versions   {reason}" in said


def test_jobs_that_do_not_exist_are_named(commands, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        outcome(monkeypatch, capsys, "--jobs", "3.11,highest")
    assert "--jobs 3.11,highest: choose among 3.11, 3.12, 3.13, lowest" in capsys.readouterr().err
    assert commands[0] == []


def test_a_version_that_does_not_exist_has_no_interpreter():
    assert matrix.find_interpreter("3.0") is None
