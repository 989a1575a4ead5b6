"""The audit: how many labels are right, from a few that a person has looked at."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from allegiance import trust
from allegiance.calibration import AuditSample, audit, audit_sample, wilson


@pytest.fixture(scope="module")
def scene():
    X, y = make_blobs(600, centers=[[0, 0], [3, 0], [0, 3]], cluster_std=1.0, random_state=0)
    labels = KMeans(3, n_init=5, random_state=0).fit_predict(X)
    main = np.array([np.bincount(y[labels == c]).argmax() for c in range(3)])
    return trust(X, labels, n_resamples=5), main[labels] == y


class TestSample:
    def test_half_at_random_by_the_seed_half_least_sure(self, scene):
        result, _ = scene
        sample, again, other = (result.audit_sample(40, random_state=seed) for seed in (3, 3, 2))
        assert np.unique(np.asarray(sample)).size == len(sample) == 40
        assert (sample.origin == "random").sum() == 20
        assert np.array_equal(sample.rows[sample.origin == "least trusted"], result.review(20).index.to_numpy())
        assert sample.seed == 3
        assert np.array_equal(sample, again)
        assert not np.array_equal(sample, other)

    def test_every_label_is_as_likely_and_noise_is_never_drawn(self):
        ranking = np.where(np.arange(40) % 4 == 0, np.nan, 0.5)
        counts = np.zeros(40)
        for seed in range(600):
            counts[audit_sample(ranking, 10, random=1.0, seed=seed).rows] += 1
        assert counts[::4].sum() == 0
        # 200 on average, with a standard deviation of 11.5.
        assert np.abs(counts[np.arange(40) % 4 > 0] - 200).max() < 50

    def test_no_more_than_there_are(self, scene):
        result, _ = scene
        assert len(result.audit_sample(10_000)) == 600
        with pytest.raises(ValueError, match="random"):
            result.audit_sample(10, random=1.5)
        with pytest.raises(ValueError, match="n must"):
            result.audit_sample(0)


class TestShareRight:
    def test_all_looked_at_is_counting(self, scene):
        result, right = scene
        rows = result.audit_sample(600, random=1.0)
        audit = result.audit(rows, right[rows])
        assert audit.share_right == pytest.approx(right.mean())
        assert audit.interval == pytest.approx((right.mean(), right.mean()))
        assert audit.wrong_left == pytest.approx(0.0, abs=1e-9)

    @pytest.mark.parametrize("random", [1.0, 0.5])
    def test_the_interval_holds(self, scene, random):
        result, right = scene
        held = 0
        for seed in range(200):
            rows = result.audit_sample(40, random=random, random_state=seed)
            low, high = result.audit(rows, right[rows]).interval
            held += low <= right.mean() <= high
        # 95 % of 200 are 190, with a standard deviation of 3.1.
        assert held >= 178

    def test_half_and_half_finds_more_wrong_labels(self, scene):
        result, right = scene
        samples = {
            random: [result.audit_sample(60, random=random, random_state=s) for s in range(20)] for random in (0.5, 1)
        }
        half, random = (np.mean([(~right[rows]).sum() for rows in samples[share]]) for share in (0.5, 1))
        assert half > 1.5 * random

    def test_own_lists_are_known_but_do_not_speak_for_the_rest(self, scene):
        result, right = scene
        worst = result.review(50).index.to_numpy()
        listed = result.audit(worst, right[worst])
        assert np.isnan([listed.share_right, listed.wrong_left]).all()
        known = right[worst].sum()
        assert listed.interval == pytest.approx((known / 600, (known + 550) / 600))
        assert "not representative" in listed.sentence()
        assert listed.n_listed == 50
        both = result.audit_sample(40, random=1.0).with_rows(worst)
        mixed = result.audit(both, right[both])
        assert mixed.n_random == 40
        assert mixed.share_right > right[worst].mean() + 0.2
        sample = AuditSample(np.array([4, 7]), np.array(["random", "random"]), 0).with_rows([7, 9])
        assert repr(sample) == "AuditSample(3 rows: 2 random, 1 listed; seed 0)"
        assert sample.rows.tolist() == [4, 7, 9]
        assert sample.origin.tolist() == ["random", "random", "listed"]

    def test_where_all_are_right_the_interval_holds_that_all_are(self, scene):
        for seed in range(10):
            checked = scene[0].audit(scene[0].audit_sample(20, random_state=seed), np.ones(20, dtype=bool))
            assert checked.share_right == checked.interval[1] == 1.0

    def test_the_bound_at_the_end_is_the_end(self):
        assert [wilson(1.0, m)[1] for m in (3, 10, 25.7)] == [1.0] * 3
        assert [wilson(0.0, m)[0] for m in (3, 10, 25.7)] == [0.0] * 3

    def test_plain_counting_where_the_score_says_nothing(self):
        n, m = 10_000, 50
        sample, zeros = AuditSample(np.arange(m), np.full(m, "random"), 0), np.zeros(n, dtype=int)
        y, classes = np.arange(m) % 5 > 0, np.array([0])
        flat = audit(sample, y, label=zeros, codes=zeros, classes=classes, ranking=np.full(n, 0.7))
        assert flat.share_right == pytest.approx(0.8)
        # Wilson's interval: the two roots of (share - p)² = z² p (1 - p) / size.
        z, size = 1.959964, m * (n - 1) / (n - m)
        roots = np.roots([1 + z * z / size, -(2 * 0.8 + z * z / size), 0.8**2])
        assert flat.interval == pytest.approx(tuple(np.sort(roots)), abs=1e-4)


class TestAnswers:
    def test_labels_and_truth_values_agree(self, scene):
        result, right = scene
        rows = result.audit_sample(40)
        corrected = np.where(right[rows], result.label[rows], 77)
        expected = result.audit(rows, right[rows])
        assert "20 labels drawn at random and 20 chosen by review priority" in expected.sentence()
        answers = [corrected, corrected.astype(float), [str(value) for value in corrected], pd.Series(right[rows])]
        answers.append(np.array([bool(value) for value in right[rows]], dtype=object))
        for given in answers:
            found = result.audit(rows, given)
            assert np.array_equal(found.right, expected.right)
            assert found.share_right == expected.share_right

    @pytest.mark.parametrize("missing", [None, np.nan, ""])
    def test_rows_without_an_answer_are_left_out(self, scene, missing):
        result, right = scene
        rows = result.audit_sample(40)
        answers = np.array(right[rows], dtype=object)
        answers[::4] = missing
        found = result.audit(rows, answers)
        assert found.n_unanswered == 10
        assert found.right.size == 30

    @pytest.mark.parametrize(
        ("rows", "right", "said"),
        [
            ([], [], "empty"),
            ([1, 1], [True, True], "twice"),
            ([600], [True], "between 0 and 599"),
            ([-1], [True], "between"),
            ([1, 2], [True], "one answer for each"),
            ([1, 2], [None, None], "no answer"),
        ],
    )
    def test_that_make_no_sense(self, scene, rows, right, said):
        with pytest.raises(ValueError, match=said):
            scene[0].audit(np.array(rows, dtype=int), right)

    def test_noise_has_no_label_to_judge(self):
        X, y = make_blobs(60, centers=[[0, 0], [9, 9]], random_state=0)
        y[3] = -1
        with pytest.raises(ValueError, match=r"row 3.*noise"):
            trust(X, y, n_resamples=3).audit([3], [True])


class TestTrustAfterwards:
    def test_known_labels_are_known_and_the_others_are_better_ranked(self, scene):
        result, right = scene
        rows = result.audit_sample(200, random=1.0)
        audit = result.audit(rows, right[rows])
        assert np.array_equal(audit.trust[rows], right[rows].astype(float))
        left = np.setdiff1d(np.arange(600), rows)
        assert audit.trust[left].mean() == pytest.approx(right[left].mean(), abs=0.05)
        assert np.array_equal(audit.result.trust, audit.trust)
        assert audit.result.replication == pytest.approx(audit.trust.mean())
        assert audit.result.review(5)["trust"].tolist() == [0.0] * 5

    def test_a_cluster_found_wrong_loses_its_trust(self, scene):
        result, _ = scene
        rows = np.flatnonzero(result.label == 0)[:20]
        sample = AuditSample(rows, np.full(20, "random"), 0).with_rows(np.flatnonzero(result.label == 1)[:20])
        audit = result.audit(sample, result.label[sample.rows] == 1)
        left = np.setdiff1d(np.arange(600), sample.rows)
        wrong, fine = (audit.trust[left][result.label[left] == c].mean() for c in (0, 1))
        assert wrong < 0.4 < 0.8 < fine
        assert audit.worst_clusters == (0,)

    def test_unanswered_least_trusted_rows_are_not_represented_by_the_random_ones(self, scene):
        # All wrong labels are among the least trusted rows, which are left unanswered.
        result, _ = scene
        sample = result.audit_sample(100, random_state=0)
        least = sample.rows[sample.origin == "least trusted"]
        answers = np.where(sample.origin == "random", True, None)
        audit = result.audit(sample, answers)
        expected = (600 - least.size + audit.trust[least].sum()) / 600
        assert audit.share_right == pytest.approx(expected)
        assert audit.interval[0] < audit.share_right < 1.0
        error = 1.959964 * np.sqrt((audit.trust[least] * (1 - audit.trust[least])).sum())
        assert audit.interval[1] == pytest.approx(expected + error / 600)
