"""AffinityResult: every field against its definition, and the result as frames, lists to review and text."""

import json
import re
from dataclasses import FrozenInstanceError
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs

from allegiance import AffinityResult, AffinityScorer, Calibration, affinity, trust
from allegiance.domains import Box
from allegiance.engines import SharedSamples

Z95 = 1.959963984540054
IRIS, SPECIES = load_iris(return_X_y=True)
INDEX = pd.Index([f"row {i}" for i in range(240)])
COLUMNS = ["label", "rival", "own_affinity", "typicality", "priority"]
TRUSTED = ["label", "trust", "verdict", *COLUMNS[1:]]
DETAILS = ["owner", "stable", "distance", "closeness", "empty_cell", "residual", "engine"]
VERDICTS = ("firm", "borderline", "doubtful")
KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
each_table = pytest.mark.parametrize("kind", ["trusted", "plain", "sampled"])


@cache
def data() -> tuple[np.ndarray, np.ndarray]:
    """Four clusters that touch, a tenth of the labels wrong, another tenth noise."""
    X, labels = make_blobs(240, 3, centers=4, cluster_std=2.0, center_box=(-5, 5), random_state=4)
    labels[::10] = (labels[::10] + 1) % 4
    labels[5::10] = -1
    return X, labels


@cache
def example(kind: str) -> AffinityResult:
    """The same clustering with trust and without, measured exactly and by samples, whole and with top."""
    X, labels = data()
    frame = pd.DataFrame(X, index=INDEX, columns=list("abc"))
    calls: dict[str, Any] = {
        "trusted": lambda: trust(frame, labels, clusterer=KMeans(4, n_init=3), n_resamples=4),
        "trusted, top": lambda: affinity(frame, labels, calibration=4, top=2),
        "plain": lambda: affinity(frame, labels, influence="euclidean"),
        "sampled": lambda: affinity(frame, labels, engine="shared", eps=0.1),
        "one cluster": lambda: affinity(X, np.zeros(240, dtype=int)),
        "named": lambda: affinity(X, np.array(["dog", "cat", "bee", "ant", "-1"])[labels]),
    }
    return calls[kind]()


@pytest.fixture(params=["trusted", "plain", "sampled", "one cluster", "named"])
def result(request: pytest.FixtureRequest) -> AffinityResult:
    return example(request.param)


class TestDefinitions:
    def test_affinity(self, result):
        assert result.affinity.shape == result.standard_error.shape == (len(result), result.classes.size)
        assert (result.affinity >= 0).all()
        np.testing.assert_allclose(result.affinity.sum(axis=1), 1.0, atol=1e-12)
        exact = np.isin(result.frame(details=True)["engine"], ["exact", "closed-form", "limit"])
        assert (result.standard_error[exact] == 0).all()
        assert (result.standard_error[~exact] > 0).any(axis=1).all()
        assert (Z95 * result.standard_error <= result.summary().measurement.eps + 1e-9).all()

    def test_owner_rival_and_own_affinity_one_point_after_another(self, result):
        owner = result.frame(details=True)["owner"].tolist()
        for row, shares in enumerate(result.affinity.tolist()):
            named = dict(zip(result.classes.tolist(), shares, strict=True))
            label = result.label[row]
            others = [name for name in named if name != label] or list(named)
            assert owner[row] == max(named, key=named.__getitem__)
            assert result.rival[row] == max(others, key=named.__getitem__)
            assert result.stable[row] == (max(shares) > 0.5)
            assert result.own_affinity[row] == named.get(label, 0.0)

    def test_ties_go_to_the_first_cluster_and_half_is_not_stable(self):
        centers = [[0.0, 1.0], [0.0, -1.0], [1e3, 0.0]]
        actual = affinity([[0.0, 0.0]], centers=centers, influence="euclidean", domain="space")
        assert actual.frame(details=True)["owner"].tolist() == [0]
        assert actual.rival.tolist() == [1]
        assert actual.stable.tolist() == [False]

    def test_typicality_counts_the_members_at_least_as_far(self, result):
        distance = result.frame(details=True)["distance"].to_numpy()
        for row in range(0, 240, 7):
            mine = result.label == result.label[row]
            as_far = (distance[mine] >= distance[row]).sum()
            if as_far == 1:  # the farthest member, whose value is smaller: see tests/fitting
                continue
            expected = np.nan if str(result.label[row]) == "-1" else (1 + as_far) / (1 + mine.sum())
            np.testing.assert_allclose(result.typicality[row], expected)

    def test_distance_and_closeness(self):
        X, labels = data()
        plain = example("plain").frame(details=True)
        means = np.array([X[labels == i].mean(axis=0) for i in range(4)])
        between = np.linalg.norm(X[:, None] - means, axis=2)
        own = np.where(labels >= 0, between[np.arange(240), labels], between.min(axis=1))
        np.testing.assert_allclose(plain["distance"], own, rtol=1e-9)
        others = np.where(np.arange(4) == labels[:, None], np.inf, between).min(axis=1)
        expected = (1 + (others - own) / np.maximum(others, own)) / 2
        np.testing.assert_allclose(plain["closeness"], np.where(labels >= 0, expected, 0.0), rtol=1e-9)

    @pytest.mark.parametrize(
        ("domain", "name"),
        [("box", "box"), (Box(0.5), "Box(margin=0.5)"), ("ball", "ball"), ("space", "space")],
    )
    def test_how_it_was_measured_is_on_record(self, domain, name):
        X, labels = make_blobs(40, 7, centers=3, random_state=1)
        how = affinity(X, labels, domain=domain, eps=0.1, random_state=12).summary().measurement
        assert (how.influence, how.domain, how.engine, how.dim) == ("within", name, "auto", 2)
        assert (how.eps, how.seed, how.n_features) == (0.1, 12, 7)
        assert how.seconds > 0

    def test_a_result_does_not_change_and_can_be_kept_in_sets(self):
        one, other = example("plain"), example("sampled")
        with pytest.raises(FrozenInstanceError):
            one.affinity = np.zeros((1, 1))
        assert len({one, other, one}) == 2


