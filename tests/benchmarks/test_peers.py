import numpy as np
import pytest

from allegiance import affinity
from peers._campaign import Measurement, _append, _hopeless, measure, read
from peers._chains import score_with_chains
from peers._known import Known
from peers._measure import measured
from peers._page import beside
from peers._scenes import CENTRE, Scene, make_job
from peers._tasks import TASKS, Stage, task_named


def measurement(n=1000, outcome="done", seconds=2.0, stage="score", task="silhouette"):
    return Measurement(task, stage, CENTRE._replace(n=n), outcome, seconds, 1, 5.0, 60.0)


def test_chains_measure_what_affinity_does():
    pytest.importorskip("hopsy")
    for scene in (Scene(12, 2, 4), Scene(12, 6, 3)):
        job = make_job(scene)
        result = affinity(job.X, centers=job.centers, influence="euclidean", eps=0.01, random_state=0)
        # A chain keeps 1,000 dependent steps: its error is a few times that of independent ones.
        np.testing.assert_allclose(score_with_chains(job), result.affinity, atol=0.15)
        assert np.abs(score_with_chains(job) - result.affinity).mean() < 0.03


def test_a_job_has_the_means_of_its_clusters():
    job = make_job(Scene(90, 3, 4))
    for cluster in range(4):
        np.testing.assert_allclose(job.centers[cluster], job.X[job.labels == cluster].mean(axis=0))


def test_every_stage_named_exists():
    stages = {(task.name, stage.name) for task in TASKS for stage in task.stages}
    assert {pair for task in TASKS for pair in task.after} <= stages


def test_measurements_come_back(tmp_path):
    path = tmp_path / "speed.csv"
    assert read(path) == []
    _append(path, [measurement()])
    _append(path, [measurement(10_000)])
    assert read(path) == [measurement(), measurement(10_000)]


def test_more_points_are_not_tried_after_a_failure():
    failed = [measurement(10_000, "time", float("nan"))]
    silhouette = task_named("silhouette")
    assert _hopeless(failed, silhouette, CENTRE._replace(n=100_000))
    assert not _hopeless(failed, silhouette, CENTRE._replace(n=1000))
    assert not _hopeless(failed, silhouette, CENTRE._replace(n=100_000, d=2))
    assert not _hopeless(failed, task_named("affinity"), CENTRE._replace(n=100_000))


def test_times_add_up_and_failures_are_named():
    known = Known(
        [measurement(), measurement(task="k-means", stage="fit", seconds=0.5), measurement(10_000, "memory", np.nan)]
    )
    whole = task_named("silhouette").after
    assert known.seconds(whole, CENTRE._replace(n=1000)) == 2.5
    assert known.seconds(whole[1:], CENTRE._replace(n=10_000)) == "> 8 GB"
    assert known.seconds(whole[1:], CENTRE._replace(n=1_000_000)) == "> 8 GB"
    assert known.seconds(whole, CENTRE._replace(d=2)) is None


def test_both_directions_are_said():
    assert beside(30.0, 2.0) == "30 s; 15 x faster"
    assert beside(1.0, 2.5) == "1 s; **2.5 x slower**"
    assert beside(2.0, 2.01) == "2 s; even"
    assert beside("> 60 s", 2.0) == "> 60 s"
    assert beside(None, 2.0) == ""


@pytest.mark.parametrize(("limit", "outcome"), [(100.0, "done"), (0.0, "time")])
def test_a_task_is_measured_in_a_process_of_its_own(limit, outcome):
    (found,) = measure(task_named("k-means"), Scene(200, 2, 3), limit)
    assert (found.task, found.stage, found.outcome) == ("k-means", "fit", outcome)
    assert (found.seconds > 0) == (outcome == "done")


@pytest.mark.parametrize(("seconds", "turns"), [(0.1, 5), (0.6, 4), (3.0, 3), (10.0, 2), (40.0, 1)])
def test_the_first_turn_is_not_the_only_one_unless_it_takes_very_long(seconds, turns):
    """The first one has to ask for its memory."""
    clock = iter(np.repeat(np.arange(6), 2) * seconds + np.tile([0.0, seconds], 6))
    found = measured(Stage("score", lambda job: job), None, lambda: next(clock))
    assert found["turns"] == turns
    assert found["seconds"] == pytest.approx(seconds)


def test_every_turn_of_the_bootstrap_clusters_anew(monkeypatch):
    from quality import _case

    asked = []
    anew = _case.Case.anew
    monkeypatch.setattr(_case.Case, "anew", lambda case, rows, run: (asked.append(run), anew(case, rows, run))[1])
    (stage,) = task_named("bootstrap").stages
    prepared = stage.prepare(make_job(Scene(60, 2, 3)))
    first, second = stage.run(prepared), stage.run(prepared)
    np.testing.assert_array_equal(first, second)
    assert len(asked) == 2 * _case.RUNS
