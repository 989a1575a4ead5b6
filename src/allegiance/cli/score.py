"""``allegiance score``: how much to trust each row's label."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from . import _options as opt
from ._app import DRIFTED, NOTED, UNDER_THRESHOLD, Run, begin, finish, finite, print_json, provenance
from ._inputs import (
    Points,
    check_clustering,
    find_readable,
    free_name,
    ids_of,
    is_cells,
    load_centers,
    load_points,
    make_scorer,
    needs_memory,
    open_input,
    prepare,
    score_points,
)
from ._outputs import RunRecord, check_inputs, check_outputs, open_output, score_names, write_cells, write_rows
from ._summary import Facts, as_values, collect_problems, print_facts, source_facts, summary_sections
from .audit import write_sheet

if TYPE_CHECKING:
    from allegiance import AffinityScorer
    from allegiance.drift import Profile
    from allegiance.io import FeaturePlan, Table
    from allegiance.io.batches import ReviewRequest, Rows
    from allegiance.results import AffinityResult, Summary

#: Tables with more rows are streamed, unless an option needs all of them in memory.
MANY_ROWS = 1_000_000
#: Maximum labels listed for review by default, and maximum drift findings.
_MAX_REVIEW, MAX_FINDINGS = 10, 12
#: Sample size for the drivers of a streamed table, in rows.
_DRIVER_ROWS = 16_384

EPILOG = """\b
Examples:
  allegiance score customers.csv --clusters 8 -o scored.xlsx --report report.html
  allegiance score customers.csv --labels segment --review 50 --review-output review.xlsx
  allegiance score january.csv --clusters 8 --save january.model -o january.parquet
  allegiance score february/ --model january.model -o scored/ --fail-on-drift
  allegiance score s3://bucket/february/ --model january.model -o s3://bucket/scored/
  cat customers.csv | allegiance score - --clusters 8 -o - > scored.csv