class TestTop:
    @pytest.mark.parametrize("settings", [{}, {"engine": "hit-and-run"}, {"calibration": 3}])
    @pytest.mark.parametrize("top", [1, 3, 50])
    def test_everything_but_the_smaller_affinities_is_the_same(self, top, settings):
        X, labels = make_blobs(90, 5, centers=7, cluster_std=4.0, random_state=2)
        full, short = (affinity(X, labels, eps=0.1, top=m, **settings) for m in (None, top))
        names = [name for name in full.frame(details=True) if not name.startswith("affinity_")]
        assert full.frame(details=True)[names].equals(short.frame(details=True)[names])
        order = np.argsort(-full.affinity, axis=1, kind="stable")[:, :top]
        np.testing.assert_array_equal(short.affinity, np.take_along_axis(full.affinity, order, axis=1))
        np.testing.assert_array_equal(short.standard_error, np.take_along_axis(full.standard_error, order, axis=1))
        np.testing.assert_array_equal(short.clusters, full.classes[order])
        assert full.clusters is None
        assert short.by_cluster().equals(full.by_cluster())
        assert short.review(9).equals(full.review(9))

    def test_coinciding_clusters_share_and_keep_their_order(self):
        centers = [[0.0, 0.0], [4.0, 0.0], [0.0, 0.0]]
        actual = affinity([[0.1, 0.0], [3.9, 0.0]], centers=centers, top=2, influence="euclidean")
        assert actual.clusters[0].tolist() == [0, 2]
        np.testing.assert_allclose(actual.affinity[0, 0], actual.affinity[0, 1])

    def test_parts_of_many_rows_make_one_result(self, monkeypatch):
        X, labels = make_blobs(90, 5, centers=7, cluster_std=4.0, random_state=2)
        scorer = AffinityScorer(eps=0.01, engine=SharedSamples(max_samples=3000)).fit(X, labels)
        with pytest.warns(UserWarning, match=r"of 90 points"):
            one = scorer.affinity(X, top=2)
        monkeypatch.setattr("allegiance.fitting._fitted._PART", 32)
        with pytest.warns(UserWarning, match=r"of 90 points") as warned:
            other = scorer.affinity(X, top=2)
        assert len(warned) == 1
        assert one.frame(details=True).equals(other.frame(details=True))
        np.testing.assert_array_equal(one.standard_error, other.standard_error)

    @pytest.mark.parametrize(("top", "error"), [(0, ValueError), (-1, ValueError), (1.5, TypeError), ("3", TypeError)])
    def test_bad_top(self, top, error):
        with pytest.raises(error, match="top must be"):
            affinity(IRIS, SPECIES, top=top)


