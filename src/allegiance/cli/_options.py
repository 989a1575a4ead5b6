"""Options that several commands share, each group as one object."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import Any, TypeVar

import click

from ._kinds import Precision, kind_option
from ._param_type import ParamType

Command = Callable[..., Any]
Wrapped = TypeVar("Wrapped", bound=Command)

#: As in :mod:`allegiance.fitting`, which is not imported for ``--help``.
REPRESENTATIVES = ("mean", "median", "medoid")
#: As in :mod:`allegiance.clusterers`.
LIKE_KMEANS = ("kmeans", "minibatch", "bisecting")
#: As in :mod:`allegiance.io._old_tables`.
INPUT_FORMATS = ("csv", "tsv", "parquet", "arrow", "npy", "npz", "xlsx")
ALGORITHMS = (*LIKE_KMEANS, "agglomerative", "gmm", "birch", "spectral", "hdbscan")


class ImageShape(ParamType[tuple[int, ...]]):
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
    missing: tuple[str, ...]
    decimal: str | None
    cycles: tuple[str, ...]
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
    """What closeness means, how volume is measured and trust calibrated; commands offer those that matter to them."""

    influence: Any
    resamples: int
    weights: Any = None
    representative: str = "mean"
    domain: Any = "box"
    engine: Any = "auto"
    eps: float | str = 0.03
    recluster: str | None = None
    no_calibration: bool = False

    def params(self) -> dict[str, Any]:
        """Return the parameters of the scorer, except for calibration."""
        names = ("influence", "weights", "representative", "domain", "engine", "eps")
        return {name: getattr(self, name) for name in names}


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
    """Return a decorator that adds options to a command and hands them over as one argument.

    Fields of ``kind`` without an option keep their defaults.
    """
    own = [field.name for field in fields(kind)]

    def decorate(command: Wrapped) -> Wrapped:
        @wraps(command)
        def bundling(*args: Any, **values: Any) -> Any:
            bundle = kind(**{field: values.pop(field) for field in own if field in values})
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
            type=click.Choice(INPUT_FORMATS),
            help="Format of DATA, if the ending of its name does not say.",
        ),
        click.option(
            "--id",
            metavar="COLUMN",
            multiple=True,
            help="Column that identifies rows: not a feature, but carried over to the output; repeatable.",
        ),
        click.option(
            "--features",
            metavar="COLUMNS",
            multiple=True,
            help="Columns to use as features: a name, names with commas, or a pattern like 'pixel*'; repeatable.  "
            "[default: all but --id, --labels and --drop]",
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
            help="What to do with columns of text that --one-hot does not name.  [default: an error names them]",
        ),
        click.option(
            "--impute",
            type=click.Choice(["median", "drop"]),
            help="Fill missing values with the median of the column, or with its most frequent category, or drop their "
            "rows.  [default: an error counts them]",
        ),
        click.option(
            "--missing",
            metavar="[COLUMN=]VALUE",
            multiple=True,
            help="Value that means a missing one, such as -999, in all columns or in one; repeatable.",
        ),
        click.option(
            "--decimal",
            type=click.Choice([".", ","]),
            help="Decimal mark of numbers written as text, such as $1,452.74 or 1.452,74.  [default: the one that "
            "fits]",
        ),
        click.option(
            "--cycles",
            metavar="CYCLES",
            multiple=True,
            help="Positions of dates in the year, week or day as features, besides days: names with commas.",
        ),
        click.option("--standardize", is_flag=True, help="Scale all features to mean 0 and variance 1."),
    ],
)

clustering_options = bundled(
    "clustering",
    ClusteringOptions,
    [
        click.option(
            "--labels",
            metavar="COLUMN",
            help="Column with the label of each row: the cluster it is in, or -1 for noise.",
        ),
        click.option(
            "--centers",
            metavar="FILE",
            help="Table of cluster centres, one per row, with the columns of DATA: rows belong to the nearest.",
        ),
        click.option(
            "--clusters",
            metavar="K",
            type=click.IntRange(min=1),
            help="Make the clustering: put the rows of DATA into K clusters.",
        ),
        click.option(
            "--algorithm",
            type=click.Choice(ALGORITHMS),
            help="Algorithm that makes the clustering; hdbscan needs no --clusters.  [default: kmeans]",
        ),
        click.option(
            "--min-cluster-size",
            metavar="N",
            type=click.IntRange(min=2),
            default=5,
            show_default=True,
            help="Fewest rows of a cluster of --algorithm hdbscan.",
        ),
    ],
)

_CLOSENESS = "What it means that a row is close to a cluster."
_INFLUENCE = kind_option("influence", "within", _CLOSENESS)
_INFLUENCE_OR_NONE = kind_option(
    "influence", None, f"{_CLOSENESS}  [default: within; euclidean for --centers without --labels]"
)
_MEASURE = [
    kind_option("weights", None, "How far clusters reach: large or dense ones farther.  [default: all alike]"),
    click.option(
        "--representative",
        type=click.Choice(REPRESENTATIVES),
        default="mean",
        show_default=True,
        help="What stands for a cluster: the mean of its rows, their median, or its most central row.",
    ),
    kind_option("domain", "box", "Region in which volume is measured."),
    kind_option("engine", "auto", "How volume is measured."),
    click.option(
        "--eps",
        metavar="NUMBER",
        type=Precision(),
        default=0.03,
        show_default=True,
        help="Half-width of the 95 % interval of an affinity that is sampled.",
    ),
]
_RESAMPLES = click.option(
    "--resamples",
    metavar="N",
    type=click.IntRange(min=2),
    default=20,
    show_default=True,
    help="How many times half of the data is clustered anew to calibrate trust.",
)
_RECLUSTER = click.option(
    "--recluster",
    type=click.Choice(ALGORITHMS),
    help="Algorithm that clusters halves of the data anew: the one that made the labels.  [default: that of "
    "--algorithm, else kmeans]",
)
_NO_CALIBRATION = click.option(
    "--no-calibration", is_flag=True, help="Leave trust out and measure affinities only, which is faster."
)

#: For commands that score one clustering.
scoring_options = bundled(
    "scoring", ScoringOptions, [_INFLUENCE_OR_NONE, *_MEASURE, _RESAMPLES, _RECLUSTER, _NO_CALIBRATION]
)
#: For commands that judge several clusterings, which takes trust.
judging_options = bundled("scoring", ScoringOptions, [_INFLUENCE, *_MEASURE, _RESAMPLES])
#: For commands that measure no affinity. There are no clusters yet whose covariance "within" could take.
calibration_options = bundled(
    "scoring", ScoringOptions, [kind_option("influence", "euclidean", _CLOSENESS), _RESAMPLES]
)


def _remember_debug(context: click.Context, option: click.Parameter, value: bool) -> None:
    if value:
        root: Any = context.find_root().command
        root.debug = True


def _watch(context: click.Context, option: click.Parameter, value: bool) -> bool:
    """Show remarks on the work as well, until the command ends."""
    if value:
        from allegiance._core import watched

        context.with_resource(watched())
    return value


run_options = bundled(
    "run",
    RunOptions,
    [
        click.option(
            "--seed",
            metavar="N",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            help="Seed of all random numbers: the same seed gives the same result.",
        ),
        click.option("--n-jobs", metavar="N", type=int, help="Number of threads.  [default: all cores]"),
        click.option("--force", is_flag=True, help="Replace output files that exist."),
        click.option("--json", is_flag=True, help="Print one JSON object instead of the summary."),
        click.option("-q", "--quiet", is_flag=True, help="Print only errors."),
        click.option("-v", "--verbose", is_flag=True, callback=_watch, help="Also say how it was measured."),
        click.option("--no-progress", is_flag=True, help="Show no progress bar on a terminal."),
        click.option(
            "--debug",
            is_flag=True,
            expose_value=False,
            callback=_remember_debug,
            help="Show the traceback of an error.",
        ),
    ],
)
