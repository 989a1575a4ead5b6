"""Check the release artifacts: ``make release-check``, with ``TAG=v0.1.0`` to compare the tag with the version.

Builds the sdist and, from it, the wheel into ``dist/``; checks their metadata and contents; installs the wheel into
empty environments with and without extras, and uses it there. These files are the ones to publish.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(__file__).parent
DIST = ROOT / "dist"
#: Folders that do not belong in a wheel.
EXCLUDED = ("tests/", "attacks/", "benchmarks/", "reproduction/", "docs/", "examples/", "release/")


def main() -> None:
    """Build, check, install and use the artifacts."""
    version = check_versions(os.environ.get("TAG"))
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    run(sys.executable, "-m", "twine", "check", "--strict", *DIST.iterdir())
    (wheel,) = DIST.glob("*.whl")
    (sdist,) = DIST.glob("*.tar.gz")
    check_contents(wheel, sdist, version)
    with tempfile.TemporaryDirectory() as folder:
        for name, extras in (("core", ""), ("cli", "[cli]"), ("all", "[all]")):
            python = new_environment(Path(folder) / name)
            run(python, "-m", "pip", "install", "--quiet", f"{wheel}{extras}")
            run(python, "-m", "pip", "check")
            run(python, HERE / "smoke.py", name, cwd=folder)
    print(f"allegiance {version} is ready to be published from {DIST.name}/.")


def check_versions(tag: str | None) -> str:
    """Return the package version; the citation file, the changelog and the tag must have the same."""
    source = (ROOT / "src" / "allegiance" / "__init__.py").read_text()
    version = re.search(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    assert version is not None
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is not None
    assert cited[1] == version[1], f"CITATION.cff says {cited[1]}, the package {version[1]}"
    assert f"## [{version[1]}]" in (ROOT / "CHANGELOG.md").read_text(), f"CHANGELOG.md lacks {version[1]}"
    assert tag in (None, "", f"v{version[1]}"), f"the tag is {tag}, the package version {version[1]}"
    return version[1]


def check_contents(wheel: Path, sdist: Path, version: str) -> None:
    """Check the names and contents of the artifacts."""
    assert wheel.name == f"allegiance-{version}-py3-none-any.whl", wheel.name
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert not [name for name in names if name.startswith(EXCLUDED)]
    missing = {path.relative_to(ROOT / "src").as_posix() for path in tracked("src")} - set(names)
    assert not missing, f"missing in the wheel: {sorted(missing)}"
    assert sdist.name == f"allegiance-{version}.tar.gz", sdist.name
    with tarfile.open(sdist) as archive:
        members = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "tests/conftest.py", "pyproject.toml"} <= members
    assert not [name for name in members if name.startswith(("out/", "dist/", ".venv/"))]


def tracked(folder: str) -> list[Path]:
    """Return the tracked files in a folder."""
    listed = subprocess.run(["git", "ls-files", "-z", folder], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name]


def new_environment(folder: Path) -> Path:
    """Return the interpreter of an empty environment."""
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


def run(*command: object, cwd: str | Path = ROOT) -> None:
    """Run a command and stop if it fails."""
    print("$", *(str(word) for word in command), flush=True)
    subprocess.run([str(word) for word in command], check=True, cwd=cwd)


if __name__ == "__main__":
    main()