"""


@click.command(cls=opt.Command, epilog=EPILOG, short_help="Score how much you can trust each row's label.")
@opt.options(
    opt.DATA,
    [*opt.CLUSTERING_OPTIONS, *opt.OWN_CLUSTERER_OPTIONS, opt.MODEL_OPTION],
    opt.COLUMN_OPTIONS,
    opt.READING_OPTIONS,
    [
        opt.option(
            opt.READING, "--on-error", type=click.Choice(["stop", "skip"]), default="stop", show_default=True,
            help="If an input file is damaged: stop, or skip it and list it in the summary. skip needs -o FOLDER/.",
        ),
    ],
    opt.TRUST_OPTIONS,
    [
        opt.option(
            opt.OUTPUT, "-o", "--output", metavar="FILE|FOLDER/",
            help="Table to write: .csv .parquet .xlsx .arrow .jsonl, a URL, or - for standard output; .h5ad to add "
            "scores to cells. FOLDER/ gets one Parquet file per input file, and a rerun writes only the missing ones.",
        ),
        opt.OUTPUT_OPTIONS[1],
        opt.option(opt.OUTPUT, "--scores-only", is_flag=True, help="Write identifiers and scores, not all columns."),
        opt.option(
            opt.OUTPUT, "--review", metavar="N|SHARE%", type=opt.Budget(),
            help="List the first N labels to review.  [default: those that are not firm, at most 10]",
        ),
        opt.option(
            opt.OUTPUT, "--review-by", type=click.Choice(["priority", "trust"]), default="priority", show_default=True,
            help="Sort the review list by review priority (most likely wrong first) or by lowest trust.",
        ),
        opt.option(opt.OUTPUT, "--review-output", metavar="FILE", help="Table to write the --review list to."),
        opt.option(
            opt.OUTPUT, "--audit-sheet", metavar="FILE",
            help="Write a sheet of labels to check by hand, half of them drawn at random, for `allegiance audit`.",
        ),
        opt.option(
            opt.OUTPUT, "--audit-size", metavar="N", type=click.IntRange(min=1), default=60, show_default=True,
            help="Number of labels on the --audit-sheet.",
        ),
        opt.option(opt.OUTPUT, "--report", metavar="FILE", help="Write an HTML page to explore and review the labels."),
    ],
    opt.PAGE_OPTIONS,
    [
        opt.option(opt.OUTPUT, "--save", metavar="FILE", help="Save the model (*.model) for later use with --model."),
        opt.option(
            opt.RUNNING, "--stream/--in-memory", default=None,
            help=f"Read DATA in batches, or into memory.  [default: in batches beyond {MANY_ROWS:,} rows]",
        ),
        opt.option(
            opt.RUNNING, "--batch-rows", metavar="N", type=click.IntRange(min=1),
            help="Rows per batch; fewer need less memory.  [default: 65,536]",
        ),
        opt.option(
            opt.RUNNING, "--fail-under", metavar="SHARE", type=click.FloatRange(0, 1),
            help="Exit with code 3 if replication is below SHARE.",
        ),
        opt.option(opt.RUNNING, "--fail-on-drift", is_flag=True, help="Exit with code 4 if DATA has drifted."),
        opt.option(
            opt.RUNNING, "--tolerance", metavar="SHARE", type=click.FloatRange(0, 1), default=0.05, show_default=True,
            help="Share of rows that may have changed before --fail-on-drift applies. 0 counts every finding.",
        ),
        opt.option(
            opt.RUNNING, "--fail-on-notes", is_flag=True,
            help="Exit with code 5 if there are problems that change the answer.",
        ),
    ],
    opt.RUN_OPTIONS,
)  # fmt: skip
def score(**values: Any) -> int:
    """Score how much you can trust the label of each row of DATA: files, folders, patterns, URLs, or -.

    The output has all columns of DATA, then cluster, trust, verdict, rival and priority. Trust is the probability that
    the label would hold up on a fresh sample.
    """
    run = begin(values)
    check_clustering(run)
    _check_usage(run)
    check_outputs(run)
    data, damaged = run.data, dict[str, str]()
    if run.reading.on_error == "skip":
        data, damaged = find_readable(run.reading, run.data, run.log)
    table = open_input(run.reading, data, run.log)
    check_inputs(run, table)
    record = RunRecord(run, table)
    code = record.skip_if_up_to_date()
    if code is not None:
        return code
    scorer, plan = prepare(run, table)
    if scorer is not None and scorer.fitted_.baseline is None and run.output.fail_on_drift:
        raise ValueError(
            f"{run.trust.model} has no baseline, so --fail-on-drift cannot be decided. Save the model again with "
            "`allegiance score DATA --save FILE`, or leave out --fail-on-drift."
        )
    work = _score_in_batches if _streams(run, table) else _score_in_memory
    scored = work(run, table, plan, scorer)
    facts, figures = scored.facts, as_values(scored.facts)
    figures |= {"model_id": scored.model_id, "skipped": damaged | scored.damaged}
    drift = _compare_with_baseline(run, scored)
    if run.trust.model is not None:
        figures["drift"] = None if drift is None else drift.to_dict()
    if run.output.save is not None:
        _save(run, scored, plan, table, figures)
    code = _exit_code(run, facts, drift)
    record.write(code, figures)
    finish(code)
    if run.json:
        names = ("output", "report", "save", "review_output", "audit_sheet")
        outputs = {name: getattr(run.output, name) for name in names}
        print_json({**figures, "notes": run.log.notes, "exit_code": code, **outputs})
    elif not run.log.quiet:
        print_facts(facts, run)
    run.log.end(rows=facts.summary.n_points, replication=facts.summary.replication)
    return code


class _Scored(NamedTuple):
    """A scored table."""

    facts: Facts
    scorer: AffinityScorer
    model_id: str
    profile: Profile | None
    """The profile of the rows for drift, if anything needs it."""
    damaged: dict[str, str]
    """Damaged input files with the reason."""


def _axes(text: str) -> list[str]:
    """Return the two columns of ``--map X,Y``."""
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2:
        raise click.UsageError(f"--map {text} does not name two columns: write --map X,Y.")
    return names


def _check_usage(run: Run) -> None:
    """Raise a usage error for options that contradict each other."""
    from allegiance.io.partitions import is_folder

    output = run.output
    if output.review_output is not None and output.review is None:
        raise click.UsageError("--review-output needs --review N.")
    if output.map is not None and len(_axes(output.map)) == 2 and output.report is None:
        raise click.UsageError("--map needs --report FILE.")
    if output.fail_on_drift and run.trust.model is None:
        raise click.UsageError("--fail-on-drift needs --model FILE.")
    in_folder = output.output is not None and is_folder(output.output)
    if run.reading.on_error == "skip" and not in_folder:
        raise click.UsageError("--on-error skip needs -o FOLDER/, which gets one file per input file.")
    obstacle = needs_memory(run)
    if (output.stream or in_folder) and obstacle is not None:
        option = "--stream" if output.stream else "-o FOLDER/"
        raise click.UsageError(f"{option} cannot be used with {obstacle}, which needs all rows in memory.")
    if in_folder and output.stream is False:
        raise click.UsageError("-o FOLDER/ cannot be used with --in-memory: it is written in batches.")
    for name in run.data:
        if output.output is not None and os.path.isdir(name) and _lies_in(output.output, name):
            raise click.UsageError(f"{output.output} is in the input folder {name}: the next run would read it.")


def _lies_in(path: str, folder: str) -> bool:
    inner, outer = os.path.realpath(path), os.path.realpath(folder)
    return inner == outer or inner.startswith(outer + os.sep)


def _streams(run: Run, table: Table) -> bool:
    """Decide whether to read the table in batches."""
    from allegiance.io.partitions import is_folder

    if run.output.stream is not None:
        return run.output.stream
    if run.output.output is not None and is_folder(run.output.output):
        return True
    n_rows = table.n_rows if table.n_rows is not None else table.profile().n_rows
    if n_rows <= MANY_ROWS:
        return False
    obstacle = needs_memory(run)
    if obstacle is not None:
        run.log.note(f"{n_rows:,} rows are read into memory, because {obstacle} needs all of them.")
    return obstacle is None


def _columns(
    run: Run, plan: FeaturePlan, table: Table, row: str, scores: Any
) -> tuple[list[str], dict[str, str], list[str]]:
    """Return the input columns to write, the output names of scores, and the columns of the printed review list."""
    ids = ids_of(run.features, plan, table) or [row]
    inputs = ids if run.output.scores_only else list(table.columns)
    names = score_names(inputs, scores)
    if run.output.scores_only:
        names |= {name: free_name(name, [*ids, *names.values()]) for name in scores if name not in names}
    first = [
        names[name] for name in ("label", "trust", "own_affinity", "verdict", "rival", "priority") if name in names
    ]
    if "trust" in names and "own_affinity" in names:
        first.remove(names["own_affinity"])
    return inputs, names, [*ids, *([run.features.text] if run.features.text else []), *first, "reason"]


def _review_request(run: Run, n_rows: int) -> ReviewRequest:
    from allegiance.io.batches import ReviewRequest
    from allegiance.results import review_count

    output = run.output
    if output.review is None:
        return ReviewRequest(_MAX_REVIEW, output.review_by, with_firm=False)
    return ReviewRequest(review_count(output.review, n_rows), output.review_by)


def _score_in_memory(run: Run, table: Table, plan: FeaturePlan, scorer: AffinityScorer | None) -> _Scored:
    import pyarrow as pa

    from allegiance.io.batches import list_review, take_review
    from allegiance.io.saved import model_id, profile_matrix

    output = run.output
    to_cells = output.output is not None and is_cells([output.output])
    sink = None if output.output is None or to_cells else open_output(output.output, run)
    points = load_points(table, plan, run.features.labels, typed=sink is not None and sink.format not in ("csv", "tsv"))
    result, scorer = score_points(run, points, plan, scorer)
    fitted, scores, whole = scorer.fitted_, result._columns(), points.columns
    inputs, names, columns = _columns(run, plan, table, whole.column_names[0], scores)
    for name, output_name in names.items():
        if output_name in whole.column_names:  # a column that --scores-only does not write
            whole = whole.drop_columns([output_name])
        whole = whole.append_column(output_name, pa.array(scores[name]))
    review = take_review(whole, list_review(result, _review_request(run, len(result))))
    run.log.step("describing clusters")
    typed = typed_columns(points, table)
    facts = describe_memory(run, table, plan, points, result, scorer, typed, review, columns)
    written, ids = [*inputs, *names.values()], ids_of(run.features, plan, table)
    if sink is not None:
        sink.percent = [names[name] for name in ("trust", "own_affinity") if name in names]
        sink.summary = summary_sections(facts)
        with sink:
            sink.write(whole.select(written))
        run.log.wrote(str(output.output))
    if to_cells:
        write_cells(str(output.output), run, result)
    _write_review(run, facts, [*written, review.column_names[-2]], names)
    write_sheet(run, result, whole, [*(ids or inputs[:1]), *(name for name in plan.used if name not in ids)], names)
    if output.report is not None:
        from allegiance.io import write_whole
        from allegiance.report import render_report

        page = page_settings(run, result, points, plan, table, facts, typed)
        write_whole(
            output.report, render_report(result, points.X, **page).encode("utf-8", "replace"), force=output.replaces
        )
        run.log.wrote(output.report)
    wanted = output.save is not None or fitted.baseline is not None
    profile = profile_matrix(fitted, plan, points.X) if wanted and fitted.members is not None else None
    return _Scored(facts, scorer, model_id(fitted, plan), profile, {})


def _fit_in_batches(run: Run, table: Table, plan: FeaturePlan) -> AffinityScorer:
    """Fit a scorer to a table in batches, with the clustering of the options."""
    from allegiance.io import fit_stream

    trust, labels = run.trust, run.features.labels
    centers = load_centers(trust.centers, plan) if trust.centers else None
    unfitted = make_scorer(trust, run.log, centers=centers, labeled=labels is not None)
    if trust.clusters is not None:
        run.log.note("clusters come from k-means on a random sample, because the table is read in batches.")
    run.log.step(f"fitting clusters and trust to {table.where}, in batches")
    scorer: AffinityScorer = fit_stream(table, unfitted, n_clusters=trust.clusters, labels=labels, plan=plan).scorer
    return scorer


def _score_in_batches(run: Run, table: Table, plan: FeaturePlan, scorer: AffinityScorer | None) -> _Scored:
    from allegiance.io.batches import Rows
    from allegiance.io.partitions import PartitionedSink, is_folder
    from allegiance.io.saved import model_id as hash_model
    from allegiance.io.streams import score_rows
    from allegiance.io.tables import BATCH_ROWS
    from allegiance.results import FrameLike

    output, log = run.output, run.log
    assert output.output is not None
    scorer = _fit_in_batches(run, table, plan) if scorer is None else scorer
    fitted = scorer.fitted_
    model_id = hash_model(fitted, plan)
    sink: Any = None
    if is_folder(output.output):
        metadata = provenance() | {"model_id": model_id}
        sink = PartitionedSink(output.output, if_exists=output.if_exists, metadata=metadata)
        log.resume = "Finished files are complete. Rerun the command to score the remaining ones."
    else:
        sink = open_output(output.output, run, model_id=model_id)
    row = free_name("row", table.columns)
    inputs, names, columns = _columns(run, plan, table, row, fitted.empty_result(FrameLike(), None)._columns())
    rows = Rows(
        table,
        plan,
        None,
        labels=run.features.labels,
        keep=[name for name in inputs if name != row],
        row=row if row in inputs else None,
        typed=sink.format not in ("csv", "tsv"),
    )
    profiler = Profiler(fitted, plan)
    if output.save is not None or fitted.baseline is not None:
        rows.tap = lambda batch: profiler.add(batch.X, batch.first)
    n_rows = table.n_rows if table.n_rows is not None else table.profile().n_rows
    log.step(f"scoring {n_rows:,} rows in batches")
    done = score_rows(
        rows,
        fitted,
        sink,
        names=inputs,
        scores=names,
        batch_rows=output.batch_rows or BATCH_ROWS,
        verbose=log.progress,
        review=_review_request(run, n_rows),
        skip_errors=run.reading.on_error == "skip",
    )
    log.resume = ""
    log.wrote(output.output)
    for file, reason in done.skipped.items():
        log.note(f"{file} was skipped: {reason}")
    if done.resumed:
        log.note(f"{done.resumed:,} of {done.rows:,} rows were scored by an earlier run.")
        if rows.tap is not None:
            profiler.read(rows)
    column_drivers, descriptions = _describe_stream(run, table, plan, fitted, done.summary)
    facts = _facts(run, table, plan, done.summary, column_drivers, descriptions, done.review, columns, model_id)
    reasons = [] if done.review is None else [done.review.column_names[-2]]
    _write_review(run, facts, [*inputs, *names.values(), *reasons], names)
    return _Scored(facts, scorer, model_id, profiler.total, dict(done.skipped))


def _describe_stream(
    run: Run, table: Table, plan: FeaturePlan, fitted: Any, summary: Summary
) -> tuple[Any, Sequence[Any]]:
    """Return the drivers, from a random sample of rows, and cluster descriptions, from the centers."""
    import numpy as np

    from allegiance.drivers import drivers
    from allegiance.io.saved import predict_points
    from allegiance.report import center_descriptions

    column_drivers, descriptions = None, list[Any]()
    if fitted.centers is not None:
        sizes = [line.points for line in summary.clusters if line.name is not None]
        descriptions = center_descriptions(fitted.centers, np.array(sizes), plan)
    if run.trust.model is None:
        X = np.asarray(plan.prepare(table.sample(_DRIVER_ROWS, plan.used))[0], np.float64)
        column_drivers = drivers(predict_points(fitted, None, X), X, plan=plan)
    return column_drivers, descriptions


def describe_memory(
    run: Run, table: Table, plan: FeaturePlan, points: Points, result: AffinityResult, scorer: AffinityScorer,
    columns: Any, review: Any = None, listed: Sequence[str] = (),
) -> Facts:  # fmt: skip
    """Return the facts about a result in memory, from typed ``columns``; ``listed`` names the review columns."""
    from allegiance.drivers import drivers
    from allegiance.io.saved import model_id

    ids = ids_of(run.features, plan, table)
    names = points.columns.column(ids[0]).to_numpy(zero_copy_only=False) if ids else None
    column_drivers = drivers(result, points.X, plan=plan, ids=names)
    descriptions, identity = _describe(result, columns, plan), model_id(scorer.fitted_, plan)
    return _facts(run, table, plan, result.summary(), column_drivers, descriptions, review, listed, identity)


def _facts(
    run: Run, table: Table, plan: FeaturePlan, summary: Summary, column_drivers: Any, descriptions: Any, review: Any,
    columns: Sequence[str], model_id: str,
) -> Facts:  # fmt: skip
    problems = collect_problems(summary, column_drivers, plan)
    if review is not None:
        columns = [review.column_names[-2] if name == "reason" else name for name in columns]
        columns = [name for name in columns if name in review.column_names]
        review = review.drop_columns([review.column_names[-1]])
    source = source_facts(run, table, plan, model_id)
    return Facts(summary, plan, problems, column_drivers, descriptions, review, columns, source)


def _write_review(run: Run, facts: Facts, columns: list[str], names: dict[str, str]) -> None:
    """Write the review list, if a file is named."""
    if run.output.review_output is not None:
        percent = [names[name] for name in ("trust", "own_affinity") if name in names]
        rows = facts.review.select([name for name in columns if name in facts.review.column_names])
        write_rows(run.output.review_output, rows, run, percent=percent)


class Profiler:
    """Accumulates the drift profile of batches, in the units of the file."""

    def __init__(self, fitted: Any, plan: FeaturePlan) -> None:
        self._fitted, self._plan = fitted, plan
        self.total: Profile | None = None

    def add(self, X: Any, start: int) -> None:
        """Add prepared rows (m, d); ``start`` is the number of the first one."""
        from allegiance.io.saved import profile_matrix

        if len(X) and self._fitted.members is not None:
            part = profile_matrix(self._fitted, self._plan, X, start)
            self.total = part if self.total is None else self.total + part

    def read(self, rows: Rows) -> None:
        """Compute the profile of all rows again."""
        from allegiance.io.tables import BATCH_ROWS

        rows.tap, self.total = None, None
        for batch in rows.batches(BATCH_ROWS):
            self.add(batch.X, batch.first)


def typed_columns(points: Points, table: Table) -> Any:
    """Return the columns of the table with their detected types, for the page and descriptions."""
    import pyarrow as pa

    names = points.columns.column_names[1:]
    return pa.Table.from_batches(
        [table.typed(batch, keep_words=False) for batch in points.columns.select(names).to_batches()]
    )


def page_settings(
    run: Run, result: AffinityResult, points: Points, plan: FeaturePlan, table: Table, facts: Facts, columns: Any
) -> dict[str, Any]:
    """Return the settings of the page."""
    row, ids = points.columns.column_names[0], ids_of(run.features, plan, table)
    short = {label: each.name for label, each in zip(result.classes.tolist(), facts.descriptions, strict=True)}
    where = table.where.partition("?")[0] if "://" in table.where else table.where
    axes = None if run.output.map is None else tuple(table.check_columns(_axes(run.output.map)))
    return {
        "data": columns,
        "describe_by": list(plan.used),
        # Labels that are words need no names.
        "names": short if result.classes.dtype.kind in "iuf" else None,
        "ids": points.columns.select(ids) if ids else None,
        "texts": None if run.features.text is None else points.columns.column(run.features.text),
        "feature_names": list(plan.names),
        "row_numbers": points.columns.column(row).to_numpy(),
        "title": f"Labels of {where.rstrip('/').replace(os.sep, '/').rpartition('/')[2] or where}",
        "map": axes,
        "drivers": facts.drivers,
        "notes": facts.problems,
        "provenance": {
            "columns used": f"{len(plan.used):,} of {len(columns.column_names):,}: {', '.join(plan.used)}",
            **{name: str(text) for name, text in facts.source.items()},
        },
    }


def _describe(result: AffinityResult, columns: Any, plan: FeaturePlan) -> list[Any]:
    """Return cluster descriptions from typed columns of the scored rows."""
    import pyarrow as pa

    from allegiance.report import cluster_descriptions

    used = columns.select(list(plan.used))
    for place, column in enumerate(plan.features):
        kind = used.schema.types[place]
        if column.kind == "category" and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            used = used.set_column(place, column.name, used.column(place).cast(pa.string()))
    return cluster_descriptions(result, data=used)


def _compare_with_baseline(run: Run, scored: _Scored) -> Any:
    """Compare the rows with the model's baseline, and write notes; None without a model or baseline."""
    if run.trust.model is None:
        return None
    from allegiance.drift import compare_profiles

    fitted = scored.scorer.fitted_
    if fitted.baseline is None or scored.profile is None:
        return None
    drift = compare_profiles(fitted, fitted.baseline, scored.profile)
    for finding in drift.findings[:MAX_FINDINGS]:
        run.log.note(f"drift: {finding.sentence}.")
    return drift


