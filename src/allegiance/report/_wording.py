"""The words of the page: the answer, what else to know, which points it holds, and how it was computed."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from allegiance.engines import Z95
from allegiance.results import VERDICTS, AffinityResult, count

from ._data import Groups, PageSample, Part, is_atypical
from ._figures import Projection, shorten

#: Characters of a name inside a sentence.
_IN_A_SENTENCE = 60
_LIBRARIES = ("allegiance", "numpy", "scipy", "scikit-learn", "numba", "bokeh")


class Answer(NamedTuple):
    """What stands at the top of the page."""

    first: str
    """What a manager can repeat."""
    second: str
    """Where the trouble is."""
    warning: str | None
    """Why trust should not be believed as it is."""
    notes: list[str]
    """What else a reader should know."""


def percent(share: float) -> str:
    """Return a share with a percent sign that stays on its line; a dash for NaN."""
    return "-" if np.isnan(share) else f"{100.0 * share:.0f}\u00a0%"


def answer(result: AffinityResult, groups: Groups, names: list[str], audit: Any = None) -> Answer:
    """Say how many labels would come back, and which cluster to look at first; ``names`` (k,) in the page's order."""
    counts = verdict_counts(result)
    labelled, noise = sum(counts[:3]), counts[3]
    notes = []
    if noise:
        notes.append(f"{count(noise, 'point')} of noise, in no cluster ({percent(noise / result.n_points)} of all).")
    if unlike := int(is_atypical(result).sum()):
        notes.append(f"{count(unlike, 'point')} unlike anything in the own cluster (typicality below 1\u00a0%).")
    if hidden := int(result.empty_cell.sum()):
        notes.append(f"{count(hidden, 'point')} without territory: affinity is the limit of a vanishing one.")
    note = " ".join(result.remarks) or None
    if not labelled:
        return Answer("No point has a label: all are noise.", "", note, notes[1:])
    verdicts = ", ".join(f"{number:,} {name}" for number, name in zip(counts, VERDICTS[:3], strict=False))
    if not result.calibrated:
        notes.append("How many labels would come back was not estimated: trust(X, labels) does it.")
        return Answer(f"{count(labelled, 'label')}: {verdicts}.", _trouble(result, groups, names), note, notes)
    notes.insert(0, f"Labels: {verdicts}.")
    if result.audited is not None:
        share = percent(float(np.nanmean(result.trust)))
        first = f"After the audit about {share} of {count(labelled, 'label')} are right."
        first = first if audit is None else audit.sentence().replace(" %", "\u00a0%")
        return Answer(first, _trouble(result, groups, names), note, notes)
    low, high = result.replication_interval
    first = (
        f"{percent(result.replication)} of {count(labelled, 'label')} would come back if the data were collected and "
        f"clustered again (in nine of ten repeats {100 * low:.0f} to {percent(high)})."
    )
    return Answer(first, _trouble(result, groups, names), note, notes)


def _trouble(result: AffinityResult, groups: Groups, names: list[str]) -> str:
    """Say which cluster to look at first."""
    if result.n_clusters == 1:
        return "With one cluster there is no rival, so this says nothing about the clustering."
    worst = groups.clusters[0]
    if not any(sum(cluster.verdicts[1:]) for cluster in groups.clusters):
        return "No label needs a review."
    if result.calibrated:
        word = "would come back" if result.audited is None else "are right"
        finding = f"{percent(worst.trust)} of its {count(worst.points, 'label')} {word}"
    else:
        finding = f"{worst.points - worst.verdicts[0]:,} of its {count(worst.points, 'label')} are not supported"
    rival = f", and {names[groups.place[worst.rivals[0][0]]]} is its usual rival" if worst.rivals else ""
    return f"Cluster {shorten(names[0], _IN_A_SENTENCE)} is in the most trouble: {finding}{rival}."


def verdict_counts(result: AffinityResult) -> list[int]:
    """Return how many points have each verdict."""
    return [int((result.verdict == name).sum()) for name in VERDICTS]


def sample_note(sample: PageSample, kept: dict[str, int], left_out: list[str]) -> str:
    """Say which points are on the page, how many have an image or a text, and which columns had no room."""
    if sample.is_complete:
        note = f"The page holds all {count(sample.rows.size, 'point')}."
    else:
        parts = (
            _part(sample.doubtful, "those to review first and a sample, together", "labels that are not supported"),
            _part(sample.supported, "a random sample of", "supported labels"),
            _part(sample.noise, "a random sample of", "noise points"),
        )
        note = (
            f"The page holds {', '.join(filter(None, parts))}. Counts of clusters, histogram and threshold refer to "
            "all points; those of points selected in the map or the profile, or found by a search, are scaled up from "
            "the points on the page."
        )
    for name, number in kept.items():
        if number < sample.rows.size:
            note += f" {name.capitalize()}s are kept for {count(number, 'point')}: typical members and those to review."
    if left_out:
        listed = ", ".join(left_out[:5]) + (", ..." if len(left_out) > 5 else "")
        note += f" The page has no room for {count(len(left_out), 'column')} of the table ({listed})."
    return note


def _part(part: Part, sample: str, kind: str) -> str:
    if part.kept < part.of:
        return f"{sample} {part.kept:,} of {part.of:,} {kind}"
    return f"all {part.of:,} {kind}" if part.of else ""


def computed(result: AffinityResult, projection: Projection) -> list[tuple[str, str]]:
    """List how everything was computed."""
    how = result.how
    reduced = f", reduced from {how.n_features:,} features" if how.dim < how.n_features else ""
    versions = [f"{library} {version(library)}" for library in _LIBRARIES]
    trust = "fitted to what comes back when parts of the data are clustered again"
    if result.audited is not None:
        trust = "the chance that a label is right, from the audit and what comes back in repeats"
    engines, numbers = np.unique(result.engine, return_counts=True)
    measured = ", ".join(
        f"{name} ({number:,})" for name, number in zip(engines.tolist(), numbers.tolist(), strict=True)
    )
    worst = Z95 * float(result.ranks.worst_error.max(initial=0.0))
    stable = int(result.stable.sum())
    return [
        ("Closeness", how.influence),
        ("Territory", f"{how.domain}, {count(how.dim, 'dimension')}{reduced}"),
        ("Trust", trust if result.calibrated else "not estimated: use trust(X, labels), or calibration=20"),
        *([("Repeats", result.clusterer_note)] if result.clusterer_note else []),
        ("Engine", f"{measured}; {'exact' if worst == 0 else f'95 % intervals within ±{worst:.3f}'}"),
        ("Precision", f"95 % intervals within ±{how.eps:g} asked for (eps)"),
        (
            "The paper's score",
            f"{stable:,} of {count(result.n_points, 'point')} ({percent(stable / result.n_points)}) stable",
        ),
        ("Seed", str(how.seed)),
        ("Time", f"{how.seconds:.2f} s"),
        ("Map", projection.description),
        ("Versions", ", ".join([f"Python {platform.python_version()}", *versions])),
    ]
