import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from allegiance.report import check_texts


@pytest.mark.parametrize(
    "texts",
    [
        ["one", None, "three"],
        np.array(["one", None, "three"], dtype=object),
        pd.Series(["one", None, "three"]),
        pd.Series(["one", None, "three"], dtype=object),
        pl.Series(["one", None, "three"]),
        pa.chunked_array([["one", None], ["three"]]),
        ("one", float("nan"), "three"),
        ["one", pd.NA, "three"],
    ],
    ids=["list", "array", "pandas", "pandas objects", "polars", "arrow", "tuple with NaN", "NA"],
)
def test_any_kind_of_sequence_is_read_and_may_have_gaps(texts):
    checked = check_texts(texts, 3)
    assert [checked[row] for row in range(3)] == ["one", "", "three"]


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        (["a", "b"], ValueError, "texts has 2 entries but the result has 3 points"),
        (["a", "b", 5], TypeError, r"texts\[2\] is 5 \(int\): convert it with str"),
        ("abc", TypeError, "texts must have one entry for each point, got a single str"),
    ],
    ids=["length", "number", "one string"],
)
def test_bad_texts_are_named(texts, error, message):
    with pytest.raises(error, match=message):
        check_texts(texts, 3)


def test_excerpts_are_cut_and_stay_within_the_budget():
    texts = check_texts(["x" * 50, "", "  short  ", "y" * 2_000], 4)
    assert texts.excerpt(2) == "short"
    assert texts.excerpt(3) == "y" * 999 + "…"
    rows = np.array([3, 1, 2, 0])
    assert list(texts.excerpts(rows)) == [3, 2, 0]
    assert list(texts.excerpts(rows, budget=1_010)) == [3, 2]
    assert check_texts(texts, 4) is texts
    assert check_texts(None, 4) is None
