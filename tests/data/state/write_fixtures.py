"""Write one small saved scorer of each kind, with points and the affinities it gives them.

Run once for each version of the format: ``python tests/data/state/write_fixtures.py``. Files of earlier versions are
never written again: tests/test_state.py checks that they load and score as they did.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from allegiance import KL, AffinityScorer, Auto, Kernel, Nystroem, Polytope, Weights
from allegiance.io.state import VERSION

HERE = Path(__file__).parent
KINDS = {
    "euclidean": {},
    "power": {"weights": Weights("size", scale="auto"), "domain": "ball"},
    "within": {"influence": "within", "engine": "shared", "calibration": 5},
    "kl": {"influence": KL(smoothing=0.1)},
    "rbf": {"influence": Kernel("rbf", gamma=0.5)},
    "nystroem": {"influence": Kernel("rbf", gamma=0.5, approximation=Nystroem(8))},
    "whole-space": {"domain": "space"},
    "polytope": {"domain": Polytope.box([0.0] * 3, [6.0] * 3), "engine": Auto(max_samples=10**5)},
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
        expected = {
            "points": points,
            "affinity": result.affinity,
            "error": result.standard_error,
            "label": result.label,
            "typicality": result.typicality,
        }
        if result.calibrated:
            expected["trust"] = result.trust
        np.savez(HERE / f"{kind}-v{VERSION}.npz", **expected)


if __name__ == "__main__":
    main()
