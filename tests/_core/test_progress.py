"""One bar for all: what it shows on a terminal, in a notebook, elsewhere, and to a function."""

from __future__ import annotations

import io
import subprocess
import sys
from types import SimpleNamespace

import pytest

from allegiance._core.progress import Progress, progress, remark

_progress = sys.modules["allegiance._core.progress"]


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


def test_elsewhere_only_the_end_is_told(capsys):
    work(True)
    err = capsys.readouterr().err
    assert err.startswith("measuring: 100 points in ")
    assert err.count("\n") == 1
    assert "\r" not in err


@pytest.mark.parametrize("rich", [True, False])
def test_a_terminal_has_a_bar_with_and_without_rich(monkeypatch, rich):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(_progress, "_installed", lambda library: rich and library == "rich")
    work(True, unit="rows", done=0)
    shown = sys.stderr.getvalue()
    assert "measuring: 100 rows in " in shown.splitlines()[-1]
    assert ("100 of 100 rows" in shown) is not rich
    assert len(shown) > 100


def test_a_notebook_has_a_bar_of_its_own(monkeypatch, capsys):
    class ZMQInteractiveShell:
        pass

    class IPython:
        get_ipython = ZMQInteractiveShell

    monkeypatch.setitem(sys.modules, "IPython", IPython)
    used = []
    monkeypatch.setattr(_progress, "_tqdm_bar", lambda *_: used.append("tqdm") or _progress._told(lambda _: None))
    monkeypatch.setattr(_progress, "_rich_bar", lambda *_: used.append("rich") or _progress._told(lambda _: None))
    for installed in [{"tqdm", "ipywidgets", "rich"}, {"tqdm", "rich"}, {"tqdm"}]:
        monkeypatch.setattr(_progress, "_installed", lambda library, known=installed: library in known)
        work(True)
    assert used == ["tqdm", "rich"]
    assert "100 of 100 points" in capsys.readouterr().err


def test_tqdm_is_told_how_far_the_work_is(monkeypatch):
    """A stand-in for tqdm: the real one draws only every tenth of a second."""
    steps = []

    class Bar:
        def __init__(self, *, total, initial, **_):
            assert (total, initial) == (100, 50)
            self.n = initial

        def update(self, items):
            self.n += items
            steps.append(items)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            steps.append("closed")

    monkeypatch.setitem(sys.modules, "tqdm.auto", SimpleNamespace(tqdm=Bar))
    with _progress._tqdm_bar(100, "measuring", "rows", 50) as draw:
        draw(Progress(60, 100, 1.0))
        draw(Progress(100, 100, 1.0))
    assert steps == [10, 40, "closed"]


def test_a_function_is_told_each_time_and_nothing_is_shown(capsys):
    seen: list[Progress] = []
    work(seen.append, total=150, unit="rows", done=50)
    assert [look.rows for look in seen] == [75, 100, 125, 150]
    assert all(look.total == 150 and look.rate > 0 for look in seen)
    assert capsys.readouterr() == ("", "")


def test_an_interruption_ends_the_bar_without_a_last_line(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(_progress, "_installed", lambda library: False)

    def interrupted() -> None:
        with progress(10, "measuring", True) as advance:
            advance(1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert sys.stderr.getvalue().endswith("\r")
    assert "measuring: 1 points in" not in sys.stderr.getvalue()


def test_an_unknown_total(capsys):
    work(True, total=None)
    assert "100 points" in capsys.readouterr().err
    assert str(Progress(5, None, 2.0, "points")) == "5 points, 2 points/s"


def test_nothing_is_imported_for_a_bar_that_is_not_shown():
    script = (
        "import sys\nfrom allegiance._core.progress import progress\n"
        "with progress(3, 'measuring', True) as advance: advance(3)\n"
        "print({'rich', 'tqdm', 'IPython'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_remark_reaches_only_those_who_watch(capsys):
    remark("into the void")
    with progress(2, "work", True) as advance:
        remark("a reason")
        advance(2)
    remark("into the void again")
    with progress(2, "work", lambda _: None) as advance:
        remark("told to a function, not shown")
        advance(2)
    said = capsys.readouterr().err
    assert "a reason\n" in said
    assert "void" not in said
    assert "function" not in said


def test_marimo_has_a_bar_of_its_own(monkeypatch, capsys):
    """A stand-in for marimo, with the two functions of it that are used."""
    steps = []

    class Bar:
        def __init__(self, **settings):
            steps.append((settings["total"], settings["title"]))

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def update(self, items, subtitle):
            steps.append(items)

    marimo = SimpleNamespace(running_in_notebook=lambda: True, status=SimpleNamespace(progress_bar=Bar))
    monkeypatch.setitem(sys.modules, "marimo", marimo)
    work(True, done=0)
    assert steps == [(100, "measuring"), 25, 25, 25, 25]
    assert capsys.readouterr().err.startswith("measuring: 100 points in ")
