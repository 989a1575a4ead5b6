import numpy as np
import pytest

from allegiance import affinity
from peers._campaign import Known, Measurement, measure
from peers._page import compared
from peers._tasks import CENTER, Scene, make_job, score_with_chains, task_named


def measurement(n=1000, outcome="done", seconds=2.0, stage="score", task="silhouette"):
    return Measurement(task, stage, CENTER._replace(n=n), outcome, seconds, 1, 5.0, 60.0)


def test_chains_measure_what_affinity_does():
    pytest.importorskip("hopsy")
    for scene in (Scene(12, 2, 4), Scene(12, 6, 3)):
        job = make_job(scene)
        result = affinity(job.X, centers=job.centers, influence="euclidean", eps=0.01, random_state=0)
        # A chain keeps 1,000 dependent steps: its error is a few times that of independent ones.
        shares = score_with_chains(job)
        np.testing.assert_allclose(shares, result.affinity, atol=0.15)
        assert np.abs(shares - result.affinity).mean() < 0.03


def test_times_add_up_and_failures_are_named():
    known = Known(
        [measurement(), measurement(task="k-means", stage="fit", seconds=0.5), measurement(10_000, "memory", np.nan)]
    )
    whole = task_named("silhouette").after
    assert known.seconds(whole, CENTER._replace(n=1000)) == 2.5
    assert known.seconds(whole[1:], CENTER._replace(n=10_000)) == "> 8 GB"
    assert known.seconds(whole[1:], CENTER._replace(n=1_000_000)) == "> 8 GB"
    assert known.seconds(whole, CENTER._replace(d=2)) is None


@pytest.mark.parametrize(
    ("theirs", "ours", "said"),
    [
        (30.0, 2.0, "30 s, 15x"),
        (1.0, 2.5, "1 s, **0.40x**"),
        (2.0, 2.01, "2 s, 1.0x"),
        ("> 60 s", 2.0, "> 60 s"),
        (None, 2.0, ""),
    ],
)
def test_both_directions_are_reported(theirs, ours, said):
    assert compared(theirs, ours) == said


@pytest.mark.parametrize(("limit", "outcome"), [(100.0, "done"), (0.0, "time")])
def test_a_task_is_measured_in_its_own_process(limit, outcome):
    (found,) = measure(task_named("k-means"), Scene(200, 2, 3), limit)
    assert (found.task, found.stage, found.outcome) == ("k-means", "fit", outcome)
    assert (found.seconds > 0) == (outcome == "done")
