"""Every kind of influence with every domain, method and weight: each runs, or says clearly why not.

The outcome is the table in docs/combinations.md. After a change of what is served, write it anew with
``ALLEGIANCE_WRITE_DOCS=1 pytest tests/test_combinations.py``.
"""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from allegiance import BregmanDivergence, Polytope, affinity

TABLE = Path(__file__).parents[1] / "docs" / "combinations.md"
DEPEND_ON_THE_HULL = ("exact", "shared", "closed-form")
METHODS = ("auto", "exact", "shared", "hit-and-run", "rejection", "closed-form")

RNG = np.random.default_rng(5)
LABELS = np.arange(12) % 4
CORNERS = np.array([[0.2, 0.2], [0.8, 0.25], [0.3, 0.8], [0.75, 0.7]])
X = np.clip(CORNERS[LABELS] + 0.08 * RNG.normal(size=(12, 2)), 0.02, 0.98)


def quartic(Y):
    return (Y**4).sum(axis=1) + (Y**2).sum(axis=1)


def quartic_gradient(Y):
    return 4 * Y**3 + 2 * Y


INFLUENCES = {
    "euclidean": {},
    "mahalanobis": {"divergence": "mahalanobis", "covariance": [[1.0, 0.3], [0.3, 2.0]]},
    "within": {"divergence": "within"},
    "kl": {"divergence": "kl"},
    "itakura-saito": {"divergence": "itakura-saito"},
    "logistic": {"divergence": "logistic"},
    "exponential": {"divergence": "exponential"},
    "BregmanDivergence": {"divergence": BregmanDivergence(quartic, quartic_gradient)},
    "kernel rbf": {"kernel": "rbf"},
    "kernel linear": {"kernel": "linear"},
    "kernel precomputed": {"kernel": "precomputed"},
    "kernel rbf, fourier": {"kernel": "rbf", "kernel_approximation": "fourier", "n_components": 40},
    "kernel rbf, nystroem": {"kernel": "rbf", "kernel_approximation": "nystroem", "n_components": 8},
    "kernel polynomial, hash": {"kernel": "polynomial", "kernel_approximation": "hash", "n_components": 60},
}
DOMAINS = {"box": "box", "ball": "ball", "None": None, "Polytope": Polytope.box([0.0, 0.0], [1.0, 1.0])}


def outcome(influence, domain, method, weights):
    """Score with one combination; return whether it was served, after checking that the answer or the error is sane."""
    data = rbf_kernel(X) if influence == "kernel precomputed" else X
    settings = {"eps": 0.2, "max_samples": 20_000, "random_state": 0, "weights": weights}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            result = affinity(data, LABELS, domain=DOMAINS[domain], method=method, **settings, **INFLUENCES[influence])
        except ValueError as error:
            refusal = str(error)
            if not any(word in refusal for word in ("method=", "domain=", "kernel")):
                raise
            return False
    np.testing.assert_allclose(result.affinity.sum(axis=1), 1.0, atol=1e-12)
    assert np.isfinite(result.standard_error).all()
    return True


def served(influence, domain):
    """The methods that serve a kind of influence over a domain, the same with and without weights."""
    plain = [method for method in METHODS if outcome(influence, domain, method, None)]
    weighted = [method for method in METHODS if outcome(influence, domain, method, "size")]
    if domain == "None":
        # Inside the hull of the sites and outside it different methods apply, and where points lie is up to the data.
        plain, weighted = ([m for m in methods if m not in DEPEND_ON_THE_HULL] for methods in (plain, weighted))
    assert plain == weighted
    return plain


@pytest.mark.parametrize("influence", INFLUENCES)
def test_every_combination_runs_or_says_why(influence):
    cells = {domain: served(influence, domain) for domain in DOMAINS}
    for domain in ("box", "ball"):
        assert {"auto", "shared", "hit-and-run", "rejection"} <= set(cells[domain])
    line = f"| {influence} | " + " | ".join(", ".join(cells[domain]) or "no" for domain in DOMAINS) + " |"
    if os.environ.get("ALLEGIANCE_WRITE_DOCS"):
        write(line)
    assert line in TABLE.read_text().splitlines(), "docs/combinations.md is out of date: see the top of this file"


def write(line):
    lines = TABLE.read_text().splitlines()
    name = line.split("|")[1]
    same = [i for i, old in enumerate(lines) if old.startswith(f"|{name}|")]
    if same:
        lines[same[0]] = line
    else:
        lines.append(line)
    TABLE.write_text("\n".join(lines) + "\n")