class TestTrust:
    def test_function_and_estimator_agree_to_the_last_bit(self):
        X, labels = data()
        by_function = trust(X, labels, n_resamples=20)
        by_estimator = AffinityScorer(calibration=20).fit_affinity(X, labels)
        fitted = AffinityScorer(calibration=20).fit(X, labels).fitted_.score(X, labels=labels)
        for other in (by_estimator, fitted):
            for name in ("trust", "affinity", "verdict", "priority"):
                np.testing.assert_array_equal(getattr(other, name), getattr(by_function, name), err_msg=name)
            assert other.replication_interval == by_function.replication_interval

    def test_the_clusterer_may_make_the_labels_too(self):
        clusterer = KMeans(3, n_init=1, random_state=0)
        actual = trust(IRIS, clusterer=clusterer, n_resamples=3)
        np.testing.assert_array_equal(actual.label, clusterer.fit(IRIS).labels_)
        scorer = AffinityScorer(clusterer, calibration=Calibration(3, clusterer=clusterer))
        np.testing.assert_array_equal(scorer.fit_affinity(IRIS).trust, actual.trust)

    @pytest.mark.parametrize("influence", ["kl", "cosine", "euclidean"])
    def test_centres_label_points_by_the_influence(self, influence):
        X = np.random.default_rng(0).gamma(2.0, 1.0, (200, 3)) * [1, 10, 100] + 0.01
        settings: dict[str, Any] = {"centers": X[:3], "influence": influence, "eps": 0.2}
        expected = affinity(X, **settings).label
        np.testing.assert_array_equal(trust(X, n_resamples=2, **settings).label, expected)

    def test_within_begins_with_the_nearest_centre_by_euclidean_distance(self):
        centers = np.array([IRIS[i == SPECIES].mean(axis=0) for i in range(3)])
        nearest = np.linalg.norm(IRIS[:, None] - centers, axis=2).argmin(axis=1)
        alone = trust(IRIS, centers=centers, n_resamples=2)
        np.testing.assert_array_equal(alone.label, nearest)
        np.testing.assert_array_equal(affinity(IRIS, centers=centers).label, nearest)
        np.testing.assert_array_equal(alone.trust, trust(IRIS, nearest, centers=centers, n_resamples=2).trust)

    @pytest.mark.parametrize("name", ["trust", "verdict", "replication", "replication_interval"])
    def test_what_is_missing_says_how_to_get_it(self, name):
        with pytest.raises(ValueError, match="calibration=20"):
            getattr(example("plain"), name)

    def test_score_samples_is_the_order_of_review(self):
        X, labels = data()
        scorer = AffinityScorer(calibration=4).fit(X, labels)
        np.testing.assert_allclose(scorer.score_samples(X), 1 - scorer.affinity(X).priority / 100)


def without_seconds(summary: Any) -> str:
    return re.sub(r"seed 0; [\d.]+ s", "", repr(summary))


def names_of(frame: Any) -> list[str]:
    return list(frame.column_names if isinstance(frame, pa.Table) else frame.columns)


def four_blobs() -> tuple[np.ndarray, np.ndarray]:
    return make_blobs(60, 2, centers=4, random_state=1)


class TestFrame:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("names", [["0", "1", "2", "3"], ["ant", "bee", "cat", "dog"]])
    def test_every_column_in_the_kind_of_frame_that_came(self, kind, names):
        X, labels = four_blobs()
        table = KINDS[kind]({"a": X[:, 0], "b": X[:, 1]})
        actual = affinity(table, labels if names[0] == "0" else np.array(names)[labels])
        short, details = actual.frame(), actual.frame(details=True)
        assert type(short) is type(details) is type(table)
        assert names_of(short) == COLUMNS
        affinities = [f"affinity_{name}" for name in names]
        assert names_of(details) == [*COLUMNS, *DETAILS, "standard_error", *affinities]
        for name in (*COLUMNS, "stable"):
            np.testing.assert_array_equal(np.asarray(details[name]), getattr(actual, name), err_msg=name)
        for i, name in enumerate(affinities):
            np.testing.assert_array_equal(np.asarray(details[name]), actual.affinity[:, i])

    def test_with_top_there_is_a_pair_of_columns_for_each_rank(self):
        X, labels = make_blobs(20, 3, centers=5, random_state=1)
        actual = affinity(X, np.array(list("abcde"))[labels], top=2).frame(details=True)
        assert list(actual.columns[-4:]) == ["cluster_1", "affinity_1", "cluster_2", "affinity_2"]
        assert (actual["cluster_1"] == actual["owner"]).all()

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
        X, labels = four_blobs()
        frame = affinity(pd.DataFrame(X, index=index, columns=["a", "b"]), labels).frame()
        assert frame.index.equals(index)
        assert frame.index.names == index.names

    def test_like_another_frame(self):
        actual = affinity(*four_blobs())
        assert actual.frame().index.equals(pd.RangeIndex(60))
        assert isinstance(actual.frame(like=pl.DataFrame({"any": [1]})), pl.DataFrame)
        index = pd.Index([f"row {i}" for i in range(60)])
        assert actual.frame(like=pd.DataFrame({"any": range(60)}, index=index)).index.equals(index)
        with pytest.raises(ValueError, match="60"):
            actual.frame(like=pd.DataFrame({"any": [1, 2]}))


