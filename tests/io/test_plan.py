"""Columns as features: which, how, why not, and the same for every batch, file and library."""

import datetime
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from packaging.version import Version
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from allegiance.io import FeaturePlan, TableError, propose
from allegiance.io.batches import Rows
from allegiance.io.tables import open_table
from allegiance.io.values import read_labels

TEXT = "id,x,y,colour,day\n1,1.5,1,red,2024-01-01\n2,,3,blue,2024-01-02\n3,2.5,,red,2024-01-03\n4,4.5,5,,2024-01-04\n"


@pytest.fixture
def table(tmp_path):
    (tmp_path / "table.csv").write_text(TEXT)
    return open_table(tmp_path / "table.csv")


@pytest.fixture
def frame(rng):
    n = 300
    data = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue"], n),
            "x": rng.normal(size=n) * 1e3 + 1e6,
            "kind": rng.choice(["u", "v"], n),
            "y": rng.normal(size=n),
        }
    )
    data.loc[rng.choice(n, 20, replace=False), "x"] = np.nan
    data.loc[rng.choice(n, 15, replace=False), "colour"] = None
    return data


@pytest.fixture
def path(frame, tmp_path):
    frame.to_csv(tmp_path / "frame.csv", index=False)
    return tmp_path / "frame.csv"


def test_scikit_learn_finds_the_same_numbers(frame, path):
    plan = propose(path)
    columns = dict(zip(plan.names, plan.matrix(path).T, strict=True))
    scaled = StandardScaler().fit(frame[["x", "y"]])
    expected = scaled.transform(frame[["x", "y"]].fillna(frame[["x", "y"]].median()))
    np.testing.assert_allclose(np.column_stack([columns["x"], columns["y"]]), expected, rtol=1e-10, atol=1e-10)
    for column in ("colour", "kind"):
        texts = frame[[column]].fillna("(missing)").astype(object)
        encoder = OneHotEncoder(sparse_output=False, feature_name_combiner=lambda name, value: f"{name}={value}")
        ones = encoder.fit_transform(texts)
        block = np.column_stack([columns[name] for name in encoder.get_feature_names_out()])
        np.testing.assert_allclose(block, (ones - ones.mean(axis=0)) / np.sqrt(ones.var(axis=0).sum()), atol=1e-12)
        # Each column of the table weighs as much as any other.
        assert block.var(axis=0).sum() == pytest.approx(1.0)


def read_exactly(path):
    """Return a CSV file as a frame of pandas with every digit of its numbers, which is pandas' default since 3.1."""
    options = {} if Version(pd.__version__) >= Version("3.1") else {"float_precision": "round_trip"}
    return pd.read_csv(path, **options)


def test_frames_of_any_library_give_the_same_bits(path):
    plan = propose(path)
    expected = plan.matrix(path)
    for rows in (open_table(path).read(), read_exactly(path), pl.read_csv(path)):
        np.testing.assert_array_equal(plan.matrix(rows), expected)
    saved = FeaturePlan.from_dict(json.loads(json.dumps(plan.to_dict())))
    np.testing.assert_array_equal(saved.matrix(path), expected)
    assert (saved.names, saved.ids, saved.describe()[1:4]) == (plan.names, plan.ids, plan.describe()[1:4])


@pytest.mark.parametrize("impute", ["median", "drop"])
def test_batches_of_any_size_and_start_give_the_same_rows(path, impute):
    """A resumed stream repeated rows when its features came from a saved model and rows were left out."""
    table = open_table(path)
    plan = FeaturePlan.from_dict(propose(table, impute=impute).to_dict())
    matrix, used = plan.prepare(table.read())
    assert used.size == (300 if impute == "median" else matrix.shape[0]) > 200
    rows = Rows(table, plan, None, keep=["y"], row="row")
    for size, start in ((37, 0), (300, 0), (1, 290), (64, 128), (7, 300)):
        parts = list(rows.batches(size, start))
        assert parts[-1].consumed == 300 if parts else start == 300
        after = used >= start
        if parts:
            np.testing.assert_array_equal(np.concatenate([part.X for part in parts]), matrix[after])
            kept = pa.Table.from_batches([part.passthrough for part in parts])
            np.testing.assert_array_equal(kept["row"], used[after])
            assert kept["y"].to_pylist() == table.read(typed=False)["y"].take(used[after]).to_pylist()


