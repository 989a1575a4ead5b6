"""``allegiance compare``, ``curve`` and ``review``."""

import json
import signal
import time
import urllib.request

import numpy as np
import pandas as pd
import pytest

from cli.command import call, start


def test_compare_ranks_candidates_and_writes_their_labels(flowers, tmp_path):
    words = ["compare", flowers, "--labels", "species", "--algorithm", "kmeans", "--algorithm", "gmm"]
    common = [*words, "--clusters", 3, "--resamples", 4]
    text = call(*common, "-o", tmp_path / "out.csv").stdout
    assert text.startswith("3 clusterings of 60 points\nHighest replication above chance: ")
    result = pd.read_csv(tmp_path / "out.csv")
    assert result["label_species"].tolist() == result["species"].tolist()
    assert {"trust_kmeans", "verdict_gmm", "best", "n_firm"} <= set(result)
    summary = json.loads(call(*common, "--json").stdout)
    assert [line["name"] for line in summary["candidates"]] == ["species", "kmeans", "gmm"]
    assert all(line["above_chance"] <= 1 for line in summary["candidates"])


def test_compare_counts_the_rows_that_are_left_out(flowers, tmp_path):
    frame = pd.read_csv(flowers)
    frame.loc[:4, "species"] = None
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    words = ["--labels", "species", "--algorithm", "kmeans", "--clusters", 3, "--resamples", 2]
    result = call("compare", tmp_path / "gaps.csv", *words)
    assert result.stdout.startswith("2 clusterings of 55 points")
    assert "5 of 60 rows have no label in 'species' and are left out" in result.stderr


def test_curve_suggests_the_number_of_blobs(rng, tmp_path):
    X = np.repeat([[0.0, 0.0], [9.0, 0.0], [4.0, 8.0]], 60, axis=0) + rng.normal(size=(180, 2))
    pd.DataFrame(X, columns=["width", "height"]).to_csv(tmp_path / "blobs.csv", index=False)
    words = ["curve", tmp_path / "blobs.csv", "--clusters", "2-5", "--resamples", 10]
    result = json.loads(call(*words, "--json").stdout)
    assert result["suggested"] == 3
    assert [line["n_clusters"] for line in result["curve"]] == [2, 3, 4, 5]
    words += ["-o", tmp_path / "curve.csv", "--if-exists", "update"]
    assert "k = 3 stands out" in call(*words).stdout
    assert len(pd.read_csv(tmp_path / "curve.csv")) == 4
    assert "up to date" in call(*words).stderr


@pytest.mark.slow
def test_review_serves_a_page_until_it_is_interrupted(flowers):
    words = ["review", flowers, "--labels", "species", "--resamples", 3, "--no-browser", "--json"]
    with start(*words) as process:
        assert process.stdout is not None
        lines = b""
        while not lines.rstrip().endswith(b"}"):
            lines += process.stdout.readline()
        served = json.loads(lines)
        with urllib.request.urlopen(served["url"], timeout=30) as page:
            assert b"f001" in page.read()
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"decisions are in" in errors
    assert served["decisions"] == f"{flowers}.decisions.jsonl"
