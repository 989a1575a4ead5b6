"""Models on the command line: saved, shown, compiled, used for later files, and compared with them."""

import json

import numpy as np
import pandas as pd
import pytest

import allegiance
from cli.command import call
from tables import customers


def month(seed):
    """Rows of one month, in the units and words of a file."""
    frame = customers(600, seed).drop(columns="joined")
    frame.loc[::97, "visits"] = np.nan
    return frame


@pytest.fixture(scope="module")
def january(tmp_path_factory):
    """A folder with the file of January, its model and its scores."""
    folder = tmp_path_factory.mktemp("january")
    month(1).to_csv(folder / "january.csv", index=False)
    words = ["score", folder / "january.csv", "--clusters", 3, "--resamples", 4]
    call(*words, "--save", folder / "january.model", "-o", folder / "january.scored.csv")
    return folder


def test_a_model_gives_the_scores_that_it_was_saved_with_in_python_too(january, tmp_path):
    call("score", january / "january.csv", "--model", january / "january.model", "-o", tmp_path / "again.csv")
    one, other = pd.read_csv(january / "january.scored.csv"), pd.read_csv(tmp_path / "again.csv")
    pd.testing.assert_frame_equal(one, other, rtol=1e-12)
    scorer = allegiance.load(january / "january.model")
    frame = pd.read_csv(january / "january.csv")
    np.testing.assert_allclose(scorer.affinity(frame).trust, one["trust"], rtol=1e-12)
    numbers = frame[["spent", "visits"]].fillna(0.0)
    allegiance.AffinityScorer(calibration=3).fit(numbers, one["cluster"]).save(tmp_path / "plain.model")
    numbers.to_csv(tmp_path / "plain.csv", index=False)
    call("score", tmp_path / "plain.csv", "--model", tmp_path / "plain.model", "-o", tmp_path / "out.csv")
    assert len(pd.read_csv(tmp_path / "out.csv")) == 600


def test_a_model_shows_its_columns_clusters_and_provenance(january):
    text = call("model", january / "january.model").stdout
    for fact in ("3 clusters", "january.csv (600 rows)", "--clusters 3", "plan", "basic, gold", "KMeans", "high spent"):
        assert fact in text
    result = json.loads(call("model", january / "january.model", "--json").stdout)
    assert [column["name"] for column in result["columns"]] == ["spent", "visits", "plan"]
    assert result["made"]["rows"] == 600
    assert result["baseline"]
    assert "Compiled the code" in call("model", january / "january.model", "--compile").stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--clusters", 4], "--clusters cannot be used with --model"),
        (["--influence", "euclidean"], "--influence cannot be used"),
        (["--drop", "spent"], "--drop cannot be used"),
        (["--save", "x.model"], "--save cannot be used"),
        (["--resamples", 50], "trust was fitted with it"),
    ],
)
def test_a_model_fixes_the_options_it_was_fitted_with(january, words, message):
    common = ["score", january / "january.csv", "--model", january / "january.model"]
    assert message in call(*common, *words, code=2).stderr


def test_precision_and_trust_are_the_choice_of_the_job(january, tmp_path):
    common = ["score", january / "january.csv", "--model", january / "january.model", "-o"]
    call(*common, tmp_path / "coarse.csv", "--eps", 0.2)
    call(*common, tmp_path / "bare.csv", "--resamples", 0)
    assert "trust" in pd.read_csv(tmp_path / "coarse.csv")
    assert "trust" not in pd.read_csv(tmp_path / "bare.csv")


def test_columns_and_categories_that_do_not_fit_the_model_are_named(january, tmp_path):
    frame = pd.read_csv(january / "january.csv")
    words = ["score", tmp_path / "new.csv", "--model", january / "january.model"]
    for bad in (frame.drop(columns="visits"), frame.assign(visits="many")):
        bad.to_csv(tmp_path / "new.csv", index=False)
        assert "'visits'" in call(*words, code=1).stderr
    frame.loc[:9, "plan"] = "platinum"
    frame.assign(extra=1).to_csv(tmp_path / "new.csv", index=False)
    text = call(*words).stderr
    assert "platinum" in text
    assert "extra" in text