def _save(run: Run, scored: _Scored, plan: FeaturePlan, table: Table, values: dict[str, Any]) -> None:
    """Save the model, with the profile of its data and its provenance."""
    from copy import copy
    from dataclasses import replace
    from datetime import UTC, datetime

    from allegiance.io import Model
    from allegiance.io.saved import library_versions

    figures = ("cluster", "points", "replication", "name")
    about = {
        **provenance(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "libraries": library_versions(),
        "files": list(table.files) or [table.where],
        "rows": values["rows"],
        "replication": finite(values["replication"]),
        "clusters": [{name: finite(line[name]) for name in figures} for line in values["clusters"]],
    }
    scorer = copy(scored.scorer).set_params(verbose=False)
    if scored.profile is not None:
        scorer.fitted_ = replace(scorer.fitted_, baseline=scored.profile.without_rows())
    Model(plan, scorer, about).save(run.output.save, force=run.output.replaces)
    run.log.wrote(str(run.output.save))


def is_beyond(drift: Any, tolerance: float) -> bool:
    """Return whether drift exceeds ``--tolerance``."""
    return bool(drift.drifted and (tolerance == 0 or drift.severity > tolerance))


def _exit_code(run: Run, facts: Facts, drift: Any) -> int:
    output, summary = run.output, facts.summary
    if output.fail_on_drift and drift is not None and is_beyond(drift, output.tolerance):
        run.log.write("drift", f"{run.data[0]} has drifted from {run.trust.model}.")
        return DRIFTED
    share, quantity = summary.replication, "replication"
    if share is None:
        share, quantity = summary.stable / max(summary.n_points, 1), "the share of stable points"
    if output.fail_under is not None and share < output.fail_under:
        run.log.write("under", f"{quantity} is {share:.6g}, below --fail-under {output.fail_under:g}.")
        return UNDER_THRESHOLD
    if output.fail_on_notes and facts.problems:
        run.log.write("notes", f"{len(facts.problems)} problems change the answer (--fail-on-notes).")
        return NOTED
    return 0
