"""The package's own rules of construction, read off its source: who may import whom, and what."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import allegiance

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "allegiance"
MODULES = sorted(PACKAGE.rglob("*.py"))

#: Parts of the package, from the bottom up. A part may import from lower lines only, so parts on one line stay apart.
LAYERS = [
    ["_typing"],
    ["_kernels"],
    ["_arrays", "_random", "_rows", "_threads", "_progress", "_extras"],
    ["geometry"],
    ["samplers"],
    ["diagrams", "domains"],
    ["engines"],
    ["_validation"],
    ["_influence", "_clustering", "_representatives", "_territory", "_frames", "_summary"],
    ["_ranked"],
    ["_result", "_top_result"],
    ["_scoring", "state"],
    ["_estimator", "clusterers"],
    ["_affinity", "_passes"],
    ["metrics", "datasets", "tables"],
    ["applications", "displays", "streaming", "distributed"],
    ["report"],
    ["paper"],
    ["cli"],
    ["__init__"],
]
HEIGHT = {part: height for height, layer in enumerate(LAYERS) for part in layer}

#: Libraries that only some parts may import.
CONFINED = {
    "numba": {"_kernels"},
    "llvmlite": {"_kernels"},
    "matplotlib": {"displays", "paper"},
    "bokeh": {"report"},
    "jinja2": {"report", "paper"},
    "pyarrow": {"tables", "streaming", "distributed", "cli"},
    "dask": {"distributed"},
    "distributed": {"distributed"},
    "click": {"cli"},
    "rich": {"cli"},
    "ot": {"metrics"},
    "pandas": {"_frames"},
}
#: Libraries of the users' own data: what is needed of them comes through narwhals.
FOREIGN = {"polars"}
#: Imports from a higher layer, inside functions: methods that open what is built on top of them.
DOORS = {("_ranked", "report"), ("_affinity", "distributed"), ("_estimator", "distributed")}
IMPORT_NAMES = {"scikit-learn": "sklearn", "POT": "ot"}
MAX_LINES = 600


class Import(NamedTuple):
    """One imported name."""

    module: str
    """Absolute and dotted; for ``from m import n`` it is ``m.n``, since n may be a module."""
    line: int


def imports(path: Path) -> Iterator[Import]:
    """Yield what a module imports when it runs, at the top or inside functions."""
    package = path.relative_to(PACKAGE.parent).parent.parts
    for node in without_type_checking(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            anchor = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*anchor, *([node.module] if node.module else [])])
            yield from (Import(f"{base}.{alias.name}", node.lineno) for alias in node.names)


def without_type_checking(node: ast.AST) -> Iterator[ast.AST]:
    """Walk a tree, leaving out what only type checkers see."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            for part in child.orelse:
                yield from without_type_checking(part)
        else:
            yield from without_type_checking(child)


def part_of(path: Path) -> str:
    """Return the folder, or for a module at the top the module, that a file belongs to."""
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def own_parts(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the parts of this package that a module imports; a public name counts as the part it comes from."""
    for imported, line in imports(path):
        top, *rest = imported.split(".")
        if top != "allegiance" or rest == ["__version__"]:
            continue
        name = rest[0] if rest else "__init__"
        home = allegiance._HOMES.get(name, f".{name}").split(".")[1]
        yield (home if home in HEIGHT else "__init__"), line


def required(path: Path) -> Iterator[Import]:
    """Yield the optional libraries that a module imports through ``_extras.require``."""
    for node in without_type_checking(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "require":
            yield Import(ast.literal_eval(node.args[0]), node.lineno)


def libraries(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the libraries, the standard one left out, that a module imports."""
    for imported, line in (*imports(path), *required(path)):
        top = imported.split(".")[0]
        if top != "allegiance" and top not in sys.stdlib_module_names:
            yield top, line


def test_every_part_has_a_layer():
    assert {part_of(path) for path in MODULES} == set(HEIGHT)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_only_from_lower_layers(path):
    part = part_of(path)
    wrong = [
        f"line {line}: {part} imports {target}"
        for target, line in own_parts(path)
        if target != part and HEIGHT[target] >= HEIGHT[part] and (part, target) not in DOORS
    ]
    assert wrong == []


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_libraries_stay_where_they_belong(path):
    part = part_of(path)
    wrong = [
        f"line {line}: {library}"
        for library, line in libraries(path)
        if library in FOREIGN or part not in CONFINED.get(library, {part})
    ]
    assert wrong == []


def import_names(requirements: list[str]) -> set[str]:
    """Return what is imported from the projects required, extras of our own left out."""
    names = {re.split(r"[\[>]", requirement)[0] for requirement in requirements} - {"allegiance"}
    return {IMPORT_NAMES.get(name, name) for name in names}


def test_imports_exactly_the_libraries_that_are_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [requirement for group in project["optional-dependencies"].values() for requirement in group]
    # distributed comes with dask.
    declared = import_names(project["dependencies"]) | import_names(extras) | {"distributed"}
    assert {library for path in MODULES for library, _ in libraries(path)} == declared


def test_the_core_imports_no_optional_library():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    core = import_names(project["dependencies"])
    imported = {imported.split(".")[0] for path in MODULES if part_of(path) != "cli" for imported, _ in imports(path)}
    assert imported - set(sys.stdlib_module_names) - {"allegiance"} == core


def test_kernels_import_numba_and_numpy_only():
    used = {library for path in MODULES if part_of(path) == "_kernels" for library, _ in libraries(path)}
    assert used == {"numba", "numpy"}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_file_is_short_enough_to_read(path):
    assert len(path.read_text().splitlines()) <= MAX_LINES


def test_the_walk_sees_nested_relative_and_type_checking_imports(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path / "allegiance")
    path = tmp_path / "allegiance" / "engines" / "_some.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        "from __future__ import annotations\n"
        "import numba.core\n"
        "from typing import TYPE_CHECKING\n"
        "from .. import _estimator\n"
        "from ._scene import Scene\n"
        "if TYPE_CHECKING:\n"
        "    from .._result import AffinityResult\n"
        "else:\n"
        "    import pandas\n"
        "def late():\n"
        "    from .._affinity import affinity\n"
    )
    assert list(own_parts(path)) == [("_estimator", 4), ("engines", 5), ("_affinity", 11)]
    assert list(libraries(path)) == [("numba", 2), ("pandas", 9)]
