"""Tables of numbers, made while reading."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from allegiance.io._old_tables import PreparedSource, TableError, open_source, plan_features


@pytest.fixture
def source(tmp_path):
    lines = [f"n{i},{i % 5},{'' if i % 4 == 3 else i},{'ab'[i % 2]}" for i in range(50)]
    (tmp_path / "table.csv").write_text("\n".join(["name,x,y,kind", *lines]))
    return open_source(tmp_path / "table.csv")


def test_what_is_prepared_while_reading_is_what_is_prepared_at_once(source):
    plan = plan_features(source, apart=["name"], one_hot=["kind"], impute="drop", standardize=True)
    prepared = PreparedSource(source, plan, ["name"])
    expected, kept = plan.prepare(source.read())
    table = prepared.read()
    assert table.schema == prepared.schema
    assert table["name"].to_pylist() == [f"n{i}" for i in np.flatnonzero(kept)]
    np.testing.assert_array_equal(np.column_stack([table[name] for name in plan.names]), expected)
    assert prepared.n_rows == table.num_rows == 38


@pytest.mark.parametrize("impute", ["drop", "median"])
def test_batches_are_full_and_can_start_anywhere(source, impute):
    plan = plan_features(source, apart=["name"], drop=["kind"], impute=impute)
    prepared = PreparedSource(source, plan)
    whole = prepared.read().to_pylist()
    assert whole[3]["row"] == (4 if impute == "drop" else 3)
    for start in [0, 1, 17, len(whole)]:
        batches = list(prepared.batches(rows=7, start=start))
        assert all(batch.num_rows == 7 for batch in batches[:-1])
        assert [row for batch in batches for row in batch.to_pylist()] == whole[start:]
    assert prepared.read(["y", "row"]).column_names == ["y", "row"]


def test_names_must_not_clash(source):
    plan = plan_features(source, features=["x"])
    with pytest.raises(TableError, match="more than one column named 'x'"):
        PreparedSource(source, plan, ["x"])


def test_single_precision_stays_single(tmp_path):
    np.save(tmp_path / "points.npy", np.ones((3, 2), dtype=np.float32))
    source = open_source(tmp_path / "points.npy")
    assert PreparedSource(source, plan_features(source)).read(["x0"]).schema.types == [pa.float32()]


def test_a_feature_may_be_called_row(tmp_path):
    (tmp_path / "table.csv").write_text("row,row_,x\n5,1,2\n7,3,4\n")
    source = open_source(tmp_path / "table.csv")
    prepared = PreparedSource(source, plan_features(source))
    assert prepared.row_column == "row__"
    assert prepared.read().to_pydict() == {"row__": [0, 1], "row": [5, 7], "row_": [1, 3], "x": [2, 4]}
    assert PreparedSource(source, plan_features(source, apart=["x"]), ["x"]).row_column is None
