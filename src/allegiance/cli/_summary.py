"""The summary: for a person, and for a program."""

from __future__ import annotations

import heapq
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from ._console import console, print_line, print_table
from ._remedies import in_words_of_the_command

if TYPE_CHECKING:
    from allegiance.results import ClusterFigures, HowMeasured, Tally


_VERDICTS = ("supported", "contested", "contradicted")


@dataclass
class Worst:
    """The least trusted labels among scores that go by.

    Parameters
    ----------
    ids
        The columns that identify points.
    count
        How many to remember.
    """

    ids: list[str]
    count: int
    points: list[dict[str, Any]] = field(default_factory=list)

    def add(self, scores: Any) -> None:
        """Look at some more scores, an Arrow table or record batch, behind what identifies the points."""
        import numpy as np

        from allegiance.results import NO_LABEL

        names = scores.schema.names
        by = "trust" if "trust" in names else "own_affinity"
        rank = np.asarray(scores.column(by).to_numpy(zero_copy_only=False), dtype=float)
        labelled = np.asarray(scores.column("verdict").to_numpy(zero_copy_only=False)) != NO_LABEL
        rows = np.flatnonzero(labelled)
        rows = rows[np.argsort(rank[rows], kind="stable")[: self.count]]
        shown = [name for name in ("label", "trust", "verdict", "rival", "own_affinity", "typicality") if name in names]
        found = scores.select([*self.ids, *shown]).take(rows).to_pylist()
        # Merging keeps the order of equals: the first rows stay.
        self.points = list(heapq.merge(self.points, found, key=lambda point: point[by]))[: self.count]


def summary_of(tally: Tally, worst: Worst, how: HowMeasured, note: str | None) -> dict[str, Any]:
    """Return a summary as plain values.

    Parameters
    ----------
    tally
        Counts over all points.
    worst
        The least trusted labels.
    how
        How it was measured.
    note
        Why trust should not be believed as it is, or None.
    """
    from allegiance.results import footer, headlines

    right = tally.replication
    note = None if note is None else in_words_of_the_command(note)
    return {
        "points": tally.n_points,
        "labels": tally.n_labelled,
        "replication": None if right is None else right[0],
        "replication_interval": None if right is None else list(right[1:]),
        **{name: tally.total(name) for name in _VERDICTS},
        "atypical": tally.atypical,
        "stable": tally.stable,
        "note": note,
        "clusters": [_figures(line) for line in tally.worst_first()],
        "review": worst.points,
        "headlines": headlines(tally, note),
        "footer": footer(tally, how),
        "how": asdict(how),
    }


def expected_share(summary: dict[str, Any]) -> tuple[float, str]:
    """Return the share that --fail-under looks at, and what it is."""
    if summary["replication"] is not None:
        return summary["replication"], "of the labels are expected to be right"
    return summary["supported"] / max(summary["labels"], 1), "of the labels are supported"


def print_summary(summary: dict[str, Any], *, err: bool, verbose: bool = False) -> None:
    """Print the summary for a person.

    Parameters
    ----------
    summary
        What :func:`summary_of` returned.
    err
        On standard error instead of standard output.
    verbose
        Say how it was measured.
    """
    out = console(err=err)
    for number, line in enumerate(summary["headlines"]):
        print_line(out, line if line.endswith(".") else f"{line}.", bold=number == 0)
    calibrated = summary["replication"] is not None
    header = ["cluster", "points", *(["right"] if calibrated else []), *_VERDICTS, "rival"]
    print_table(out, "", header, [_cells(line, calibrated) for line in summary["clusters"]], left=("cluster", "rival"))
    if summary["review"]:
        points = [[_cell(name, value) for name, value in point.items()] for point in summary["review"]]
        print_table(out, "Labels to look at first", list(summary["review"][0]), points)
    if verbose:
        for line in summary["footer"]:
            print_line(out, line)


def _cells(line: dict[str, Any], calibrated: bool) -> list[str]:
    right = "-" if line["replication"] is None else f"{line['replication']:.0%}"
    # Noise has no label, and so neither trust nor a verdict.
    counts = ["-" if line["own_affinity"] is None and line["points"] else f"{line[name]:,}" for name in _VERDICTS]
    rival = "-" if line["rival"] is None else str(line["rival"])
    return [str(line["cluster"]), f"{line['points']:,}", *([right] if calibrated else []), *counts, rival]


def _figures(line: ClusterFigures) -> dict[str, Any]:
    """Return the figures of a cluster as JSON knows them, named as in ``by_cluster()``."""
    values = line._asdict()
    name = values.pop("name")
    return _plain({"cluster": "noise" if name is None else name, **values})


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Return values as JSON knows them: no NumPy numbers, and no NaN."""
    plain = {name: value.item() if hasattr(value, "item") else value for name, value in values.items()}
    return {name: None if isinstance(value, float) and value != value else value for name, value in plain.items()}


def _cell(name: str, value: Any) -> str:
    from allegiance.results import ATYPICAL

    if name == "typicality" and value < ATYPICAL:
        return "unlike its cluster"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
