import os
from pathlib import Path

# Before NumPy is imported: test processes already use all cores, and threads that wait for each other would spin.
os.environ |= {name: os.environ.get(name, "1") for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}

import hypothesis
import numpy as np
import pytest

# The same examples in every run: a failure belongs to the change at hand. HYPOTHESIS_PROFILE=explore tries others.
hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None)
hypothesis.settings.register_profile("explore", deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.fixture
def rng():
    return np.random.default_rng(20130528)


SCAFFOLD = {"attacks", "benchmarks", "docs", "release", "reproduction"}


def pytest_ignore_collect(collection_path, config):
    """Leave scaffolding alone where it is not asked for: importing it takes seconds."""
    inside = SCAFFOLD & set(collection_path.relative_to(Path(__file__).parent).parts)
    return True if inside and "not scaffold" in config.option.markexpr else None


def pytest_collection_modifyitems(items):
    """Mark the tests of what stands around the package."""
    for item in items:
        if SCAFFOLD & set(item.path.relative_to(Path(__file__).parent).parts):
            item.add_marker(pytest.mark.scaffold)
