"""Save the models that later releases must load: ``python tests/data/save_models.py``, once for each release."""

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans

import allegiance
from allegiance.io import Model, propose

FOLDER = Path(__file__).parent


def main() -> None:
    """Write the rows, a model for them with trust and a baseline, and the scores that it gives."""
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=120)
    rows = pd.DataFrame(
        {
            "spent": (np.array([50.0, 400.0, 900.0])[group] + 30 * rng.normal(size=120)).round(2),
            "joined": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(300, size=120), "D"),
            "plan": np.array(["basic", "gold", None], dtype=object)[group],
        }
    )
    rows.to_csv(FOLDER / "rows.csv", index=False)
    rows = pd.read_csv(FOLDER / "rows.csv")
    plan = propose(rows)
    scorer = allegiance.AffinityScorer(KMeans(3, n_init=2, random_state=0), calibration=3, random_state=0)
    model = Model(plan, scorer.fit(plan.matrix(rows)), {"note": "for tests"}).keep_baseline(rows)
    model.save(FOLDER / f"{allegiance.__version__}.model")
    model.affinity(rows).frame()[["label", "trust"]].to_csv(FOLDER / f"{allegiance.__version__}.csv", index=False)


if __name__ == "__main__":
    main()
