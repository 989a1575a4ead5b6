"""``allegiance explore``: look at a clustering and review its labels in a browser."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._clustering import check_clustering, settled
from ._console import print_json, say
from ._kinds import Budget, registry_of
from ._models import ModelOptions, check_models, load_model
from ._options import (
    ClusteringOptions,
    DataOptions,
    RunOptions,
    ScoringOptions,
    bundled,
    clustering_options,
    data_options,
    run_options,
    scoring_options,
)
from ._page import PageOptions, check_page, coordinates_of, images_of, page_options
from ._points import Opened, Points
from ._score import open_table, score_in_memory
from ._scores import Scores, is_scores, load_scores

if TYPE_CHECKING:
    from allegiance.explorer import Explorer, Subject

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
class ServeOptions:
    """What is reviewed, where decisions go, and where the page is served."""

    decisions: str | None
    review: int | str | None
    host: str
    port: int
    allow_host: tuple[str, ...]
    no_browser: bool


serve_options = bundled(
    "serving",
    ServeOptions,
    [
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
@page_options
@serve_options
@run_options
def explore(
    data: DataOptions,
    about: tuple[str, ...],
    model: str | None,
    clustering: ClusteringOptions,
    scoring: ScoringOptions,
    page: PageOptions,
    serving: ServeOptions,
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
    decisions = _decisions_file(serving, data, [*data.data, *about, model, clustering.centers])
    made = clustering.labels or clustering.centers or clustering.clusters or clustering.algorithm
    asked = None
    if not made and model is None and is_scores(data):
        shown = _from_scores(data, about, page, run)
    elif about:
        raise click.UsageError("--data belongs to a model or to a table of scores: leave it out, DATA is the data.")
    else:
        if model is None:
            check_clustering(clustering)
            scoring = settled(scoring, clustering)
            asked = _asked(scoring, run)
        shown = _scored(data, model, clustering, scoring, page, run)
    title = page.title or decisions.name.removesuffix(".jsonl").removesuffix(".decisions")
    explorer = _serve(shown.subject(title), shown.coordinates(), asked, serving, decisions)
    _run(explorer, serving, run)


def _scored(
    data: DataOptions,
    path: str | None,
    clustering: ClusteringOptions,
    scoring: ScoringOptions,
    page: PageOptions,
    run: RunOptions,
) -> _Shown:
    """Score the table, by a model if there is one, and return what is shown of it."""
    check_models(ModelOptions(path, None), run)
    model = load_model(path)
    opened = open_table(data, clustering, scoring, page, model, run)
    check_page(page, opened)
    points, result, _ = score_in_memory(opened, clustering, scoring, run, None, model)
    return _Shown(page, opened, points, result=result)


def _from_scores(data: DataOptions, about: tuple[str, ...], page: PageOptions, run: RunOptions) -> _Shown:
    """Return what is shown of a table of scores."""
    if not about and (page.written or page.numbers or page.image_shape):
        raise click.UsageError("--text, images and --coordinates are about the data: name it with --data FILE.")
    scores = load_scores(data, about, page, run)
    return _Shown(page, scores.opened, scores.points, scores=scores)


@dataclass(frozen=True)
class _Shown:
    """Rows with their scores, and what else is known about them."""

    page: PageOptions
    opened: Opened | None
    points: Points | None
    result: Any = None
    scores: Scores | None = None

    def subject(self, title: str) -> Subject:
        """Return the subject of the explorer."""
        from allegiance.explorer import Showing, Subject, subject_of_scores
        from allegiance.report import Features

        about = self.scores or self.points
        assert about is not None
        ids = about.ids if about.has_ids else None
        shown: dict[str, Any] = {
            "ids": {} if ids is None else {name: ids.column(name).to_pylist() for name in ids.column_names},
            "numbers": about.rows,
            "title": title,
        }
        if self.points is not None and self.opened is not None:
            points, page = self.points, self.page
            texts = None if page.text is None else points.others.column(page.text)
            shown["features"] = Features(points.X, list(points.names))
            shown["showing"] = Showing.of(texts, images_of(page, points, self.opened), about.rows.size)
        if self.scores is not None:
            return subject_of_scores(self.scores.columns, **shown)
        return Subject.of_result(self.result, **shown)

    def coordinates(self) -> Any:
        """Return where the user wants the rows on the map; None if that was not said."""
        from allegiance.report import check_coordinates

        if self.points is None:
            return None
        return check_coordinates(coordinates_of(self.page, self.points), None, len(self.points.X))


def _asked(scoring: ScoringOptions, run: RunOptions) -> dict[str, Any]:
    """Return how the rows were scored as the explorer's what if writes it."""
    kinds = {
        name: registry_of(name).written(registry_of(name).resolve(getattr(scoring, name)))
        for name in ("influence", "domain")
    }
    weights = "none" if scoring.weights is None else registry_of("weights").written(scoring.weights)
    return {**kinds, "weights": weights, "seed": run.seed}


def _decisions_file(serving: ServeOptions, data: DataOptions, inputs: list[str | None]) -> Path:
    """Return where decisions go, after checking that they can go there and that there is an explorer at all."""
    from allegiance.io import check_writable, refuse_inputs

    for library in ("bokeh", "jinja2", "tornado"):
        if find_spec(library) is None:
            raise click.ClickException(f"the explorer needs {library}: pip install 'allegiance[explorer]'.")
    stem = Path(data.data[0]).stem if data.data[0] != "-" else "data"
    path = serving.decisions or f"{stem}.decisions.jsonl"
    refuse_inputs(path, [file for file in inputs if file not in (None, "-")])
    check_writable(path, force=True)
    return Path(path)


def _serve(
    subject: Subject, coordinates: Any, asked: dict[str, Any] | None, serving: ServeOptions, decisions: Path
) -> Explorer:
    from allegiance.explorer import serve

    return serve(
        subject,
        coordinates=coordinates,
        decisions=decisions,
        budget=serving.review,
        asked=asked,
        host=serving.host,
        port=serving.port,
        allow_hosts=serving.allow_host,
    )


def _run(explorer: Explorer, serving: ServeOptions, run: RunOptions) -> None:
    """Serve until Ctrl-C."""
    with explorer:
        if run.json:
            print_json({"url": explorer.url, "decisions": explorer.path})
        else:
            click.echo(explorer.url)
        say(run, f"Decisions go to {explorer.path}. Ctrl-C ends the explorer.")
        if not serving.no_browser:
            explorer.open()
        try:
            explorer.wait()
        except KeyboardInterrupt:
            say(run, f"\n{len(explorer.decisions):,} decisions in {explorer.path}.")
