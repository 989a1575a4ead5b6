"""Month two: a model from the first file, for every file after it."""

from __future__ import annotations

import json
import signal
import time

import numpy as np
import pandas as pd
import pytest

from allegiance import AffinityScorer
from cli.command import call, start
from tables import read_exactly

JANUARY = ("--clusters", 3, "--id", "customer", "--impute", "median", "--missing", "visits=-999", "--one-hot", "plan")
JANUARY = (*JANUARY, "--standardize", "--resamples", 3)


def month(seed, n=150):
    """Return the customers of a month."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "customer": [f"{i:04d}" for i in range(n)],
            "visits": rng.normal(10 + 8 * group, 2).round(2),
            "spent": [f"${value:,.2f}" for value in np.abs(rng.normal(1500 * (group + 1), 200))],
            "plan": np.array(["basic", "plus", "pro"])[group],
            "since": (pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D")).strftime("%Y-%m-%d"),
        }
    )
    frame.loc[:4, "visits"] = -999
    frame.loc[5, "visits"] = np.nan
    return frame


@pytest.fixture(scope="module")
def months(tmp_path_factory):
    """Return a folder with January, its model and scores, and February with columns moved, added and new categories."""
    folder = tmp_path_factory.mktemp("months")
    month(1).to_csv(folder / "jan.csv", index=False)
    february = month(2)
    february.loc[10:12, "plan"] = "gold"
    february.assign(extra=1)[["plan", "extra", "since", "customer", "spent", "visits"]].to_csv(
        folder / "feb.csv", index=False
    )
    call("score", folder / "jan.csv", *JANUARY, "--save", folder / "jan.model", "-o", folder / "jan.parquet")
    return folder


def test_january_is_scored_by_its_model_as_it_was(months, tmp_path):
    call("score", months / "jan.csv", "--model", months / "jan.model", "-o", tmp_path / "again.parquet")
    expected, found = pd.read_parquet(months / "jan.parquet"), pd.read_parquet(tmp_path / "again.parquet")
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_february_is_scored_by_the_model_of_january(months, tmp_path):
    result = call(
        "score", months / "feb.csv", "--model", months / "jan.model", "-o", tmp_path / "feb.parquet",
        "--report", tmp_path / "feb.html",
    )  # fmt: skip
    assert (
        "column 'plan' has categories that the model does not know, which count as none: 'gold' (3)." in result.output
    )
    assert "columns that the model does not use are ignored: 'extra'." in result.output
    assert "6 missing values are filled in" in result.output
    scores = pd.read_parquet(tmp_path / "feb.parquet")
    assert scores["customer"].tolist() == [f"{i:04d}" for i in range(150)]
    scorer = AffinityScorer.load(months / "jan.model")
    expected = scorer.affinity(read_exactly(months / "feb.csv"))
    np.testing.assert_array_equal(scores["trust"], expected.trust)
    np.testing.assert_array_equal(scores["label"], expected.label)
    assert (tmp_path / "feb.html").stat().st_size > 10_000


def test_a_stream_gives_the_same_bits(months, tmp_path):
    model = ("--model", months / "jan.model")
    call("score", months / "feb.csv", *model, "-o", tmp_path / "memory.parquet")
    call("score", months / "feb.csv", *model, "-o", tmp_path / "stream.parquet", "--stream", "--batch-rows", 40)
    pd.testing.assert_frame_equal(
        pd.read_parquet(tmp_path / "stream.parquet"), pd.read_parquet(tmp_path / "memory.parquet"), check_exact=True
    )


def test_a_cluster_gives_the_same_file(months, tmp_path, scheduler):
    common = ("score", months / "feb.csv", "--model", months / "jan.model", "--batch-rows", 40)
    call(*common, "--stream", "-o", tmp_path / "here.csv")
    told = call(*common, "--scheduler", scheduler, "-o", tmp_path / "there.csv")
    assert "'gold' (3)" in told.output
    assert "Expected right: " in told.stdout
    assert len((tmp_path / "there.csv").read_text().splitlines()) == 151
    assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_stopped(months, tmp_path):
    """Killed between any two instructions. The run that goes on reads the model again, which must be the same."""
    table, out = tmp_path / "march.csv", tmp_path / "march-scores.csv"
    month(3, n=6000).to_csv(table, index=False)
    common = ("score", table, "--model", months / "jan.model", "--stream", "--batch-rows", 20)
    process = start(*common, "-o", out)
    parts = tmp_path / "march-scores.csv.partial"
    while process.poll() is None and not (parts / "part-00000003.arrow").exists():
        time.sleep(0.01)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not out.exists()
    other = tmp_path / "other.model"
    call("score", months / "jan.csv", *JANUARY, "--seed", 1, "--save", other, "-o", tmp_path / "jan.csv")
    refused = call("score", table, "--model", other, *common[4:], "-o", out, code=1)
    assert "differed" in refused.stderr
    assert "of 6,000 rows were scored by an earlier run" in call(*common, "-o", out).stderr
    assert not parts.exists()
    call(*common, "-o", tmp_path / "whole.csv")
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_several_files_and_a_pattern_are_one_table(months, tmp_path):
    february = pd.read_csv(months / "feb.csv", dtype={"customer": str})
    for part in range(3):
        february[part * 50 : (part + 1) * 50].to_csv(tmp_path / f"part-{part}.csv", index=False)
    model = ("--model", months / "jan.model")
    call("score", tmp_path / "part-*.csv", *model, "-o", tmp_path / "parts.parquet")
    call("score", months / "feb.csv", *model, "-o", tmp_path / "whole.parquet")
    pd.testing.assert_frame_equal(
        pd.read_parquet(tmp_path / "parts.parquet"), pd.read_parquet(tmp_path / "whole.parquet"), check_exact=True
    )


def test_a_model_made_in_passes_scores_in_memory(months, tmp_path):
    saved = tmp_path / "jan.model"
    call("score", months / "jan.csv", *JANUARY, "--stream", "--save", saved, "-o", tmp_path / "jan.parquet")
    call("score", months / "jan.csv", "--model", saved, "-o", tmp_path / "again.parquet")
    pd.testing.assert_frame_equal(
        pd.read_parquet(tmp_path / "again.parquet"), pd.read_parquet(tmp_path / "jan.parquet"), check_exact=True
    )


def test_rows_that_have_labels_keep_them(months, tmp_path):
    scores = pd.read_parquet(months / "jan.parquet")
    labelled = pd.read_csv(months / "jan.csv", dtype={"customer": str}).assign(segment=(scores["label"] + 1) % 3)
    labelled.to_csv(tmp_path / "jan.csv", index=False)
    for how in ("--in-memory", "--stream"):
        output = tmp_path / f"scores{how}.parquet"
        call("score", tmp_path / "jan.csv", "--model", months / "jan.model", "--labels", "segment", how, "-o", output)
        found = pd.read_parquet(output)
        assert found["label"].tolist() == labelled["segment"].tolist()
        assert (found["verdict"] == "contradicted").mean() > 0.9


def test_missing_columns_are_all_named(months, tmp_path):
    pd.read_csv(months / "feb.csv").drop(columns=["plan", "visits"]).to_csv(tmp_path / "feb.csv", index=False)
    result = call("score", tmp_path / "feb.csv", "--model", months / "jan.model", code=1)
    assert "2 columns that the model needs are missing: 'visits', 'plan'." in result.output


def test_missing_values_that_the_model_does_nothing_about_are_an_error(months, tmp_path):
    month(1).loc[10:].to_csv(tmp_path / "jan.csv", index=False)
    words = (
        "--clusters",
        3,
        "--id",
        "customer",
        "--one-hot",
        "plan",
        "--no-calibration",
        "--save",
        tmp_path / "jan.model",
    )
    call("score", tmp_path / "jan.csv", *words)
    result = call("score", months / "feb.csv", "--model", tmp_path / "jan.model", code=1)
    assert "1 value missing: visits (1). Fill them in first, or make the model anew with --impute" in result.output


def test_an_identifier_that_is_gone_is_said(months, tmp_path):
    pd.read_csv(months / "feb.csv").drop(columns=["customer"]).to_csv(tmp_path / "feb.csv", index=False)
    result = call("score", tmp_path / "feb.csv", "--model", months / "jan.model", "-o", tmp_path / "feb.parquet")
    assert "there is no column 'customer'" in result.output
    assert pd.read_parquet(tmp_path / "feb.parquet").columns[0] == "row"
    call("score", tmp_path / "feb.csv", "--model", months / "jan.model", "--id", "customer", code=1)


@pytest.mark.parametrize(
    "option",
    [
        ("--clusters", 3),
        ("--impute", "median"),
        ("--influence", "kl"),
        ("--standardize",),
        ("--seed", 1),
        ("--eps", 0.1),
    ],
)
def test_what_the_model_settles_is_wrong_usage(months, option):
    result = call("score", months / "feb.csv", "--model", months / "jan.model", *option, code=2)
    assert f"settles {option[0]}: leave out what the model knows" in result.output


def test_a_model_is_written_like_any_output(months, tmp_path):
    saved = tmp_path / "jan.model"
    saved.write_text("mine")
    words = ("score", months / "jan.csv", *JANUARY, "--save", saved)
    assert "exists" in call(*words, code=1).output
    assert saved.read_text() == "mine"
    call(*words, "--force")
    assert (
        "leave one of them out" in call("score", months / "feb.csv", "--model", saved, "--save", saved, code=2).output
    )
    result = call("score", months / "feb.csv", "--model", saved, "-o", saved, "--format", "csv", "--force", code=1)
    assert "jan.model" in result.output


def test_a_damaged_model_is_refused(months, tmp_path):
    content = bytearray((months / "jan.model").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "jan.model").write_bytes(content)
    assert "jan.model" in call("score", months / "feb.csv", "--model", tmp_path / "jan.model", code=1).output
    assert "does-not-exist" in call("model", tmp_path / "does-not-exist", code=1).output


def test_a_model_says_what_is_inside(months):
    shown = call("model", months / "jan.model").output
    for words in (
        "3 clusters",
        "150 rows",
        "jan.csv",
        "allegiance 0.1.0",
        "visits",
        "basic, plus, pro",
        "KMeans",
        "dates",
    ):
        assert words in shown
    inside = json.loads(call("model", months / "jan.model", "--json").output)
    assert [column["column"] for column in inside["columns"]] == ["visits", "spent", "plan", "since"]
    assert [column["holds"] for column in inside["columns"]] == ["numbers", "written", "categories", "dates"]
    assert inside["columns"][0]["means_missing"] == [-999.0]
    assert sum(cluster["points"] for cluster in inside["clusters"]) == 150
    assert inside["impute"] == "median"
    assert inside["standardize"] is True
    assert inside["ids"] == ["customer"]
    assert set(inside["versions"]) == {"python", "numpy", "scipy", "scikit-learn", "numba"}
    assert "--save" in inside["command"] or inside["command"] == ""


def test_a_scorer_saved_in_python_can_be_shown_and_used(tmp_path, points):
    X, groups = points
    frame = pd.DataFrame(X, columns=["u", "v"])
    AffinityScorer(calibration=3).fit(frame, groups).save(tmp_path / "python.scorer")
    assert "nearest representative" in call("model", tmp_path / "python.scorer").output
    frame.to_csv(tmp_path / "points.csv", index=False)
    words = ("score", tmp_path / "points.csv", "--model", tmp_path / "python.scorer", "-o", tmp_path / "scores.csv")
    assert "Warning" not in call(*words).output
    expected = AffinityScorer.load(tmp_path / "python.scorer").affinity(frame)
    np.testing.assert_array_equal(read_exactly(tmp_path / "scores.csv")["trust"], expected.trust)


def test_odd_columns_are_noticed(tmp_path):
    frame = month(3).drop(columns=["customer", "since"])
    frame["spent"] = frame["spent"].str.lstrip("$")
    frame.to_csv(tmp_path / "t.csv", index=False)
    output = call("score", tmp_path / "t.csv", "--clusters", 3, "--impute", "median", "--one-hot", "plan").output
    assert "column 'visits': 3% of the values are -999: missing? --missing visits=-999 says so." in output
    # Squares of -999 make up for most of it otherwise.
    assert "column 'spent' carries 9" in output
    quiet = call(
        "score", tmp_path / "t.csv", "--clusters", 3, "--impute", "median", "--one-hot", "plan", "--standardize"
    )
    assert "of the variance" not in quiet.output
