"""Results with trust: each number against its definition, and what must never look trusted."""

from __future__ import annotations

import pickle
import re
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_iris, make_blobs, make_moons

from allegiance import AffinityResult, AffinityScorer, Calibration, affinity, trust
from allegiance.influence import Kernel
from allegiance.results import Ranks, verdicts

Z95 = 1.959963984540054
IRIS, SPECIES = load_iris(return_X_y=True)
INDEX = pd.Index([f"row {i}" for i in range(240)])


@cache
def data() -> tuple[np.ndarray, np.ndarray]:
    """Four clusters that touch, a tenth of the labels wrong, another tenth noise."""
    X, labels = make_blobs(240, 3, centers=4, cluster_std=2.0, center_box=(-5, 5), random_state=4)
    labels[::10] = (labels[::10] + 1) % 4
    labels[5::10] = -1
    return X, labels


@cache
def example(kind: str) -> Any:
    """The same clustering, with trust and without, measured exactly and by samples, whole and in short."""
    X, labels = data()
    frame = pd.DataFrame(X, index=INDEX, columns=list("abc"))
    return {
        "trusted": lambda: trust(frame, labels, n_resamples=4),
        "sampled": lambda: trust(frame, labels, n_resamples=4, engine="shared", eps=0.1),
        "plain": lambda: affinity(frame, labels, influence="euclidean"),
        "plain, sampled": lambda: affinity(frame, labels, engine="shared", eps=0.1, influence="euclidean"),
        "top": lambda: affinity(frame, labels, influence="within", calibration=4, top=2),
    }[kind]()


@pytest.fixture(params=["trusted", "sampled"])
def trusted(request: pytest.FixtureRequest) -> AffinityResult:
    return example(request.param)


@pytest.fixture(params=["trusted", "sampled", "plain", "plain, sampled"])
def result(request: pytest.FixtureRequest) -> AffinityResult:
    return example(request.param)


def verdict_by_hand(result: AffinityResult, row: int) -> tuple[str, Any]:
    """The verdict and the rival of one point, by the definitions, one cluster after another."""
    own, rival = None, None
    for column, name in enumerate(result.classes):
        share, error = result.affinity[row, column], result.standard_error[row, column]
        if name == result.label[row]:
            own = share, error
        elif rival is None or share > rival[0]:
            rival = share, error, name
    if own is None:
        return "noise", rival[2]
    bar = Z95 * (own[1] + rival[1])
    if rival[0] - own[0] > bar and not (result.calibrated and result.trust[row] >= 0.5):
        return "contradicted", rival[2]
    ahead = own[0] >= rival[0] and result.trust[row] >= 0.5 if result.calibrated else own[0] - rival[0] > bar
    return ("supported" if ahead else "contested"), rival[2]


class TestVerdict:
    def test_by_the_definition_one_point_after_another(self, result):
        expected = [verdict_by_hand(result, row) for row in range(len(result))]
        assert result.verdict.tolist() == [verdict for verdict, _ in expected]
        assert result.rival.tolist() == [rival for _, rival in expected]

    def test_the_example_has_all_of_them(self):
        assert set(example("sampled").verdict) == {"supported", "contested", "contradicted", "noise"}
        assert set(example("plain, sampled").verdict) == {"supported", "contested", "contradicted", "noise"}

    @pytest.mark.parametrize(
        ("shares", "error", "code", "trust", "expected"),
        [
            ([0.6, 0.4], 0.0, 0, 0.9, "supported"),
            ([0.6, 0.4], 0.0, 0, 0.5, "supported"),
            ([0.6, 0.4], 0.0, 0, 0.49, "contested"),
            ([0.6, 0.4], 0.0, 0, None, "supported"),
            ([0.6, 0.4], 0.0, 1, 0.9, "contested"),
            ([0.6, 0.4], 0.0, 1, 0.5, "contested"),
            ([0.6, 0.4], 0.0, 1, 0.49, "contradicted"),
            ([0.6, 0.4], 0.0, 1, None, "contradicted"),
            ([0.5, 0.5], 0.0, 0, 0.9, "supported"),
            ([0.5, 0.5], 0.0, 1, 0.9, "supported"),
            ([0.5, 0.5], 0.0, 0, None, "contested"),
            ([0.6, 0.4], 0.1, 0, 0.9, "supported"),
            ([0.6, 0.4], 0.1, 0, None, "contested"),
            ([0.6, 0.4], 0.1, 1, 0.9, "contested"),
            ([0.6, 0.4], 0.1, 1, None, "contested"),
            ([0.9, 0.1], 0.1, 1, 0.9, "contested"),
            ([0.9, 0.1], 0.1, 1, 0.4, "contradicted"),
            ([0.9, 0.1], 0.1, 0, None, "supported"),
            ([0.6, 0.4], 0.0, -1, np.nan, "noise"),
            ([0.6, 0.4], 0.0, -1, None, "noise"),
            ([1.0], 0.0, 0, 1.0, "supported"),
            ([1.0], 0.0, 0, None, "supported"),
        ],
    )
    def test_each_branch(self, shares, error, code, trust, expected):
        codes = np.array([code])
        ranks = Ranks.of(np.array([shares]), np.full((1, len(shares)), error), codes)
        found = verdicts(ranks, codes, None if trust is None else np.array([trust]))
        assert found.tolist() == [expected]


