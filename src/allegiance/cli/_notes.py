"""What a user should know about a table that was read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from allegiance.io._old_tables import Features, Noticed

#: A column with this share of the variance decides alone what is close, unless features are scaled.
_MOST_OF_THE_VARIANCE = 0.9
#: New categories named at most.
_SHOWN = 5


def notes_on(features: Features, *, scale_matters: bool = True) -> Iterable[str]:
    """Yield what is worth knowing about the columns of a table and how they are read.

    Parameters
    ----------
    features
        What was found.
    scale_matters
        Whether columns in large units count for more.
    """
    noticed = features.noticed
    yield from _columns(noticed)
    if scale_matters and noticed.dominant is not None and len(features.names) > 1:
        name, share = noticed.dominant
        if share >= _MOST_OF_THE_VARIANCE:
            yield f"column {name!r} carries {share:.0%} of the variance: --standardize?"
    if noticed.n_dropped:
        yield f"{noticed.n_dropped:,} of {noticed.n_rows:,} rows have missing values and are left out."
    if noticed.n_filled:
        category = ", or with the most frequent category of it" if features.categories else ""
        yield f"{noticed.n_filled:,} missing values are filled in with the median of their column{category}."
    for name, counts in noticed.unknown.items():
        shown = ", ".join(f"{text!r} ({count:,})" for text, count in list(counts.items())[:_SHOWN])
        more = f" and {len(counts) - _SHOWN} more" if len(counts) > _SHOWN else ""
        yield f"column {name!r} has categories that the model does not know, which count as none: {shown}{more}."
    if noticed.ignored:
        yield f"columns that the model does not use are ignored: {_listed(noticed.ignored)}."


def _columns(noticed: Noticed) -> Iterable[str]:
    if noticed.left_out:
        listed = _listed(noticed.left_out)
        yield f"column {listed} looks like the index of a frame and is left out; --features would include it."
    for name in noticed.counting:
        yield f"column {name!r} counts the rows and is used as a feature; --id {name} would keep it apart."
    if noticed.dates:
        yield f"dates are read as days since 1970: {_listed(noticed.dates)}; --drop would leave them out."
    for name, text in noticed.ambiguous.items():
        yield f"column {name!r}: {text!r} is read with a decimal point; --decimal , would read it with a decimal comma."
    for name, (value, share) in noticed.sentinels.items():
        percent = f"{share:.0%}" if share >= 0.01 else f"{share:.1%}"
        yield f"column {name!r}: {percent} of the values are {value:g}: missing? --missing {name}={value:g} says so."


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)
