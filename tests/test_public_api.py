"""The public names, their docstrings and their defaults."""

from __future__ import annotations

import doctest
import importlib
import importlib.metadata
import inspect
import operator
import re
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import allegiance

FUNCTIONS = ["affinity", "compare_clusterings", "load", "stability_curve", "trust", "validate_consensus"]
CLASSES = ["ActiveKMeans", "AffinityScorer", "Calibration", "ConsensusClustering", "IncrementalKMeans"]
RETURNED = ["AffinityResult", "PrecisionWarning"]
#: What each public module promises.
MODULES = {
    "clusterers": ["BregmanKMeans", "Leiden", "Louvain"],
    "displays": [
        "AffinityFieldDisplay",
        "AffinityMapDisplay",
        "AffinityProfileDisplay",
        "FlowDisplay",
        "GalleryDisplay",
        "ResultPlots",
        "StabilityCurveDisplay",
    ],
    "domains": ["Ball", "Box", "Polytope", "Space"],
    "drift": ["DriftFinding", "PeriodComparison", "Profile", "compare_periods", "compare_profiles"],
    "engines": ["ClosedForm", "Exact", "HitAndRun", "PrecisionWarning", "SharedSamples"],
    "geometry": ["sample_polytope"],
    "influence": [
        "KL",
        "Bregman",
        "Cosine",
        "ItakuraSaito",
        "Kernel",
        "Logistic",
        "Mahalanobis",
        "Weights",
        "Within",
    ],
    "io": ["fit_stream", "load", "score_stream"],
    "metrics": ["lift_emd", "rand_distance"],
}
#: Modules whose ``__all__`` also holds names that serve the rest of the package.
SHARED = {"drift", "io"}
IN_MODULES = [f"{module}.{name}" for module, names in MODULES.items() for name in names]
CALLED_BY_USERS = [*FUNCTIONS, *CLASSES, *(name for name in IN_MODULES if not name.startswith(("drift.P", "drift.D")))]
CALLED_BY_USERS = [name for name in CALLED_BY_USERS if not name.endswith(("PrecisionWarning", "io.load"))]

ATTRIBUTES = ["affinity", "classes", "clusters", "label", "own_affinity", "priority", "replication"]
ATTRIBUTES += ["replication_interval", "rival", "stable", "standard_error", "trust", "typicality", "verdict"]
METHODS = ["audit", "audit_sample", "by_cluster", "drivers", "frame", "plot", "report", "review", "serve", "summary"]


def public(name: str) -> Any:
    """Return the object with a dotted name of the package."""
    return operator.attrgetter(name)(allegiance)


def sections(docstring: str) -> dict[str, list[str]]:
    """Split a NumPy docstring into its sections, a title followed by a line of dashes."""
    actual: dict[str, list[str]] = {"": []}
    lines = inspect.cleandoc(docstring).splitlines()
    title = ""
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if following and set(following) == {"-"}:
            title = line
            actual[title] = []
        elif not (line and set(line) == {"-"}):
            actual[title].append(line)
    return actual


def described(section: list[str]) -> list[str]:
    """Return the names described in a section such as Parameters: its lines without indent, types left out."""
    heads = [line.split(" : ")[0] for line in section if line and not line.startswith(" ")]
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


def defaults(function: Any) -> dict[str, Any]:
    return {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}


