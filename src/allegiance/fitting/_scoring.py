"""From where points are to a result."""

from __future__ import annotations

import inspect
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from allegiance._core._typing import AnyArray, FloatArray
from allegiance.engines import PrecisionWarning, Scene, Settings, measure, measure_top
from allegiance.engines._estimate import Z95, Engine
from allegiance.influence import Located
from allegiance.results._base import HowMeasured, RankedResult
from allegiance.results._frames import FrameLike
from allegiance.results._result import AffinityResult
from allegiance.results._top import TopAffinityResult


@dataclass(frozen=True)
class Scoring:
    """All that is needed to score points whose place and label are known."""

    scene: Scene
    engine: Engine
    settings: Settings
    classes: AnyArray
    influence: str
    """In words."""
    method: str
    n_features: int

    def score(
        self,
        located: Located,
        label: AnyArray,
        frame: FrameLike,
        started: float,
        top: int | None = None,
        moved: tuple[AnyArray, FloatArray] | None = None,
    ) -> AffinityResult | TopAffinityResult:
        """Measure the affinities of points.

        Parameters
        ----------
        located
            Where the n points are.
        label
            (n,) the labels they have.
        frame
            The kind of frame they came in.
        started
            When the work for them began, by ``time.perf_counter``.
        top
            How many of the largest affinities to keep; None for all.
        moved
            Sites that move for each point, as in :meth:`Scene.queries`.
        """
        if top is not None:
            return self._score_top(located, label, frame, started, top, moved)
        estimate = measure(self.engine, self.scene, located.position, self.settings, moved)
        return AffinityResult(
            affinity=estimate.affinity,
            standard_error=estimate.standard_error,
            label=label,
            classes=self.classes,
            hidden=estimate.hidden,
            off_span=located.off_span,
            how=self._how(started),
            _engine=estimate.engine,
            _frame=frame,
        )

    def _score_top(
        self,
        located: Located,
        label: AnyArray,
        frame: FrameLike,
        started: float,
        top: int,
        moved: tuple[AnyArray, FloatArray] | None,
    ) -> TopAffinityResult:
        # The second is measured in any case: the margin needs it.
        kept = min(max(top, 2), self.classes.size)
        estimate = measure_top(self.engine, self.scene, located.position, self.settings, kept, moved)
        second = estimate.affinity[:, 1] if kept > 1 else np.zeros(label.shape[0])
        return TopAffinityResult(
            clusters=self.classes[estimate.cluster[:, :top]],
            affinity=estimate.affinity[:, :top],
            standard_error=estimate.standard_error[:, :top],
            label=label,
            classes=self.classes,
            hidden=estimate.hidden,
            off_span=located.off_span,
            how=self._how(started),
            _first=estimate.cluster[:, 0],
            _second=estimate.cluster[:, min(1, kept - 1)],
            _second_affinity=second,
            _worst_error=estimate.worst_error,
            _engine=estimate.engine,
            _frame=frame,
        )

    def _how(self, started: float) -> HowMeasured:
        return HowMeasured(
            influence=self.influence,
            domain=self.scene.domain.name,
            method=self.method,
            eps=self.settings.eps,
            seed=self.settings.seed,
            dim=self.scene.dim,
            n_features=self.n_features,
            seconds=time.perf_counter() - started,
        )

    def n_imprecise(self, result: RankedResult) -> int:
        """Return how many points did not reach the precision asked for."""
        return int((Z95 * result.worst_error > self.settings.eps).sum())

    def warn_if_imprecise(self, result: RankedResult) -> None:
        """Warn, once for all points, if some did not reach the precision asked for."""
        self.warn(self.n_imprecise(result), result.n_points)

    def warn(self, imprecise: int, n_points: int) -> None:
        """Warn if there are imprecise points among ``n_points``."""
        if imprecise:
            warnings.warn(
                f"{imprecise} of {n_points} points did not reach eps={self.settings.eps:g} within "
                f"max_samples={self.settings.max_samples:,}: see standard_error, raise max_samples or eps.",
                PrecisionWarning,
                stacklevel=_levels_up_to_the_user(),
            )


def _levels_up_to_the_user() -> int:
    """Return the ``stacklevel`` that makes a warning of the caller point to the first line of the user."""
    frame: Any = inspect.currentframe()
    level = -1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("allegiance", "sklearn"):
        frame, level = frame.f_back, level + 1
    return level + 1
