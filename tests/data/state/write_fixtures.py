"""Write one small saved scorer of each kind, with points and the affinities it gives them.

Run once for each version of the format: ``python tests/data/state/write_fixtures.py``. Files of earlier versions are
never written again: tests/test_state.py checks that they load and score as they did.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from allegiance import AffinityScorer
from allegiance.io.state import VERSION

HERE = Path(__file__).parent
KINDS = {
    "euclidean": {},
    "power": {"weights": "size", "weight_scale": "auto", "domain": "ball"},
    "within": {"divergence": "within", "method": "shared"},
    "kl": {"divergence": "kl"},
    "rbf": {"kernel": "rbf", "kernel_params": {"gamma": 0.5}},
    "whole-space": {"domain": None},
}


def main() -> None:
    rng = np.random.default_rng(7)
    labels = np.repeat(["ant", "bee", "cat", "dog"], 6)
    X = rng.uniform(1.0, 2.0, (24, 3)) + np.repeat(rng.uniform(0.0, 3.0, (4, 3)), 6, axis=0)
    points = rng.uniform(1.0, 5.0, (12, 3))
    for kind, settings in KINDS.items():
        scorer = AffinityScorer(random_state=3, **settings).fit(X, labels)
        scorer.save(HERE / f"{kind}-v{VERSION}.scorer")
        result = scorer.affinity(points)
        np.savez(
            HERE / f"{kind}-v{VERSION}.npz", points=points, affinity=result.affinity, error=result.standard_error,
            label=result.label,
        )  # fmt: skip


if __name__ == "__main__":
    main()
