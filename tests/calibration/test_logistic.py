import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from allegiance.calibration._company import Company
from allegiance.calibration._crowding import crowding_offsets
from allegiance.calibration._logistic import Standardisation, fit_logistic


def scene(rng, m=300, n_resamples=20):
    """Scores, and company that depends on them, on the point and on the resample."""
    own, close = rng.uniform(size=m), rng.uniform(size=m)
    eta = 3 * own + close - 1 + rng.normal(size=m) * 0.5 + rng.normal(size=(n_resamples, 1)) * 0.5
    seen = rng.uniform(size=(n_resamples, m)) < 0.5
    kept = np.where(seen, np.clip(expit(eta) + rng.normal(size=eta.shape) * 0.1, 0, 1), 0.0)
    return own, close, Company(kept, seen, 0.3)


def independent_fit(design, kept, seen):
    """The same loss by a method without derivatives."""
    total = seen.sum()

    def loss(b):
        eta = design @ b
        return (np.logaddexp(0, eta) * seen - kept * eta).sum() / total + 1e-4 * b[1] ** 2 + 0.03 * b[2] ** 2

    return minimize(loss, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14, "maxiter": 4000}).x


def test_coefficients_minimise_the_loss(rng):
    own, close, company = scene(rng)
    design = Standardisation.of(own, close).design(own, close)
    expected = independent_fit(design, company.kept.sum(0), company.seen.sum(0))
    # The observation of an even chance among 3,000 moves the intercept by less than a thousandth.
    np.testing.assert_allclose(fit_logistic(design, company).coefficients, expected, atol=1e-3)


def test_covariance_is_that_of_a_bootstrap_of_resamples_and_points(rng):
    # 300 draws know a standard deviation to 4 %; the bootstrap adds the noise within cells, a few per cent here.
    # A band of 25 % is six of these errors: false alarms below 1e-6.
    own, close, company = scene(rng)
    design = Standardisation.of(own, close).design(own, close)
    fitted = fit_logistic(design, company)
    draws = []
    for _ in range(300):
        b, i = rng.integers(0, 20, 20), rng.integers(0, 300, 300)
        drawn = Company(company.kept[np.ix_(b, i)], company.seen[np.ix_(b, i)], 0.3)
        draws.append(fit_logistic(design[i], drawn).coefficients)
    np.testing.assert_allclose(np.sqrt(np.diag(fitted.covariance)), np.std(draws, axis=0), rtol=0.25)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_company_always_kept_or_lost_stays_finite(rng, share):
    own, close, company = scene(rng, m=30)
    design = Standardisation.of(own, close).design(own, close)
    fitted = fit_logistic(design, company._replace(kept=share * company.seen))
    assert np.isfinite(fitted.coefficients).all()
    assert np.isfinite(fitted.covariance).all()
    assert np.abs(expit(design @ fitted.coefficients) - share).max() < 0.01


def test_constant_scores_give_the_mean(rng):
    _, _, company = scene(rng)
    own = np.full(300, 0.7)
    design = Standardisation.of(own, own).design(own, own)
    chance = expit(design @ fit_logistic(design, company).coefficients)
    np.testing.assert_allclose(chance, company.mean, atol=1e-3)


def test_crowding_keeps_the_mean_and_lowers_large_wide_clusters(rng):
    codes = np.repeat([0, 1, 3], [200, 50, 50])
    distance = rng.uniform(size=300) * np.where(codes == 1, 1.0, 3.0)
    logits = rng.normal(size=300)
    offsets = crowding_offsets(logits, codes, distance, 5, 0.25)
    assert expit(logits + offsets[codes]).mean() == pytest.approx(expit(logits).mean(), abs=1e-9)
    assert offsets[0] < offsets[3] < offsets[1]
    assert offsets[2] == offsets[4]  # clusters that do not occur in the sample


def test_crowding_by_the_formula(rng):
    codes = np.repeat([0, 1], [3000, 1000])
    distance = rng.uniform(size=4000) * np.where(codes == 0, 3.0, 1.0)
    logits = rng.normal(size=4000)
    spread = [np.sqrt((distance[codes == i] ** 2).mean()) for i in range(2)]
    crowding = np.log(np.array([3000, 1000]) * spread)
    step = 0.25 * logits.std() * (crowding[0] - crowding[1]) / crowding[codes].std()
    offsets = crowding_offsets(logits, codes, distance, 2, 0.25)
    assert offsets[1] - offsets[0] == pytest.approx(step, rel=1e-2)  # one member more at the usual distance


@pytest.mark.parametrize("strength", [0.0, 0.25])
def test_crowding_without_differences_does_nothing(strength):
    codes = np.repeat([0, 1], 5)
    assert not crowding_offsets(np.linspace(-1, 1, 10), codes, np.zeros(10), 2, strength).any()
