"""``allegiance score``, ``check`` and ``audit``: how far to trust each label, and what a review of some says of all."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from . import _options as opt
from ._app import DRIFTED, FAILED, UNDER_THRESHOLD, Log, begin, console, finite, print_json, print_line, provenance
from ._inputs import (
    Points,
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
    scorer_for,
)
from ._outputs import (
    Worst,
    check_inputs,
    check_outputs,
    is_done,
    open_output,
    page_settings,
    print_summary,
    score_names,
    summarise,
    summary_sheet,
    write_record,
)
from .watch import SHOWN, Profiler, compare_with_baseline

if TYPE_CHECKING:
    from allegiance import AffinityScorer
    from allegiance.io import FeaturePlan, Table
    from allegiance.results import AffinityResult

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
            help="List the N labels to look at first.  [default: 10]",
        ),
        opt.option(opt.OUTPUT, "--review-output", metavar="FILE", help="Table to write the --review list to."),
        opt.option(
            opt.OUTPUT, "--audit", metavar="N", type=click.IntRange(min=1),
            help="Let -o be a sheet of N labels to look at, half of them drawn at random, for `allegiance audit`.",
        ),
        opt.option(opt.OUTPUT, "--report", metavar="FILE", help="HTML page to write, for looking and reviewing."),
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
    if is_done(o, run):
        log.write("skip", f"{o.output} is up to date: the same inputs and options made it.", file=o.output)
        return 0
    scorer, plan = prepare(o, table, log)
    streamed = _streams(o, plan, log)
    work = _score_in_batches if streamed else _score_in_memory
    summary, shown, scorer, profiler, footer = work(o, table, plan, scorer, log)
    drift = None
    if o.model is not None:
        drift = compare_with_baseline(scorer, profiler)
        summary["drift"] = None if drift is None else drift.to_dict()
        for finding in [] if drift is None else drift.findings[:SHOWN]:
            log.note(f"drift: {finding.sentence}.")
    write_record(o, run)
    if o.save is not None:
        _save(o, scorer, plan, table, summary, profiler)
        log.wrote(o.save)
    if o.json:
        outputs = {"output": o.output, "report": o.report, "saved": o.save, "review_output": o.review_output}
        print_json({**summary, "notes": log.notes, **outputs})
    elif not o.quiet:
        print_summary(summary, shown, err=o.output == "-", footer=footer if o.verbose else [])
    log.end()
    return _exit_code(o, summary, drift, log)


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


def _streams(o: SimpleNamespace, plan: FeaturePlan, log: Log) -> bool:
    """Decide whether to read the table in batches."""
    if o.stream is not None:
        return bool(o.stream)
    obstacle = needs_memory(o)
    if plan.n_rows <= MANY_ROWS:
        return False
    if obstacle is not None:
        log.note(f"{plan.n_rows:,} rows are read into memory, since {obstacle} needs them all at once.")
    return obstacle is None


def _shown(o: SimpleNamespace, plan: FeaturePlan, table: Table, row: str, names: dict[str, str]) -> list[str]:
    """Return the columns of the list on the screen."""
    return [*(ids_of(o, plan, table) or [row]), *([o.text] if o.text else []), *names.values()]


def _score_in_memory(
    o: SimpleNamespace, table: Table, plan: FeaturePlan, scorer: AffinityScorer | None, log: Log
) -> tuple[dict[str, Any], list[str], AffinityScorer, Profiler, list[str]]:
    import pyarrow as pa

    from allegiance.io import replacing
    from allegiance.results import footer

    sink = open_output(o.output, o)
    points = load_points(table, plan, o.labels, typed=sink is not None and sink.format not in ("csv", "tsv"))
    if scorer is None:
        scorer = scorer_for(o, plan, points.labels, log)
        result = scorer.fit_affinity(points.X, points.labels)
        fitted = scorer.fitted_
    else:
        fitted = scorer.fitted_.without_preprocessing()
        result = fitted.score(points.X, labels=points.labels)
        fitted.warn_if_imprecise(result)
    profiler = Profiler(fitted, plan)
    profiler.add(points.X, 0)
    row, *columns = points.columns.column_names
    scores = result.columns()
    names = score_names(columns, scores)
    whole = points.columns
    for name, written in names.items():
        whole = whole.append_column(written, pa.array(scores[name]))
    chosen = pa.array(result.least_trusted(_SHOWN if o.review is None else o.review))
    review = whole.take(chosen).to_pylist()
    described, page = page_settings(o, result, points, plan, table)
    summary = summarise(result.tally(), result.clusterer_note, plan, described, review)
    whole = _scores_only(o, plan, table, points, scores) if o.scores_only else whole.drop_columns([row])
    if sink is not None:
        sink.summary = summary_sheet(summary)
        with sink:
            sink.write(whole if o.audit is None else _sheet(o, result, whole))
        log.wrote(o.output)
    if o.review_output is not None:
        with open_output(o.review_output, o) as review_sink:
            review_sink.write(whole.take(chosen))
        log.wrote(o.review_output)
    if o.report is not None:
        # A page that appeared meanwhile is not replaced.
        with replacing(o.report, force=o.if_exists == "replace") as temporary:
            result.report(temporary, points.X, **page)
        log.wrote(o.report)
    return summary, _shown(o, plan, table, row, names), scorer, profiler, footer(result.tally(), result.how)


def _scores_only(o: SimpleNamespace, plan: FeaturePlan, table: Table, points: Points, scores: dict[str, Any]) -> Any:
    """Return identifiers, or numbers of rows, and all scores."""
    import pyarrow as pa

    ids = points.columns.select(ids_of(o, plan, table) or [points.columns.column_names[0]])
    for name, values in scores.items():
        ids = ids.append_column(free_name(name, ids.column_names), pa.array(values))
    return ids


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
) -> tuple[dict[str, Any], list[str], AffinityScorer, Profiler, list[str]]:
    import time

    import numpy as np
    import pyarrow as pa

    from allegiance.io import fit_stream
    from allegiance.io.batches import Rows
    from allegiance.io.streams import score_rows
    from allegiance.report import center_descriptions
    from allegiance.results import FrameLike, footer

    started = time.perf_counter()
    sink = open_output(o.output, o)
    if scorer is None:
        centers = load_centers(o.centers, plan) if o.centers else None
        unfitted = make_scorer(o, log, centers=centers)
        if o.clusters is not None:
            log.note("clusters are found by k-means of a random sample, since the table is read in batches.")
        scorer = fit_stream(table, unfitted, n_clusters=o.clusters, labels=o.labels, plan=plan)
    inner = scorer.fitted_.without_preprocessing()
    row = free_name("row", table.columns)
    kept = (ids_of(o, plan, table) or [row]) if o.scores_only else list(table.columns)
    known = inner.nothing(FrameLike(), None).columns()
    names = {name: name for name in known} if o.scores_only else score_names(table.columns, known)
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
    worst = Worst(_count(o.review, plan.n_rows))
    log.resume = "The same command resumes where this one stopped." if table.files else ""
    done = score_rows(
        rows, scorer, sink, names=kept, scores=names, resume=not o.restart, verbose=log.progress, rank=worst.add
    )
    log.resume = ""
    log.wrote(o.output)
    if done.resumed:
        log.note(f"{done.resumed:,} of {done.rows:,} rows were scored by an earlier run.")
        profiler.reset(rows)
    shown = [name for name in _shown(o, plan, table, row, names) if not worst.rows or name in worst.rows[0]]
    if o.review_output is not None:
        with open_output(o.review_output, o) as review:
            review.write(pa.Table.from_pylist(worst.rows))
        log.wrote(o.review_output)
    trust_map = scorer.fitted_.trust_map
    note = None if trust_map is None else " ".join([trust_map.note, *trust_map.remarks])
    described: list[Any] = []
    if inner.centers is not None:
        sizes = [line.points for line in done.tally.clusters() if line.name is not None]
        described = center_descriptions(inner.centers, np.array(sizes), plan)
    summary = summarise(done.tally, note, plan, described, worst.rows)
    return summary, shown, scorer, profiler, footer(done.tally, inner.how(started))


def _count(review: int | str | None, n_rows: int) -> int:
    """Return how many labels a budget stands for."""
    if isinstance(review, str):
        return max(1, round(float(review.removesuffix("%")) / 100 * n_rows))
    return _SHOWN if review is None else review


def _save(
    o: SimpleNamespace, scorer: AffinityScorer, plan: FeaturePlan, table: Table, summary: Any, profiler: Profiler
) -> None:
    """Save the model, with the profile of its data and where it comes from."""
    import platform
    from copy import copy
    from datetime import UTC, datetime

    from allegiance.io.saved import with_plan, write_state

    figures = ("cluster", "points", "replication", "name")
    about = {
        **provenance(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "files": list(table.files) or [table.where],
        "rows": summary["rows"],
        "replication": summary["replication"],
        "clusters": [{name: finite(line[name]) for name in figures} for line in summary["clusters"]],
    }
    whole = copy(scorer).set_params(verbose=False)
    fitted = scorer.fitted_.without_preprocessing() if "plan" in scorer.fitted_.parts else scorer.fitted_
    if profiler.total is not None:
        from allegiance.drift import with_baseline

        fitted = with_baseline(fitted, profiler.total)
    whole._set_fitted(with_plan(fitted, plan, about))
    write_state(whole.to_dict(), o.save, force=o.if_exists == "replace")


def _exit_code(o: SimpleNamespace, summary: dict[str, Any], drift: Any, log: Log) -> int:
    share, what = summary["replication"], "of the labels would come back"
    if share is None:
        share, what = summary["supported"] / max(summary["labels"], 1), "of the labels are supported"
    if o.fail_on_drift and drift is not None and drift.drifted:
        log.write("drift", f"{o.data[0]} has drifted from {o.model}, and --fail-on-drift was given.")
        return DRIFTED
    if o.fail_under is not None and share < o.fail_under:
        log.write("under", f"{share:.1%} {what}, below --fail-under {o.fail_under:g}.")
        return UNDER_THRESHOLD
    return 0


@click.command(cls=opt.Command, short_help="Show how a table would be read, before anything is computed.")
@opt.options(opt.DATA, opt.CLUSTERING_OPTIONS[:1], opt.COLUMN_OPTIONS, opt.READING_OPTIONS, opt.RUN_OPTIONS)
def check(**values: Any) -> int:
    """Propose which columns of DATA are features, identifiers or left out, and list all problems."""
    o, _ = begin(values, where=values["data"])
    table = open_input(o)
    plan = plan_features(o, table, labels=o.labels)
    if o.json:
        print_json({"plan": plan.to_dict(), "notes": [*table.notes, *plan.notes], "problems": list(plan.problems)})
    else:
        out = console()
        for line in [*plan.describe(), *table.notes]:
            print_line(out, line)
    return FAILED if plan.problems else 0


@click.command(cls=opt.Command, short_help="Say how many labels are right, from a sheet that was filled in.")
@click.argument("scored")
@click.argument("sheet")
@opt.options(opt.RUN_OPTIONS)
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
    prefix = "" if "cluster" in scored.columns and "trust" in scored.columns else "allegiance_"
    label, trust = (scored.read([f"{prefix}{name}"]).column(0) for name in ("cluster", "trust"))
    marks = sheet.read(sheet.check_columns(["right", "audit_row", "audit_drawn", "audit_seed"]), typed=True)
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
    found = judge(AuditSample(rows, drawn), answers, label=texts, codes=codes, classes=classes, ranking=ranking)
    if o.json:
        fields = ("share_right", "interval", "wrong_left", "interval_left", "n_random", "n_least", "n_unanswered")
        print_json({name: getattr(found, name) for name in fields} | {"sentence": found.sentence()})
    else:
        print_line(console(), found.sentence(), bold=True)
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
