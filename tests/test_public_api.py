"""What the package shows to the world."""

from __future__ import annotations

import doctest
import importlib.metadata
import inspect
import operator
import re
from dataclasses import fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_overloads

import pytest

import allegiance

CALLED_BY_USERS = [
    "ActiveKMeans",
    "AffinityScorer",
    "Ball",
    "Box",
    "Bregman",
    "BregmanKMeans",
    "Calibration",
    "ClosedForm",
    "ConsensusClustering",
    "Cosine",
    "Documents",
    "Exact",
    "HitAndRun",
    "IncrementalKMeans",
    "ItakuraSaito",
    "KL",
    "Kernel",
    "Logistic",
    "Mahalanobis",
    "Polytope",
    "SharedSamples",
    "Space",
    "Weights",
    "Within",
    "affinity",
    "compare_clusterings",
    "fit_stream",
    "sample_polytope",
    "score_stream",
    "stability_curve",
    "trust",
    "validate_consensus",
]
MODULES = {
    "displays": [
        "AffinityMapDisplay",
        "AffinityProfileDisplay",
        "FlowDisplay",
        "GalleryDisplay",
        "ResultPlots",
        "StabilityCurveDisplay",
    ],
    "drift": ["Finding", "PeriodComparison", "Profile", "compare_periods", "compare_profiles", "profile_rows"],
    "metrics": ["lift_emd", "rand_distance"],
}
#: Exported for other folders of the package; not promised to users.
SHARED = {"drift": ["baseline_of", "in_own_units", "with_baseline"]}
IN_MODULES = [f"{module}.{name}" for module, names in MODULES.items() for name in names]
NAMES = sorted([*CALLED_BY_USERS, "AffinityResult", "ValueError", "PrecisionWarning", "TopAffinityResult"])
PUBLIC = sorted([*NAMES, *MODULES])


def public(name: str) -> Any:
    """Return what stands under a dotted name of the package."""
    return operator.attrgetter(name)(allegiance)


def sections(docstring: str) -> dict[str, list[str]]:
    """Split a NumPy docstring into its sections, a title followed by a line of dashes."""
    found: dict[str, list[str]] = {"": []}
    lines = inspect.cleandoc(docstring).splitlines()
    title = ""
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if following and set(following) == {"-"}:
            title = line
            found[title] = []
        elif not (line and set(line) == {"-"}):
            found[title].append(line)
    return found


def described(section: list[str]) -> list[str]:
    """Return the names described in a section such as Parameters: its lines without indent, types left out."""
    heads = [line.split(" : ")[0] for line in section if line and not line.startswith(" ")]
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


def public_methods(cls: type) -> list[tuple[str, object]]:
    """Return the methods and properties that a class defines or inherits from the package."""
    ours = [base for base in cls.__mro__ if base.__module__.startswith("allegiance.")]
    found = [(name, member) for base in ours for name, member in vars(base).items() if not name.startswith("_")]
    kinds = (property, cached_property, classmethod, staticmethod)
    return [(name, member) for name, member in found if inspect.isfunction(member) or isinstance(member, kinds)]


def test_exactly_these_names_are_public():
    assert sorted(allegiance.__all__) == PUBLIC
    assert dir(allegiance) == sorted([*PUBLIC, "__version__"])


@pytest.mark.parametrize(("module", "names"), MODULES.items())
def test_public_modules_export_exactly_these(module, names):
    assert sorted(public(module).__all__) == sorted([*names, *SHARED.get(module, [])])


@pytest.mark.parametrize("name", NAMES)
def test_name_loads_once_and_knows_itself(name):
    value = getattr(allegiance, name)
    assert getattr(allegiance, name) is value
    assert value.__name__ == name


def test_star_import_brings_the_public_names():
    namespace: dict[str, object] = {}
    exec("from allegiance import *", namespace)
    assert {name for name in namespace if not name.startswith("__")} == set(PUBLIC)


def test_unknown_name_is_an_attribute_error_that_says_which():
    with pytest.raises(AttributeError, match="'allegiance' has no attribute 'afinity'"):
        allegiance.afinity  # noqa: B018
    with pytest.raises(ImportError, match="afinity"):
        exec("from allegiance import afinity")


