"""Every kind of influence with every domain, engine and weight: each runs, or says clearly why not.

Kinds are read off the registries, and the outcome is the table in docs/combinations.md. After a change of what is
served, write it again with ``ALLEGIANCE_WRITE_DOCS=1 pytest tests/test_combinations.py``.
"""

import os
import warnings
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from allegiance import affinity
from allegiance.domains import DOMAINS, Polytope
from allegiance.engines import ENGINES
from allegiance.influence import INFLUENCES, Kernel, Mahalanobis
from scenes import QUARTIC

TABLE = Path(__file__).parents[1] / "docs" / "combinations.md"
HEADING = "| influence | " + " | ".join(DOMAINS) + " |"
DEPEND_ON_THE_HULL = ("exact", "shared", "closed-form")

RNG = np.random.default_rng(5)
LABELS = np.arange(12) % 4
CORNERS = np.array([[0.2, 0.2], [0.8, 0.25], [0.3, 0.8], [0.75, 0.7]])
X = np.clip(CORNERS[LABELS] + 0.08 * RNG.normal(size=(12, 2)), 0.02, 0.98)


#: Kinds that need parameters, and so are not what their name alone says.
WITH_PARAMETERS = {
    "mahalanobis": Mahalanobis([[1.0, 0.3], [0.3, 2.0]]),
    "polytope": Polytope.box([0.0, 0.0], [1.0, 1.0]),
}


KINDS = {
    **{name: WITH_PARAMETERS.get(name, name) for name in INFLUENCES},
    "Bregman": QUARTIC,
    **{
        f"{kernel}, {name}": Kernel(kernel, approximation=name)
        for name, kernel in {"fourier": "rbf", "nystroem": "rbf", "hashing": "polynomial"}.items()
    },
}


def outcome(influence, domain, engine, weights):
    """Score with one combination; return whether it was served, after checking that the answer or the error is sane."""
    data = rbf_kernel(X) if influence == "precomputed" else X
    where, cls = WITH_PARAMETERS.get(domain, domain), ENGINES[engine]
    limited = cls(max_samples=20_000) if "max_samples" in {field.name for field in fields(cls)} else cls()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            result = affinity(
                data, LABELS, influence=KINDS[influence], domain=where, engine=limited, eps=0.2, weights=weights
            )
        except ValueError as error:
            if not any(word in str(error) for word in ("engine=", "domain=")):
                raise
            return False
    np.testing.assert_allclose(result.affinity.sum(axis=1), 1.0, atol=1e-12)
    assert np.isfinite(result.standard_error).all()
    return True


def served(influence, domain):
    """The engines that serve a kind of influence over a domain, the same with and without weights."""
    plain, weighted = ([name for name in ENGINES if outcome(influence, domain, name, w)] for w in (None, "size"))
    if domain == "space":
        # Inside the hull of the sites and outside it different engines apply, and where points lie is up to the data.
        plain, weighted = ([name for name in names if name not in DEPEND_ON_THE_HULL] for names in (plain, weighted))
    assert plain == weighted
    return plain


@pytest.mark.parametrize(
    "influence", [kind if kind == "euclidean" else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS]
)
def test_every_combination_runs_or_says_why(influence):
    cells = {domain: served(influence, domain) for domain in DOMAINS}
    for domain in ("box", "ball"):
        assert {"auto", "shared", "hit-and-run"} <= set(cells[domain])
    line = f"| {influence} | " + " | ".join(", ".join(names) or "no" for names in cells.values()) + " |"
    if os.environ.get("ALLEGIANCE_WRITE_DOCS"):
        write(line)
    assert line in TABLE.read_text().splitlines(), "docs/combinations.md is out of date: see the top of this file"


def test_the_table_has_a_row_for_each_kind_and_no_other():
    lines = TABLE.read_text().splitlines()
    start = lines.index(HEADING)
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines[start + 2 :]] == list(KINDS)


def write(line):
    """Put one row into the table; rows of kinds that are gone are left out."""
    lines = TABLE.read_text().splitlines()
    start = next(i for i, old in enumerate(lines) if old.startswith("| influence |"))
    rows = {old.split(" | ")[0]: old for old in [*lines[start + 2 :], line]}
    kept = [rows[f"| {kind}"] for kind in KINDS if f"| {kind}" in rows]
    rule = "|---" * (len(DOMAINS) + 1) + "|"
    TABLE.write_text("\n".join([*lines[:start], HEADING, rule, *kept]) + "\n")
