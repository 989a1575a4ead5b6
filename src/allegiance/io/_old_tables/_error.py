"""What is wrong with a user's table, said so that it can be put right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from difflib import get_close_matches

from allegiance.io import TableError


def unknown_column(name: str, names: Iterable[str], where: str) -> TableError:
    """Return the error for a column that is not there, with the names that come close to it."""
    listed = list(names)
    by_lower_case = {other.lower(): other for other in listed}
    close = get_close_matches(name.lower(), by_lower_case, n=3, cutoff=0.6)
    if close:
        hint = f"Did you mean {' or '.join(repr(by_lower_case[match]) for match in close)}?"
    else:
        shown = ", ".join(repr(other) for other in listed[:12])
        hint = f"Its columns are {shown}{', ...' if len(listed) > 12 else ''}."
    return TableError(f"{where} has no column {name!r}. {hint}")


def check_names(names: list[str], where: str) -> list[str]:
    """Return column names if none occurs twice."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        listed = ", ".join(repr(name) for name in repeated)
        raise TableError(f"{where} has more than one column named {listed}: rename them, so that each name is unique.")
    return names
