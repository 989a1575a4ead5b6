"""What the explorer knows, without anything that is shown: points, decisions, queue, selection, questions."""

from ._log import DecisionLog
from ._queue import ReviewQueue
from ._session import CLUSTER, POINT, QUEUE, SELECTION, TOPICS, WHAT_IF, Session, Standing
from ._showing import Showing
from ._subject import ClusterCounts, Share, Subject
from ._what_if import AS_THEY_ARE, Answer, Changes, Job, Question, Stage, changes

__all__ = [
    "AS_THEY_ARE",
    "CLUSTER",
    "POINT",
    "QUEUE",
    "SELECTION",
    "TOPICS",
    "WHAT_IF",
    "Answer",
    "Changes",
    "ClusterCounts",
    "DecisionLog",
    "Job",
    "Question",
    "ReviewQueue",
    "Session",
    "Share",
    "Showing",
    "Stage",
    "Standing",
    "Subject",
    "changes",
]
