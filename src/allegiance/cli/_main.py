"""The commands, gathered."""

from __future__ import annotations

import click

from allegiance import __version__

from ._compare import compare
from ._completion import completion
from ._consensus import consensus
from ._curve import curve
from ._explore import explore
from ._info import info
from ._model import model
from ._plot import plot
from ._program import Program
from ._report import report
from ._score import score
from ._warmup import warmup
from ._watch import watch

EPILOG = """\b
Examples:
  allegiance score flowers.csv --labels species
  allegiance score flowers.csv --clusters 3 -o scores.csv --report report.html
  allegiance score flowers.csv --clusters 3 --save flowers.model
  allegiance score more-flowers.csv --model flowers.model
  allegiance explore flowers.csv --clusters 3
  allegiance info flowers.csv
"""


@click.group(
    cls=Program, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, "-V", "--version", message="allegiance %(version)s")
def program() -> None:
    """Say which labels of a clustering can be trusted.

    Every point gets an affinity to each cluster: the share of territory it would take from it as a cluster of its own.
    """


for command in (score, watch, model, report, explore, plot, compare, consensus, curve, info, warmup, completion):
    program.add_command(command)