class TestTrust:
    def test_is_a_chance_and_noise_has_none(self, trusted):
        noise = trusted.label == -1
        assert np.isnan(trusted.trust[noise]).all()
        assert ((trusted.trust[~noise] >= 0) & (trusted.trust[~noise] <= 1)).all()

    def test_wrong_labels_are_trusted_less(self, trusted):
        wrong = (np.arange(240) % 10 == 0) & (trusted.label != -1)
        assert np.median(trusted.trust[wrong]) < np.nanquantile(trusted.trust[~wrong], 0.1)

    def test_replication_is_the_mean_of_labelled_points(self, trusted):
        assert trusted.replication == pytest.approx(np.nanmean(trusted.trust), rel=1e-12)
        low, high = trusted.replication_interval
        assert 0 <= low < trusted.replication < high <= 1
        assert high - low < 0.5

    def test_error_of_measuring_widens_the_interval(self):
        exact, sampled = (example(kind).replication_interval for kind in ("trusted", "sampled"))
        assert sampled[1] - sampled[0] > exact[1] - exact[0]

    def test_more_resamples_narrow_it(self):
        X, labels = data()
        wide, narrow = (trust(X, labels, n_resamples=n).replication_interval for n in (2, 30))
        assert narrow[1] - narrow[0] < wide[1] - wide[0]

    def test_typicality_by_the_definition(self, result):
        """One more than the members of the cluster at least as far from its mean, of one more than all members."""
        for row in range(0, 240, 7):
            mine = result.label == result.label[row]
            as_far = (result.distance[mine] >= result.distance[row]).sum()
            expected = np.nan if result.label[row] == -1 else (1 + as_far) / (1 + mine.sum())
            np.testing.assert_allclose(result.typicality[row], expected)

    def test_distances_are_those_of_the_influence(self):
        X, labels = data()
        plain = example("plain")
        means = np.array([X[labels == i].mean(axis=0) for i in range(4)])
        between = np.linalg.norm(X[:, None] - means, axis=2)
        own = np.where(labels >= 0, between[np.arange(240), labels], between.min(axis=1))
        np.testing.assert_allclose(plain.distance, own, rtol=1e-9)
        others = np.where(np.arange(4) == labels[:, None], np.inf, between).min(axis=1)
        expected = (1 + (others - own) / np.maximum(others, own)) / 2
        np.testing.assert_allclose(plain.closeness, np.where(labels >= 0, expected, 0.0), rtol=1e-9)

    def test_one_cluster_holds_for_certain(self):
        result = trust(IRIS, np.zeros(150, dtype=int), n_resamples=3)
        assert result.trust.min() > 0.999
        assert set(result.verdict) == {"supported"}
        assert result.replication > 0.999
        assert len(result.review()) == 0
        assert result.by_cluster()["rival"].tolist() == [None]
        assert "Expected right: 100 %" in str(result)

    def test_the_shuffled_species_of_iris_are_not_supported(self):
        """The tale that trust was made for: labels without any meaning, called 150 of 150 stable before."""
        for seed in range(3):
            result = trust(IRIS, np.random.default_rng(seed).permutation(SPECIES))
            assert "supported" not in set(result.verdict)
            assert result.replication < 0.5
            assert "unrelated to the data" in result.clusterer_note
            assert result.clusterer_note in str(result)
        true = trust(IRIS, SPECIES)
        assert (true.verdict == "supported").mean() > 0.8
        assert true.clusterer_note is None
        assert true.replication > 0.8

    def test_fit_and_function_agree_to_the_last_bit(self):
        X, labels = data()
        scorer = AffinityScorer(influence="within", calibration=4).fit(X, labels)
        known = scorer.fitted_.score(X, labels=labels)
        np.testing.assert_array_equal(known.trust, example("trusted").trust)
        fitted = AffinityScorer(influence="within", calibration=4).fit_affinity(X, labels)
        np.testing.assert_array_equal(fitted.trust, example("trusted").trust)
        assert fitted.replication_interval == example("trusted").replication_interval

    def test_a_pickle_keeps_it(self, trusted):
        again = pickle.loads(pickle.dumps(trusted))
        np.testing.assert_array_equal(again.trust, trusted.trust)
        assert repr(again) == repr(trusted)


