"""A local web application to look at a clustering and to review its labels.

``state`` is what it knows, without anything that is shown; ``views`` is what is shown of it, without a server; ``app``
is the page, the commands of its scripts, and the server. Templates, scripts and styles are files beside them.
"""

from ._explore import DECISIONS_FILE, explore, serve, subject_of_scores
from .app import Explorer
from .state import Showing, Subject

__all__ = ["DECISIONS_FILE", "Explorer", "Showing", "Subject", "explore", "serve", "subject_of_scores"]
