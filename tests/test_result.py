"""AffinityResult: every field against its definition, as a frame, and on a screen."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import make_blobs

from allegiance import AffinityResult, AffinityScorer, affinity
from allegiance.domains import Box, Polytope
from allegiance.engines import ENGINES
from allegiance.results import VERDICTS

COLUMNS = ["label", "verdict", "rival", "own_affinity", "typicality"]
DETAILS = [
    "owner",
    "runner_up",
    "confidence",
    "margin",
    "score",
    "stable",
    "decided",
    "closeness",
    "empty_cell",
    "residual",
    "engine",
]


def blobs(n: int = 60, d: int = 2, k: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Return points and labels of k overlapping clusters."""
    X, labels = make_blobs(n, n_features=d, centers=k, cluster_std=4.0, center_box=(-6, 6), random_state=1)
    return X, labels


def named(values: list[list[float]], error: float = 0.0, codes: Any = 0, **changes: Any) -> AffinityResult:
    """Return a result with the given affinities, errors and clusters, the rest of it from some real one."""
    rows = np.array(values)
    n, k = rows.shape
    real = affinity(np.arange(n)[:, None], np.zeros(n, int), centers=np.arange(k)[:, None], influence="euclidean")
    codes = np.broadcast_to(codes, n)
    return replace(
        real,
        affinity=rows,
        standard_error=np.full((n, k), error),
        label=codes,
        codes=codes.astype(np.int64),
        **changes,
    )


@cache
def example(name: str) -> AffinityResult:
    """Return one of a few ordinary results."""
    X, labels = {
        "sampled": lambda: blobs(80, 6, 7),
        "exact": lambda: blobs(80, 2, 5),
        "one cluster": lambda: (blobs(20)[0], np.zeros(20, int)),
        "two clusters": lambda: blobs(50, 3, 2),
        "named": lambda: (blobs()[0], np.array(["ant", "bee", "cat", "dog"])[blobs()[1]]),
    }[name]()
    return affinity(X, labels, influence="euclidean")


@pytest.fixture(params=["sampled", "exact", "one cluster", "two clusters", "named"])
def result(request: pytest.FixtureRequest) -> AffinityResult:
    return example(request.param)


class TestDefinitions:
    def test_affinity(self, result):
        assert result.affinity.shape == result.standard_error.shape == (result.n_points, result.n_clusters)
        assert len(result) == result.n_points
        assert (result.affinity >= 0).all()
        np.testing.assert_allclose(result.affinity.sum(axis=1), 1.0, atol=1e-12)

    def test_owner_and_runner_up(self, result):
        for row, owner, runner_up in zip(result.affinity, result.owner, result.runner_up, strict=True):
            order = sorted(range(len(row)), key=lambda i: (-row[i], i))
            assert owner == result.classes[order[0]]
            assert runner_up == result.classes[order[1] if len(row) > 1 else order[0]]

    def test_confidence_and_margin(self, result):
        ordered = np.sort(np.column_stack([result.affinity, np.zeros(len(result))]), axis=1)
        np.testing.assert_array_equal(result.affinity.max(axis=1), ordered[:, -1])
        np.testing.assert_array_equal(result.margin, ordered[:, -1] - ordered[:, -2])

    def test_stable_and_score(self, result):
        largest = result.affinity.max(axis=1)
        np.testing.assert_array_equal(result.stable, largest > 0.5)
        np.testing.assert_array_equal(result.score, np.where(largest > 0.5, 1.0, largest))

    def test_decided(self, result):
        rows = np.arange(len(result))
        first = result.affinity.argmax(axis=1)
        reach = 1.959963984540054 * result.standard_error[rows, first]
        low, high = result.affinity.max(axis=1) - reach, result.affinity.max(axis=1) + reach
        np.testing.assert_array_equal(result.decided, (low > 0.5) | (high < 0.5))

    def test_standard_error_is_zero_where_exact_and_within_eps_elsewhere(self, result):
        exact = np.isin(result.engine, ["exact", "closed-form", "limit"])
        assert (result.standard_error[exact] == 0).all()
        assert (result.standard_error[~exact] > 0).all()
        assert (1.96 * result.standard_error <= result.how.eps).all()

    def test_engine_names(self, result):
        assert set(result.engine) <= {*ENGINES, "limit"}

    def test_rival_is_the_best_cluster_but_the_own_one(self, result):
        for row, label, rival in zip(result.affinity, result.label, result.rival, strict=True):
            others = [i for i in range(len(row)) if result.classes[i] != label] or [0]
            assert rival == result.classes[max(others, key=lambda i: row[i])]

    def test_closeness(self, result):
        assert ((result.closeness >= 0) & (result.closeness <= 1)).all()

    def test_least_trusted(self, result):
        expected = sorted(range(len(result)), key=lambda row: (result.own_affinity[row], row))
        assert result.least_trusted(7).tolist() == expected[:7]
        assert result.least_trusted().tolist() == expected[:10]
        assert result.least_trusted(10**6).tolist() == expected
        assert result.least_trusted(0).tolist() == []


