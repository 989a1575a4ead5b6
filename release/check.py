"""Is the package ready to be released? ``make release-check``.

Builds the source distribution and, from it, the wheel; checks their metadata, what they hold and what they do not;
installs the wheel into empty environments without and with extras, and uses it there. Versions agree everywhere.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(__file__).parent
#: Nothing of these belongs into a wheel.
FOREIGN = ("tests/", "attacks/", "benchmarks/", "reproduction/", "docs/", "examples/", "release/")


def main() -> None:
    """Build, look inside, install, use."""
    version = stated_version()
    with tempfile.TemporaryDirectory() as folder:
        dist = Path(folder) / "dist"
        run(sys.executable, "-m", "build", "--outdir", dist, ROOT)
        run(sys.executable, "-m", "twine", "check", "--strict", *dist.iterdir())
        (wheel,) = dist.glob("*.whl")
        (sdist,) = dist.glob("*.tar.gz")
        look_inside(wheel, sdist, version)
        for name, extras in (("core", ""), ("cli", "[cli]"), ("all", "[all]")):
            python = new_environment(Path(folder) / name)
            run(python, "-m", "pip", "install", "--quiet", f"{wheel}{extras}")
            run(python, "-m", "pip", "check")
            run(python, HERE / "smoke.py", name, cwd=folder)
    print(f"allegiance {version} is ready to be released.")


def stated_version() -> str:
    """Return the version, which the package states; the citation file must name the same."""
    source = (ROOT / "src" / "allegiance" / "__init__.py").read_text()
    version = re.search(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    assert version is not None
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is not None
    assert cited[1] == version[1], f"CITATION.cff says {cited[1]}, the package {version[1]}"
    assert f"## [{version[1]}]" in (ROOT / "CHANGELOG.md").read_text(), f"CHANGELOG.md lacks {version[1]}"
    return version[1]


def look_inside(wheel: Path, sdist: Path, version: str) -> None:
    """Check names and contents of what was built."""
    assert wheel.name == f"allegiance-{version}-py3-none-any.whl", wheel.name
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert not [name for name in names if name.startswith(FOREIGN)]
    kept_back = {path.relative_to(ROOT / "src").as_posix() for path in tracked("src")} - set(names)
    assert not kept_back, f"missing in the wheel: {sorted(kept_back)}"
    assert sdist.name == f"allegiance-{version}.tar.gz", sdist.name
    with tarfile.open(sdist) as archive:
        kept = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "tests/conftest.py", "pyproject.toml"} <= kept
    assert not [name for name in kept if name.startswith(("out/", "dist/", ".venv/"))]


def tracked(folder: str) -> list[Path]:
    """Return the files of a folder that belong to the project."""
    listed = subprocess.run(["git", "ls-files", "-z", folder], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name]


def new_environment(folder: Path) -> Path:
    """Return the interpreter of an empty environment."""
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


def run(*command: object, cwd: str | Path = ROOT) -> None:
    """Run a command, and stop here if it fails."""
    print("$", *(str(word) for word in command), flush=True)
    subprocess.run([str(word) for word in command], check=True, cwd=cwd)


if __name__ == "__main__":
    main()
