"""Options that several commands share, each group as one object."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import Any, TypeVar

import click

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
    """What closeness means, and how volume is measured: parameters of the scorer by their names."""

    divergence: str
    smoothing: float
    kernel: str | None
    kernel_param: tuple[str, ...]
    kernel_approximation: str | None
    n_components: int
    weights: str | None
    weight_scale: str
    representative: str
    leave_one_out: bool
    domain: str
    margin: float
    method: str
    eps: float
    max_samples: int

    def params(self) -> dict[str, Any]:
        """Return the parameters as the scorer takes them."""
        params = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "kernel_param"}
        params["kernel_params"] = dict(map(_kernel_param, self.kernel_param)) or None
        params["domain"] = None if self.domain == "none" else self.domain
        if self.weight_scale != "auto":
            params["weight_scale"] = _number(self.weight_scale, "--weight-scale")
        return params


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
        click.option("--drop", metavar="COLUMNS", multiple=True, help="Columns to leave out, written likewise."),
        click.option("--one-hot", metavar="COLUMNS", multiple=True, help="Columns of categories to encode, likewise."),
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
        click.option("--algorithm", type=click.Choice(ALGORITHMS), help="With which algorithm.  [default: kmeans]"),
        click.option(
            "--min-cluster-size", type=click.IntRange(min=2), default=5, show_default=True, help="For hdbscan."
        ),
    ],
)

scoring_options = bundled(
    "scoring",
    ScoringOptions,
    [
        click.option(
            "--divergence",
            type=click.Choice(["euclidean", "within", "kl", "itakura-saito", "logistic", "exponential"]),
            default="euclidean",
            show_default=True,
            help="How influence falls off; 'within' whitens by the covariance inside the clusters.",
        ),
        click.option("--smoothing", type=float, default=0.0, help="Added to every entry, for kl and itakura-saito."),
        click.option(
            "--kernel",
            type=click.Choice(["linear", "rbf", "polynomial", "laplacian", "cosine"]),
            help="Measure distance in the space of a kernel.",
        ),
        click.option("--kernel-param", metavar="NAME=NUMBER", multiple=True, help="Such as gamma=0.5; repeatable."),
        click.option(
            "--kernel-approximation", type=click.Choice(["fourier", "nystroem", "hash"]), help="For many rows."
        ),
        click.option(
            "--n-components", type=click.IntRange(min=1), default=500, show_default=True, help="Its features."
        ),
        click.option("--weights", type=click.Choice(["size", "density"]), help="Give clusters weights."),
        click.option("--weight-scale", metavar="NUMBER|auto", default="1.0", show_default=True, help="Times this."),
        click.option(
            "--representative",
            type=click.Choice(["mean", "median", "medoid"]),
            default="mean",
            show_default=True,
            help="What stands for a cluster.",
        ),
        click.option("--leave-one-out", is_flag=True, help="Compute a point's own cluster without it."),
        click.option(
            "--domain",
            type=click.Choice(["box", "ball", "none"]),
            default="box",
            show_default=True,
            help="Where volume is measured.",
        ),
        click.option("--margin", type=float, default=0.1, show_default=True, help="Margin of the box."),
        click.option(
            "--method",
            type=click.Choice(["auto", "exact", "shared", "hit-and-run", "rejection", "closed-form"]),
            default="auto",
            show_default=True,
            help="How volume is measured.",
        ),
        click.option("--eps", type=float, default=0.03, show_default=True, help="Half-width of 95 % intervals."),
        click.option(
            "--max-samples", type=click.IntRange(min=1), default=1_000_000, help="Most samples for one point."
        ),
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
        click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of all randomness."),
        click.option("--n-jobs", type=int, help="Threads.  [default: all cores]"),
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


def _kernel_param(text: str) -> tuple[str, float]:
    name, separator, value = text.partition("=")
    if not separator:
        raise click.BadParameter(
            f"{text!r} is not of the form NAME=NUMBER, such as gamma=0.5.", param_hint="--kernel-param"
        )
    return name.strip(), _number(value, "--kernel-param")


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a number.", param_hint=option) from None
