"""A result as frames, as the list of labels to review, by cluster, and on a screen."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import make_blobs

from allegiance import AffinityResult, AffinityScorer, affinity, trust

COLUMNS = ["label", "verdict", "rival", "own_affinity", "typicality"]
DETAILS = ["owner", "stable", "closeness", "empty_cell", "residual", "engine"]
VERDICTS = ("supported", "contested", "contradicted")
KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@cache
def data() -> tuple[np.ndarray, np.ndarray]:
    """Four clusters that touch, a tenth of the labels wrong, another tenth noise."""
    X, labels = make_blobs(240, 3, centers=4, cluster_std=2.0, center_box=(-5, 5), random_state=4)
    labels[::10] = (labels[::10] + 1) % 4
    labels[5::10] = -1
    return X, labels


@cache
def example(kind: str) -> AffinityResult:
    X, labels = data()
    frame = pd.DataFrame(X, index=[f"row {i}" for i in range(240)], columns=list("abc"))
    calls: dict[str, Any] = {
        "trusted": lambda: trust(frame, labels, n_resamples=4),
        "plain": lambda: affinity(frame, labels),
        "sampled": lambda: affinity(frame, labels, engine="shared", eps=0.1),
    }
    return calls[kind]()


@pytest.fixture(params=["trusted", "plain", "sampled"])
def result(request: pytest.FixtureRequest) -> AffinityResult:
    return example(request.param)


def names_of(frame: Any) -> list[str]:
    return list(frame.column_names if isinstance(frame, pa.Table) else frame.columns)


class TestFrame:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("names", [["0", "1", "2", "3"], ["ant", "bee", "cat", "dog"]])
    def test_every_column_in_the_kind_of_frame_that_came(self, kind, names):
        X, labels = make_blobs(60, 2, centers=4, random_state=1)
        table = KINDS[kind]({"a": X[:, 0], "b": X[:, 1]})
        found = affinity(table, labels if names[0] == "0" else np.array(names)[labels])
        short, details = found.frame(), found.frame(details=True)
        assert type(short) is type(details) is type(table)
        assert names_of(short) == COLUMNS
        affinities = [f"affinity_{name}" for name in names]
        assert names_of(details) == [*COLUMNS, *DETAILS, "standard_error", *affinities]
        for name in (*COLUMNS, *DETAILS):
            np.testing.assert_array_equal(np.asarray(details[name]), getattr(found, name), err_msg=name)
        for i, name in enumerate(affinities):
            np.testing.assert_array_equal(np.asarray(details[name]), found.affinity[:, i])

    def test_with_top_there_is_a_pair_of_columns_for_each_rank(self):
        X, labels = make_blobs(20, 3, centers=5, random_state=1)
        found = affinity(X, np.array(list("abcde"))[labels], top=2).frame(details=True)
        assert list(found.columns[-4:]) == ["cluster_1", "affinity_1", "cluster_2", "affinity_2"]
        assert (found["cluster_1"] == found["owner"]).all()

    @pytest.mark.parametrize(
        "index",
        [
            pd.Index(np.arange(60)[::-1] * 7),
            pd.Index(["same"] * 60, name="id"),
            pd.MultiIndex.from_product([["a", "b", "c"], range(20)], names=["group", "number"]),
        ],
        ids=["descending", "duplicates", "MultiIndex"],
    )
    def test_pandas_keeps_its_index(self, index):
        X, labels = make_blobs(60, 2, centers=4, random_state=1)
        frame = affinity(pd.DataFrame(X, index=index, columns=["a", "b"]), labels).frame()
        assert frame.index.equals(index)
        assert frame.index.names == index.names

    def test_like_another_frame(self):
        X, labels = make_blobs(60, 2, centers=4, random_state=1)
        found = affinity(X, labels)
        assert found.frame().index.equals(pd.RangeIndex(60))
        assert isinstance(found.frame(like=pl.DataFrame({"any": [1]})), pl.DataFrame)
        index = pd.Index([f"row {i}" for i in range(60)])
        assert found.frame(like=pd.DataFrame({"any": range(60)}, index=index)).index.equals(index)
        with pytest.raises(ValueError, match="60"):
            found.frame(like=pd.DataFrame({"any": [1, 2]}))

    def test_trust_stands_next_to_the_label(self):
        assert list(example("trusted").frame().columns) == ["label", "trust", *COLUMNS[1:]]


class TestReview:
    def test_the_lowest_ranking_first_with_the_index_of_x(self, result):
        frame = result.review(20)
        ranked = pd.Series(result.ranking, index=result.frame().index).dropna().sort_values(kind="stable")
        assert frame.index.tolist() == ranked.index[:20].tolist()
        assert frame.equals(result.frame().loc[frame.index])

    @pytest.mark.parametrize(("n", "rows"), [(0, 0), (7, 7), (10**6, 216), ("5%", 12), ("100%", 216), (" 0.1 % ", 1)])
    def test_how_many(self, n, rows):
        assert len(example("trusted").review(n)) == rows

    def test_by_default_all_that_are_not_supported(self, result):
        expected = np.isin(result.verdict, ["contested", "contradicted"])
        assert sorted(result.review().index) == sorted(result.frame().index[expected])

    def test_only_below_a_trust(self):
        trusted = example("trusted")
        assert (trusted.review(below=0.5)["trust"] < 0.5).all()
        assert len(trusted.review(below=0.5)) == (trusted.trust < 0.5).sum()
        assert len(trusted.review(3, below=0.5)) == 3

    @pytest.mark.parametrize("n", [-1, 1.5, "5", "many", "101%", True])
    def test_bad_numbers_are_refused(self, n):
        with pytest.raises(ValueError, match="number of labels"):
            example("plain").review(n)

    def test_rivals_of_integer_labels_are_integers(self):
        for frame in (example("plain").review(5), example("plain").frame(), example("plain").by_cluster()):
            assert pd.api.types.is_integer_dtype(frame["rival"].dtype), frame["rival"].dtype

    def test_frames_without_an_index_get_a_column_of_rows(self):
        X, labels = data()
        frame = affinity(pl.DataFrame(X, schema=list("abc")), labels).review(5)
        assert frame["row"].to_list() == affinity(X, labels).review(5).index.tolist()


class TestByCluster:
    def test_each_figure_by_hand(self, result):
        table = result.by_cluster()
        points = result.frame(details=True).assign(distance=result.distance, ranking=result.ranking)
        for line in table[table["cluster"] != "noise"].itertuples():
            mine = points[points["label"].astype(str) == str(line.cluster)]
            assert line.points == len(mine)
            for verdict in VERDICTS:
                assert getattr(line, verdict) == (mine["verdict"] == verdict).sum()
            assert line.most_typical == mine["distance"].idxmin()
            assert line.least_trusted == mine["ranking"].idxmin()
            if result.calibrated:
                assert line.replication == pytest.approx(mine["trust"].mean())
            rivals = mine.loc[mine["verdict"] != "supported", "rival"].value_counts()
            assert rivals.get(int(line.rival), 0) == rivals.max()

    def test_the_least_trusted_first_and_noise_last(self, result):
        table = result.by_cluster()
        last = table.iloc[-1]
        assert (last["cluster"], last["points"]) == ("noise", 24)
        assert (last["supported"], last["contested"], last["contradicted"]) == (0, 0, 0)
        assert pd.isna(last["least_trusted"])
        if result.calibrated:
            assert np.isnan(last["replication"])
            assert table["replication"].iloc[:-1].is_monotonic_increasing

    def test_the_kind_of_frame_is_that_of_x(self):
        X, labels = data()
        table = affinity(pl.DataFrame(X, schema=list("abc")), labels).by_cluster()
        assert isinstance(table, pl.DataFrame)
        assert table["points"].sum() == 240

    def test_tallies_of_parts_add_up(self):
        X, labels = data()
        fitted = AffinityScorer(calibration=4).fit(X, labels).fitted_
        parts = [fitted.score(X[rows], labels=labels[rows]).tally() for rows in (slice(0, 90), slice(90, 240))]
        joined, whole = parts[0].plus(parts[1]), fitted.score(X, labels=labels).tally()
        np.testing.assert_array_equal(joined.counts, whole.counts)
        np.testing.assert_array_equal(joined.rivals, whole.rivals)


class TestSummary:
    @staticmethod
    def rows(text: str) -> dict[str, list[str]]:
        """Return the cells of each cluster's row in a printed summary, by its name."""
        lines = text.splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith("cluster"))
        return {
            line.split()[0]: line.split()[1:] for line in lines[start + 1 : lines.index("", start)] if line[0] != "."
        }

    def test_says_what_a_person_wants_to_know(self, result):
        text = str(result)
        assert text == repr(result) == result.summary()
        assert text.startswith("240 points in 4 clusters\n")
        assert ", ".join(f"{(result.verdict == name).sum()} {name}" for name in VERDICTS) in text
        assert "24 noise points (10%)" in text
        assert f"seed {result.how.seed}" in text
        assert f"{int(result.stable.sum())} points" in text
        for name in np.unique(result.engine):
            assert f"{name} ({(result.engine == name).sum()})" in text
        if result.calibrated:
            assert f"{100 * result.replication:.0f} % of 216 labels would come back" in text

    def test_row_of_each_cluster(self, result):
        rows = self.rows(str(result))
        assert list(rows)[-1] == "noise"
        for name in result.classes:
            mine = result.label == name
            points, _, *verdicts, _ = rows[str(name)]
            assert points == str(mine.sum())
            assert verdicts == [str((mine & (result.verdict == verdict)).sum()) for verdict in VERDICTS]

    def test_precision_and_reduction(self):
        sampled = example("sampled")
        assert f"95 % intervals within ±{1.96 * sampled.standard_error.max():.3f}" in str(sampled)
        assert "intervals within" not in str(example("plain"))
        X, labels = make_blobs(40, 9, centers=3, random_state=1)
        assert "2 dimensions, reduced from 9" in str(affinity(X, labels))

    def test_unlike_points_and_clusters_without_points(self):
        X, labels = make_blobs(600, 2, centers=3, random_state=1)
        scorer = AffinityScorer().fit(X, labels)
        assert "1 point unlike" in str(scorer.affinity([[500.0, 0.0]]))
        assert "unlike" not in str(scorer.affinity(X[:40]))
        empty = affinity(X, labels, centers=[[-4, 0], [0, 5], [3, -3], [90, 90]])
        assert self.rows(str(empty))["3"] == ["0", "-", "0", "0", "0", "-"]
        assert "nan" not in str(empty) + empty._repr_html_()

    def test_many_clusters_are_cut_but_noise_is_shown(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(600, 2)) * 10
        labels = rng.integers(0, 30, 600)
        labels[:25] = -1
        found = affinity(X, labels, centers=X[:30])
        rows = self.rows(str(found))
        assert list(rows)[-1] == "noise"
        assert len(rows) == 21
        assert "and 10 more clusters" in str(found)
        shares = [(found.verdict[found.label == name] == "supported").mean() for name in found.classes]
        assert [shares[int(name)] for name in list(rows)[:-1]] == sorted(shares)[:20]

    def test_html_says_the_same_and_escapes_names(self):
        html, text = example("trusted")._repr_html_(), str(example("trusted"))
        assert text.splitlines()[1] in re.sub(r"<[^>]*>", " ", html)
        shown = [re.sub(r"<svg.*?</svg>", "", row) for row in re.findall(r"<tr>(<td.*?)</tr>", html)]
        cells = [[cell for cell in re.findall(r"<td[^>]*>(.*?)</td>", row) if cell] for row in shown]
        assert cells == [[name, *numbers] for name, numbers in self.rows(text).items()]
        X, codes = make_blobs(60, 2, centers=4, random_state=1)
        html = affinity(X, np.array(["<script>x</script>", "a & b", "<i>", "d"])[codes])._repr_html_()
        assert "<script>" not in html
        assert "&lt;script&gt;" in html
        assert "a &amp; b" in html
