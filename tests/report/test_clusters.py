"""What clusters are like, in the columns of the user, and which members are nearest."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from allegiance import affinity
from allegiance.io import propose
from allegiance.report import center_descriptions, cluster_descriptions
from allegiance.report._clusters import cluster_traits, describe, name_by_words, profile_columns
from allegiance.report._columns import Column
from allegiance.report._inputs import check_features
from allegiance.report._points import NeighborFinder

PAIR = np.repeat([0, 1], 50)


def traits_of(columns, codes, k):
    return cluster_traits(columns, profile_columns(columns, codes, k), k)


def names_of(columns, codes, k):
    return [description.name for description in describe(columns, traits_of(columns, codes, k))]


def test_numbers_are_compared_with_all_other_clusters(rng):
    codes = rng.integers(-1, 4, size=200)
    X = rng.normal(size=(200, 12)) + codes[:, None] * rng.normal(size=12)
    inside = codes >= 0
    means = np.array([X[codes == c].mean(axis=0) for c in range(4)])
    spread = np.sqrt(((X[inside] - means[codes[inside]]) ** 2).mean(axis=0))
    actual = traits_of([Column(f"c{i}", "number", X[:, i]) for i in range(12)], codes, 4)
    for c in range(4):
        rest = X[inside & (codes != c)].mean(axis=0)
        difference = (means[c] - rest) / spread
        strongest = np.argsort(-np.abs(difference))[:8]
        assert [trait.column for trait in actual[c]] == strongest.tolist()
        np.testing.assert_allclose([t.inside for t in actual[c]], means[c][strongest], rtol=1e-9)
        np.testing.assert_allclose([t.outside for t in actual[c]], rest[strongest], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose([t.difference for t in actual[c]], difference[strongest], rtol=1e-9)


def test_categories_are_compared_by_their_shares():
    levels = np.repeat([0, 1, 0, 1, -1], [88, 12, 43, 47, 10])
    (trait,), (other,) = traits_of([Column("plan", "category", levels, ("m", "y"))], np.repeat([0, 1], 100), 2)
    assert (trait.level, trait.inside, trait.outside) == (0, 0.88, 0.43)  # Shares count blanks.
    # A frequent category says more than a rare one.
    assert (other.level, other.inside, other.outside) == (1, 0.47, 0.12)


def test_details_show_differences_and_nothing_else():
    codes = np.repeat([0, 1], 100)
    longitude = 16.08 + 0.012 * codes + 0.004 * np.tile([-1.0, 1.0], 100)
    columns = [
        Column("lon", "number", longitude),
        Column("country", "category", np.where(np.arange(200) == 150, 1, 0), ("USA", "Guam")),
        Column("plan", "category", np.where(codes == 1, np.arange(200) % 4, 4), ("a", "b", "c", "d", "e")),
    ]
    details = [one.details for one in describe(columns, traits_of(columns, codes, 2))]
    assert details[0] == "low lon (16.080, others 16.092), plan=e (100%, others 0%), country=USA (100%, others 99%)"
    assert details[1].startswith("high lon (16.092, others 16.080), less often plan=e (0%, others 100%)")
    many = np.repeat(np.arange(2), 1000)
    rare = Column("country", "category", (np.arange(2000) == 1500).astype(int), ("USA", "Guam"))
    assert [one.details for one in describe([rare], traits_of([rare], many, 2))] == ["", ""]


def test_names_are_clear_without_the_table():
    answers = ("Agree", "Disagree")
    columns = [
        Column("plan", "category", PAIR, ("basic", "pro")),
        Column("gender", "category", 1 - PAIR, ("1", "2")),
        Column("Q1", "category", np.where(np.arange(100) % 9 == 0, 0, PAIR), answers),
        Column("Q2", "category", np.where(np.arange(100) % 5 == 0, 0, PAIR), answers),
    ]
    assert names_of(columns[:2], PAIR, 2) == ["basic", "pro"]
    assert names_of(columns[1:2], PAIR, 2) == ["gender 2", "gender 1"]
    assert names_of(columns[2:], PAIR, 2) == ["Q1 Agree, Q2 Agree", "Q1 Disagree, Q2 Disagree"]
    texts = ["a visualization, many visualizations of charts"] * 50 + ["how to train a network"] * 50
    assert name_by_words(texts, PAIR, 2) == ["charts, visualization", "network, train"]


def test_missing_values_are_left_out_and_the_unit_does_not_matter(rng):
    values = rng.normal(size=100)
    values[:5] = np.nan
    plain, *others = (traits_of([Column("c", "number", values * unit)], PAIR, 2)[0][0] for unit in (1.0, 1e-200, 1e200))
    for unit, trait in zip((1e-200, 1e200), others, strict=True):
        np.testing.assert_allclose(trait.inside, values[5:50].mean() * unit, rtol=1e-9)
        np.testing.assert_allclose(trait.difference, plain.difference, rtol=1e-9)


def test_nothing_is_said_of_one_cluster_an_empty_one_texts_or_constant_columns():
    columns = [
        Column("a", "number", np.array([1.0, 2.0, 8.0])),
        Column("same", "number", np.full(3, 5.0)),
        Column("said", "text", ["x", None, "y"]),
    ]
    assert traits_of(columns, np.zeros(3, dtype=int), 1) == [[]]
    assert [[t.column for t in traits] for traits in traits_of(columns, np.array([0, 0, 2]), 3)] == [[0], [], [0]]


def test_names_say_what_sets_a_cluster_apart():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], 100)
    dates = pd.to_datetime("2024-01-01").value / 1e6 + 86_400_000 * (rng.normal(size=300) + 50 * (codes == 2))
    columns = [
        Column("revenue", "number", rng.normal(size=300) + 9 * (codes == 0)),
        Column("Partner", "category", np.where(codes == 1, 1, rng.integers(0, 2, 300)), ("No", "Yes")),
        Column("line", "category", np.where(codes == 0, 1, rng.integers(0, 4, 300)), ("dsl", "fibre", "none", "other")),
        Column("since", "date", dates),
        Column("x3", "number", rng.normal(size=300) + 30 * (codes == 1), is_named=False),
    ]
    first, second, third = names_of(columns, codes, 3)
    assert "high revenue" in first
    assert second.count(",") == 1  # Names are short.
    assert "x3" not in second
    assert "late since" in third


WEAK = Column("height", "number", np.tile(np.arange(50.0), 2) + 3 * PAIR)
LEVELS = np.r_[np.repeat([0, 1, 2], [20, 15, 15]), np.repeat([0, 1, 2], [15, 20, 15])]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([Column("shop", "number", 1.0 + 6.0 * PAIR)], ["low shop", "high shop"]),
        (
            [Column("a", "category", PAIR, ("red", "one")), Column("b", "category", PAIR, ("big", "two"))],
            ["red", "one"],
        ),
        ([WEAK], ["somewhat low height", "somewhat high height"]),
        ([WEAK._replace(is_named=False)], ["", ""]),
        ([Column("line", "category", LEVELS, ("dsl", "fibre", "none"))], ["more often dsl", "more often fibre"]),
        ([Column("long", "category", PAIR, ("x" * 25, "y" * 24))], ["x" * 23 + "…", "y" * 24]),
    ],
    ids=["constant inside", "same points", "weak", "unnamed", "shares", "long"],
)
def test_names_of_two_clusters(columns, expected):
    assert names_of(columns, PAIR, 2) == expected


def test_means_are_told_in_three_digits_or_as_whole_numbers():
    columns = [Column("paid", "number", np.where(PAIR, 999.7, 2496.4))]
    details = [description.details for description in describe(columns, traits_of(columns, PAIR, 2))]
    assert details == ["high paid (2,496, others 1,000)", "low paid (1,000, others 2,496)"]


def test_long_names_of_columns_are_cut():
    name = names_of([Column("n" * 90, "number", 9.0 * PAIR)], PAIR, 2)[1]
    assert name.startswith("high nnn")
    assert len(name) < 50


def test_a_column_of_the_labels_does_not_describe_clusters(rng):
    labels = np.repeat([1.0, 2.0, 3.0], 20)
    data = pd.DataFrame({"segment": labels, "age": rng.normal(size=60) + 9 * labels, "place": rng.normal(size=60)})
    actual = cluster_descriptions(affinity(data[["age", "place"]], labels, random_state=0), data=data)
    assert "age" in actual[0].name
    assert not any("segment" in description.name for description in actual)


def test_centers_say_what_rows_say(rng):
    """A stream knows centers and sizes: means, shares and differences are those of the rows."""
    codes = rng.integers(3, size=400)
    frame = pd.DataFrame(
        {
            "age": rng.normal(size=400) + 5 * codes,
            "joined": pd.to_datetime("2024-01-01") + pd.to_timedelta(np.round(9 * rng.normal(size=400) - codes), "D"),
            "plan": np.where(rng.random(400) < 0.2 + 0.3 * codes, "gold", np.where(codes == 1, "basic", "none")),
        }
    )
    plan = propose(frame)
    X = plan.matrix(frame)
    centers = np.array([X[codes == c].mean(axis=0) for c in range(3)])
    rows = cluster_descriptions(affinity(X, codes, random_state=0), data=frame)
    assert center_descriptions(centers, np.bincount(codes), plan) == rows
    assert "age" in rows[0].details
    assert "2024-01-0" in rows[0].details or "2023-12" in rows[0].details


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_nearest_members_are_found_in_spreads_within_clusters(container, rng):
    codes = rng.integers(-1, 3, size=150)
    X = rng.normal(size=(150, 4)) * ([1, 1, 1, 1] if container is sp.csr_array else [1, 100, 1e-3, 1])
    inside = codes >= 0
    means = np.array([X[codes == c].mean(axis=0) for c in range(3)])
    spread = np.sqrt(((X[inside] - means[codes[inside]]) ** 2).mean(axis=0))
    scaled = X if container is sp.csr_array else X / spread
    actual = NeighborFinder(check_features(container(X), None, 150), codes)
    queries = np.array([3, 77, 140])
    for query, near in zip(queries, actual.of(queries, 1, 4), strict=True):
        members = [row for row in np.flatnonzero(codes == 1) if row != query]
        expected = sorted(members, key=lambda row: np.linalg.norm(scaled[row] - scaled[query]))[:4]
        assert near.tolist() == expected
    alone = NeighborFinder(check_features(X[:2], None, 2), np.array([0, 1]))
    assert [near.size for near in alone.of(np.array([0]), 0, 2)] == [0]
    assert [near.size for near in alone.of(np.array([0]), 2, 2)] == [0]
