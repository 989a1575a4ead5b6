"""The paper, reproduced: every table and figure, with its numbers and ours.

``python -m reproduction -o out/paper`` runs everything (``make paper``). Each experiment is one module of
``reproduction.experiments`` with ``run(setup) -> Section``. :func:`run_paper` runs them, keeps what is finished and
writes one page. Nothing is tuned to match: where the paper does not say how, the experiment states our choice. Only
public names of ``allegiance`` are used.
"""

from reproduction.framework import EXPERIMENTS, Outcome, run_paper

__all__ = ["EXPERIMENTS", "Outcome", "run_paper"]
