"""Dask: the sums of a fit as reductions, scores partition by partition, and a cluster as an executor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allegiance._core.validation import AnyArray, is_lazy, require
from allegiance.drift import Profile, profile_rows
from allegiance.fitting import Chunk, Columns, Fitted, Specification, fit, needs_memory
from allegiance.influence import AnySummary
from allegiance.results import AffinityResult, FrameLike, join_results

from .saved import predict_points, prepare_points, profile_matrix

if TYPE_CHECKING:
    from allegiance import AffinityScorer

__all__ = [
    "LazyAffinityResult",
    "affinity_lazily",
    "connect",
    "fit_lazily",
    "predict_lazily",
    "profile_lazily",
]


@contextmanager
def connect(address: str, *, timeout: float = 30.0) -> Iterator[Executor]:
    """Connect to a running Dask cluster, as the ``executor`` of :func:`allegiance.io.score_stream`.

    A batch whose worker dies is scored by another one. The workers need allegiance, but not the files.

    Parameters
    ----------
    address
        Of the scheduler, such as ``"tcp://scheduler:8786"``.
    timeout
        Seconds to wait for it.

    Yields
    ------
    Executor
        Takes batches to the workers, until the block is left.

    Raises
    ------
    ConnectionError
        If no scheduler answers there.

    Examples
    --------
    For a table in parts, a fitted scorer and a scheduler that runs::

        with connect("tcp://scheduler:8786") as executor:
            score_stream("part-*.parquet", scorer, "scores.parquet", keep=["id"], executor=executor)
    """
    library = require("distributed", "dask", "a Dask cluster")
    try:
        client = library.Client(address, timeout=timeout, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConnectionError(f"no Dask scheduler answers at {address}: {error}") from error
    with client:
        yield client.get_executor(pure=False)


@dataclass(frozen=True)
class Partitions:
    """The rows of a Dask array or frame, and perhaps their labels, partition by partition."""

    rows: list[Any]
    """Delayed arrays or frames (m, d)."""
    lengths: list[float]
    """Their numbers of rows, NaN where they are not known."""
    n_features: int
    names: list[str] | None
    labels: list[Any] | None = None
    """Delayed labels (m,)."""

    @classmethod
    def of(cls, X: Any, labels: Any = None) -> Partitions:
        """Cut a Dask array or frame into its partitions, and ``labels`` of any kind likewise."""
        require("dask", "dask", "a Dask collection")
        if not is_lazy(X) or getattr(X, "ndim", None) != 2:
            raise TypeError(f"X must be a Dask array or frame of two dimensions, got {type(X).__name__}.")
        if hasattr(X, "columns"):
            names = list(X.columns) if all(isinstance(name, str) for name in X.columns) else None
            rows, lengths = list(X.to_delayed()), [np.nan] * X.npartitions
        else:
            names = None
            X = X.rechunk({1: -1})
            rows, lengths = list(X.to_delayed().ravel()), [float(size) for size in X.chunks[0]]
        found = cls(rows, lengths, int(X.shape[1]), names)
        return found if labels is None else replace(found, labels=found._labels(labels))

    def with_lengths(self) -> Partitions:
        """Return the same with the numbers of rows counted where they are not known."""
        if not np.isnan(self.lengths).any():
            return self
        dask = require("dask", "dask", "a Dask collection")
        return replace(self, lengths=[float(n) for n in dask.compute(*(dask.delayed(len)(rows) for rows in self.rows))])

    def _labels(self, labels: Any) -> list[Any]:
        """Cut labels of any kind in the places of the rows."""
        known = not np.isnan(self.lengths).any()
        if not is_lazy(labels):
            if not known:
                raise ValueError(
                    "labels must be a Dask collection too, with the partitions of X: how many rows each has is unknown."
                )
            labels = require("dask.array", "dask", "a Dask collection").from_array(np.asarray(labels))
        chunks = getattr(labels, "chunks", None)
        if chunks is not None and known and not np.isnan(chunks[0]).any():
            n, n_labels = int(sum(self.lengths)), int(sum(chunks[0]))
            if n_labels != n:
                raise ValueError(f"labels has {n_labels} entries but X has {n} rows: they must be equal.")
            labels = labels.rechunk({0: tuple(int(size) for size in self.lengths)})
        parts = labels.to_delayed()
        parts = list(parts.ravel()) if isinstance(parts, np.ndarray) else list(parts)
        if len(parts) != len(self.rows):
            raise ValueError(
                f"labels has {len(parts)} partitions but X has {len(self.rows)}: they must be cut in the same places."
            )
        return parts

    def pairs(self) -> list[tuple[Any, Any]]:
        """Return each partition with its labels, None if there are none."""
        return list(zip(self.rows, self.labels or [None] * len(self.rows), strict=True))


class DaskChunks:
    """Partitions as the chunks that a fit goes through: each pass is one computation by Dask."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions.with_lengths()
        self.n_features = partitions.n_features
        self.labelled = partitions.labels is not None

    def total(self, summarise: Callable[[Chunk], AnySummary | None]) -> AnySummary:
        """Summarise each partition where it is, and merge neighbours, pair by pair."""
        # Each function is one node of the graph: it reaches a worker once, not with every partition.
        each, merge, work = _delayed(_summarise), _delayed(_merge), _delayed(summarise)
        starts = np.cumsum([0, *self._partitions.lengths[:-1]]).astype(int).tolist()
        pairs = zip(self._partitions.pairs(), starts, strict=True)
        level = [each(work, rows, labels, start) for (rows, labels), start in pairs]
        while len(level) > 1:
            merged = [merge(*level[i : i + 2]) for i in range(0, len(level) - 1, 2)]
            level = merged + level[2 * len(merged) :]
        total: AnySummary | None = level[0].compute()
        if total is None:
            raise ValueError("X has no rows: all of its partitions are empty.")
        return total


