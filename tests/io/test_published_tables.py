"""Small versions of public tables, with what a careful analyst expects of each."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans

from allegiance.drivers import drivers
from allegiance.io import open_table, propose

N = 300
RNG = np.random.default_rng(0)
X, Y, Z = RNG.normal(50, 9, (3, N)).round(1)
DAYS = (np.datetime64("2021-01-04") + RNG.integers(0, 1400, N)).astype(str)


def frame(**columns: object) -> list[list[str]]:
    """Return the lines of a table, the header first."""
    cells = pd.DataFrame(columns).astype(str).replace("nan", "")
    return [list(cells), *cells.to_numpy().tolist()]


def clients() -> list[list[str]]:
    ids = 700_000_000 + RNG.choice(10**8, N, replace=False)
    p = RNG.random(N).round(5)
    lines = frame(CLIENTNUM=ids, Age=X, Limit=Y, Bayes_1=p, Bayes_2=(1 - p).round(5))
    return [lines[0], ["client number", "age in years", "credit limit", "classifier", "classifier"], *lines[1:]]


def air() -> list[list[str]]:
    lines = frame(
        CO=np.where(RNG.random(N) < 0.1, -200, X), T=np.where(RNG.random(N) < 0.05, -200, Y), RH=Z, unnamed=""
    )
    return [*lines, *[[""] * 4] * 9]


def election() -> list[list[str]]:
    votes = RNG.integers(100, 9_000, (3, N))
    lines = frame(AGS=[f"{i:08d}" for i in range(N)], A=votes[0], B=votes[1], C=votes[2], D=[3, *[""] * (N - 1)])
    return [*lines, ["BW", *map(str, votes.sum(axis=1)), ""]]


def brewers() -> list[list[str]]:
    lines = frame(Size=[f"{i} to {i + 1} Barrels" for i in range(N)], Number=X, Barrels=Y)
    notes = [[f"{i}) As reported by the brewers.", "", ""] for i in range(14)]
    return [["Number of brewers", "", ""], *lines, ["Total", f"{X.sum():.1f}", f"{Y.sum():.1f}"], *notes]


def wholesale() -> list[list[str]]:
    region, notes = RNG.integers(1, 4, N), [*"abcdefgh", *[""] * (N - 8)]
    return frame(Channel=RNG.integers(1, 3, N), Region=region, Fresh=X, Milk=Y, notes=notes)


def people() -> list[list[str]]:
    jobs = RNG.choice(["Private", "State-gov", "Never-worked"], (2, N))
    return frame(age=RNG.integers(17, 90, N), job=jobs[0], hours=RNG.integers(1, 99, N), class_=jobs[1])[1:]


EXPECTED = {
    "BankChurners": (clients, ["Left out 1 row (text in columns of numbers): line 2.", "Bayes_2 nearly repeats"]),
    "AirQuality": (air, ["-200 counts as missing in CO", "Left out 9 rows (empty)", "Left out unnamed: no values."]),
    "election": (election, [f"Left out 1 row (total): line {N + 2}.", "Left out D: more than 80% missing."]),
    "brewers": (brewers, ["Left out 14 rows (without numbers)", f"Left out 1 row (total): line {N + 3}."]),
    "Mall": (
        lambda: [
            *frame(Gender=RNG.choice(["F", "M"], N), Age=np.where(X > 60, "?", X), Score=Y),
            ["F", "31.5", "40.2"],
        ],
        ["Counted as missing: '?' in Age"],
    ),
    "Titanic": (
        lambda: frame(
            survived=(X > 50) * 1, alive=np.where(X > 50, "yes", "no"), deck=["C", "D", *[""] * 8] * 30, fare=Y
        ),
        ["alive nearly repeats survived", "deck"],
    ),
    "wholesale": (
        wholesale,
        ["possibly category codes: Channel, Region", "Left out notes: more than 80% missing"],
    ),
    "adult": (people, ["the first line looks like data"]),
    "credit cards": (
        lambda: frame(BALANCE=X, LIMIT=np.where(X < 56, "", Y), PURCHASES=Z),
        ["More than half of the values are missing in LIMIT."],
    ),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_the_problems_of_published_tables_are_reported(tmp_path, name):
    make, expected = EXPECTED[name]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(";".join(line) for line in make()) + "\n", encoding="cp1252")
    plan = propose(path)
    texts = " | ".join(map(str, plan.findings))
    assert [text for text in expected if text not in texts] == []
    assert not {"CLIENTNUM", "AGS", "notes", "unnamed", "D"} & {*plan.used}
    table = open_table(path)
    numbers = table.typed(next(table.batches(typed=False)), keep_words=False)
    assert {str(numbers.schema.field(name).type) for name in plan.used if name in ("Age", "CO", "Limit")} <= {"double"}


@pytest.mark.parametrize(
    ("columns", "flag"),
    [
        ({"Order Date": DAYS, "Ship Date": DAYS, "Sales": X}, "time"),
        (
            {"loan": X > 60, "y": Y > 60, "default": Z > 62, **{f"a{i}": RNG.normal(size=N) for i in range(6)}},
            "short rule",
        ),
        ({"arrival_year": 2024 + (X > 50), "children": Y, "adr": Z}, "time"),
    ],
    ids=["Superstore", "bank", "hotel"],
)
def test_what_drives_the_clusters_of_published_tables_is_flagged(columns, flag):
    data = pd.DataFrame(columns)
    plan = propose(data)
    matrix = plan.matrix(data)
    clustered = [i for i, name in enumerate(plan.names) if not name.startswith("a") or name == "arrival_year"]
    labels = KMeans(4, n_init=3, random_state=0).fit_predict(matrix[:, clustered])
    assert flag in {one.kind for one in drivers(labels, matrix, plan=plan).flags}
