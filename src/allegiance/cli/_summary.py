"""The summary of a scored table: problems, replication, drivers, clusters, review list, provenance (in this order)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ._inputs import Points, ids_of
from ._messages import show, with_options
from ._outputs import provenance
from ._program import Run

if TYPE_CHECKING:
    from allegiance.drivers import Drivers, Finding
    from allegiance.io import FeaturePlan, Table
    from allegiance.report import Description
    from allegiance.results import AffinityResult, Summary

#: Maximum characters of a printed value, and maximum printed drivers and clusters.
_MAX_CHARACTERS, _MAX_DRIVERS, _MAX_CLUSTERS = 60, 8, 20
_VERDICTS = ("firm", "borderline", "doubtful")
#: Sample size for the drivers of a streamed table, in rows.
_DRIVER_ROWS = 16_384


class Facts(NamedTuple):
    """All facts for the outputs of a run."""

    summary: Summary
    plan: FeaturePlan
    findings: list[Finding]  # problems of the table and of the drivers that change the answer
    drivers: Drivers | None
    descriptions: Sequence[Description]  # of clusters, in cluster order; empty if unknown
    source: dict[str, Any]  # provenance, by subject
    review: Any = None  # the rows to review: an Arrow table
    columns: Sequence[str] = ()  # of the printed review list

    @property
    def problems(self) -> list[str]:
        """The first lines of the printed summary: problems that change the answer."""
        return list(dict.fromkeys([*map(with_options, self.summary.problems), *map(str, self.findings)]))

    @property
    def described(self) -> dict[Any, Description]:
        """The descriptions in the printed summary by cluster; empty if unknown."""
        return dict(zip(self.summary.classes.tolist(), self.descriptions, strict=False))

    @property
    def lines(self) -> list[str]:
        """The lines of the printed summary after problems and headline: verdicts, other facts, origin of trust."""
        earlier = (self.summary.sentence, *self.problems)
        note = [self.summary.note] if self.summary.note else []
        return [*(text for text in self.summary.headlines() if text not in earlier), *note]

    def with_review(self, review: Any, first: Sequence[str], names: dict[str, str]) -> Facts:
        """Add the review list of the printed summary: the columns ``first``, the main scores and the reason."""
        own = [] if "trust" in names else ["own_affinity"]
        scores = [names[name] for name in ("label", "trust", *own, "verdict", "rival", "priority") if name in names]
        *_, reason, order = review.column_names
        return self._replace(review=review.drop_columns([order]), columns=[*first, *scores, reason])


def describe_points(
    run: Run, table: Table, plan: FeaturePlan, points: Points, result: AffinityResult, model_id: str
) -> Facts:
    """Return the facts for the printed summary of a result in memory, except the review list."""
    import pyarrow as pa

    from allegiance.drivers import drivers
    from allegiance.report import cluster_descriptions

    ids = ids_of(run.features, plan, table)
    names = points.columns.column(ids[0]).to_numpy(zero_copy_only=False) if ids else None
    used = points.typed.select(list(plan.used))
    for place, column in enumerate(plan.features):
        kind = used.schema.types[place]
        if column.kind == "category" and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            used = used.set_column(place, column.name, used.column(place).cast(pa.string()))
    by_column = drivers(result, points.X, plan=plan, ids=names)
    descriptions = cluster_descriptions(result, data=used)
    return _facts(run, table, plan, result.summary(), by_column, descriptions, model_id)


def describe_stream(run: Run, table: Table, plan: FeaturePlan, fitted: Any, summary: Summary, model_id: str) -> Facts:
    """Return the facts for the printed summary of a table read in batches, with drivers of a random sample."""
    import numpy as np

    from allegiance.drivers import drivers
    from allegiance.io.model import predict_points
    from allegiance.report import center_descriptions

    by_column, descriptions = None, list[Any]()
    if fitted.centers is not None:
        sizes = [line.points for line in summary.clusters if line.name is not None]
        descriptions = center_descriptions(fitted.centers, np.array(sizes), plan)
    if run.trust.model is None:
        X = np.asarray(plan.prepare(table.sample(_DRIVER_ROWS, plan.used))[0], np.float64)
        by_column = drivers(predict_points(fitted, None, X), X, plan=plan)
    return _facts(run, table, plan, summary, by_column, descriptions, model_id)


def _facts(
    run: Run, table: Table, plan: FeaturePlan, summary: Summary, by_column: Any, descriptions: Any, model_id: str
) -> Facts:
    """Return the facts of the summary with their provenance; the findings are those of the plan and the drivers."""
    findings = [finding for finding in plan.findings if finding.level == "warning"]
    known = {finding.kind for finding in findings}
    if by_column is not None:
        findings += [flag for flag in by_column.flags if flag.kind not in known]
    findings = [replace(finding, text=with_options(finding.text)) for finding in findings]
    more = f" and {len(table.files) - 3:,} more" if len(table.files) > 3 else ""
    source = {
        "data": f"{', '.join(table.files[:3])}{more}" or table.where,
        "columns": "; ".join(line.strip() for line in plan.describe(findings=False)[1:]),
        "model": f"{run.trust.model or 'fitted to this data'} (id {model_id[:12]})",
        "seed": run.trust.seed,
        **provenance(),
    }
    return Facts(summary, plan, findings, by_column, descriptions, source)


def as_values(facts: Facts) -> dict[str, Any]:
    """Return the facts as plain values, for JSON and for the run record."""
    from allegiance._core.stored import json_value

    summary = facts.summary
    interval, noise = summary.replication_interval, summary.n_points - summary.n_labels
    clusters = []
    for line in summary._worst_first():
        values = line._asdict()
        name = values.pop("name")
        short, text = facts.described.get(name, ("", ""))
        clusters.append({"cluster": "noise" if name is None else name, **values, "name": short, "description": text})
    return {
        "problems": facts.problems,
        "headline": summary.sentence,
        "rows": summary.n_points,
        "labels": summary.n_labels,
        "noise": noise,
        "replication": summary.replication,
        "replication_interval": None if interval is None else list(interval),
        **dict.fromkeys(_VERDICTS) | summary.verdicts,
        "estimated_by": summary.note,
        "drivers": None if facts.drivers is None else facts.drivers.to_dict(),
        "clusters": clusters,
        "review": [] if facts.review is None else [json_value(row) for row in facts.review.to_pylist()],
        "provenance": facts.source,
    }


def summary_sections(facts: Facts) -> list[tuple[str, list[list[Any]]]]:
    """Return the sections of the summary sheet of a workbook."""
    from allegiance._core.stored import json_value
    from allegiance.io.workbooks import Percent

    values = as_values(facts)
    sections: list[tuple[str, list[list[Any]]]] = []
    if facts.problems:
        sections.append(("Problems that change the answer", [[text] for text in facts.problems]))
    sections.append((values["headline"], [[text] for text in facts.lines]))
    if facts.drivers is not None and facts.drivers.shares:
        shares = [[name, Percent(share)] for name, share in list(facts.drivers.shares.items())[:_MAX_DRIVERS]]
        rule = [[line] for line in facts.drivers.lines()[1:]]
        sections.append(("Drivers: share of the separation between clusters", [*shares, *rule]))
    names = ("cluster", "name", "points", "replication", "replication_low", "replication_high", *_VERDICTS, "rival")
    rows = []
    for line in json_value(values["clusters"]):
        row = [line[name] for name in names]
        row[3:6] = [None if share is None else Percent(share) for share in row[3:6]]
        rows.append([str(row[0]), *row[1:], line["description"]])
    sections.append(("Clusters", [[*(name.replace("_", ", ") for name in names), "description"], *rows]))
    provenance_lines = list[list[Any]]()
    for name, value in facts.source.items():
        first, *others = str(value).split("; ")
        provenance_lines += [[name, first], *([None, text] for text in others)]
    sections.append(("Provenance", provenance_lines))
    return sections


def print_facts(facts: Facts, run: Run) -> None:
    """Print the summary for a person."""
    from allegiance.notebook import text_table

    summary, err = facts.summary, run.output.output == "-"
    warned = set(run.log.warned)
    show(*(text for text in facts.problems if text not in warned), bold=True, err=err)
    show(summary.sentence, bold=True, err=err)
    show(*facts.lines, err=err)
    if facts.drivers is not None:
        show("", *facts.drivers.lines(), err=err)
    show("", *summary.cluster_lines(), err=err)
    described, names = facts.described, [line.name for line in summary._worst_first()]
    texts = [(name, described[name].details) for name in names if name in described]
    show(*(f"Cluster {name}: {text}." for name, text in texts[:_MAX_CLUSTERS] if text), err=err)
    if facts.review is not None and facts.review.num_rows:
        rows = [[_printed_cell(name, row[name]) for name in facts.columns] for row in facts.review.to_pylist()]
        by = "trust" if run.output.review_by == "trust" else "review priority"
        show("", f"Review these first (sorted by {by})", *text_table(facts.columns, rows), err=err)
    elif summary.n_labels and summary.replication is not None:
        show("", "All labels are firm: nothing to review.", err=err)
    show("", *(f"{name:<9} {text}" for name, text in facts.source.items() if name != "columns"), err=err)
    show(*(f"  {line}" for line in facts.plan.describe(findings=False)[1:]), err=err)
    if run.log.verbose:
        show(*(f"{name:<12} {text}" for name, text in summary.measurement_facts().items()), err=err)


def _printed_cell(name: str, value: Any) -> str:
    """Return a value of the printed review list: one line, cut if it is too long."""
    from allegiance.results import format_review_cell

    if isinstance(value, float):
        return format_review_cell(name, value) if name.endswith(("trust", "priority")) else f"{value:.2f}"
    text = "" if value is None else " ".join(str(value).split())
    return text if len(text) <= _MAX_CHARACTERS else f"{text[: _MAX_CHARACTERS - 1]}…"
