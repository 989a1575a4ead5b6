"""What the library advises, in the words of the command line."""

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
    "missing-for-model": "Fill them in first, or make the model anew with --impute median or drop.",
    "no-values": "Leave it out with --drop.",
    "no-complete-row": "Use --impute median: --impute drop would leave nothing.",
}


#: What the library says of parameters, in notes and warnings, and what a user of the command line can do.
_ADVICE = {
    "pass clusterer=, the clusterer that made them": "name the algorithm that made them with --recluster",
    "pass clusterer= with the parameters that made them": "name another algorithm with --recluster",
    "raise eps, or max_samples of the engine, as in engine=Auto(max_samples=10**7)": (
        "raise --eps, or allow more samples, as in --engine auto:max_samples=10000000"
    ),
}


def error_in_words_of_the_command(error: Any) -> str:
    """Return the text of an :class:`allegiance.io.RemediedError` for a user of the command line."""
    return f"{error.problem} {REMEDIES[error.remedy]}"


def in_words_of_the_command(text: str) -> str:
    """Return a note or warning of the library for a user of the command line."""
    for said, meant in _ADVICE.items():
        text = text.replace(said, meant)
    return text
