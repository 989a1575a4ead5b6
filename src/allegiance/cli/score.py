"""``allegiance score``: how much to trust each row's label."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from . import _options as opt
from ._clustering import check_clustering, load_centers, make_scorer, score_points
from ._inputs import free_name, ids_of, is_cells, load_points, prepare
from ._messages import NO_OUTPUT, with_options
from ._outputs import (
    finish,
    open_job,
    open_output,
    print_json,
    provenance,
    score_names,
    workbook_settings,
    write_cells,
    write_rows,
)
from ._page import check_page, map_axes, write_page
from ._program import DRIFTED, NOTED, UNDER_THRESHOLD, Run, begin
from ._summary import Facts, as_values, describe_points, describe_stream, print_facts, summary_sections
from .audit import write_sheet
from .watch import is_beyond

if TYPE_CHECKING:
    from allegiance import AffinityScorer
    from allegiance.drift import Profile
    from allegiance.io import FeaturePlan, Table

#: Tables with more rows are streamed, unless an option needs all of them in memory.
MANY_ROWS = 1_000_000
#: Maximum labels listed for review by default, and maximum drift findings.
_MAX_REVIEW, MAX_FINDINGS = 10, 12

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
    opt.CLUSTERING_OPTIONS,
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
        opt.option(opt.OUTPUT, "--scores-only", is_flag=True, help="Write only identifiers and scores."),
        opt.option(
            opt.OUTPUT, "--review", metavar="N|SHARE%", type=opt.budget,
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
            help="Rows per batch; fewer need less memory.  [default: 16,384]",
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
    if run.output.report is not None:
        check_page()
    table, record, damaged = open_job(run)
    if (code := record.skip_if_up_to_date()) is not None:
        return code
    scorer, plan = prepare(run, table)
    if scorer is not None and scorer.fitted_.baseline is None and run.output.fail_on_drift:
        raise ValueError(
            f"{run.trust.model} has no baseline, so --fail-on-drift cannot be decided. Save the model again with "
            "`allegiance score DATA --save FILE`, or leave out --fail-on-drift."
        )
    from allegiance.drivers import Finding

    result = _score_table(run, table, plan, scorer)
    damaged |= result.damaged
    lines = [reason if file in reason else f"{file}: {reason}" for file, reason in damaged.items()]
    skipped = [Finding("damaged file", (), f"Skipped an input file. {' '.join(line.split())}") for line in lines]
    facts = result.facts._replace(findings=[*skipped, *result.facts.findings])
    figures = as_values(facts) | {"model_id": result.model_id, "skipped": damaged}
    drift = _compare_with_baseline(run, result)
    if run.trust.model is not None:
        figures["drift"] = None if drift is None else drift.to_dict()
    if run.output.save is not None:
        _save_model(run, result, plan, table, figures)
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


class _Result(NamedTuple):
    """The result of scoring a table."""

    facts: Facts
    scorer: AffinityScorer
    model_id: str
    profile: Profile | None  # of the rows, for drift, if anything needs it
    damaged: dict[str, str]  # damaged input files with the reason


def _check_usage(run: Run) -> None:
    """Raise a usage error for options that contradict each other."""
    from allegiance.io.files import is_folder

    output = run.output
    if output.review_output is not None and output.review is None:
        raise click.UsageError("--review-output needs --review N.")
    if output.map is not None and len(map_axes(output.map)) == 2 and output.report is None:
        raise click.UsageError("--map needs --report FILE.")
    if output.fail_on_drift and run.trust.model is None:
        raise click.UsageError("--fail-on-drift needs --model FILE.")
    in_folder = output.output is not None and is_folder(output.output)
    if run.reading.on_error == "skip" and not in_folder:
        raise click.UsageError("--on-error skip needs -o FOLDER/, which gets one file per input file.")
    if output.stream and output.output is None:
        raise click.UsageError("--stream needs -o FILE or -o FOLDER/.")
    obstacle = _needs_memory(run)
    if (output.stream or in_folder) and obstacle is not None:
        option = "--stream" if output.stream else "-o FOLDER/"
        raise click.UsageError(f"{option} cannot be used with {obstacle}, which needs all rows in memory.")
    if in_folder and output.stream is False:
        raise click.UsageError("-o FOLDER/ cannot be used with --in-memory: it is written in batches.")
    for folder in filter(os.path.isdir, run.data if output.output is not None else ()):
        if f"{os.path.realpath(str(output.output))}{os.sep}".startswith(os.path.realpath(folder) + os.sep):
            raise click.UsageError(f"{output.output} is in the input folder {folder}: the next run would read it.")


def _needs_memory(run: Run) -> str | None:
    """Return the option of ``score`` that needs all rows in memory, or None."""
    trust, output, fits = run.trust, run.output, run.trust.model is None
    needs = {
        "--report": output.report is not None,
        "--audit-sheet": output.audit_sheet is not None,
        "-o -": output.output == "-",
        "-o FILE.h5ad": output.output is not None and is_cells([output.output]),
        "a run without -o": output.output is None,
        f"--influence {trust.influence}": fits and trust.influence in opt.KERNELS,
        f"--algorithm {trust.algorithm}": fits and trust.algorithm not in (None, *opt.LIKE_KMEANS),
        "--clusterer": trust.clusterer is not None,
        "--groups": run.features.groups is not None,
    }
    return next((name for name, needed in needs.items() if needed), None)


def _streams(run: Run, table: Table) -> bool:
    """Decide whether to score the table in batches."""
    from allegiance.io.files import is_folder

    if run.output.stream is not None:
        return run.output.stream
    if run.output.output is not None and is_folder(run.output.output):
        return True
    n_rows = table.count_rows()
    if n_rows <= MANY_ROWS:
        return False
    obstacle = _needs_memory(run)
    if obstacle is not None:
        run.log.note(f"{n_rows:,} rows are read into memory, because {obstacle} needs all of them.")
    return obstacle is None


def _score_table(run: Run, table: Table, plan: FeaturePlan, scorer: AffinityScorer | None) -> _Result:
    """Score the table, in memory or in batches, and write all outputs except the model."""
    from allegiance.io.batches import Batch, BatchScorer, ReviewRequest, Rows
    from allegiance.io.saved import model_id as hash_model
    from allegiance.io.streams import SCORED_ROWS, score_rows
    from allegiance.results import FrameLike, review_count

    output, log, labels = run.output, run.log, run.features.labels
    as_text = output.output is None or output.output.endswith((".csv", ".tsv", ".tab", "-"))
    row = free_name("row", table.columns)
    points = result = facts = batch = None
    if not _streams(run, table):
        points = load_points(table, plan, labels, row, typed=not as_text)
        result, scorer = score_points(run, points, plan, scorer)
    elif scorer is None:
        scorer = _fit_in_batches(run, table, plan)
    assert scorer is not None
    fitted = scorer.fitted_
    model_id = hash_model(fitted, plan)
    ids = ids_of(run.features, plan, table) or [row]
    inputs = ids if output.scores_only else list(table.columns)
    listed = [*ids, *filter(None, [run.features.text])]
    columns = list(dict.fromkeys([*inputs, *listed]))
    names = score_names(inputs, fitted.empty_result(FrameLike(), None)._columns(), with_all=output.scores_only)
    if points is not None and result is not None:
        log.step("describing clusters")
        facts = describe_points(run, table, plan, points, result, model_id)
        batch = Batch(points.X, points.labels, points.columns.select(columns), 0, len(points.X))
    sink = _open_sink(run, plan, model_id, facts, names)
    rows = Rows(table, plan, None, labels=labels, keep=columns, row=row if row in columns else None, typed=not as_text)
    n_rows = table.count_rows() if points is None else len(points.X)
    with_profile = output.save is not None or fitted.baseline is not None
    if points is None:
        log.step(f"scoring {n_rows:,} rows in batches")
    done = score_rows(
        rows,
        BatchScorer(
            *(fitted, inputs, table.where, names),
            review=ReviewRequest(
                _MAX_REVIEW if output.review is None else review_count(output.review, n_rows),
                output.review_by,
                with_firm=output.review is not None,
            ),
            plan=plan if with_profile else None,
        ),
        sink,
        output.batch_rows or SCORED_ROWS,
        points=None if batch is None or result is None else (batch, result),
        skip_errors=run.reading.on_error == "skip",
        verbose=log.progress if points is None else False,
    )
    if result is not None and output.output is not None and is_cells([output.output]):
        write_cells(output.output, run, result)
    log.resume = NO_OUTPUT
    log.wrote(output.output)
    earlier = [f"{done.resumed:,} of {done.rows:,} rows were scored by an earlier run."] if done.resumed else []
    log.note(*earlier, *(plan.describe_gaps(rows.gaps) if run.trust.model else []))
    if facts is None:
        facts = describe_stream(run, table, plan, fitted, done.summary, model_id)
    facts = facts.with_review(done.review, listed, names)
    if output.review_output is not None:
        review = facts.review.drop_columns(columns[len(inputs) :])
        write_rows(output.review_output, review, run, **workbook_settings(names, plan))
    if points is not None and result is not None:
        first = [*(ids if ids != [row] else inputs[:1]), *(name for name in plan.used if name not in ids)]
        write_sheet(run, result, points.columns.select(first), names["label"], facts)
        write_page(run, result, points, plan, table, facts)
    damaged_files = {file: with_options(reason) for file, reason in done.skipped.items()}
    return _Result(facts, scorer, model_id, done.summary.profile, damaged_files)


def _open_sink(run: Run, plan: FeaturePlan, model_id: str, facts: Facts | None, names: dict[str, str]) -> Any:
    """Return the sink of ``-o``: a file or a folder; None without the option and for cells."""
    from allegiance.io.files import is_folder
    from allegiance.io.partitions import PartitionedSink

    output = run.output
    if output.output is None or is_cells([output.output]):
        return None
    if is_folder(output.output):
        run.log.resume = "Finished files are complete. Rerun the command to score the remaining ones."
        metadata = provenance() | {"model_id": model_id}
        return PartitionedSink(output.output, if_exists=output.if_exists, metadata=metadata)
    summary = [] if facts is None else summary_sections(facts)
    return open_output(output.output, run, workbook_settings(names, plan) | {"summary": summary}, model_id=model_id)


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


def _compare_with_baseline(run: Run, result: _Result) -> Any:
    """Compare the rows with the model's baseline, and write notes; None without a model or baseline."""
    from allegiance.drift import compare_profiles

    if run.trust.model is None or result.scorer.fitted_.baseline is None or result.profile is None:
        return None
    drift = compare_profiles(result.scorer, None, result.profile)
    run.log.note(*(f"drift: {finding.sentence}." for finding in drift.findings[:MAX_FINDINGS]))
    return drift


def _save_model(run: Run, result: _Result, plan: FeaturePlan, table: Table, values: dict[str, Any]) -> None:
    """Save the model, with the profile of its data and its provenance."""
    from copy import copy
    from dataclasses import replace
    from datetime import UTC, datetime

    from allegiance._core.stored import json_value
    from allegiance.io import Model

    figures = ("cluster", "points", "replication", "name")
    about = {
        **provenance(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "files": list(table.files) or [table.where],
        "rows": values["rows"],
        "replication": json_value(values["replication"]),
        "clusters": [{name: json_value(line[name]) for name in figures} for line in values["clusters"]],
    }
    scorer = copy(result.scorer).set_params(verbose=False)
    if result.profile is not None:
        scorer.fitted_ = replace(scorer.fitted_, baseline=result.profile.without_rows())
    Model(plan, scorer, about).save(run.output.save, force=run.output.replaces)
    run.log.wrote(run.output.save)


def _exit_code(run: Run, facts: Facts, drift: Any) -> int:
    """Return the exit code of ``score``, and log the reason if it is not 0."""
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
        run.log.write("notes", f"problems that change the answer: {len(facts.problems)} (--fail-on-notes).")
        return NOTED
    return 0
