"""Columns of text that hold names or codes, and are numbers only if that tells them apart just as well."""

from __future__ import annotations

from typing import Any

from allegiance._core import require

#: Types, by their name in Arrow, and how their values are written if no two texts stand for the same value, up to
#: zeros after the point. In order of preference.
_WRITTEN = (
    ("int64", r"(0|-?[1-9][0-9]{0,17})"),
    ("double", r"-?(0|[1-9][0-9]{0,14})(\.[0-9]*)?"),
    ("bool", r"(true|false)"),
    ("bool", r"(True|False)"),
    ("bool", r"(TRUE|FALSE)"),
)


class Codes:
    """Finds the type of a column of names or codes, part by part.

    ``1`` and ``01`` are two codes and one number, as are numbers of more digits than a floating-point number has: such
    columns stay text.
    """

    def __init__(self) -> None:
        self._possible = list(_WRITTEN)

    def add(self, texts: Any) -> None:
        """Look at some more values, an Arrow array of texts."""
        arrow = require("pyarrow", "io", "reading tables")
        compute = require("pyarrow.compute", "io", "reading tables")
        missing = require("pyarrow.csv", "io", "reading tables").ConvertOptions().null_values
        values = texts.filter(compute.invert(compute.is_in(texts, value_set=arrow.array(missing))))
        self._possible = [
            (kind, written)
            for kind, written in self._possible
            if compute.all(compute.match_substring_regex(values, rf"^[ \t]*{written}[ \t]*$"), min_count=0).as_py()
        ]

    @property
    def type(self) -> Any:
        """The type that all values have."""
        arrow = require("pyarrow", "io", "reading tables")
        return arrow.type_for_alias(self._possible[0][0] if self._possible else "string")