class TestVerdicts:
    def test_they_follow_trust_alone(self):
        trusted = example("trusted")
        for verdict, trust_, label in zip(trusted.verdict, trusted.trust, trusted.label, strict=True):
            expected = "firm" if trust_ >= 0.8 else "borderline" if trust_ >= 0.5 else "doubtful"
            assert verdict == ("noise" if label == -1 else expected)
        assert {"borderline", "doubtful", "noise"} <= set(trusted.verdict)

    def test_a_result_without_trust_has_none(self):
        assert not {"trust", "verdict"} & {*example("plain").frame(), *example("plain").review(5)}

    def test_printed_trust_does_not_reach_the_next_verdict(self):
        result = example("trusted")
        printed = [float(text) for text in re.findall(r"(\d\.\d\d) +(?:borderline|doubtful)", str(result))]
        shown = result.review().head(len(printed))["trust"].to_numpy()
        assert printed
        np.testing.assert_allclose(printed, np.floor(100 * shown + 1e-9) / 100)


class TestReview:
    @each_table
    def test_the_highest_priority_first_with_the_index_of_x(self, kind):
        result = example(kind)
        frame = result.review(20)
        ranked = pd.Series(-result.priority, index=result.frame().index).dropna().sort_values(kind="stable")
        assert frame.index.tolist() == ranked.index[:20].tolist()
        shared = [name for name in frame if name != "reason"]
        assert frame[shared].equals(result.frame().loc[frame.index, shared])
        trusted = kind == "trusted"
        assert shared == (
            ["label", "trust", "verdict", "rival", "priority"] if trusted else ["label", "rival", "priority"]
        )
        assert ((result.review(10**6)["priority"] >= 0) & (result.review(10**6)["priority"] <= 100)).all()
        weak = (result.trust if trusted else result.own_affinity) < 0.8
        assert sorted(result.review().index) == sorted(result.frame().index[weak & (result.label != -1)])

    def test_the_other_queue_is_sorted_by_trust(self):
        trusted = example("trusted")
        queue = trusted.review(10**6, by="trust")
        assert queue["trust"].is_monotonic_increasing
        assert set(queue.index) == set(trusted.review(10**6).index)
        with pytest.raises(ValueError, match="by must be one of 'priority', 'trust'"):
            trusted.review(by="rival")

    def test_a_reason_for_each_row(self):
        trusted = example("trusted")
        rows = trusted.review(10**6)
        details = trusted.frame(details=True).loc[rows.index]
        closer = details["owner"] != details["label"]
        assert (rows["reason"] == "closer to " + rows["rival"].astype(str))[closer].all()
        assert not rows["reason"][~closer].str.startswith("closer").any()
        outliers = ~closer & (details["typicality"] < 0.01)
        assert (rows["reason"][outliers] == "atypical for its cluster").all()
        firm = ~closer & ~outliers & (rows["verdict"] == "firm")
        assert (rows["reason"][firm] == "").all()
        rest = rows["reason"][~closer & ~outliers & ~firm]
        assert rest.str.fullmatch(r"near the border with \d|cluster \d rarely replicates").all()
        assert closer.any()

    @pytest.mark.parametrize(("n", "rows"), [(0, 0), (7, 7), (10**6, 216), ("5%", 12), ("100%", 216), (" 0.1 % ", 1)])
    def test_how_many(self, n, rows):
        assert len(example("trusted").review(n)) == rows

    @pytest.mark.parametrize("n", [-1, 1.5, "5", "many", "101%", True])
    def test_bad_numbers_are_refused(self, n):
        with pytest.raises(ValueError, match="number of labels"):
            example("plain").review(n)

    def test_rivals_of_integer_labels_are_integers(self):
        for frame in (example("plain").review(5), example("plain").frame(), example("plain").by_cluster()):
            assert pd.api.types.is_integer_dtype(frame["rival"].dtype), frame["rival"].dtype

    def test_frames_without_an_index_get_a_column_of_rows(self):
        X, labels = data()
        actual = affinity(pl.DataFrame(X, schema=list("abc")), labels)
        assert actual.review(5)["row"].to_list() == affinity(X, labels).review(5).index.tolist()
        table = actual.by_cluster()
        assert isinstance(table, pl.DataFrame)
        assert table["points"].sum() == 240


