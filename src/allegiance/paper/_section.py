"""One experiment of the paper, finished: what is shown of it, and kept on disk between runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


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
class Finding:
    """A claim of the paper, and whether what was measured confirms it."""

    claim: str
    confirmed: bool
    evidence: str
    timed: bool = False
    """Whether the evidence are times, which a busy machine can spoil."""


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
            findings=tuple(Finding(**finding) for finding in content["findings"]),
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
