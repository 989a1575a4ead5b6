"""What ``make matrix`` skips, it skips by name."""

from __future__ import annotations

import sys

import pytest

from release import matrix


@pytest.fixture
def failing(monkeypatch):
    """Replace the commands of the matrix: those with one of these words fail."""
    words: set[str] = set()
    monkeypatch.setattr(matrix, "run", lambda *command: not words & set(command))
    monkeypatch.setattr(matrix, "find_interpreter", lambda version: None if version == "3.12" else sys.executable)
    return words


def outcome(monkeypatch, capsys, *arguments: str) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["matrix.py", *arguments])
    return matrix.main(), capsys.readouterr().out


def test_what_is_missing_is_skipped_by_name(failing, monkeypatch, capsys):
    failing |= {"--group", "scanpy>=1.10"}
    failed, said = outcome(monkeypatch, capsys)
    assert failed == 0
    assert "Python 3.12                    skipped: no such interpreter" in said
    assert "Python 3.13                    passed, without scanpy>=1.10" in said


@pytest.mark.parametrize(("word", "reason"), [("pytest", "failed"), ("venv", "failed: no environment")])
def test_failures_are_counted(failing, monkeypatch, capsys, word, reason):
    failing.add(word)
    failed, said = outcome(monkeypatch, capsys, "--jobs", "3.11,lowest")
    assert failed == 2
    assert f"lowest versions   {reason}" in said


def test_an_unknown_job_is_refused(failing, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        outcome(monkeypatch, capsys, "--jobs", "3.11,highest")
