"""A period read in batches is that in memory."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans

from allegiance import AffinityScorer
from allegiance.io import TableError
from allegiance.io.streams import profile_stream


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(400, 3)) + 4.0 * rng.integers(3, size=(400, 1)), columns=["a", "b", "c"])


@pytest.fixture(scope="module")
def scorer(rows):
    return AffinityScorer(KMeans(3, n_init=2, random_state=0), calibration=4, n_jobs=1).fit(rows)


@pytest.mark.parametrize("batch_rows", [37, 1000])
def test_figures_are_those_in_memory(scorer, rows, tmp_path, batch_rows):
    rows.assign(id=range(400)).to_parquet(tmp_path / "rows.parquet")
    found = profile_stream(tmp_path / "rows.parquet", scorer.fitted_, batch_rows=batch_rows, reference=True)
    known = scorer.profile(rows, reference=True)
    assert np.array_equal(found.counts, known.counts)
    assert np.array_equal(found.quantiles, known.quantiles)
    assert np.array_equal(found.optimism, known.optimism)
    assert list(found.names) == list(known.names) == ["a", "b", "c"]
    np.testing.assert_allclose(found.trust, known.trust, rtol=1e-12)
    np.testing.assert_allclose(found.moments.mean, known.moments.mean, atol=1e-12)


def test_a_table_without_rows_is_refused(scorer, rows, tmp_path):
    rows[:0].to_parquet(tmp_path / "none.parquet")
    with pytest.raises(TableError, match="no rows"):
        profile_stream(tmp_path / "none.parquet", scorer.fitted_)
