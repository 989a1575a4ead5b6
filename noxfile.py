"""Test sessions on every supported Python: ``make matrix``, or ``nox -s tests-3.13 lowest``.

Locally, nox skips interpreters that are not installed. Arguments after ``--`` go to pytest.
"""

from __future__ import annotations

import os
from pathlib import Path

import nox

nox.options.sessions = ["tests", "lowest"]
nox.options.error_on_missing_interpreters = bool(os.environ.get("CI_MATRIX"))

# pyenv keeps interpreters off the PATH unless they are active.
_PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
os.environ["PATH"] = os.pathsep.join([os.environ["PATH"], *map(str, sorted(_PYENV.glob("3.*/bin")))])

EVERYDAY = ["-m", "not slow and not scaffold", "-q"]


def run_tests(session: nox.Session, *constraints: str, pytest_options: tuple[str, ...] = ()) -> None:
    """Install the package as users do, with the test dependencies, and run the everyday tests."""
    session.install("--upgrade", "pip>=25.1")
    session.install(".[all]", "--group", "test", *constraints)
    session.run("python", "-m", "pytest", "-n", "2", "--dist", "loadfile", *EVERYDAY, *pytest_options, *session.posargs)


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def tests(session: nox.Session) -> None:
    """Run the everyday tests with the newest dependencies."""
    run_tests(session)


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """Run the everyday tests with the lowest versions in pyproject.toml, which may warn about newer libraries."""
    run_tests(session, "--constraint", "release/lowest.txt", pytest_options=("-W", "default"))


@nox.session(python="3.13")
def canary(session: nox.Session) -> None:
    """Run the everyday tests with pre-releases of numba, NumPy and scikit-learn."""
    session.install("--upgrade", "pip>=25.1")
    session.install(".[all]", "--group", "test")
    session.install("--pre", "--upgrade", "numba", "numpy", "scikit-learn")
    session.run("python", "-m", "pytest", "-n", "2", *EVERYDAY, "-W", "default", *session.posargs)
