"""``allegiance score``, ``check`` and ``audit``: how far to trust each label, and what a review of some says of all."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from . import _options as opt
from ._app import DRIFTED, FAILED, UNDER_THRESHOLD, Log, begin, finite, print_json, provenance, show
from ._inputs import (
    check_clustering,
    free_name,
    ids_of,
    load_centers,
    load_points,
    make_scorer,
    needs_memory,
    open_input,
    plan_features,
    prepare,
    run_fingerprint,
    score_points,
)
from ._outputs import (
    Worst,
    check_inputs,
    check_outputs,
    earlier_exit,
    open_output,
    page_settings,
    print_summary,
    score_names,
    summarise,
    summary_sheet,
    write_record,
    write_rows,
)
from .watch import SHOWN, Profiler, compare_with_baseline

if TYPE_CHECKING:
    from allegiance import AffinityScorer
    from allegiance.io import FeaturePlan, Table
    from allegiance.results import AffinityResult, Summary

#: Tables with more rows are streamed, unless something needs all of them in memory.
MANY_ROWS = 1_000_000
#: Labels listed on the screen by default.
_SHOWN = 10
_ANSWERS = dict.fromkeys(("yes", "y", "true", "right"), True) | dict.fromkeys(("no", "n", "false", "wrong"), False)

EPILOG = """\b
Examples:
  allegiance score customers.csv --clusters 8 -o scored.csv
  allegiance score customers.csv --labels segment --report report.html
  allegiance score customers.csv --clusters 8 --review 50 --review-output review.xlsx
  allegiance score customers.csv --clusters 8 --audit 60 -o audit.csv
  allegiance score january.csv --clusters 8 --save january.model -o january.parquet
  allegiance score february.csv --model january.model -o february.parquet --fail-on-drift
  cat customers.csv | allegiance score - --clusters 8 -o - > scored.csv