def test_rows_that_are_left_out_are_named_with_a_model_too(january, tmp_path):
    """Once a total was left out of the output without a word."""
    frame = pd.read_csv(january / "january.csv")
    total = dict.fromkeys(frame.columns, "Total") | frame.sum(numeric_only=True).to_dict()
    pd.concat([frame, pd.DataFrame([total])]).to_csv(tmp_path / "new.csv", index=False)
    words = [tmp_path / "new.csv", "--model", january / "january.model"]
    result = call("score", *words, "-o", tmp_path / "out.csv", "--fail-on-notes", code=5)
    assert f"Left out 1 row (total): line {len(frame) + 2}" in result.stdout
    assert len(pd.read_csv(tmp_path / "out.csv")) == len(frame)
    assert "Left out 1 row (total)" in call("watch", *words).stderr


@pytest.mark.parametrize("way", ["--in-memory", pytest.param("--stream", marks=pytest.mark.slow)])
def test_drift_is_noticed_while_scoring(january, tmp_path, way):
    """A unit that changed by 100 once gave exit code 0 and a low share."""
    frame = month(2)
    frame.to_csv(tmp_path / "february.csv", index=False)
    frame.assign(spent=100 * frame["spent"]).to_csv(tmp_path / "march.csv", index=False)
    common = ["--model", january / "january.model", way, "--fail-on-drift", "-o"]
    call("score", tmp_path / "february.csv", *common, tmp_path / "f.csv")
    result = call("score", tmp_path / "march.csv", *common, tmp_path / "m.csv", code=4)
    assert "drift: " in result.stderr
    assert "spent" in result.stderr
    assert "100" in result.stderr
    # A job that is tried again must not turn green.
    retry = call("score", tmp_path / "march.csv", *common, tmp_path / "m.csv", "--if-exists", "update", code=4)
    assert "up to date" in retry.stderr
    assert len(pd.read_csv(tmp_path / "m.csv")) == 600
    assert "fail-on-drift" not in call("score", tmp_path / "march.csv", *common[:3], "-o", tmp_path / "n.csv").stderr


def test_watch_continues_after_a_damaged_file(january, tmp_path):
    """Once the first error hid the drift in the third file."""
    frame = month(2)
    files = {name: tmp_path / f"{name}.csv" for name in ("good", "broken", "shifted")}
    frame.to_csv(files["good"], index=False)
    frame.drop(columns="visits").to_csv(files["broken"], index=False)
    frame.assign(spent=frame["spent"] + 4000).to_csv(files["shifted"], index=False)
    watch = ["watch", "--model", january / "january.model"]
    result = call(*watch, *files.values(), code=1)
    assert "Nothing changed" in result.stdout
    assert f"{files['broken']}: not compared" in result.stdout
    assert "visits" in result.stderr
    assert "spent" in result.stdout
    assert f"Beyond --tolerance 0.05: {files['shifted']}" in result.stderr
    call(*watch, files["good"], files["shifted"], code=4)
    periods = json.loads(call(*watch, *files.values(), "--json", code=1).stdout)["periods"]
    assert [period.get("drifted") for period in periods] == [False, None, True]
    assert "visits" in periods[1]["error"]
    assert len(periods[2]["findings"]) == 1, "one cause, one finding"


def test_watch_needs_a_baseline(january, tmp_path):
    model = allegiance.load(january / "january.model")
    object.__setattr__(model.scorer.fitted_, "baseline", None)
    model.save(tmp_path / "bare.model")
    bare = ["--model", tmp_path / "bare.model"]
    assert "no baseline" in call("watch", *bare, january / "january.csv", code=1).stderr
    # The gate was open: exit code 0 on data scaled by ten.
    assert "no baseline" in call("score", january / "january.csv", *bare, "--fail-on-drift", code=1).stderr


@pytest.mark.parametrize("words", [["model"], ["score", "table.csv", "--model"], ["watch", "table.csv", "--model"]])
def test_the_error_for_a_file_that_is_no_model_names_the_command_that_writes_one(flowers, words):
    assert "allegiance score DATA --clusters K --save" in call(*words, flowers, code=1).stderr