class TestByCluster:
    def test_a_cluster_of_one_row_has_no_interval(self):
        X, labels = data()
        result = trust(np.vstack([X, [[90.0] * 3]]), np.append(labels, 7), n_resamples=4)
        table = result.by_cluster().set_index("cluster")
        assert np.isnan(table.loc[7, ["replication_low", "replication_high"]].astype(float)).all()
        (line,) = [line for line in str(result).splitlines() if line.startswith("7 ")]
        assert "(" not in line

    @each_table
    def test_each_figure_by_hand(self, kind):
        result = example(kind)
        table, points = result.by_cluster(), result.frame(details=True)
        assert pd.api.types.is_integer_dtype(table["cluster"].dtype)
        for line in table[table["cluster"] >= 0].itertuples():
            mine = points[points["label"] == line.cluster]
            weak = mine[(mine["trust"] if kind == "trusted" else mine["own_affinity"]) < 0.8]
            assert line.points == len(mine)
            assert weak["rival"].value_counts().get(int(line.rival), 0) == weak["rival"].value_counts().max()
            if kind == "trusted":
                assert line.replication == pytest.approx(mine["trust"].mean())
                assert 0 <= line.replication_low <= line.replication <= line.replication_high <= 1
                assert [getattr(line, name) for name in VERDICTS] == [(mine["verdict"] == v).sum() for v in VERDICTS]
            else:
                assert line.own_affinity == pytest.approx(mine["own_affinity"].mean())
                assert line.stable == mine["stable"].sum()
        last = table.iloc[-1]
        assert (last["cluster"], last["points"]) == (-1, 24)
        if kind == "trusted":
            assert np.isnan(last["replication"])
            assert table["replication"].iloc[:-1].is_monotonic_increasing


