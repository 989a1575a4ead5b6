"""A page of documentation with parts that commands write and prose that people write.

A part named "x" stands between the lines ``<!-- x: written by COMMAND -->`` and ``<!-- x: end -->``; everything else is
left alone.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path


def write_parts(path: Path, parts: Mapping[str, str]) -> None:
    """Replace the named parts of a page; one that the page does not have is an error."""
    text = path.read_text()
    for name, content in parts.items():
        text = replaced(text, name, content)
    path.write_text(text)


def replaced(text: str, name: str, content: str) -> str:
    """Return the text with one part replaced."""
    part = re.compile(
        rf"(<!-- {re.escape(name)}: written by [^>]*-->\n).*?(<!-- {re.escape(name)}: end -->)", re.DOTALL
    )
    if len(part.findall(text)) != 1:
        raise ValueError(
            f"the page needs one part between '<!-- {name}: written by ... -->' and '<!-- {name}: end -->'"
        )
    return part.sub(lambda match: f"{match[1]}{content.strip()}\n{match[2]}", text)


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose first column is text and whose others are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
