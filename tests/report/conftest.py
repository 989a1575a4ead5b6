import numpy as np
import pytest

from allegiance import AffinityResult
from allegiance._core.parameters import Lazy
from allegiance.calibration import TrustMap
from allegiance.results import FrameLike, Measurement
from allegiance.typicality import MemberDistances


def trust_map(k):
    """Return a map from own affinity alone: one half at one half."""
    return TrustMap(
        intercept=-2.0,
        slopes=np.array([4.0, 0.0]),
        effects=np.zeros(k),
        review_slopes=np.array([4.0, 0.0]),
        review_offsets=np.full(k, -2.0),
        reach=np.full(k, 1.0),
        share=0.8,
        margins=np.array([0.1, 0.1]),
        cluster_margins=np.full(k, 0.1),
        chance=1.0 / k,
        null_replication=None,
        note="k-means was repeated.",
    )


@pytest.fixture
def make_result():
    """Build a result from affinities alone."""

    def build(affinity, label=None, classes=None, seed=7, frame=None, calibrated=True):
        affinity = np.asarray(affinity, dtype=float)
        n, k = affinity.shape
        classes = np.arange(k) if classes is None else np.asarray(classes)
        label = classes[affinity.argmax(axis=1)] if label is None else np.asarray(label)
        number = {name: code for code, name in enumerate(classes.tolist())}
        codes = np.array([number.get(name, -1) for name in label.tolist()])
        distance = np.linspace(0.0, 1.0, n)
        return AffinityResult(
            affinity=affinity,
            standard_error=np.zeros((n, k)),
            label=label,
            classes=classes,
            _empty_cell=np.zeros(n, dtype=bool),
            _residual=Lazy.known(np.zeros(n)),
            _measurement=Measurement("euclidean", "box", "auto", 0.03, seed, min(2, k), 3, 0.5),
            _codes=codes,
            _distances=Lazy(lambda: (distance, np.zeros(n))),
            _members=Lazy.known(MemberDistances.of(np.arange(codes.size, dtype=np.uint64), codes, distance, k)),
            _trust_map=trust_map(k) if calibrated else None,
            _engine_codes=np.zeros(n, dtype=np.int8),
            _frame_like=FrameLike() if frame is None else FrameLike.of(frame),
        )

    return build


@pytest.fixture
def random_result(make_result, rng):
    """Build a result of n points and k clusters with random affinities."""

    def build(n, k, concentration=0.5, **settings):
        return make_result(rng.dirichlet(np.full(k, concentration), n), **settings)

    return build
