"""The studies are scripts beside the package: their folder is put on the path for their tests."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
