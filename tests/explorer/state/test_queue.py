import numpy as np
import pytest

from allegiance.explorer.state import ReviewQueue


def test_the_least_trusted_of_the_doubtful_come_first(subject):
    queue = ReviewQueue(subject)
    assert len(queue) == subject.doubtful.sum() > 10
    assert (np.diff(subject.ranking[queue.order]) >= 0).all()
    assert subject.doubtful[queue.order].all()


def test_budget_cluster_and_selection(subject):
    assert len(ReviewQueue(subject, 25)) == 25
    assert len(ReviewQueue(subject, "10%")) == 30
    one = ReviewQueue(subject, 1000, cluster=2)
    assert set(one.order) == set(np.flatnonzero(subject.codes == 2))
    assert set(ReviewQueue(subject, rows=np.array([1, 5, 9])).order) == {1, 5, 9}
    with pytest.raises(ValueError, match="got 'many'"):
        ReviewQueue(subject, "many")


def test_walking_through_the_queue_skips_what_was_decided_and_wraps(subject):
    queue = ReviewQueue(subject, 4)
    a, b, c, d = queue.order.tolist()
    assert queue.open_after(None, {}) == a
    assert queue.open_after(a, {b}) == c
    assert queue.open_after(d, {a}) == b
    assert queue.open_after(a, {a, b, c, d}) is None
    assert (queue.step(a, 1), queue.step(a, -1), queue.step(d, 1)) == (b, a, d)
    outside = int(np.setdiff1d(np.arange(subject.n_points), queue.order)[0])
    assert queue.place_of(outside) is None
    assert queue.step(outside, 1) == a
    assert queue.n_done([a, outside]) == 1
    assert ReviewQueue(subject, 0).step(None, 1) is None
