import numpy as np
import pytest

from allegiance.calibration import Calibration, MemberDistances, calibrate
from calibration.scenes import blobs, evidence


@pytest.fixture
def known(rng):
    return evidence(*blobs(rng, apart=4.0))[0]


@pytest.fixture
def mapping(known):
    return calibrate(Calibration(), known, 3, 0)


def arguments(known):
    return known.own_affinity, known.closeness, known.codes, known.distance


def test_expected_right_is_the_mean_of_trust_inside_its_interval(known, mapping):
    mean, low, high = mapping.expected_right(*arguments(known), np.zeros(600))
    assert mean == pytest.approx(mapping.trust(*arguments(known)).mean())
    assert 0 <= low < mean < high <= 1


def test_slope_and_measurement_by_differences(known, mapping):
    sums = mapping.expected_right_sums(*arguments(known), np.full(600, 0.01))
    step = 1e-6
    for i in range(3):
        coefficients = mapping.coefficients + step * np.eye(3)[i]
        moved = type(mapping)(**{**vars(mapping), "coefficients": coefficients})
        slope = (moved.trust(*arguments(known)) - mapping.trust(*arguments(known))).sum() / step
        assert sums.slope[i] == pytest.approx(slope, rel=1e-4)
    own, close, codes, distance = arguments(known)
    change = mapping.trust(own + step, close, codes, distance) - mapping.trust(own, close, codes, distance)
    assert sums.measurement == pytest.approx(abs(change).sum() / step * 0.01, rel=1e-4)


def test_error_of_measurement_widens_the_interval(known, mapping):
    _, low, high = mapping.expected_right(*arguments(known), np.zeros(600))
    _, lower, higher = mapping.expected_right(*arguments(known), np.full(600, 0.1))
    assert lower < low
    assert higher > high


def test_expected_right_in_pieces(known, mapping):
    codes = np.where(np.arange(600) % 7 == 0, -1, known.codes)
    error = np.linspace(0, 0.02, 600)
    columns = [known.own_affinity, known.closeness, codes, known.distance, error]
    whole = mapping.expected_right(*columns)
    parts = [mapping.expected_right_sums(*(c[a:b] for c in columns)) for a, b in ((0, 100), (100, 101), (101, 600))]
    merged = parts[2].plus(parts[0]).plus(parts[1])
    np.testing.assert_allclose(merged.interval(mapping.covariance), whole, rtol=1e-12)


def test_only_noise_has_no_expectation(known, mapping):
    assert np.isnan(mapping.expected_right(*known[2:4], np.full(600, -1), known.distance)).all()


def test_interval_holds_the_expectation_of_many_resamples(rng):
    # One sample, calibrated with 24 seeds: their mean stands for the limit of many resamples. Each interval, which also
    # allows for another draw of points, holds it with a chance of at least 0.95; fewer than 20 of 24 do with 0.006.
    known, _ = evidence(*blobs(rng, n=200, apart=4.0))
    results = [calibrate(Calibration(), known, 3, seed).expected_right(*arguments(known)) for seed in range(24)]
    limit = np.mean([mean for mean, _, _ in results])
    assert sum(low <= limit <= high for _, low, high in results) >= 20


def test_typicality_by_counting(rng):
    codes, distance = rng.integers(-1, 3, 200), rng.uniform(size=200).round(2)
    members = MemberDistances.of(codes, distance, 4, seed=0)
    new_codes, new = np.arange(-1, 4).repeat(10), rng.uniform(size=50).round(2)
    found = members.typicality(new_codes, new)
    for code, far, p in zip(new_codes, new, found, strict=True):
        count = (distance[codes == code] >= far).sum()
        assert np.isnan(p) if code < 0 else p == (1 + count) / (1 + (codes == code).sum())


@pytest.mark.parametrize("n", [50, 1500])
def test_typicality_is_a_valid_p_value(rng, n):
    # 2,000 independent tables, one new point each. P(p <= a) is at most a, and floor(a (n_i + 1)) / (n_i + 1) for
    # distances without ties; four binomial standard errors at three levels: false alarms below 2e-4 per n.
    kept = min(n, 1024)
    p = np.empty(2000)
    for trial in range(p.size):
        distance = rng.exponential(size=n)
        table = MemberDistances.of(np.zeros(n, dtype=int), distance, 1, seed=trial)
        new = rng.exponential(size=1)
        p[trial] = table.typicality(np.zeros(1, dtype=int), new)[0]
    for level in (0.05, 0.2, 0.5):
        exact = np.floor(level * (kept + 1)) / (kept + 1)
        assert abs((p <= level).mean() - exact) < 4 * np.sqrt(level * (1 - level) / p.size)


def test_trust_falls_off_beyond_the_farthest_member(mapping):
    reach = mapping.reach[0]
    one = np.ones(4)
    trust = mapping.trust(one, one, np.zeros(4, dtype=int), reach * np.array([0.5, 1.0, 2.0, 10.0]))
    assert trust[0] == trust[1]
    np.testing.assert_allclose(trust[2:] / trust[1], [0.25, 0.01])


def test_a_cluster_of_one_point_has_the_usual_reach(rng):
    points, codes = blobs(rng, n=101)
    codes[100] = 3
    known, _ = evidence(points, codes)
    mapping = calibrate(Calibration(), known, 4, 0)
    assert mapping.reach[3] == pytest.approx(np.sqrt((known.distance**2).mean()))
