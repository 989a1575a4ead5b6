"""``allegiance explore``: what it serves, for tables, models and tables of scores."""

from __future__ import annotations

import json
import signal
import urllib.request
from functools import partial

import numpy as np
import pandas as pd
import pytest

from allegiance import AffinityScorer, trust
from allegiance.cli import _explore
from allegiance.explorer import Explorer
from cli.command import call, start
from explorer.conftest import overlapping

OPTIONS = ("--no-browser", "--influence", "euclidean")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Write a table with identifiers, labels, texts and coordinates; two of its rows have missing values."""
    X, labels = overlapping(n=120, k=3, d=4, names=["low", "mid", "high"])
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.insert(0, "customer", [f"c{row:03d}" for row in range(len(X))])
    frame["segment"], frame["comment"] = labels, [f"remark {row}" for row in range(len(X))]
    frame["east"], frame["north"] = X[:, 0] * 2, X[:, 1] * 3
    frame.loc[[5, 17], "b"] = np.nan
    path = tmp_path_factory.mktemp("tables") / "customers.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def served(monkeypatch, tmp_path):
    """Call the command and return the session it served, without waiting for Ctrl-C."""
    monkeypatch.chdir(tmp_path)
    seen = []
    monkeypatch.setattr(Explorer, "wait", lambda self: seen.append((self._session, self._pages, self._commands._maps)))

    def run(*words):
        call("explore", *words, "--no-browser")
        return seen[-1]

    return run


LEFT_OUT = ("--impute", "drop", "--drop", "comment,east,north")


def test_a_table_is_scored_and_its_columns_are_shown(served, table):
    words = ("--labels", "segment", "--id", "customer", "--impute", "drop", "--text", "comment", "--review", "10%")
    session, _, maps = served(table, *words, "--coordinates", "east,north", "--title", "Customers")
    subject = session.subject
    assert subject.title == "Customers"
    assert subject.n_points == 118
    assert subject.features.names == list("abcd")
    assert subject.showing.text(5, 100) == "remark 6"
    assert subject.number(5) == 6
    assert (subject.called(5), subject.id_of(5)) == ("c006", {"customer": "c006"})
    assert len(session.queue) == 12
    assert maps.names[0] == "own columns"
    frame = pd.read_csv(table).dropna()
    np.testing.assert_allclose(maps["own columns"].x, frame["east"])
    np.testing.assert_allclose(subject.ranking, trust(frame[list("abcd")], frame["segment"]).trust)
    assert session.log.path.name == "customers.decisions.jsonl"


def test_what_if_starts_from_the_options_that_were_given(served, table):
    words = ("--labels", "segment", "--id", "customer", *LEFT_OUT)
    _, pages, _ = served(
        table, *words, "--influence", "rbf:gamma=0.5", "--weights", "size", "--domain", "box:margin=0.2"
    )
    html = pages.page()
    assert 'value="rbf:gamma=0.5"' in html
    assert 'value="size"' in html
    assert 'value="box:margin=0.2"' in html


def test_a_table_of_scores_joins_its_data_by_identifier_or_row(served, table, tmp_path):
    for number, ids in enumerate((("--id", "customer"), ("--drop", "customer"))):
        scores = tmp_path / f"scores{number}.parquet"
        call("score", table, "--labels", "segment", *ids, *LEFT_OUT, "--review", 30, "-o", scores, "-q")
        session, pages, _ = served(scores, "--data", table, *ids, "--drop", "segment", *LEFT_OUT[:2], *LEFT_OUT[2:])
        subject, frame = session.subject, pd.read_csv(table)
        assert subject.n_points == 30
        assert "started from a table of scores" in pages.page()
        rows = [subject.number(row) for row in range(30)]
        assert rows == sorted(rows)
        np.testing.assert_allclose(subject.features.rows, frame.loc[rows, list("abcd")])
        assert [subject.label(row) for row in range(30)] == frame.loc[rows, "segment"].tolist()
    alone, pages, maps = served(tmp_path / "scores0.parquet", "--decisions", "alone.jsonl")
    assert alone.subject.features is None
    assert maps.names == ["scores"]
    assert "started without the data" in pages.page()
    other = tmp_path / "other.csv"
    pd.read_csv(table).head(10).to_csv(other, index=False)
    words = ("explore", tmp_path / "scores0.parquet", "--data", other, "--drop", "segment", *LEFT_OUT, "--no-browser")
    assert "is not in --data" in call(*words, code=1).stderr


def test_a_saved_model_serves_other_rows(served, table, tmp_path):
    model = tmp_path / "customers.model"
    call("score", table, "--labels", "segment", "--id", "customer", *LEFT_OUT, "--save", model, "-q")
    for words in ((table, "--model", model), (model, "--data", table)):
        session, _, _ = served(*words, "--decisions", f"{len(words)}{words[1]}.jsonl".replace("/", ""))
        assert session.subject.result is not None
        assert session.subject.classes.tolist() == ["high", "low", "mid"]
    assert "name the rows to score with --data" in call("explore", model, code=2).stderr
    assert AffinityScorer is not None


def test_usage_errors_come_before_the_work(served, table, tmp_path, monkeypatch):
    base = ("explore", table, "--labels", "segment", "--id", "customer", *LEFT_OUT)
    assert "no clustering to score" in call("explore", table, code=2).stderr
    assert "leave it out, DATA is the data" in call(*base, "--data", table, code=2).stderr
    assert "is the input" in call(*base, "--decisions", table, code=1).stderr
    assert "does not exist" in call(*base, "--decisions", tmp_path / "no" / "log.jsonl", code=1).stderr
    assert "is not the names of two columns" in call(*base, "--coordinates", "a,b,c", code=2).stderr
    monkeypatch.setattr(_explore, "find_spec", lambda name: None if name == "tornado" else name)
    assert "pip install 'allegiance[explorer]'" in call(*base, code=1).stderr


def test_the_installed_command_serves_until_ctrl_c(table, tmp_path):
    words = ("--labels", "segment", "--id", "customer", *LEFT_OUT, "--json")
    # Where tests run in the background, children would inherit that Ctrl-C is ignored.
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = start("explore", table, *words, *OPTIONS, cwd=tmp_path, preexec_fn=heard)
    try:
        lines = b""
        while not lines.rstrip().endswith(b"}"):
            line = process.stdout.readline()
            assert line, process.stderr.read()
            lines += line
        said = json.loads(lines)
        with urllib.request.urlopen(said["url"], timeout=30) as page:
            assert "118 points, 3 clusters" in page.read().decode()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
        assert process.returncode == 0
        assert b"0 decisions in customers.decisions.jsonl" in errors
    finally:
        process.kill()
        process.communicate()
