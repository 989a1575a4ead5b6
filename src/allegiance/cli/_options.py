"""Options that several commands share, listed in ``--help`` by the question that they answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

#: See ``clusterer`` in ``_inputs``.
ALGORITHMS = ("kmeans", "minibatch", "bisecting", "agglomerative", "gmm", "birch", "spectral", "hdbscan")
LIKE_KMEANS = ALGORITHMS[:3]
#: As in :mod:`allegiance.influence`: those that need no further parameters.
INFLUENCES = (
    "within", "euclidean", "mahalanobis", "cosine", "kl", "itakura-saito", "logistic", "rbf", "laplacian", "polynomial",
)  # fmt: skip
#: Those that need all rows in memory.
KERNELS = INFLUENCES[7:]

READING = "How is DATA read?"
COLUMNS = "Which columns are features?"
CLUSTERING = "Which clustering?"
TRUST = "How is trust measured?"
OUTPUT = "What is written?"
RUNNING = "How does it run?"
#: The order of ``--help``.
QUESTIONS = (CLUSTERING, COLUMNS, READING, TRUST, OUTPUT, RUNNING)


class _Option(click.Option):
    """An option with the question that it answers."""

    def __init__(self, *args: Any, question: str = RUNNING, **settings: Any) -> None:
        self.question = question
        super().__init__(*args, **settings)


class Command(click.Command):
    """A command whose help lists its options by question."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options."""
        groups: dict[str, list[tuple[str, str]]] = {question: [] for question in QUESTIONS}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                groups[getattr(param, "question", RUNNING)].append(record)
        for title, records in groups.items():
            if records:
                formatter.write_paragraph()
                formatter.write(f"{title}\n")
                with formatter.indentation():
                    formatter.write_dl(records)


def option(question: str, *names: str, **settings: Any) -> Callable[[Any], Any]:
    """Return a click option that answers a question."""
    return click.option(*names, cls=_Option, question=question, **settings)


def options(*groups: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """Return a decorator that adds groups of options to a command, in their order."""

    def decorate(command: Any) -> Any:
        for each in reversed([each for group in groups for each in group]):
            command = each(command)
        return command

    return decorate


class Budget(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A number of labels, such as 500, or a share, such as 5%."""

    name = "budget"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Return a number, or the share as it is written."""
        text = str(value).strip()
        number = text.removesuffix("%")
        if not (number.replace(".", "", 1).isdigit() and (text != number or number.isdigit())):
            self.fail(f"{value!r} is neither a number of labels, such as 500, nor a share, such as 5%.", param, ctx)
        return text if text != number else int(number)


DATA = [click.argument("data", nargs=-1, required=True)]
COLUMN_OPTIONS = [
    option(
        COLUMNS, "--id", "ids", metavar="COLUMN", multiple=True,
        help="Column that identifies rows. Repeatable.  [default: detected]",
    ),
    option(
        COLUMNS, "--features", metavar="COLUMNS", multiple=True,
        help="Columns to use: a name, names with commas, or a pattern like 'pixel*'.  [default: detected]",
    ),
    option(COLUMNS, "--drop", metavar="COLUMNS", multiple=True, help="Columns to leave out."),
    option(COLUMNS, "--one-hot", metavar="COLUMNS", multiple=True, help="Columns of numbers that are categories."),
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
    option(READING, "--sep", metavar="CHARACTER", help="Separator of columns.  [default: detected]"),
    option(READING, "--encoding", metavar="NAME", help="Encoding of text, such as cp1252.  [default: detected]"),
    option(READING, "--skip-rows", metavar="N", type=click.IntRange(min=0), help="Rows before the header."),
    option(READING, "--sheet", metavar="NAME", help="Sheet of a workbook.  [default: the largest]"),
    option(
        READING, "--dates", type=click.Choice(["dayfirst", "monthfirst"]),
        help="Order of dates like 03/04/2024.  [default: detected]",
    ),
]  # fmt: skip
MODEL_OPTION = option(CLUSTERING, "--model", metavar="FILE", help="Score by a saved model instead of a new clustering.")
CLUSTERING_OPTIONS = [
    option(CLUSTERING, "--labels", metavar="COLUMN", help="Column with the cluster of each row; -1 is noise."),
    option(CLUSTERING, "--centers", metavar="FILE", help="Table of cluster centers; rows belong to the nearest."),
    option(CLUSTERING, "--clusters", metavar="K", type=click.IntRange(min=1), help="Cluster the rows into K clusters."),
    option(
        CLUSTERING, "--algorithm", type=click.Choice(ALGORITHMS),
        help="Algorithm that makes the clusters, or that made the --labels.  [default: kmeans; for --labels the one "
        "that reproduces them best]",
    ),
]  # fmt: skip
RESAMPLES_NEEDED = option(
    TRUST, "--resamples", metavar="N", type=click.IntRange(min=2),
    help="Number of subsamples that are clustered again.  [default: 20]",
)  # fmt: skip
SEED_OPTION = option(
    TRUST, "--seed", metavar="N", type=click.IntRange(min=0), default=0, show_default=True,
    help="The same seed gives the same result.",
)  # fmt: skip
TRUST_OPTIONS = [
    option(
        TRUST, "--influence", type=click.Choice(INFLUENCES),
        help="How distance to a cluster is measured.  [default: within; euclidean for --centers alone]",
    ),
    option(
        TRUST, "--eps", metavar="NUMBER", type=click.FloatRange(0, 1, min_open=True),
        help="Half-width of the 95 % interval of a sampled affinity; larger is faster.  [default: 0.03]",
    ),
    option(
        TRUST, "--resamples", metavar="N", type=click.IntRange(min=0),
        help="Number of subsamples that are clustered again; 0 leaves trust out.  [default: 20]",
    ),
    SEED_OPTION,
]  # fmt: skip
OUTPUT_OPTIONS = [
    option(OUTPUT, "-o", "--output", metavar="FILE", help="Table to write: .csv .parquet .xlsx .arrow .jsonl, or -."),
    option(
        OUTPUT, "--if-exists", type=click.Choice(["fail", "skip", "replace"]), default="fail", show_default=True,
        help="If an output exists: fail, replace it, or skip the run if the output belongs to the same inputs and "
        "options.",
    ),
]  # fmt: skip
PAGE_OPTIONS = [
    option(OUTPUT, "--text", metavar="COLUMN", help="Column of text to show with each label for review."),
]
#: Of commands that compute nothing.
LOG_OPTIONS = [
    option(RUNNING, "--json", is_flag=True, help="Print one JSON object instead of the summary."),
    option(RUNNING, "-q", "--quiet", is_flag=True, help="Print only errors."),
    option(
        RUNNING, "-v", "--verbose", is_flag=True,
        help="Also say what is read, fitted and compiled, how it was measured, and where a defect is.",
    ),
    option(
        RUNNING, "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
        help="Format of messages on standard error.",
    ),
]  # fmt: skip
RUN_OPTIONS = [
    option(RUNNING, "--n-jobs", metavar="N", type=int, help="Number of threads.  [default: all cores]"),
    *LOG_OPTIONS,
]