class TestSummary:
    @pytest.mark.parametrize("settings", [{"calibration": 4}, {}])
    def test_summaries_of_parts_add_up_exactly(self, settings):
        X, labels = data()
        fitted = AffinityScorer(**settings).fit(X, labels).fitted_
        X = np.where(np.arange(240)[:, None] % 50 == 7, 40 * X, X)  # beyond the walls, where cells are empty
        cuts = [0, 1, 90, 91, 200, 240]
        parts = [fitted.score(X[i:j], labels=labels[i:j]).summary() for i, j in pairwise(cuts)]
        whole = fitted.score(X, labels=labels).summary()
        assert "5 points with an empty cell" in str(whole)
        for joined in (sum(parts[1:], parts[0]), parts[0] + (parts[1] + (parts[2] + (parts[3] + parts[4])))):
            first, second = (json.loads(each.to_json()) | {"seconds": 0} for each in (joined, whole))
            assert first == second
            assert joined.replication == whole.replication
            assert str(joined.clusters) == str(whole.clusters)
            assert without_seconds(joined) == without_seconds(whole)
            assert without_seconds(whole.from_json(joined.to_json())) == without_seconds(whole)
        other = AffinityScorer().fit(X, labels % 2).affinity(X).summary()
        with pytest.raises(ValueError, match="their clusters differ"):
            parts[0] + other

    def test_no_evidence_and_one_cluster_are_headlines(self):
        X = np.random.default_rng(0).normal(size=(400, 2))
        actual = trust(X, KMeans(5, n_init=1, random_state=0).fit_predict(X), n_resamples=20)
        lines = str(actual).splitlines()
        assert re.fullmatch(
            r"No evidence of clusters: \d+% would hold up, and so would \d+% in unclustered data\.", lines[1]
        )
        assert lines[2].startswith(f"{100 * actual.replication:.0f}% of 400 labels would hold up on a fresh sample")
        alone = trust(X, np.zeros(400, dtype=int))
        assert str(alone).splitlines()[1] == "There is only one cluster, and one cluster always replicates."
        assert "would hold up" not in str(alone)

    def test_after_an_audit_it_is_about_right_labels(self):
        sample = example("trusted").audit_sample(40)
        audited = example("trusted").audit(sample, np.arange(40) % 4 > 0).result
        assert f"About {100 * audited.replication:.0f}% of 216 labels are right, judging by the audit." in str(audited)
        assert audited.summary().clusters[0].replication == pytest.approx(audited.trust[audited.label == 0].mean())

    @staticmethod
    def rows(text: str) -> dict[str, list[str]]:
        """Return the cells of each cluster's row in a printed summary, by its name."""
        lines = text.splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith("cluster"))
        return {
            line.split()[0]: line.split()[1:] for line in lines[start + 1 : lines.index("", start)] if line[0] != "."
        }

    @each_table
    def test_says_what_a_person_wants_to_know(self, kind):
        result = example(kind)
        text = str(result)
        assert text == repr(result) == repr(result.summary())
        assert text.startswith("240 points in 4 clusters\n")
        assert "24 noise points (10%)" in text
        assert f"seed {result.summary().measurement.seed}" in text
        assert f"{int(result.stable.sum())} points" in text
        engine = result.frame(details=True)["engine"]
        for name in np.unique(engine):
            assert f"{name} ({(engine == name).sum()})" in text
        if kind == "trusted":
            low, high = (100 * value for value in result.replication_interval)
            assert (
                f"{100 * result.replication:.0f}% of 216 labels would hold up on a fresh sample "
                f"(90% prediction interval: {low:.0f}-{high:.0f}%).\n"
            ) in text
            assert ", ".join(f"{(result.verdict == name).sum()} {name}" for name in VERDICTS) in text
        rows = self.rows(text)
        assert list(rows)[-1] == "noise"
        for name in result.classes:
            mine = result.label == name
            assert rows[str(name)][0] == str(mine.sum())
            if kind == "trusted":
                assert rows[str(name)][-4:-1] == [str((mine & (result.verdict == v)).sum()) for v in VERDICTS]

    def test_precision_and_reduction(self):
        sampled = example("sampled")
        assert f"95% intervals within ±{1.96 * sampled.standard_error.max():.3f}" in str(sampled)
        assert "intervals within" not in str(example("plain"))
        X, labels = make_blobs(40, 9, centers=3, random_state=1)
        assert "2 dimensions, reduced from 9" in str(affinity(X, labels))

    def test_unlike_points_and_clusters_without_points(self):
        X, labels = make_blobs(600, 2, centers=3, random_state=1)
        scorer = AffinityScorer().fit(X, labels)
        assert "1 outlier: less typical than 99%" in str(scorer.affinity([[500.0, 0.0]]))
        assert "outlier" not in str(scorer.affinity(X[:40]))
        empty = affinity(X, labels, centers=[[-4, 0], [0, 5], [3, -3], [90, 90]])
        assert self.rows(str(empty))["3"] == ["0", "0", "-"]
        assert "nan" not in str(empty) + empty._repr_html_()

    def test_many_clusters_are_cut_but_noise_is_shown(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(600, 2)) * 10
        labels = rng.integers(0, 30, 600)
        labels[:25] = -1
        actual = affinity(X, labels, centers=X[:30])
        rows = self.rows(str(actual))
        assert list(rows)[-1] == "noise"
        assert len(rows) == 21
        assert "and 10 more clusters" in str(actual)
        shares = [actual.own_affinity[actual.label == name].mean() for name in actual.classes]
        assert [shares[int(name)] for name in list(rows)[:-1]] == sorted(shares)[:20]

    def test_html_says_the_same_and_escapes_names(self):
        html, text = example("trusted")._repr_html_(), str(example("trusted"))
        assert text.splitlines()[1] in re.sub(r"<[^>]*>", " ", html)
        lines = [
            re.sub(r"<svg.*?</svg>", "", row)
            for row in re.findall(r"<tr>(<td.*?)</tr>", html.partition("Review these first")[0])
        ]
        cells = [[cell for cell in re.findall(r"<td[^>]*>(.*?)</td>", row) if cell] for row in lines]
        assert [" ".join(row).split() for row in cells] == [[name, *row] for name, row in self.rows(text).items()]
        X, codes = four_blobs()
        html = affinity(X, np.array(["<script>x</script>", "a & b", "<i>", "d"])[codes])._repr_html_()
        assert "<script>" not in html
        assert "&lt;script&gt;" in html
        assert "a &amp; b" in html
