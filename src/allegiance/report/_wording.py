"""The words of the page: the answer, what else to know, which points it holds, and how it was computed."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from allegiance.results import AffinityResult, count, headlines, how_measured

from ._data import Groups, PageSample
from ._figures import Projection

NBSP_PERCENT = "\u00a0%"
_LIBRARIES = ("allegiance", "numpy", "scipy", "scikit-learn", "numba", "bokeh")


class Answer(NamedTuple):
    """What stands at the top of the page."""

    first: str
    """What a manager can repeat."""
    second: list[str | int]
    """Where the trouble is; a number stands for the name of the cluster in that place of the page."""
    warning: str
    """Why trust should not be believed as it is."""
    notes: list[str]
    """What else a reader should know."""


def percent(share: float) -> str:
    """Return a share with a percent sign that stays on its line; a dash for NaN."""
    return "-" if np.isnan(share) else f"{100.0 * share:.0f}{NBSP_PERCENT}"


def answer(result: AffinityResult, groups: Groups, audit: Any = None) -> Answer:
    """Say how many labels would come back, and which cluster to look at first."""
    tally = result.tally()
    first, *notes = headlines(tally)
    second = _trouble(result, groups)
    if not tally.n_labelled:
        first, second = "No point has a label: all are noise", []
    elif audit is not None:
        first = audit.sentence()
    elif result.audited is not None:
        share, labels = percent(float(np.nanmean(result.trust))), count(tally.n_labelled, "label")
        first = f"After the audit about {share} of {labels} are right"
    elif not result.calibrated:
        notes.append("How many labels would come back was not estimated: trust(X, labels) does it")
    first, *notes = (f"{line.removesuffix('.').replace(' %', NBSP_PERCENT)}." for line in (first, *notes))
    return Answer(first, second, " ".join(result.remarks), notes)


def _trouble(result: AffinityResult, groups: Groups) -> list[str | int]:
    """Say which cluster to look at first."""
    if result.n_clusters == 1:
        return ["With one cluster there is no rival, so this says nothing about the clustering."]
    worst = groups.clusters[0]
    if not sum(groups.counts[1:3]):
        return ["Every label is supported."]
    if result.calibrated:
        word = "would come back" if result.audited is None else "are right"
        finding = f"{percent(worst.replication)} of its {count(worst.points, 'label')} {word}"
    else:
        finding = f"{worst.points - worst.supported:,} of its {count(worst.points, 'label')} are not supported"
    said: list[str | int] = ["Look first at cluster ", 0, f": {finding}"]
    if groups.rivals[0]:
        said += ["; its usual rival is ", groups.rivals[0][0][0]]
    return [*said, "."]


def sample_note(sample: PageSample, kept: dict[str, int], left_out: list[str]) -> str:
    """Say which points are on the page, how many have an image or a text, and which columns had no room."""
    note = f"The page holds all {count(sample.rows.size, 'point')}."
    if not sample.is_complete:
        kinds = (
            ("those to review first and a sample, together", "labels that are not supported"),
            ("a random sample of", "supported labels"),
            ("a random sample of", "noise points"),
        )
        parts = [
            f"all {of:,} {kind}" if there == of else f"{sampled} {there:,} of {of:,} {kind}"
            for (there, of), (sampled, kind) in zip(sample.parts, kinds, strict=True)
            if of
        ]
        note = (
            f"The page holds {', '.join(parts)}. Counts of clusters, histogram and threshold refer to all points; "
            "counts of a selection or a search are scaled up from the points on the page."
        )
    for name, number in kept.items():
        if number < sample.rows.size:
            note += f" {name.capitalize()} are kept for {count(number, 'point')}: typical members and those to review."
    if left_out:
        listed = ", ".join(left_out[:5]) + (", ..." if len(left_out) > 5 else "")
        note += f" The page has no room for {count(len(left_out), 'column')} of the table ({listed})."
    return note


def computed(result: AffinityResult, projection: Projection) -> dict[str, str]:
    """Say how everything was computed."""
    trust = "not estimated: use trust(X, labels), or calibration=20"
    if result.trust_map is not None:
        what = "right, from the audit and" if result.audited is not None else "there again in a repeat, from"
        trust = f"the chance that a label is {what} what comes back when parts of the data are clustered again"
    versions = [f"{library} {version(library)}" for library in _LIBRARIES]
    return {
        "trust": trust,
        **({} if result.trust_map is None else {"repeats": result.trust_map.note}),
        **how_measured(result.tally(), result.how),
        "precision": f"95 % intervals within ±{result.how.eps:g} asked for (eps)",
        "map": projection.description,
        "versions": ", ".join([f"Python {platform.python_version()}", *versions]),
    }
