"""Months of customers, of which it is known what changed."""

import json

import numpy as np
import pandas as pd
import pytest

from allegiance import AffinityScorer
from allegiance.drift import compare_periods
from cli.command import call

CENTERS = np.array([[25.0, 300.0, 5.0], [60.0, 2000.0, 1.0], [40.0, 900.0, 20.0]])
SPREADS = np.array([[4.0, 60.0, 1.5], [6.0, 300.0, 0.5], [5.0, 150.0, 3.0]])


def month(path, seed, *, n=600, spent=1.0, new=0):
    """Write a month of customers; return it as a frame."""
    rng = np.random.default_rng([9, seed])
    cluster = rng.integers(3, size=n)
    X = CENTERS[cluster] + SPREADS[cluster] * rng.normal(size=(n, 3))
    X[:new] = [80.0, 6000.0, 30.0] + SPREADS[0] * rng.normal(size=(new, 3))
    frame = pd.DataFrame(X, columns=["age", "spent", "visits"])
    frame["spent"] *= spent
    frame.insert(0, "customer", [f"c{i}" for i in range(n)])
    frame["plan"] = np.array(["basic", "plus", "pro"])[cluster]
    frame.loc[rng.random(n) < 0.02, "age"] = np.nan
    frame.to_csv(path, index=False)
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("months")
    month(path / "jan.csv", 1)
    month(path / "feb.csv", 2)
    month(path / "mar.csv", 3, new=60)
    month(path / "apr.csv", 4, n=200, spent=0.01)
    prepared = ("--impute", "median", "--one-hot", "plan", "--standardize")
    found = ("--clusters", 3, "--id", "customer", "--resamples", 4, "--n-jobs", 1, "--quiet")
    call("score", path / "jan.csv", *prepared, *found, "--save", path / "jan.model")
    return path


def test_a_month_without_news(folder):
    said = call("watch", "--model", folder / "jan.model", folder / "feb.csv").stdout
    assert "feb.csv: 600 rows. Nothing changed beyond chance." in said


def test_each_file_is_a_period_and_the_worst_decides(folder):
    done = call(
        "watch", "--model", folder / "jan.model", *(folder / f"{name}.csv" for name in ("feb", "mar", "apr")), code=4
    )
    assert "A new cluster appeared: 10.0%" in done.stdout
    assert "spent was rescaled by 0.01" in done.stdout
    assert "Beyond --tolerance 0.05" in done.stderr
    assert "feb.csv" not in done.stderr.split("Beyond")[1]


def test_tolerance_decides_about_the_exit_code(folder):
    words = ("watch", "--model", folder / "jan.model", folder / "mar.csv", "--quiet")
    call(*words, "--tolerance", 0.5)
    call(*words, "--tolerance", 0, code=4)
    call("watch", "--model", folder / "jan.model", folder / "feb.csv", "--quiet", "--tolerance", 0)


def test_json_has_all_of_it(folder):
    done = call("watch", "--model", folder / "jan.model", folder / "mar.csv", "--json", code=4)
    told = json.loads(done.stdout)
    (period,) = told["periods"]
    assert period["beyond_tolerance"] is True
    assert period["findings"][0]["kind"] == "new cluster"
    assert period["severity"] == pytest.approx(0.1, abs=0.03)
    assert {row["cluster"] for row in period["clusters"]} == {0, 1, 2, "all"}
    assert {row["feature"] for row in period["features"]} >= {"age", "spent", "plan=basic"}


def test_batches_do_not_change_what_is_found(folder):
    words = ("watch", "--model", folder / "jan.model", folder / "mar.csv", "--json")
    whole, pieces = (json.loads(call(*words, *more, code=4).stdout) for more in ((), ("--batch-rows", 101)))
    for one, other in zip(whole["periods"][0]["clusters"], pieces["periods"][0]["clusters"], strict=True):
        assert one["share_now"] == other["share_now"]


def test_python_finds_the_same_with_the_model_of_the_command(folder):
    scorer = AffinityScorer.load(folder / "jan.model")
    march = pd.read_csv(folder / "mar.csv")
    told = json.loads(call("watch", "--model", folder / "jan.model", folder / "mar.csv", "--json", code=4).stdout)
    comparison = compare_periods(scorer, None, march[list(scorer.feature_names_in_)])
    assert [finding.sentence for finding in comparison.findings] == [
        finding["sentence"] for finding in told["periods"][0]["findings"]
    ]
