"""Say which labels of a clustering of handwritten digits can be trusted.

Run it with ``make demo``: it clusters the 1,797 digits of scikit-learn with k-means, prints the summary and the ten
points to look at first, and saves a picture of the most and the least trusted digits to ``out/digits.png``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from allegiance import AffinityResult, affinity

#: Digits in each row of the picture.
N_SHOWN = 10


def save_picture(result: AffinityResult, images: np.ndarray, truth: np.ndarray, path: Path) -> None:
    """Draw the most and the least trusted digits, with their affinities to the two strongest clusters."""
    order = np.argsort(result.confidence, kind="stable")
    rows = {"most trusted": order[::-1][:N_SHOWN], "least trusted": order[:N_SHOWN]}
    figure, axes = plt.subplots(2, N_SHOWN, figsize=(1.25 * N_SHOWN, 3.8), layout="constrained")
    for line, (title, chosen) in zip(axes, rows.items(), strict=True):
        for ax, row in zip(line, chosen, strict=True):
            ax.imshow(images[row], cmap="gray_r", vmin=0, vmax=16)
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_color("0.8")
            first, second = result.confidence[row], result.confidence[row] - result.margin[row]
            shares = f"{result.owner[row]} {first:.2f}, {result.runner_up[row]} {second:.2f}"
            ax.set_xlabel(f"{shares}\n(a {truth[row]})", fontsize=8)
        line[0].set_ylabel(title, fontsize=11)
    figure.suptitle(
        "Clusters A to J: the share of each digit's territory that comes from its two strongest clusters", fontsize=11
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Cluster, score, tell, draw."""
    mpl.use("Agg")
    digits = load_digits()
    # Letters, since the numbers of k-means would read like digits.
    labels = np.array(list("ABCDEFGHIJ"))[KMeans(10, n_init=10, random_state=0).fit_predict(digits.data)]

    result = affinity(digits.data, labels, random_state=0)

    print(result)
    print("\nThe ten labels to look at first:\n")
    print("  row  label  owner  runner-up  confidence  margin  true digit")
    for row in result.least_trusted(10):
        print(
            f"{row:>5}  {result.label[row]:>5}  {result.owner[row]:>5}  {result.runner_up[row]:>9}"
            f"  {result.confidence[row]:>10.2f}  {result.margin[row]:>6.2f}  {digits.target[row]:>10}"
        )
    path = Path("out") / "digits.png"
    save_picture(result, digits.images, digits.target, path)
    print(f"\nThe most and the least trusted digits: {path}")


if __name__ == "__main__":
    main()
