"""Lower bounds live in pyproject.toml; the constraints file and the conda recipe repeat them."""

import re
import tomllib
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

import allegiance

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
METADATA = PROJECT["project"]
#: Names that differ on conda-forge, where matplotlib and dask are metapackages.
ON_CONDA = {"matplotlib": "matplotlib-base", "dask": "dask-core", "igraph": "python-igraph"}


def bounds(lines: list[str]) -> dict[str, Version]:
    """Return the one version that each line names, without our own extras."""
    versions = {}
    for requirement in map(Requirement, lines):
        if requirement.name != "allegiance":
            (specifier,) = requirement.specifier
            versions[requirement.name.lower()] = Version(specifier.version)
    return versions


CORE = bounds(METADATA["dependencies"])
COMMAND = bounds([line for extra in ("cli", "io") for line in METADATA["optional-dependencies"][extra]])
OPTIONAL = bounds([line for lines in METADATA["optional-dependencies"].values() for line in lines])
GROUPS = {name: bounds(lines) for name, lines in PROJECT["dependency-groups"].items()}


def test_every_bound_is_tested():
    """With dask comes distributed, of the same version; what only tests need may be held back too."""
    lines = (ROOT / "release" / "lowest.txt").read_text().splitlines()
    lowest = bounds([line for line in lines if not line.startswith("#")])
    promised = CORE | OPTIONAL | {"distributed": OPTIONAL["dask"]}
    assert {name: lowest.get(name) for name in promised} == promised
    others = {name: version for name, version in lowest.items() if name not in promised}
    assert others == {name: GROUPS["test"][name] for name in others}


@pytest.mark.parametrize("group", GROUPS)
def test_groups_and_extras_state_the_same_bound(group):
    promised = CORE | OPTIONAL
    shared = {name: version for name, version in GROUPS[group].items() if name in promised}
    assert shared == {name: promised[name] for name in shared}


def test_all_includes_every_extra_but_anndata_and_the_remote_stores():
    (everything,) = METADATA["optional-dependencies"]["all"]
    assert Requirement(everything).extras == set(METADATA["optional-dependencies"]) - {"all", "anndata", "s3", "gcs"}


def test_errors_name_extras_that_exist():
    sources = [path.read_text() for path in (ROOT / "src").rglob("*.py")]
    named = {extra for text in sources for extra in re.findall(r"require\(\s*\"[\w.]+\", \"(\w+)\"", text)}
    named |= {
        extra for text in sources for names in re.findall(r"allegiance\[([\w,]+)\]", text) for extra in names.split(",")
    }
    assert named <= set(METADATA["optional-dependencies"])


@pytest.fixture(scope="module")
def recipe() -> dict[str, Any]:
    """Return the recipe as conda-build would read it."""

    def load_file_regex(load_file: str, regex_pattern: str, from_recipe_dir: bool) -> Any:
        assert from_recipe_dir
        return re.search(regex_pattern, (folder / load_file).read_text())

    folder = ROOT / "release" / "recipe"
    template = jinja2.Template((folder / "meta.yaml").read_text(), undefined=jinja2.StrictUndefined)
    return yaml.safe_load(template.render(load_file_regex=load_file_regex, PYTHON="python"))


def conda_bounds(lines: list[str]) -> dict[str, Version]:
    return {name: Version(bound.removeprefix(">=")) for name, bound in (line.split() for line in lines)}


def test_the_recipe_is_of_this_package(recipe):
    assert recipe["package"] == {"name": METADATA["name"], "version": allegiance.__version__}
    assert recipe["source"]["url"] == f"../../dist/{METADATA['name']}-{allegiance.__version__}.tar.gz"
    (script,) = METADATA["scripts"].items()
    assert recipe["build"]["entry_points"] == [" = ".join(script)]
    assert recipe["about"]["license"] == METADATA["license"]
    assert [recipe["about"]["license_file"]] == METADATA["license-files"]
    assert recipe["about"]["summary"] == METADATA["description"]


def test_the_recipe_needs_what_the_package_needs(recipe):
    python = {"python": Version(METADATA["requires-python"].removeprefix(">="))}
    needed = recipe["requirements"]
    assert conda_bounds(needed["run"]) == python | CORE | COMMAND
    assert conda_bounds(needed["run_constrained"]) == {
        ON_CONDA.get(name, name): version for name, version in OPTIONAL.items() if name not in COMMAND
    }
    # conda-forge builds and tests packages of all platforms with the lowest Python.
    lowest = f"python {python['python']}.*"
    assert conda_bounds([line for line in needed["host"] if line not in ("pip", lowest)]) == bounds(
        PROJECT["build-system"]["requires"]
    )
    assert lowest in needed["host"]
    assert lowest in recipe["test"]["requires"]
