"""Review the handwritten digits in the browser: ``python examples/review.py``.

It clusters the 1,797 digits of scikit-learn with k-means, estimates which labels would hold up on a
fresh sample, and serves the page. Decisions go to ``out/digits.decisions.jsonl``. Needs the extra ``report``.
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
    review = trust(digits.data, labels).serve(
        digits.data,
        images=16 - digits.images,  # Ink is dark on paper.
        feature_names=[name.replace("_", " ") for name in digits.feature_names],
        title="Digits in ten clusters",
        log=Path("out") / "digits.decisions.jsonl",
    )
    with review:
        print(f"Open {review.url} in a browser. Ctrl-C ends the server.")
        review.wait()


if __name__ == "__main__":
    main()
