"""Shared command-line options and their typed settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import click

#: See ``make_clusterer`` in ``_inputs``.
ALGORITHMS = ("kmeans", "minibatch", "bisecting", "agglomerative", "gmm", "birch", "spectral", "hdbscan", "leiden")
LIKE_KMEANS = ALGORITHMS[:3]
#: Algorithms that choose the number of clusters themselves.
WITHOUT_K = ("hdbscan", "leiden")
#: As in :mod:`allegiance.influence`: those without further parameters. "mahalanobis" needs a covariance.
INFLUENCES = (
    "within", "euclidean", "cosine", "kl", "itakura-saito", "logistic", "rbf", "laplacian", "polynomial",
)  # fmt: skip
#: Influences that need all rows in memory.
KERNELS = INFLUENCES[6:]

CLUSTERING, COLUMNS, READING = "Clustering", "Columns", "Reading DATA"
TRUST, OUTPUT, RUNNING = "Trust", "Output", "Running"
#: The order of ``--help``.
GROUPS = (CLUSTERING, COLUMNS, READING, TRUST, OUTPUT, RUNNING)


@dataclass(frozen=True)
class Reading:
    """How tables are read: the options of ``allegiance.io.open_table``, and what to do with damaged files."""

    missing: tuple[str, ...] = ()
    decimal: str | None = None
    sep: str | None = None
    encoding: str | None = None
    skip_rows: int | None = None
    sheet: str | None = None
    dayfirst: bool | None = None
    header: bool | None = None
    skip_lines: tuple[int, ...] = ()
    keep_rows: str = "auto"
    keep_sentinels: bool = False
    on_error: str = "stop"


@dataclass(frozen=True)
class Features:
    """The roles of columns."""

    ids: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    one_hot: tuple[str, ...] = ()
    impute: str | None = None
    raw: bool = False
    labels: str | None = None
    text: str | None = None
    groups: str | None = None


@dataclass(frozen=True)
class Trust:
    """The clustering, and the settings for estimating trust."""

    model: str | None = None
    centers: str | None = None
    clusters: int | None = None
    algorithm: str | None = None
    clusterer: str | None = None
    influence: str | None = None
    eps: float | None = None
    resamples: int | None = None
    seed: int = 0
    n_jobs: int | None = None


@dataclass(frozen=True)
class Output:
    """Outputs and exit codes."""

    output: str | None = None
    if_exists: str = "error"
    scores_only: bool = False
    review: int | str | None = None
    review_by: str = "priority"
    review_output: str | None = None
    audit_sheet: str | None = None
    audit_size: int = 60
    report: str | None = None
    map: str | None = None
    save: str | None = None
    stream: bool | None = None
    batch_rows: int | None = None
    fail_under: float | None = None
    fail_on_drift: bool = False
    fail_on_notes: bool = False
    tolerance: float = 0.05

    @property
    def replaces(self) -> bool:
        """Whether the option ``--if-exists`` is set to replace outputs."""
        return self.if_exists in ("replace", "update")


S = TypeVar("S", Reading, Features, Trust, Output)


def pick(kind: type[S], values: Mapping[str, Any]) -> S:
    """Return the typed settings of one kind from the options of a command; others keep their defaults."""
    return kind(**{field.name: values[field.name] for field in fields(kind) if field.name in values})


class _Option(click.Option):
    """An option with the group under which ``--help`` lists it."""

    def __init__(self, *args: Any, group: str = RUNNING, **settings: Any) -> None:
        self.group = group
        super().__init__(*args, **settings)


class Command(click.Command):
    """A command whose help lists its options by group."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help of the options, by group."""
        groups: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                groups[param.group if isinstance(param, _Option) else RUNNING].append(record)
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def option(group: str, *names: str, **settings: Any) -> Callable[[Any], Any]:
    """Return a click option that ``--help`` lists in a group."""
    return click.option(*names, cls=_Option, group=group, **settings)