def _summarise(work: Callable[[Chunk], Any], rows: Any, labels: Any, start: int) -> Any:
    return work(Chunk(rows, labels, start))


def _merge(first: AnySummary | None, second: AnySummary | None) -> AnySummary | None:
    return second if first is None else first if second is None else first.plus(second)


def fit_lazily(scorer: AffinityScorer, X: Any, labels: Any, fit_params: dict[str, Any]) -> AffinityScorer:
    """Fit ``scorer`` to a Dask array or frame X (n, d); the sums are computed now, the data stays where it is."""
    if fit_params:
        raise TypeError(f"fit got {', '.join(sorted(fit_params))}, but there is no estimator to pass it to.")
    if scorer.estimator is not None:
        raise ValueError(needs_memory("estimator"))
    partitions = Partitions.of(X, labels)
    columns = Columns(partitions.n_features, partitions.names)
    # One thread: partitions run in parallel already.
    found = fit(Specification.of(scorer), DaskChunks(partitions), columns, threads=1)
    fitted = found.fitted if found.sample is None else found.fitted.calibrated(found.sample)
    scorer._set_fitted(fitted)
    # Not computed: a caller who needs them all has them already, or asks Dask.
    scorer.labels_ = predict_lazily(fitted, X) if labels is None else labels
    return scorer


def predict_lazily(fitted: Fitted, X: Any, plan: Any = None) -> Any:
    """Return the labels (n,) of a Dask array or frame X (n, d) as a Dask array; ``plan`` prepares its rows."""
    array = require("dask.array", "dask", "predict of a Dask collection")
    partitions = Partitions.of(X)
    label, node = _delayed(partial(_predict, plan=plan)), _ship(fitted)
    return array.concatenate(
        [
            array.from_delayed(label(node, rows), (length,), dtype=fitted.classes.dtype)
            for rows, length in zip(partitions.rows, partitions.lengths, strict=True)
        ]
    )


def profile_lazily(fitted: Fitted, X: Any, plan: Any = None) -> Profile:
    """Return the profile of the rows of a Dask array or frame X (n, d), computed where the rows are."""
    return DaskChunks(Partitions.of(X)).total(partial(_profile_of_chunk, fitted.with_threads(), plan))