"""


@click.command(cls=opt.Command, epilog=EPILOG, short_help="Say how far to trust the label of each row.")
@opt.options(
    opt.DATA,
    [*opt.CLUSTERING_OPTIONS, opt.MODEL_OPTION],
    opt.COLUMN_OPTIONS,
    opt.READING_OPTIONS,
    opt.TRUST_OPTIONS,
    opt.OUTPUT_OPTIONS,
    [
        opt.option(opt.OUTPUT, "--scores-only", is_flag=True, help="Write identifiers and scores, not all columns."),
        opt.option(
            opt.OUTPUT, "--review", metavar="N|SHARE%", type=opt.Budget(),
            help="List the N labels to look at first.  [default: those that are not firm, at most 10]",
        ),
        opt.option(opt.OUTPUT, "--review-output", metavar="FILE", help="Table to write the --review list to."),
        opt.option(
            opt.OUTPUT, "--audit", metavar="N", type=click.IntRange(min=1),
            help="Write to -o a sheet of N labels to check by hand, half drawn at random, for `allegiance audit`.",
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
        opt.option(opt.RUNNING, "--restart", is_flag=True, help="Do not resume an interrupted --stream."),
        opt.option(
            opt.RUNNING, "--fail-under", metavar="SHARE", type=click.FloatRange(0, 1),
            help="Exit with code 3 if a smaller share of the labels would come back.",
        ),
        opt.option(opt.RUNNING, "--fail-on-drift", is_flag=True, help="Exit with code 4 if DATA has drifted."),
    ],
    opt.RUN_OPTIONS,
)  # fmt: skip
def score(**values: Any) -> int:
    """Say how far to trust the label of each row of DATA: a file, several, a folder, a pattern, a URL, or -.

    The output has all columns of DATA as they were, then cluster, trust, verdict and rival. Trust is the chance that
    the label comes back if the data were collected and clustered again.
    """
    o, log = begin(values, where=values["data"])
    check_clustering(o)
    _check_usage(o)
    check_outputs(o, ("--review-output", o.review_output), ("--report", o.report), ("--save", o.save))
    table = open_input(o)
    check_inputs([*table.files, o.centers, o.model], o.output, o.review_output, o.report, o.save)
    run = run_fingerprint(o, table)
    before = earlier_exit(o, run, log)
    if before is not None:
        return before
    scorer, plan = prepare(o, table, log)
    streamed = _streams(o, table.profile().n_rows, log)
    work = _score_in_batches if streamed else _score_in_memory
    done = work(o, table, plan, scorer, log)
    summary, drift = done.summary, None
    if o.model is not None:
        drift = compare_with_baseline(done.scorer, done.profiler)
        summary["drift"] = None if drift is None else drift.to_dict()
        for finding in [] if drift is None else drift.findings[:SHOWN]:
            log.note(f"drift: {finding.sentence}.")
    if o.save is not None:
        _save(o, done, plan, table)
        log.wrote(o.save)
    if o.json:
        outputs = {"output": o.output, "report": o.report, "saved": o.save, "review_output": o.review_output}
        print_json({**summary, "notes": log.notes, **outputs})
    elif not o.quiet:
        how = done.scored.measurement_lines() if o.verbose else []
        print_summary(summary, done.scored, done.shown, log, err=o.output == "-", footer=how)
    code = _exit_code(o, summary, drift, log)
    write_record(o, run, code)
    log.end()
    return code


class _Done(NamedTuple):
    """A table that was scored."""

    summary: dict[str, Any]
    scored: Summary
    shown: list[str]
    """The columns of the list on the screen."""
    scorer: AffinityScorer
    profiler: Profiler


def _check_usage(o: SimpleNamespace) -> None:
    """Raise a usage error for options that do not fit together."""
    if o.review_output is not None and o.review is None:
        raise click.UsageError("--review-output needs --review N.")
    if o.audit is not None and o.output is None:
        raise click.UsageError("--audit needs -o FILE for the sheet.")
    if o.fail_on_drift and o.model is None:
        raise click.UsageError("--fail-on-drift needs --model FILE.")
    obstacle = needs_memory(o)
    if o.stream and obstacle is not None:
        raise click.UsageError(f"--stream cannot be used with {obstacle}, which needs all rows in memory.")


def _streams(o: SimpleNamespace, n_rows: int, log: Log) -> bool:
    """Decide whether to read the table in batches."""
    if o.stream is not None:
        return bool(o.stream)
    obstacle = needs_memory(o)
    if n_rows <= MANY_ROWS:
        return False
    if obstacle is not None:
        log.note(f"{n_rows:,} rows are read into memory, since {obstacle} needs them all at once.")
    return obstacle is None


def _columns(
    o: SimpleNamespace, plan: FeaturePlan, table: Table, row: str, known: Any
) -> tuple[list[str], dict[str, str], list[str]]:
    """Return the columns of the table that are written, the names of the scores, and the columns on the screen."""
    ids = ids_of(o, plan, table) or [row]
    if o.scores_only:
        kept, names = ids, {name: free_name(name, ids) for name in known}
    else:
        kept, names = list(table.columns), score_names(table.columns, known)
    first = [names[name] for name in ("label", "trust" if "trust" in known else "own_affinity", "verdict", "rival")]
    return kept, names, [*ids, *([o.text] if o.text else []), *first]


def _score_in_memory(
    o: SimpleNamespace, table: Table, plan: FeaturePlan, scorer: AffinityScorer | None, log: Log
) -> _Done:
    import pyarrow as pa

    from allegiance.io import replacing
    from allegiance.results import FIRM, review_rows

    sink = open_output(o.output, o)
    points = load_points(table, plan, o.labels, typed=sink is not None and sink.format not in ("csv", "tsv"))
    result, scorer = score_points(o, points, plan, scorer, log)
    profiler = Profiler(scorer.fitted_, plan)
    profiler.add(points.X, 0)
    scores, whole = result._columns(), points.columns
    kept, names, shown = _columns(o, plan, table, whole.column_names[0], scores)
    for name, written in names.items():
        whole = whole.append_column(written, pa.array(scores[name]))
    worst = review_rows(result._ranking, o.review)
    if o.review is None:
        worst = worst[result._standing[worst] != FIRM][:_SHOWN]
    chosen = pa.array(worst)
    review = whole.take(chosen).to_pylist()
    log.step("describing clusters, writing outputs")
    described, page = page_settings(o, result, points, plan, table)
    scored = result.summary()
    summary = summarise(scored, plan, described, review)
    whole = whole.select([*kept, *names.values()])
    if sink is not None:
        sink.summary = summary_sheet(summary)
        with sink:
            sink.write(whole if o.audit is None else _sheet(o, result, whole))
        log.wrote(o.output)
    write_rows(o.review_output, whole.take(chosen), o, log)
    if o.report is not None:
        # A page that appeared meanwhile is not replaced.
        with replacing(o.report, force=o.if_exists == "replace") as temporary:
            result.report(temporary, points.X, **page)
        log.wrote(o.report)
    return _Done(summary, scored, shown, scorer, profiler)


def _sheet(o: SimpleNamespace, result: AffinityResult, whole: Any) -> Any:
    """Return the sheet of an audit: the rows to look at, with an empty column ``right``."""
    import pyarrow as pa

    sample = result.audit_sample(o.audit, random_state=o.seed)
    sheet = whole.take(pa.array(sample.rows))
    first = {
        "right": pa.array([None] * len(sample), pa.string()),
        "audit_row": pa.array(sample.rows),
        "audit_drawn": pa.array([str(drawn) for drawn in sample.drawn]),
        "audit_seed": pa.array([sample.seed] * len(sample), pa.int64()),
    }
    return pa.table([*first.values(), *sheet.columns], names=[*first, *sheet.column_names])


def _score_in_batches(
    o: SimpleNamespace, table: Table, plan: FeaturePlan, scorer: AffinityScorer | None, log: Log
) -> _Done:
    import numpy as np
    import pyarrow as pa

    from allegiance.io import fit_stream
    from allegiance.io.batches import Rows
    from allegiance.io.streams import score_rows
    from allegiance.report import center_descriptions
    from allegiance.results import FrameLike, review_count

    sink = open_output(o.output, o)
    if scorer is None:
        centers = load_centers(o.centers, plan) if o.centers else None
        unfitted = make_scorer(o, log, centers=centers)
        if o.clusters is not None:
            log.note("clusters are found by k-means of a random sample, since the table is read in batches.")
        log.step(f"fitting clusters and trust to {table.where}, in batches")
        scorer = fit_stream(table, unfitted, n_clusters=o.clusters, labels=o.labels, plan=plan).scorer
    assert scorer is not None
    inner = scorer.fitted_
    row = free_name("row", table.columns)
    kept, names, shown = _columns(o, plan, table, row, inner.nothing(FrameLike(), None)._columns())
    rows = Rows(
        table,
        plan,
        None,
        labels=o.labels,
        keep=[name for name in kept if name != row],
        row=row if kept == [row] else None,
        typed=sink.format not in ("csv", "tsv"),
    )
    profiler = Profiler(inner, plan)
    rows.tap = lambda batch: profiler.add(batch.X, batch.first)
    n_rows = table.profile().n_rows
    if o.review is None:
        worst = Worst(_SHOWN, names["verdict"])
    else:
        worst = Worst(review_count(o.review, n_rows), None)
    log.resume = "The same command resumes where this one stopped." if table.files else ""
    log.step(f"scoring {n_rows:,} rows in batches")
    how = {"resume": not o.restart, "verbose": log.progress, "rank": worst.add}
    done = score_rows(rows, inner, sink, names=kept, scores=names, **how)
    log.resume = ""
    log.wrote(o.output)
    if done.resumed:
        log.note(f"{done.resumed:,} of {done.rows:,} rows were scored by an earlier run.")
        profiler.reset(rows)
    shown = [name for name in shown if not worst.rows or name in worst.rows[0]]
    write_rows(o.review_output, pa.Table.from_pylist(worst.rows, worst.schema), o, log)
    described: list[Any] = []
    if inner.centers is not None:
        sizes = [line.points for line in done.summary.clusters if line.name is not None]
        described = center_descriptions(inner.centers, np.array(sizes), plan)
    summary = summarise(done.summary, plan, described, worst.rows)
    return _Done(summary, done.summary, shown, scorer, profiler)


def _save(o: SimpleNamespace, done: _Done, plan: FeaturePlan, table: Table) -> None:
    """Save the model, with the profile of its data and where it comes from."""
    import platform
    from copy import copy
    from dataclasses import replace
    from datetime import UTC, datetime

    from allegiance.io import Model

    figures = ("cluster", "points", "replication", "name")
    about = {
        **provenance(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "files": list(table.files) or [table.where],
        "rows": done.summary["rows"],
        "replication": done.summary["replication"],
        "clusters": [{name: finite(line[name]) for name in figures} for line in done.summary["clusters"]],
    }
    scorer = copy(done.scorer).set_params(verbose=False)
    if done.profiler.total is not None:
        scorer.fitted_ = replace(scorer.fitted_, baseline=done.profiler.total.without_rows())
    Model(plan, scorer, about).save(o.save, force=o.if_exists == "replace")


def _exit_code(o: SimpleNamespace, summary: dict[str, Any], drift: Any, log: Log) -> int:
    share, what = summary["replication"], "of the labels would come back"
    if share is None:
        share, what = summary["firm"] / max(summary["labels"], 1), "of the labels are firm"
    if o.fail_on_drift and drift is not None and drift.drifted:
        log.write("drift", f"{o.data[0]} has drifted from {o.model}, and --fail-on-drift was given.")
        return DRIFTED
    if o.fail_under is not None and share < o.fail_under:
        log.write("under", f"{share:.1%} {what}, below --fail-under {o.fail_under:g}.")
        return UNDER_THRESHOLD
    return 0


@click.command(cls=opt.Command, short_help="Show how a table would be read, before anything is computed.")
@opt.options(opt.DATA, opt.CLUSTERING_OPTIONS[:1], opt.COLUMN_OPTIONS, opt.READING_OPTIONS, opt.LOG_OPTIONS)
def check(**values: Any) -> int:
    """Propose which columns of DATA are features, identifiers or left out, and list all problems."""
    o, _ = begin(values, where=values["data"])
    table = open_input(o)
    plan = plan_features(o, table, labels=o.labels)
    if o.json:
        print_json({"plan": plan.to_dict(), "notes": [*table.notes, *plan.notes], "problems": list(plan.problems)})
    else:
        show(*plan.describe(), *(f"note: {note}" for note in table.notes))
    return FAILED if plan.problems else 0


@click.command(cls=opt.Command, short_help="Say how many labels are right, from a sheet that was filled in.")
@click.argument("scored")
@click.argument("sheet")
@opt.options(opt.LOG_OPTIONS)
def audit(**values: Any) -> int:
    """Say how many labels of SCORED are right, from the column `right` of SHEET.

    SCORED is what `allegiance score -o` wrote, and SHEET what the same command with --audit wrote. Its column `right`
    takes yes or no, or the right cluster; empty cells are left out.
    """
    o, log = begin(values, where=[values["scored"], values["sheet"]])
    import numpy as np

    from allegiance.calibration import AuditSample
    from allegiance.calibration import audit as judge
    from allegiance.io import TableError, open_table

    scored, sheet = open_table(o.scored), open_table(o.sheet)
    names = [["cluster", "trust"], ["allegiance_cluster", "allegiance_trust"]]
    found = [pair for pair in names if {*pair} <= {*scored.columns}]
    columns = ["right", "audit_row", "audit_drawn", "audit_seed"]
    if not found or not {*columns} <= {*sheet.columns}:
        wrong = f"{o.sheet} is not the sheet" if found else f"{o.scored} is not the table"
        raise TableError(
            f"{wrong} of an audit. Pass first what `allegiance score DATA ... -o SCORED` wrote, then what the same "
            "command with --audit N -o SHEET wrote."
        )
    label, trust = (scored.read([name]).column(0) for name in found[0])
    marks = sheet.read(columns)
    rows = np.asarray(marks.column("audit_row"), dtype=np.int64)
    if rows.size and rows.max() >= len(label):
        raise TableError(
            f"{o.sheet} names row {rows.max():,}, but {o.scored} has {len(label):,}: they do not belong together."
        )
    texts = np.array([str(value) for value in label.to_pylist()])
    ranking = np.asarray(trust.to_numpy(zero_copy_only=False), dtype=float)
    classes, codes = np.unique(texts, return_inverse=True)
    codes = np.where(np.isnan(ranking), -1, codes)
    drawn = np.array([str(value) for value in marks.column("audit_drawn").to_pylist()])
    answers = _answers(marks.column("right").to_pylist(), classes.tolist(), o.sheet)
    judged = judge(AuditSample(rows, drawn), answers, label=texts, codes=codes, classes=classes, ranking=ranking)
    if o.json:
        fields = ("share_right", "interval", "wrong_left", "interval_left", "n_random", "n_least", "n_unanswered")
        print_json({name: getattr(judged, name) for name in fields} | {"sentence": judged.sentence()})
    else:
        show(judged.sentence(), bold=True)
    log.end()
    return 0


def _answers(given: list[Any], classes: list[str], sheet: str) -> Any:
    """Return what a person filled in: truth values, or the right clusters; None where there is nothing."""
    import numpy as np

    from allegiance.io import TableError

    texts = [None if value is None or not str(value).strip() else str(value).strip() for value in given]
    answered = [text for text in texts if text is not None]
    if all(text.lower() in _ANSWERS for text in answered):
        return np.array([None if text is None else _ANSWERS[text.lower()] for text in texts], dtype=object)
    unknown = sorted({text for text in answered if text not in classes})
    if {*answered} <= {"0", "1"}:
        raise TableError(f"the answers in {sheet} are 0 and 1, which may be clusters: write yes and no instead.")
    if unknown:
        raise TableError(f"column 'right' of {sheet} has {unknown[0]!r}, which is neither yes or no nor a cluster.")
    return np.array(texts, dtype=object)
