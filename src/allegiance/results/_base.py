"""What follows from the two largest affinities of each point, however many are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from allegiance._core._typing import AnyArray, BoolArray, FloatArray, IntArray
from allegiance.engines import ENGINE_NAMES
from allegiance.engines._estimate import Z95

from ._frames import FrameLike
from ._summary import summary_html, summary_text


@dataclass(frozen=True)
class HowMeasured:
    """How the affinities were measured, for the record and the summary."""

    influence: str
    """What closeness means: the divergence or kernel, and the weights."""
    domain: str
    method: str
    eps: float
    seed: int
    dim: int
    """Dimensions in which volume was measured, after reduction to the span of the sites."""
    n_features: int
    seconds: float


class Leaders(NamedTuple):
    """The largest affinity of each point, its standard error, and the second largest."""

    largest: FloatArray
    error: FloatArray
    second: FloatArray
    """(n,) 0 if there is but one cluster."""


class RankedResult(ABC):
    """The part of a result that needs no more than the two best clusters of each point."""

    label: AnyArray
    classes: AnyArray
    hidden: BoolArray
    off_span: FloatArray
    how: HowMeasured
    _engine: AnyArray
    _frame: FrameLike

    @property
    @abstractmethod
    def _top_two(self) -> tuple[IntArray, IntArray]:
        """Columns (n,) of the largest and the second largest affinity; the same one if there is but one cluster."""

    @property
    @abstractmethod
    def _leaders(self) -> Leaders:
        """The two largest affinities."""

    @property
    @abstractmethod
    def worst_error(self) -> FloatArray:
        """(n,) the largest standard error among the affinities of each point."""

    @abstractmethod
    def _affinity_columns(self) -> dict[str, AnyArray]:
        """Return the columns of :meth:`to_frame` that hold affinities."""

    @property
    def n_points(self) -> int:
        """The number of points."""
        return self.label.shape[0]

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return self.classes.shape[0]

    @property
    def owner(self) -> AnyArray:
        """(n,) label of the cluster with the largest affinity. Where it differs from ``label``, look."""
        return self.classes[self._top_two[0]]

    @property
    def runner_up(self) -> AnyArray:
        """(n,) label of the cluster with the second largest affinity; the only cluster itself if there is but one."""
        return self.classes[self._top_two[1]]

    @property
    def confidence(self) -> FloatArray:
        """(n,) the largest affinity: for ranking."""
        return self._leaders.largest

    @property
    def margin(self) -> FloatArray:
        """(n,) largest minus second largest affinity."""
        return self._leaders.largest - self._leaders.second

    @property
    def stable(self) -> BoolArray:
        """(n,) whether one cluster gives more than half of the territory."""
        return self.confidence > 0.5

    @property
    def score(self) -> FloatArray:
        """(n,) 1 for stable points, the largest affinity for the others: the score of the paper."""
        return np.where(self.stable, 1.0, self.confidence)

    @property
    def decided(self) -> BoolArray:
        """(n,) whether the 95 % interval of the largest affinity leaves no doubt about ``stable``."""
        error = self._leaders.error
        distance: FloatArray = np.abs(self.confidence - 0.5)
        exact_half = (error == 0) & (distance == 0)
        return (distance > Z95 * error) | exact_half

    @property
    def engine(self) -> AnyArray:
        """(n,) name of the engine that measured each point."""
        return np.array(ENGINE_NAMES)[self._engine]

    def least_trusted(self, n: int = 10) -> IntArray:
        """Return the rows of the ``n`` points of least confidence, the least first."""
        return np.argsort(self.confidence, kind="stable")[:n]

    def to_frame(self, like: Any = None) -> Any:
        """Return one row per point, in the order of the input.

        Columns are ``label``, ``owner``, ``runner_up``, ``confidence``, ``margin``, ``score``, ``stable``, ``decided``,
        ``hidden``, ``off_span``, ``engine``, ``standard_error`` (of the largest affinity) and the affinities: one
        ``affinity_<label>`` for each cluster, or ``cluster_1``, ``affinity_1``, ``cluster_2`` ... if only the largest
        were kept.

        Parameters
        ----------
        like
            A frame whose kind, and for pandas whose index, to use. By default those of the X that was scored; pandas
            if X was no frame.
        """
        frame = self._frame if like is None else FrameLike.of(like)
        return frame.build(self.columns())

    def columns(self) -> dict[str, AnyArray]:
        """Return the columns (n,) of :meth:`to_frame` by name."""
        names = ("label", "owner", "runner_up", "confidence", "margin", "score", "stable", "decided")
        columns: dict[str, AnyArray] = {name: getattr(self, name) for name in names}
        columns |= {name: getattr(self, name) for name in ("hidden", "off_span", "engine")}
        columns["standard_error"] = self._leaders.error
        return columns | self._affinity_columns()

    def report(
        self,
        path: Any,
        X: Any = None,
        *,
        ids: Any = None,
        images: Any = None,
        feature_names: Any = None,
        title: str | None = None,
    ) -> Path:
        """Write one HTML file that shows the result, and return its path. It opens offline, without a server.

        Needs the extra ``report``.

        Parameters
        ----------
        path
            The file to write; an existing one is replaced once the new one is complete.
        X
            (n, d) the data that was scored, or other features of the same points. It gives the map its coordinates and
            the table its distinguishing features; without it the map shows the affinities themselves.
        ids
            (n,) what identifies the points; by default the index of the frame that was scored, or of X.
        images
            (n, height, width) or (n, height, width, 3) pictures of the points, to show beside the points to review.
        feature_names
            (d,) names of the columns of X; by default those of a frame.
        title
            The heading of the page.
        """
        from allegiance.report import write_report

        return write_report(self, path, X, ids=ids, images=images, feature_names=feature_names, title=title)

    def __len__(self) -> int:
        return self.n_points

    def __repr__(self) -> str:
        return summary_text(self)

    def _repr_html_(self) -> str:
        return summary_html(self)


AnyResult = TypeVar("AnyResult", bound=RankedResult)


def concatenate(parts: Sequence[AnyResult], frame: FrameLike) -> AnyResult:
    """Return one result for the points of several, which come from the same scorer.

    Parameters
    ----------
    parts
        At least one result, all of one type.
    frame
        What :meth:`RankedResult.to_frame` is to return.
    """
    first = parts[0]
    seconds = sum(part.how.seconds for part in parts)
    joined: dict[str, Any] = {"classes": first.classes, "how": replace(first.how, seconds=seconds), "_frame": frame}
    for each in fields(first):  # type: ignore[arg-type]
        if each.name not in joined:
            joined[each.name] = np.concatenate([getattr(part, each.name) for part in parts])
    return type(first)(**joined)
