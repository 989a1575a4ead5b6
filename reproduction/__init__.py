"""The paper, reproduced: every table and figure, with the paper's numbers and ours.

``python -m reproduction -o out/paper`` runs everything (``make paper``). Each experiment is a module of
``reproduction.experiments`` with ``run(setup) -> Section``. Only public names of ``allegiance`` are used.
"""

from reproduction.framework import EXPERIMENTS, Outcome, run_paper

__all__ = ["EXPERIMENTS", "Outcome", "run_paper"]
