"""What all experiments share: the setting of a run, the parts of a section, running and keeping, the page."""

from ._run import EXPERIMENTS, Outcome, run_paper
from ._section import Check, Finding, Picture, Section, Table, percent_spread, seconds_spread, spread
from ._setup import DataSet, Setup

__all__ = [
    "EXPERIMENTS",
    "Check",
    "DataSet",
    "Finding",
    "Outcome",
    "Picture",
    "Section",
    "Setup",
    "Table",
    "percent_spread",
    "run_paper",
    "seconds_spread",
    "spread",
]
