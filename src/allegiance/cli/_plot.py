"""``allegiance plot``: pictures of a clustering and its scores."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._clustering import check_clustering, scale_matters, settled
from ._console import note, print_json
from ._options import (
    ClusteringOptions,
    DataOptions,
    ImageShape,
    RunOptions,
    ScoringOptions,
    clustering_options,
    data_options,
    run_options,
    scoring_options,
)
from ._outputs import check_outputs, say_written
from ._points import Opened, load_points, open_data
from ._score import scorer_for

if TYPE_CHECKING:
    from allegiance import AffinityResult, AffinityScorer

EPILOG = """\b
Examples:
  allegiance plot flowers.csv --labels species --id name -o map.png
  allegiance plot flowers.csv --labels species --id name --kind profile -o profile.svg
  allegiance plot flowers.csv --clusters 4 --drop species --id name --kind stolen --row 77 -o stolen.pdf
  allegiance plot digits.parquet --labels digit --kind gallery --image-shape 8x8 -o gallery.png
"""
KINDS = ("map", "heat", "diagram", "profile", "flow", "gallery", "stolen", "samples")
_ENDINGS = (".png", ".svg", ".pdf")


@click.command(epilog=EPILOG, short_help="Draw a picture of a clustering.")
@data_options
@clustering_options
@scoring_options
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    default="map",
    show_default=True,
    help="Picture to draw: affinities over the plane in colours (map) or grey (heat), cells (diagram), sorted "
    "affinities (profile), which clusters are rivals (flow), best and worst rows (gallery), the territory of one row "
    "(stolen, samples).",
)
@click.option(
    "--slice", "axes", metavar="A,B", help="Two features that span the plane of a map.  [default: principal axes]"
)
@click.option(
    "--projection",
    type=click.Choice(["pca", "umap"]),
    help="How a map shows more than two features in the plane.  [default: pca]",
)
@click.option(
    "--row",
    metavar="N",
    type=click.IntRange(min=0),
    help="Row that stolen and samples show, counted from 0.  [default: the least trusted]",
)
@click.option(
    "--image-shape",
    type=ImageShape(),
    metavar="HxW",
    help="Shape of the images that the rows of DATA are, such as 28x28: the gallery shows them.",
)
@click.option(
    "--count",
    metavar="N",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    help="How many rows of a cluster the gallery shows.",
)
@click.option(
    "--dpi", metavar="N", type=click.IntRange(min=1), default=150, show_default=True, help="Dots per inch of a PNG."
)
@click.option("-o", "--output", metavar="FILE", required=True, help="Picture to write: .png, .svg or .pdf.")
@run_options
def plot(
    data: DataOptions,
    clustering: ClusteringOptions,
    scoring: ScoringOptions,
    kind: str,
    axes: str | None,
    projection: str | None,
    row: int | None,
    image_shape: tuple[int, ...] | None,
    count: int,
    dpi: int,
    output: str,
    run: RunOptions,
) -> None:
    """Score DATA and draw it."""
    from allegiance.io import replacing

    check_clustering(clustering)
    scoring = settled(scoring, clustering)
    ending = Path(output).suffix.lower()
    if ending not in _ENDINGS:
        raise click.BadParameter(f"{output!r} must end in .png, .svg or .pdf.", param_hint="-o")
    with replacing(output, force=run.force) as temporary:
        columns = [clustering.labels] if clustering.labels else []
        matters = scale_matters(clustering, scoring)
        opened = open_data(data, columns, lambda text: note(run, text), scale_matters=matters)
        check_outputs(opened, None, output, inputs=[clustering.centers])
        scorer, result, frame = _scored(opened, clustering, scoring, run)
        plane = {"features": _features(axes, frame.column_names), "projection": projection}
        # A picture goes into a file; a window would not help, and there may be no screen.
        os.environ.setdefault("MPLBACKEND", "Agg")
        if kind in ("profile", "flow", "gallery"):
            display = _of_result(kind, result, frame, count, image_shape)
        else:
            display = _of_scorer(kind, scorer, result, frame, row, plane)
        display.figure_.savefig(temporary, format=ending[1:], dpi=dpi, bbox_inches="tight")
    if run.json:
        print_json({"kind": kind, "output": output})
    say_written(output, run)


def _scored(
    opened: Opened, clustering: ClusteringOptions, scoring: ScoringOptions, run: RunOptions
) -> tuple[AffinityScorer, AffinityResult, Any]:
    """Fit a scorer that knows the names of the features, since the pictures show them."""
    import pyarrow as pa

    points = load_points(opened, [clustering.labels] if clustering.labels else [])
    frame = pa.table(dict(zip(points.names, points.X.T.copy(), strict=True)))
    scorer, labels = scorer_for(points, opened, clustering, scoring, run)
    return scorer, scorer.fit_affinity(frame, labels), frame


def _of_result(kind: str, result: AffinityResult, frame: Any, count: int, shape: tuple[int, ...] | None) -> Any:
    import numpy as np

    from allegiance import displays

    if kind == "profile":
        return displays.AffinityProfileDisplay.from_result(result)
    if kind == "flow":
        return displays.FlowDisplay.from_result(result)
    X = np.column_stack([frame.column(name) for name in frame.column_names])
    return displays.GalleryDisplay.from_result(
        result, X, n=count, image_shape=shape, feature_names=None if shape else frame.column_names
    )


def _of_scorer(
    kind: str, scorer: AffinityScorer, result: AffinityResult, frame: Any, row: int | None, plane: dict[str, Any]
) -> Any:
    import numpy as np

    from allegiance import displays

    if kind in ("map", "heat"):
        drawn = "contour" if kind == "map" else "heat"
        return displays.AffinityMapDisplay.from_estimator(scorer, frame, labels=result.label, kind=drawn, **plane)
    if kind == "diagram":
        return displays.DiagramDisplay.from_estimator(scorer, frame, labels=result.label, **plane)
    if row is not None and row >= result.n_points:
        raise click.BadParameter(f"{row} is beyond the last row, {result.n_points - 1}.", param_hint="--row")
    chosen = int(result.least_trusted(1)[0]) if row is None else row
    query = np.array([frame.column(name)[chosen].as_py() for name in frame.column_names])
    display = displays.StolenAreaDisplay if kind == "stolen" else displays.SamplesDisplay
    return display.from_estimator(scorer, query, frame, **plane)


def _features(axes: str | None, names: list[str]) -> list[str] | None:
    from allegiance.io._old_tables import unknown_column

    if axes is None:
        return None
    found = [part.strip() for part in axes.split(",")]
    for name in found:
        if name not in names:
            raise unknown_column(name, names, "the data")
    if len(found) != 2:
        raise click.BadParameter(f"{axes!r} does not name two features, such as width,height.", param_hint="--slice")
    return found
