"""Review labels in a browser: the page of :mod:`allegiance.report`, served, with decisions kept in a log.

``_server`` serves the page, ``_decisions`` keeps them in a log and applies them to labels.
"""

from ._decisions import DECISIONS, DecisionLog, apply_decisions
from ._server import LOG_FILE, Review, serve

__all__ = ["DECISIONS", "LOG_FILE", "DecisionLog", "Review", "apply_decisions", "serve"]
