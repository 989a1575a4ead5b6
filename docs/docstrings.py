"""Types and defaults of parameters, which docstrings leave to the signature, for the pages of the reference.

A docstring names a parameter and says what it means; the signature says what type it has and what it is by default. The
page shows both in one place: ``eps : float, default=0.03``.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

#: Plain names of the types in signatures.
READABLE = {
    "Any": "",
    "AnyArray": "array",
    "ArrayLike": "array-like",
    "BoolArray": "array",
    "Callable": "callable",
    "Directions": "str",
    "FloatArray": "array",
    "IntArray": "array",
    "Iterable": "iterable",
    "KernelFunction": "callable",
    "Mapping": "mapping",
    "RandomState": "int or Generator or None",
    "Sequence": "sequence",
    "Verbose": "bool or callable",
    "os.PathLike": "Path",
}
#: Type names that link to a page, here or in another project's documentation.
LINKS = {
    **{name: f"allegiance.{name}" for name in ("AffinityResult", "AffinityScorer", "Calibration")},
    "Weights": "allegiance.influence.Weights",
    "Generator": "numpy.random.Generator",
    "Path": "pathlib.Path",
    "ndarray": "numpy.ndarray",
}
SECTION = re.compile(r"-{3,}$")
NAME = re.compile(r"\*{0,2}\w+$")


def add_types(_app: Any, _what: str, _name: str, obj: Any, _options: Any, lines: list[str]) -> None:
    """Write types and defaults after the names in the section "Parameters" of a docstring."""
    try:
        parameters = inspect.signature(obj).parameters
    except (TypeError, ValueError):
        return
    inside = False
    for number, line in enumerate(lines):
        if number + 1 < len(lines) and SECTION.match(lines[number + 1]):
            inside = line in ("Parameters", "Other Parameters")
        elif inside and NAME.match(line) and line.lstrip("*") in parameters:
            described = described_type(parameters[line.lstrip("*")])
            lines[number] = f"{line} : {described}" if described else line


def hide_constructor(_app: Any, what: str, _name: str, obj: Any, *_: Any) -> tuple[str, None] | None:
    """Hide the constructor of a class that users do not construct: its docstring has no parameters."""
    is_hidden = what == "class" and "Parameters\n---" not in (inspect.getdoc(obj) or "")
    return ("", None) if is_hidden else None


def described_type(parameter: inspect.Parameter) -> str:
    """Return the type and the default of a parameter, as far as the signature has them."""
    annotation = parameter.annotation if isinstance(parameter.annotation, str) else ""
    # Brackets contain element types, which the text explains; those of Literal contain the values themselves.
    annotation = re.sub(r"Literal\[(.*?)\]", r"\1", annotation)
    while "[" in annotation:
        annotation = re.sub(r"\[[^\[\]]*\]", "", annotation)
    kinds = [READABLE.get(kind, kind) for kind in annotation.split(" | ")]
    if parameter.default is None:
        kinds = [kind for kind in kinds if kind != "None"]
    joined = " or ".join(filter(None, kinds))
    if parameter.default is parameter.empty:
        return joined
    return ", ".join(filter(None, [joined, f"default={parameter.default!r}"]))
