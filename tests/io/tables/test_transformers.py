"""The preparation of tables: what scikit-learn's own transformers find in the whole table, found in passes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from allegiance.io._old_tables import TableError, check_features, number_features, open_source, plan_features
from allegiance.io._old_tables import _plan as plan_module
from tables import read_exactly


@pytest.fixture
def frame(rng):
    n = 300
    found = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue"], n),
            "x": rng.normal(size=n) * 1e3,
            "kind": rng.choice([1, 2, 3], n).astype(str),
            "y": rng.normal(size=n).astype(np.float64),
        }
    )
    found.loc[rng.choice(n, 20, replace=False), "x"] = np.nan
    found.loc[rng.choice(n, 15, replace=False), "colour"] = None
    return found


def written(frame, path):
    frame.to_csv(path, index=False)
    return path


def test_scikit_learn_finds_the_same_in_the_whole_table(frame, tmp_path):
    source = open_source(written(frame, tmp_path / "t.csv"))
    plan = plan_features(source, one_hot=["colour", "kind"], impute="median", standardize=True)
    encode = make_pipeline(
        SimpleImputer(strategy="most_frequent", missing_values=None), OneHotEncoder(sparse_output=False)
    )
    median = SimpleImputer(strategy="median")
    by_hand = ColumnTransformer(
        [
            ("a", encode, ["colour"]),
            ("b", median, ["x"]),
            ("c", OneHotEncoder(sparse_output=False), ["kind"]),
            ("d", median, ["y"]),
        ]
    )
    objects = frame.astype({"colour": object})
    objects["colour"] = objects["colour"].where(objects["colour"].notna(), None)
    expected = by_hand.fit_transform(objects)
    scaler = StandardScaler()
    for start in range(0, len(expected), 65_536):
        scaler.partial_fit(expected[start : start + 65_536])
    np.testing.assert_array_equal(plan.prepare(source.read()).matrix, scaler.transform(expected))


def test_frames_of_any_library_are_prepared_alike(frame, tmp_path):
    path = written(frame, tmp_path / "t.csv")
    source = open_source(path)
    plan = plan_features(source, one_hot=["colour", "kind"], impute="median", standardize=True)
    expected = plan.prepare(source.read()).matrix
    np.testing.assert_array_equal(plan.preparation.transform(read_exactly(path)), expected)
    np.testing.assert_array_equal(plan.preparation.transform(pl.read_csv(path)), expected)
    assert plan.preparation.get_feature_names_out().tolist() == list(plan.names)


def test_batches_are_prepared_as_the_whole_is(frame, tmp_path):
    source = open_source(written(frame, tmp_path / "t.csv"))
    for settings in ({"impute": "median"}, {"impute": "drop"}, {"impute": "median", "standardize": True}):
        plan = plan_features(source, one_hot=["colour", "kind"], **settings)
        parts = [plan.prepare(batch) for batch in source.batches(rows=37)]
        whole = plan.prepare(source.read())
        np.testing.assert_array_equal(np.concatenate([part.matrix for part in parts]), whole.matrix)
        np.testing.assert_array_equal(np.concatenate([part.kept for part in parts]), whole.kept)


def table(tmp_path, text, **settings):
    (tmp_path / "t.csv").write_text(text)
    source = open_source(tmp_path / "t.csv")
    plan = plan_features(source, **settings)
    return plan, plan.prepare(source.read()).matrix


def test_money_percent_and_decimal_commas_are_numbers(tmp_path):
    plan, X = table(tmp_path, 'a;b;c\n"$1,452.74";26%;7\n($20);3%;8\n')
    np.testing.assert_array_equal(X, [[1452.74, 0.26, 7], [-20, 0.03, 8]])
    assert [reading.holds for reading in plan.readings.values()] == ["written", "written", "numbers"]
    _, X = table(tmp_path, "a;b\n1.452,74 €;1.200\n3,5 €;2.500\n")
    # The first column shows that the comma is the decimal mark, so that the point of the second separates thousands.
    np.testing.assert_array_equal(X, [[1452.74, 1200], [3.5, 2500]])
    _, X = table(tmp_path, "a;b\n1.452,74 €;0.5\n3,5 €;\n", impute="drop")
    np.testing.assert_array_equal(X, [[1452.74, 0.5]])


def test_one_table_has_one_decimal_mark(tmp_path):
    text = 'a,b\n"1,452","3,5"\n"2,000","4,25"\n'
    plan, X = table(tmp_path, text)
    np.testing.assert_array_equal(X, [[1.452, 3.5], [2.0, 4.25]])
    assert plan.noticed.ambiguous == {}
    plan, X = table(tmp_path, 'a,b\n"1,452",1\n"2,000",2\n')
    np.testing.assert_array_equal(X, [[1452, 1], [2000, 2]])
    assert plan.noticed.ambiguous == {"a": "1,452"}
    assert table(tmp_path, 'a,b\n"1,452",1\n"2,000",2\n', decimal=",")[1][0, 0] == 1.452
    with pytest.raises(TableError, match="decimal must be"):
        table(tmp_path, text, decimal=";")


def test_codes_written_with_digits_in_a_column_of_text_stay_text(tmp_path):
    pa.parquet = pytest.importorskip("pyarrow.parquet")
    pa.parquet.write_table(pa.table({"code": ["1", "2"], "x": [1.0, 2.0]}), tmp_path / "t.parquet")
    with pytest.raises(TableError, match="'code'"):
        plan_features(open_source(tmp_path / "t.parquet"))


def test_a_text_that_is_no_number_further_down_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("allegiance.io._old_tables._source.BATCH_ROWS", 2)
    rows = ["$1", "$2", "$3", "free"]
    (tmp_path / "t.csv").write_text("price\n" + "\n".join(rows))
    source = open_source(tmp_path / "t.csv")
    batches = source.batches
    monkeypatch.setattr(source, "batches", lambda columns: batches(rows=2, columns=columns))
    with pytest.raises(TableError, match="column 'price' holds 'free', which is not a number"):
        plan_features(source)


def test_dates_are_days_and_cycles_when_asked(tmp_path):
    text = "day,x\n1970-01-02,1\n1970-01-05,2\n,3\n"
    plan, X = table(tmp_path, text, impute="drop")
    np.testing.assert_array_equal(X, [[1, 1], [4, 2]])
    assert plan.noticed.dates == ("day",)
    plan, X = table(tmp_path, text, impute="median", cycles=["week"])
    assert plan.names == ("day", "day:week:sin", "day:week:cos", "x")
    np.testing.assert_allclose(X[1], [4, 0, 1, 2], atol=1e-12)
    # What stands in is the median day, with the position of that day in its week.
    angle = 2 * np.pi * (2.5 + 3) / 7
    np.testing.assert_allclose(X[2], [2.5, np.sin(angle), np.cos(angle), 3], atol=1e-12)
    with pytest.raises(TableError, match="cycles must be among year, week, day, got 'month'"):
        table(tmp_path, text, cycles=["month"])


def test_values_that_mean_missing_are_noticed_and_made_missing(tmp_path, rng):
    values = rng.integers(20, 80, 100)
    values[:3] = -999
    text = "age,mark\n" + "\n".join(f"{value},{'?' if i == 5 else i}" for i, value in enumerate(values))
    with pytest.raises(TableError, match="'mark'"):
        table(tmp_path, text)
    plan, _ = table(tmp_path, text, missing=["?"], impute="median")
    assert plan.noticed.sentinels == {"age": (-999.0, 0.03)}
    plan, X = table(tmp_path, text, missing={"age": [-999], "mark": ["?"]}, impute="median")
    assert plan.noticed.sentinels == {}
    assert plan.noticed.n_filled == 4
    assert X[0, 0] == np.median(values[3:])
    assert X[5, 1] == np.median(np.delete(np.arange(100.0), 5))


@pytest.mark.parametrize("values", [[-999, 5, -3], [-9, 1, 2, 3], [999, 990, 1000, 999], [99, 98, 97, 99, 99]])
def test_numbers_among_others_are_not_taken_for_missing(tmp_path, values):
    plan, _ = table(tmp_path, "a\n" + "\n".join(map(str, values * 5 if values[0] == 99 else values)))
    assert plan.noticed.sentinels == {}


def test_the_column_with_most_of_the_variance_is_known(frame, tmp_path):
    source = open_source(written(frame, tmp_path / "t.csv"))
    name, share = plan_features(source, one_hot=["colour", "kind"], impute="drop").noticed.dominant
    assert name == "x"
    spread = [frame["x"].var(ddof=0), frame["y"].var(ddof=0)]
    for column in ("colour", "kind"):
        shares = frame[column].value_counts(normalize=True)
        spread.append((shares * (1 - shares)).sum())
    assert share == pytest.approx(spread[0] / sum(spread))
    assert plan_features(source, one_hot=["colour", "kind"], impute="drop", standardize=True).noticed.dominant is None


def test_a_later_table_is_read_as_the_first_one_was(tmp_path):
    plan, _ = table(tmp_path, "code,price,x\n01,$3,1\n1,$4,2\n01,$5,\n", one_hot=["code"], impute="median")
    assert plan.names == ("code=01", "code=1", "price", "x")
    (tmp_path / "later.csv").write_text("x,new,price,code\n7,0,6,1\n,0,,01\n3,0,$1,2\n")
    later = open_source(tmp_path / "later.csv")
    found = check_features(later, plan)
    np.testing.assert_array_equal(found.prepare(later.read()).matrix, [[0, 1, 6, 7], [1, 0, 4, 1.5], [0, 0, 1, 3]])
    assert found.noticed.unknown == {"code": {"2": 1}}
    assert found.noticed.ignored == ("new",)
    assert (found.noticed.n_rows, found.noticed.n_filled) == (3, 2)
    (tmp_path / "lacking.csv").write_text("x\n1\n")
    with pytest.raises(TableError, match="2 columns that the model needs are missing: 'code', 'price'"):
        check_features(open_source(tmp_path / "lacking.csv"), plan)
    (tmp_path / "words.csv").write_text("x,price,code\nlots,1,1\n")
    with pytest.raises(TableError, match=r"words\.csv: column 'x' holds 'lots', which is not a number"):
        check_features(open_source(tmp_path / "words.csv"), plan)


def test_a_column_that_is_empty_later_gets_what_stands_in(tmp_path):
    plan, _ = table(tmp_path, "a,b\n1,2\n3,\n", impute="median")
    (tmp_path / "later.csv").write_text("a,b\n1,\n2,\n")
    later = open_source(tmp_path / "later.csv")
    np.testing.assert_array_equal(check_features(later, plan).prepare(later.read()).matrix, [[1, 2], [2, 2]])


def test_features_of_the_same_name_are_refused(tmp_path):
    with pytest.raises(TableError, match="two features would have the same name"):
        table(tmp_path, "a,a=u\nu,1\nv,2\n", one_hot=["a"])


def test_numbers_alone_need_no_plan():
    plan = number_features(["b", "a"])
    np.testing.assert_array_equal(plan.prepare(pa.table({"a": [1, 2], "b": [3.0, 4.0]})).matrix, [[3, 1], [4, 2]])
    assert plan_module.number_features is number_features
