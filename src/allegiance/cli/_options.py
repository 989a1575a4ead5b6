"""Options that several commands share, each group as one object."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import Any, TypeVar

import click

from ._kinds import kind_option

Command = Callable[..., Any]
Wrapped = TypeVar("Wrapped", bound=Command)

ALGORITHMS = ("kmeans", "minibatch", "bisecting", "agglomerative", "gmm", "birch", "spectral", "hdbscan")


class ImageShape(click.ParamType[tuple[int, ...]]):
    """HEIGHTxWIDTH, or HEIGHTxWIDTHx3 in colours."""

    name = "HxW"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the numbers.

        Parameters
        ----------
        value, param, ctx
            From click.
        """
        if re.fullmatch(r"[1-9]\d*x[1-9]\d*(x3)?", value) is None:
            self.fail(f"{value!r} is not of the form HEIGHTxWIDTH, such as 28x28.", param, ctx)
        return tuple(int(part) for part in value.split("x"))


@dataclass(frozen=True)
class DataOptions:
    """Which table, and which of its columns are what."""

    data: tuple[str, ...]
    input_format: str | None
    id: tuple[str, ...]
    features: tuple[str, ...]
    drop: tuple[str, ...]
    one_hot: tuple[str, ...]
    categorical: str | None
    impute: str | None
    standardize: bool


@dataclass(frozen=True)
class ClusteringOptions:
    """Where the clustering comes from."""

    labels: str | None
    centers: str | None
    clusters: int | None
    algorithm: str | None
    min_cluster_size: int


@dataclass(frozen=True)
class ScoringOptions:
    """What closeness means, how volume is measured and trust calibrated: parameters of the scorer by their names."""

    influence: Any
    weights: Any
    representative: str
    domain: Any
    engine: Any
    eps: float
    resamples: int
    no_calibration: bool

    def params(self) -> dict[str, Any]:
        """Return the parameters as the scorer takes them."""
        params = {name: value for name, value in vars(self).items() if name not in ("resamples", "no_calibration")}
        return params | {"calibration": None if self.no_calibration else self.resamples}


@dataclass(frozen=True)
class RunOptions:
    """How to run, and what to say while running."""

    seed: int
    n_jobs: int | None
    quiet: bool
    verbose: bool
    no_progress: bool
    json: bool
    force: bool


def bundled(name: str, kind: type, options: list[Callable[[Command], Command]]) -> Callable[[Wrapped], Wrapped]:
    """Return a decorator that adds options to a command and hands them over as one argument."""
    own = [field.name for field in fields(kind)]

    def decorate(command: Wrapped) -> Wrapped:
        @wraps(command)
        def bundling(*args: Any, **values: Any) -> Any:
            bundle = kind(**{field: values.pop(field) for field in own})
            return command(*args, **values, **{name: bundle})

        decorated: Any = bundling
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


data_options = bundled(
    "data",
    DataOptions,
    [
        click.argument("data", nargs=-1, required=True),
        click.option(
            "--input-format",
            type=click.Choice(["csv", "tsv", "parquet", "arrow", "npy", "npz"]),
            help="Format of DATA, if the ending of its name does not say.",
        ),
        click.option("--id", metavar="COLUMN", multiple=True, help="Column to carry over to the output, repeatable."),
        click.option(
            "--features",
            metavar="COLUMNS",
            multiple=True,
            help="Columns to use: a name, names with commas, or a pattern like 'pixel*'; repeatable.  [default: all]",
        ),
        click.option(
            "--drop",
            metavar="COLUMNS",
            multiple=True,
            help="Columns to leave out: names or patterns, as in --features.",
        ),
        click.option(
            "--one-hot",
            metavar="COLUMNS",
            multiple=True,
            help="Columns of categories to encode as 0 and 1: names or patterns, as in --features.",
        ),
        click.option(
            "--categorical",
            type=click.Choice(["one-hot", "drop"]),
            help="What to do with all other columns of text.  [default: an error names them]",
        ),
        click.option(
            "--impute",
            type=click.Choice(["median", "drop"]),
            help="Fill missing values in, or leave their rows out.  [default: an error counts them]",
        ),
        click.option("--standardize", is_flag=True, help="Scale features to mean 0 and variance 1 first."),
    ],
)

clustering_options = bundled(
    "clustering",
    ClusteringOptions,
    [
        click.option("--labels", metavar="COLUMN", help="Column with the cluster of each row; -1 is noise."),
        click.option("--centers", metavar="FILE", help="Table with one representative per row."),
        click.option("--clusters", metavar="K", type=click.IntRange(min=1), help="Cluster the rows into K first."),
        click.option(
            "--algorithm", type=click.Choice(ALGORITHMS), help="Algorithm that --clusters uses.  [default: kmeans]"
        ),
        click.option(
            "--min-cluster-size",
            type=click.IntRange(min=2),
            default=5,
            show_default=True,
            help="Smallest cluster that --algorithm hdbscan accepts.",
        ),
    ],
)

scoring_options = bundled(
    "scoring",
    ScoringOptions,
    [
        kind_option("influence", "within", "What closeness means."),
        kind_option("weights", None, "How important clusters are: large or dense ones reach farther."),
        click.option(
            "--representative",
            type=click.Choice(["mean", "median", "medoid", "mean-without-point"]),
            default="mean",
            show_default=True,
            help="What stands for a cluster; the last is the mean without the point that is scored.",
        ),
        kind_option("domain", "box", "Where volume is measured."),
        kind_option("engine", "auto", "How volume is measured."),
        click.option(
            "--eps", type=float, default=0.03, show_default=True, help="Half-width of the 95 % interval of an affinity."
        ),
        click.option(
            "--resamples",
            metavar="N",
            type=click.IntRange(min=2),
            default=20,
            show_default=True,
            help="Halves of the data that are clustered anew to calibrate trust.",
        ),
        click.option("--no-calibration", is_flag=True, help="Measure affinities only: no trust, but faster."),
    ],
)


def _remember_debug(context: click.Context, option: click.Parameter, value: bool) -> None:
    if value:
        root: Any = context.find_root().command
        root.debug = True


run_options = bundled(
    "run",
    RunOptions,
    [
        click.option(
            "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of all random numbers."
        ),
        click.option("--n-jobs", type=int, help="Number of threads.  [default: all cores]"),
        click.option("--force", is_flag=True, help="Replace files that exist."),
        click.option("--json", is_flag=True, help="Print one JSON object instead of the summary."),
        click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors."),
        click.option("-v", "--verbose", is_flag=True, help="Say more about how it was done."),
        click.option("--no-progress", is_flag=True, help="No progress bar, not even on a terminal."),
        click.option(
            "--debug", is_flag=True, expose_value=False, callback=_remember_debug, help="Show tracebacks of errors."
        ),
    ],
)
