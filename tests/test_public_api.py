"""What the package shows to the world."""

from __future__ import annotations

import doctest
import importlib.metadata
import inspect
import operator
import re
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

import allegiance

CALLED_BY_USERS = [
    "ActiveKMeans",
    "AffinityScorer",
    "BregmanDivergence",
    "BregmanKMeans",
    "ConsensusClustering",
    "IncrementalKMeans",
    "KernelKMeans",
    "Polytope",
    "affinity",
    "compare_clusterings",
    "fit_stream",
    "sample_polytope",
    "score_stream",
    "stability_curve",
    "validate_consensus",
]
MODULES = {
    "displays": [
        "AffinityMapDisplay",
        "AffinityProfileDisplay",
        "DiagramDisplay",
        "FlowDisplay",
        "GalleryDisplay",
        "SamplesDisplay",
        "StolenAreaDisplay",
    ],
    "metrics": ["lift_emd", "rand_distance"],
}
IN_MODULES = [f"{module}.{name}" for module, names in MODULES.items() for name in names]
NAMES = sorted([*CALLED_BY_USERS, "AffinityResult", "PrecisionWarning", "TopAffinityResult"])
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
    own = [(name, member) for name, member in vars(cls).items() if not name.startswith("_")]
    return [(name, member) for name, member in own if callable(member) or isinstance(member, property | classmethod)]


def test_exactly_these_names_are_public():
    assert sorted(allegiance.__all__) == PUBLIC
    assert dir(allegiance) == sorted([*PUBLIC, "__version__"])


@pytest.mark.parametrize(("module", "names"), MODULES.items())
def test_public_modules_export_exactly_these(module, names):
    assert sorted(public(module).__all__) == names


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
        # Built by the library, not by users: its fields are attributes.
        assert described(documented["Attributes"]) == [
            field.name for field in fields(value) if not field.name.startswith("_")
        ]
    else:
        assert issubclass(value, Warning)


@pytest.mark.parametrize("name", ["AffinityResult", "AffinityScorer", "Polytope", "TopAffinityResult"])
def test_every_public_method_says_what_it_does(name):
    methods = public_methods(getattr(allegiance, name))
    assert methods
    assert [method for method, member in methods if not (member.__doc__ or "").strip()] == []


def test_function_and_estimator_share_their_parameters():
    function = dict(inspect.signature(allegiance.affinity).parameters)
    estimator = dict(inspect.signature(allegiance.AffinityScorer).parameters)
    # What is scored, and how much of it to keep, is said to the methods of the estimator.
    del function["X"], function["labels"], function["top"], estimator["estimator"]
    assert list(function) == list(estimator)
    for name, parameter in function.items():
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert parameter == estimator[name]


def test_defaults_are_those_promised():
    defaults = {
        name: parameter.default for name, parameter in inspect.signature(allegiance.affinity).parameters.items()
    }
    promised = {
        "labels": None,
        "centers": None,
        "divergence": "euclidean",
        "weights": None,
        "domain": "box",
        "margin": 0.1,
        "method": "auto",
        "eps": 0.03,
        "random_state": None,
    }
    assert {name: defaults[name] for name in promised} == promised


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


@pytest.mark.parametrize("name", [*CALLED_BY_USERS, *IN_MODULES])
def test_examples_run_and_say_the_truth(name):
    value = public(name)
    examples = doctest.DocTestFinder(exclude_empty=True).find(value, name, globs={})
    runner = doctest.DocTestRunner()
    said: list[str] = []
    for example in examples:
        runner.run(example, out=said.append)
    assert runner.tries > 0
    assert runner.failures == 0, "".join(said)
