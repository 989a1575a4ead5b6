"""The studies are scripts outside the package, so their folder is put on the path for the tests."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
