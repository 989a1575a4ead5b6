"""Saved scorers made to do harm: their checksums fit, their contents do not."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture

from allegiance import AffinityScorer, Fourier, Hashing, Kernel, Nystroem, Weights
from allegiance._core import STORED, Spec
from allegiance.io.state import write_state

IRIS = load_iris().data
LABELS = load_iris().target
SPARSE = sp.csr_array(np.where(IRIS > 1.5, IRIS, 0.0))
GRAM = IRIS @ IRIS.T

#: Between them they hold every kind of object that can be saved, apart from what files of the first format hold.
SCORERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "power": (IRIS, {"weights": Weights([0.1, 0.2, 0.3]), "influence": "within", "calibration": 3}),
    "bregman": (IRIS[:, :3], {"influence": "kl", "weights": "size"}),
    "kernel": (IRIS, {"influence": "rbf"}),
    "sparse": (SPARSE, {"influence": "polynomial"}),
    "precomputed": (GRAM, {"influence": "precomputed"}),
    "fourier": (IRIS, {"influence": Kernel("rbf", approximation=Fourier(8))}),
    "nystroem": (IRIS, {"influence": Kernel("rbf", approximation=Nystroem(8))}),
    "sketch": (IRIS, {"influence": Kernel("polynomial", approximation=Hashing(8))}),
}


@pytest.fixture(scope="module", params=SCORERS)
def scorer(request: pytest.FixtureRequest) -> tuple[AffinityScorer, Any]:
    X, settings = SCORERS[request.param]
    return AffinityScorer(random_state=0, **settings).fit(X, LABELS), X


def arrays(state: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield where the arrays of a state are, those of parameters aside: these are checked like any user's."""
    for name, value in state.items():
        if isinstance(value, np.ndarray):
            yield (*path, name)
        elif isinstance(value, dict) and name != "params":
            yield from arrays(value, (*path, name))


def changed(state: dict[str, Any], path: tuple[str, ...], change: Callable[[Any], Any]) -> dict[str, Any]:
    """Return a state with one of its values replaced."""
    name, *rest = path
    inner = changed(state[name], tuple(rest), change) if rest else change(state[name])
    return state | {name: inner}


def with_last(value: Any, entry: Any) -> Any:
    if not value.size:
        return value[None]
    value = value.copy()
    if value.dtype.kind == "i":
        entry = np.clip(entry, np.iinfo(value.dtype).min, np.iinfo(value.dtype).max)
    value.flat[-1] = entry
    return value


CHANGES: dict[str, Callable[[Any], Any]] = {
    "a row less": lambda array: array[:-1] if array.size else array[None],
    "a row more": lambda array: np.concatenate([array, array[-1:]]) if array.size else array[None],
    "a side more": lambda array: array[None],
    "no entry": lambda array: array[:0] if array.size else array[None],
    "texts": lambda array: np.full(array.shape, "NaN", "U3"),
    "complex": lambda array: array.astype(complex) if array.dtype.kind in "fiu" else array[None],
    "NaN": lambda array: with_last(array, np.nan) if array.dtype.kind == "f" else array[None],
    "infinite": lambda array: with_last(array, -np.inf) if array.dtype.kind == "f" else array[None],
    "far out": lambda array: with_last(array, 2**40) if array.dtype.kind == "i" else array[None],
    "negative": lambda array: with_last(array, -(2**40)) if array.dtype.kind == "i" else array[None],
    "not an array": lambda array: array.tolist(),
    "a number": lambda _: 1.0,
}
#: Names of clusters may be any, numbers too, and there is nothing to compare these arrays with.
FREE = {
    ("classes", "texts"): "a list of equal names",
    ("classes", "far out"): "a name like any other",
    ("classes", "negative"): "a name like any other",
    ("order", "a row less"): "a member less of a precomputed kernel, which nothing else counts",
    ("order", "far out"): "which rows of the fit they were, used for nothing but precomputed kernels",
}


