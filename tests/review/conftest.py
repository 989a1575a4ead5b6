import numpy as np
import pandas as pd
import pytest

from allegiance import trust
from allegiance.review import serve


def customers(n=240, seed=3):
    """Four overlapping clusters with names, and a table with columns of every kind."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % 4
    X = rng.normal(size=(n, 2)) + 2.2 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])[codes]
    table = pd.DataFrame(
        {
            "customer": [f"c{i:03d}" for i in range(n)],
            "revenue": 1000 + 100 * X[:, 0],
            "plan": np.where(X[:, 1] > 1, "pro", "basic"),
            "joined": pd.Timestamp("2024-01-01") + pd.to_timedelta((10 * X[:, 1]).round(), "D"),
            "label": rng.integers(0, 2, n),
            "remark": [None if i % 7 == 0 else f"=remark, {i}" for i in range(n)],
        }
    )
    labels = np.array(["east", "north", "south", "west"])[codes]
    labels[5] = "-1"
    return trust(X, labels, n_resamples=10), X, table


@pytest.fixture(scope="session")
def scored():
    return customers()


@pytest.fixture
def serving(tmp_path, scored):
    """Start servers, which end with the test."""
    running = []

    def start(**settings):
        result, X, table = scored
        settings = {"log": tmp_path / "log.jsonl", "open_browser": False, "data": table, "ids": "customer"} | settings
        running.append(serve(result, X, **settings))
        return running[-1]

    yield start
    for review in running:
        review.close()
