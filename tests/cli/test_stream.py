"""``allegiance score`` in batches: the output of a run in memory, in one file or one per partition."""

import json
import os
import subprocess

import numpy as np
import pandas as pd
import pytest

from benchmarks._process_memory import limit_group
from cli.command import call
from peak_memory import run_with_peak


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


@pytest.mark.parametrize(
    "way",
    [pytest.param(["--labels", "kind"], marks=pytest.mark.slow), ["--drop", "kind", "--clusters", 4]],
    ids=["labels", "clusters"],
)
def test_streams_and_memory_give_the_same_table(table, tmp_path, way):
    common = ["score", table, *way, "--resamples", 5, "-o"]
    memory = call(*common, tmp_path / "memory.csv", "--in-memory")
    stream = call(*common, tmp_path / "stream.csv", "--stream", "--batch-rows", 100)
    one, other = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("memory", "stream"))
    assert list(one) == list(other)
    inputs = ["id", "a", "b", "plan", "kind"]
    pd.testing.assert_frame_equal(one[inputs], other[inputs])
    pairs = pd.crosstab(one["cluster"], other["cluster"])
    assert (pairs > 0).sum().sum() == 4, "the same clusters, whatever their numbers"
    assert np.abs(one["trust"] - other["trust"]).max() < 0.1
    for text in (memory.stdout, stream.stdout):
        assert "would hold up" in text
        assert "high a" in text


@pytest.fixture
def parts(table, tmp_path):
    """The table as a folder of files, one of them empty, and a model."""
    frame = pd.read_csv(table)
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(3):
        frame[300 * number : 300 * number + 300].to_parquet(folder / f"{number}.parquet", index=False)
    frame.head(0).astype(frame.dtypes).to_parquet(folder / "empty.parquet", index=False)
    call("score", table, "--labels", "kind", "--resamples", 3, "--save", tmp_path / "m.model")
    return folder


def contents(folder):
    return {path.name: (path.stat().st_mtime_ns, len(pd.read_parquet(path))) for path in folder.glob("*.parquet")}


def test_a_folder_gets_one_file_per_partition_and_a_rerun_writes_only_missing_ones(parts, table, tmp_path):
    out, whole = tmp_path / "out", tmp_path / "whole.parquet"
    model = ["--model", tmp_path / "m.model"]
    words = ["score", parts, *model, "-o", f"{out}/", "--batch-rows", 100, "--json"]
    first = json.loads(call(*words).stdout)
    assert {name: rows for name, (_, rows) in contents(out).items()} == {
        "0.parquet": 300, "1.parquet": 300, "2.parquet": 300, "empty.parquet": 0,
    }  # fmt: skip
    call("score", table, *model, "-o", whole)
    columns = ["id", "cluster", "trust", "verdict", "rival", "priority"]
    one = pd.concat([pd.read_parquet(out / f"{number}.parquet") for number in range(3)], ignore_index=True)
    pd.testing.assert_frame_equal(one[columns], pd.read_parquet(whole)[columns], rtol=1e-12)
    before = contents(out)
    (out / "1.parquet").unlink()
    again = call(*words)
    assert "600 of 900 rows were scored by an earlier run" in again.stderr
    figures = ("rows", "replication", "clusters", "review")
    assert {name: json.loads(again.stdout)[name] for name in figures} == {name: first[name] for name in figures}
    assert {name for name in before if before[name] != contents(out)[name]} == {"1.parquet"}
    assert "up to date" in call(*words, "--if-exists", "update").stderr
    # A new input file is scored, and the others are kept.
    pd.read_parquet(parts / "0.parquet").assign(id="new").to_parquet(parts / "3.parquet", index=False)
    assert json.loads(call(*words).stdout)["rows"] == 1200
    assert before["0.parquet"] == contents(out)["0.parquet"]


def test_parts_of_another_run_are_replaced_only_on_request(parts, tmp_path):
    out = tmp_path / "out"
    words = ["score", parts, "--model", tmp_path / "m.model", "-o", f"{out}/"]
    call(*words)
    before = contents(out)
    assert "was written by another run" in call(*words, "--scores-only", code=1).stderr
    assert contents(out) == before
    call(*words, "--scores-only", "--if-exists", "update")
    assert "a" not in pd.read_parquet(out / "0.parquet")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all of it")
    text = call(*words[:-1], tmp_path / "mine", "--if-exists", "replace", code=1).stderr
    assert "was not written by allegiance" in text


