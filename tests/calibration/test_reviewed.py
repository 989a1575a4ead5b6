import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, logit
from scipy.stats import norm

from allegiance.calibration import wrong_among_unreviewed


def test_the_expected_number_is_the_integral_over_the_shift(rng):
    trust, rest = rng.uniform(0.2, 0.8, 15), rng.uniform(0.4, 0.95, 40)
    # In the middle of a step of rounding, so that the integral sees the same numbers.
    rest = (np.floor(rest * 4000) + 0.5) / 4000
    right = rng.random(15) < 0.5

    def weight(h):
        chance = expit(logit(trust) + h)
        return norm.pdf(h) * np.prod(np.where(right, chance, 1 - chance))

    def wrong(h):
        return (1 - expit(logit(rest) + h)).sum()

    total = quad(weight, -8, 8)[0]
    expected = quad(lambda h: weight(h) * wrong(h), -8, 8)[0] / total
    assert wrong_among_unreviewed(trust, right, rest).wrong == pytest.approx(expected, rel=1e-4)


def test_without_a_review_trust_is_believed_and_the_interval_is_wide(rng):
    rest = rng.uniform(0.6, 0.99, 500)
    found = wrong_among_unreviewed(np.empty(0), np.empty(0, dtype=bool), rest)
    assert found.expected_before == pytest.approx((1 - rest).sum())
    assert found.wrong == pytest.approx(found.expected_before, rel=0.3)
    assert found.high - found.low > found.expected_before
    assert found.shift == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("offset", [-1.5, 0.0, 1.0])
def test_the_interval_covers_what_is_wrong_and_the_shift_is_found(rng, offset):
    # 95 % intervals, 60 times: fewer than 51 hits happen once in 1,300 runs of each of these tests.
    hits, shifts = 0, []
    for _ in range(60):
        trust = np.sort(expit(rng.normal(0.8, 1.0, 600)))
        holds = rng.random(600) < expit(logit(trust) + offset)
        found = wrong_among_unreviewed(trust[:150], holds[:150], trust[150:])
        hits += found.low - 0.5 <= (~holds[150:]).sum() <= found.high + 0.5
        shifts.append(found.shift)
    assert hits >= 51
    assert np.mean(shifts) == pytest.approx(offset, abs=0.2)


def test_certain_labels_and_nothing_left_to_review():
    found = wrong_among_unreviewed(np.array([1.0, 0.0]), np.array([False, True]), np.empty(0))
    assert (found.labels, found.wrong, found.high) == (0, 0.0, 0.0)
    assert wrong_among_unreviewed(np.array([0.5]), np.array([True]), np.ones(10)).high < 1.0
