"""The words of the page: the headline, the clusters, and how it was computed."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import NamedTuple

import numpy as np

from allegiance.results import AffinityResult, ClusterFigures, Tally, count, headlines, measured_by

from ._projection import Projection
from ._shown import Part, Shown

#: Characters of a name inside a sentence.
_IN_A_SENTENCE = 40
_LIBRARIES = ("allegiance", "numpy", "scipy", "scikit-learn", "numba", "bokeh")


class ClusterRow(NamedTuple):
    """One line of the table of clusters."""

    name: str
    points: int
    mean: str
    """Expected share of right labels, or mean own affinity without calibration."""
    verdicts: tuple[int, int, int] | None
    """Labels supported, contested and contradicted; None for noise."""
    rival: str


class Headline(NamedTuple):
    """What stands at the top of the page."""

    first: str
    second: str
    warning: str | None
    """Why trust should not be believed as it is."""
    findings: list[str]
    """What else a reader should know."""


def percent(share: float) -> str:
    """Return a share in words of the page; a dash for NaN."""
    return "-" if np.isnan(share) else f"{100.0 * share:.0f} %"


def shorten(name: str, length: int) -> str:
    """Return a name on one line, cut to a length in characters."""
    line = " ".join(name.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def cluster_rows(lines: list[ClusterFigures], *, calibrated: bool) -> list[ClusterRow]:
    """Describe each cluster, and noise, in the given order."""
    return [
        ClusterRow(
            name="noise" if line.name is None else str(line.name),
            points=line.points,
            mean=percent(line.replication) if calibrated else _number(line.own_affinity),
            verdicts=None if line.name is None else (line.supported, line.contested, line.contradicted),
            rival="-" if line.rival is None else str(line.rival),
        )
        for line in lines
    ]


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.2f}"


def headline(result: AffinityResult, tally: Tally, lines: list[ClusterFigures]) -> Headline:
    """Say how many labels can be expected to be right, and where the trouble is."""
    first, *findings = headlines(tally)
    if not tally.n_labelled:
        return Headline("No point has a label: all are noise.", "", result.clusterer_note, findings[1:])
    if not result.calibrated:
        findings.append("the chance that each label holds was not calibrated: trust(X, labels) finds it")
    elif result.n_clusters == 2:
        findings.append("two clusters are found again whatever the data: trust is too high then, by about 0.08")
    return Headline(_unbroken(f"{first}."), _unbroken(_trouble(result, lines)), result.clusterer_note, findings)


def _unbroken(text: str) -> str:
    """Keep percent signs on the line of their numbers."""
    return text.replace(" %", "\u00a0%")


def _trouble(result: AffinityResult, lines: list[ClusterFigures]) -> str:
    """Say which cluster to look at first."""
    if result.n_clusters == 1:
        return "With one cluster there is no rival: this says nothing about the clustering."
    if not any(line.contested or line.contradicted for line in lines):
        return "No label needs a review."
    worst = lines[0]
    if result.calibrated:
        finding = f"{percent(worst.replication)} of its {count(worst.points, 'label')} can be expected to be right"
    else:
        finding = f"{worst.points - worst.supported:,} of its {count(worst.points, 'label')} are not supported"
    rival = "" if worst.rival is None else f", and {shorten(str(worst.rival), _IN_A_SENTENCE)} is its usual rival"
    return f"Cluster {shorten(str(worst.name), _IN_A_SENTENCE)} is in the most trouble: {finding}{rival}."


def shown_note(shown: Shown, exhibits: dict[str, int]) -> str:
    """Say which points travel with the page.

    Parameters
    ----------
    shown
        The points on the page.
    exhibits
        How many points have an image, a text, by what it is called; those kinds that were given.
    """
    if shown.is_complete:
        note = f"The page holds all {count(shown.rows.size, 'point')}."
    else:
        parts = (
            _part(shown.doubtful, "the least trusted and a random sample, together", "labels that are not supported"),
            _part(shown.supported, "a random sample of", "supported labels"),
            _part(shown.noise, "a random sample of", "noise points"),
        )
        note = (
            f"The page holds {', '.join(filter(None, parts))}. Counts of clusters, histogram and threshold refer to "
            "all points; those of points selected in the map or the profile, or found by a search, are scaled up from "
            "the points on the page."
        )
    for name, kept in exhibits.items():
        if kept < shown.rows.size:
            note += f" {name.capitalize()}s are kept for {count(kept, 'point')}: typical members and the least trusted."
    return note


def _part(part: Part, sample: str, kind: str) -> str:
    if part.kept < part.of:
        return f"{sample} {part.kept:,} of {part.of:,} {kind}"
    return f"all {part.of:,} {kind}" if part.of else ""


def computed(result: AffinityResult, tally: Tally, projection: Projection) -> list[tuple[str, str]]:
    """List how everything was computed."""
    how = result.how
    reduced = f", reduced from {how.n_features:,} features" if how.dim < how.n_features else ""
    versions = [f"{library} {version(library)}" for library in _LIBRARIES]
    trust = "from own affinity and closeness, calibrated by clustering halves of the data anew"
    return [
        ("Closeness", how.influence),
        ("Territory", f"{how.domain}, {count(how.dim, 'dimension')}{reduced}"),
        ("Trust", trust if result.calibrated else "not calibrated: use trust(X, labels), or calibration=20"),
        ("Engine", f"{how.engine}; {measured_by(tally)}"),
        ("Asked precision", _precision(how.eps)),
        ("The paper's score", _stable(tally)),
        ("Seed", str(how.seed)),
        ("Time", f"{how.seconds:.2f} s"),
        ("Map", projection.description),
        ("Versions", ", ".join([f"Python {platform.python_version()}", *versions])),
    ]


def _stable(tally: Tally) -> str:
    share = percent(tally.stable / max(tally.n_points, 1))
    undecided = f"; {tally.undecided:,} too close to call" if tally.undecided else ""
    return (
        f"{tally.stable:,} of {count(tally.n_points, 'point')} ({share}) stable: one cluster gives more than half of "
        f"the territory{undecided}"
    )


def _precision(eps: float | str) -> str:
    """Say how precisely affinities were measured."""
    if isinstance(eps, str):
        return "until the verdict is clear: 95 % intervals within ±0.05, within ±0.03 where it is not (eps=verdict)"
    return f"95 % intervals within ±{eps:g} (eps)"
