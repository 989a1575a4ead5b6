"""One experiment of the paper, finished: what is shown of it, and kept on disk between runs."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

_RELATIONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@dataclass(frozen=True)
class Table:
    """A table of text, the paper's numbers beside ours."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure, as a file in the folder of pictures."""

    file: str
    caption: str


@dataclass(frozen=True)
class Check:
    """A number that decides on a claim, and the threshold it is held against."""

    number: str
    """What the number is."""
    value: float
    relation: str
    """<, <=, > or >=."""
    threshold: float
    form: str = ".3g"
    """How both numbers are written, as in a format string."""

    @property
    def holds(self) -> bool:
        """Whether the number is on the right side of its threshold."""
        return bool(_RELATIONS[self.relation](self.value, self.threshold))

    def __str__(self) -> str:
        return f"{self.number} {self.value:{self.form}}, needs {self.relation} {self.threshold:{self.form}}"


@dataclass(frozen=True)
class Finding:
    """A claim of the paper, and what decides on it."""

    claim: str
    checks: tuple[Check, ...]
    """All of them must hold."""
    evidence: str
    timed: bool = False
    """Whether the evidence are times, which a busy machine can spoil."""

    @property
    def confirmed(self) -> bool:
        """Whether what was measured confirms the claim."""
        return all(check.holds for check in self.checks)

    @property
    def decided_by(self) -> str:
        """The deciding numbers with their thresholds."""
        return "; ".join(str(check) for check in self.checks)


@dataclass(frozen=True)
class Section:
    """What one experiment found."""

    title: str
    asks: str
    """What the paper did, and what we do where it does not say how."""
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    findings: tuple[Finding, ...] = ()
    remarks: tuple[str, ...] = ()
    """Where ours differ from the paper's, and why."""

    def to_json(self) -> dict[str, Any]:
        """Return plain lists and dictionaries."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Section:
        """Undo :meth:`to_json`."""
        return cls(
            title=content["title"],
            asks=content["asks"],
            tables=tuple(
                Table(tuple(table["columns"]), tuple(tuple(row) for row in table["rows"]), table["caption"])
                for table in content["tables"]
            ),
            pictures=tuple(Picture(**picture) for picture in content["pictures"]),
            findings=tuple(
                Finding(**{**finding, "checks": tuple(Check(**check) for check in finding["checks"])})
                for finding in content["findings"]
            ),
            remarks=tuple(content["remarks"]),
        )


def spread(values: ArrayLike, digits: int = 2) -> str:
    """Write a mean and the standard deviation over seeds."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.size == 1:
        return f"{numbers.item():.{digits}f}"
    return f"{numbers.mean():.{digits}f} ± {numbers.std(ddof=1):.{digits}f}"


def percent_spread(shares: ArrayLike) -> str:
    """Write a mean share and its standard deviation over seeds in percent."""
    return f"{spread(100.0 * np.asarray(shares, dtype=np.float64), 1)} %"


def seconds_spread(values: Sequence[float]) -> str:
    """Write a mean time and its standard deviation over runs."""
    return f"{spread(values, 3)} s"