class TestFields:
    def test_one_cluster_owns_everything(self):
        one = example("one cluster")
        assert one.affinity.tolist() == [[1.0]] * 20
        assert one.owner.tolist() == one.runner_up.tolist() == one.label.tolist() == [0] * 20
        assert one.margin.tolist() == one.score.tolist() == one.confidence.tolist() == [1.0] * 20
        assert one.stable.all()
        assert one.decided.all()

    def test_two_clusters_are_stable_up_to_the_middle(self):
        assert example("two clusters").stable.all()

    def test_half_is_not_stable_and_exactly_half_leaves_no_doubt(self):
        result = named([[0.5, 0.5], [0.5 + 1e-9, 0.5 - 1e-9]])
        assert result.stable.tolist() == [False, True]
        assert result.score.tolist() == [0.5, 1.0]
        assert result.decided.tolist() == [True, True]

    def test_half_measured_by_samples_is_undecided(self):
        result = named([[0.5, 0.5, 0.0], [0.56, 0.44, 0.0], [0.44, 0.3, 0.26], [0.49, 0.3, 0.21]], error=0.02)
        assert result.decided.tolist() == [False, True, True, False]

    def test_ties_go_to_the_first_cluster(self):
        result = named([[0.4, 0.4, 0.2], [0.2, 0.4, 0.4], [1.0, 0.0, 0.0]])
        assert result.owner.tolist() == [0, 1, 0]
        assert result.runner_up.tolist() == [1, 2, 1]
        np.testing.assert_array_equal(result.margin, [0.0, 0.0, 1.0])

    def test_label_is_the_users_and_may_differ_from_the_owner(self):
        X = np.array([[0.0], [1.0], [9.0], [10.0], [1.5]])
        result = affinity(X, [0, 0, 1, 1, 1], centers=[[0.0], [10.0]], influence="euclidean")
        assert result.label.tolist() == [0, 0, 1, 1, 1]
        assert result.owner.tolist() == [0, 0, 1, 1, 0]

    def test_own_affinity_is_that_of_the_users_label(self):
        X = np.array([[0.0], [1.0], [9.0], [10.0], [5.5]])
        result = affinity(X, ["b", "b", "b", "a", "a"], centers=[[10.0], [0.0]], influence="euclidean")
        column = [result.classes.tolist().index(label) for label in result.label]
        expected = [row[i] for row, i in zip(result.affinity, column, strict=True)]
        np.testing.assert_array_equal(result.own_affinity, expected)
        assert result.own_affinity[2] < result.affinity.max(axis=1)[2]

    def test_noise_has_no_affinity_of_its_own(self):
        result = affinity([[0.0], [1.0], [9.0], [10.0], [4.0]], [3, 3, 7, 7, -1], influence="euclidean")
        assert result.own_affinity[4] == 0.0
        assert (result.own_affinity[:4] > 0.5).all()

    def test_label_is_the_nearest_site_if_there_was_none(self):
        X, _ = blobs()
        centers = X[:5]
        nearest = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
        np.testing.assert_array_equal(affinity(X, centers=centers, influence="euclidean").label, nearest)

    def test_off_span_is_the_distance_to_the_span_of_the_sites(self):
        X, labels = blobs(50, 7, 4)
        centers = np.array([X[labels == i].mean(axis=0) for i in range(4)])
        basis = np.linalg.qr((centers[1:] - centers[0]).T)[0]
        away = X - centers[0]
        expected = np.linalg.norm(away - away @ basis @ basis.T, axis=1)
        np.testing.assert_allclose(affinity(X, labels, influence="euclidean").residual, expected, rtol=1e-9)

    def test_off_span_is_zero_if_the_sites_span_the_space(self):
        assert (example("exact").residual == 0).all()

    def test_hidden_points_lie_beyond_the_walls(self):
        scorer = AffinityScorer(
            centers=[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], domain=Polytope.box([-1, -1], [2, 2]), influence="euclidean"
        )
        scorer.fit([[0.0, 0.0], [1.0, 1.0]])
        result = scorer.affinity([[0.5, 0.5], [100.0, 0.0], [0.0, -50.0]])
        assert result.empty_cell.tolist() == [False, True, True]
        assert result.engine.tolist() == ["exact", "limit", "limit"]
        np.testing.assert_allclose(result.affinity.sum(axis=1), 1.0, atol=1e-12)

    @pytest.mark.parametrize(
        ("domain", "name"),
        [
            ("box", "box"),
            (Box(0.5), "box, margin 0.5"),
            ("ball", "ball"),
            ("space", "the whole space"),
            (Polytope.box([-50] * 7, [50] * 7), "polytope"),
        ],
    )
    def test_how_it_was_measured_is_on_record(self, domain, name):
        X, labels = blobs(40, 7, 3)
        how = affinity(X, labels, domain=domain, eps=0.1, random_state=12, influence="euclidean").how
        assert (how.influence, how.domain, how.engine) == ("euclidean", name, "auto")
        assert (how.eps, how.seed, how.n_features) == (0.1, 12, 7)
        assert how.dim == (7 if name == "polytope" else 2)
        assert how.seconds > 0

    def test_a_result_does_not_change(self):
        with pytest.raises(FrozenInstanceError):
            example("exact").affinity = np.zeros((1, 1))

    def test_results_can_be_compared_and_kept_in_sets(self):
        other = affinity(*blobs(80, 2, 5), influence="euclidean")
        one = example("exact")
        assert [other, one].index(one) == 1
        assert one != other
        assert len({one, other, one}) == 2


