"""What the library advises, in the words of the command line."""

from __future__ import annotations

#: What the library says of parameters, in notes and warnings, and what a user of the command line can do.
_ADVICE = {
    "pass clusterer=, the clusterer that made them": "name the algorithm that made them with --recluster",
    "pass clusterer= with the parameters that made them": "name another algorithm with --recluster",
    "raise eps, or max_samples of the engine, as in engine=SharedSamples(max_samples=10**7)": (
        "raise --eps, or allow more samples, as in --engine auto:max_samples=10000000"
    ),
}


def in_words_of_the_command(text: str) -> str:
    """Return a note or warning of the library for a user of the command line."""
    for said, meant in _ADVICE.items():
        text = text.replace(said, meant)
    return text