def _profile_of_chunk(fitted: Fitted, plan: Any, chunk: Chunk) -> Profile | None:
    if not chunk.X.shape[0]:
        return None
    if plan is None:
        return profile_rows(fitted, chunk.X, start=chunk.start)
    return profile_matrix(fitted, plan, plan.matrix(chunk.X), chunk.start)


def affinity_lazily(fitted: Fitted, X: Any, top: int | None, labels: Any = None, plan: Any = None) -> Any:
    """Return the lazy result of scoring a Dask array or frame X (n, d); ``plan`` prepares its rows."""
    partitions = Partitions.of(X, labels)
    n_features = fitted.columns.n_features
    # Transformers find the columns they need by name, and say themselves which are missing.
    by_name = plan is not None or (fitted.columns.preparation is not None and partitions.names is not None)
    if partitions.n_features != n_features and not by_name:
        raise ValueError(
            f"X has {partitions.n_features} features, but AffinityScorer is expecting {n_features} features as input."
        )
    score, node = _delayed(partial(_score_partition, top=top, plan=plan)), _ship(fitted)
    parts = [score(node, rows, labels) for rows, labels in partitions.pairs()]
    return LazyAffinityResult(parts, partitions.lengths, fitted.nothing(FrameLike(), top), fitted)


def _delayed(function: Any) -> Any:
    return require("dask", "dask", "a Dask collection").delayed(function, traverse=False)


def _ship(fitted: Fitted) -> Any:
    """Return the fitted object as a node of the graph: unpacked once where partitions are scored."""
    return _delayed(partial(_unpacked, fitted.with_threads()))()


def _unpacked(fitted: Fitted) -> Fitted:
    return fitted


def _score_partition(fitted: Fitted, X: Any, labels: Any, top: int | None, plan: Any) -> AffinityResult:
    if not X.shape[0]:
        return fitted.nothing(FrameLike.of(X), top)
    return fitted.score_prepared(prepare_points(fitted, plan, X, labels), top)


def _predict(fitted: Fitted, X: Any, plan: Any) -> AnyArray:
    return predict_points(fitted, plan, X) if X.shape[0] else fitted.classes[:0]


#: Attributes of a result that raise without calibration.
_NEED_TRUST = ("trust", "verdict", "replication", "replication_interval")


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
        # Copying and unpickling ask for names before there are any attributes.
        if name.startswith("_") or name not in self._arrays():
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        array = require("dask.array", "dask", "a lazy result")
        like = getattr(self._nothing, name)
        blocks = [
            array.from_delayed(getattr(part, name), (length, *like.shape[1:]), dtype=like.dtype)
            for part, length in zip(self.parts, self._lengths, strict=True)
        ]
        return array.concatenate(blocks)

    def _arrays(self) -> list[str]:
        """Return the names of the arrays with an entry for each point, as the result of no points has them."""
        names = [name for name in dir(self._nothing) if not name.startswith("_") and name != "classes"]
        if not self._nothing._calibrated:
            names = [name for name in names if name not in _NEED_TRUST]
        return [name for name in names if isinstance(getattr(self._nothing, name, None), np.ndarray)]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._arrays()})

    def frame(self, *, details: bool = False) -> Any:
        """Return a lazy Dask frame with one row per point, its columns those of :meth:`AffinityResult.frame`."""
        dataframe = require("dask.dataframe", "dask", "frame() of a lazy result")
        parts = [part.frame(details=details) for part in self.parts]
        return dataframe.from_delayed(parts, meta=self._nothing.frame(details=details))

    def compute(self, **settings: Any) -> AffinityResult:
        """Score all partitions and return the result in memory.

        Parameters
        ----------
        **settings
            Passed to ``dask.compute``, such as ``scheduler="processes"``.
        """
        parts = require("dask", "dask", "compute() of a lazy result").compute(*self.parts, **settings)
        found = [part for part in parts if len(part)] or list(parts[:1])
        result = join_results(found, _joined([part._frame_like for part in found]))
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