class TestFrame:
    @staticmethod
    def assert_columns(result: AffinityResult, names: list[str], like: Any = None) -> Any:
        """Check names, order and content of every column of the frames of a result; return the short one."""
        frame = result.frame(like)
        details = result.frame(like, details=True)
        affinities = [f"affinity_{name}" for name in names]
        for found, columns in ((frame, COLUMNS), (details, [*COLUMNS, *DETAILS, "standard_error", *affinities])):
            assert list(found.column_names if isinstance(found, pa.Table) else found.columns) == columns
        for name in (*COLUMNS, *DETAILS):
            np.testing.assert_array_equal(np.asarray(details[name]), getattr(result, name), err_msg=name)
        for name in COLUMNS:
            np.testing.assert_array_equal(np.asarray(frame[name]), getattr(result, name), err_msg=name)
        error = result.standard_error[np.arange(len(result)), result.affinity.argmax(axis=1)]
        np.testing.assert_array_equal(np.asarray(details["standard_error"]), error)
        for i, name in enumerate(affinities):
            np.testing.assert_array_equal(np.asarray(details[name]), result.affinity[:, i])
        return frame

    @pytest.mark.parametrize(
        "index",
        [
            pd.RangeIndex(60),
            pd.Index(np.arange(60)[::-1] * 7),
            pd.Index(["same"] * 60, name="id"),
            pd.date_range("2024-01-01", periods=60),
            pd.MultiIndex.from_product([["a", "b", "c"], range(20)], names=["group", "number"]),
        ],
        ids=["range", "descending", "duplicates", "dates", "MultiIndex"],
    )
    def test_pandas_keeps_its_index(self, index):
        X, labels = blobs()
        result = affinity(pd.DataFrame(X, index=index, columns=["a", "b"]), labels, influence="euclidean")
        frame = self.assert_columns(result, ["0", "1", "2", "3"])
        assert isinstance(frame, pd.DataFrame)
        assert frame.index.equals(index)
        assert frame.index.names == index.names

    def test_polars(self):
        X, labels = blobs()
        result = affinity(pl.DataFrame(X, schema=["a", "b"]), labels, influence="euclidean")
        assert isinstance(self.assert_columns(result, ["0", "1", "2", "3"]), pl.DataFrame)

    def test_pyarrow(self):
        X, labels = blobs()
        result = affinity(pa.table({"a": X[:, 0], "b": X[:, 1]}), labels, influence="euclidean")
        assert isinstance(self.assert_columns(result, ["0", "1", "2", "3"]), pa.Table)

    @pytest.mark.parametrize("X", [blobs()[0], blobs()[0].tolist()], ids=["array", "list"])
    def test_anything_else_becomes_pandas(self, X):
        result = affinity(X, blobs()[1], influence="euclidean")
        frame = self.assert_columns(result, ["0", "1", "2", "3"])
        assert isinstance(frame, pd.DataFrame)
        assert frame.index.equals(pd.RangeIndex(60))

    @pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
    def test_named_clusters_name_their_columns(self, library):
        X, codes = blobs()
        labels = np.array(["ant", "bee", "cat", "dog"])[codes]
        columns = {"a": X[:, 0], "b": X[:, 1]}
        table = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[library](columns)
        result = affinity(table, labels, influence="euclidean")
        assert type(self.assert_columns(result, ["ant", "bee", "cat", "dog"])) is type(table)

    def test_like_another_frame(self):
        X, labels = blobs()
        index = pd.Index([f"row {i}" for i in range(60)])
        result = affinity(X, labels, influence="euclidean")
        assert isinstance(result.frame(like=pl.DataFrame({"any": [1]})), pl.DataFrame)
        assert isinstance(result.frame(like=pa.table({"any": [1]})), pa.Table)
        assert result.frame(like=pd.DataFrame({"any": range(60)}, index=index)).index.equals(index)

    def test_like_overrides_the_kind_of_the_input(self):
        X, labels = blobs()
        result = affinity(pl.DataFrame(X, schema=["a", "b"]), labels, influence="euclidean")
        assert isinstance(self.assert_columns(result, ["0", "1", "2", "3"], like=pd.DataFrame(X)), pd.DataFrame)

    def test_like_a_frame_of_another_length_is_an_error(self):
        with pytest.raises(ValueError, match="80"):
            example("exact").frame(like=pd.DataFrame({"any": [1, 2]}))

    def test_result_keeps_the_index_but_not_the_data(self):
        X, labels = blobs()
        frame = pd.DataFrame(X, columns=["a", "b"])
        scorer = AffinityScorer(influence="euclidean").fit(frame, labels)
        result = scorer.affinity(frame.iloc[10:20])
        frame["a"] = 0.0
        assert result.frame().index.tolist() == list(range(10, 20))