class TestInvariance:
    def test_number_of_threads(self):
        X, labels = data()
        results = [trust(X, labels, n_resamples=4, engine="shared", eps=0.2, n_jobs=n) for n in (1, 2, 3, -1)]
        for other in results[1:]:
            for name in ("trust", "verdict", "rival", "typicality", "closeness", "own_affinity"):
                np.testing.assert_array_equal(getattr(other, name), getattr(results[0], name), err_msg=name)
            assert other.replication_interval == results[0].replication_interval

    def test_order_and_cuts_of_new_points(self, rng):
        X, labels = data()
        scorer = AffinityScorer(influence="within", calibration=4, engine="shared", eps=0.2).fit(X, labels)
        new = X + 0.1
        whole = scorer.affinity(new)
        order = rng.permutation(240)
        shuffled = scorer.affinity(new[order])
        parts = [scorer.affinity(part) for part in np.split(new, [1, 2, 77, 200])]
        for name in ("trust", "verdict", "rival", "typicality", "closeness"):
            np.testing.assert_array_equal(getattr(shuffled, name), getattr(whole, name)[order], err_msg=name)
            joined = np.concatenate([getattr(part, name) for part in parts])
            np.testing.assert_array_equal(joined, getattr(whole, name), err_msg=name)

    def test_names_of_the_clusters(self):
        X, labels = data()
        names = np.array(["-1", "d", "c", "b", "a"])[labels + 1]
        result = trust(X, names, n_resamples=4)
        noise = labels < 0
        np.testing.assert_allclose(result.trust[~noise], example("trusted").trust[~noise], atol=0.05)
        np.testing.assert_array_equal(result.verdict[noise], "noise")

    def test_units_of_the_columns(self):
        """A common one changes nothing but rounding, others only the axes of the box around the whitened data."""
        X, labels = data()
        common, single = (trust(X * unit, labels, n_resamples=4) for unit in (1024.0, [1.0, 1024.0, 2.0**-10]))
        np.testing.assert_allclose(common.trust, example("trusted").trust, atol=1e-9)
        np.testing.assert_allclose(single.trust, example("trusted").trust, atol=0.03)

    def test_only_the_largest_affinities_kept(self, monkeypatch):
        full, short = example("trusted"), example("top")
        for name in ("trust", "verdict", "rival", "own_affinity", "typicality", "closeness", "distance", "ranking"):
            np.testing.assert_array_equal(getattr(short, name), getattr(full, name), err_msg=name)
        assert short.replication == full.replication
        assert short.replication_interval == full.replication_interval
        assert short.by_cluster().equals(full.by_cluster())
        assert short.review(9).equals(full.review(9))
        X, labels = data()
        scorer = AffinityScorer(influence="within", calibration=4).fit(X, labels)
        whole = scorer.affinity(X, top=1)
        monkeypatch.setattr("allegiance.fitting._fitted._PART", 50)
        np.testing.assert_array_equal(scorer.affinity(X, top=1).trust, whole.trust)


