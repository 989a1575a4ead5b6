"""The reproduction is a user of the package: it imports only public names."""

from __future__ import annotations

import re
from pathlib import Path

import reproduction


def test_no_private_module_of_the_package_is_imported():
    sources = [path.read_text() for path in Path(reproduction.__file__).parent.rglob("*.py")]
    assert [
        name for text in sources for name in re.findall(r"^\s*(?:from|import) allegiance\S*\._\w+", text, re.M)
    ] == []
