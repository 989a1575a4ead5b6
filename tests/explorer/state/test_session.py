import threading

import numpy as np
import pytest

from allegiance.calibration import PairCompany
from allegiance.explorer.state import DecisionLog, Session


def test_deciding_goes_on_to_the_next_open_label(session):
    first, second, third = session.queue.order[:3].tolist()
    assert session.marked == first
    session.decide(first, "keep")
    assert session.marked == second
    session.step(1)
    assert session.marked == third
    session.decide(third, "noise")
    session.undo()
    assert session.marked == third
    session.next_open()
    session.step(-3)
    assert session.marked == first


def test_a_review_resumes_where_it_stopped(subject, tmp_path):
    path = tmp_path / "review.jsonl"
    one = Session(subject, DecisionLog(path, subject))
    for _ in range(3):
        one.decide(one.marked, "keep")
    stopped = one.marked
    one.close()
    other = Session(subject, DecisionLog(path, subject))
    assert other.marked == stopped
    assert other.queue.n_done(other.log.standing) == 3
    other.close()


def test_a_command_sent_twice_counts_once(session):
    row = session.marked
    session.decide(row, "keep", command="a")
    session.decide(row, "keep", command="a")
    session.undo(command="b")
    session.decide(row, "keep", command="c")
    session.undo(command="b")
    assert list(session.log.standing) == [row]
    assert len(session.log.path.read_text().splitlines()) == 3


def test_bad_decisions_are_refused_and_leave_nothing(session):
    own = session.subject.label(0)
    for decision, new, message in [
        ("move", None, "say where"),
        ("move", own, "already"),
        ("move", "x", "not a number"),
        ("burn", None, "must be one of keep"),
    ]:
        with pytest.raises(ValueError, match=message):
            session.decide(0, decision, new)
    with pytest.raises(ValueError, match="row 999 is not there"):
        session.decide(999, "keep")
    with pytest.raises(ValueError, match="cluster 9 is not there"):
        session.show_cluster(9)
    assert session.log.path.read_text() == ""


def test_the_standing_counts_and_estimates(session):
    subject = session.subject
    a, b, c, d = session.queue.order[:4].tolist()
    session.decide(a, "move", int(subject.classes[subject.rival[a]]))
    session.decide(b, "noise")
    session.decide(c, "keep")
    session.decide(d, "unsure")
    found = session.standing()
    assert (found.right, found.wrong, found.unsure, found.reviewed) == (1, 2, 1, 3)
    assert found.expected_wrong == pytest.approx((1 - subject.ranking[[a, b, c]]).sum())
    assert found.rest.labels == subject.n_points - 3
    assert found.rest.low <= found.rest.wrong <= found.rest.high
    moved = session.relabelled()
    assert moved[a] == subject.classes[subject.rival[a]]
    assert (moved[b], moved[c], moved[d]) == (-1, subject.label(c), subject.label(d))


def test_listeners_hear_what_changed_and_threads_do_not_lose_decisions(session):
    heard = []
    session.listen(heard.append)
    session.select(np.array([3, 1]))
    session.enqueue(selection=True)
    assert heard == [{"selection"}, {"point", "queue"}]
    assert set(session.queue.order) == {1, 3}
    session.select(None)
    with pytest.raises(ValueError, match="nothing is selected"):
        session.enqueue(selection=True)
    threads = [threading.Thread(target=session.decide, args=(row, "keep")) for row in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(session.log.standing) == set(range(20))


def test_pairs_are_looked_for_once_and_only_when_asked(subject, tmp_path):
    calls = []

    def find():
        calls.append(1)
        return PairCompany(np.eye(4), 0.25)

    session = Session(subject, DecisionLog(tmp_path / "log.jsonl", subject), pairs=find)
    assert not calls
    heard = threading.Event()
    session.listen(lambda topics: heard.set() if session.pairs is not None else None)
    session.show_cluster(1)
    session.show_cluster(2)
    assert heard.wait(30)
    assert calls == [1]
    session.show_cluster(None)
    assert calls == [1]
    session.close()