def test_version_is_that_of_the_installed_package():
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?(\.dev\d+)?", allegiance.__version__)
    assert importlib.metadata.version("allegiance") == allegiance.__version__


@pytest.mark.parametrize("name", [*NAMES, *IN_MODULES])
def test_docstring_describes_every_parameter(name):
    value = public(name)
    documented = sections(value.__doc__)
    summary = documented[""][0]
    assert summary.endswith(".")
    if name in CALLED_BY_USERS or name in IN_MODULES:
        assert described(documented.get("Parameters", [])) == list(inspect.signature(value).parameters)
    elif is_dataclass(value):
        # Built by the library, not by users: its fields are attributes, but for those that other parts share.
        assert described(documented["Attributes"]) == [field.name for field in fields(value) if field.repr]
    else:
        assert issubclass(value, Exception)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_method_says_what_it_does(name):
    value = getattr(allegiance, name)
    methods = public_methods(value) if isinstance(value, type) else [(name, value)]
    assert methods or issubclass(value, Exception)
    assert [method for method, member in methods if not (member.__doc__ or "").strip()] == []


def test_function_and_estimator_share_their_parameters():
    function = dict(inspect.signature(allegiance.affinity).parameters)
    estimator = dict(inspect.signature(allegiance.AffinityScorer).parameters)
    # What is scored, and how much of it to keep, is said to the methods of the estimator.
    del function["X"], function["labels"], function["top"], estimator["estimator"]
    assert list(function) == list(estimator)
    for name, parameter in function.items():
        assert parameter.kind is estimator[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameter.default == estimator[name].default


def defaults(function: Any) -> dict[str, Any]:
    return {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}


def test_defaults_are_those_promised():
    assert defaults(allegiance.AffinityScorer) == {
        "estimator": None,
        "centers": None,
        "influence": "euclidean",
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


def test_trust_is_affinity_with_calibration():
    affinity, trust = defaults(allegiance.affinity), defaults(allegiance.trust)
    del affinity["top"], affinity["calibration"]
    calibration = {name: trust.pop(name) for name in ("clusterer", "n_resamples", "crowding")}
    assert calibration == {name: defaults(allegiance.Calibration)[name] for name in calibration}
    assert trust == affinity | {"influence": "within"}


def test_overloads_list_every_parameter():
    """An editor shows the overloads: ``**settings`` would hide all there is to set."""
    for function in (allegiance.affinity, allegiance.trust, allegiance.AffinityScorer, allegiance.compare_clusterings):
        kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds
    overloads = get_overloads(allegiance.affinity)
    assert len(overloads) == 2
    for overload in overloads:
        assert defaults(overload).keys() == defaults(allegiance.affinity).keys()


def test_sample_polytope_has_the_promised_signature():
    signature = inspect.signature(allegiance.sample_polytope)
    assert [
        (name, parameter.default)
        for name, parameter in signature.parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    ] == [
        ("burn_in", None),
        ("thin", 1),
        ("directions", "random"),
        ("rounding", True),
        ("start", None),
        ("random_state", None),
    ]
    assert list(signature.parameters)[:3] == ["A", "b", "n_samples"]


def modules_with_examples() -> list[str]:
    """Return the names of all modules of the package whose source holds an example; none is imported for it."""
    folder = Path(allegiance.__file__).parent
    found = [path.relative_to(folder.parent) for path in folder.rglob("*.py") if ">>> " in path.read_text()]
    return sorted(".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in found)


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_run_and_say_the_truth(name):
    runner = doctest.DocTestRunner()
    said: list[str] = []
    for example in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name), name, globs={}):
        runner.run(example, out=said.append)
    assert runner.tries > 0
    assert runner.failures == 0, "".join(said)


@pytest.mark.parametrize("name", [*CALLED_BY_USERS, *IN_MODULES])
def test_there_is_an_example_of_everything(name):
    assert ">>> " in public(name).__doc__
