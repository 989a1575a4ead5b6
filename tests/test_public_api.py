"""The public names, their docstrings and their defaults."""

import doctest
import importlib
import importlib.metadata
import inspect
import operator
import re
import runpy
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import allegiance

API = runpy.run_path(str(Path(__file__).parents[1] / "docs" / "api_names.py"))
NAMES = [name for name in allegiance.__all__ if not inspect.ismodule(getattr(allegiance, name))]
MODULES = [name for name in allegiance.__all__ if name not in NAMES]
#: Names that users call; the others are returned or raised.
CALLED = {name for name in NAMES if name not in ("AffinityResult", "PrecisionWarning")}
CALLED |= {f"{module}.{name}" for module in MODULES for name in API["for_users"](module)}
CALLED -= {"engines.PrecisionWarning", "io.load", "drift.DriftFinding", "drift.PeriodComparison", "drift.Profile"}
CALLED -= {f"io.{name}" for name in ("FeaturePlan", "StreamProgress", "StreamSummary", "Table", "TableError")}


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
    def test_the_page_of_public_names_is_current(self):
        """Names, parameters and defaults; sentences come from docstrings, which change more often."""
        text = API["PAGE"].read_text()
        rows = [[line for line in page.splitlines() if line.startswith("| `")] for page in (text, API["page"](text))]
        listed, current = ([row.split("` |")[0] for row in each] for each in rows)
        assert listed == current, "run python docs/api_names.py"
        assert not [row for row in rows[1] if row.endswith("|  |")], "names without a sentence"

    def test_dir_lists_public_names_only(self):
        assert dir(allegiance) == allegiance.__all__ == sorted(allegiance.__all__)

    def test_unknown_names_are_named(self):
        with pytest.raises(AttributeError, match="No allegiance attribute afinity"):
            allegiance.afinity  # noqa: B018
        with pytest.raises(ImportError, match="afinity"):
            exec("from allegiance import afinity")

    def test_version_is_that_of_the_installed_package(self):
        assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?(\.dev\d+)?", allegiance.__version__)
        assert importlib.metadata.version("allegiance") == allegiance.__version__


class TestDocstrings:
    @pytest.mark.parametrize("name", sorted(CALLED))
    def test_every_parameter_is_described_with_an_example(self, name):
        value = public(name)
        documented = sections(value.__doc__)
        assert documented[""][0].endswith(".")
        assert described(documented.get("Parameters", [])) == list(inspect.signature(value).parameters)
        assert ">>> " in value.__doc__ or name == "drift.compare_profiles"

    def test_fields_of_a_result_are_described(self):
        named = set(described(sections(allegiance.AffinityResult.__doc__)["Attributes"]))
        assert named == {field.name for field in fields(allegiance.AffinityResult) if not field.name.startswith("_")}

    @pytest.mark.parametrize("name", [name for name in NAMES if inspect.isclass(getattr(allegiance, name))])
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
