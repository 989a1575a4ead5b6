"""Labels of every kind: their order, their noise, their rows, and what cannot be a label."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.cluster import KMeans

from allegiance import AffinityScorer, affinity, trust
from allegiance.fitting import Labels, align, labels_of, merge_classes


class TestOrder:
    @pytest.mark.parametrize(
        "labels",
        [
            ["10", "2", "1", "0"],
            ["c10", "c9", "b1", "c1"],
            ["a", "B", "²", ""],
            [10, 9, -7, 100],
            [True, False],
            pd.Categorical(["b", "a", "c", "b"], categories=["c", "unused", "b", "a"]),
            pd.Series(pd.Categorical([3, 1, 2, 1], categories=[2, 3, 1])),
        ],
        ids=lambda value: str(value).replace("\n", " ")[:30],
    )
    def test_classes_are_sorted_as_numpy_sorts_them(self, labels):
        """Code of scikit-learn searches classes_ by bisection; before, names were in the order people prefer."""
        values = np.asarray(labels)
        actual = Labels.of(labels, len(labels))
        assert actual.classes.tolist() == np.unique(values).tolist()
        assert actual.codes(actual.classes).tolist() == np.searchsorted(actual.classes, values).tolist()

    def test_columns_are_those_of_the_classes_in_memory_and_in_chunks(self):
        """A Categorical's order counted in memory but not in chunks."""
        X, codes = np.arange(12.0)[:, None], np.repeat([0, 1, 2], 4)
        names = np.array(["ant", "bee", "cat"])
        ordered = pd.Categorical(names[codes], categories=["cat", "ant", "bee"])
        scorer = AffinityScorer().fit(X, ordered)
        assert scorer.classes_.tolist() == ["ant", "bee", "cat"]
        assert scorer.get_feature_names_out().tolist() == ["affinity_ant", "affinity_bee", "affinity_cat"]
        np.testing.assert_array_equal(scorer.transform(X), affinity(X, codes).affinity)
        np.testing.assert_array_equal(scorer.predict(X), names[codes])
        first, second = Labels.of(ordered[:6], 6).classes, Labels.of(ordered[6:], 6).classes
        assert merge_classes(second, first).tolist() == ["ant", "bee", "cat"]


class TestNoise:
    @pytest.mark.parametrize(
        "labels",
        [
            [0, -1, 1, -1],
            [0.0, -1.0, 1.0, -1.0],
            np.array([0, -1, 1, -1], dtype=np.int8),
            np.array([0, -1, 1, -1], dtype=object),
            np.array([0, -1, 1.0, -1], dtype=object),
            np.array([np.int8(0), np.float32(-1), np.uint64(1), -1], dtype=object),
            pd.Series([0, -1, 1, -1], dtype="Int64"),
            pd.Series([0, -1, 1.0, -1], dtype=object),
            pl.Series([0, -1, 1, -1]),
            pd.Categorical([0, -1, 1, -1]),
            np.ma.masked_array([0, -1, 1, -1]),
            [Decimal(0), Decimal(-1), Decimal(1), Decimal("-1.0")],
            *(kind(["a", "-1", "b", "-1"]) for kind in (list, np.array, pd.Series, pd.Categorical, pl.Series)),
            np.array(["a", "-1", "b", "-1"], dtype=object),
            np.array([b"a", b"-1", b"b", b"-1"]),
            [b"a", b"-1", b"b", b"-1"],
        ],
        ids=lambda labels: f"{type(labels).__name__} {getattr(labels, 'dtype', '')}",
    )
    def test_minus_one_of_any_kind_is_noise(self, labels):
        actual = Labels.of(labels, 4)
        values = list(labels)
        assert actual.classes.tolist() == [values[0], values[2]]
        codes = actual.codes(actual.classes)
        assert codes.tolist() == [0, -1, 1, -1]
        assert labels_of(codes, actual.classes).tolist() == values

    @pytest.mark.parametrize(
        ("classes", "expected"),
        [
            (np.array(["a", "b"]), ["b", "-1"]),
            (np.array([b"a", b"b"]), [b"b", b"-1"]),
            (np.array([3, 255], dtype=np.uint8), [255, -1]),
            (np.array([3, 2**63 - 1], dtype=np.uint64), [2**63 - 1, -1]),
            (np.array([3, 4]), [4, -1]),
        ],
        ids=["one letter", "one byte", "uint8", "uint64", "int64"],
    )
    def test_noise_has_a_label_where_the_fit_had_none(self, classes, expected):
        """Its name, or number, must fit whatever the type of the classes."""
        assert labels_of(np.array([1, -1]), classes).tolist() == expected

    def test_noise_among_new_points(self):
        X = np.arange(12.0)[:, None]
        fitted = AffinityScorer().fit(X, np.repeat(["a", "b", "c"], 4)).fitted_
        result = fitted.score(X[:3], labels=["c", "-1", "a"])
        assert result.label.tolist() == ["c", "-1", "a"]
        assert result.review(3)["reason"].tolist() == ["closer to a", ""]


