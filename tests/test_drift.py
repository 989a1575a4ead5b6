"""Two periods of which it is known what changed."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy import stats
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from allegiance import AffinityScorer, load
from allegiance.drift import compare_periods, compare_profiles, profile_rows
from allegiance.io import Model, propose

CENTERS = np.array([[20.0, 20.0, 20.0], [30.0, 20.0, 20.0], [20.0, 30.0, 20.0], [20.0, 20.0, 30.0]])
NAMES = ["age", "income", "visits"]


def draw(seed, n=800, shares=None):
    rng = np.random.default_rng([5, seed])
    cluster = rng.choice(4, size=n, p=shares)
    return pd.DataFrame(CENTERS[cluster] + rng.normal(size=(n, 3)), columns=NAMES), cluster


def kmeans_scorer(**settings):
    return AffinityScorer(KMeans(4, n_init=3, random_state=0), **{"influence": "within", "n_jobs": 1} | settings)


@pytest.fixture(scope="module")
def scorer():
    january, _ = draw(0)
    return kmeans_scorer().fit(january).keep_baseline(january)


def label_of(scorer, cluster):
    return scorer.predict(pd.DataFrame(CENTERS[[cluster]], columns=NAMES))[0]


def normal_rows(center, n):
    return pd.DataFrame(np.random.default_rng(0).normal(center, 1.0, size=(n, 3)), columns=NAMES)


def one_finding(scorer, february):
    (result,) = compare_periods(scorer, None, february).findings
    return result


class TestKinds:
    """Each change gives a finding of its kind."""

    def test_nothing_changed(self, scorer):
        comparison = compare_periods(scorer, draw(0)[0], draw(1)[0])
        assert not comparison.drifted
        assert comparison.findings == ()
        assert comparison.severity == 0.0
        assert "Nothing changed" in repr(comparison)

    @pytest.mark.parametrize(
        ("clusters", "column", "by"),
        [
            *[([2], "income", by) for by in (1.0, 3.0, 9.0)],
            ([0, 2], "visits", -1.5),
            *[([0, 1, 2, 3], "age", by) for by in (0.8, 3.0, -10.0, 40.0)],
        ],
    )
    def test_clusters_that_moved_or_a_shifted_column(self, scorer, clusters, column, by):
        february, cluster = draw(7 if column == "age" else 2)
        february.loc[np.isin(cluster, clusters), column] += by
        result = one_finding(scorer, february)
        assert (result.kind, result.feature) == ("moved" if len(clusters) < 4 else "shifted", column)
        assert set(result.clusters) == {label_of(scorer, each) for each in clusters if result.kind == "moved"}
        assert result.now - result.then == pytest.approx(by, abs=0.5)
        assert result.kind == "shifted" or result.interval[0] < by < result.interval[1]
        if clusters == [2]:
            # The total variation distance of two normal distributions, in the share of the rows that moved.
            distance = 2 * stats.norm.cdf(abs(by) / 2) - 1
            assert result.severity == pytest.approx(np.mean(cluster == 2) * distance, abs=0.02)

    @pytest.mark.parametrize("place", [[40.0, 26.0, 20.0], [20.0, 20.0, 24.0]], ids=["far", "near another"])
    def test_a_cluster_that_left_for_another_place_vanished_and_is_new(self, scorer, place):
        february, cluster = draw(4)
        february.loc[cluster == 3] = normal_rows(place, (cluster == 3).sum()).to_numpy()
        vanished, new = compare_periods(scorer, None, february).findings
        assert (vanished.kind, vanished.clusters) == ("vanished", (label_of(scorer, 3),))
        assert new.kind == "new cluster"
        assert new.severity == pytest.approx(vanished.severity, abs=0.05)

    @pytest.mark.parametrize("n", [25, 100, 400])
    def test_a_new_cluster(self, scorer, n):
        result = one_finding(scorer, pd.concat([draw(3)[0], normal_rows([34.0, 34.0, 20.0], n)], ignore_index=True))
        assert result.kind == "new cluster"
        assert result.severity == result.now == pytest.approx(n / (800 + n), rel=0.15)

    def test_clusters_that_vanished_grew_and_shrank(self, scorer):
        vanished = one_finding(scorer, draw(5, shares=[0.34, 0.0, 0.33, 0.33])[0])
        assert (vanished.kind, vanished.clusters) == ("vanished", (label_of(scorer, 1),))
        assert vanished.severity == vanished.then == pytest.approx(0.25, abs=0.05)
        mix = one_finding(scorer, draw(5, shares=[0.45, 0.25, 0.25, 0.05])[0])
        assert mix.kind == "mix"
        assert set(mix.clusters) >= {label_of(scorer, 0), label_of(scorer, 3)}
        assert mix.severity == pytest.approx(0.2, abs=0.05)

    @pytest.mark.parametrize(
        ("factor", "offset", "said"),
        [(0.01, 0, "by 0.01 "), (1000.0, 0, "by 1,000 "), (1 / 1.609, 0, "by 0.6"), (2.54, 0, "by 2.5"), (1.8, 32, "")],
    )
    def test_a_changed_unit(self, scorer, factor, offset, said):
        february, _ = draw(6, n=800 if offset else 150)
        february["income"] = factor * february["income"] + offset
        result = one_finding(scorer, february)
        assert (result.kind, result.feature) == ("unit", "income")
        assert result.now == pytest.approx(factor, rel=0.1)
        assert said in result.sentence

    @pytest.mark.parametrize(
        ("then", "now", "kinds"),
        [(1.0, 2.0, ["shifted"]), (0.9999999999999998, 0.9999999999999999, []), (0.1, np.float32(0.1), [])],
        ids=["changed", "rounded", "single precision"],
    )
    def test_a_constant_column(self, then, now, kinds):
        # With few rows, means move by chance, and differences that are only rounding must not make this significant.
        (january, _), (february, _) = (draw(seed, n=800 if kinds else 160) for seed in range(2))
        january["version"], february["version"] = then, now
        scorer = kmeans_scorer(influence="within" if kinds else "euclidean").fit(january)
        findings = compare_periods(scorer, january, february).findings
        assert [(result.kind, result.feature) for result in findings] == [(kind, "version") for kind in kinds]

    def test_points_that_scatter_are_atypical(self, scorer):
        scattered = np.random.default_rng(1).uniform(-40.0, 90.0, size=(60, 3))
        result = one_finding(scorer, pd.concat([draw(7)[0], pd.DataFrame(scattered, columns=NAMES)], ignore_index=True))
        assert result.kind == "atypical"
        assert result.severity == pytest.approx(60 / 860, abs=0.03)

    def test_two_changes_give_two_findings(self, scorer):
        february, cluster = draw(8)
        february.loc[cluster == 2, "income"] += 2.0
        both = pd.concat([february, normal_rows([34.0, 34.0, 34.0], 80)], ignore_index=True)
        result = compare_periods(scorer, None, both).findings
        assert {each.kind for each in result} == {"new cluster", "moved"}

    @pytest.mark.parametrize("seed", range(6))
    def test_a_cluster_that_moved_past_its_neighbors_is_not_a_change_of_the_mix(self, seed):
        rng = np.random.default_rng([17, seed])
        centers = 4.0 * rng.normal(size=(3, 2))
        codes = [rng.integers(3, size=1000) for _ in range(2)]
        then, now = (centers[each] + rng.normal(size=(1000, 2)) for each in codes)
        direction = rng.normal(size=2)
        now[codes[1] == 0] += 6.0 * direction / np.linalg.norm(direction)
        scorer = AffinityScorer(KMeans(3, n_init=3, random_state=0), n_jobs=1).fit(then)
        kinds = {result.kind for result in compare_periods(scorer, then, now).findings}
        assert kinds
        assert kinds <= {"moved", "vanished", "new cluster"}

    def test_a_cluster_called_noise_is_a_cluster(self):
        (january, cluster), (february, later) = draw(0), draw(2)
        labels = np.array(["a", "noise", "b", "c"])[cluster]
        february.loc[later == 1, "income"] += 1.5
        january, february = (frame.rename(columns={"income": "<b>income"}) for frame in (january, february))
        scorer = AffinityScorer(n_jobs=1).fit(january, labels)
        comparison = compare_periods(scorer, january, february)
        assert comparison.findings[0].clusters == ("noise",)
        assert "<b>income" not in comparison._repr_html_()
        assert comparison.features()["cluster"].unique().tolist() == ["noise"]
        assert comparison.frame()["cluster"].tolist() == ["a", "b", "c", "noise", "all"]


class TestTables:
    def test_frames_and_json(self, scorer):
        february, cluster = draw(2)
        february.loc[cluster == 2, "income"] += 1.5
        comparison = compare_periods(scorer, None, february)
        frame = comparison.frame()
        assert frame["cluster"].tolist() == ["0", "1", "2", "3", "all"]
        assert frame["points_now"].tolist()[-1] == 800
        assert frame["share_then"].iloc[:-1].sum() == pytest.approx(1.0)
        assert (frame["share_low"] <= frame["share_now"] - frame["share_then"] + 1e-12).all()
        features = comparison.features()
        assert features["feature"][0] == "income"
        assert features["cluster"].unique().tolist() == [str(label_of(scorer, 2))]
        assert features["shift"][0] == pytest.approx(1.5, abs=0.3)
        told = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
        assert told["findings"][0]["kind"] == "moved"
        assert told["severity"] == comparison.severity > 0.0
        assert isinstance(compare_periods(scorer, None, pl.from_pandas(february)).frame(), pl.DataFrame)

    def test_bad_input_is_refused_with_the_remedy(self, scorer):
        january, _ = draw(0, n=100)
        fresh = AffinityScorer(KMeans(2)).fit(january)
        with pytest.raises(ValueError, match="keep_baseline"):
            compare_periods(fresh, None, january)
        with pytest.raises(ValueError, match="level"):
            compare_periods(fresh, january, january, level=2.0)
        with pytest.raises(ValueError, match=r"cluster='z' is not among the clusters: 0, 1, 2, 3"):
            compare_periods(scorer, None, january).features("z")


class TestProfile:
    def test_parts_add_up_to_the_whole(self, scorer):
        february, _ = draw(2)
        february.iloc[5] = [90.0, 0.0, 0.0]
        whole = scorer.profile(february)
        parts = scorer.profile(february[:100])
        for start, stop in ((100, 101), (101, 777), (777, 800)):
            parts = parts + scorer.profile(february[start:stop], start=start)
        assert np.array_equal(whole.counts, parts.counts)
        np.testing.assert_allclose(whole.moments[:, :2], parts.moments[:, :2], rtol=1e-12)
        for one, other in ((whole.values, parts.values), (whole.atypical, parts.atypical)):
            assert np.array_equal(one.numbers, other.numbers)
            assert np.array_equal(one.rows, other.rows)
        one, other = (compare_profiles(scorer, None, each).to_dict() for each in (whole, parts))
        assert one["clusters"][0]["share_now"] == other["clusters"][0]["share_now"]

    def test_known_scores_give_the_same(self, scorer):
        february, _ = draw(2)
        fresh = scorer.profile(february)
        known = profile_rows(scorer.fitted_, february, result=scorer.affinity(february))
        assert np.array_equal(fresh.counts, known.counts)
        assert fresh.counts[:, 0].sum() == 800
        assert fresh.counts[:, 1].sum() == (scorer.affinity(february).typicality < 0.01).sum()

    @pytest.mark.parametrize("kind", ["dense", "sparse", "missing"])
    def test_moments_are_those_of_numpy(self, scorer, kind):
        february, _ = draw(2, n=9000)
        X = np.random.default_rng(0).normal(size=(9000, 4))
        if kind == "missing":
            X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
        else:
            X += 1e6 * (kind == "dense")
        rows = sp.csr_array(X) if kind == "sparse" else X
        parts = [
            profile_rows(
                scorer.fitted_, february[part].to_numpy(), features=rows[part], names=list("abcd"), start=start
            )
            for part, start in ((slice(90), 0), (slice(90, None), 90))
        ]
        moments, codes = (parts[0] + parts[1]).moments, scorer.predict(february)
        atypical = scorer.affinity(february).typicality < 0.01
        for side, cluster in product(range(2), range(4)):
            members = X[(codes == cluster) & (atypical == side)]
            count, mean, squares = moments[side, :, cluster]
            assert count.tolist() == (~np.isnan(members)).sum(axis=0).tolist()
            np.testing.assert_allclose(mean, np.nanmean(members, axis=0), rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(squares / (count - 1), np.nanvar(members, axis=0, ddof=1), rtol=1e-7)

    def test_the_baseline_is_saved_without_rows(self, scorer, tmp_path):
        scorer.save(tmp_path / "january.model")
        loaded = load(tmp_path / "january.model")
        february, cluster = draw(2)
        february.loc[cluster == 1, "age"] += 1.0
        known, again = (compare_periods(each, None, february) for each in (scorer, loaded))
        assert known.to_dict() == again.to_dict()
        assert loaded.fitted_.baseline.values is None

    def test_dask_gives_the_same(self, scorer):
        frames = pytest.importorskip("dask.dataframe")
        february, cluster = draw(2)
        february.loc[cluster == 1, "age"] += 1.0
        known = compare_periods(scorer, None, february)
        lazily = compare_periods(scorer, None, frames.from_pandas(february, npartitions=3))
        assert [each.sentence for each in lazily.findings] == [each.sentence for each in known.findings]
        assert np.array_equal(lazily.now.counts, known.now.counts)

    @pytest.mark.parametrize(
        ("part", "value"), [("counts", np.zeros((3, 2), dtype=np.int64)), ("quantiles", np.full((129, 3), np.nan))]
    )
    def test_a_damaged_baseline_is_refused(self, scorer, part, value):
        state = scorer.to_dict()
        state["baseline"] = state["baseline"] | {part: value}
        with pytest.raises(ValueError, match=part):
            AffinityScorer.from_dict(state)

    def test_small_clusters_call_atypical_what_lies_beyond_every_member(self, rng):
        X = np.vstack([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 30.0])
        scorer = AffinityScorer(n_jobs=1).fit(X, np.repeat([0, 1], 20))
        far = np.array([[9.0, -9.0], [0.0, 0.0]])
        assert scorer.affinity(far).typicality[0] < 0.01
        assert scorer.profile(far).counts[:, 1].tolist() == [1, 0, 0]

    def test_many_features_are_compared_by_labels_only(self, rng):
        X = rng.normal(size=(60, 1200)) + 3.0 * (np.arange(60) % 2)[:, None]
        comparison = compare_periods(AffinityScorer(KMeans(2, n_init=1, random_state=0), n_jobs=1).fit(X), X, X)
        assert not comparison.drifted
        assert comparison.features().shape[0] == 0


def test_rows_pass_the_transformers_once():
    rows = []

    def count(X):
        rows.append(len(X))
        return X

    january = draw(0)[0].to_numpy()
    scorer = AffinityScorer(make_pipeline(FunctionTransformer(count), KMeans(4, n_init=1, random_state=0))).fit(january)
    rows.clear()
    scorer.profile(january)
    assert sum(rows) == len(january)


def test_behind_a_pipeline_features_keep_their_own_units():
    def frame(seed, n=300):
        rng = np.random.default_rng(seed)
        cluster = rng.integers(2, size=n)
        spent = 5000.0 + 400.0 * cluster + 30.0 * rng.normal(size=n)
        return pd.DataFrame({"spent": spent, "plan": np.array(["a", "b"])[cluster]})

    parts = ColumnTransformer([("scaled", StandardScaler(), ["spent"]), ("plan", OneHotEncoder(), ["plan"])])
    january, february = frame(0), frame(1)
    scorer = AffinityScorer(make_pipeline(parts, KMeans(2, n_init=2, random_state=0)), n_jobs=1).fit(january)
    assert not compare_periods(scorer, january, february).drifted
    february["spent"] /= 100
    (result,) = compare_periods(scorer, january, february).findings
    assert (result.kind, result.feature) == ("unit", "spent")
    assert result.now == pytest.approx(0.01, rel=0.01)


def test_dates_are_reported_as_dates():
    """Once: "joined rose by 30 in all clusters (from 1.702e+04 to 1.705e+04 on average)"."""

    def customers(first_day):
        rng = np.random.default_rng(0)
        spent = np.where(np.arange(600) % 2, 900.0, 50.0) + 30.0 * rng.normal(size=600)
        days = pd.Timestamp(first_day) + pd.to_timedelta(rng.integers(60, size=600), "D")
        return pd.DataFrame({"spent": spent.round(2), "joined": days})

    january = customers("2026-01-01")
    plan = propose(january)
    scorer = AffinityScorer(KMeans(2, n_init=1, random_state=0), n_jobs=1).fit(plan.matrix(january))
    model = Model(plan, scorer).keep_baseline(january)
    (finding,) = compare_periods(model, None, customers("2026-02-15")).findings
    assert finding.sentence == "joined rose by 45 days in all clusters (from 2026-01-31 to 2026-03-17 on average)"


class TestIntervals:
    """Intervals and p-values in the tables, against those of SciPy."""

    def test_means_are_compared_by_welchs_test(self, scorer):
        january, february = draw(0)[0], draw(1, n=300)[0]
        features = compare_periods(scorer, january, february).features(n=None)
        then, now = scorer.predict(january), scorer.predict(february)
        for _, row in features.iterrows():
            values = [
                frame[row["feature"]][codes == int(row["cluster"])]
                for frame, codes in ((february, now), (january, then))
            ]
            interval = stats.ttest_ind(*values, equal_var=False).confidence_interval()
            np.testing.assert_allclose([row["low"], row["high"]], interval, rtol=1e-6)

    def test_shares_nearly_agree_with_fishers_test(self, scorer):
        frame = compare_periods(scorer, None, draw(5, n=300, shares=[0.31, 0.19, 0.25, 0.25])[0]).frame()
        for _, row in frame.iloc[:-1].iterrows():
            counts = np.array([row["points_then"], row["points_now"]])
            fisher = stats.fisher_exact(np.stack([counts, np.array([800, 300]) - counts])).pvalue
            assert row["share_low"] < row["share_now"] - row["share_then"] < row["share_high"]
            outside = row["share_low"] > 0 or row["share_high"] < 0
            assert outside == (fisher < 0.05) or 0.02 < fisher < 0.1

    def test_a_cluster_of_one_or_no_points_says_nothing(self, rng):
        X = np.vstack([rng.normal(size=(300, 2)), [[50.0, 50.0], [51.0, 50.0]]])
        fitted = AffinityScorer(n_jobs=1).fit(X, np.repeat([0, 1], [300, 2]))
        for last in ([], [[55.0, 52.0]]):
            february = np.vstack([rng.normal(size=(300, 2)), *([last] if last else [])])
            assert not compare_periods(fitted, X, february).drifted

    @pytest.mark.parametrize(("size", "kinds"), [(1.02, []), (2.0, ["mix", "moved", "atypical"])])
    def test_a_change_must_be_larger_than_what_does_not_matter(self, size, kinds):
        """Beyond chance, in a million rows: one point of a share, 0.1 deviations, half a point of atypical points."""
        january, _ = draw(0, n=5000)  # the scorer stores up to 1,024 members of each cluster
        scorer = AffinityScorer(centers=CENTERS, influence="euclidean", n_jobs=1).fit(january)
        then = scorer.profile(january)
        counts = np.array([[250_000, 2_500]] * 4 + [[0, 0]])
        then = replace(then, counts=counts, moments=then.moments * np.array([200.0, 1.0, 200.0])[:, None, None])
        moments = then.moments.copy()
        moments[:, 1, 2, 1] += 0.1 * size * then.spread()[1]
        moved = np.outer([1, -1, 0, 0, 0], [round(10_000 * size), 0])
        changes = [
            {"counts": counts + moved},
            {"moments": moments},
            {"counts": counts + np.array([0, round(1_250 * size)])},
        ]
        comparisons = [compare_profiles(scorer, then, replace(then, **change)) for change in changes]
        assert [comparison.findings[0].kind for comparison in comparisons if comparison.drifted] == kinds
        lucky = replace(then, counts=counts * [1, 0])
        assert not compare_profiles(scorer, lucky, then).drifted, "one percent of new members are atypical"
        rare = [replace(then, counts=np.outer([330, 330, 330, n, 0], [1000, 10])) for n in (10, 7)]
        assert [each.kind for each in compare_profiles(scorer, *rare).findings] == ["mix"], "a third of its points"


@pytest.mark.slow
@pytest.mark.parametrize("world", ["apart", "overlapping", "without clusters", "ward"])
def test_false_alarms_are_at_most_five_percent(world):
    """In 200 draws without change: with the promised 5 %, more than 18 alarms have a chance of 0.6 %."""
    spread = {"apart": 6.0, "overlapping": 1.5, "without clusters": 0.0, "ward": 1.5}[world]
    places = np.random.default_rng(1).normal(size=(4, 4)) * spread
    alarms = 0
    for seed in range(200):
        rng = np.random.default_rng([3, seed])
        then, now = (places[rng.integers(4, size=400)] + rng.normal(size=(400, 4)) for _ in range(2))
        settings = {"influence": "within", "n_jobs": 1}
        if world == "ward":
            fitted = AffinityScorer(**settings).fit(then, AgglomerativeClustering(4).fit_predict(then))
        else:
            fitted = AffinityScorer(KMeans(4, n_init=1, random_state=seed), **settings).fit(then)
        alarms += compare_periods(fitted, then, now).drifted
    assert stats.binom.sf(18, 200, 0.05) < 0.007
    assert alarms <= 18
