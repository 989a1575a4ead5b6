"""Parameter objects and their registries: what scikit-learn, pickles, saved files and users expect of them."""

import copy
import pickle
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.kernel_approximation import RBFSampler
from sklearn.model_selection import GridSearchCV

from allegiance import AffinityScorer, Calibration
from allegiance._core.parameters import Parameters
from allegiance.domains import Box, Polytope
from allegiance.engines import Auto
from allegiance.influence import KL, Bregman, Kernel, Mahalanobis, Weights, Within
from allegiance.io.encoding import decode, encode
from scenes import quartic, quartic_gradient, quartic_inverse


def descendants(cls: type) -> set[type]:
    return {cls, *(actual for child in cls.__subclasses__() for actual in descendants(child))}


#: Every class of parameters of the package, so that a new one cannot dodge; bases are not dataclasses themselves.
CLASSES = sorted(
    (
        cls
        for cls in descendants(Parameters)
        if "__dataclass_fields__" in vars(cls) and cls.__module__.startswith("allegiance.")
    ),
    key=lambda cls: cls.__name__,
)
#: Values for parameters without a default.
REQUIRED: dict[str, dict[str, Any]] = {
    "Bregman": {"phi": quartic, "gradient": quartic_gradient, "inverse_gradient": quartic_inverse},
    "Kernel": {"name": "rbf"},
    "Mahalanobis": {"covariance": np.array([[2.0, 0.5], [0.5, 1.0]])},
    "Polytope": {"A": np.vstack([np.eye(2), -np.eye(2)]), "b": np.ones(4)},
    "Weights": {"values": "size"},
}
#: Another value than the default, for parameters that are not numbers.
OTHER: dict[str, Any] = {
    "Kernel.approximation": "nystroem",
    "Kernel.name": "laplacian",
    "Mahalanobis.covariance": np.eye(2),
    "Polytope.A": np.vstack([np.eye(2), -2 * np.eye(2)]),
    "Polytope.b": np.full(4, 2.0),
    "Bregman.domain": (0.0, np.inf),
    "Bregman.phi": quartic_gradient,
    "Bregman.gradient": quartic,
    "Bregman.inverse_gradient": quartic_gradient,
    "Calibration.clusterer": AgglomerativeClustering(3),
    "Weights.values": "density",
    "Weights.scale": "auto",
}


def usual(cls: type) -> Any:
    """An object with the defaults of its class."""
    return cls(**REQUIRED.get(cls.__name__, {}))


def other(cls: type, name: str) -> Any:
    """A value that differs from that of the usual object."""
    key = f"{cls.__name__}.{name}"
    if key in OTHER:
        return OTHER[key]
    return (getattr(usual(cls), name) or 0) + 3


each_class = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
PARAMETERS = [(cls, field.name) for cls in CLASSES for field in fields(cls)]
each_parameter = pytest.mark.parametrize(
    ("cls", "name"), PARAMETERS, ids=[f"{cls.__name__}.{name}" for cls, name in PARAMETERS]
)


@each_class
class TestEachClass:
    def test_copies_are_equal_and_objects_of_other_classes_are_not(self, cls):
        one = usual(cls)
        for again in (usual(cls), clone(one), copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
            assert type(again) is cls
            assert again is not one
            assert again == one
        for another in (*(usual(other) for other in CLASSES if other is not cls), "text", None):
            assert one != another

    def test_repr_shows_what_must_be_given_and_no_defaults(self, cls):
        text = repr(usual(cls))
        assert text.startswith(f"{cls.__name__}(")
        assert "=" not in text
        if not REQUIRED.get(cls.__name__):
            assert text == f"{cls.__name__}()"

    def test_unknown_parameters_are_named(self, cls):
        with pytest.raises(ValueError, match=f"'gama' is not a parameter of {cls.__name__}"):
            usual(cls).set_params(gama=1)
        with pytest.raises(TypeError, match="gama"):
            cls(**REQUIRED.get(cls.__name__, {}), gama=1)

    def test_saved_and_read_again(self, cls):
        one = usual(cls)
        if cls is Bregman:
            with pytest.raises(TypeError, match=r"influence\.phi is <function quartic"):
                encode(one, "influence")
        else:
            assert decode(encode(one, "influence")) == one


@each_parameter
def test_each_parameter_makes_a_difference_and_shows(cls, name):
    changed = usual(cls).set_params(**{name: other(cls, name)})
    assert changed != usual(cls)
    assert clone(changed) == changed
    assert changed == cls(**usual(cls).get_params(deep=False) | {name: other(cls, name)})
    assert name in REQUIRED.get(cls.__name__, {}) or f"{name}=" in repr(changed)
    assert len(repr(changed)) < 120


def test_reprs_can_be_read_back():
    for one in (
        KL(smoothing=0.5),
        Within(),
        Kernel("rbf", gamma=0.5, approximation="nystroem"),
        Weights("size", scale="auto"),
        Weights([1.0, 2.0], query=0.5),
        Box(margin=0.2),
        Auto(max_samples=10**5),
        Calibration(10),
    ):
        assert eval(repr(one)) == one


def test_large_arrays_are_not_printed():
    assert repr(Mahalanobis(np.eye(40))) == "Mahalanobis(array of shape (40, 40))"
    assert repr(Polytope.box([0] * 9, [1] * 9)) == "Polytope(18 walls in 9 dimensions)"


def test_parameters_of_parameters():
    kernel = Kernel("rbf", approximation=RBFSampler(n_components=20))
    assert kernel.get_params()["approximation__n_components"] == 20
    assert "approximation__n_components" not in kernel.get_params(deep=False)
    scorer = AffinityScorer(influence=kernel)
    assert scorer.get_params()["influence__approximation__n_components"] == 20
    changed = clone(scorer).set_params(influence__approximation__n_components=30)
    assert changed.influence == Kernel("rbf", approximation=RBFSampler(n_components=30))
    assert kernel.approximation.n_components == 20, "the original is left alone"


def test_the_clusterer_of_a_calibration_is_cloned_with_it():
    scorer = AffinityScorer(calibration=Calibration(clusterer=KMeans(3)))
    again = clone(scorer)
    assert again.calibration.clusterer is not scorer.calibration.clusterer
    assert again.calibration == scorer.calibration == Calibration(clusterer=KMeans(3))
    assert again.calibration != Calibration(clusterer=KMeans(4))


def test_a_search_over_a_parameter_of_a_parameter(rng):
    counts = rng.poisson([[8, 1, 1], [1, 8, 1], [1, 1, 8]] * 20).astype(float) + 0.5
    grid = {"influence__smoothing": [0.0, 0.5, 5.0], "estimator__n_clusters": [2, 3]}
    scorer = AffinityScorer(KMeans(n_init=1, random_state=0), influence=KL(), eps=0.2)
    search = GridSearchCV(scorer, grid, scoring=lambda actual, X: actual.score_samples(X).mean(), cv=2).fit(counts)
    scores = search.cv_results_["mean_test_score"]
    assert len(scores) == 6
    assert np.ptp(scores) > 0.001, "the smoothing must matter, and no score be NaN"
    assert search.best_estimator_.influence == KL(smoothing=search.best_params_["influence__smoothing"])
    assert scorer.influence == KL(), "the scorer that was given is left alone"


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, None), (False, None), (True, Calibration()), (20, Calibration(20)), (Calibration(5), Calibration(5))],
)
def test_shorthand_of_calibration(value, expected):
    assert Calibration.resolve(value) == expected
