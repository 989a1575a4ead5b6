"""Months of customers, of which it is known what changed."""

import json

import numpy as np
import pandas as pd
import pytest

from allegiance import AffinityScorer, compare_periods
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
    assert "A new cluster appeared: 10.0 %" in done.stdout
    assert "spent changed its unit: its values are a 100th of what they were." in done.stdout
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
    assert {row["measure"] for row in period["changes"]} == {"share", "right", "contested", "contradicted", "unlike"}
    assert {row["feature"] for row in period["features"]} >= {"age", "spent", "plan=basic"}


def test_batches_do_not_change_what_is_found(folder):
    words = ("watch", "--model", folder / "jan.model", folder / "mar.csv", "--json")
    whole, pieces = (json.loads(call(*words, *more, code=4).stdout) for more in ((), ("--batch-rows", 101)))
    for one, other in zip(whole["periods"][0]["changes"], pieces["periods"][0]["changes"], strict=True):
        assert one["now"] == pytest.approx(other["now"], nan_ok=True, rel=1e-12)


def test_python_finds_the_same_with_the_model_of_the_command(folder):
    scorer = AffinityScorer.load(folder / "jan.model")
    march = pd.read_csv(folder / "mar.csv")
    told = json.loads(call("watch", "--model", folder / "jan.model", folder / "mar.csv", "--json", code=4).stdout)
    comparison = compare_periods(scorer, None, march[list(scorer.feature_names_in_)])
    assert [finding.sentence for finding in comparison.findings] == [
        finding["sentence"] for finding in told["periods"][0]["findings"]
    ]


def test_report_is_written(folder, tmp_path):
    page = tmp_path / "drift.html"
    files = (folder / "feb.csv", folder / "mar.csv")
    call("watch", "--model", folder / "jan.model", *files, "--report", page, "--title", "Spring", "--quiet", code=4)
    text = page.read_text(encoding="utf-8")
    assert "<h1>Spring</h1>" in text
    assert "A new cluster appeared" in text
    call("watch", "--model", folder / "jan.model", *files, "--report", page, "--quiet", code=1)


def test_models_without_a_baseline_are_refused_with_the_remedy(folder, tmp_path):
    path = tmp_path / "plain.model"
    words = ("score", folder / "jan.csv", "--clusters", 3, "--features", "age,spent", "--impute", "median", "--quiet")
    call(*words, "--no-calibration", "--save", path)
    done = call("watch", "--model", path, folder / "feb.csv", code=1)
    assert "has no baseline to compare with" in done.stderr


def test_the_report_may_not_replace_what_is_read(folder):
    done = call(
        "watch", "--model", folder / "jan.model", folder / "feb.csv", "--report", folder / "feb.csv", "--force", code=1
    )
    assert "feb.csv" in done.stderr
    assert (folder / "feb.csv").read_text().startswith("customer,")
