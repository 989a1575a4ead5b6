"""How a result is shown: as text, and as a card in notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allegiance._core.validation import AnyArray
from allegiance.engines import Z95
from allegiance.notebook import Card, Cell, count, histogram_picture, share_bar, text_table

from ._clusters import CONTESTED, CONTRADICTED, SUPPORTED, ClusterFigures, Tally

if TYPE_CHECKING:
    from ._result import AffinityResult, HowMeasured

#: Clusters listed before the table is cut.
_MAX_CLUSTERS = 20
_HEADINGS = ("cluster", "points", "trust", "supported", "contested", "contradicted", "rival")


def headlines(tally: Tally, note: str | None = None) -> list[str]:
    """Say how many labels would come back, their verdicts, and what else a reader should know first.

    ``note`` says why trust should not be relied on; None if nothing speaks against it.
    """
    verdicts = ", ".join(f"{tally.total(name):,} {name}" for name in (SUPPORTED, CONTESTED, CONTRADICTED))
    labels = count(tally.n_labelled, "label")
    if tally.replication is None or not tally.n_labelled:
        lines = [f"{labels}: {verdicts}"]
    else:
        lines = [f"{replication_sentence(tally)} {verdicts}"]
    if note is not None:
        lines.append(note)
    noise = tally.n_points - tally.n_labelled
    if noise:
        lines.append(f"{count(noise, 'noise point')} ({noise / tally.n_points:.0%})")
    if tally.atypical:
        lines.append(
            f"{count(tally.atypical, 'point')} unlike the members of {'its' if tally.atypical == 1 else 'their'} "
            "cluster (typicality below 1 %)"
        )
    if tally.empty_cells:
        lines.append(f"{count(tally.empty_cells, 'point')} with an empty cell: affinity is a limit there")
    return lines


def replication_sentence(tally: Tally) -> str:
    """Say which share of the labels would come back, and how far one repeat may differ."""
    assert tally.replication is not None
    share, low, high = (f"{100 * value:.0f}" for value in tally.replication)
    repeats = "" if low == high else f" (in nine of ten repeats {low} to {high} %)"
    labels = count(tally.n_labelled, "label")
    return f"{share} % of {labels} would come back if the data were collected and clustered again{repeats}."


def _measured_by(tally: Tally) -> str:
    """Say which engines measured how many points, and how precisely."""
    ranked = sorted(tally.engines.items(), key=lambda item: (-item[1], item[0]))
    engines = ", ".join(f"{name} ({number:,})" for name, number in ranked)
    worst = Z95 * tally.worst_error
    return f"{engines}; {'no sampling error' if worst == 0 else f'95 % intervals within ±{worst:.3f}'}"


def how_measured(tally: Tally, how: HowMeasured) -> dict[str, str]:
    """Say how it was measured."""
    reduced = f", reduced from {how.n_features}" if how.dim < how.n_features else ""
    share = tally.stable / max(tally.n_points, 1)
    return {
        "closeness": how.influence,
        "measured by": _measured_by(tally),
        "domain": f"{how.domain}, {count(how.dim, 'dimension')}{reduced}; seed {how.seed}; {how.seconds:.2f} s",
        "stable": f"{tally.stable:,} points ({share:.1%}) with more than half of their territory from one cluster, "
        f"{tally.undecided:,} undecided",
    }


def footer(tally: Tally, how: HowMeasured) -> list[str]:
    """Say how it was measured, as lines of text."""
    return [f"{name:<12} {value}" for name, value in how_measured(tally, how).items()]


def check_names(classes: AnyArray, names: Any) -> dict[str, str]:
    """Return the names that a user gave to clusters by label as text, empty where there is none."""
    labels = [str(label) for label in classes.tolist()]
    given = {str(label): str(name) for label, name in dict(names or {}).items()}
    if unknown := sorted(set(given) - set(labels)):
        raise ValueError(f"names has {unknown[0]!r}, which is not a label: use {', '.join(labels[:8])}.")
    return {label: given.get(label, "") for label in labels}


def shown_name(label: str, name: str) -> str:
    """Return what a cluster is called wherever there is room for its name."""
    return f"{label} · {name}" if name else label


def _cells(line: ClusterFigures) -> tuple[str, ...]:
    """Return the cells of a cluster's row."""
    trust = "-" if np.isnan(line.replication) else f"{line.replication:.0%}"
    numbers = [f"{value:,}" for value in (line.supported, line.contested, line.contradicted)]
    if line.name is None:
        numbers = ["-"] * 3
    rival = "-" if line.rival is None else str(line.rival)
    return ("noise" if line.name is None else str(line.name), f"{line.points:,}", trust, *numbers, rival)


def _listed(tally: Tally) -> tuple[list[ClusterFigures], str]:
    """Return the clusters to show, and a line about the others."""
    lines = tally.worst_first()
    clusters = [line for line in lines if line.name is not None]
    left_out = max(len(clusters) - _MAX_CLUSTERS, 0)
    more = f"... and {left_out:,} more clusters with higher trust" if left_out else ""
    return [*clusters[:_MAX_CLUSTERS], *lines[len(clusters) :]], more


def cluster_lines(tally: Tally) -> list[str]:
    """Return the table of the clusters as lines of text."""
    listed, more = _listed(tally)
    table = text_table(_HEADINGS, [_cells(line) for line in listed], left=("cluster", "rival"))
    return [*table, *([more] if more else [])]


def summary_card(result: AffinityResult) -> Card:
    """Return the summary."""
    tally = result.tally()
    listed, more = _listed(tally)
    rows: list[list[Cell]] = []
    for line in listed:
        cells = _cells(line)
        bar = share_bar({name: getattr(line, name) for name in (SUPPORTED, CONTESTED, CONTRADICTED)})
        rows.append([*cells[:3], "" if line.name is None else bar, *cells[3:]])
    return Card(
        title=f"{count(result.n_points, 'point')} in {count(result.n_clusters, 'cluster')}",
        lines=headlines(tally, result.clusterer_note),
        picture=histogram_picture(result.ranking, "trust" if result.calibrated else "own affinity"),
        headings=(*_HEADINGS[:3], "", *_HEADINGS[3:]),
        rows=rows,
        words=("cluster", "rival", ""),
        notes=[more],
        details=footer(tally, result.how),
    )
