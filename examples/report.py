"""Write a report of the handwritten digits: ``python examples/report.py``.

It clusters the 1,797 digits of scikit-learn with k-means, finds out which labels can be trusted, and writes
``out/report.html``, which opens in any browser.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from allegiance import trust


def main() -> None:
    """Cluster, score, write."""
    digits = load_digits()
    # Letters, since the numbers of k-means would read like digits.
    labels = np.array(list("ABCDEFGHIJ"))[KMeans(10, n_init=10, random_state=0).fit_predict(digits.data)]
    result = trust(digits.data, labels)
    path = Path("out") / "report.html"
    path.parent.mkdir(exist_ok=True)
    names = [name.replace("_", " ") for name in digits.feature_names]
    # Ink is dark on paper.
    images = 16 - digits.images
    result.report(path, digits.data, images=images, feature_names=names, title="Digits in ten clusters")
    print(f"Open {path} in a browser.")


if __name__ == "__main__":
    main()
