"""The page of periods: what it shows, and that names stay text."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans

from allegiance import AffinityScorer, compare_periods
from allegiance.report import render_drift_report, write_drift_report

HOSTILE = "</svg><script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def comparisons():
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])

    def draw(n):
        cluster = rng.integers(3, size=n)
        return pd.DataFrame(centers[cluster] + rng.normal(size=(n, 2)), columns=["age", HOSTILE]), cluster

    january, _ = draw(400)
    scorer = AffinityScorer(KMeans(3, n_init=2, random_state=0), calibration=4, n_jobs=1).fit(january)
    scorer.keep_baseline(january)
    february, cluster = draw(400)
    moved = february.copy()
    moved.loc[cluster == 1, HOSTILE] += 2.0
    return {"feb": compare_periods(scorer, None, february), HOSTILE: compare_periods(scorer, None, moved)}


def test_findings_and_panels_are_there(comparisons):
    page = render_drift_report(comparisons, title="Months")
    assert "<h1>Months</h1>" in page
    assert "Nothing changed beyond chance" in page
    assert page.count('class="panel') == 4 * 4 + 3
    assert page.count("<polyline") == 4 * 4 + 3
    assert 'class="period drifted"' in page


def test_names_from_the_data_stay_text_and_nothing_is_loaded(comparisons):
    page = render_drift_report(comparisons, title=HOSTILE)
    assert "<script" not in page
    assert "<img" not in page
    assert "http://" not in page
    assert "https://" not in page
    assert "default-src 'none'" in page


def test_the_file_is_written(comparisons, tmp_path):
    assert write_drift_report(comparisons, tmp_path / "drift.html").read_text(encoding="utf-8").startswith("<!doctype")
    with pytest.raises(ValueError, match="comparisons is empty"):
        write_drift_report({}, tmp_path / "other.html")
    assert not (tmp_path / "other.html").exists()
