"""The paper, reproduced: every table and figure, its numbers beside ours.

Each experiment is one module with ``run(setup) -> Section``. :func:`run_paper` runs them, keeps what is finished and
writes one page. Nothing is tuned to match: where the paper does not say how, the experiment states our choice.
"""

from ._run import EXPERIMENTS, Outcome, run_paper
from ._section import Finding, Picture, Section, Table

__all__ = ["EXPERIMENTS", "Finding", "Outcome", "Picture", "Section", "Table", "run_paper"]
