"""``allegiance review``: look at a clustering in the browser, and decide about labels."""

from __future__ import annotations

from typing import Any

import click

from . import _options as opt
from ._app import begin, print_json, show
from ._inputs import check_clustering, load_points, open_input, prepare, score_points
from ._outputs import check_inputs, check_page, page_settings

EPILOG = """\b
Examples:
  allegiance review customers.csv --clusters 8
  allegiance review customers.csv --labels segment --text comment --decisions march.jsonl
  allegiance review customers.csv --model january.model --no-browser --port 8765
"""


@click.command(cls=opt.Command, epilog=EPILOG, short_help="Review labels in the browser.")
@opt.options(
    opt.DATA,
    [*opt.CLUSTERING_OPTIONS, opt.MODEL_OPTION],
    opt.COLUMN_OPTIONS,
    opt.READING_OPTIONS,
    opt.TRUST_OPTIONS,
    opt.PAGE_OPTIONS,
    [
        opt.option(
            opt.OUTPUT, "--decisions", metavar="FILE",
            help="File to which each decision is appended.  [default: DATA.decisions.jsonl]",
        ),
        opt.option(opt.RUNNING, "--host", default="127.0.0.1", show_default=True, help="Address to listen on."),
        opt.option(
            opt.RUNNING, "--port", type=click.IntRange(0, 65535), default=0,
            help="Port to listen on.  [default: a free one]",
        ),
        opt.option(
            opt.RUNNING, "--allow-host", metavar="NAME", multiple=True,
            help="Further name under which the page may be opened, as behind a proxy. Repeatable.",
        ),
        opt.option(opt.RUNNING, "--no-browser", is_flag=True, help="Print the address and open no browser."),
    ],
    opt.RUN_OPTIONS,
)  # fmt: skip
def review(**values: Any) -> None:
    """Serve a page on this machine with the labels of DATA, the least trusted first; Ctrl-C ends it.

    Decisions are appended to a file at once. `allegiance.review.apply_decisions` applies them to labels.
    """
    o, log = begin(values, where=values["data"])
    check_clustering(o)
    check_page()
    table = open_input(o)
    decisions = o.decisions or f"{table.files[0] if table.files else 'data'}.decisions.jsonl"
    check_inputs([*table.files, o.centers, o.model], decisions)
    scorer, plan = prepare(o, table, log)
    points = load_points(table, plan, o.labels, typed=True)
    result = score_points(o, points, plan, scorer, log)[0]
    from allegiance.review import serve

    served = serve(
        result,
        points.X,
        log=decisions,
        host=o.host,
        port=o.port,
        allow_hosts=o.allow_host,
        open_browser=not o.no_browser,
        **page_settings(o, result, points, plan, table)[1],
    )
    try:
        if o.json:
            print_json({"url": served.url, "decisions": decisions, "rows": len(result)})
        else:
            show(result.summary().headlines()[0], f"Review at {served.url}")
            show(f"Decisions go to {decisions}. Ctrl-C ends the review.")
        served.wait()
    except KeyboardInterrupt:
        log.write("end", f"The review has ended; decisions are in {decisions}.")
    finally:
        served.close()
