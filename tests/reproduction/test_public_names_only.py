"""The reproduction is a user of the package: it imports only public names."""

from __future__ import annotations

import ast
from pathlib import Path

import reproduction


def test_no_private_module_of_the_package_is_imported():
    private = []
    for path in Path(reproduction.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in getattr(node, "names", ())]
            private += [f"{path.name}: {name}" for name in names if name.startswith("allegiance.") and "._" in name]
    assert private == []