class TestNewPoints:
    @pytest.mark.parametrize("domain", ["box", "ball", "space"])
    @pytest.mark.parametrize(
        "influence",
        ["within", "euclidean", "rbf", Kernel("rbf", approximation="nystroem")],
        ids=lambda value: str(value)[:20],
    )
    @pytest.mark.parametrize(("k", "d"), [(3, 2), (6, 5)])
    def test_ten_spreads_away_nothing_looks_trusted(self, rng, k, d, influence, domain):
        X, labels = make_blobs(150, d, centers=k, random_state=1)
        scorer = AffinityScorer(influence=influence, domain=domain, calibration=3, eps=0.2).fit(X, labels)
        assert scorer.affinity(X).replication > 0.8
        away = rng.normal(size=(6, d))
        away *= 10 * np.linalg.norm(X.std(axis=0)) / np.linalg.norm(away, axis=1, keepdims=True)
        far = scorer.affinity(X.mean(axis=0) + away)
        assert "supported" not in set(far.verdict)
        # Where the space of a kernel ends, far points are as far from all clusters as from each.
        assert far.trust.max() < (0.6 if isinstance(influence, Kernel) else 0.2)
        assert far.typicality.max() <= 1 / (150 // k) + 1e-12, "no member is as far"

    def test_words_for_points_unlike_any(self):
        X, labels = make_blobs(600, 2, centers=3, random_state=1)
        scorer = AffinityScorer(influence="within", calibration=3).fit(X, labels)
        far = np.array([[500.0, 0.0], [-300.0, 20.0]])
        text = str(scorer.affinity(np.vstack([X[:40], far])))
        assert "2 points unlike anything in their cluster (typicality below 1 %)" in text
        assert "1 point unlike anything" in str(scorer.affinity(far[:1]))
        assert "unlike" not in str(scorer.affinity(X[:40]))
        assert "unlike anything" in scorer.affinity(far)._repr_html_()

    def test_score_samples_and_score(self):
        X, labels = data()
        scorer = AffinityScorer(influence="within", calibration=4).fit(X, labels)
        new = X[:50] + 0.2
        result = scorer.affinity(new)
        np.testing.assert_array_equal(scorer.score_samples(new), result.trust)
        chance = scorer.fitted_.trust_map.chance
        assert scorer.score(new) == pytest.approx((result.replication - chance) / (1 - chance))
        assert result.above_chance() == scorer.score(new)

    def test_score_prefers_clusters_to_chance(self):
        X, _ = make_blobs(300, 2, centers=3, random_state=1)
        found = KMeans(3, n_init=1, random_state=0).fit_predict(X)
        unrelated = np.random.default_rng(0).integers(0, 3, 300)
        scores = [
            AffinityScorer(calibration=4, influence="euclidean").fit(X, labels).fitted_.score(X, labels=labels)
            for labels in (found, unrelated)
        ]
        assert scores[0].above_chance() > 0.9
        assert scores[1].above_chance() < 0.2


class TestWithoutCalibration:
    @pytest.mark.parametrize("name", ["trust", "replication", "replication_interval"])
    def test_what_is_missing_says_how_to_get_it(self, name):
        plain = example("plain")
        assert not plain.calibrated
        assert not hasattr(plain, name)
        for kind in (ValueError,):
            with pytest.raises(kind, match=r"trust needs calibration: call trust\(X, labels\), or pass calibration=20"):
                getattr(plain, name)
        assert getattr(plain, name, None) is None

    def test_above_chance_too(self):
        with pytest.raises(ValueError, match="calibration"):
            example("plain").above_chance()

    def test_the_rest_is_there(self):
        plain = example("plain")
        assert list(plain.frame().columns) == ["label", "verdict", "rival", "own_affinity", "typicality"]
        assert "replication" not in plain.by_cluster().columns
        assert plain.clusterer_note is None
        assert np.nanargmin(plain.ranking) == plain.least_trusted(1)[0]
        assert "Expected right" not in str(plain)

    def test_points_are_ordered_by_their_own_affinity(self):
        plain = example("plain")
        labelled = np.flatnonzero(plain.label != -1)
        expected = sorted(labelled, key=lambda row: (plain.own_affinity[row], row))
        assert plain.least_trusted(10**6).tolist() == expected


class TestReview:
    def test_least_trusted_first_with_the_index_of_x(self, result):
        labelled = np.flatnonzero(result.label != -1)
        expected = sorted(labelled, key=lambda row: (result.ranking[row], row))
        frame = result.review(20)
        assert frame.index.tolist() == [f"row {row}" for row in expected[:20]]
        assert frame.equals(result.frame().loc[frame.index])
        assert result.least_trusted(20).tolist() == expected[:20]
        assert result.least_trusted().tolist() == expected[:10]

    @pytest.mark.parametrize(
        ("budget", "rows"),
        [(0, 0), (7, 7), (10**9, 216), ("5%", 12), ("0%", 0), ("100%", 216), ("0.5%", 2), (" 1.3 %", 4)],
    )
    def test_budgets(self, budget, rows):
        """A share is one of all 240 points, rounded up; noise is never looked at, so no more than 216 can be."""
        assert len(example("trusted").review(budget)) == rows
        assert len(example("trusted").least_trusted(budget)) == rows

    def test_by_default_all_that_is_not_supported(self, result):
        doubtful = np.isin(result.verdict, ["contested", "contradicted"])
        frame = result.review()
        assert set(frame.index) == set(INDEX[doubtful])
        assert frame["trust" if result.calibrated else "own_affinity"].is_monotonic_increasing

    def test_below_a_threshold(self, trusted):
        frame = trusted.review(below=0.5)
        assert len(frame) == (trusted.trust < 0.5).sum()
        assert (frame["trust"] < 0.5).all()
        assert frame["trust"].is_monotonic_increasing
        assert len(trusted.review(3, below=0.5)) == 3
        assert len(trusted.review(below=0.0)) == 0
        assert len(trusted.review(below=1.5)) == 216

    @pytest.mark.parametrize("budget", ["5", "five", "%", "-5%", "101%", "nan%", -1, 2.5, True, [3]])
    def test_budgets_that_make_no_sense(self, budget):
        with pytest.raises(ValueError, match=r"review takes a number of labels, such as 500, or a share, such as '5%'"):
            example("trusted").review(budget)

    @pytest.mark.parametrize(("below", "kind"), [("0.5", TypeError), (None, None), (np.nan, ValueError)])
    def test_thresholds_that_make_no_sense(self, below, kind):
        if kind is None:
            assert len(example("trusted").review(below=below)) == len(example("trusted").review())
            return
        with pytest.raises(kind, match="below must be"):
            example("trusted").review(below=below)

    def test_frames_without_an_index_name_the_rows(self):
        X, labels = data()
        result = affinity(pl.DataFrame(X, schema=list("abc")), labels, influence="euclidean")
        frame = result.review(5)
        assert isinstance(frame, pl.DataFrame)
        assert frame["row"].to_list() == result.least_trusted(5).tolist()
        assert affinity(X, labels, influence="euclidean").review(5).index.tolist() == result.least_trusted(5).tolist()


class TestByCluster:
    def test_against_pandas(self, result):
        table = result.by_cluster()
        frame = result.frame(details=True).assign(distance=result.distance)
        labelled = frame[frame["label"] != -1]
        clusters = table[table["cluster"] != "noise"]
        assert len(clusters) == 4
        for line in clusters.itertuples():
            mine = labelled[labelled["label"].astype(str) == str(line.cluster)]
            assert line.points == len(mine)
            counts = mine["verdict"].value_counts()
            for verdict in ("supported", "contested", "contradicted"):
                assert getattr(line, verdict) == counts.get(verdict, 0)
            assert line.most_typical == mine["distance"].idxmin()
            least = mine["trust"] if result.calibrated else mine["own_affinity"]
            assert line.least_trusted == least.idxmin()
            if result.calibrated:
                assert line.replication == pytest.approx(mine["trust"].mean())
            rivals = mine.loc[mine["verdict"] != "supported", "rival"].value_counts()
            assert rivals.get(int(line.rival), 0) == rivals.max()

    def test_noise_comes_last_with_nothing_to_hold(self, result):
        last = result.by_cluster().iloc[-1]
        assert last["cluster"] == "noise"
        assert last["points"] == 24
        assert (last["supported"], last["contested"], last["contradicted"]) == (0, 0, 0)
        assert pd.isna(last["least_trusted"])
        if result.calibrated:
            assert np.isnan(last["replication"])

    def test_most_trouble_first(self, trusted):
        clusters = trusted.by_cluster().iloc[:-1]
        assert clusters["replication"].is_monotonic_increasing

    def test_the_kind_of_frame_is_that_of_x(self):
        X, labels = data()
        table = affinity(pl.DataFrame(X, schema=list("abc")), labels, influence="euclidean").by_cluster()
        assert isinstance(table, pl.DataFrame)
        assert table.columns[:2] == ["cluster", "points"]
        assert table["points"].sum() == 240

    def test_tallies_of_parts_add_up(self, trusted):
        X, labels = data()
        fitted = AffinityScorer(influence="within", calibration=4).fit(X, labels).fitted_
        parts = [fitted.score(X[rows], labels=labels[rows]).tally() for rows in (slice(0, 90), slice(90, 240))]
        joined, whole = parts[0].plus(parts[1]), fitted.score(X, labels=labels).tally()
        np.testing.assert_array_equal(joined.counts, whole.counts)
        np.testing.assert_array_equal(joined.rivals, whole.rivals)
        np.testing.assert_allclose(joined.replication, whole.replication, rtol=1e-12)


class TestSummary:
    def test_first_line_says_what_to_expect(self, trusted):
        counts = [f"{(trusted.verdict == name).sum()} {name}" for name in ("supported", "contested", "contradicted")]
        share = f"{100 * trusted.replication:.0f} % of"
        expected = f"Expected right: {share} of 216 labels. {', '.join(counts)}"
        assert str(trusted).splitlines()[1] == expected
        assert "24 points of noise, in no cluster (10% of all)" in str(trusted)

    def test_frame_has_few_columns_a_person_understands(self, trusted):
        names = ["label", "trust", "verdict", "rival", "own_affinity", "typicality"]
        assert list(trusted.frame().columns) == names
        details = list(trusted.frame(details=True).columns)
        assert details[:6] == names
        assert {"owner", "stable", "closeness", "affinity_0"} <= set(details)

    def test_clusters_found_by_density_leave_noise(self):
        """HDBSCAN and its kind: a third of the points in no cluster, and none of them counts as right or wrong."""
        X, _ = make_blobs(400, 2, centers=4, cluster_std=[0.4, 0.4, 0.4, 3.0], random_state=0)
        labels = DBSCAN(eps=0.4, min_samples=8).fit_predict(X)
        noise = labels == -1
        assert 0.15 < noise.mean() < 0.5
        result = trust(X, labels, n_resamples=5)
        assert (result.verdict[noise] == "noise").all()
        assert f"of {(~noise).sum()} labels" in str(result)
        assert f"{noise.sum()} points of noise, in no cluster ({noise.mean():.0%} of all)" in str(result)
        assert result.replication == pytest.approx(result.trust[~noise].mean())
        assert not np.isin(result.least_trusted(10**6), np.flatnonzero(noise)).any()

    def test_a_clusterer_that_does_not_fit_is_named(self):
        """Labels that k-means cannot find again are not called wrong without a word."""
        X, labels = make_moons(400, noise=0.05, random_state=0)
        result = trust(X, labels, n_resamples=5, influence="euclidean")
        assert "pass clusterer=, the clusterer that made them" in result.clusterer_note
        assert result.clusterer_note in str(result)
        own = trust(X, labels, n_resamples=5, influence="euclidean", clusterer=DBSCAN(eps=0.3))
        assert own.clusterer_note is None
        assert own.replication > result.replication + 0.1

    def test_html_says_the_same(self, trusted):
        html = re.sub(r"<[^>]*>", " ", trusted._repr_html_())
        assert str(trusted).splitlines()[1] in html


def test_the_clusterer_of_trust_may_make_the_labels_too():
    clusterer = KMeans(3, n_init=1, random_state=0)
    result = trust(IRIS, clusterer=clusterer, n_resamples=3)
    np.testing.assert_array_equal(result.label, clusterer.fit(IRIS).labels_)
    scorer = AffinityScorer(clusterer, influence="within", calibration=Calibration(3, clusterer=clusterer))
    np.testing.assert_array_equal(scorer.fit_affinity(IRIS).trust, result.trust)


def test_centres_alone_are_enough():
    """Points belong to the nearest centre, and the result is that of these labels beside the centres."""
    X, species = load_iris(return_X_y=True)
    centers = np.array([X[species == i].mean(axis=0) for i in range(3)])
    nearest = np.linalg.norm(X[:, None] - centers, axis=2).argmin(axis=1)
    alone = trust(X, centers=centers)
    np.testing.assert_array_equal(alone.label, nearest)
    np.testing.assert_array_equal(alone.trust, trust(X, nearest, centers=centers).trust)
