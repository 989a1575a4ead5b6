"""Tables that many tests use."""

import numpy as np
import pandas as pd


def customers(n=300, seed=0):
    """Return a table of three groups of customers: an identifier, two numbers, a category and a date."""
    rng = np.random.default_rng(seed)
    group = rng.integers(3, size=n)
    return pd.DataFrame(
        {
            "customer": [f"c{i:05d}" for i in range(n)],
            "spent": (np.array([50.0, 400.0, 900.0])[group] + 30 * rng.normal(size=n)).round(2),
            "visits": np.array([2.0, 30.0, 8.0])[group] + rng.normal(size=n),
            "plan": np.array(["basic", "gold", "basic"])[group],
            "joined": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(300, size=n), "D"),
        }
    )