def test_every_column_has_a_role_and_a_reason(tmp_path):
    rows = [f"k{i},{i + 7},{i % 4},3,,text {i // 2},{'ab'[i % 2]},{i * 7919 % 1000},{i % 3},[{i}]" for i in range(200)]
    header = "name,number,x,constant,empty,words,kind,orderID,segment,list"
    (tmp_path / "t.csv").write_text("\n".join([header, *rows]))
    plan = propose(tmp_path / "t.csv", labels="segment", keep="list")
    roles = {column.name: (column.role, column.reason) for column in plan.columns}
    assert roles["orderID"] == ("id", "unique")
    for name, word in (("name", "orderID"), ("number", "orderID"), ("constant", "always 3"), ("empty", "no values")):
        assert roles[name][0] == "left out"
        assert word in roles[name][1]
    assert "too many" in roles["words"][1]
    assert (roles["segment"][0], roles["list"][0]) == ("label", "kept")
    assert plan.used == ("x", "kind")
    output = "\n".join(plan.describe())
    assert all(column.name in output for column in plan.columns if column.role != "kept")


def test_options_decide_the_roles_of_columns(table):
    assert propose(table, features=["x", "colour"]).used == ("x", "colour")
    assert propose(table, features="[xy]").used == ("x", "y")
    assert propose(table, features=["id", "x"]).used == ("id", "x")
    assert propose(table, features=["x"]).ids == ("id",)
    assert propose(table, drop=["x", "d*"]).used == ("y", "colour")
    assert propose(table, id="day").ids == ("day",)
    assert propose(table, id=["id", "day"]).ids == ("id", "day")
    assert propose(table, one_hot="y", features="x").names == ("x", "y=1", "y=3", "y=5", "y=(missing)")
    with pytest.raises(TableError, match=r"'y' is a feature and in `id=`[^\n]*\n.*'x' is a feature and in `drop=`"):
        propose(table, features=["x", "y"], drop=["x"], id="y")
    with pytest.raises(TableError, match=r"'colur'. Did you mean 'colour'\?.*no column 'z'. Its columns are"):
        propose(table, drop=["z"], features=["x", "colur"])
    with pytest.raises(TableError, match="impute must be"):
        propose(table, impute="mean")


def test_missing_values_and_bare_numbers(table):
    scale = {"scale": False, "features": ["x", "y"]}
    np.testing.assert_array_equal(propose(table, **scale).matrix(table), [[1.5, 1], [2.5, 3], [2.5, 3], [4.5, 5]])
    matrix, used = propose(table, impute="drop", **scale).prepare(table.read())
    np.testing.assert_array_equal(matrix, [[1.5, 1], [4.5, 5]])
    assert used.tolist() == [0, 3]
    with pytest.raises(TableError, match=r"x \(1\), y \(1\).*impute='median'"):
        propose(table, impute=None, **scale).raise_problems()
    with pytest.raises(TableError, match="2 rows have a missing value"):
        propose(table, impute="drop", **scale).matrix(table)
    plan = propose(table, raw=True, drop=["y", "day"], impute="median")
    assert (plan.names, plan.scaled) == (("x",), False)
    np.testing.assert_array_equal(plan.matrix(table).ravel(), [1.5, 2.5, 2.5, 4.5])
    np.testing.assert_array_equal(FeaturePlan.of_numbers(["b", "a"]).matrix(pa.table({"a": [1], "b": [2.0]})), [[2, 1]])


