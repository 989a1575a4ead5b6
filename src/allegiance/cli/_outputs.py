"""Outputs: checked before the work, never written over each other; and the summary that is printed."""

from __future__ import annotations

import heapq
import json
import os
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from ._app import console, finite, print_line, print_table, provenance
from ._inputs import Points, ids_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allegiance.io import FeaturePlan, Table
    from allegiance.report import Description
    from allegiance.results import AffinityResult, Tally

_VERDICTS = ("supported", "contested", "contradicted")
#: Columns of the output after those of the input, and the scores that they are.
_SCORES = {"label": "cluster", "trust": "trust", "verdict": "verdict", "rival": "rival"}


def check_outputs(o: SimpleNamespace, *others: tuple[str, str | None]) -> None:
    """Raise unless all outputs can be written and differ from each other; ``others`` are options and paths."""
    from allegiance.io import check_writable

    named = [(option, path) for option, path in (("-o", o.output), *others) if path is not None]
    force = o.if_exists == "replace"
    seen: dict[str, str] = {}
    for option, path in named:
        if path == "-":
            continue
        place = os.path.realpath(path)
        if place in seen:
            raise click.UsageError(f"{seen[place]} and {option} both write {path}: name two files.")
        seen[place] = option
        check_writable(path, force=force or (o.if_exists == "skip" and option == "-o"))
    if o.json and o.output == "-":
        raise click.UsageError("--json and -o - both write to standard output: name a file with -o.")
    if getattr(o, "report", None) is not None:
        for library in ("bokeh", "jinja2", "PIL"):
            if find_spec(library) is None:
                raise click.ClickException(f"--report needs {library}: pip install 'allegiance[report]'.")


def check_inputs(inputs: Any, *outputs: str | None) -> None:
    """Raise if an output would replace a file that is read."""
    from allegiance.io import refuse_inputs

    for path in outputs:
        if path not in (None, "-"):
            refuse_inputs(str(path), [name for name in inputs if name])


def record_of(output: str) -> Path:
    """Return the file that says which run made an output."""
    return Path(f"{output}.run.json")


def is_done(o: SimpleNamespace, fingerprint: dict[str, Any]) -> bool:
    """Tell whether ``--if-exists skip`` finds the output of the same run; raise if it finds another."""
    if o.if_exists != "skip" or o.output is None or not os.path.exists(o.output):
        return False
    known, wanted = None, json.loads(json.dumps(fingerprint, default=str))
    with suppress(OSError, ValueError):
        known = json.loads(record_of(o.output).read_text())
    if known == wanted:
        return True
    reason = "no record says which run made it"
    if isinstance(known, dict):
        differing = [name for name in wanted if known.get(name) != wanted[name]]
        reason = f"it belongs to another run: {', '.join(differing)} differed"
    raise FileExistsError(f"{o.output} already exists, and {reason}. Pass --if-exists replace, or another name.")


def write_record(o: SimpleNamespace, fingerprint: dict[str, Any]) -> None:
    """Write which run made the output, for ``--if-exists skip``."""
    from allegiance.io import write_whole

    if o.if_exists == "skip" and o.output not in (None, "-"):
        write_whole(record_of(o.output), json.dumps(fingerprint, indent=1, default=str).encode())


def open_output(path: str | None, o: SimpleNamespace) -> Any:
    """Return the sink of a table; None without one."""
    from allegiance.io import open_sink

    if path is None:
        return None
    return open_sink(path, force=o.if_exists == "replace", metadata=provenance())


def page_settings(
    o: SimpleNamespace, result: AffinityResult, points: Points, plan: FeaturePlan, table: Table
) -> tuple[list[Description], dict[str, Any]]:
    """Return what sets each cluster apart, and how the page shows the rows, in the columns of the file."""
    import pyarrow as pa

    row, *names = points.columns.column_names
    # The page is in the types of the columns, even if the output is as written.
    columns = pa.Table.from_batches([table.typed(batch) for batch in points.columns.select(names).to_batches()])
    described = _describe_features(result, columns, plan)
    ids = ids_of(o, plan, table)
    # The labels of a clustering may be words already.
    numbered = result.classes.dtype.kind in "iuf"
    short = {label: each.name for label, each in zip(result.classes.tolist(), described, strict=True)}
    where = table.where.partition("?")[0] if "://" in table.where else table.where
    return described, {
        "data": columns,
        "describe_by": list(plan.used),
        "names": short if numbered else None,
        "ids": points.columns.select(ids) if ids else None,
        "texts": None if o.text is None else points.columns.column(o.text),
        "feature_names": list(plan.names),
        "row_numbers": points.columns.column(row).to_numpy(),
        "title": f"Labels of {where.rstrip('/').replace(os.sep, '/').rpartition('/')[2] or where}",
    }


def _describe_features(result: AffinityResult, columns: Any, plan: FeaturePlan) -> list[Description]:
    """Return what sets each cluster apart in the features, from typed columns of the rows that were scored."""
    import pyarrow as pa

    from allegiance.report import cluster_descriptions

    found = columns.select(list(plan.used))
    for place, column in enumerate(plan.features):
        kind = found.schema.types[place]
        if column.kind == "category" and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            found = found.set_column(place, column.name, found.column(place).cast(pa.string()))
    return cluster_descriptions(result, data=found)


