"""``allegiance explore``: look at a clustering and review its labels in a browser."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._clustering import check_clustering, scale_matters, settled
from ._console import note, print_json, say
from ._kinds import Budget, registry_of
from ._models import ModelOptions, check_models, load_model, open_by_model
from ._options import (
    ClusteringOptions,
    DataOptions,
    ImageShape,
    RunOptions,
    ScoringOptions,
    bundled,
    clustering_options,
    data_options,
    run_options,
    scoring_options,
)
from ._outputs import PageOptions, check_page
from ._points import Opened, Points, open_data
from ._score import score_in_memory
from ._scores import Scores, is_scores, load_scores

if TYPE_CHECKING:
    from allegiance.explorer import Explorer, Showing, Subject

EPILOG = """\b
Examples:
  allegiance explore customers.csv --clusters 8 --id customer_id
  allegiance explore customers.csv --labels segment --review 5% --text comment
  allegiance explore digits.parquet --clusters 10 --image-shape 8x8
  allegiance explore customers.csv --model jan.model
  allegiance explore scored.parquet --data customers.csv
"""
#: How names of saved models end.
_MODELS = (".model", ".scorer")


@dataclass(frozen=True)
class ShowOptions:
    """What shows rows to a person, and where."""

    title: str | None
    text: str | None
    image_shape: tuple[int, ...] | None
    image_column: str | None
    coordinates: str | None
    decisions: str | None
    review: int | str | None
    host: str
    port: int
    allow_host: tuple[str, ...]
    no_browser: bool

    @property
    def pair(self) -> list[str]:
        """The two columns of the map; empty if they were not named."""
        names = [] if self.coordinates is None else [name.strip() for name in self.coordinates.split(",")]
        if names and len(names) != 2:
            raise click.BadParameter(f"{self.coordinates!r} is not two columns: X,Y.", param_hint="--coordinates")
        return names

    @property
    def columns(self) -> list[str]:
        """Columns of the data that are shown and are not features."""
        return [name for name in (self.text, self.image_column, *self.pair) if name is not None]


show_options = bundled(
    "show",
    ShowOptions,
    [
        click.option("--title", metavar="TEXT", help="Heading of the page."),
        click.option("--text", metavar="COLUMN", help="Column of texts to read beside the labels; not a feature."),
        click.option("--image-shape", type=ImageShape(), metavar="HxW", help="Shape of the images that the rows are."),
        click.option("--image-column", metavar="COLUMN", help="Column of paths of image files; not a feature."),
        click.option(
            "--coordinates", metavar="X,Y", help="Two columns to draw the map by, such as those of UMAP; not features."
        ),
        click.option(
            "--decisions",
            metavar="FILE",
            help="File to which each decision is appended; taken up if it exists.  [default: DATA.decisions.jsonl]",
        ),
        click.option(
            "--review",
            metavar="N|SHARE%",
            type=Budget(),
            help="How many labels to review, the least trusted first.  [default: all that are not supported]",
        ),
        click.option(
            "--host",
            default="127.0.0.1",
            show_default=True,
            help="Address to listen on. Others can reach the page only if this is not a loopback address, and if they "
            "have the token.",
        ),
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            default=0,
            show_default=True,
            help="Port to listen on; 0 for a free one.",
        ),
        click.option(
            "--allow-host",
            metavar="NAME[:PORT]",
            multiple=True,
            help="Further name under which the page may be opened, as behind a proxy; repeatable.",
        ),
        click.option("--no-browser", is_flag=True, help="Print the address and open no browser."),
    ],
)


@click.command(epilog=EPILOG, short_help="Review labels in the browser.")
@data_options
@click.option(
    "--data", "about", metavar="FILE", multiple=True, help="Data that DATA, a model or a table of scores, is about."
)
@click.option("--model", metavar="FILE", help="Score DATA by a saved model.")
@clustering_options
@scoring_options
@show_options
@run_options
def explore(
    data: DataOptions,
    about: tuple[str, ...],
    model: str | None,
    clustering: ClusteringOptions,
    scoring: ScoringOptions,
    show: ShowOptions,
    run: RunOptions,
) -> None:
    """Look at a clustering in a browser, and review its labels.

    DATA is a table with a clustering, as for ``score``; a saved model, with --data; or the table that ``score`` wrote,
    with --data for its features. The page is served by this machine for this machine, until Ctrl-C.
    """
    if len(data.data) == 1 and data.data[0].endswith(_MODELS):
        if model is not None or not about:
            raise click.UsageError(f"{data.data[0]} is a model: name the rows to score with --data FILE.")
        model, data, about = data.data[0], replace(data, data=about), ()
    decisions = _decisions_file(show, data, [*data.data, *about, model, clustering.centers])
    made = clustering.labels or clustering.centers or clustering.clusters or clustering.algorithm
    if not made and model is None and is_scores(data):
        shown, asked = _from_scores(data, about, show, run), None
    elif about:
        raise click.UsageError("--data belongs to a model or to a table of scores: leave it out, DATA is the data.")
    else:
        shown, asked = _scored(data, model, clustering, scoring, show, run)
    _run(_serve(shown, asked, show, decisions), show, run)


def _scored(
    data: DataOptions,
    path: str | None,
    clustering: ClusteringOptions,
    scoring: ScoringOptions,
    show: ShowOptions,
    run: RunOptions,
) -> tuple[_Shown, dict[str, Any] | None]:
    """Score the table, and return what is shown of it and how it was scored."""
    check_models(ModelOptions(path, None), run)
    model = load_model(path)
    asked = None
    if model is not None:
        opened = open_by_model(model, data, clustering.labels, partial(note, run))
    else:
        check_clustering(clustering)
        scoring = settled(scoring, clustering)
        apart = [*([clustering.labels] if clustering.labels else []), *show.columns]
        matters = scale_matters(clustering, scoring)
        opened = open_data(data, apart, partial(note, run), scale_matters=matters)
        asked = _asked(scoring, run)
    check_page(PageOptions(show.title, show.image_shape), opened.features)
    points, result, _ = score_in_memory(opened, clustering, scoring, run, None, model)
    extra = opened.source.read(show.columns).take(points.rows) if show.columns else None
    return _Shown(points, extra, opened, show, result=result), asked


def _from_scores(data: DataOptions, about: tuple[str, ...], show: ShowOptions, run: RunOptions) -> _Shown:
    """Return what is shown of a table of scores."""
    if not about and (show.columns or show.image_shape):
        raise click.UsageError("--text, images and --coordinates are about the data: name it with --data FILE.")
    scores = load_scores(data, about, show.columns, run)
    if scores.opened is not None:
        check_page(PageOptions(show.title, show.image_shape), scores.opened.features)
    extra = None if scores.points is None else scores.points.others
    return _Shown(scores.points, extra, scores.opened, show, scores=scores)


@dataclass(frozen=True)
class _Shown:
    """Rows with their scores, and what else is known about them."""

    points: Points | None
    extra: Any
    """Columns that are shown, an Arrow table; None if there are none."""
    opened: Opened | None
    show: ShowOptions
    result: Any = None
    scores: Scores | None = None

    def subject(self, title: str) -> Subject:
        """Return the subject of the explorer."""
        from allegiance.explorer import Subject, subject_of_scores
        from allegiance.report import Features

        points, scores = self.points, self.scores
        features = None if points is None else Features(points.X, list(points.names))
        if scores is not None:
            ids, numbers = scores.ids if scores.has_ids else None, scores.numbers
        else:
            assert points is not None
            ids, numbers = points.ids if points.has_ids else None, points.rows
        shown: dict[str, Any] = {
            "features": features,
            "ids": {} if ids is None else {name: ids.column(name).to_pylist() for name in ids.column_names},
            "numbers": numbers,
            "showing": self._showing(numbers.size),
            "title": title,
        }
        if scores is not None:
            return subject_of_scores(scores.columns, **shown)
        return Subject.of_result(self.result, **shown)

    def _showing(self, n: int) -> Showing:
        from allegiance.explorer import Showing

        show = self.show
        texts = None if show.text is None else self._column(show.text)
        images: Any = None
        folder = None
        if show.image_shape is not None:
            assert self.points is not None
            images = self.points.X.reshape(-1, *show.image_shape)
        elif show.image_column is not None:
            assert self.opened is not None
            images, folder = self._column(show.image_column), Path(self.opened.source.files[0]).parent
        return Showing.of(texts, images, n, folder=folder)

    def _column(self, name: str) -> list[str | None]:
        return [None if value is None else str(value) for value in self.extra.column(name).to_pylist()]

    def coordinates(self) -> Any:
        """Return the user's own coordinates, checked; None if there are none."""
        from allegiance.report import Coordinates, check_coordinates

        pair = self.show.pair
        if not pair:
            return None
        import numpy as np

        values = np.column_stack([np.asarray(self.extra.column(name), dtype=float) for name in pair])
        checked = check_coordinates(values, None, values.shape[0])
        assert checked is not None
        return Coordinates(checked.values, (pair[0], pair[1]))


