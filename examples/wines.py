"""Write scikit-learn's 178 wines as a table: ``python examples/wines.py [FILE.csv]``.

``make demo`` clusters and scores it with the command ``allegiance``. Columns are the number of the wine, the cultivar
that it was made from, and 13 measurements in their own units.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from sklearn.datasets import load_wine


def main(path: Path) -> None:
    """Write the table."""
    wines = load_wine()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["wine", "cultivar", *wines.feature_names])
        for number, (cultivar, values) in enumerate(zip(wines.target, wines.data.tolist(), strict=True), start=1):
            writer.writerow([f"W{number:03d}", "ABC"[cultivar], *values])


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "wines.csv"))
