"""A result that Dask has yet to compute."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from allegiance._core import AnyArray, require
from allegiance.fitting import Fitted
from allegiance.results import AffinityResult, FrameLike


@dataclass(frozen=True, repr=False, eq=False)
class LazyAffinityResult:
    """The affinities of a Dask array or frame, partition by partition.

    Its arrays are those of :class:`AffinityResult` by name, as lazy Dask arrays: ``affinity``, ``trust``, ``verdict``
    and all others with an entry for each point. Several of them, computed together, score each partition once.

    Attributes
    ----------
    parts
        Delayed results, one for each partition.
    """

    parts: list[Any]
    _lengths: list[float] = field(repr=False)
    _nothing: AffinityResult = field(repr=False)
    _fitted: Fitted = field(repr=False)

    @property
    def classes(self) -> AnyArray:
        """(k,) the labels of the clusters."""
        return self._fitted.classes

    def __getattr__(self, name: str) -> Any:
        if name not in self._arrays():
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        array = require("dask.array", "dask", "a lazy result")
        like = getattr(self._nothing, name)
        blocks = [
            array.from_delayed(getattr(part, name), (length, *like.shape[1:]), dtype=like.dtype)
            for part, length in zip(self.parts, self._lengths, strict=True)
        ]
        return array.concatenate(blocks)

    def _arrays(self) -> list[str]:
        """Return what of a result has an entry for each point: read off the result of no points."""
        names = [name for name in dir(self._nothing) if not name.startswith("_") and name != "classes"]
        if not self._nothing.calibrated:
            names = [name for name in names if name not in ("trust", "replication", "replication_interval")]
        return [name for name in names if isinstance(getattr(self._nothing, name, None), np.ndarray)]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._arrays()})

    def frame(self, *, details: bool = False) -> Any:
        """Return a lazy Dask frame with one row per point, its columns those of :meth:`AffinityResult.frame`."""
        frame = require("dask.dataframe", "dask", "frame() of a lazy result")
        parts = [part.frame(details=details) for part in self.parts]
        return frame.from_delayed(parts, meta=self._nothing.frame(details=details))

    def compute(self, **settings: Any) -> AffinityResult:
        """Score all partitions and return the result in memory.

        Parameters
        ----------
        **settings
            Passed to ``dask.compute``, such as ``scheduler="processes"``.
        """
        parts = require("dask", "dask", "compute() of a lazy result").compute(*self.parts, **settings)
        found = [part for part in parts if part.n_points] or list(parts[:1])
        result = AffinityResult.concatenate(found, _joined([part.frame_like for part in found]))
        self._fitted.warn_if_imprecise(result)
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
