import os

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
