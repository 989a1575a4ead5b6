"""Data of a fit in one piece or in many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from allegiance._core import AnyArray, Rows
from allegiance.influence import AnySummary, Influence

from ._columns import Columns, PreparedColumns
from ._labels import Labels


class Chunk(NamedTuple):
    """Some rows of the data."""

    X: Any
    """(m, d) as they came."""
    labels: Any
    """(m,) as they came, or None."""
    start: int
    """The number of the first row in the whole data."""


class Chunks(Protocol):
    """Data that a fit goes through as often as it needs to: an array in memory is a single chunk."""

    @property
    def n_features(self) -> int:
        """The number of columns."""

    @property
    def labelled(self) -> bool:
        """Whether chunks come with labels."""

    @property
    def in_memory(self) -> bool:
        """Whether there is a single chunk that holds all rows."""

    def total(self, summarise: Callable[[Chunk], AnySummary | None]) -> AnySummary:
        """Go once through the data, and merge in their order what chunks give, those that give None left out."""


@dataclass(frozen=True)
class InMemory:
    """Checked rows (n, d) in memory, with their labels if they have any."""

    X: Rows
    labels: Labels | None
    in_memory: bool = True

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.X.shape[1])

    @property
    def labelled(self) -> bool:
        """Whether there are labels."""
        return self.labels is not None

    def total(self, summarise: Callable[[Chunk], AnySummary | None]) -> AnySummary:
        """Summarise the one chunk."""
        total = summarise(Chunk(self.X, self.labels, 0))
        assert total is not None
        return total


@dataclass(frozen=True)
class Reader:
    """Turns a chunk into rows as the diagram needs them, and labels."""

    columns: Columns | PreparedColumns
    influence: Influence
    checked: bool
    """Whether the rows were checked and prepared before, as those in memory are."""

    def rows(self, chunk: Chunk) -> Rows | None:
        """Return the rows (m, d) of a chunk; None if it is empty."""
        if chunk.X.shape[0] == 0:
            return None
        return chunk.X if self.checked else self.influence.prepare(self.columns.check(chunk.X))

    def labels(self, chunk: Chunk) -> Labels:
        """Return the labels of a chunk."""
        return chunk.labels if isinstance(chunk.labels, Labels) else Labels.of(chunk.labels, chunk.X.shape[0])

    def codes(self, chunk: Chunk, classes: AnyArray) -> AnyArray:
        """Return the cluster (m,) of each row of a chunk, -1 for noise."""
        return self.labels(chunk).codes(classes)
