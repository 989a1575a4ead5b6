"""Inventories of other projects' documentation, kept as plain lists so that the site builds without a network.

A list in ``inventories/`` has the address of the documentation on its first line, then one name a line: the name, what
it is in Sphinx's words, and its page. Add a line to link to one more name.
"""

from __future__ import annotations

import zlib
from pathlib import Path

LISTS = Path(__file__).parent / "inventories"


def compile_inventories(folder: Path) -> dict[str, tuple[str, str]]:
    """Write the lists as Sphinx inventories into a folder, and return the mapping for intersphinx."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for path in sorted(LISTS.glob("*.txt")):
        address, *lines = path.read_text().splitlines()
        inventory = folder / f"{path.stem}.inv"
        inventory.write_bytes(_compiled(path.stem, lines))
        mapping[path.stem] = (address, str(inventory))
    return mapping


def _compiled(project: str, lines: list[str]) -> bytes:
    """Return an inventory in the second version of Sphinx's format."""
    header = (
        "# Sphinx inventory version 2\n"
        f"# Project: {project}\n"
        "# Version:\n"
        "# The remainder of this file is compressed using zlib.\n"
    )
    entries = (line.split() for line in lines if line.strip())
    body = "".join(f"{name} py:{kind} 1 {page} -\n" for name, kind, page in entries)
    return header.encode() + zlib.compress(body.encode())
