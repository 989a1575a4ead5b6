"""Review the handwritten digits in the browser: ``python examples/explorer.py``.

It clusters the 1,797 digits of scikit-learn with k-means, finds out which labels can be trusted, and opens the
explorer. Decisions go to ``out/digits.decisions.jsonl``. Needs the extra ``explorer``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from allegiance import trust


def main() -> None:
    """Cluster, score, serve."""
    digits = load_digits()
    # Letters, since the numbers of k-means would read like digits.
    labels = np.array(list("ABCDEFGHIJ"))[KMeans(10, n_init=10, random_state=0).fit_predict(digits.data)]
    Path("out").mkdir(exist_ok=True)
    explorer = trust(digits.data, labels).explore(
        digits.data,
        # Ink is dark on paper.
        images=16 - digits.images,
        feature_names=[name.replace("_", " ") for name in digits.feature_names],
        title="Digits in ten clusters",
        decisions=Path("out") / "digits.decisions.jsonl",
    )
    with explorer:
        print(f"Open {explorer.url} in a browser. Ctrl-C ends the explorer.")
        explorer.wait()


if __name__ == "__main__":
    main()