@pytest.mark.parametrize("output", ["memory://bucket/scored.csv", "memory://bucket/scored/"])
def test_a_remote_output_that_was_deleted_is_not_up_to_date(output, parts, tmp_path):
    store = pytest.importorskip("fsspec").filesystem("memory")
    words = ["score", parts, "--model", tmp_path / "m.model", "-o", output, "--if-exists", "update"]
    assert "up to date" not in call(*words).stderr
    assert "up to date" in call(*words).stderr
    store.rm(f"{output}0.parquet" if output.endswith("/") else output)
    assert "up to date" not in call(*words).stderr
    assert pd.concat([pd.read_parquet(f"{output}{i}.parquet") for i in range(3)] if output.endswith("/") else
                     [pd.read_csv(output)])["id"].nunique() == 900  # fmt: skip
    store.rm("/bucket", recursive=True)


def test_damaged_files_are_named_or_skipped(parts, tmp_path):
    content = bytearray((parts / "1.parquet").read_bytes())
    content[4:2000] = bytes(1996)
    (parts / "1.parquet").write_bytes(content)
    words = ["score", parts, "--model", tmp_path / "m.model", "-o", f"{tmp_path / 'out'}/"]
    assert "1.parquet is damaged in row group 0 of 1 (rows 0 to 299)" in call(*words, code=1).stderr
    output = json.loads(call(*words, "--on-error", "skip", "--fail-on-notes", "--json", code=5).stdout)
    assert [path.rpartition("/")[2] for path in output["skipped"]] == ["1.parquet"]
    assert output["rows"] == 600
    assert output["problems"][0].startswith("Skipped an input file.")


def test_a_bad_cell_is_named_with_file_and_row(parts, tmp_path):
    frame = pd.read_parquet(parts / "1.parquet").astype({"a": str})
    frame.loc[frame.index[17], "a"] = "oops"
    frame.to_parquet(parts / "1.parquet")
    frame.to_csv(tmp_path / "bad.csv", index=False)
    model = ["--model", tmp_path / "m.model"]
    for way in ("--stream", "--in-memory"):
        text = call("score", parts, *model, way, "-o", tmp_path / "out.csv", code=1).stderr
        assert "1.parquet, row 17: column 'a' contains 'oops', which is not a number" in text
        assert text.rstrip().endswith("or pass --missing a=oops.")
    text = call("score", tmp_path / "bad.csv", *model, "-o", tmp_path / "out.csv", code=1).stderr
    assert "bad.csv, line 19" in text
    assert not (tmp_path / "out.csv").exists()


def test_columns_that_only_some_files_have_are_named(parts, tmp_path):
    frame = pd.read_parquet(parts / "1.parquet")
    frame.assign(new=1, a=frame["a"].astype("float32")).to_parquet(parts / "1.parquet")
    words = ["score", parts, "--model", tmp_path / "m.model", "-o", f"{tmp_path / 'out'}/"]
    assert "Ignored 'new': not all files have it" in call(*words).stderr
    frame.drop(columns="b").to_parquet(parts / "1.parquet")
    assert "1.parquet has no column 'b', but other files have" in call(*words, code=1).stderr


def test_a_model_reads_typed_columns_once(parts, tmp_path, monkeypatch):
    """Gaps and new categories are counted while the rows are scored, not in a pass of their own."""

    def profile(table):
        raise AssertionError("the table was profiled")

    monkeypatch.setattr("allegiance.io.tables.Table.profile", profile)
    for way in ("--stream", "--in-memory"):
        words = ["score", parts, "--model", tmp_path / "m.model", way, "-o", tmp_path / f"{way}.parquet"]
        assert " filled as in the model: b (" in call(*words).stderr


@pytest.mark.slow
def test_review_and_scores_only_in_a_stream(table, tmp_path):
    common = ["score", table, "--labels", "kind", "--resamples", 3]
    call(*common, "--save", tmp_path / "kind.model", "-o", tmp_path / "saved.csv")
    model = ["score", table, "--model", tmp_path / "kind.model", "--labels", "kind"]
    fits, models, scores, listed = [], [], [], []
    for way in ("--stream", "--in-memory"):
        review = ["--review-output", tmp_path / f"fit{way}.csv"]
        call(*common, way, "--review", 7, *review, "-o", tmp_path / f"all{way}.csv")
        fits.append(pd.read_csv(tmp_path / f"fit{way}.csv"))
        review = ["--review-output", tmp_path / f"model{way}.csv"]
        call(*model, way, "--review", 40, *review, "-o", tmp_path / f"scored{way}.csv")
        models.append(pd.read_csv(tmp_path / f"model{way}.csv"))
        words = [*model, way, "--scores-only", "--json", "-o", tmp_path / f"scores{way}.parquet"]
        listed.append([(row["id"], row["verdict"]) for row in json.loads(call(*words).stdout)["review"]])
        scores.append(pd.read_parquet(tmp_path / f"scores{way}.parquet"))
    for one, other in (fits, models, scores):
        assert list(one) == list(other)
    assert set(fits[0]["id"]) & set(fits[1]["id"])
    for one, other in (models, scores):
        assert one["id"].tolist() == other["id"].tolist(), "in the order of a run in memory"
    assert listed[0] == listed[1]
    assert "firm" not in {verdict for _, verdict in listed[0]}