def options(*groups: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """Return a decorator that adds groups of options to a command."""

    def decorate(command: Any) -> Any:
        """Add the options to a command."""
        for each in reversed([each for group in groups for each in group]):
            command = each(command)
        return command

    return decorate


def budget(value: str) -> int | str:
    """Parse the option ``--review``: a number of labels, such as 500, or a share, such as 5%, as written."""
    text = value.strip()
    number = text.removesuffix("%")
    if not (number.replace(".", "", 1).isdigit() and (text != number or number.isdigit())):
        raise click.BadParameter(f"{value!r} is neither a number of labels, such as 500, nor a share, such as 5%.")
    return text if text != number else int(number)


def whole_numbers(value: str) -> tuple[int, ...]:
    """Parse an option of whole numbers, such as 2-10 or 2,3,5, in ascending order."""
    numbers: set[int] = set()
    for part in value.split(","):
        low, dash, high = (each.strip() for each in part.partition("-"))
        if not low.isdigit() or (dash and not high.isdigit()):
            raise click.BadParameter(f"{value!r} is neither a list such as 2,3,5 nor a range such as 2-10.")
        numbers.update(range(int(low), int(high or low) + 1))
    if not numbers:
        raise click.BadParameter(f"{value!r} is an empty range.")
    return tuple(sorted(numbers))


def separator(value: str) -> str:
    r"""Parse the option ``--sep``: one character; a tab may be written as \t or tab."""
    text = {"\\t": "\t", "tab": "\t"}.get(value, value)
    if len(text) != 1:
        raise click.BadParameter(f"{value!r} is not one character, such as ';' or '\\t'.")
    return text


def encoding(value: str) -> str:
    """Parse the option ``--encoding``: an encoding with which Python can decode text."""
    try:
        "".encode(value)
    except (LookupError, ValueError):
        raise click.BadParameter(f"{value!r} is not a text encoding. Examples are utf-8, cp1252 and utf-16.") from None
    return value


DATA = [click.argument("data", nargs=-1, required=True)]
COLUMN_OPTIONS = [
    option(
        COLUMNS, "--id", "ids", metavar="COLUMN", multiple=True,
        help="Column that identifies rows. Repeatable.  [default: detected]",
    ),
    option(
        COLUMNS, "--features", metavar="COLUMNS", multiple=True,
        help="Columns to use: a name, a comma-separated list, or a pattern like 'pixel*'.  [default: detected]",
    ),
    option(COLUMNS, "--drop", metavar="COLUMNS", multiple=True, help="Columns to leave out."),
    option(COLUMNS, "--one-hot", metavar="COLUMNS", multiple=True, help="Numeric columns to treat as categories."),
    option(
        COLUMNS, "--impute", type=click.Choice(["median", "drop"]),
        help="Fill missing values with the median, or drop their rows.  [default: median]",
    ),
    option(COLUMNS, "--raw", is_flag=True, help="Use numbers as they are, without scaling or filling."),
]  # fmt: skip
READING_OPTIONS = [
    option(
        READING, "--missing", metavar="[COLUMN=]VALUE", multiple=True,
        help="Treat VALUE as missing, everywhere or in one COLUMN. Repeatable.",
    ),
    option(READING, "--decimal", type=click.Choice([".", ","]), help="Decimal mark.  [default: detected]"),
    option(READING, "--sep", metavar="CHARACTER", type=separator, help="Column separator.  [default: detected]"),
    option(
        READING, "--encoding", metavar="NAME", type=encoding,
        help="Text encoding, such as cp1252.  [default: detected]",
    ),
    option(READING, "--skip-rows", metavar="N", type=click.IntRange(min=0), help="Lines before the header."),
    option(READING, "--sheet", metavar="NAME", help="Worksheet.  [default: the largest]"),
    option(
        READING, "--dates", "dayfirst", type=click.Choice(["dayfirst", "monthfirst"]),
        callback=lambda context, option, value: None if value is None else value == "dayfirst",
        help="Order of dates like 03/04/2024.  [default: detected]",
    ),
    option(
        READING, "--no-header", "header", flag_value=False, default=None,
        help="Treat the first line as data; columns are called x0, x1, ...",
    ),
    option(
        READING, "--skip-lines", metavar="N", type=click.IntRange(min=1), multiple=True,
        help="Leave out line N, such as a second header. Repeatable.",
    ),
    option(
        READING, "--keep-rows", type=click.Choice(["auto", "all"]), default="auto",
        help="Keep all rows, including totals, footnotes and repeated headers.  [default: auto]",
    ),
    option(READING, "--keep-sentinels", is_flag=True, help="Keep numbers such as -999 that seem to mean missing."),
]  # fmt: skip
CLUSTERING_OPTIONS = [
    option(CLUSTERING, "--labels", metavar="COLUMN", help="Column with the cluster of each row; -1 is noise."),
    option(CLUSTERING, "--centers", metavar="FILE", help="Table of cluster centers; each row gets the nearest one."),
    option(CLUSTERING, "--clusters", metavar="K", type=click.IntRange(min=1), help="Cluster the rows into K clusters."),
    option(
        CLUSTERING, "--algorithm", type=click.Choice(ALGORITHMS),
        help="Algorithm for --clusters, or the one that made the --labels.  [default: kmeans; for --labels the one "
        "that reproduces them best]",
    ),
    option(
        CLUSTERING, "--clusterer", metavar="MODULE:NAME",
        help="Your own clusterer, as package.module:name: an estimator, its class, or a function from X to labels.",
    ),
    option(
        TRUST, "--groups", metavar="COLUMN",
        help="Column with the group of each row, such as a patient. Whole groups are sampled. "
        "The column is not a feature.",
    ),
    option(CLUSTERING, "--model", metavar="FILE", help="Score with a saved model (file or URL)."),
]  # fmt: skip
ADAPTIVE = "  [default: 20 to 400, depending on precision]"
RESAMPLES_NEEDED = option(
    TRUST, "--resamples", metavar="N", type=click.IntRange(min=2),
    help=f"Number of subsamples to re-cluster.{ADAPTIVE}",
)  # fmt: skip
SEED_OPTION = option(
    TRUST, "--seed", metavar="N", type=click.IntRange(min=0), default=0, show_default=True,
    help="Random seed. The same seed gives the same result.",
)  # fmt: skip
TRUST_OPTIONS = [
    option(
        TRUST, "--influence", type=click.Choice(INFLUENCES),
        help="Distance from a cluster.  [default: within; euclidean for --centers alone]",
    ),
    option(
        TRUST, "--eps", metavar="NUMBER", type=click.FloatRange(0, 1, min_open=True),
        help="Half-width of the 95% interval of a sampled affinity; larger is faster.  [default: 0.03]",
    ),
    option(
        TRUST, "--resamples", metavar="N", type=click.IntRange(min=0),
        help=f"Number of subsamples to re-cluster; 0 skips trust.{ADAPTIVE}",
    ),
    SEED_OPTION,
]  # fmt: skip
OUTPUT_OPTIONS = [
    option(
        OUTPUT, "-o", "--output", metavar="FILE",
        help="Table to write: .csv .parquet .xlsx .arrow .jsonl, a URL, or - for standard output.",
    ),
    option(
        OUTPUT, "--if-exists", type=click.Choice(["error", "replace", "update"]), default="error", show_default=True,
        help="If an output exists: stop, replace it, or replace it only if inputs or options have changed.",
    ),
]  # fmt: skip
PAGE_OPTIONS = [
    option(OUTPUT, "--text", metavar="COLUMN", help="Text column to show with each label for review."),
    option(OUTPUT, "--map", metavar="X,Y", help="Two columns for the axes of the map on the page."),
]
#: For commands that compute nothing.
LOG_OPTIONS = [
    option(RUNNING, "--json", is_flag=True, help="Print one JSON object instead of the summary."),
    option(RUNNING, "-q", "--quiet", is_flag=True, help="Print errors only."),
    option(RUNNING, "-v", "--verbose", is_flag=True, help="Show each step, and a traceback on errors."),
    option(
        RUNNING, "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
        help="Format of messages on standard error.",
    ),
]  # fmt: skip
RUN_OPTIONS = [
    option(RUNNING, "--n-jobs", metavar="N", type=int, help="Number of threads.  [default: all cores]"),
    *LOG_OPTIONS,
]
