import numpy as np
import pytest

from allegiance import AffinityResult
from allegiance.results._frames import FrameLike
from allegiance.results._result import HowMeasured


@pytest.fixture
def make_result():
    """Build a result from affinities alone."""

    def build(affinity, label=None, classes=None, seed=7, frame=None):
        affinity = np.asarray(affinity, dtype=float)
        n, k = affinity.shape
        classes = np.arange(k) if classes is None else np.asarray(classes)
        return AffinityResult(
            affinity=affinity,
            standard_error=np.zeros((n, k)),
            label=classes[affinity.argmax(axis=1)] if label is None else np.asarray(label),
            classes=classes,
            hidden=np.zeros(n, dtype=bool),
            off_span=np.zeros(n),
            how=HowMeasured("euclidean", "box", "auto", 0.03, seed, min(2, k), 3, 0.5),
            _engine=np.zeros(n, dtype=np.int8),
            _frame=FrameLike() if frame is None else FrameLike.of(frame),
        )

    return build


@pytest.fixture
def random_result(make_result, rng):
    """Build a result of n points and k clusters with random affinities."""

    def build(n, k, concentration=0.5, **settings):
        return make_result(rng.dirichlet(np.full(k, concentration), n), **settings)

    return build
