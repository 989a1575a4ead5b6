"""Tables of cells as plain text."""

from __future__ import annotations

from collections.abc import Sequence

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
