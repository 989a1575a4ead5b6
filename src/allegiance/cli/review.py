"""``allegiance review``: review labels in the browser."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from . import _options as opt
from ._clustering import check_clustering, score_points
from ._inputs import load_points, open_input, prepare
from ._messages import show
from ._outputs import check_output_paths, print_json
from ._page import check_page, page_settings
from ._program import Run, begin
from ._summary import describe_points

if TYPE_CHECKING:
    from allegiance.io import Table

EPILOG = """\b
Examples:
  allegiance review customers.csv --clusters 8
  allegiance review customers.csv --labels segment --text comment --decisions march.jsonl
  allegiance review customers.csv --model january.model --no-browser --port 8765
"""


@click.command(cls=opt.Command, epilog=EPILOG, short_help="Review labels in the browser.")
@opt.options(
    opt.DATA,
    opt.CLUSTERING_OPTIONS,
    opt.COLUMN_OPTIONS,
    opt.READING_OPTIONS,
    opt.TRUST_OPTIONS,
    opt.PAGE_OPTIONS,
    [
        opt.option(
            opt.OUTPUT, "--decisions", metavar="FILE",
            help="File to append decisions to.  [default: DATA.decisions.jsonl]",
        ),
        opt.option(opt.RUNNING, "--host", default="127.0.0.1", show_default=True, help="Address to listen on."),
        opt.option(
            opt.RUNNING, "--port", type=click.IntRange(0, 65535), default=0,
            help="Port to listen on.  [default: a free one]",
        ),
        opt.option(
            opt.RUNNING, "--allow-host", metavar="NAME", multiple=True,
            help="Extra host name to accept, e.g. behind a proxy. Repeatable.",
        ),
        opt.option(opt.RUNNING, "--no-browser", is_flag=True, help="Print the URL instead of opening a browser."),
    ],
    opt.RUN_OPTIONS,
)  # fmt: skip
def review(**values: Any) -> None:
    """Review the labels of DATA on a page served on this machine, in review order. Ctrl-C stops it.

    Each decision is saved immediately. `allegiance.review.apply_decisions` applies them to labels.
    """
    run = begin(values)
    check_clustering(run)
    check_page()
    table = open_input(run.reading, run.data)
    decisions = _decision_log(values["decisions"], run, table)
    check_output_paths(run, table, decisions)
    scorer, plan = prepare(run, table)
    points = load_points(table, plan, run.features.labels)
    result, scorer = score_points(run, points, plan, scorer)
    from allegiance.io.saved import model_id
    from allegiance.review import serve

    facts = describe_points(run, table, plan, points, result, model_id(scorer.fitted_, plan))
    server = serve(
        result,
        points.X,
        log=decisions,
        host=values["host"],
        port=values["port"],
        allow_hosts=values["allow_host"],
        open_browser=not values["no_browser"],
        **page_settings(run, result, points, plan, table, facts),
    )
    try:
        if run.json:
            print_json({"url": server.url, "decisions": decisions, "rows": len(result)})
        else:
            show(*facts.problems, facts.summary.sentence, f"Review at {server.url}")
            show(f"Decisions are saved to {decisions}. Press Ctrl-C to stop.")
        server.wait()
    except KeyboardInterrupt:
        run.log.write("end", f"The review has ended; decisions are in {decisions}.")
    finally:
        server.close()


def _decision_log(path: str | None, run: Run, table: Table) -> str:
    """Return the file of review decisions after checking it; by default in the folder of a file or folder of DATA."""
    from allegiance.io.files import check_writable

    if path is None:
        name = run.data[0].rstrip("/" + os.sep)
        if "://" in name:
            name = name.partition("?")[0].rpartition("/")[2] or "data"
        elif name == "-" or not os.path.exists(name):
            name = table.files[0] if len(table.files) == 1 else "data"
        path = f"{name}.decisions.jsonl"
    if "://" in path:
        raise ValueError(f"{path} is a URL, but decisions can be saved only to a local file.")
    check_writable(path, force=True)
    return path
