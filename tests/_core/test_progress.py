"""Progress: what is shown on a terminal, in a log, and to a callback."""

import io
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans

import allegiance
from allegiance import AffinityScorer
from allegiance._core.progress import Progress, progress, remark
from allegiance.drift import compare_periods

MODULE = sys.modules["allegiance._core.progress"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def work(show, total=100, **settings):
    with progress(total, "measuring", show, **settings) as advance:
        for _ in range(4):
            advance(25)


def test_nothing_is_shown_unless_asked_for(capsys):
    work(False)
    with progress(0, "measuring", True) as advance:
        advance(0)
    assert capsys.readouterr() == ("", "")


def test_a_log_gets_a_line_every_30_seconds_and_one_at_the_end(capsys, monkeypatch):
    seconds = iter(range(0, 10_000, 12))
    monkeypatch.setattr(MODULE, "time", SimpleNamespace(perf_counter=lambda: next(seconds)))
    work(True)
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("measuring: 100 points in ")
    assert 1 <= len(lines[:-1]) < 4
    assert all(line.startswith("measuring: ") and "points/s" in line for line in lines[:-1])


def test_tqdm_is_told_how_far_the_work_is(monkeypatch):
    """A stand-in for tqdm: the real one draws only every tenth of a second."""
    steps = []

    class Bar:
        def __init__(self, *, total, **_):
            assert total == 100
            self.n = 0

        def update(self, items):
            self.n += items
            steps.append(items)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            steps.append("closed")

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setitem(sys.modules, "tqdm.auto", SimpleNamespace(tqdm=Bar))
    work(True)
    assert steps == [25, 25, 25, 25, "closed"]


def test_a_callback_is_called_each_time_and_nothing_is_shown(capsys):
    snapshots: list[Progress] = []
    work(snapshots.append, unit="rows")
    assert [snapshot.rows for snapshot in snapshots] == [25, 50, 75, 100]
    assert all(snapshot.total == 100 and snapshot.rate > 0 for snapshot in snapshots)
    assert capsys.readouterr() == ("", "")


X = np.random.default_rng(0).normal(np.repeat([0.0, 6.0], 30)[:, None], size=(60, 2))
LABELS = np.repeat([0, 1], 30)


def stream_to(path, verbose):
    pd.DataFrame(X, columns=["a", "b"]).to_csv(path / "t.csv", index=False)
    scorer = allegiance.io.fit_stream(path / "t.csv", n_clusters=2, verbose=verbose)
    return allegiance.io.score_stream(path / "t.csv", scorer, path / "scored.csv", verbose=verbose)


LONG = {
    "affinity": lambda path, verbose: allegiance.affinity(X, LABELS, verbose=verbose),
    "trust": lambda path, verbose: allegiance.trust(X, LABELS, n_resamples=2, verbose=verbose),
    "score": lambda path, verbose: AffinityScorer(KMeans(2, n_init=1), verbose=verbose).fit(X).score(X),
    "compare": lambda path, verbose: allegiance.compare_clusterings(X, {"a": LABELS}, verbose=verbose),
    "curve": lambda path, verbose: allegiance.stability_curve(X, KMeans(n_init=1), [2, 3], verbose=verbose),
    "linkage": lambda path, verbose: allegiance.ConsensusClustering(n_clusters=2, verbose=verbose).fit(X),
    "consensus": lambda path, verbose: allegiance.ConsensusClustering([LABELS], 2, verbose=verbose).fit(X),
    "validate": lambda path, verbose: allegiance.validate_consensus(X, [LABELS], LABELS, verbose=verbose),
    "active": lambda path, verbose: allegiance.ActiveKMeans(2, verbose=verbose).fit(X),
    "incremental": lambda path, verbose: allegiance.IncrementalKMeans(2, init_size=30, verbose=verbose).fit(X),
    "drift": lambda path, verbose: compare_periods(AffinityScorer().fit(X, LABELS), X, X, verbose=verbose),
    "streams": stream_to,
}


@pytest.mark.parametrize("name", LONG)
@pytest.mark.filterwarnings("ignore")
def test_everything_that_takes_long_can_say_how_far_it_is(name, tmp_path, capsys):
    snapshots: list[Progress] = []
    LONG[name](tmp_path, snapshots.append)
    assert snapshots
    assert all(isinstance(snapshot, Progress) for snapshot in snapshots)
    assert snapshots[-1].total is None or snapshots[-1].rows == snapshots[-1].total
    assert capsys.readouterr().err == ""


def test_an_interruption_has_no_summary(monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())

    def interrupted() -> None:
        with progress(10, "measuring", True) as advance:
            advance(1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert "points in" not in terminal.getvalue()


def test_an_unknown_total(capsys):
    work(True, total=None)
    assert "100 points" in capsys.readouterr().err
    assert str(Progress(5, None, 2.0, "points")) == "5 points, 2 points/s"


def test_a_remark_reaches_only_those_who_watch(capsys):
    remark("into the void")
    with progress(2, "work", True) as advance:
        remark("a reason")
        advance(2)
    with progress(2, "work", lambda _: None) as advance:
        remark("into the void")
        advance(2)
    message = capsys.readouterr().err
    assert "a reason\n" in message
    assert "void" not in message
