"""Is the package ready to be released? ``make release-check``.

Builds the source distribution and, from it, the wheel; checks their metadata, what they hold and what they do not;
installs the wheel into empty environments without and with the extras, and uses it there. Versions agree everywhere.
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
FOREIGN = ("tests/", "benchmarks/", "reproduction/", "docs/", "examples/", "release/")
#: Files that are not Python and must come along.
NEEDED = ("py.typed", "report/templates/report.html.j2", "report/static/report.css")


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
        for name, extras in (("core", ""), ("all", "[all]")):
            python = new_environment(Path(folder) / name)
            run(python, "-m", "pip", "install", "--quiet", f"{wheel}{extras}")
            run(python, HERE / "smoke.py", *(["--extras"] if extras else []), cwd=folder)
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
    missing = [name for name in NEEDED if f"allegiance/{name}" not in names]
    assert not missing, f"missing in the wheel: {missing}"
    with tarfile.open(sdist) as archive:
        kept = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "tests/conftest.py", "pyproject.toml"} <= kept


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
