import time
from dataclasses import replace

import numpy as np
import pytest

from allegiance import trust
from allegiance.explorer.state import AS_THEY_ARE, Answer, Question, Subject, changes
from allegiance.explorer.state._what_if import answer_of
from allegiance.results import VERDICTS


def wait_for(session, seconds=120):
    session.job.wait(seconds)
    assert not session.job.running, session.job.stage


def test_the_answer_is_what_the_library_says(scored):
    X, before = scored
    stages = []
    state = {"question": vars(Question("euclidean", "size", "ball")), "X": X, "labels": before.label}
    answer = answer_of(state, stages.append)
    expected = trust(X, before.label, influence="euclidean", weights="size", domain="ball")
    np.testing.assert_array_equal(answer.ranking, expected.trust)
    assert [VERDICTS[v] for v in answer.verdict] == expected.verdict.tolist()
    assert [stage.name for stage in stages][:2] == ["measuring", "measuring"]
    assert stages[1].done == stages[1].total == len(X)
    assert stages[-1][:3] == ("calibrating", 20, 20)


def test_clustering_anew_matches_clusters_by_the_points_they_share(scored, subject):
    X, before = scored
    state = {"question": vars(Question(clusterer="kmeans", clusters=4)), "X": X, "labels": before.label}
    found = changes(subject, answer_of(state, lambda _: None))
    # The same algorithm finds the same clusters, maybe in another order: their names stay.
    assert found.moved < len(X) / 10
    assert found.names == ["0", "1", "2", "3"]
    state["question"] = vars(Question(clusterer="kmeans", clusters=6))
    found = changes(subject, answer_of(state, lambda _: None))
    assert found.names[4:] == ["new 1", "new 2"]
    assert set(np.unique(found.now)) <= set(range(6))


def test_changes_are_counted_point_by_point(subject):
    verdict = subject.verdict.copy()
    flipped = np.flatnonzero(verdict == 0)[:3]
    verdict[flipped] = 2
    ranking = subject.ranking.copy()
    ranking[flipped] -= [0.1, 0.3, 0.2]
    found = changes(subject, Answer(subject.classes, subject.codes, ranking, verdict, subject.rival, 0.5))
    assert found.verdicts[0, 2] == 3
    assert found.verdicts.sum() == subject.n_points
    assert found.rows.tolist() == flipped[[1, 2, 0]].tolist()
    assert found.moved == 0


def test_a_question_is_answered_in_another_process(session):
    heard = []
    session.listen(heard.append)
    session.ask(Question("euclidean"))
    wait_for(session)
    assert session.job.error is None
    assert session.changes.verdicts.sum() == session.subject.n_points
    assert {"what-if"} in heard


def test_a_question_can_be_cancelled_and_replaced(session):
    session.ask(Question())
    first = session.job
    session.cancel()
    assert first.cancelled
    first.wait(30)
    assert session.changes is None
    session.ask(Question(influence="euclidean"))
    replaced = session.job
    session.ask(Question(influence="kl"))
    assert replaced.cancelled
    started = time.monotonic()
    wait_for(session)
    assert time.monotonic() - started < 120
    # Blobs have negative coordinates, which this divergence does not take: the reason reaches the person.
    assert "kl" in session.job.error.lower() or "negative" in session.job.error.lower()


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (Question("nearness"), "influence must be one of"),
        (Question(domain="disc"), "domain must be one of"),
        (Question(weights="heavy"), "weights must be one of"),
        (Question(clusterer="magic"), "clusterer must be one of"),
        (Question(clusterer="kmeans"), "number of clusters of at least 2"),
    ],
)
def test_questions_that_make_no_sense_are_refused_at_once(session, question, message):
    with pytest.raises(ValueError, match=message):
        session.ask(question)
    assert session.job is None


def test_without_features_there_is_no_what_if(session):
    session.subject = replace(session.subject, features=None)
    with pytest.raises(ValueError, match="needs the data"):
        session.ask(Question())
    assert AS_THEY_ARE in Question().clusterer
    assert isinstance(session.subject, Subject)