def test_the_review_list_of_a_stream_keeps_the_types_of_the_table(table, tmp_path):
    """Once: an OverflowError for identifiers that only an unsigned integer holds."""
    frame = pd.read_csv(table, usecols=["a", "kind"]).assign(id=np.arange(900, dtype=np.uint64) + np.uint64(2**63))
    frame.to_parquet(tmp_path / "table.parquet")
    output = ["-o", tmp_path / "all.parquet", "--review", 7, "--review-output", tmp_path / "first.parquet"]
    call("score", tmp_path / "table.parquet", "--labels", "kind", "--resamples", 3, "--stream", *output)
    assert pd.read_parquet(tmp_path / "first.parquet")["id"].dtype == np.uint64


def test_long_tables_are_streamed_by_default(table, tmp_path, monkeypatch):
    monkeypatch.setattr("allegiance.cli.score.MANY_ROWS", 500)
    common = ["score", table, "--drop", "kind", "--clusters", 4, "--resamples", 3]
    assert "k-means on a random sample" in call(*common, "-o", tmp_path / "out.csv").stderr
    assert "needs all of them" in call(*common).stderr
    assert json.loads(call(*common, "--json", "-o", tmp_path / "more.csv").stdout)["rows"] == 900
    # The rows of the table count, not those that the model was fitted to.
    pd.read_csv(table).head(200).to_csv(tmp_path / "short.csv", index=False)
    call("score", tmp_path / "short.csv", "--labels", "kind", "--resamples", 3, "--save", tmp_path / "short.model")
    words = ["score", table, "--model", tmp_path / "short.model", "-v", "--review", "5%"]
    result = call(*words, "--review-output", tmp_path / "review.csv", "-o", tmp_path / "by_model.csv")
    assert "scoring 900 rows in batches" in result.stderr
    assert len(pd.read_csv(tmp_path / "review.csv")) == 45


def test_a_saved_model_of_a_stream_scores_and_knows_its_data(table, tmp_path):
    words = ["--drop", "kind", "--clusters", 4, "--resamples", 3, "--stream", "-o", tmp_path / "out.csv"]
    call("score", table, *words, "--save", tmp_path / "m.model")
    call("score", table, "--model", tmp_path / "m.model", "--stream", "-o", tmp_path / "again.csv")
    one, other = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("out", "again"))
    pd.testing.assert_frame_equal(one, other, rtol=1e-12)
    assert "Nothing changed" in call("watch", "--model", tmp_path / "m.model", table).stdout


@pytest.mark.slow
def test_a_job_runs_in_512_mb(tmp_path, rng):
    """Clusters, trust, drift profile and scores of a table in batches, on one processor, with compiled code.

    A cgroup enforces the limit. The peak that the system reports depends on how many pages of libraries it has cached.
    """
    for part in range(5):
        X = rng.normal(size=(200_000, 16)) + 3 * rng.integers(5, size=(200_000, 1))
        frame = pd.DataFrame(X.astype(np.float32), columns=[f"x{i}" for i in range(16)])
        frame.to_parquet(tmp_path / f"{part}.parquet", index=False)
    script = "import sys\nfrom allegiance.cli import main\nsys.argv[0] = 'allegiance'\nmain()\n"
    if hasattr(os, "sched_setaffinity"):  # with more processors, libraries read further ahead
        script = f"import os\nos.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})\n{script}"
    options = ["--clusters", 5, "--n-jobs", 1, "--save", tmp_path / "a.model", "-q", "-o", f"{tmp_path}/out/"]
    run_with_peak(script, "score", tmp_path / "0.parquet", *options)  # this run may compile
    options += ["--if-exists", "replace"]
    with limit_group(512 * 2**20) as enter:
        if enter is None:
            pytest.skip("this process may not create cgroups")
        with pytest.raises(subprocess.CalledProcessError):
            run_with_peak("bytearray(600 * 2**20)", enter=enter)
        run_with_peak(script, "score", *sorted(tmp_path.glob("*.parquet")), *options, enter=enter)
    assert len([*(tmp_path / "out").glob("*.parquet")]) == 5
