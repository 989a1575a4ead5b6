"""A result that Dask has yet to compute."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from allegiance._core import AnyArray, require
from allegiance.fitting import Scoring
from allegiance.results import AffinityResult, FrameLike, TopAffinityResult, concatenate

#: What of a result may be asked for by itself.
_ARRAYS = (
    "affinity",
    "clusters",
    "standard_error",
    "label",
    "owner",
    "runner_up",
    "confidence",
    "margin",
    "stable",
    "score",
    "decided",
    "hidden",
    "off_span",
    "engine",
)


@dataclass(frozen=True, repr=False, eq=False)
class LazyAffinityResult:
    """The affinities of a Dask array or frame, partition by partition.

    Its arrays are those of :class:`AffinityResult` by name, as lazy Dask arrays: ``affinity``, ``standard_error``,
    ``label``, ``owner``, ``runner_up``, ``confidence``, ``margin``, ``stable``, ``score``, ``decided``, ``hidden``,
    ``off_span``, ``engine``, and ``clusters`` if only the largest affinities are kept. Several of them, computed
    together, score each partition once.

    Attributes
    ----------
    parts
        Delayed results, one for each partition.
    """

    parts: list[Any]
    _lengths: list[float] = field(repr=False)
    _nothing: AffinityResult | TopAffinityResult = field(repr=False)
    _scoring: Scoring = field(repr=False)

    @property
    def classes(self) -> AnyArray:
        """(k,) the labels of the clusters."""
        return self._scoring.classes

    def __getattr__(self, name: str) -> Any:
        if name not in _ARRAYS or not hasattr(self._nothing, name):
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        array = require("dask.array", "dask", "a lazy result")
        like = getattr(self._nothing, name)
        blocks = [
            array.from_delayed(getattr(part, name), (length, *like.shape[1:]), dtype=like.dtype)
            for part, length in zip(self.parts, self._lengths, strict=True)
        ]
        return array.concatenate(blocks)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for name in _ARRAYS if hasattr(self._nothing, name))})

    def to_frame(self) -> Any:
        """Return a lazy Dask frame with one row per point, its columns those of :meth:`AffinityResult.to_frame`."""
        frame = require("dask.dataframe", "dask", "to_frame() of a lazy result")
        return frame.from_delayed([part.to_frame() for part in self.parts], meta=self._nothing.to_frame())

    def compute(self, **settings: Any) -> AffinityResult | TopAffinityResult:
        """Score all partitions and return the result in memory.

        Parameters
        ----------
        **settings
            Passed to ``dask.compute``, such as ``scheduler="processes"``.
        """
        parts = require("dask", "dask", "compute() of a lazy result").compute(*self.parts, **settings)
        found = [part for part in parts if part.n_points] or list(parts[:1])
        result = concatenate(found, _joined([part._frame for part in found]))
        self._scoring.warn_if_imprecise(result)
        return result

    def __repr__(self) -> str:
        n = float(np.sum(self._lengths))
        points = "an unknown number of points" if np.isnan(n) else f"{int(n):,} points"
        return f"LazyAffinityResult({points} in {len(self.parts)} partitions, {self.classes.size} clusters)"


def _joined(frames: list[FrameLike]) -> FrameLike:
    """Return the kind of frame of all parts, with their indices after each other."""
    first = frames[0]
    if first.index is None:
        return first
    return replace(first, index=first.index.append([frame.index for frame in frames[1:]]))
