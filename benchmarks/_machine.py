"""Where and on what code a benchmark ran: printed above the table and written into every result file."""

import hashlib
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from joblib import cpu_count

import allegiance

ROOT = Path(__file__).resolve().parents[1]
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "hopsy")


def describe_machine() -> dict[str, Any]:
    """Return processor, cores, memory, load, versions and commit."""
    return {
        "cpu": _cpu_model(),
        "cores": cpu_count(),
        "memory_gb": round(_memory_bytes() / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "python": platform.python_version(),
        "versions": {name: installed_version(name) or "not installed" for name in _LIBRARIES},
        "commit": _commit(),
        "source": _source_hash(),
    }


def installed_version(name: str) -> str | None:
    """Return the version of a distribution, None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def machine_lines(machine: dict[str, Any]) -> str:
    """Return the machine as a few lines of text."""
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    load = ", ".join(f"{value:.2f}" for value in machine["load_average"])
    return "\n".join(
        [
            f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, {machine['system']}; load {load}",
            f"Python {machine['python']}; {versions}",
            f"commit {machine['commit'][:12]}, source {machine['source']}",
        ]
    )


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory_bytes() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return 0


def _commit() -> str:
    """Return the commit that is checked out; changes on top show in the source hash."""
    try:
        head = subprocess.check_output(["git", "-C", ROOT, "rev-parse", "HEAD"], text=True, stderr=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.strip()


def _source_hash() -> str:
    """Return a short hash of the imported package's source: two runs with the same one measured the same code."""
    package = Path(allegiance.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
