"""Drivers: column shares, the rule, and the flags, for every kind of data."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.tree import DecisionTreeClassifier

from allegiance import affinity
from allegiance.drivers import drivers
from allegiance.io import propose


def kinds(result) -> set[str]:
    return {flag.kind for flag in result.flags}


@pytest.fixture
def mixed() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = 900
    return pd.DataFrame(
        {
            "age": rng.integers(20, 80, n),
            "color": rng.choice(["red", "blue", "green"], n),
            "day": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.permutation(n), "D"),
            "income": rng.normal(40_000, 9_000, n),
            "note": [f"text {i}" for i in range(n)],
        }
    )


def test_shares_are_those_of_the_between_cluster_sum_of_squares() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 4)) * [1, 2, 3, 4] + 1e6
    labels = rng.integers(0, 3, 500)
    means = np.array([X[labels == c].mean(axis=0) for c in range(3)])
    between = (np.bincount(labels)[:, None] * (means - X.mean(axis=0)) ** 2).sum(axis=0)
    expected = between / between.sum()
    result = drivers(labels, X)
    np.testing.assert_allclose([result.shares[f"x{i}"] for i in range(4)], expected, rtol=1e-6)
    sparse = drivers(labels, sp.csr_matrix(X - 1e6))
    np.testing.assert_allclose([sparse.shares[f"x{i}"] for i in range(4)], expected, rtol=1e-6)


def test_one_hot_columns_of_a_category_are_summed(mixed: pd.DataFrame) -> None:
    plan = propose(mixed)
    matrix = plan.matrix(mixed)
    labels = KMeans(4, n_init=2, random_state=0).fit_predict(matrix)
    means = np.array([matrix[labels == c].mean(axis=0) for c in range(4)])
    between = (np.bincount(labels)[:, None] * means**2).sum(axis=0)
    color = [name.startswith("color=") for name in plan.names]
    for data in (matrix, mixed):
        result = drivers(labels, data, plan=plan)
        assert result.shares["color"] == pytest.approx(between[color].sum() / between.sum())
    # Without a plan, a frame with categories is standardized in the same way.
    assert drivers(labels, mixed).shares["color"] == pytest.approx(result.shares["color"], rel=1e-3)


def test_the_rule_is_in_the_users_units_and_reproduces_the_labels(mixed: pd.DataFrame) -> None:
    labels = np.where(mixed["color"] == "red", "a", np.where(mixed["day"] > "2025-06-30", "b", "c"))
    for data in (mixed, pl.from_pandas(mixed)):
        result = drivers(labels, data)
        assert result.rule.splitlines() == ["color = red -> a", "day > 2025-06-30 -> b", "otherwise -> c"]
        assert result.fidelity > 0.99
        assert result.rule_columns == ("color", "day")
        assert ("day",) in {flag.columns for flag in result.flags if flag.kind == "time"}
        assert result.columns["column"].to_list()[:2] == ["color", "day"]


def test_fidelity_is_that_of_trees_fitted_on_the_other_folds() -> None:
    # The sizes of a tree are read from one tree that grows best first: compare with trees fitted one by one.
    rng = np.random.default_rng(2)
    X = rng.normal(size=(600, 5))
    labels = KMeans(4, n_init=2, random_state=0).fit_predict(X)
    result = drivers(labels, X)
    n_leaves = len(result.rule.splitlines())
    fold = rng.permutation(600) % 3
    accuracy = {}
    for leaves in range(n_leaves, 10):
        trees = [DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0) for _ in range(3)]
        hits = [
            t.fit(X[fold != i], labels[fold != i]).score(X[fold == i], labels[fold == i]) for i, t in enumerate(trees)
        ]
        accuracy[leaves] = np.mean(hits)
    assert min(abs(result.fidelity - value) for value in accuracy.values()) < 0.04


def test_rows_and_label_names_do_not_matter() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 5))
    labels = KMeans(3, n_init=2, random_state=0).fit_predict(X)
    first = drivers(labels, X)
    order = rng.permutation(400)
    second = drivers(np.array(["z", "m", "a"])[labels[order]], X[order])
    assert second.fidelity == pytest.approx(first.fidelity)
    renamed = first.rule.replace("-> 0", "-> z").replace("-> 1", "-> m").replace("-> 2", "-> a")
    assert second.rule == renamed


def test_no_single_column_matters_in_embeddings() -> None:
    X = np.random.default_rng(4).normal(size=(800, 200))
    result = drivers(KMeans(5, n_init=1, random_state=0).fit_predict(X), X)
    assert result.lines()[0].startswith("The separation between clusters is spread over many columns")
    assert "No short rule" in result.lines()[1]
    assert not result.flags


def test_flags_name_the_columns_and_a_remedy(mixed: pd.DataFrame) -> None:
    frame = mixed.assign(row=np.arange(900), copy=mixed["income"] * 1.1 + 5, shade=mixed["color"].str.upper())
    frame["sparse"] = np.where(np.arange(900) % 3 == 0, frame["income"], np.nan)
    by_row = drivers(np.arange(900) // 300, frame)
    assert any(flag.kind == "time" and "row" in flag.columns for flag in by_row.flags)
    assert "data.drop(columns=" in by_row.flags[0].remedy
    by_color = drivers(mixed["color"].to_numpy() == "red", frame)
    assert ("color", "shade") in {flag.columns for flag in by_color.flags if flag.kind == "duplicates"}
    by_income = drivers(mixed["income"].to_numpy() > 40_000, frame, scale=True)
    assert ("income", "copy") in {flag.columns[:2] for flag in by_income.flags if flag.kind == "duplicates"}
    assert any(flag.kind == "missing" and flag.columns == ("sparse",) for flag in by_income.flags)
    one = drivers(mixed["income"].to_numpy() > 40_000, mixed)
    assert kinds(one) == {"one column"}
    assert one.flags[0].columns == ("income",)
    plan = propose(mixed)
    one = drivers(mixed["income"].to_numpy() > 40_000, mixed, plan=plan)
    assert one.flags[0].remedy == "--drop income"
    twin = mixed[["age", "day"]].assign(bill=mixed["income"] * 1.1 + 5, income=mixed["income"])
    ((kept, _),) = [one.columns for one in propose(twin).findings if one.kind == "duplicates"]
    assert drivers(mixed["income"].to_numpy() > 40_000, twin, plan=propose(twin)).rule_columns == (kept,)


def test_the_plan_and_the_drivers_keep_the_same_one_of_duplicates() -> None:
    code = np.random.default_rng(8).integers(3, size=200)
    table = pd.DataFrame(
        {"class_code": code, "class": np.array(["low", "mid", "top"])[code], "age": np.arange(200) % 60}
    )
    plan = propose(table)
    (planned,) = [one for one in plan.findings if one.kind == "duplicates"]
    (flag,) = [one for one in drivers(code, table, plan=plan).flags if one.kind == "duplicates"]
    assert (flag.columns, flag.remedy) == (planned.columns, planned.remedy)


def test_a_short_rule_and_odd_cluster_sizes_are_flagged() -> None:
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.random((600, 3)) < 0.3, rng.normal(0, 0.2, size=(600, 6))])
    (short,) = [flag for flag in drivers(X[:, 0] + 2 * X[:, 1], X).flags if flag.kind == "short rule"]
    assert short.columns == ("x1", "x0")
    assert short.remedy == "data.drop(columns=['x1'])"  # the strongest; without both, hardly anything would be left
    # Separated groups in many dimensions also have a short rule, but no column would be missed.
    blobs = rng.normal(size=(600, 12)) + 6.0 * rng.normal(size=(4, 12))[np.arange(600) % 4]
    assert not kinds(drivers(np.arange(600) % 4, blobs))
    labels = np.zeros(600, dtype=int)
    labels[[7, 9]] = 1
    result = drivers(labels, X, ids=[f"id{i}" for i in range(600)])
    assert {"giant cluster", "tiny clusters"} <= kinds(result)
    (tiny,) = [flag.text for flag in result.flags if flag.kind == "tiny clusters"]
    assert tiny == "Cluster 1 (id7, id9) has at most 4 rows. Check these rows for errors."


def test_clusters_follow_a_date_that_they_explain_though_its_share_is_small() -> None:
    rng = np.random.default_rng(4)
    months = np.arange(120)
    X = pd.DataFrame({f"sector{i}": months * (1 + i) + rng.normal(size=120) for i in range(24)})
    X["month"] = pd.date_range("2006-01-01", periods=120, freq="MS")
    result = drivers(months // 30, X)
    assert result.shares["month"] < 0.05
    assert ("time", ("month",)) in {(flag.kind, flag.columns) for flag in result.flags}


def test_a_rule_names_each_condition_once() -> None:
    plan = np.repeat(["basic plan", "pro plan", "team plan", "(none)"], [60, 60, 60, 60])
    label = np.repeat([0, 1, 2, 2], 60)
    rule = drivers(label, pd.DataFrame({"plan": plan, "noise": np.random.default_rng(0).normal(size=240)})).rule
    assert not any(" = " in line and " is not " in line for line in rule.splitlines())
    assert rule.count("->") == 3


def test_noise_is_left_out_and_one_cluster_has_no_drivers() -> None:
    X = np.random.default_rng(6).normal(size=(200, 3))
    labels = np.where(X[:, 0] > 0, 1, 0)
    noisy, far = labels.copy(), X.copy()
    noisy[:20], far[:20] = -1, 1e6
    assert drivers(noisy, far).shares == pytest.approx(drivers(labels[20:], X[20:]).shares)
    assert drivers(np.zeros(200), X).lines() == ["No column differs between the clusters."]
    with pytest.raises(ValueError, match="199 rows"):
        drivers(labels, X[1:])


def test_results_open_their_drivers_and_show_them(mixed: pd.DataFrame) -> None:
    X = mixed[["age", "income"]]
    result = affinity(X, (mixed["age"] > 50).to_numpy().astype(int)).drivers(X, scale=True)
    assert json.loads(json.dumps(result.to_dict()))["columns"][0]["column"] == "age"
    assert "age" in result._repr_html_()
    assert "age > 50 -> 1" in repr(result)
    assert result.frame()["in_rule"].tolist() == [True, False]
    assert result.plot().get_xlabel().startswith("share")


def test_a_majority_without_a_split_is_not_a_rule() -> None:
    X = np.random.default_rng(6).normal(size=(12, 3))
    labels = np.array([0] * 10 + [1, 2])
    X[10:] += [[9.0], [-9.0]]
    assert len(drivers(labels, X).lines()) == 1


def test_long_names_are_cut_in_texts_and_not_in_remedies() -> None:
    names = [f"{'very_' * 30}long_name_{i}" for i in range(3)]
    x = np.random.default_rng(7).normal(size=200)
    (flag,) = [
        one for one in drivers(x > 0, np.c_[x, x + 1e-3 * x**2, -x], names=names).flags if one.kind == "duplicates"
    ]
    assert "ery_long_name_1, " in flag.text
    assert names[1] in flag.remedy


def test_wide_data_is_bounded() -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(300, 3_000))
    X[:, 5] += 4 * (np.arange(300) % 2)
    result = drivers(np.arange(300) % 2, X)
    assert result.rule_columns == ("x5",)


def test_a_column_called_year_is_time_and_a_year_of_birth_is_not() -> None:
    years = np.arange(1950, 2010)
    for name, is_time in (("year", True), ("birth_year", False)):
        X = pd.DataFrame({name: years, "height": np.random.default_rng(0).normal(size=60)}).sample(
            frac=1.0, random_state=0
        )
        flags = drivers((X[name] > 1980).to_numpy().astype(int), X, scale=True).flags
        assert ("time" in {flag.kind for flag in flags}) == is_time
