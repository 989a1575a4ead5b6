"""Write scikit-learn's 1,797 handwritten digits as a table: ``python examples/digits.py FILE.csv``.

``make demo`` clusters and scores it with the command ``allegiance``. Columns are the number of the image, the digit it
shows, and 64 pixels.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from sklearn.datasets import load_digits


def main(path: Path) -> None:
    """Write the table."""
    digits = load_digits()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["image", "digit", *digits.feature_names])
        for image, (digit, pixels) in enumerate(zip(digits.target, digits.data.astype(int), strict=True)):
            writer.writerow([image, digit, *pixels])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
