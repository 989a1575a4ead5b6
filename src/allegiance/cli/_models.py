"""Models on the command line: saved after the first file, used for every file after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ._console import say, working
from ._notes import notes_on
from ._options import ClusteringOptions, DataOptions, RunOptions, bundled
from ._outputs import provenance
from ._points import Opened

if TYPE_CHECKING:
    from allegiance import AffinityScorer
    from allegiance.io.models import Model

#: Options whose answers are in the model.
_IN_THE_MODEL = (
    *("features", "drop", "one_hot", "categorical", "impute", "missing", "decimal", "cycles", "standardize"),
    *("centers", "clusters", "algorithm", "min_cluster_size"),
    *("influence", "weights", "representative", "domain", "engine", "eps"),
    *("resamples", "recluster", "no_calibration", "seed"),
)


@dataclass(frozen=True)
class ModelOptions:
    """Where a model is kept."""

    model: str | None
    save: str | None


model_options = bundled(
    "kept",
    ModelOptions,
    [
        click.option(
            "--model",
            metavar="FILE",
            help="Score DATA by a saved model: the same preparation, clusters and calibration.",
        ),
        click.option(
            "--save",
            metavar="FILE",
            help="Also save the model, by custom *.model: preparation, clusters and calibration, for --model.",
        ),
    ],
)


def check_models(kept: ModelOptions, run: RunOptions) -> None:
    """Raise if a model could not be saved once the work is done, or if options contradict the one that is used."""
    from allegiance.io import check_writable

    if kept.model is None:
        if kept.save is not None:
            check_writable(kept.save, force=run.force)
        return
    if kept.save is not None:
        raise click.UsageError("--save keeps what a command finds, and --model brings it: leave one of them out.")
    context = click.get_current_context()
    options = {option.name: option.opts[0] for option in context.command.params if option.name is not None}
    given = [name for name in _IN_THE_MODEL if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if given:
        listed = ", ".join(options[name] for name in given)
        raise click.UsageError(f"{kept.model} settles {listed}: leave out what the model knows, or make a new model.")


def load_model(path: str | None) -> Model | None:
    """Return the model of a file, None without one."""
    from allegiance.io.models import Model

    return None if path is None else Model.load(path)


def open_by_model(
    model: Model,
    data: DataOptions,
    labels: str | None,
    notes: Callable[[str], Any],
    *,
    numbers: Sequence[str] = (),
    written: Sequence[str] = (),
) -> Opened:
    """Open a table whose columns are those of a model.

    Parameters
    ----------
    model
        What is known of the columns.
    data
        What the user said. Identifiers are those of the model unless others are named.
    labels
        The column of labels, if there is one.
    notes
        Takes a text the user should know about.
    numbers, written
        Other columns that are not features: of numbers, and to be read as they are written.
    """
    from allegiance.io._old_tables import open_source

    ids = data.id or tuple(model.about.get("ids", ()))
    apart = [*([labels] if labels else []), *numbers, *written]
    as_text = [*(name for name in ids if name != labels), *written]
    source = open_source(data.data, format=data.input_format, text=as_text, codes=[labels] if labels else [])
    lacking = [name for name in ids if name not in source.names]
    if data.id or apart:
        source.check_columns([*data.id, *apart])
    if lacking:
        notes(f"there is no column {lacking[0]!r}, which identified rows in the model: rows are numbered.")
        ids = ()
    features = model.features_for(source, [*ids, *apart])
    for note in notes_on(features, scale_matters=False):
        notes(note)
    return Opened(source, features, ids, tuple(apart))


def save_model(
    path: str | None,
    scorer: AffinityScorer,
    opened: Opened,
    clustering: ClusteringOptions,
    summary: dict[str, Any],
    run: RunOptions,
) -> None:
    """Save a model, if it is wanted, with what it says about itself.

    Parameters
    ----------
    path
        The file, or None.
    scorer
        Fitted to the features.
    opened
        The table it was fitted to.
    clustering
        Where the clusters come from.
    summary
        What was found.
    run
        What to say.
    """
    from allegiance.io.models import Model, described

    if path is None:
        return
    figures = ("cluster", "points", "replication")
    origin = provenance()
    about = described(
        opened.features,
        opened.source,
        command=origin["command"],
        version=origin["version"],
        ids=list(opened.ids),
        labels=clustering.labels,
        clusters=[{name: line[name] for name in figures} for line in summary["clusters"]],
        replication=summary["replication"],
    )
    Model(_with_baseline(scorer, opened, run), opened.features, about).save(path)
    say(run, f"Wrote {path}")


def _with_baseline(scorer: AffinityScorer, opened: Opened, run: RunOptions) -> AffinityScorer:
    """Return the scorer with the figures of the table, which ``allegiance watch`` compares later ones with."""
    from allegiance.drift import with_baseline
    from allegiance.io._old_tables import PreparedSource
    from allegiance.io.streams import profile_stream

    source = PreparedSource(opened.source, opened.features, number=True)
    with working(run, "describing the rows for later comparisons"):
        profile = profile_stream(source, scorer.fitted_, columns=opened.features.names)
    scorer.fitted_ = with_baseline(scorer.fitted_, profile)
    return scorer
