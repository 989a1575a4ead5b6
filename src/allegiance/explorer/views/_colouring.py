"""What the colours of the map say."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allegiance._core import FloatArray, IntArray, dense
from allegiance.explorer.state import Session, Subject
from allegiance.report import VERDICT_COLOURS, cluster_colours, shorten, trust_palette
from allegiance.results import VERDICTS

TRUST, CLUSTER, VERDICT, CHANGED = "trust", "cluster", "verdict", "changed"
#: Before the name of a feature.
FEATURE = "feature:"
_NOISE_COLOUR = VERDICT_COLOURS[VERDICTS.index("noise")]
#: Clusters named in the legend.
_NAMED = 24
#: Features to choose from.
_OFFERED = 200


class Colouring(NamedTuple):
    """A number for each point and what colours stand for it."""

    values: FloatArray
    """(n,) NaN for points without one."""
    low: float
    high: float
    palette: list[str]
    """Colours at equal steps from low to high."""
    legend: list[tuple[str, str]]
    """Names and colours where colours stand for kinds; empty for a scale."""
    title: str
    nothing: str = _NOISE_COLOUR
    """The colour of points without a number."""


def choices(session: Session) -> list[tuple[str, str]]:
    """Return what points can be coloured by: a key, and how it is called."""
    subject = session.subject
    found = [(TRUST, subject.quantity), (CLUSTER, "cluster"), (VERDICT, "verdict")]
    if session.changes is not None:
        found.append((CHANGED, "what if: changed verdict or cluster"))
    if subject.features is not None:
        found += [(f"{FEATURE}{i}", shorten(name, 60)) for i, name in enumerate(subject.features.names[:_OFFERED])]
    return found


def colouring(session: Session, key: str) -> Colouring:
    """Return the colours of a choice.

    Raises
    ------
    ValueError
        If there is no such choice.
    """
    subject = session.subject
    if key == TRUST:
        return _by_trust(subject)
    if key == CLUSTER:
        return _by_kind(subject.codes, subject.names, cluster_colours(subject.n_clusters), "cluster")
    if key == VERDICT:
        return _by_kind(subject.verdict, list(VERDICTS), list(VERDICT_COLOURS), "verdict")
    if key == CHANGED and session.changes is not None:
        changed = np.zeros(subject.n_points, dtype=np.int64)
        changed[session.changes.rows] = 1
        # Changed ones in the colour of trouble, before all others.
        return _by_kind(changed, ["as before", "changed"], [VERDICT_COLOURS[3], VERDICT_COLOURS[2]], "what if")
    if key.startswith(FEATURE) and subject.features is not None:
        number = key.removeprefix(FEATURE)
        if number.isdecimal() and int(number) < len(subject.features.names):
            return _by_feature(subject, int(number))
    raise ValueError(f"points cannot be coloured by {key!r}.")


def _by_trust(subject: Subject) -> Colouring:
    lowest = float(np.nanmin(subject.ranking, initial=0.5))
    return Colouring(subject.ranking, np.floor(lowest * 10) / 10, 1.0, trust_palette(), [], subject.quantity)


def _by_kind(codes: IntArray, names: list[str], colours: list[str], title: str) -> Colouring:
    values = np.where(codes >= 0, codes, np.nan).astype(np.float64)
    legend = [(shorten(name, 40), colour) for name, colour in zip(names[:_NAMED], colours, strict=False)]
    if len(names) > _NAMED:
        legend.append((f"and {len(names) - _NAMED} more", "transparent"))
    return Colouring(values, -0.5, len(colours) - 0.5, colours, legend, title)


def _by_feature(subject: Subject, number: int) -> Colouring:
    assert subject.features is not None
    values = dense(subject.features.rows[:, [number]]).ravel().astype(np.float64)
    low, high = np.percentile(values, [1, 99])
    if low == high:
        low, high = float(values.min()), float(values.max())
    high = high if high > low else low + 1.0
    title = shorten(subject.features.names[number], 60)
    return Colouring(values, float(low), float(high), trust_palette()[::-1], [], title)
