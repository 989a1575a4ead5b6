"""Columns as numbers: which, and what stands in for missing ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from allegiance.io._old_tables import TableError, check_categories, open_source, plan_features
from allegiance.io._old_tables._looked import ThinnedValues

TEXT = "id,x,y,colour,day\n1,1.5,1,red,2024-01-01\n2,,3,blue,2024-01-02\n3,2.5,,red,2024-01-03\n4,4.5,5,,2024-01-04\n"


@pytest.fixture
def source(tmp_path):
    (tmp_path / "table.csv").write_text(TEXT)
    return open_source(tmp_path / "table.csv", text=["id"])


def test_columns_that_are_no_numbers_are_named_with_the_remedies(source):
    with pytest.raises(TableError, match=r"1 column is not a number: 'colour' \(string\)\. .*with one_hot"):
        plan_features(source, apart=["id"])


def test_missing_values_are_counted(source):
    with pytest.raises(TableError, match=r"2 values missing: x \(1\), y \(1\)\. Fill them in with impute='median'"):
        plan_features(source, features=["x", "y"])


def test_medians_fill_in(source):
    plan = plan_features(source, features=["x", "y"], impute="median")
    X, kept = plan.prepare(source.read())
    np.testing.assert_array_equal(X, [[1.5, 1], [2.5, 3], [2.5, 3], [4.5, 5]])
    assert kept.all()
    assert (plan.noticed.n_filled, plan.noticed.n_dropped) == (2, 0)


def test_incomplete_rows_are_dropped(source):
    plan = plan_features(source, features=["x", "y"], impute="drop")
    X, kept = plan.prepare(source.read())
    np.testing.assert_array_equal(X, [[1.5, 1], [4.5, 5]])
    assert kept.tolist() == [True, False, False, True]
    assert (plan.noticed.n_filled, plan.noticed.n_dropped, plan.noticed.n_rows) == (0, 2, 4)


def test_categories_become_columns(source):
    plan = plan_features(source, features=["x"], one_hot=["colour"], impute="median")
    assert plan.names == ("x", "colour=blue", "colour=red")
    X, _ = plan.prepare(source.read())
    # The colour of the last row is missing: red is the most frequent.
    np.testing.assert_array_equal(X[:, 1:], [[0, 1], [1, 0], [0, 1], [0, 1]])


def test_a_missing_category_drops_the_row(source):
    plan = plan_features(source, features=["colour"], one_hot=["colour"], impute="drop")
    assert plan.prepare(source.read()).kept.tolist() == [True, True, True, False]


def test_numbers_can_be_categories(source):
    plan = plan_features(source, one_hot=["id"], features=["id"])
    assert plan.names == ("id=1", "id=2", "id=3", "id=4")


def test_all_text_can_be_encoded_or_dropped_at_once(source):
    assert plan_features(source, apart=["id"], categorical="drop", impute="drop").names == ("x", "y", "day")
    plan = plan_features(source, apart=["id"], drop=["day"], categorical="one-hot", impute="drop")
    assert plan.names == ("x", "y", "colour=blue", "colour=red")
    with pytest.raises(TableError, match="no column of numbers"):
        plan_features(source, features=["colour"], categorical="drop")


def test_batches_give_what_the_table_gives(source):
    plan = plan_features(source, features=["x"], one_hot=["colour"], impute="drop")
    whole = plan.prepare(source.read())
    parts = [plan.prepare(batch) for batch in source.batches(rows=1)]
    np.testing.assert_array_equal(np.concatenate([part.matrix for part in parts]), whole.matrix)
    np.testing.assert_array_equal(np.concatenate([part.kept for part in parts]), whole.kept)


def test_a_category_never_seen_is_none_of_the_known_ones(source):
    plan = plan_features(source, features=["colour"], one_hot=["colour"], impute="drop")
    table = pa.table({"colour": ["green"]})
    np.testing.assert_array_equal(plan.prepare(table).matrix, [[0, 0]])
    with pytest.raises(TableError, match=r"centers\.csv: column 'colour' holds 'green'"):
        check_categories(plan, table, "centers.csv")


def test_a_column_cannot_be_two_things(source):
    with pytest.raises(TableError, match="'x' cannot be a feature and be dropped"):
        plan_features(source, features=["x"], drop=["x"])
    with pytest.raises(TableError, match="no column 'z'"):
        plan_features(source, drop=["z"])


def test_the_index_of_a_frame_is_left_out(tmp_path):
    (tmp_path / "table.csv").write_text(",a\n0,1\n1,2\n")
    source = open_source(tmp_path / "table.csv")
    plan = plan_features(source)
    assert (plan.columns, plan.noticed.left_out) == (("a",), ("",))
    assert plan_features(source, features=["", "a"]).columns == ("", "a")
    assert plan_features(source, apart=[""]).noticed.left_out == ()


def test_columns_that_count_the_rows_are_noticed(tmp_path):
    rows = [f"{i + 5},{i % 7},{i + 0.5},{2 * i}" for i in range(100)]
    (tmp_path / "table.csv").write_text("\n".join(["number,a,b,c", *rows]))
    source = open_source(tmp_path / "table.csv")
    assert plan_features(source).noticed.counting == ("number",)
    assert plan_features(source, apart=["number"]).noticed.counting == ()


def test_tables_without_rows_columns_or_values_are_refused(tmp_path):
    for name, text in [("header", "a,b\n"), ("empty", "a,b\n1,\n2,\n"), ("infinite", "a,b\n1,inf\n2,3\n")]:
        (tmp_path / f"{name}.csv").write_text(text)
    with pytest.raises(TableError, match="a header, but no rows"):
        plan_features(open_source(tmp_path / "header.csv"))
    with pytest.raises(TableError, match="column 'b' has no values at all"):
        plan_features(open_source(tmp_path / "empty.csv"), impute="median")
    with pytest.raises(TableError, match="no values at all"):
        plan_features(open_source(tmp_path / "empty.csv"), impute="drop")
    with pytest.raises(TableError, match=r"infinite values in b \(1\)"):
        plan_features(open_source(tmp_path / "infinite.csv"))
    with pytest.raises(TableError, match="no column left"):
        plan_features(open_source(tmp_path / "infinite.csv"), drop=["a", "b"])


def test_an_identifier_is_no_category(tmp_path):
    (tmp_path / "table.csv").write_text("name\n" + "\n".join(f"n{i}" for i in range(1_001)))
    with pytest.raises(TableError, match="more than 1,000 distinct values"):
        plan_features(open_source(tmp_path / "table.csv"), categorical="one-hot")


def test_unknown_choices_are_refused(source):
    with pytest.raises(TableError, match="impute must be"):
        plan_features(source, impute="mean")
    with pytest.raises(TableError, match="categorical must be"):
        plan_features(source, categorical="ordinal")


def test_single_precision_stays_single(tmp_path):
    table = pa.table({"a": pa.array([1, 2], pa.float32()), "b": pa.array([3, None], pa.float32())})
    pa.parquet.write_table(table, tmp_path / "table.parquet")
    source = open_source(tmp_path / "table.parquet")
    assert plan_features(source, impute="drop").prepare(source.read()).matrix.dtype == np.float32


def test_other_kinds_of_numbers_are_numbers(tmp_path):
    table = pa.table(
        {
            "flag": [True, None],
            "decimal": pa.array([1.5, 2.5]).cast(pa.decimal128(5, 2)),
            "small": pa.array([1, 2], pa.uint8()),
            "category": pa.array(["u", "v"]).dictionary_encode(),
        }
    )
    pa.parquet.write_table(table, tmp_path / "table.parquet")
    source = open_source(tmp_path / "table.parquet")
    plan = plan_features(source, one_hot=["category"], impute="median")
    np.testing.assert_array_equal(plan.prepare(source.read()).matrix, [[1, 1.5, 1, 1, 0], [1, 2.5, 2, 0, 1]])


def test_the_median_of_very_many_values_is_close(rng, monkeypatch):
    monkeypatch.setattr("allegiance.io._old_tables._looked._MOST_VALUES", 1_000)
    values, thinned = np.sort(rng.normal(size=20_000)), ThinnedValues()
    for part in np.array_split(values, 37):
        thinned.add(part)
        assert thinned._size <= 1_000
    # Sorted values, evenly thinned out: the median moves by a few ranks only.
    rank = np.searchsorted(values, thinned.median())
    assert abs(rank - 10_000) < 100


def test_standardizing_gives_mean_0_and_variance_1(tmp_path, rng):
    X = rng.normal(size=(1_000, 3)) * [1e-3, 1.0, 1e6] + [1e6, 0.0, 5.0]
    np.save(tmp_path / "points.npy", np.column_stack([X, np.full(1_000, 7.0)]))
    source = open_source(tmp_path / "points.npy")
    plan = plan_features(source, standardize=True)
    scaled = plan.prepare(source.read()).matrix
    np.testing.assert_allclose(scaled[:, :3], (X - X.mean(axis=0)) / X.std(axis=0), atol=1e-6)
    np.testing.assert_array_equal(scaled[:, 3], 0)
    np.testing.assert_array_equal(plan.scaled(np.array([[0, 0, 0, 7.0]]))[:, 3], 0)


def test_the_scale_does_not_suffer_from_batches(tmp_path, rng, monkeypatch):
    np.save(tmp_path / "points.npy", rng.normal(size=(1_000, 2)) + 1e8)
    source = open_source(tmp_path / "points.npy")
    whole = plan_features(source, standardize=True).preparation["scale"]
    batches = source.batches
    monkeypatch.setattr(source, "batches", lambda columns: batches(rows=17, columns=columns))
    parts = plan_features(source, standardize=True).preparation["scale"]
    # Sums of squares of numbers around 1e8 would have lost every digit.
    np.testing.assert_allclose(parts.scale_, whole.scale_, rtol=1e-7)
    np.testing.assert_allclose(parts.mean_, whole.mean_, rtol=1e-14)
