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
    known = None
    with suppress(OSError, ValueError):
        known = json.loads(record_of(o.output).read_text())
    if known == json.loads(json.dumps(fingerprint, default=str)):
        return True
    differs = "no record says which run made it" if known is None else "it belongs to another run"
    if isinstance(known, dict):
        names = [
            name for name in fingerprint if known.get(name) != json.loads(json.dumps(fingerprint[name], default=str))
        ]
        differs += f": {', '.join(names)} differed"
    raise FileExistsError(f"{o.output} already exists, and {differs}. Pass --if-exists replace, or another name.")


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

    def __init__(self, count: int, shown: list[str]) -> None:
        self.count, self._shown = count, shown
        self.rows: list[dict[str, Any]] = []
        self._ranking: list[float] = []

    def add(self, scores: Any, ranking: Any) -> None:
        """Look at some more rows, a record batch of the output, with what orders them (m,), NaN for noise."""
        from allegiance.results import review_rows

        chosen = review_rows(ranking, self.count)
        found = zip(ranking[chosen].tolist(), scores.take(chosen).to_pylist(), strict=True)
        known = zip(self._ranking, self.rows, strict=True)
        merged = list(heapq.merge(known, found, key=lambda pair: pair[0]))[: self.count]
        self._ranking, self.rows = [rank for rank, _ in merged], [row for _, row in merged]

    def table(self) -> list[list[str]]:
        """Return the rows to show, after their header."""
        return [self._shown, *([_cell(row[name]) for name in self._shown] for row in self.rows)]


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def summarise(
    tally: Tally, note: str | None, plan: FeaturePlan | None, described: Sequence[Description], worst: Worst
) -> dict[str, Any]:
    """Return the summary as plain values; ``described`` are the clusters in their order, or nothing."""
    from allegiance.results import headlines

    lines = tally.clusters()
    clusters = []
    for place, line in enumerate(lines):
        values = line._asdict()
        name = values.pop("name")
        short, text = described[place] if name is not None and place < len(described) else ("", "")
        clusters.append({"cluster": "noise" if name is None else name, **values, "name": short, "described": text})
    order = {id(line): place for place, line in enumerate(lines)}
    ranked = [clusters[order[id(line)]] for line in _worst_first(lines)]
    share = tally.replication
    return {
        "rows": tally.n_points,
        "labels": tally.n_labelled,
        "replication": None if share is None else share[0],
        "replication_interval": None if share is None else list(share[1:]),
        **{name: tally.total(name) for name in _VERDICTS},
        "headline": headline(tally),
        "more": headlines(tally, note)[1:],
        "plan": [] if plan is None else plan.describe()[1:],
        "clusters": ranked,
        "review": worst.rows,
    }


def summary_sheet(summary: dict[str, Any]) -> list[list[Any]]:
    """Return the rows of the second sheet of a workbook: what the screen says first, and the clusters."""
    names = ("cluster", "points", "replication", *_VERDICTS, "rival", "name", "described")
    lines = [[finite(line[name]) for name in names] for line in summary["clusters"]]
    return [[summary["headline"]], *([line] for line in summary["more"]), [], list(names), *lines]


def _worst_first(lines: Any) -> list[Any]:
    return sorted(lines, key=lambda line: (line.name is None, -line.trouble))


def headline(tally: Tally) -> str:
    """Say how many labels would come back, or without trust how many are supported."""
    labels = f"{tally.n_labelled:,} label{'' if tally.n_labelled == 1 else 's'}"
    if tally.replication is None or not tally.n_labelled:
        counts = ", ".join(f"{tally.total(name):,} {name}" for name in _VERDICTS)
        return f"{labels}: {counts}."
    share, low, high = (f"{100 * value:.0f}" for value in tally.replication)
    repeats = "" if low == high else f" (in nine of ten repeats {low} to {high} %)"
    return f"{share} % of {labels} would come back if the data were collected and clustered again{repeats}."


def print_summary(summary: dict[str, Any], worst: Worst, *, err: bool, footer: list[str]) -> None:
    """Print the summary for a person."""
    out = console(err=err)
    print_line(out, summary["headline"], bold=True)
    for line in summary["plan"]:
        print_line(out, f"  {line}")
    for line in summary["more"]:
        print_line(out, line if line.endswith(".") else f"{line}.")
    trusted = summary["replication"] is not None
    header = ["cluster", "rows", *(["come back"] if trusted else []), *_VERDICTS, "rival", "name"]
    rows = [_cluster_cells(line, trusted) for line in summary["clusters"]]
    print_table(out, "", header, rows, left=("cluster", "rival", "name"))
    for line in summary["clusters"]:
        if line["described"]:
            print_line(out, f"Cluster {line['cluster']}: {line['described']}.")
    if worst.rows:
        shown, *rows = worst.table()
        print_table(out, "Labels to look at first", shown, rows)
    for line in footer:
        print_line(out, line)


def _cluster_cells(line: dict[str, Any], trusted: bool) -> list[str]:
    share = line["replication"]
    noise = line["cluster"] == "noise" and line["own_affinity"] != line["own_affinity"]
    counts = ["-" if noise else f"{line[name]:,}" for name in _VERDICTS]
    come_back = "-" if share is None or share != share else f"{share:.0%}"
    rival = "-" if line["rival"] is None else str(line["rival"])
    return [
        str(line["cluster"]),
        f"{line['points']:,}",
        *([come_back] if trusted else []),
        *counts,
        rival,
        line["name"],
    ]
