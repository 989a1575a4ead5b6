"""Who imports whom: folders keep their private modules, and heavy libraries have one home each."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import allegiance

PACKAGE = Path(allegiance.__file__).parent
HOMES = {
    "numba": {"_kernels"},
    "llvmlite": {"_kernels"},
    "matplotlib": {"displays"},
    "bokeh": {"report"},
    "jinja2": {"report"},
    "pyarrow": {"io", "cli", "review"},
    "dask": {"io"},
    "distributed": {"io"},
    "click": {"cli"},
    "polars": set(),
}
SOURCES = sorted(PACKAGE.rglob("*.py"))


def _imports(path: Path) -> list[str]:
    """Every module and member that is imported, as a dotted name, outside of TYPE_CHECKING."""
    names: list[str] = []
    nodes: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
    package = ["allegiance", *path.relative_to(PACKAGE).parent.parts]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            nodes.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            base += [node.module] if node.module else []
            names += [".".join([*base, alias.name]) for alias in node.names]
        nodes.extend(ast.iter_child_nodes(node))
    return names


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_stay_in_their_rooms(path: Path) -> None:
    inside = path.relative_to(PACKAGE).with_suffix("").parts
    for name in _imports(path):
        library, *parts = name.split(".")
        if library in HOMES:
            assert inside[0] in HOMES[library], f"{library} belongs in {HOMES[library] or 'no module'}"
        if library == "allegiance":
            folder = PACKAGE
            for depth, part in enumerate(parts):
                is_module = (folder / part).is_dir() or (folder / f"{part}.py").is_file()
                if depth and part.startswith("_") and is_module:
                    assert inside[:depth] == tuple(parts[:depth]), f"{name} is private to {'.'.join(parts[:depth])}"
                folder /= part


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ", ".join(repr(name) for name in [*HOMES, "narwhals", "numpy", "pandas", "scipy", "sklearn"])
    command = f"import allegiance, sys; print([name for name in ({heavy}) if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", command], text=True).strip() == "[]"


@pytest.mark.parametrize(("name", "value"), [("byteorder", "big"), ("maxsize", 2**31 - 1)])
def test_platforms_without_support_are_rejected(monkeypatch, name, value) -> None:
    source = compile((PACKAGE / "__init__.py").read_text(), "allegiance", "exec")
    monkeypatch.setattr(sys, name, value)
    with pytest.raises(ImportError, match="64-bit little-endian platforms"):
        exec(source, {"__name__": "allegiance", "__file__": str(PACKAGE / "__init__.py")})
