"""One review: all that tabs share, kept on the server, so that a closed tab or a lost connection loses nothing."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from allegiance._core import AnyArray, IntArray
from allegiance.applications import DECISIONS, KEEP, MOVE, UNSURE, apply_decisions, as_label
from allegiance.calibration import PairCompany, Unreviewed, wrong_among_unreviewed

from ._log import DecisionLog
from ._queue import ReviewQueue
from ._subject import Subject
from ._what_if import Changes, Job, Question, changes

_LOGGER = logging.getLogger("allegiance.explorer")
#: What can change; a listener is told which of these did.
POINT, CLUSTER, QUEUE, SELECTION, WHAT_IF = TOPICS = ("point", "cluster", "queue", "selection", "what-if")
#: Commands that are remembered, so that one sent again after a lost connection is not carried out twice.
_REMEMBERED = 1000


class Standing(NamedTuple):
    """What the review has found so far."""

    right: int
    wrong: int
    unsure: int
    expected_wrong: float
    """How many of the labels found right or wrong trust had expected to be wrong; NaN without calibration."""
    rest: Unreviewed | None
    """What it says about the labels not reviewed; None without calibration."""

    @property
    def reviewed(self) -> int:
        """How many labels were found right or wrong."""
        return self.right + self.wrong


class Session:
    """The state of a review. Methods may be called from any thread.

    Parameters
    ----------
    subject
        What is reviewed.
    log
        Where decisions go.
    budget
        How many labels to review, as in :class:`ReviewQueue`.
    pairs
        Finds which pairs of clusters come apart or together when the points are clustered anew; None if the data is
        not there to do so. Called once, when a cluster is first looked at.
    """

    def __init__(
        self,
        subject: Subject,
        log: DecisionLog,
        budget: Any = None,
        pairs: Callable[[], PairCompany] | None = None,
    ) -> None:
        self.subject = subject
        self.log = log
        self.queue = ReviewQueue(subject, budget)
        self.marked: int | None = self.queue.open_after(None, log.standing)
        self.cluster: int | None = None
        self.selected: IntArray | None = None
        self.job: Job | None = None
        self.changes: Changes | None = None
        self.pairs: PairCompany | None = None
        """Which clusters come apart or together when the points are clustered anew; None until it is known."""
        self.finding_pairs = False
        self._find_pairs = pairs
        self._standing: tuple[Any, Standing] | None = None
        self._lock = threading.RLock()
        self._listeners: list[Callable[[set[str]], Any]] = []
        self._done: OrderedDict[str, None] = OrderedDict()

    def listen(self, listener: Callable[[set[str]], Any]) -> None:
        """Call ``listener`` with the topics that changed, from whatever thread changed them."""
        self._listeners.append(listener)

    def _changed(self, *topics: str) -> None:
        for listener in list(self._listeners):
            listener(set(topics))

    # --- the point and the cluster that are looked at

    def mark(self, row: int) -> None:
        """Look at a point."""
        with self._lock:
            if not 0 <= row < self.subject.n_points:
                raise ValueError(f"row {row} is not there: there are {self.subject.n_points} points.")
            self.marked = int(row)
        self._changed(POINT, QUEUE)

    def step(self, by: int) -> None:
        """Look at the point that many places farther in the queue."""
        with self._lock:
            row = self.queue.step(self.marked, by)
            self.marked = self.marked if row is None else row
        self._changed(POINT, QUEUE)

    def next_open(self) -> None:
        """Look at the next point of the queue without a decision."""
        with self._lock:
            row = self.queue.open_after(self.marked, self.log.standing)
            self.marked = self.marked if row is None else row
        self._changed(POINT, QUEUE)

    def show_cluster(self, cluster: int | None) -> None:
        """Look at a cluster, or at none."""
        with self._lock:
            if cluster is not None and not 0 <= cluster < self.subject.n_clusters:
                raise ValueError(f"cluster {cluster} is not there: there are {self.subject.n_clusters} clusters.")
            self.cluster = cluster
        if cluster is not None:
            self.find_pairs()
        self._changed(CLUSTER)

    def find_pairs(self) -> None:
        """Find out, beside other work, which clusters come apart or together when the points are clustered anew."""
        with self._lock:
            if self._find_pairs is None or self.finding_pairs or self.pairs is not None:
                return
            self.finding_pairs = True
        threading.Thread(target=self._found_pairs, daemon=True).start()

    def _found_pairs(self) -> None:
        assert self._find_pairs is not None
        try:
            self.pairs = self._find_pairs()
        except Exception as error:  # Such as too few points to cluster anew: nothing is known then.
            _LOGGER.warning("whether clusters are split or merged is not known: %s", error)
            self._find_pairs = None
        self.finding_pairs = False
        self._changed(CLUSTER)

    # --- selection and queue

    def select(self, rows: IntArray | None) -> None:
        """Select points, or none."""
        with self._lock:
            self.selected = None if rows is None or not rows.size else np.sort(rows)
        self._changed(SELECTION)

    def enqueue(self, budget: Any = None, cluster: int | None = None, *, selection: bool = False) -> None:
        """Choose what to review, and look at the first label of it without a decision.

        Parameters
        ----------
        budget, cluster
            As in :class:`ReviewQueue`.
        selection
            Only selected points.
        """
        with self._lock:
            if selection and self.selected is None:
                raise ValueError("nothing is selected: drag a box or a lasso over points of the map first.")
            self.queue = ReviewQueue(self.subject, budget, cluster, self.selected if selection else None)
            row = self.queue.open_after(None, self.log.standing)
            self.marked = self.marked if row is None else row
        self._changed(POINT, QUEUE)

    # --- decisions

    def decide(self, row: int, decision: str, new_label: Any = None, command: str | None = None) -> None:
        """Write a decision about a point, then look at the next one of the queue.

        Parameters
        ----------
        row, decision, new_label
            As in :meth:`DecisionLog.decide`; ``new_label`` is the name of a cluster, or a new one.
        command
            A name for this very decision: a second one of the same name does nothing.
        """
        with self._lock:
            if self._is_repeated(command):
                return
            if decision not in DECISIONS:
                raise ValueError(f"decision must be one of {', '.join(DECISIONS)}, got {decision!r}.")
            if not 0 <= row < self.subject.n_points:
                raise ValueError(f"row {row} is not there: there are {self.subject.n_points} points.")
            moved = None
            if decision == MOVE:
                if new_label is None or not str(new_label).strip():
                    raise ValueError("say where to move the point: choose a cluster.")
                moved = as_label(str(new_label).strip(), self.subject.classes)
                if str(moved) == str(self.subject.label(row)):
                    raise ValueError(f"the point is in {moved} already: keep it, or choose another cluster.")
            self.log.decide(row, decision, moved)
            self._remember(command)
            following = self.queue.open_after(row, self.log.standing)
            self.marked = row if following is None else following
        self._changed(POINT, QUEUE)

    def undo(self, command: str | None = None) -> None:
        """Take the last decision back and look at its point."""
        with self._lock:
            if self._is_repeated(command):
                return
            row = self.log.undo()
            self._remember(command)
            self.marked = self.marked if row is None else row
        self._changed(POINT, QUEUE)

    def _is_repeated(self, command: str | None) -> bool:
        return command is not None and command in self._done

    def _remember(self, command: str | None) -> None:
        if command is not None:
            self._done[command] = None
            while len(self._done) > _REMEMBERED:
                self._done.popitem(last=False)

    def standing(self) -> Standing:
        """Return what the review has found so far."""
        with self._lock:
            decided = self.log.standing
            # A log makes a new dict with every decision: as long as it is the same one, so is the answer.
            if self._standing is None or self._standing[0] is not decided:
                self._standing = (decided, self._found(decided))
            return self._standing[1]

    def _found(self, decided: Mapping[int, Mapping[str, Any]]) -> Standing:
        made = {row: record["decision"] for row, record in decided.items()}
        judged = [row for row, decision in made.items() if decision != UNSURE and self.subject.codes[row] >= 0]
        right = np.array([made[row] == KEEP for row in judged], dtype=bool)
        unsure = sum(decision == UNSURE for decision in made.values())
        n_right = int(right.sum())
        if not self.subject.calibrated:
            return Standing(n_right, right.size - n_right, unsure, float("nan"), None)
        trust = self.subject.ranking
        others = self.subject.codes >= 0
        others[judged] = False
        rest = wrong_among_unreviewed(trust[judged], right, trust[others])
        return Standing(n_right, right.size - n_right, unsure, float((1.0 - trust[judged]).sum()), rest)

    def relabelled(self) -> AnyArray:
        """Return the labels (n,) with the decisions applied."""
        with self._lock:
            # By the rows of the points that are here, which need not be all of the user's data.
            records = [{**record, "row": row} for row, record in self.log.standing.items()]
        moved: AnyArray = apply_decisions(self.subject.labels, records)
        return moved

    # --- what if

    def ask(self, question: Question) -> None:
        """Score the points in another way; a question still being answered is dropped."""
        if self.subject.features is None:
            raise ValueError("what if needs the data: start the explorer with the features of the points.")
        question.check()
        with self._lock:
            if self.job is not None:
                self.job.cancel()
            self.changes = None
            self.job = Job(question, self.subject, self._moved_on)
        self._changed(WHAT_IF)

    def _moved_on(self, job: Job) -> None:
        with self._lock:
            if self.job is not None and job is not self.job:
                return
            if job.answer is not None:
                self.changes = changes(self.subject, job.answer)
        self._changed(WHAT_IF)

    def cancel(self) -> None:
        """Stop the question that is being answered."""
        if self.job is not None:
            self.job.cancel()

    def close(self) -> None:
        """Stop what is running and close the log."""
        self.cancel()
        self.log.close()