class TestNames:
    def test_exactly_these_names_are_public(self):
        names = sorted([*FUNCTIONS, *CLASSES, *RETURNED, *MODULES])
        assert allegiance.__all__ == names
        assert dir(allegiance) == names

    @pytest.mark.parametrize(("module", "names"), MODULES.items())
    def test_public_modules_export_exactly_these(self, module, names):
        actual = public(module).__all__
        assert set(names) <= set(actual) if module in SHARED else sorted(actual) == sorted(names)

    def test_a_result_has_exactly_these_attributes_and_methods(self):
        result = allegiance.AffinityResult
        members = {*dir(result), *(field.name for field in fields(result))}
        assert {name for name in members if not name.startswith("_")} == {*ATTRIBUTES, *METHODS}

    def test_a_scorer_has_exactly_these_methods(self):
        actual = {name for name in vars(allegiance.AffinityScorer) if not name.startswith("_")}
        expected = {"affinity", "fit", "fit_affinity", "fit_predict", "fit_transform", "get_feature_names_out"}
        expected |= {"get_metadata_routing", "predict", "score", "score_samples", "transform"}
        expected |= {"from_dict", "keep_baseline", "prepare", "profile", "save", "score_arrow", "to_dict"}
        assert actual == expected

    @pytest.mark.parametrize("name", [*FUNCTIONS, *CLASSES, *RETURNED])
    def test_a_name_loads_once_and_knows_itself(self, name):
        value = getattr(allegiance, name)
        assert getattr(allegiance, name) is value
        assert value.__name__ == name

    def test_unknown_names_are_named(self):
        with pytest.raises(AttributeError, match="No allegiance attribute afinity"):
            allegiance.afinity  # noqa: B018
        with pytest.raises(ImportError, match="afinity"):
            exec("from allegiance import afinity")

    def test_version_is_that_of_the_installed_package(self):
        assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?(\.dev\d+)?", allegiance.__version__)
        assert importlib.metadata.version("allegiance") == allegiance.__version__


class TestDocstrings:
    @pytest.mark.parametrize("name", CALLED_BY_USERS)
    def test_every_parameter_is_described_with_an_example(self, name):
        value = public(name)
        documented = sections(value.__doc__)
        assert documented[""][0].endswith(".")
        assert described(documented.get("Parameters", [])) == list(inspect.signature(value).parameters)
        assert ">>> " in value.__doc__ or name == "drift.compare_profiles"

    def test_fields_of_a_result_are_described(self):
        named = set(described(sections(allegiance.AffinityResult.__doc__)["Attributes"]))
        assert named == {field.name for field in fields(allegiance.AffinityResult) if not field.name.startswith("_")}

    @pytest.mark.parametrize("name", [*CLASSES, *RETURNED])
    def test_every_public_method_is_described(self, name):
        ours = [base for base in public(name).__mro__ if base.__module__.startswith("allegiance.")]
        members = [item for base in ours for item in vars(base).items() if not item[0].startswith("_")]
        kinds = (property, cached_property, classmethod, staticmethod)
        methods = [
            (actual, member) for actual, member in members if inspect.isfunction(member) or isinstance(member, kinds)
        ]
        assert [actual for actual, member in methods if not (member.__doc__ or "").strip()] == []


class TestDefaults:
    def test_function_and_estimator_share_their_parameters(self):
        function = dict(inspect.signature(allegiance.affinity).parameters)
        estimator = dict(inspect.signature(allegiance.AffinityScorer).parameters)
        # The methods of the estimator take the data, and how many affinities to keep.
        del function["X"], function["labels"], function["top"], estimator["estimator"]
        assert list(function) == list(estimator)
        for name, parameter in function.items():
            assert parameter.kind is estimator[name].kind is inspect.Parameter.KEYWORD_ONLY
            assert parameter.default == estimator[name].default

    def test_they_are_those_promised(self):
        assert defaults(allegiance.AffinityScorer) == {
            "estimator": None,
            "centers": None,
            "influence": "within",
            "weights": None,
            "representative": "mean",
            "domain": "box",
            "engine": "auto",
            "eps": 0.03,
            "calibration": None,
            "n_jobs": None,
            "random_state": 0,
            "verbose": False,
        }

    def test_trust_is_affinity_with_calibration(self):
        affinity, trust = defaults(allegiance.affinity), defaults(allegiance.trust)
        del affinity["top"], affinity["calibration"]
        calibration = {name: trust.pop(name) for name in ("clusterer", "n_resamples", "groups", "sample_weight")}
        assert calibration == {name: defaults(allegiance.Calibration)[name] for name in calibration}
        assert trust == affinity


def modules_with_examples() -> list[str]:
    """Return the names of all modules of the package whose source holds an example; none is imported for it."""
    folder = Path(allegiance.__file__).parent
    actual = [path.relative_to(folder.parent) for path in folder.rglob("*.py") if ">>> " in path.read_text()]
    return sorted(".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in actual)


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_run(name):
    runner = doctest.DocTestRunner()
    message: list[str] = []
    for example in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name), name, globs={}):
        runner.run(example, out=message.append)
    assert runner.tries > 0
    assert runner.failures == 0, "".join(message)