def _asked(scoring: ScoringOptions, run: RunOptions) -> dict[str, Any]:
    """Return how the rows were scored as the explorer's what if writes it."""
    kinds = {
        name: registry_of(name).written(registry_of(name).resolve(getattr(scoring, name)))
        for name in ("influence", "domain")
    }
    weights = "none" if scoring.weights is None else registry_of("weights").written(scoring.weights)
    return {**kinds, "weights": weights, "seed": run.seed}


def _decisions_file(show: ShowOptions, data: DataOptions, inputs: list[str | None]) -> Path:
    """Return where decisions go, after checking that they can go there and that there is an explorer at all."""
    from allegiance.io import check_writable, refuse_inputs

    for library in ("bokeh", "jinja2", "tornado"):
        if find_spec(library) is None:
            raise click.ClickException(f"the explorer needs {library}: pip install 'allegiance[explorer]'.")
    stem = Path(data.data[0]).stem if data.data[0] != "-" else "data"
    path = show.decisions or f"{stem}.decisions.jsonl"
    refuse_inputs(path, [file for file in inputs if file not in (None, "-")])
    check_writable(path, force=True)
    return Path(path)


def _serve(shown: _Shown, asked: dict[str, Any] | None, show: ShowOptions, decisions: Path) -> Explorer:
    from allegiance.explorer import serve

    return serve(
        shown.subject(show.title or decisions.name.removesuffix(".jsonl").removesuffix(".decisions")),
        coordinates=shown.coordinates(),
        decisions=decisions,
        budget=show.review,
        asked=asked,
        host=show.host,
        port=show.port,
        allow_hosts=show.allow_host,
    )


def _run(explorer: Explorer, show: ShowOptions, run: RunOptions) -> None:
    """Serve until Ctrl-C."""
    with explorer:
        if run.json:
            print_json({"url": explorer.url, "decisions": explorer.path})
        else:
            click.echo(explorer.url)
        say(run, f"Decisions go to {explorer.path}. Ctrl-C ends the explorer.")
        if not show.no_browser:
            explorer.open()
        try:
            explorer.wait()
        except KeyboardInterrupt:
            say(run, f"\n{len(explorer.decisions):,} decisions in {explorer.path}.")
