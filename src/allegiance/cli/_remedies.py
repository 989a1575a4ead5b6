"""What can be done about an error of the library, in the words of the command line."""

from __future__ import annotations

from typing import Any

#: By the keys of ``allegiance.io.REMEDIES``.
REMEDIES = {
    "force": "Choose another name, or replace it with --force.",
    "restart": "Start again with --restart, or choose another output.",
    "not-numbers": (
        "Leave out with --drop COLUMN, keep as identifier with --id COLUMN, name the features with --features, or "
        "encode categories with --one-hot COLUMN; --categorical one-hot|drop does so with all of them."
    ),
    "many-categories": "Leave it out with --drop, or keep it with --id.",
    "missing-values": ("Use --impute median to fill them in, --impute drop to leave these rows out, or --drop COLUMN."),
    "no-values": "Leave it out with --drop.",
    "no-complete-row": "Use --impute median: --impute drop would leave nothing.",
}


def in_words_of_the_command(error: Any) -> str:
    """Return the text of an :class:`allegiance.io.RemediedError` for a user of the command line."""
    return f"{error.problem} {REMEDIES[error.remedy]}"
