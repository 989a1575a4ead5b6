"""What if: the same points scored in another way, in a process of its own that can be stopped at any moment."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from allegiance._core import AnyArray, FloatArray, IntArray, Progress
from allegiance.clusterers import ALGORITHMS
from allegiance.domains import DOMAINS
from allegiance.influence import INFLUENCES, WEIGHTS
from allegiance.io.saved import FORMAT, VERSION, decode, encode, read_state, write_state

from ._subject import Subject

#: Clusterer of a question that keeps the labels.
AS_THEY_ARE = "labels as they are"
#: Files in the folder that parent and child share.
QUESTION, ANSWER = "question.state", "answer.state"
_CHILD = "allegiance.explorer.state._worker"


@dataclass(frozen=True)
class Question:
    """Another way to score the points, each part as written on the command line."""

    influence: str = "within"
    weights: str = "none"
    domain: str = "box"
    clusterer: str = AS_THEY_ARE
    clusters: int | None = None
    seed: int = 0

    def check(self) -> None:
        """Raise ValueError, in words for a person, if it makes no sense."""
        INFLUENCES.parse(self.influence)
        DOMAINS.parse(self.domain)
        if self.weights != "none":
            WEIGHTS.parse(self.weights)
        if self.clusterer == AS_THEY_ARE:
            return
        if self.clusterer not in ALGORITHMS:
            raise ValueError(f"clusterer must be one of {', '.join((AS_THEY_ARE, *ALGORITHMS))}, got {self.clusterer}.")
        if self.clusterer != "hdbscan" and (self.clusters is None or self.clusters < 2):
            raise ValueError(f"{self.clusterer} needs a number of clusters of at least 2, got {self.clusters}.")


class Answer(NamedTuple):
    """The points scored in another way."""

    classes: AnyArray
    """(k,) labels of the clusters."""
    codes: IntArray
    """(n,) cluster numbers, -1 for noise."""
    ranking: FloatArray
    """(n,) trust, NaN for noise."""
    verdict: IntArray
    """(n,) numbers of ``VERDICTS``."""
    rival: IntArray
    """(n,) cluster numbers."""
    replication: float


class Stage(NamedTuple):
    """How far the work is."""

    name: str
    done: int = 0
    total: int = 0
    unit: str = ""
    """What is counted."""


class Job:
    """A question being answered.

    Parameters
    ----------
    question
        Checked.
    subject
        Points with features.
    tell
        Called, from another thread, whenever the job has moved on; last when it is over.
    """

    def __init__(self, question: Question, subject: Subject, tell: Callable[[Job], Any]) -> None:
        self.question = question
        self.stage = Stage("starting")
        self.answer: Answer | None = None
        self.error: str | None = None
        self.cancelled = False
        self._tell = tell
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, args=(subject,), daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether there is neither an answer nor a reason why there will be none."""
        return self.answer is None and self.error is None and not self.cancelled

    def cancel(self) -> None:
        """Stop the work at once; an answer that is there stays."""
        with self._lock:
            if not self.running:
                return
            self.cancelled = True
            if self._process is not None:
                self._process.kill()
        self._tell(self)

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the work is over."""
        self._thread.join(timeout)

    def _run(self, subject: Subject) -> None:
        with tempfile.TemporaryDirectory(prefix="allegiance-what-if-", ignore_cleanup_errors=True) as folder:
            try:
                self._work(subject, Path(folder))
            except Exception as error:
                self.error = str(error)
        if not self.cancelled:
            self._tell(self)

    def _work(self, subject: Subject, folder: Path) -> None:
        assert subject.features is not None
        state = {"question": asdict(self.question), "X": subject.features.rows, "labels": subject.labels}
        write_state({"format": FORMAT, "version": VERSION} | encode(state, "question"), folder / QUESTION)
        with self._lock:
            if self.cancelled:
                return
            command = [sys.executable, "-m", _CHILD, str(folder)]
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        with self._process as process:
            assert process.stdout is not None
            for line in process.stdout:
                self.stage = Stage(*json.loads(line))
                self._tell(self)
            assert process.stderr is not None
            complaint = process.stderr.read()
        if self.cancelled:
            return
        if process.returncode:
            said = complaint.strip().splitlines()
            raise RuntimeError(said[-1] if said else f"the process ended with code {process.returncode}")
        found = decode(read_state(folder / ANSWER)["answer"])
        self.answer = Answer(**found)


class Changes(NamedTuple):
    """What another way of scoring changes."""

    verdicts: IntArray
    """(4, 4) how many points had each verdict (rows) and have each now (columns)."""
    rows: IntArray
    """Points whose verdict or cluster changed, those that lose the most trust first."""
    now: IntArray
    """(n,) clusters now by the numbers of before; from k on those that have no counterpart, -1 for noise."""
    names: list[str]
    """Names of the clusters now, those of before first."""
    moved: int
    """Points that are in another cluster."""


def changes(subject: Subject, answer: Answer) -> Changes:
    """Compare an answer with how it was; clusters made anew go by the name of the one they share most points with."""
    now, names = _matched(subject, answer)
    table = np.bincount(subject.verdict * 4 + answer.verdict, minlength=16).reshape(4, 4)
    moved = now != subject.codes
    changed = np.flatnonzero(moved | (subject.verdict != answer.verdict))
    loss = np.nan_to_num(subject.ranking, nan=1.0)[changed] - np.nan_to_num(answer.ranking, nan=1.0)[changed]
    return Changes(table, changed[np.argsort(-loss, kind="stable")], now, names, int(moved.sum()))


def _matched(subject: Subject, answer: Answer) -> tuple[IntArray, list[str]]:
    """Give clusters the numbers and names of those they share the most points with, one to one."""
    from scipy.optimize import linear_sum_assignment

    k, m = subject.n_clusters, answer.classes.size
    both = (subject.codes >= 0) & (answer.codes >= 0)
    cells = subject.codes[both] * m + answer.codes[both]
    common = np.bincount(cells, minlength=k * m).reshape(k, m)
    old, new = linear_sum_assignment(-common)
    number = np.full(m, -1)
    shared = common[old, new] > 0
    number[new[shared]] = old[shared]
    fresh = np.flatnonzero(number < 0)
    number[fresh] = k + np.arange(fresh.size)
    names = [*subject.names, *(f"new {place + 1}" for place in range(fresh.size))]
    return np.where(answer.codes >= 0, number[answer.codes], -1), names


def _stage(seen: Progress) -> Stage:
    """Return the stage that a look at running work shows: points are measured, halves of them clustered anew."""
    name = "measuring" if seen.unit == "points" else "calibrating"
    return Stage(name, seen.rows, seen.total or 0, seen.unit)


def answer_of(state: dict[str, Any], tell: Callable[[Stage], Any]) -> Answer:
    """Score the points of a state that a job wrote: what the child process does.

    Parameters
    ----------
    state
        With ``question``, ``X`` and ``labels``.
    tell
        Called with the stage of the work.
    """
    from allegiance import AffinityScorer, Calibration
    from allegiance.clusterers import LIKE_KMEANS, clusterer_by_name
    from allegiance.results import VERDICTS

    question, X, labels = Question(**state["question"]), state["X"], state["labels"]
    estimator, recluster = None, None
    if question.clusterer != AS_THEY_ARE:
        estimator = clusterer_by_name(question.clusterer, question.clusters, question.seed)
        recluster = None if question.clusterer in LIKE_KMEANS else estimator
        tell(Stage("clustering"))
        labels = estimator.fit_predict(X)
    scorer = AffinityScorer(
        influence=INFLUENCES.parse(question.influence),
        weights=None if question.weights == "none" else WEIGHTS.parse(question.weights),
        domain=DOMAINS.parse(question.domain),
        calibration=Calibration(clusterer=recluster),
        random_state=question.seed,
        verbose=lambda seen: tell(_stage(seen)),
    )
    tell(Stage("measuring"))
    result = scorer.fit_affinity(X, labels, top=1)
    verdict = np.select([result.verdict == name for name in VERDICTS], range(len(VERDICTS)))
    return Answer(
        classes=result.classes,
        codes=result.codes,
        ranking=result.trust,
        verdict=verdict,
        rival=result.ranks.rival,
        replication=result.replication,
    )