def test_no_array_that_does_not_fit_is_loaded(scorer):
    fitted, _ = scorer
    state = fitted.to_dict()
    loaded = []
    for path in arrays(state):
        for name, change in CHANGES.items():
            if (path[-1], name) in FREE:
                continue
            with contextlib.suppress(ValueError):
                AffinityScorer.from_dict(changed(state, path, change))
                loaded.append((".".join(path), name))
    assert loaded == []


def test_indices_of_sparse_rows_are_compared_with_their_number_of_columns(tmp_path):
    """Once: the file loaded, and scoring corrupted the heap."""
    scorer = AffinityScorer(influence="polynomial", random_state=0).fit(SPARSE, LABELS)
    rows = ("diagram", "embedding", "means", "members", "rows")
    for part, entry in [("indices", 10**6), ("indices", -1), ("indptr", 10**6), ("indptr", -1)]:
        state = changed(scorer.to_dict(), (*rows, part), lambda array, entry=entry: with_last(array, entry))
        write_state(state, tmp_path / "a.scorer")
        with pytest.raises(ValueError, match=rf"a\.scorer cannot be loaded: diagram\.embedding.*rows\.{part}"):
            AffinityScorer.load(tmp_path / "a.scorer")


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (("n_features",), 5, "side of 4"),
        (("n_features",), "4", "whole number"),
        (("classes",), np.array([0, 1, 1]), "each cluster once"),
        (("region", "scale"), np.zeros(2), "region.scale"),
        (("region", "half_width"), -1.0, "region.half_width"),
        (("region", "half_width"), True, "region.half_width must be a number"),
        (("trust_map", "chance"), 7.0, "trust_map.chance"),
        (("diagram", "kind"), "region", "'region', which is unknown there"),
        (("diagram", "embedding"), None, "diagram.embedding"),
        (("diagram", "embedding", "reduction", "factor"), 0.0, "reduction.factor"),
        (("params",), {"influence": "psychic"}, "influence"),
        (("params",), {"colour": "red"}, "colour"),
        (("params",), None, "params"),
        (("region",), [], "region"),
    ],
)  # fmt: skip
def test_numbers_names_and_kinds_are_checked_too(path, value, says, tmp_path):
    fitted = AffinityScorer(random_state=0, calibration=3, influence="within").fit(IRIS, LABELS)
    write_state(changed(fitted.to_dict(), path, lambda _: value), tmp_path / "a.scorer")
    with pytest.raises(ValueError, match=says):
        AffinityScorer.load(tmp_path / "a.scorer")


def test_sites_outside_the_domain_of_their_divergence_are_refused():
    state = AffinityScorer(influence="kl").fit(IRIS, LABELS).to_dict()
    with pytest.raises(ValueError, match="diagram: sites lies outside the domain"):
        AffinityScorer.from_dict(changed(state, ("diagram", "sites"), lambda sites: -sites))


def test_files_of_the_other_byte_order_are_read(tmp_path):
    scorer = AffinityScorer(random_state=0).fit(IRIS, LABELS)
    state = scorer.to_dict()
    for path in arrays(state):
        state = changed(state, path, lambda array: array.astype(array.dtype.newbyteorder(">")))
    write_state(state, tmp_path / "a.scorer")
    loaded = AffinityScorer.load(tmp_path / "a.scorer")
    np.testing.assert_array_equal(loaded.affinity(IRIS).affinity, scorer.affinity(IRIS).affinity)


def test_every_part_that_is_saved_says_what_it_must_be():
    assert STORED
    for kind, declared in STORED.items():
        assert declared.parts, kind
        assert all(isinstance(spec, Spec) for spec in declared.parts.values()), kind


def test_parameters_of_a_saved_clusterer_are_checked_as_its_fit_would():
    """Once: an UnboundLocalError inside scikit-learn when points were labelled."""
    state = AffinityScorer(GaussianMixture(3, random_state=0)).fit(IRIS).to_dict()
    path = ("clusterer", "params", "covariance_type")
    with pytest.raises(ValueError, match="covariance_type"):
        AffinityScorer.from_dict(changed(state, path, lambda _: "text"))
