"""Run the everyday tests on every promised Python, and with the lowest versions of dependencies: ``make matrix``.

Interpreters are looked for on the PATH and under pyenv; one that is not there is skipped by name, and so is a library
that only tests need and that has no build for an interpreter. Each job gets an environment of its own in
``out/matrix``, with the package as users install it. ``--jobs`` chooses among the jobs, other arguments go to pytest::

    python release/matrix.py --jobs 3.13,lowest -n 1 tests/engines
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENTS = ROOT / "out" / "matrix"
LOWEST = Path(__file__).parent / "lowest.txt"
VERSIONS = ("3.11", "3.12", "3.13")
#: The Python of each job.
JOBS = {version: version for version in VERSIONS} | {"lowest": VERSIONS[0]}


def main() -> int:
    """Run the jobs, and return how many failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", default=",".join(JOBS), help=f"Some of {', '.join(JOBS)}, with commas.")
    chosen, arguments = parser.parse_known_args()
    jobs = chosen.jobs.split(",")
    if not set(jobs) <= set(JOBS):
        parser.error(f"--jobs {chosen.jobs}: choose among {', '.join(JOBS)}, with commas between them.")
    outcomes = {}
    for job in jobs:
        interpreter = find_interpreter(JOBS[job])
        outcomes[job] = run_job(job, interpreter, arguments) if interpreter else "skipped: no such interpreter"
    print()
    for job, outcome in outcomes.items():
        name = f"Python {JOBS[job]}" + (", lowest versions" if job == "lowest" else "")
        print(f"{name:<30} {outcome}")
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


def run_job(job: str, interpreter: str, arguments: list[str]) -> str:
    """Install the project and what its tests need into an environment, run the tests, and say how it went."""
    folder = ENVIRONMENTS / job
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # Old versions of other libraries warn about new ones: that is not ours to mend.
    warnings = ["-W", "default"] if job == "lowest" else []
    tests = [python, "-m", "pytest", "-n", "2", "-m", "not slow and not scaffold", "-q", *warnings, *arguments]
    if not (run(interpreter, "-m", "venv", str(folder)) and run(*pip, "--upgrade", "pip>=25.1")):
        return "failed: no environment"
    missing = install([*pip, *(["--constraint", str(LOWEST)] if job == "lowest" else [])])
    if missing is None:
        return "failed: the package cannot be installed"
    without = f", without {', '.join(missing)}" if missing else ""
    return ("passed" if run(*tests) else "failed") + without


def install(pip: list[str]) -> list[str] | None:
    """Install the package and what its tests need; return what has no build here, None if the package has none."""
    if run(*pip, f"{ROOT}[all]", "--group", "test"):
        return []
    if not run(*pip, f"{ROOT}[all]"):
        return None
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["test"]
    return [library for library in needed if not run(*pip, "--only-binary", ":all:", library)]


def run(*command: str) -> bool:
    """Run a command in the project's folder, and return whether it succeeded."""
    print("$", *command, flush=True)
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
