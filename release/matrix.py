"""Run the everyday tests on every promised Python, and with the lowest versions of dependencies: ``make matrix``.

Interpreters are looked for on the PATH and under pyenv; one that is not there is skipped by name. Each gets an
environment of its own in ``out/matrix``. Arguments go to pytest: ``python release/matrix.py tests/engines``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENTS = ROOT / "out" / "matrix"
LOWEST = Path(__file__).parent / "lowest.txt"
VERSIONS = ("3.11", "3.12", "3.13")


def main(arguments: list[str]) -> int:
    """Run all jobs, and return how many failed."""
    outcomes = {}
    for version in VERSIONS:
        interpreter = find_interpreter(version)
        if interpreter is None:
            outcomes[f"Python {version}"] = "skipped: no such interpreter"
            continue
        outcomes[f"Python {version}"] = run_tests(interpreter, version, [], arguments)
        if version == VERSIONS[0]:
            # Old versions of other packages warn about new ones: that is not ours to mend.
            outcomes[f"Python {version}, lowest versions"] = run_tests(
                interpreter, "lowest", ["--constraint", str(LOWEST)], ["-W", "default", *arguments]
            )
    print()
    for job, outcome in outcomes.items():
        print(f"{job:<30} {outcome}")
    return sum(outcome.startswith("failed") for outcome in outcomes.values())


def find_interpreter(version: str) -> str | None:
    """Return an interpreter of a version; None if there is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    known = sorted(pyenv.glob(f"{version}.*/bin/python"))
    candidates = [shutil.which(f"python{version}"), *map(str, known)]
    return next((path for path in candidates if path and _answers(path, version)), None)


def _answers(path: str, version: str) -> bool:
    """Say whether an interpreter runs and is of the version: pyenv has shims for versions that are not active."""
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.startswith(f"Python {version}.")


def run_tests(interpreter: str, name: str, constraint: list[str], arguments: list[str]) -> str:
    """Install the project and what its tests need into an environment, run the tests, and say how it went."""
    folder = ENVIRONMENTS / name
    python = str(folder / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for command in (
        [interpreter, "-m", "venv", str(folder)],
        [*install, "--upgrade", "pip>=25.1"],
        [*install, *constraint, "--editable", f"{ROOT}[all]", "--group", "test"],
        [python, "-m", "pytest", "-n", "2", "-m", "not slow", "-q", *arguments],
    ):
        print("$", *command, flush=True)
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            return f"failed: {' '.join(command[1:4])} ..."
    return "passed"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
