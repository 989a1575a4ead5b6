"""``allegiance score --stream``: the output of a run in memory, batch by batch, resumed after an interruption."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from allegiance.io.checkpoint import Checkpoint
from cli.command import call


@pytest.fixture
def table(tmp_path, rng):
    """Four blobs with a category, gaps and identifiers, in more rows than a batch of the tests."""
    groups = rng.integers(4, size=900)
    X = np.array([[0, 0], [9, 0], [0, 9], [9, 9]])[groups] + rng.normal(size=(900, 2))
    frame = pd.DataFrame({"id": [f"r{i:04d}" for i in range(900)], "a": X[:, 0], "b": X[:, 1]})
    frame["plan"] = np.where(groups % 2, "gold", "basic")
    frame["kind"] = groups
    frame.loc[::50, "b"] = np.nan
    frame.to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Batches of a hundred rows."""
    from allegiance.io import streams

    monkeypatch.setitem(streams.score_rows.__kwdefaults__, "batch_rows", 100)


@pytest.mark.parametrize(
    "way",
    [pytest.param(["--labels", "kind"], marks=pytest.mark.slow), ["--drop", "kind", "--clusters", 4]],
    ids=["labels", "clusters"],
)
def test_streams_give_what_memory_gives(table, tmp_path, way):
    common = ["score", table, *way, "--resamples", 5, "-o"]
    memory = call(*common, tmp_path / "memory.csv", "--in-memory")
    stream = call(*common, tmp_path / "stream.csv", "--stream")
    one, other = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("memory", "stream"))
    assert list(one) == list(other)
    given = ["id", "a", "b", "plan", "kind"]
    pd.testing.assert_frame_equal(one[given], other[given])
    pairs = pd.crosstab(one["cluster"], other["cluster"])
    assert (pairs > 0).sum().sum() == 4, "the same clusters, whatever their numbers"
    assert np.abs(one["trust"] - other["trust"]).max() < 0.1
    for text in (memory.stdout, stream.stdout):
        assert "would come back" in text
        assert "high a" in text


def test_an_interrupted_stream_resumes(table, tmp_path, monkeypatch):
    common = ["score", table, "--labels", "kind", "--resamples", 3, "--stream", "-o"]
    call(*common, tmp_path / "whole.csv")
    add, calls = Checkpoint.add, []

    def interrupted(self, batch, consumed):
        add(self, batch, consumed)
        calls.append(consumed)
        if len(calls) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "add", interrupted)
    assert "The same command resumes" in call(*common, tmp_path / "out.csv", code=130).stderr
    assert "differed" in call(*common, tmp_path / "out.csv", "--scores-only", code=1).stderr
    result = call(*common, tmp_path / "out.csv")
    assert "300 of 900 rows were scored by an earlier run" in result.stderr
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    call(*common, tmp_path / "out.csv", "--if-exists", "replace", "--restart")


def test_review_and_scores_only_in_a_stream(table, tmp_path):
    common = ["score", table, "--labels", "kind", "--resamples", 3]
    call(*common, "--save", tmp_path / "kind.model", "-o", tmp_path / "saved.csv")
    model = ["score", table, "--model", tmp_path / "kind.model", "--labels", "kind"]
    fits, models, scores = [], [], []
    for way in ("--stream", "--in-memory"):
        review = ["--review-output", tmp_path / f"fit{way}.csv"]
        call(*common, way, "--review", 7, *review, "-o", tmp_path / f"all{way}.csv")
        fits.append(pd.read_csv(tmp_path / f"fit{way}.csv"))
        review = ["--review-output", tmp_path / f"model{way}.csv"]
        call(*model, way, "--review", 40, *review, "-o", tmp_path / f"scored{way}.csv")
        models.append(pd.read_csv(tmp_path / f"model{way}.csv"))
        call(*common, way, "--scores-only", "-o", tmp_path / f"scores{way}.parquet")
        scores.append(pd.read_parquet(tmp_path / f"scores{way}.parquet"))
    for one, other in (fits, models, scores):
        assert list(one) == list(other)
    assert set(fits[0]["id"]) & set(fits[1]["id"])
    for one, other in (models, scores):
        assert one["id"].tolist() == other["id"].tolist(), "in the order of a run in memory"
    listed = []
    for way in ("--stream", "--in-memory"):
        found = json.loads(call(*model, way, "--json", "-o", tmp_path / f"listed{way}.csv").stdout)["review"]
        listed.append([(row["id"], row["verdict"]) for row in found])
    assert listed[0] == listed[1]
    assert "firm" not in {verdict for _, verdict in listed[0]}


def test_the_review_list_of_a_stream_keeps_the_types_of_the_table(table, tmp_path):
    """Once: an OverflowError for identifiers that only an unsigned integer holds."""
    frame = pd.read_csv(table, usecols=["a", "kind"]).assign(id=np.arange(900, dtype=np.uint64) + np.uint64(2**63))
    frame.to_parquet(tmp_path / "table.parquet")
    output = ["-o", tmp_path / "all.parquet", "--review", 7, "--review-output", tmp_path / "first.parquet"]
    call("score", tmp_path / "table.parquet", "--labels", "kind", "--resamples", 3, "--stream", *output)
    assert pd.read_parquet(tmp_path / "first.parquet")["id"].dtype == np.uint64


def test_long_tables_are_streamed_by_themselves(table, tmp_path, monkeypatch):
    monkeypatch.setattr("allegiance.cli.score.MANY_ROWS", 500)
    common = ["score", table, "--drop", "kind", "--clusters", 4, "--resamples", 3]
    assert "k-means of a random sample" in call(*common, "-o", tmp_path / "out.csv").stderr
    assert "needs them all at once" in call(*common).stderr
    assert json.loads(call(*common, "--json", "-o", tmp_path / "more.csv").stdout)["rows"] == 900


def test_the_rows_of_the_table_count_and_not_those_of_the_model(table, tmp_path, monkeypatch):
    """Once a long table was read into memory because the model came from a short one."""
    monkeypatch.setattr("allegiance.cli.score.MANY_ROWS", 500)
    pd.read_csv(table).head(200).to_csv(tmp_path / "short.csv", index=False)
    call("score", tmp_path / "short.csv", "--labels", "kind", "--resamples", 3, "--save", tmp_path / "short.model")
    words = ["score", table, "--model", tmp_path / "short.model", "-v", "--review", "5%"]
    result = call(*words, "--review-output", tmp_path / "review.csv", "-o", tmp_path / "out.csv")
    assert "scoring 900 rows in batches" in result.stderr
    assert len(pd.read_csv(tmp_path / "review.csv")) == 45


def test_a_saved_model_of_a_stream_scores_and_knows_its_data(table, tmp_path):
    words = ["--drop", "kind", "--clusters", 4, "--resamples", 3, "--stream", "-o", tmp_path / "out.csv"]
    call("score", table, *words, "--save", tmp_path / "m.model")
    call("score", table, "--model", tmp_path / "m.model", "--stream", "-o", tmp_path / "again.csv")
    one, other = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("out", "again"))
    pd.testing.assert_frame_equal(one, other, rtol=1e-12)
    assert "Nothing changed" in call("watch", "--model", tmp_path / "m.model", table).stdout
