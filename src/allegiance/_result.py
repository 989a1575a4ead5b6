"""What a user gets: the affinities of all points and everything that follows from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ._frames import FrameLike
from ._summary import summary_html, summary_text
from ._typing import AnyArray, BoolArray, FloatArray, IntArray
from .engines import ENGINE_NAMES
from .engines._estimate import Z95


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


@dataclass(frozen=True, repr=False, eq=False)
class AffinityResult:
    """Affinity vectors of n points towards k clusters.

    ``print(result)`` gives a summary, :meth:`to_frame` one row per point.

    Attributes
    ----------
    affinity
        (n, k) share of the territory the point would claim as a cluster of its own that is taken from each cluster.
        Rows sum to 1.
    standard_error
        (n, k) standard error of each affinity, 0 where it is exact. A 95 % interval is 1.96 standard errors to each
        side.
    label
        (n,) the label the clustering gave; -1 is noise.
    classes
        (k,) the label of each column of ``affinity``.
    hidden
        (n,) whether the point owns no territory at all; its affinity is then the limit of a vanishing territory.
    off_span
        (n,) distance of the point from the span of the cluster representatives, which affinity does not see. For
        Bregman divergences it is the divergence of the point from its projection on the span.
    how
        How it was measured.
    """

    affinity: FloatArray
    standard_error: FloatArray
    label: AnyArray
    classes: AnyArray
    hidden: BoolArray
    off_span: FloatArray
    how: HowMeasured
    _engine: AnyArray = field(repr=False)
    _frame: FrameLike = field(repr=False)

    @property
    def n_points(self) -> int:
        """The number of points."""
        return self.affinity.shape[0]

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return self.affinity.shape[1]

    @cached_property
    def _top_two(self) -> tuple[IntArray, IntArray]:
        first = self.affinity.argmax(axis=1)
        if self.n_clusters == 1:
            return first, first
        rest = self.affinity.copy()
        rest[np.arange(self.n_points), first] = -1.0
        return first, rest.argmax(axis=1)

    @property
    def owner(self) -> AnyArray:
        """(n,) label of the cluster with the largest affinity. Where it differs from ``label``, look."""
        return self.classes[self._top_two[0]]

    @property
    def runner_up(self) -> AnyArray:
        """(n,) label of the cluster with the second largest affinity; the only cluster itself if there is but one."""
        return self.classes[self._top_two[1]]

    @cached_property
    def confidence(self) -> FloatArray:
        """(n,) the largest affinity: for ranking."""
        largest: FloatArray = self.affinity.max(axis=1)
        return largest

    @property
    def margin(self) -> FloatArray:
        """(n,) largest minus second largest affinity."""
        if self.n_clusters == 1:
            return self.confidence
        second = self.affinity[np.arange(self.n_points), self._top_two[1]]
        return self.confidence - second

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
        error = self.standard_error[np.arange(self.n_points), self._top_two[0]]
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
        ``hidden``, ``off_span``, ``engine``, ``standard_error`` (of the largest affinity) and one ``affinity_<label>``
        for each cluster.

        Parameters
        ----------
        like
            A frame whose kind, and for pandas whose index, to use. By default those of the X that was scored; pandas
            if X was no frame.
        """
        frame = self._frame if like is None else FrameLike.of(like)
        return frame.build(self._columns())

    def report(
        self,
        path: Any,
        X: Any = None,
        *,
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
            (n, d) the data that was scored. It gives the map its coordinates and the table its distinguishing features;
            without it the map shows the affinities themselves.
        images
            (n, height, width) or (n, height, width, 3) pictures of the points, to show beside the points to review.
        feature_names
            (d,) names of the columns of X; by default those of a frame.
        title
            The heading of the page.
        """
        from .report import write_report

        return write_report(self, path, X, images=images, feature_names=feature_names, title=title)

    def _columns(self) -> dict[str, AnyArray]:
        columns: dict[str, AnyArray] = {
            name: getattr(self, name)
            for name in (
                "label",
                "owner",
                "runner_up",
                "confidence",
                "margin",
                "score",
                "stable",
                "decided",
                "hidden",
                "off_span",
                "engine",
            )
        }
        columns["standard_error"] = self.standard_error[np.arange(self.n_points), self._top_two[0]]
        columns.update({f"affinity_{name}": self.affinity[:, i] for i, name in enumerate(self.classes)})
        return columns

    def __len__(self) -> int:
        return self.n_points

    def __repr__(self) -> str:
        return summary_text(self)

    def _repr_html_(self) -> str:
        return summary_html(self)