def score_names(columns: Any, scores: Any) -> dict[str, str]:
    """Return the names of the scores in the output, by the library's names; those that are taken get a prefix."""
    wanted = {name: shown for name, shown in _SCORES.items() if name in scores}
    if "trust" not in wanted:
        wanted = {"label": "cluster", "own_affinity": "own_affinity", "verdict": "verdict", "rival": "rival"}
    if any(name in columns for name in wanted.values()):
        return {name: f"allegiance_{shown}" for name, shown in wanted.items()}
    return wanted


class Worst:
    """The labels to look at first among those that go by; equal ones stay in the order of the table."""

    def __init__(self, count: int) -> None:
        self._count, self.rows, self._ranking = count, list[dict[str, Any]](), list[float]()

    def add(self, scores: Any, ranking: Any) -> None:
        """Look at some more rows, a record batch of the output, with what orders them (m,), NaN for noise."""
        from allegiance.results import review_rows

        chosen = review_rows(ranking, self._count)
        found = zip(ranking[chosen].tolist(), scores.take(chosen).to_pylist(), strict=True)
        known = zip(self._ranking, self.rows, strict=True)
        merged = list(heapq.merge(known, found, key=lambda pair: pair[0]))[: self._count]
        self._ranking, self.rows = [rank for rank, _ in merged], [row for _, row in merged]


def summarise(
    tally: Tally, note: str | None, plan: FeaturePlan, described: Sequence[Description], review: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the summary as plain values; ``described`` are the clusters in their order, or nothing."""
    from allegiance.results import headlines

    clusters = []
    worst_first = sorted(enumerate(tally.clusters()), key=lambda each: (each[1].name is None, -each[1].trouble))
    for place, line in worst_first:
        values = line._asdict()
        name = values.pop("name")
        short, text = described[place] if name is not None and place < len(described) else ("", "")
        clusters.append({"cluster": "noise" if name is None else name, **values, "name": short, "described": text})
    share = tally.replication
    return {
        "rows": tally.n_points,
        "labels": tally.n_labelled,
        "replication": None if share is None else share[0],
        "replication_interval": None if share is None else list(share[1:]),
        **{name: tally.total(name) for name in _VERDICTS},
        "headline": headline(tally),
        "more": headlines(tally, note)[1:],
        "plan": plan.describe()[1:],
        "clusters": clusters,
        "review": review,
    }


def summary_sheet(summary: dict[str, Any]) -> list[list[Any]]:
    """Return the rows of the second sheet of a workbook: what the screen says first, and the clusters."""
    names = ("cluster", "points", "replication", *_VERDICTS, "rival", "name", "described")
    lines = [[finite(line[name]) for name in names] for line in summary["clusters"]]
    return [[summary["headline"]], *([line] for line in summary["more"]), [], list(names), *lines]


def headline(tally: Tally) -> str:
    """Say how many labels would come back, or without trust how many are supported."""
    labels = f"{tally.n_labelled:,} label{'' if tally.n_labelled == 1 else 's'}"
    if tally.replication is None or not tally.n_labelled:
        counts = ", ".join(f"{tally.total(name):,} {name}" for name in _VERDICTS)
        return f"{labels}: {counts}."
    share, low, high = (f"{100 * value:.0f}" for value in tally.replication)
    repeats = "" if low == high else f" (in nine of ten repeats {low} to {high} %)"
    return f"{share} % of {labels} would come back if the data were collected and clustered again{repeats}."


def print_summary(summary: dict[str, Any], shown: Sequence[str], *, err: bool, footer: list[str]) -> None:
    """Print the summary for a person; ``shown`` are the columns of the labels to look at first."""
    out = console(err=err)
    print_line(out, summary["headline"], bold=True)
    for line in summary["plan"]:
        print_line(out, f"  {line}")
    for line in summary["more"]:
        print_line(out, line if line.endswith(".") else f"{line}.")
    come_back = [] if summary["replication"] is None else ["come back"]
    header = ["cluster", "rows", *come_back, *_VERDICTS, "rival", "name"]
    rows = [_cluster_cells(line, bool(come_back)) for line in summary["clusters"]]
    print_table(out, "", header, rows, left=("cluster", "rival", "name"))
    for line in summary["clusters"]:
        if line["described"]:
            print_line(out, f"Cluster {line['cluster']}: {line['described']}.")
    if summary["review"]:
        rows = [[_cell(row[name]) for name in shown] for row in summary["review"]]
        print_table(out, "Labels to look at first", shown, rows)
    for line in footer:
        print_line(out, line)


def _cluster_cells(line: dict[str, Any], trusted: bool) -> list[str]:
    share, rival = line["replication"], line["rival"]
    noise = line["cluster"] == "noise" and line["own_affinity"] != line["own_affinity"]
    counts = ["-" if noise else f"{line[name]:,}" for name in _VERDICTS]
    come_back = ["-" if share is None or share != share else f"{share:.0%}"] if trusted else []
    rival = "-" if rival is None else str(rival)
    return [str(line["cluster"]), f"{line['points']:,}", *come_back, *counts, rival, line["name"]]


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
