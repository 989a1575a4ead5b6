"""Quotation marks of delimited text that swallow rows."""

from __future__ import annotations

from collections.abc import Iterable


def swallowing_quote(lines: Iterable[str], delimiter: str) -> str | None:
    """Return what is wrong with the first quotation mark that holds more lines than it should, or None.

    Values may go over several lines. One that never ends, or whose end is not followed by a delimiter or the end of the
    line, was opened by mistake: rows that follow have become part of it.

    Parameters
    ----------
    lines
        The text, line by line, with the ends of the lines.
    delimiter
        What separates columns.
    """
    opened = 0
    for number, line in enumerate(lines, 1):
        if not opened and '"' not in line:
            continue
        position = 0
        while position < len(line):
            if not opened:
                # Only at the beginning of a value does a quotation mark mean anything.
                if line[position] == '"':
                    opened, position = number, position + 1
                else:
                    position = _next_value(line, delimiter, position)
                continue
            end = line.find('"', position)
            if end < 0:
                break
            position = end + 1
            if line.startswith('"', position):
                position += 1
                continue
            if opened != number and line[position : position + 1] not in ("", delimiter, "\r", "\n"):
                return (
                    f"the quotation mark opened in line {opened} is closed in line {number}, in the middle of a value: "
                    "is one missing in between?"
                )
            opened, position = 0, _next_value(line, delimiter, position)
    return f"the quotation mark opened in line {opened} is not closed." if opened else None


def _next_value(line: str, delimiter: str, position: int) -> int:
    found = line.find(delimiter, position)
    return len(line) if found < 0 else found + 1
