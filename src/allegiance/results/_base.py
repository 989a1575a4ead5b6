"""What a result says about each point, however many of its affinities are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from allegiance._core import AnyArray, BoolArray, FloatArray, IntArray, Lazy, Rows
from allegiance.calibration import Evidence, MemberDistances, TrustMap, above_chance
from allegiance.engines import Z95, Standing, engine_names

from ._by_cluster import Tally, cluster_table
from ._frames import FrameLike
from ._proximity import Proximity
from ._proximity import joined as joined_proximity
from ._review import review_rows
from ._summary import summary_html, summary_text
from ._verdict import verdicts

if TYPE_CHECKING:
    from allegiance.displays import ResultPlots
    from allegiance.report import InlinePage

AnyResult = TypeVar("AnyResult", bound="Result")


class NotCalibratedError(ValueError, AttributeError):
    """Trust was asked for, but calibration was not."""


@dataclass(frozen=True)
class HowMeasured:
    """How the affinities were measured, for the record and the summary."""

    influence: str
    """What closeness means, and the weights."""
    domain: str
    engine: str
    """What was asked for; which engine measured a point is in the result."""
    eps: float | str
    """Half-width of 95 % intervals, or "verdict"."""
    seed: int
    dim: int
    """Dimensions in which volume was measured, after reduction to the span of the sites."""
    n_features: int
    seconds: float


class Result(ABC):
    """What :class:`AffinityResult` and :class:`TopAffinityResult` share."""

    label: AnyArray
    classes: AnyArray
    hidden: BoolArray
    off_span: FloatArray
    how: HowMeasured
    standing: Standing
    codes: IntArray
    proximity: Lazy[Proximity]
    members: Lazy[MemberDistances] | None
    trust_map: TrustMap | None
    engine_codes: AnyArray
    frame_like: FrameLike

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
    def noise(self) -> BoolArray:
        """(n,) whether the clustering left the point out of every cluster."""
        return self.codes < 0

    @property
    def own_affinity(self) -> FloatArray:
        """(n,) affinity to the cluster of the point's own label, 0 for noise."""
        return self.standing.own

    @property
    def closeness(self) -> FloatArray:
        """(n,) (1 + (t - o) / max(t, o)) / 2 with o the distance from the representative of the own cluster and t from
        the nearest other one: 1/2 half-way, 0 for noise.
        """  # noqa: D205
        return self.proximity.value.closeness

    @property
    def distance(self) -> FloatArray:
        """(n,) distance from the representative of the own cluster; for noise from the nearest one."""
        return self.proximity.value.distance

    @property
    def rival(self) -> AnyArray:
        """(n,) label of the best cluster other than the point's own; of the best of all for noise."""
        return self.classes[self.standing.rival]

    @cached_property
    def typicality(self) -> FloatArray:
        """(n,) share of the members of its cluster that lie at least as far out as the point, NaN for noise.

        Below 0.01 a point is unlike anything in its cluster, however clear it is which cluster is the closest.
        """
        if self.members is None:
            raise NotCalibratedError("typicality needs the distances of members, which files of the first format lack.")
        return self.members.value.typicality(self.codes, self.distance)

    @property
    def calibrated(self) -> bool:
        """Whether there is :attr:`trust`."""
        return self.trust_map is not None

    @cached_property
    def trust(self) -> FloatArray:
        """(n,) chance that the label holds when the data is clustered anew, NaN for noise.

        See ``docs/trust.md`` for how it is made and when not to believe it.
        """
        standing = self.standing
        return self._calibration.trust(standing.own, self.closeness, self.codes, self.distance)

    @property
    def _calibration(self) -> TrustMap:
        if self.trust_map is None:
            raise NotCalibratedError(
                "trust needs calibration: call trust(X, labels), or pass calibration=20 to affinity or AffinityScorer."
            )
        return self.trust_map

    @property
    def calibration_note(self) -> str | None:
        """Why trust should not be believed as it is, in words; None if nothing speaks against it."""
        return None if self.trust_map is None else self.trust_map.reason

    @cached_property
    def _expected_right(self) -> tuple[float, float, float]:
        standing = self.standing
        return self._calibration.expected_right(
            standing.own, self.closeness, self.codes, self.distance, standing.own_error
        )

    @property
    def expected_right(self) -> float:
        """Mean trust of the labelled points: an estimate of the share of labels that are right."""
        return self._expected_right[0]

    @property
    def expected_right_interval(self) -> tuple[float, float]:
        """95 % interval of :attr:`expected_right`: the errors of resampling and of measuring, no others.

        It is not an interval for the share of right labels: that clusters can be stable and wrong is not in it.
        """
        return self._expected_right[1:]

    @cached_property
    def verdict(self) -> AnyArray:
        """(n,) "supported", "contested", "contradicted" or "noise".

        Supported: the own label has the largest affinity, and trust is at least one half. Contradicted: another cluster
        has more, beyond the error bars. Contested: the rest. Without calibration the own label must lead beyond the
        error bars to be supported.
        """
        return verdicts(self.standing, self.codes, self.trust if self.calibrated else None)

    @property
    def owner(self) -> AnyArray:
        """(n,) label of the cluster with the largest affinity. Where it differs from ``label``, look at the point."""
        return self.classes[self.standing.first]

    @property
    def runner_up(self) -> AnyArray:
        """(n,) label of the cluster with the second largest affinity; the only cluster itself if there is only one."""
        return self.classes[self.standing.second]

    @property
    def confidence(self) -> FloatArray:
        """(n,) the largest affinity."""
        return self.standing.largest

    @property
    def margin(self) -> FloatArray:
        """(n,) largest minus second largest affinity."""
        return self.standing.largest - self.standing.second_largest

    @property
    def stable(self) -> BoolArray:
        """(n,) whether one cluster gives more than half of the territory: the paper's criterion."""
        return self.confidence > 0.5

    @property
    def score(self) -> FloatArray:
        """(n,) 1 for stable points, the largest affinity for the others: the score of the paper."""
        return np.where(self.stable, 1.0, self.confidence)

    @property
    def decided(self) -> BoolArray:
        """(n,) whether the 95 % interval of the largest affinity leaves no doubt about ``stable``."""
        error = self.standing.largest_error
        distance: FloatArray = np.abs(self.confidence - 0.5)
        exact_half = (error == 0) & (distance == 0)
        return (distance > Z95 * error) | exact_half

    @property
    def worst_error(self) -> FloatArray:
        """(n,) the largest standard error among all affinities of each point."""
        return self.standing.worst_error

    def n_wider_than(self, eps: float) -> int:
        """Return how many points have an affinity whose 95 % interval has a half-width of more than ``eps``."""
        return int((Z95 * self.worst_error > eps).sum())

    @property
    def engine(self) -> AnyArray:
        """(n,) name of the engine that measured each point."""
        return engine_names(self.engine_codes)

    @property
    def ranking(self) -> FloatArray:
        """(n,) what points are ordered by, the least trusted lowest: trust, or own affinity without calibration."""
        return self.trust if self.calibrated else np.where(self.noise, np.nan, self.own_affinity)

    def least_trusted(self, n: int | str = 10) -> IntArray:
        """Return the rows of the least trusted labels, the least first; noise is left out.

        Parameters
        ----------
        n
            How many, as in ``500``, or which share of all, as in ``"5%"``.
        """
        return review_rows(self.ranking, n, None)

    def review(self, budget: int | str | None = None, *, below: float | None = None, texts: Any = None) -> Any:
        """Return the labels to look at, the least trusted first, as a frame with the index of X.

        Parameters
        ----------
        budget
            How many, as in ``500``, or which share of all, as in ``"5%"``. By default all that are not supported.
        below
            Only labels with less trust than this.
        texts
            (n,) the documents that the points stand for: adds ``words``, those of the document that are more typical of
            the rival, and ``text``, its beginning. See :class:`allegiance.Documents`.
        """
        rows = review_rows(self.ranking, budget, below)
        if budget is None and below is None:
            rows = rows[self.verdict[rows] != "supported"]
        columns = {name: column[rows] for name, column in self.columns().items()}
        if texts is not None:
            from allegiance.applications import Documents

            columns |= Documents(self, texts).columns(rows)
        return self.frame_like.build_rows(rows, columns)

    def tally(self) -> Tally:
        """Return counts by cluster, which those of other points can be added to."""
        return Tally.of(self)

    def by_cluster(self) -> Any:
        """Return one row per cluster, those with the most trouble first, noise last.

        Columns are ``cluster``, ``points``, ``expected_right`` (with calibration), ``supported``, ``contested``,
        ``contradicted``, ``rival`` (the usual one of doubtful points), ``most_typical`` and ``least_trusted`` (rows).
        """
        return self.frame_like.without_index().build(cluster_table(self))

    def to_frame(self, like: Any = None, *, details: bool = False) -> Any:
        """Return one row per point, in the order of the input.

        Columns: ``label``, ``trust`` (with calibration), ``verdict``, ``rival``, ``own_affinity`` and ``typicality``.

        Parameters
        ----------
        like
            A frame whose kind, and for pandas whose index, to use. By default those of the X that was scored; pandas
            if X was not a frame.
        details
            Add ``owner``, ``runner_up``, ``confidence``, ``margin``, ``score``, ``stable``, ``decided``, ``closeness``,
            ``hidden``, ``off_span``, ``engine``, ``standard_error`` (of the largest affinity) and the affinities: one
            ``affinity_<label>`` for each cluster, or ``cluster_1``, ``affinity_1``, ``cluster_2`` ... if only the
            largest were kept.
        """
        frame = self.frame_like if like is None else FrameLike.of(like)
        return frame.build(self.columns(details=details))

    def columns(self, *, details: bool = False) -> dict[str, AnyArray]:
        """Return the columns (n,) of :meth:`to_frame` by name."""
        names = ["label", "verdict", "rival", "own_affinity"]
        if self.calibrated:
            names.insert(1, "trust")
        if self.members is not None:
            names.append("typicality")
        if details:
            names += ["owner", "runner_up", "confidence", "margin", "score", "stable", "decided", "closeness"]
            names += ["hidden", "off_span", "engine"]
        columns: dict[str, AnyArray] = {name: getattr(self, name) for name in names}
        if details:
            columns["standard_error"] = self.standing.largest_error
            columns |= self._affinity_columns()
        return columns

    def report(
        self,
        path: Any = None,
        X: Any = None,
        *,
        ids: Any = None,
        texts: Any = None,
        images: Any = None,
        coordinates: Any = None,
        feature_names: Any = None,
        row_numbers: Any = None,
        title: str | None = None,
    ) -> Path | InlinePage:
        """Write one HTML file that shows the result, and return its path; without a path, show it in a notebook.

        The page opens offline, without a server. Needs the extra ``report``.

        Parameters
        ----------
        path
            The file to write; an existing one is replaced once the new one is complete. None for no file: the page
            that is returned shows itself in a notebook, and can be saved.
        X
            (n, d) the data that was scored, or other features of the same points. It gives the map its coordinates, the
            clusters their traits and the table its distinguishing features; without it the map shows the affinities.
        ids
            (n,) what identifies the points, or a frame with several columns that do; by default the index of the frame
            that was scored, or of X.
        texts
            (n,) the documents that the points stand for, to read beside the points to review.
        images
            (n, height, width) or (n, height, width, 3) pictures of the points, or (n,) paths of image files.
        coordinates
            (n, 2) where the points lie on the map, or the names of two columns of X; by default two principal
            components.
        feature_names
            (d,) names of the columns of X; by default those of a frame.
        row_numbers
            (n,) the number of each point's row in your data, if X has only some of its rows; by default 0 to n - 1.
        title
            The heading of the page.
        """
        from allegiance.report import InlinePage, render_report, write_report

        shown: dict[str, Any] = {
            "ids": ids,
            "texts": texts,
            "images": images,
            "coordinates": coordinates,
            "feature_names": feature_names,
            "row_numbers": row_numbers,
            "title": title,
        }
        if path is None:
            return InlinePage(render_report(self, X, **shown), title=title or "Clustering report")
        return write_report(self, path, X, **shown)

    def explore(self, X: Any = None, **settings: Any) -> Any:
        """Start a local web application to look at the result and to review its labels.

        It runs beside your program until it is closed. Needs the extra ``explorer``.

        Parameters
        ----------
        X
            (n, d) the data that was scored. Without it there are no features, no nearest points and no what if.
        **settings
            As in :func:`allegiance.explorer.explore`: ``ids``, ``texts``, ``images``, ``coordinates``,
            ``feature_names``, ``title``, ``decisions`` (the file), ``budget``, ``host``, ``port``, ``open_browser``.
        """
        from allegiance.explorer import explore

        return explore(self, X, **settings)

    @property
    def plot(self) -> ResultPlots:
        """Pictures of the result: ``plot()`` the usual one, ``plot.profile()``, ``plot.map(X)`` and others.

        Needs the extra ``plot``.
        """
        from allegiance.displays import ResultPlots

        return ResultPlots(self)

    def above_chance(self) -> float:
        """Return (E - C) / (1 - C) with E the expected share of right labels and C that of unrelated partitions."""
        return above_chance(self.expected_right, self._calibration.chance)

    def evidence(self, coordinates: Rows, rows: IntArray | slice) -> Evidence:
        """Return what calibration sees of some rows, which have these ``coordinates`` (m, p)."""
        return Evidence(
            coordinates, self.codes[rows], self.own_affinity[rows], self.closeness[rows], self.distance[rows]
        )

    def with_trust(self: AnyResult, trust_map: TrustMap) -> AnyResult:
        """Return the same result with trust."""
        return replace(self, trust_map=trust_map)  # type: ignore[type-var]

    @staticmethod
    def concatenate(parts: Sequence[AnyResult], frame: FrameLike) -> AnyResult:
        """Return one result for the points of several, which come from the same scorer.

        Parameters
        ----------
        parts
            At least one result, all of one type.
        frame
            What :meth:`to_frame` is to return.
        """
        first = parts[0]
        seconds = sum(part.how.seconds for part in parts)
        joined: dict[str, Any] = {"how": replace(first.how, seconds=seconds), "frame_like": frame}
        for each in fields(first):  # type: ignore[arg-type]
            values = [getattr(part, each.name) for part in parts]
            if each.name in joined:
                continue
            if each.name in ("classes", "members", "trust_map"):
                joined[each.name] = values[0]
            elif each.name == "proximity":
                joined[each.name] = joined_proximity(values)
            elif isinstance(values[0], Standing):
                joined[each.name] = Standing(*(np.concatenate(part) for part in zip(*values, strict=True)))
            else:
                joined[each.name] = np.concatenate(values)
        return type(first)(**joined)

    def __len__(self) -> int:
        return self.n_points

    def __repr__(self) -> str:
        return summary_text(self)

    def _repr_html_(self) -> str:
        return summary_html(self)
