"""Tables of cells as plain text and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

Cells = Sequence[str]


def text_table(headings: Cells, rows: Sequence[Cells], *, left: Cells = ()) -> list[str]:
    """Return the lines of a table; columns are aligned to the right but those named in ``left``."""
    widths = [max(len(row[c]) for row in (headings, *rows)) for c in range(len(headings))]
    return [
        "  ".join(
            cell.ljust(width) if name in left else cell.rjust(width)
            for name, cell, width in zip(headings, row, widths, strict=True)
        ).rstrip()
        for row in (headings, *rows)
    ]


def html_table(headings: Cells, rows: Sequence[Cells]) -> str:
    """Return a table for notebooks."""
    head = "".join(f"<th>{escape(name)}</th>" for name in headings)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
