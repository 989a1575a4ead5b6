"""A result on a screen: what a person wants to know first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allegiance.engines import Z95
from allegiance.notebook import Card, Cell, Share, histogram_picture, share_bar

from ._by_cluster import ClusterFigures, Tally
from ._verdict import CONTESTED, CONTRADICTED, SUPPORTED

if TYPE_CHECKING:
    from ._base import HowMeasured, Result

#: Clusters listed before the table is cut.
_MAX_CLUSTERS = 20
_HEADINGS = ("cluster", "points", "right", "supported", "contested", "contradicted", "rival")


def headlines(tally: Tally, note: str | None = None) -> list[str]:
    """Say how many labels can be expected to be right, how they fared, and what else a reader should know first.

    Parameters
    ----------
    tally
        Counts over all points.
    note
        Why trust should not be believed as it is; None if nothing speaks against it.
    """
    verdicts = ", ".join(f"{tally.total(name):,} {name}" for name in (SUPPORTED, CONTESTED, CONTRADICTED))
    labels = count(tally.n_labelled, "label")
    if tally.expected_right is None or not tally.n_labelled:
        lines = [f"{labels}: {verdicts}"]
    else:
        mean, low, high = (100.0 * value for value in tally.expected_right)
        lines = [f"Expected right: {mean:.0f} % ({low:.0f} to {high:.0f}) of {labels}. {verdicts}"]
    if note is not None:
        lines.append(note)
    noise = tally.n_points - tally.n_labelled
    if noise:
        lines.append(f"{count(noise, 'point')} of noise, in no cluster ({noise / tally.n_points:.0%} of all)")
    if tally.atypical:
        lines.append(
            f"{count(tally.atypical, 'point')} unlike anything in {'its' if tally.atypical == 1 else 'their'} cluster "
            "(typicality below 1 %)"
        )
    if tally.hidden:
        lines.append(f"{count(tally.hidden, 'point')} without territory: affinity is the limit of a vanishing one")
    return lines


def measured_by(tally: Tally) -> str:
    """Say which engines measured how many points, and how precisely."""
    ranked = sorted(tally.engines.items(), key=lambda item: (-item[1], item[0]))
    engines = ", ".join(f"{name} ({number:,})" for name, number in ranked)
    worst = Z95 * tally.worst_error
    return f"{engines}; {'exact' if worst == 0 else f'95 % intervals within ±{worst:.3f}'}"


def footer(tally: Tally, how: HowMeasured) -> list[str]:
    """Say how it was measured."""
    reduced = f", reduced from {how.n_features}" if how.dim < how.n_features else ""
    share = tally.stable / max(tally.n_points, 1)
    return [
        f"closeness    {how.influence}",
        f"measured by  {measured_by(tally)}",
        f"domain       {how.domain}, {count(how.dim, 'dimension')}{reduced}; seed {how.seed}; {how.seconds:.2f} s",
        f"the paper's  {tally.stable:,} stable points ({share:.1%}), {tally.undecided:,} too close to call",
    ]


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where needed."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _cells(line: ClusterFigures) -> tuple[str, ...]:
    """Return the cells of a cluster's row."""
    right = "-" if np.isnan(line.expected_right) else f"{line.expected_right:.0%}"
    numbers = [f"{value:,}" for value in (line.supported, line.contested, line.contradicted)]
    if line.name is None:
        numbers = ["-"] * 3
    rival = "-" if line.rival is None else str(line.rival)
    return ("noise" if line.name is None else str(line.name), f"{line.points:,}", right, *numbers, rival)


def _listed(tally: Tally) -> tuple[list[ClusterFigures], str]:
    """Return the clusters to show, and what to say about the others."""
    lines = tally.worst_first()
    clusters = [line for line in lines if line.name is not None]
    left_out = max(len(clusters) - _MAX_CLUSTERS, 0)
    return [
        *clusters[:_MAX_CLUSTERS],
        *lines[len(clusters) :],
    ], f"... and {left_out:,} more clusters, in less trouble" if left_out else ""


def summary_text(result: Result) -> str:
    """Return the summary as plain text."""
    tally = result.tally()
    listed, more = _listed(tally)
    rows = [_cells(line) for line in listed]
    widths = [max(len(row[column]) for row in (_HEADINGS, *rows)) for column in range(len(_HEADINGS))]
    lines = []
    for row in (_HEADINGS, *rows):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:-1], widths[1:-1], strict=True))]
        lines.append("  ".join([*cells, row[-1]]))
    return "\n".join(
        [
            f"{count(result.n_points, 'point')} in {count(result.n_clusters, 'cluster')}",
            *headlines(tally, result.calibration_note),
            "",
            *lines,
            *([more] if more else []),
            "",
            *footer(tally, result.how),
        ]
    )


def summary_html(result: Result) -> str:
    """Return the summary as a card for notebooks."""
    tally = result.tally()
    lines, more = _listed(tally)
    words, before, after = ("cluster", "rival", ""), _HEADINGS[:3], _HEADINGS[3:]
    rows: list[list[Cell]] = []
    for line in lines:
        cells = _cells(line)
        bar = share_bar([Share(name, getattr(line, name)) for name in (SUPPORTED, CONTESTED, CONTRADICTED)])
        rows.append([*cells[:3], "" if line.name is None else bar, *cells[3:]])
    ranked_by = "trust" if result.calibrated else "own affinity"
    return Card(
        title=f"{count(result.n_points, 'point')} in {count(result.n_clusters, 'cluster')}",
        lines=headlines(tally, result.calibration_note),
        picture=histogram_picture(result.ranking, ranked_by),
        headings=(*before, "", *after),
        rows=rows,
        words=words,
        notes=[more],
        details=footer(tally, result.how),
    ).html()
