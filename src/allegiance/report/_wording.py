"""The words of the page: the verdict, the clusters, and how it was computed."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import NamedTuple

import numpy as np

from allegiance._core import IntArray
from allegiance.results import RankedResult, cluster_lines, measured_by

from ._counts import STEPS, Groups
from ._projection import Projection
from ._shown import Shown

#: Characters of a name inside a sentence.
_IN_A_SENTENCE = 40
_LIBRARIES = ("allegiance", "numpy", "scipy", "scikit-learn", "numba", "bokeh")


class ClusterRow(NamedTuple):
    """One line of the table of clusters."""

    name: str
    points: int
    stable: int
    confidence: str
    rival: str

    @property
    def share(self) -> float | None:
        """The stable share of its points, if it has any."""
        return self.stable / self.points if self.points else None


def count(number: int, noun: str) -> str:
    """Return a number with its noun in the right form."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shorten(name: str, length: int) -> str:
    """Return a name on one line, cut to a length in characters."""
    line = " ".join(name.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def cluster_rows(result: RankedResult, groups: Groups, above: IntArray) -> list[ClusterRow]:
    """Describe each group of points.

    Parameters
    ----------
    result
        The result.
    groups
        The groups, in the order of the lines.
    above
        (groups, STEPS + 1) counts of the points above each threshold.
    """
    return [
        ClusterRow(
            name=name,
            points=line.points,
            stable=int(counts[STEPS // 2]),
            confidence=f"{line.confidence:.2f}" if line.points else "-",
            rival="-" if line.points == counts[STEPS // 2] else str(line.rival),
        )
        for name, line, counts in zip(groups.names, cluster_lines(result), above, strict=True)
    ]


def verdict(result: RankedResult, clusters: list[ClusterRow]) -> tuple[str, str]:
    """Say in two sentences how far the clustering can be trusted."""
    n, stable = result.n_points, int(result.stable.sum())
    each = "it" if n == 1 else "each of them"
    first = (
        f"{stable:,} of {count(n, 'point')} ({stable / n:.1%}) {'is' if stable == 1 else 'are'} stable: "
        f"one cluster gives more than half of the territory that {each} would claim as a cluster of its own."
    )
    return first, _second_sentence(result, clusters, n - stable)


def _second_sentence(result: RankedResult, clusters: list[ClusterRow], review: int) -> str:
    if result.n_clusters == 1:
        return "With one cluster every point is stable by definition, so this says nothing about the clustering."
    if result.n_clusters == 2:
        return (
            "With two clusters every point off the exact middle is stable by definition, "
            "so rank the points by confidence and move the threshold instead."
        )
    if review == 0:
        return f"No point needs a review; the least certain one has a confidence of {result.confidence.min():.2f}."
    worst = max(clusters, key=lambda row: row.points - row.stable)
    doubtful = worst.points - worst.stable
    where = "noise" if worst.name == "noise" else f"cluster {shorten(worst.name, _IN_A_SENTENCE)}"
    part = "" if doubtful == review else f", first of all {doubtful:,} of them"
    return (
        f"{count(review, 'point')} should be reviewed{part} in {where}, "
        f"where {shorten(worst.rival, _IN_A_SENTENCE)} is the usual rival."
    )


def findings(result: RankedResult) -> list[str]:
    """List what else a reader should know."""
    disagree = int(((result.label != result.owner) & np.isin(result.label, result.classes)).sum())
    undecided, hidden = int((~result.decided).sum()), int(result.hidden.sum())
    lines = []
    if undecided:
        lines.append(f"{undecided:,} too close to call: the 95 % interval of the largest affinity contains one half.")
    if disagree:
        lines.append(f"{disagree:,} with more affinity to another cluster than to their own label.")
    if hidden:
        lines.append(f"{hidden:,} without territory: affinity is then the limit of a vanishing one.")
    return lines


def shown_note(shown: Shown, pictures: int | None) -> str:
    """Say which points travel with the page.

    Parameters
    ----------
    shown
        The points on the page.
    pictures
        How many of them have an image; None if no images were given.
    """
    if shown.is_complete:
        note = f"The page holds all {count(shown.rows.size, 'point')}."
    else:
        review = _part(shown.review, shown.all_review, "the {} least confident of {} points to review", "to review")
        stable = _part(shown.stable, shown.all_stable, "a random sample of {} of {} stable points", "that are stable")
        note = (
            f"The page holds {' and '.join(filter(None, (review, stable)))}. Counts, histogram bars and bands refer to "
            "all points, map, dots and table to those the page holds; selected bars are scaled up from them."
        )
    if pictures is not None and pictures < shown.rows.size:
        note += f" Images are kept for the {pictures:,} least confident of them."
    return note


def _part(kept: int, of: int, cut: str, kind: str) -> str:
    if kept < of:
        return cut.format(f"{kept:,}", f"{of:,}")
    return f"all {count(kept, 'point')} {kind}" if kept else ""


def computed(result: RankedResult, projection: Projection) -> list[tuple[str, str]]:
    """List how everything was computed."""
    how = result.how
    reduced = f", reduced from {how.n_features:,} features" if how.dim < how.n_features else ""
    versions = [f"{library} {version(library)}" for library in _LIBRARIES]
    return [
        ("Closeness", how.influence),
        ("Territory", f"{how.domain}, {count(how.dim, 'dimension')}{reduced}"),
        ("Method", how.method),
        ("Measured by", measured_by(result)),
        ("Asked precision", f"95 % intervals within ±{how.eps:g} (eps)"),
        ("Seed", str(how.seed)),
        ("Time", f"{how.seconds:.2f} s"),
        ("Map", projection.description),
        ("Versions", ", ".join([f"Python {platform.python_version()}", *versions])),
    ]