class TestSummary:
    @staticmethod
    def rows(text: str) -> dict[str, list[str]]:
        """Return the table of a printed summary: the cells of each cluster's row, by its name."""
        lines = text.splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith("cluster"))
        table = lines[start + 1 : lines.index("", start)]
        return {line.split()[0]: line.split()[1:] for line in table if not line.startswith("...")}

    def test_tells_what_a_person_wants_to_know(self, result):
        text = str(result)
        n, k = len(result), result.n_clusters
        counts = ", ".join(f"{(result.verdict == name).sum()} {name}" for name in VERDICTS[:3])
        assert text.splitlines()[:2] == [f"{n} points in {k} cluster{'s' if k > 1 else ''}", f"{n} labels: {counts}"]
        assert f"seed {result.how.seed}" in text
        assert f"domain       {result.how.domain}" in text
        assert f"{result.how.dim} dimension" in text
        assert re.search(r"\d+\.\d+ s$", text, re.MULTILINE)
        for name in np.unique(result.engine):
            assert f"{name} ({(result.engine == name).sum()})" in text
        assert repr(result) == text

    def test_the_papers_criterion_comes_last(self, result):
        stable = int(result.stable.sum())
        expected = (
            f"the paper's  {stable} stable points ({stable / len(result):.1%}), {(~result.decided).sum()} too close"
        )
        assert str(result).splitlines()[-1].startswith(expected)

    def test_tells_the_precision(self):
        sampled = example("sampled")
        worst = 1.96 * sampled.standard_error.max()
        assert f"95 % intervals within ±{worst:.3f}" in str(sampled)
        assert "intervals" not in str(example("exact"))

    def test_tells_what_was_reduced(self):
        X, labels = blobs(40, 9, 3)
        assert "2 dimensions, reduced from 9" in str(affinity(X, labels, influence="euclidean"))
        assert "reduced" not in str(example("exact"))

    def test_tells_how_many_are_contradicted_hidden_or_too_close_to_call(self):
        values = [[0.9, 0.1, 0.0], [0.1, 0.8, 0.1], [0.49, 0.3, 0.21]]
        plain = named(values, codes=[0, 1, 0])
        assert "3 supported, 0 contested, 0 contradicted" in str(plain)
        assert not re.search("territory|unlike|noise", str(plain))
        text = str(named(values, 0.02, codes=[1, 1, 0], hidden=np.array([True, False, False])))
        assert "2 supported, 0 contested, 1 contradicted" in text
        assert "1 too close to call" in text
        assert "1 point without territory" in text

    def test_row_of_each_cluster(self, result):
        rows = self.rows(str(result))
        assert sorted(rows) == sorted(str(name) for name in result.classes)
        for name in result.classes:
            mine = result.label == name
            points, right, *verdicts, rival = rows[str(name)]
            assert (points, right) == (str(mine.sum()), "-")
            assert verdicts == [str((mine & (result.verdict == verdict)).sum()) for verdict in VERDICTS[:3]]
            doubtful = mine & (result.verdict != "supported")
            others = result.rival[doubtful].astype(str)
            most = max((others == str(other)).sum() for other in result.classes)
            assert rival == "-" if not doubtful.any() else (others == rival).sum() == most

    def test_clusters_in_trouble_come_first(self, result):
        shares = [int(row[2]) / int(row[0]) for row in self.rows(str(result)).values()]
        assert shares == sorted(shares)

    def test_noise_has_a_row_of_its_own_at_the_end(self):
        X, labels = blobs()
        labels = np.where(np.arange(60) < 7, -1, labels)
        result = affinity(X, labels, influence="euclidean")
        rows = self.rows(str(result))
        assert sorted(rows) == ["0", "1", "2", "3", "noise"]
        assert list(rows)[-1] == "noise"
        assert rows["noise"][:5] == ["7", "-", "-", "-", "-"]
        assert "7 points of noise, in no cluster (12% of all)" in str(result)
        # Noise has no label that could be contradicted.
        assert str(result).splitlines()[1].startswith("53 labels")
        assert f"{(result.verdict == 'contradicted').sum()} contradicted" in str(result)

    def test_no_noise_no_row(self):
        assert "noise" not in str(example("exact"))

    def test_cluster_without_points_has_a_row_without_numbers(self):
        X, labels = blobs(60, 2, 3)
        result = affinity(X, labels, centers=[[-4, 0], [0, 5], [3, -3], [90, 90]], influence="euclidean")
        assert self.rows(str(result))["3"] == ["0", "-", "0", "0", "0", "-"]
        assert "nan" not in str(result)
        assert "nan" not in result._repr_html_()

    def test_many_clusters_are_cut_to_those_in_most_trouble(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(600, 2)) * 10
        result = affinity(X, rng.integers(0, 30, 600), centers=X[:30], influence="euclidean")
        rows = self.rows(str(result))
        assert len(rows) == 20
        assert "... and 10 more clusters" in str(result)
        shares = [(result.verdict[result.label == name] == "supported").mean() for name in result.classes]
        shown = [shares[int(name)] for name in rows]
        assert shown == sorted(shares)[:20]
        assert "and 10 more clusters" in result._repr_html_()
        assert result._repr_html_().count("<tr>") == 21

    def test_noise_is_not_a_cluster_when_the_table_is_cut(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(600, 2)) * 10
        centers = X[:25]
        labels = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
        labels[:25] = -1
        result = affinity(X, labels, centers=centers, influence="euclidean")
        rows = self.rows(str(result))
        assert list(rows)[-1] == "noise"
        assert len(rows) == 21
        assert "... and 5 more clusters" in str(result)

    def test_long_names_keep_the_columns_aligned(self):
        X, codes = blobs()
        labels = np.array(["a" * 40, "b", "c", "d"])[codes]
        lines = str(affinity(X, labels, influence="euclidean")).splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith("cluster"))
        ends = {re.search(r"^\S+ +\S+", line).end() for line in lines[start : start + 5]}
        assert len(ends) == 1

    def test_html_says_the_same(self):
        sampled = example("sampled")
        html = sampled._repr_html_()
        text = str(sampled)
        assert text.splitlines()[0] in html
        assert text.splitlines()[1] in html
        shown = re.findall(r"<tr>(<td.*?)</tr>", html)
        without_bars = [re.sub(r"<svg.*?</svg>", "", row) for row in shown]
        told = [[cell for cell in re.findall(r"<td[^>]*>(.*?)</td>", row) if cell] for row in without_bars]
        assert told == [[name, *numbers] for name, numbers in self.rows(text).items()]
        assert all(row.count("<svg") == 1 for row in shown)
        assert f"seed {sampled.how.seed}" in html

    def test_html_escapes_names(self):
        X, codes = blobs()
        labels = np.array(["<script>alert('x')</script>", "a & b", "<i>", "d"])[codes]
        html = affinity(X, labels, influence="euclidean")._repr_html_()
        assert "<script>" not in html
        assert "<i>" not in html
        assert "&lt;script&gt;" in html
        assert "a &amp; b" in html