class TestRefusals:
    @pytest.mark.parametrize(
        ("labels", "kind", "says"),
        [
            (["a", 1, "b", 2], TypeError, "mixes names and numbers"),
            (np.array(["a", -1, "b", -1], dtype=object), TypeError, "mixes names and numbers"),
            (["a", -1, "b", -1], TypeError, "mixes names and numbers"),
            (np.ma.masked_array([0, 1, 0, 1], mask=[0, 0, 1, 0]), ValueError, "masked entries: use -1"),
            ([1e19, 0.0, 1.0, 2.0], ValueError, "contains 1e\\+19, too large for a cluster number: use names"),
            ([10**19, 0, 1, 2], ValueError, "contains 10000000000000000000, too large for a cluster number"),
            ([-(10**30), 0, 1, 2], ValueError, "too large for a cluster number: use names"),
            (["a\0", "a", "b", "b"], ValueError, "end in a NUL character"),
            ([b"a\0", b"a", b"b", b"b"], ValueError, "end in a NUL character"),
            (np.array(["a\0", "a", "b", "b"], dtype=object), ValueError, "end in a NUL character"),
            (pd.Series(["a", None, "b", "a"], dtype="string"), ValueError, "missing values: use -1"),
            (pd.Series(["a", pd.NA, "b", "a"], dtype=object), ValueError, "missing values: use -1"),
            (pd.Series([1, pd.NA, 2, 1], dtype="Int64"), ValueError, "(missing values|NaN or infinity): use -1"),
            (pd.Categorical(["a", None, "b", "a"]), ValueError, "missing values: use -1"),
            (pl.Series(["a", None, "b", "a"]), ValueError, "missing values: use -1"),
            ([0, np.nan, 1, 1], ValueError, "missing values: use -1"),
            (np.array([0, np.nan, 1, 1]), ValueError, "NaN or infinity: use -1"),
            (pd.to_datetime(["2024-01-01"] * 4), TypeError, "must be integers or strings"),
            (KMeans(2), TypeError, r"got KMeans\(n_clusters=2\): pass a clusterer as trust\(X, clusterer="),
            ("plan", TypeError, r"got 'plan': pass the column, as in X\['plan'\]"),
        ],
        ids=lambda value: str(value).replace("\n", " ")[:30] if not isinstance(value, type | tuple) else None,
    )
    def test_what_is_not_one_discrete_label_per_row(self, labels, kind, says):
        with pytest.raises(kind, match=says):
            Labels.of(labels, 4)

    @pytest.mark.parametrize(
        "labels", [["a\0b", "a\0c"], [2**62, 2**62 + 1], np.array([0, 2**64 - 1], dtype=np.uint64)], ids=str
    )
    def test_nul_inside_a_name_and_large_numbers_that_fit(self, labels):
        assert Labels.of(labels, 2).classes.tolist() == list(labels)

    @pytest.mark.parametrize(
        ("labels", "says"), [([0, 1, 7], "labels has 7"), ([-5, 0, 1], "labels has -5"), ([0, 1, 10**6], "has 1000000")]
    )
    def test_a_label_unknown_to_the_fit_is_named(self, labels, says):
        fitted = AffinityScorer().fit(np.arange(6.0)[:, None], [0, 0, 1, 1, 3, 3]).fitted_
        with pytest.raises(ValueError, match=f"{says}, which is not a cluster of the fit"):
            fitted.score(np.arange(3.0)[:, None], labels=labels)


class TestRows:
    FRAME = pd.DataFrame({"a": [0.0, 1.0, 9.0, 10.0]}, index=["w", "x", "y", "z"])
    LABELS = pd.Series([0, 0, 1, 1], index=["w", "x", "y", "z"])

    def test_a_series_in_another_order_is_aligned_by_its_index(self):
        shuffled = self.LABELS.loc[["z", "w", "y", "x"]]
        np.testing.assert_array_equal(affinity(self.FRAME, shuffled).label, [0, 0, 1, 1])
        scorer = AffinityScorer().fit(self.FRAME, shuffled)
        np.testing.assert_array_equal(scorer.labels_, [0, 0, 1, 1])

    def test_new_points_too(self):
        fitted = AffinityScorer().fit(self.FRAME, self.LABELS).fitted_
        result = fitted.score(self.FRAME, labels=self.LABELS.iloc[::-1])
        np.testing.assert_array_equal(result.label, [0, 0, 1, 1])
        with pytest.raises(ValueError, match="labels and X have different indexes"):
            fitted.score(self.FRAME.iloc[:2], labels=self.LABELS.iloc[2:])

    @pytest.mark.parametrize(
        "index", [range(4), ["w", "x", "y", "v"], ["w", "w", "y", "z"]], ids=["range", "another row", "a row twice"]
    )
    def test_a_series_of_other_rows_is_refused(self, index):
        with pytest.raises(ValueError, match=r"labels and X have different indexes.*labels\.to_numpy\(\)"):
            affinity(self.FRAME, pd.Series([0, 0, 1, 1], index=index))

    def test_the_same_index_with_duplicates_is_taken_as_it_is(self):
        index = ["w", "w", "z", "z"]
        labels = align(self.FRAME.set_axis(index), self.LABELS.set_axis(index))
        assert labels.tolist() == [0, 0, 1, 1]

    def test_data_without_an_index_takes_labels_by_position(self):
        X = self.FRAME.to_numpy()
        np.testing.assert_array_equal(affinity(X, self.LABELS.iloc[::-1]).label, [1, 1, 0, 0])
        np.testing.assert_array_equal(affinity(X, pd.Series([0, 0, 1, 1], index=[7, 5, 9, 2])).label, [0, 0, 1, 1])

    @pytest.mark.parametrize("call", [affinity, trust])
    def test_a_shuffled_index_is_refused_where_x_has_none(self, call):
        """Labels of shuffled rows were used by position, without a word."""
        with pytest.raises(ValueError, match=r"labels has an index that is not in order.*labels\.to_numpy\(\)"):
            call(self.FRAME.to_numpy(), pd.Series([0, 1, 0, 1], index=[0, 2, 1, 3]))
