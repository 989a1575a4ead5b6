"""``allegiance report``: a result as one HTML file."""

from __future__ import annotations

import click

from ._clustering import check_clustering, scale_matters, settled
from ._console import note
from ._options import (
    ClusteringOptions,
    DataOptions,
    RunOptions,
    ScoringOptions,
    clustering_options,
    data_options,
    run_options,
    scoring_options,
)
from ._outputs import behind_ids, check_outputs, print_result
from ._page import PageOptions, check_page, check_report, page_options, write_report
from ._points import open_data
from ._score import score_in_memory, summary_in_memory

EPILOG = """\b
Examples:
  allegiance report flowers.csv --labels species -o report.html
  allegiance report flowers.csv --clusters 3 --id name --title "Flowers" -o report.html
  allegiance report digits.parquet --clusters 10 --image-shape 8x8
  allegiance report photos.csv --labels album --image-column file --coordinates umap_1,umap_2
  allegiance report tickets.parquet --labels topic --features 'embedding*' --text message
"""


@click.command(epilog=EPILOG, short_help="Write an HTML report about a clustering.")
@data_options
@clustering_options
@scoring_options
@click.option("-o", "--output", metavar="FILE", default="report.html", show_default=True, help="HTML page to write.")
@page_options
@run_options
def report(
    data: DataOptions,
    clustering: ClusteringOptions,
    scoring: ScoringOptions,
    output: str,
    page: PageOptions,
    run: RunOptions,
) -> None:
    """Score DATA and write one HTML page about it: which labels to trust, maps, labels to review.

    The page needs no network and no other file.
    """
    check_clustering(clustering)
    scoring = settled(scoring, clustering)
    check_report(output, run)
    columns = [*([clustering.labels] if clustering.labels else []), *page.numbers]
    matters = scale_matters(clustering, scoring)
    opened = open_data(data, columns, lambda text: note(run, text), written=page.written, scale_matters=matters)
    check_page(page, opened)
    check_outputs(opened, None, output, inputs=[clustering.centers])
    points, result, _ = score_in_memory(opened, clustering, scoring, run)
    write_report(result, points, opened, output, page, run)
    if run.json:
        scores = behind_ids(points.ids, result.columns())
        print_result(summary_in_memory(result, points, scores, show=10), report=output)
