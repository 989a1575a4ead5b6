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

from ._app import Log, finite, provenance, show
from ._inputs import Points, ids_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allegiance.io import FeaturePlan, Table
    from allegiance.report import Description
    from allegiance.results import AffinityResult, Summary

_VERDICTS = ("firm", "borderline", "doubtful")
#: Characters of a value on the screen.
_WIDEST = 60
#: Columns of the output after those of the input, and the scores that they are.
_SCORES = {"label": "cluster", "trust": "trust", "verdict": "verdict", "rival": "rival"}


def check_outputs(o: SimpleNamespace, *others: tuple[str, str | None]) -> None:
    """Raise unless all outputs can be written and differ from each other; ``others`` are options and paths."""
    from allegiance.io import check_writable, open_sink

    named = [(option, path) for option, path in (("-o", o.output), *others) if path is not None]
    # With skip, the run that made the output made the others, too: see ``earlier_exit``.
    skips = o.if_exists == "skip" and o.output not in (None, "-") and os.path.exists(o.output)
    seen: dict[str, str] = {}
    for option, path in named:
        if path == "-":
            continue
        place = os.path.realpath(path)
        if place in seen:
            raise click.UsageError(f"{seen[place]} and {option} both write {path}: name two files.")
        seen[place] = option
        check = open_sink if option in ("-o", "--review-output") else check_writable
        check(path, force=skips or o.if_exists == "replace")
    if o.json and o.output == "-":
        raise click.UsageError("--json and -o - both write to standard output: name a file with -o.")
    if getattr(o, "report", None) is not None:
        check_page()


def check_page() -> None:
    """Raise unless the libraries of the page are there, before anything is computed."""
    for library in ("bokeh", "jinja2", "PIL"):
        if find_spec(library) is None:
            raise click.ClickException(f"the page needs {library}: pip install 'allegiance[report]'.")


def check_inputs(inputs: Any, *outputs: str | None) -> None:
    """Raise if an output would replace a file that is read."""
    from allegiance.io import refuse_inputs

    for path in outputs:
        if path not in (None, "-"):
            refuse_inputs(str(path), [name for name in inputs if name])


def earlier_exit(o: SimpleNamespace, fingerprint: dict[str, Any], log: Log) -> int | None:
    """Return the exit code of the same run if ``--if-exists skip`` finds its output; raise if it finds another."""
    if o.if_exists != "skip" or o.output in (None, "-") or not os.path.exists(o.output):
        return None
    wanted = json.loads(json.dumps(fingerprint, default=str))
    reason = "no record says which run made it"
    with suppress(OSError, ValueError, KeyError, TypeError):
        record = json.loads(_record_of(o.output).read_text())
        if record["run"] == wanted:
            code = int(record["exit_code"])
            ended = f", with exit code {code}" if code else ""
            log.write("skip", f"{o.output} is up to date: the same inputs and options made it{ended}.", file=o.output)
            return code
        reason = f"it belongs to another run: {', '.join(_differing(record['run'], wanted))} differed"
    raise FileExistsError(f"{o.output} already exists, and {reason}. Pass --if-exists replace, or another name.")


