"""Registries: the only lists of kinds, from which messages, tables and choices are read."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import allegiance
from allegiance import AffinityScorer
from allegiance._core import Parameters, Registry
from allegiance._core.parameters import load_plugins
from allegiance.domains import DOMAINS, Box
from allegiance.engines import ENGINES, Auto, SharedSamples
from allegiance.influence import INFLUENCES, KL, Kernel, Mahalanobis, Weights

REGISTRIES = {"influence": INFLUENCES, "domain": DOMAINS, "engine": ENGINES}
SOURCES = sorted(Path(allegiance.__file__).parent.rglob("*.py"))


class Sauce(Parameters):
    """Something to choose from."""


@dataclass(frozen=True, eq=False, repr=False)
class Ketchup(Sauce):
    sweetness: float = 1.0

    def check(self) -> None:
        if self.sweetness < 0:
            raise ValueError(f"sweetness of Ketchup must not be negative, got {self.sweetness!r}.")


@dataclass(frozen=True, eq=False, repr=False)
class Mustard(Sauce):
    seeds: Any
    hot: bool = False


@pytest.fixture
def sauces() -> Registry[Sauce]:
    registry: Registry[Sauce] = Registry("sauce", Sauce, first="mustard")
    registry.register("ketchup")(Ketchup)
    registry.register("mustard")(Mustard)
    registry.add("sweet", partial(Ketchup, 9.0))
    return registry


class TestRegistry:
    def test_is_a_mapping_with_the_usual_kind_first(self, sauces):
        assert list(sauces) == ["mustard", "ketchup", "sweet"]
        assert len(sauces) == 3
        assert sauces["ketchup"] is Ketchup
        assert "mayonnaise" not in sauces

    def test_names_objects_and_what_they_stand_for(self, sauces):
        given = Ketchup(3.0)
        assert sauces.resolve(given) is given
        assert sauces.resolve("ketchup") == Ketchup()
        assert sauces.resolve("sweet") == Ketchup(9.0)

    @pytest.mark.parametrize(
        ("value", "kind", "says"),
        [
            ("mayonnaise", ValueError, "sauce must be one of 'mustard', 'ketchup', 'sweet', got 'mayonnaise'."),
            (7, TypeError, r"sauce must be one of 'mustard', 'ketchup', 'sweet', or an object such as \w+\(\), got 7."),
            (Ketchup, TypeError, "sauce must be one of"),
            (KL(), TypeError, "sauce must be one of"),
            ("mustard", ValueError, r"sauce='mustard' needs seeds: pass Mustard\(seeds\)."),
            (Ketchup(-1.0), ValueError, "sweetness of Ketchup must not be negative, got -1.0."),
        ],
        ids=str,
    )
    def test_what_cannot_be_meant(self, sauces, value, kind, says):
        with pytest.raises(kind, match=says):
            sauces.resolve(value)

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("ketchup", Ketchup()),
            ("ketchup:sweetness=2.5", Ketchup(2.5)),
            ("ketchup: sweetness = 2 ", Ketchup(2)),
            ("sweet", Ketchup(9.0)),
            ("mustard:seeds=brown,hot=true", Mustard("brown", hot=True)),
            ("mustard:hot=False,seeds=none", Mustard(None)),
            ("mustard:seeds=1e-3", Mustard(0.001)),
        ],
    )
    def test_text_as_on_the_command_line(self, sauces, text, expected):
        assert sauces.parse(text) == expected

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("mayonnaise", "sauce must be one of"),
            ("mayonnaise:fat=1", "sauce must be one of"),
            ("ketchup:sweet", "sauce 'ketchup:sweet': write parameters as name:key=value,key=value."),
            ("ketchup:salt=1", "sauce 'ketchup:salt=1': .*salt"),
            ("sweet:sweetness=1", "multiple values for argument 'sweetness'"),
            ("mustard", "sauce='mustard' needs seeds"),
            ("mustard:hot=true", "needs seeds"),
            ("ketchup:sweetness=-1", "sweetness of Ketchup must not be negative"),
        ],
    )
    def test_text_that_cannot_be_meant(self, sauces, text, says):
        with pytest.raises(ValueError, match=says):
            sauces.parse(text)

    def test_a_name_is_given_once(self, sauces):
        with pytest.raises(ValueError, match="sauce 'ketchup' is registered already"):
            sauces.register("ketchup")(Mustard)

    def test_a_kind_can_be_forgotten(self, sauces):
        sauces.remove("ketchup")
        assert list(sauces) == ["mustard", "sweet"]
        with pytest.raises(KeyError):
            sauces.remove("ketchup")

    def test_packages_are_asked_once_for_a_name_that_is_not_known(self, sauces, monkeypatch):
        class Plugin:
            loads = 0

            def load(self) -> None:
                Plugin.loads += 1
                sauces.register("relish")(Ketchup)

        monkeypatch.setattr("allegiance._core.parameters.entry_points", lambda group: [Plugin()])
        load_plugins.cache_clear()
        assert sauces.resolve("ketchup") == Ketchup()
        assert Plugin.loads == 0, "known names cost no search"
        assert sauces.resolve("relish") == Ketchup()
        with pytest.raises(ValueError, match="'relish', got 'mayonnaise'"):
            sauces.resolve("mayonnaise")
        assert Plugin.loads == 1
        load_plugins.cache_clear()


class TestOurs:
    @pytest.mark.parametrize("argument", REGISTRIES)
    def test_defaults_of_the_estimator_come_first(self, argument):
        assert REGISTRIES[argument].argument == argument
        assert next(iter(REGISTRIES[argument])) == getattr(AffinityScorer(), argument)

    @pytest.mark.parametrize("argument", REGISTRIES)
    def test_an_unknown_name_is_answered_with_all_there_are(self, argument):
        listed = ", ".join(repr(name) for name in REGISTRIES[argument])
        with pytest.raises(ValueError, match=f"^{argument} must be one of {re.escape(listed)}, got 'psychic'.$"):
            AffinityScorer(**{argument: "psychic"}).fit([[0.0], [1.0]], [0, 1])

    @pytest.mark.parametrize(
        ("argument", "text", "expected"),
        [
            ("influence", "kl:smoothing=0.5", KL(smoothing=0.5)),
            ("influence", "rbf", Kernel("rbf")),
            ("influence", "rbf:gamma=0.5", Kernel("rbf", gamma=0.5)),
            ("influence", "polynomial:degree=2,coef0=1", Kernel("polynomial", degree=2, coef0=1)),
            ("domain", "box:margin=0.2", Box(margin=0.2)),
            ("engine", "shared:max_samples=1000000", SharedSamples(max_samples=1_000_000)),
            ("engine", "auto", Auto()),
        ],
    )
    def test_as_written_on_the_command_line(self, argument, text, expected):
        assert REGISTRIES[argument].parse(text) == expected

    def test_kinds_that_need_parameters_say_so(self):
        with pytest.raises(ValueError, match=r"'mahalanobis' needs covariance: pass Mahalanobis\(covariance\)"):
            INFLUENCES.resolve("mahalanobis")
        with pytest.raises(ValueError, match=r"domain='polytope' needs A, b: pass Polytope\(A, b\)"):
            DOMAINS.resolve("polytope")
        assert INFLUENCES.resolve(Mahalanobis([[1.0]])) == Mahalanobis([[1.0]])

    def test_each_class_is_registered_under_one_name(self):
        for registry in REGISTRIES.values():
            made = [maker for maker in registry.values() if isinstance(maker, type)]
            assert len(made) == len(set(made))


def place(path: Path, node: ast.expr) -> str:
    return f"{path.relative_to(SOURCES[0].parent)}:{node.lineno}"


def listed_by_hand(texts: set[str]) -> bool:
    """Tell whether these are three or more names of one registry."""
    return any(len(texts & set(registry)) >= 3 for registry in REGISTRIES.values())


def lists_of_names() -> list[str]:
    """Places in the sources that write names of one registry into a list, tuple, set or dict."""
    found = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            items = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
            if listed_by_hand({item.value for item in items if isinstance(item, ast.Constant)}):
                found.append(place(path, node))
    return found


#: Where names are written for another reason than to list what there is to choose from.
ALLOWED = {
    "engines/_base.py": "codes of engines in results and saved files, which must not move",
    "influence/_kernel.py": "the parameters of each kernel, from which the registry is filled",
    "influence/_bregman.py": "the functions of each divergence",
}


def test_no_list_of_kinds_is_written_by_hand_again():
    places = lists_of_names()
    assert [where for where in places if where.partition(":")[0] not in ALLOWED] == []
    assert {where.partition(":")[0] for where in places} == set(ALLOWED), "what is gone needs no exception"


def messages_with_lists() -> list[str]:
    """Places in the sources with a text, not a docstring, that quotes names of one registry."""
    found = []
    for path in SOURCES:
        tree = ast.parse(path.read_text())
        documented = {
            ast.get_docstring(node, clean=False)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in documented:
                quoted = re.findall(r"""['"]([\w-]+)['"]""", node.value)
                if listed_by_hand(set(quoted)):
                    found.append(place(path, node))
    return found


def test_no_message_lists_kinds_by_hand():
    assert messages_with_lists() == []


def test_weights_know_their_names():
    with pytest.raises(ValueError, match="weights must be one of 'size', 'density'"):
        Weights.resolve("big")


@pytest.mark.parametrize("text", ["euclidean", "kl:smoothing=0.5", "rbf:gamma=0.5", "within:shrinkage=oas"])
def test_what_is_written_is_parsed_to_the_same(text):
    made = INFLUENCES.parse(text)
    assert INFLUENCES.written(made) == text
    assert INFLUENCES.parse(INFLUENCES.written(made)).get_params() == made.get_params()


def test_what_cannot_be_written_is_left_out_or_refused():
    assert DOMAINS.written(Box(margin=0.2)) == "box:margin=0.2"
    assert INFLUENCES.written(Mahalanobis([[1.0, 0.0], [0.0, 1.0]])) == "mahalanobis"
    with pytest.raises(ValueError, match="not of a registered kind"):
        INFLUENCES.written(Auto())