def test_all_problems_at_once(tmp_path):
    rows = [f"{'inf' if i == 3 else i / 4},{'' if i == 5 else i / 3},{i % 2},t{i}" for i in range(2000)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,a=1,text", *rows]))
    with pytest.raises(TableError) as caught:
        propose(tmp_path / "t.csv", impute=None, features="*").raise_problems()
    for word in ("infinite", "missing", "'text'", "--drop"):
        assert word in str(caught.value)
    (tmp_path / "same.csv").write_text("a,a=u\n" + "u,1\nv,2\nu,3\n" * 4)
    assert "'a=u'" in propose(tmp_path / "same.csv").problems[0]


def test_rows_without_a_label_are_left_out(tmp_path):
    (tmp_path / "t.csv").write_text(
        "x,segment\n" + "\n".join(f"{i / 3},{['a', 'b', '', ' '][i % 4]}" for i in range(40))
    )
    table = open_table(tmp_path / "t.csv")
    plan = propose(table, labels="segment")
    assert any("20 of 40 rows have no label" in str(one) for one in plan.findings)
    parts = list(Rows(table, plan, None, labels="segment", row="row").batches(7))
    assert np.concatenate([part.labels for part in parts]).tolist() == ["a", "b"] * 10
    assert pa.Table.from_batches([part.passthrough for part in parts])["row"][:4].to_pylist() == [0, 1, 4, 5]


def test_missing_values_that_a_model_does_not_fill_are_named_together(tmp_path):
    (tmp_path / "t.csv").write_text("x,y,z\n" + "\n".join(f"{i / 3},{i % 7},{i % 4}" for i in range(30)))
    plan = propose(tmp_path / "t.csv", raw=True)
    (tmp_path / "later.csv").write_text("x,y,z\n1,,3\n,,4\n5,6,7\n")
    with pytest.raises(TableError, match=r"y \(2\), x \(1\).*impute='median'"):
        plan.matrix(open_table(tmp_path / "later.csv"))


def read_by_plan(plan, path):
    table = open_table(path)
    plan.check(table)
    return next(Rows(table, plan, None).batches(10))


def test_a_later_table_is_read_as_the_first_one_was(tmp_path):
    (tmp_path / "t.csv").write_text("code,price,x\n" + "01,$3,1\n1,$4,2\n01,$5,\n" * 5)
    plan = FeaturePlan.from_dict(propose(tmp_path / "t.csv", scale=False).to_dict())
    assert plan.names == ("code=01", "code=1", "price", "x")
    (tmp_path / "later.csv").write_text("x,new,price,code\n7,0,6,1\n,0,,01\n3,0,$1,2\n")
    later = open_table(tmp_path / "later.csv")
    rows = Rows(later, plan, None)
    np.testing.assert_array_equal(next(rows.batches(10)).X, [[0, 1, 6, 7], [1, 0, 4, 1.5], [0, 0, 1, 3]])
    plan.check(later)
    output = " ".join([*map(str, plan.findings), *plan.describe_gaps(rows.gaps)])
    assert "2 (1)" in output
    assert "Ignored columns the model was not fitted on: new" in output
    assert "price (1)" in output
    for text, message in (
        ("x\n1\n", "'code', 'price'"),
        ("x,price,code\n", "no rows"),
        ("x,price,code\n1,1,1\nlots,1,1\n", r"wrong.csv, line 3: column 'x' .*'lots'.*missing=.'x': .'lots'"),
    ):
        (tmp_path / "wrong.csv").write_text(text)
        with pytest.raises(TableError, match=message):
            read_by_plan(plan, tmp_path / "wrong.csv")
    for values, message in (
        ({"code": ["1"], "price": ["free"], "x": [1]}, "'price' contains 'free', which is not a number"),
        ({"price": ["free"], "x": [1]}, "no column 'code'"),
        ({"code": ["1"], "price": [1], "x": [[1]]}, "'x' contains numbers in the plan, but list"),
    ):
        with pytest.raises(TableError, match=message):
            plan.matrix(pa.table(values))


def test_a_plan_keeps_the_decimal_comma_for_a_file_without_one(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n" + "1,5;1.200\n2,5;3.400\n4,5;1.100\n" * 4)
    plan = propose(tmp_path / "t.csv", scale=False)
    (tmp_path / "later.csv").write_text("a;b\n2;1.300\n3;2.000\n")
    np.testing.assert_array_equal(plan.matrix(tmp_path / "later.csv"), [[2, 1300], [3, 2000]])


def test_features_are_converted_back_to_the_units_of_the_file(tmp_path):
    days = [datetime.date(2024, 1, 1 + i) for i in range(12)]
    (tmp_path / "t.csv").write_text("x,day,kind\n" + "\n".join(f"{i * i},{days[i]},{'abc'[i % 3]}" for i in range(12)))
    plan = propose(tmp_path / "t.csv")
    own = np.column_stack([np.arange(12.0) ** 2, np.arange(12) + 19723.0, np.tile(np.eye(3), (4, 1))])
    np.testing.assert_allclose(plan.scale_matrix(own), plan.matrix(tmp_path / "t.csv"), atol=1e-12)
    np.testing.assert_allclose(plan.in_units(plan.matrix(tmp_path / "t.csv")), own, atol=1e-9)
    with pytest.raises(TableError, match="5 columns"):
        plan.scale_matrix(own[:, 1:])


def test_a_plan_prepares_frames_in_a_pipeline(path):
    plan = propose(path)
    frame = read_exactly(path)
    piped = make_pipeline(FunctionTransformer(plan.matrix), KMeans(3, n_init=1, random_state=0)).fit(frame)
    np.testing.assert_array_equal(piped[:-1].transform(frame), plan.matrix(path))


def test_single_precision_and_other_numbers(tmp_path):
    singles = pa.table({"a": pa.array([1, 2, 3], pa.float32()), "b": pa.array([3, 5, 4], pa.float32())})
    assert propose(singles, raw=True).matrix(singles).dtype == np.float32
    assert propose(singles).matrix(singles).dtype == np.float64
    table = pa.table(
        {
            "flag": [True, None, False],
            "decimal": pa.array([1.5, 2.5, 3.5]).cast(pa.decimal128(5, 2)),
            "small": pa.array([1, 2, 9], pa.uint8()),
            "category": pa.array(["u", "v", "u"]).dictionary_encode(),
            "when": pa.array([0, 86_400, None], pa.timestamp("s", "UTC")),
            "gone": pa.nulls(3),
        }
    )
    plan = propose(table, scale=False)
    expected = [[1, 1.5, 1, 1, 0, 0], [0.5, 2.5, 2, 0, 1, 1], [0, 3.5, 9, 1, 0, 0.5]]
    np.testing.assert_array_equal(plan.matrix(table), expected)


@pytest.mark.parametrize(
    "change",
    [
        {"columns": None},
        {"impute": "mean"},
        {"columns": [{"name": "x", "role": "feature", "kind": "text"}]},
        {"columns": [{"name": "x", "role": "feature", "kind": "number", "spread": 0.0}]},
        {"columns": [{"name": "x", "role": "feature", "kind": "number", "center": "1"}, {}]},
        {"columns": [{"name": "x", "role": "feature", "kind": "number", "fill": float("nan")}]},
        {"columns": [{"name": 7, "role": "feature", "kind": "number"}]},
        {"columns": [{"name": "x", "role": "feature", "kind": "category", "categories": ["a"], "center": [1, 2]}]},
        {"columns": [{"name": "x", "role": "feature", "kind": "date", "reading": "%c"}]},
        {"columns": [{"name": "x", "role": "feature", "kind": "number"}] * 2},
        {"n_rows": "many"},
    ],
)
def test_crafted_plans_are_refused(table, change):
    with pytest.raises(ValueError, match="not a plan"):
        FeaturePlan.from_dict(propose(table).to_dict() | change)


DAY = datetime.date(2024, 1, 2)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([3, -1]), [3, -1]),
        (pa.array([1.0, 2.0]), [1.0, 2.0]),
        (pa.array([True, False]), [True, False]),
        (pa.array(["a", "b"], pa.string_view()), ["a", "b"]),
        (pa.array(["a", "b"], pa.large_string()), ["a", "b"]),
        (pa.array(["a", "b"]).dictionary_encode(), ["a", "b"]),
        (pa.array([Decimal(7), Decimal(-1)]), [7, -1]),
        (pa.array([Decimal("1.50"), Decimal("100.00")]), ["1.5", "100"]),
        (pa.array([DAY, DAY]), ["2024-01-02"] * 2),
        (pa.array([datetime.time(7, 30), datetime.time(8)], pa.time32("s")), ["07:30:00", "08:00:00"]),
        (pa.array([b"a", b"b"]), ["a", "b"]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_labels_of_every_type(values, expected):
    whole, present = read_labels(values, "kind", "t")
    assert (whole.tolist(), present.tolist()) == (expected, [True, True])
    one_by_one = [read_labels(values.slice(i, 1), "kind", "t")[0] for i in range(2)]
    assert [part.tolist()[0] for part in one_by_one] == expected
    assert {part.dtype for part in one_by_one} == {whole.dtype}
    assert read_labels(pa.chunked_array([values, values]), "kind", "t")[0].tolist() == expected * 2
    gaps = pa.concat_arrays([values, pa.nulls(1, values.type)])
    assert read_labels(gaps, "kind", "t")[1].tolist() == [True, True, False]


@pytest.mark.parametrize(("value", "message"), [(["a", "a\0"], "NUL"), ([[1]], "list<"), ([b"\xff"], "binary")])
def test_labels_that_cannot_be_kept_apart_or_compared_are_refused(value, message):
    with pytest.raises(TableError, match=message):
        read_labels(pa.array(value), "kind", "t")


def test_declared_words_are_missing_categories_too(tmp_path):
    (tmp_path / "t.csv").write_text("x,kind\n" + "\n".join(f"{i % 7},{['a', 'b', '?'][i % 3]}" for i in range(30)))
    table = open_table(tmp_path / "t.csv", missing=["?"])
    plan = propose(table, scale=False)
    assert plan.names == ("x", "kind=a", "kind=b", "kind=(missing)")
    np.testing.assert_array_equal(plan.matrix(table)[2], [2, 0, 0, 1])
    dropped = propose(table, impute="drop")
    assert dropped.names == ("x", "kind=a", "kind=b")
    assert dropped.prepare(table.read())[1].size == 20