def _differing(known: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """Name what differs between two runs; of options which ones."""
    differing = [name for name in wanted if known.get(name) != wanted[name]]
    if "options" not in differing:
        return differing
    before, now = known.get("options") or {}, wanted["options"]
    return [f"--{name.replace('_', '-')}" for name in now if before.get(name) != now[name]] or differing


def write_record(o: SimpleNamespace, fingerprint: dict[str, Any], code: int = 0) -> None:
    """Write which run made the output and how it ended, for ``--if-exists skip``."""
    from allegiance.io import write_whole

    if o.if_exists == "skip" and o.output not in (None, "-"):
        record = json.dumps({"run": fingerprint, "exit_code": code}, indent=1, default=str)
        write_whole(_record_of(o.output), record.encode())


def _record_of(output: str) -> Path:
    return Path(f"{output}.run.json")


def open_output(path: str | None, o: SimpleNamespace) -> Any:
    """Return the sink of a table; None without one."""
    from allegiance.io import open_sink

    if path is None:
        return None
    return open_sink(path, force=o.if_exists == "replace", metadata=provenance())


def write_rows(path: str | None, rows: Any, o: SimpleNamespace, log: Log) -> None:
    """Write a table, if a file is named."""
    if path is not None:
        with open_output(path, o) as sink:
            sink.write(rows)
        log.wrote(path)


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

    def __init__(self, count: int, verdict: str | None) -> None:
        #: ``verdict`` is the column by which firm labels are left out; None to keep them.
        self._count, self._verdict = count, verdict
        self.rows, self._ranking = list[dict[str, Any]](), list[float]()
        self.schema: Any = None

    def add(self, scores: Any, ranking: Any) -> None:
        """Look at some more rows, a record batch of the output, with what orders them (m,), NaN for noise."""
        import numpy as np

        from allegiance.results import review_rows

        if self._verdict is not None:
            ranking = np.where(np.asarray(scores.column(self._verdict)) == "firm", np.nan, ranking)
        chosen = review_rows(ranking, self._count)
        self.schema = scores.schema
        found = zip(ranking[chosen].tolist(), scores.take(chosen).to_pylist(), strict=True)
        known = zip(self._ranking, self.rows, strict=True)
        merged = list(heapq.merge(known, found, key=lambda pair: pair[0]))[: self._count]
        self._ranking, self.rows = [rank for rank, _ in merged], [row for _, row in merged]


def summarise(
    scored: Summary, plan: FeaturePlan, described: Sequence[Description], review: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the summary as plain values; ``described`` are the clusters in their order, or nothing."""
    clusters = []
    worst_first = sorted(enumerate(scored.clusters), key=lambda each: (each[1].name is None, -each[1].doubt))
    for place, line in worst_first:
        values = line._asdict()
        name = values.pop("name")
        short, text = described[place] if name is not None and place < len(described) else ("", "")
        clusters.append({"cluster": "noise" if name is None else name, **values, "name": short, "described": text})
    interval = scored.replication_interval
    headline, *more = scored.headlines()
    return {
        "rows": scored.n_points,
        "labels": scored.n_labels,
        "replication": scored.replication,
        "replication_interval": None if interval is None else list(interval),
        **scored.verdicts,
        "headline": headline,
        "more": [*more, *([scored.note] if scored.note else [])],
        "plan": plan.describe()[1:],
        "clusters": clusters,
        "review": review,
    }


def summary_sheet(summary: dict[str, Any]) -> list[tuple[str, list[list[Any]]]]:
    """Return the rows of the second sheet of a workbook: what the screen says first, and the clusters."""
    names = ("cluster", "points", "replication", *_VERDICTS, "rival", "name", "described")
    lines = [[finite(line[name]) for name in names] for line in summary["clusters"]]
    return [(summary["headline"], [[line] for line in summary["more"]]), ("Clusters", [list(names), *lines])]


def print_summary(
    summary: dict[str, Any], scored: Summary, shown: Sequence[str], log: Log, *, err: bool, footer: Sequence[str]
) -> None:
    """Print the summary for a person; ``shown`` are the columns of the labels to look at first."""
    from allegiance.notebook import text_table

    more = summary["more"]
    for warning in log.warned:
        more = [line.replace(warning, "").strip() for line in more]
    show(summary["headline"], bold=True, err=err)
    show(*filter(None, more), *(f"  {line}" for line in summary["plan"]), "", *scored.cluster_lines(), "", err=err)
    for line in summary["clusters"]:
        if line["described"]:
            show(f"Cluster {line['cluster']}: {line['described']}.", err=err)
    if summary["review"]:
        rows = [[_cell(row[name]) for name in shown] for row in summary["review"]]
        why = "" if summary["replication"] is None else " (sorted by review priority)"
        show("", f"Review these first{why}", *text_table(shown, rows), err=err)
    elif summary["labels"]:
        show("", "No label needs a review: all are firm.", err=err)
    show(*footer, err=err)


def _cell(value: Any) -> str:
    """Return a value of a row for the screen: one line, not too long."""
    if isinstance(value, float):
        return f"{value:.3f}"
    text = "" if value is None else " ".join(str(value).split())
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"
