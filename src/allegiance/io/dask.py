"""Dask: fits as reductions over partitions, lazy results, and clusters as executors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from allegiance._core.validation import AnyArray, is_lazy, require
from allegiance.drift import Profile, profile_rows
from allegiance.fitting import Chunk, Columns, Fitted, Specification, align, calibrate_fitted, fit
from allegiance.results import AffinityResult, FrameLike, join_results

from .model import predict_points, prepare_points, profile_matrix

if TYPE_CHECKING:
    from allegiance import AffinityScorer
    from allegiance.results import Summary


@contextmanager
def connect(address: str, *, timeout: float = 30.0) -> Iterator[Executor]:
    """Connect to a running Dask cluster, as the ``executor`` of :func:`allegiance.io.score_stream`.

    If a worker dies, another one scores its batch. The workers need allegiance, but not the files.

    Parameters
    ----------
    address
        The address of the scheduler, such as ``"tcp://scheduler:8786"``.
    timeout
        Seconds to wait for it.

    Yields
    ------
    Executor
        An executor on the workers, until the block ends.

    Raises
    ------
    ConnectionError
        If no scheduler responds.

    Examples
    --------
    For a table in several files, a fitted scorer and a running scheduler::

        with connect("tcp://scheduler:8786") as executor:
            score_stream("part-*.parquet", scorer, "scores.parquet", keep=["id"], executor=executor)
    """
    library = require("distributed", "dask", "a Dask cluster")
    try:
        client = library.Client(address, timeout=timeout, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConnectionError(f"no Dask scheduler responds at {address}: {error}") from error
    with client:
        yield client.get_executor(pure=False)


#: Row numbers of a partition of unknown length start at multiples of this power of two.
_PARTITION_BITS = 40
#: Sample size for fitting an estimator on the client, in rows.
_SAMPLE_ROWS = 16_384
#: Name of the label column in a Dask frame.
_LABELS = "allegiance labels"


@dataclass(frozen=True)
class Partitions:
    """The partitions of a Dask array or frame, with optional labels."""

    rows: list[Any]  # delayed arrays or frames (m, d)
    lengths: list[float]  # rows per partition, NaN if unknown
    n_features: int
    names: list[str] | None
    labels: list[Any] | None = None  # delayed labels (m,)

    @classmethod
    def of(cls, X: Any, labels: Any = None) -> Partitions:
        """Split a Dask array or frame into its partitions, and ``labels`` of any kind accordingly."""
        require("dask", "dask", "a Dask collection")
        if not is_lazy(X) or getattr(X, "ndim", None) != 2:
            raise TypeError(f"X must be a Dask array or frame of two dimensions, got {type(X).__name__}.")
        if not hasattr(X, "columns"):
            X = X.rechunk({1: -1})
            lengths = [float(size) for size in X.chunks[0]]
            partitions = cls(list(X.to_delayed().ravel()), lengths, int(X.shape[1]), None)
            return partitions if labels is None else partitions._with_labels(labels)
        columns = list(X.columns)
        names = columns if all(isinstance(name, str) for name in columns) else None
        unknown = [np.nan] * X.npartitions
        if hasattr(labels, "map_partitions") and labels.npartitions == X.npartitions:
            # One collection: Dask optimizes collections separately and may read a single column in fewer partitions.
            meta = X._meta.assign(**{_LABELS: labels._meta})
            together = X.map_partitions(_attach_labels, labels, align_dataframes=False, meta=meta).to_delayed()
            rows, pieces = [part[columns] for part in together], [part[_LABELS] for part in together]
            return cls(rows, unknown, len(columns), names, pieces)
        partitions = cls(list(X.to_delayed()), unknown, len(columns), names)
        return partitions if labels is None else partitions._with_labels(labels)

    def with_lengths(self) -> Partitions:
        """Return a copy with known lengths; Dask counts the rows if needed."""
        return replace(self, lengths=_lengths(self.rows)) if np.isnan(self.lengths).any() else self

    def _with_labels(self, labels: Any) -> Partitions:
        """Split labels of any kind like the Dask rows."""
        array = require("dask.array", "dask", "labels of a Dask collection")
        counted = self.with_lengths()
        if hasattr(labels, "to_dask_array"):
            labels = labels.to_dask_array(lengths=True)
        elif is_lazy(labels):
            labels = labels.copy().compute_chunk_sizes()  # which changes an array in place
        else:
            labels = array.from_array(np.asarray(labels), chunks=-1)
        n = int(sum(counted.lengths))
        if len(labels) != n:
            raise ValueError(f"labels has {len(labels)} entries but X has {n} rows: they must be equal.")
        aligned = labels.rechunk((tuple(int(length) for length in counted.lengths),))
        return replace(counted, labels=list(aligned.to_delayed()))

    def pairs(self) -> list[tuple[Any, Any]]:
        """Return each Dask partition with its labels, None without labels."""
        return list(zip(self.rows, self.labels or [None] * len(self.rows), strict=True))

    def sample(self, n_rows: int, seed: int) -> Any:
        """Return a random sample of the Dask rows in memory, in their order. It does not depend on partitions."""
        counted = self.with_lengths()
        starts = np.cumsum([0, *counted.lengths]).astype(int)
        n = int(starts[-1])
        chosen = np.sort(np.random.default_rng(seed).choice(n, min(n_rows, n), replace=False))
        take = _delayed(lambda rows, numbers: rows.iloc[numbers] if hasattr(rows, "iloc") else rows[numbers])
        shares = np.split(chosen, np.searchsorted(chosen, starts[1:-1]))
        parts = [take(rows, own - start) for rows, own, start in zip(counted.rows, shares, starts[:-1], strict=True)]
        pieces = require("dask", "dask", "a Dask collection").compute(*parts)
        if hasattr(pieces[0], "iloc"):
            return require("pandas", "io", "a sample of a Dask frame").concat(pieces)
        return np.concatenate(pieces)


def _attach_labels(frame: Any, labels: Any) -> Any:
    """Add the labels of a Dask partition to its frame."""
    return frame.assign(**{_LABELS: np.asarray(align(frame, labels))})


def _lengths(parts: list[Any]) -> list[float]:
    """Return the number of rows of each Dask partition."""
    count = _delayed(lambda part: int(part.shape[0]))
    return [float(n) for n in require("dask", "dask", "a Dask collection").compute(*map(count, parts))]


class DaskChunks:
    """Partitions as the chunks of a fit; each pass is one Dask computation."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions.with_lengths()
        self.n_features = partitions.n_features
        self.has_labels = partitions.labels is not None

    def total(self, summarize: Callable[[Chunk], Any], merge: Callable[[Any, Any], Any] | None = None) -> Any:
        """Summarize each partition on a Dask worker, and merge neighbors, pair by pair."""
        # Each function is one node of the graph, sent to a worker once, not with every partition.
        each, work = _delayed(lambda work, *chunk: work(Chunk(*chunk))), _delayed(summarize)
        starts = np.cumsum([0, *self._partitions.lengths[:-1]]).astype(int).tolist()
        pairs = zip(self._partitions.pairs(), starts, strict=True)
        parts = [each(work, rows, labels, start) for (rows, labels), start in pairs]
        total = _merge_all(parts, merge or (lambda first, second: first.merge(second))).compute()
        if total is None:
            raise ValueError("X has no rows: all of its partitions are empty.")
        return total


def _merge_all(level: list[Any], add: Callable[[Any, Any], Any]) -> Any:
    """Return the sum of delayed values of Dask, ignoring None; neighbors are added pair by pair."""
    merge = _delayed(lambda first, second: second if first is None else first if second is None else add(first, second))
    while len(level) > 1:
        merged = [merge(*level[i : i + 2]) for i in range(0, len(level) - 1, 2)]
        level = merged + level[2 * len(merged) :]
    return level[0]


def fit_lazily(scorer: AffinityScorer, X: Any, labels: Any, fit_params: dict[str, Any]) -> AffinityScorer:
    """Fit ``scorer`` to a Dask array or frame X (n, d): an estimator and trust on the client, to a sample of rows."""
    if fit_params:
        raise TypeError(f"fit got {', '.join(sorted(fit_params))}, but there is no estimator to pass it to.")
    partitions = Partitions.of(X, labels)
    if scorer.estimator is not None:
        return scorer.fit(partitions.sample(_SAMPLE_ROWS, Specification.of(scorer).settings.seed))
    columns = Columns(partitions.n_features, partitions.names)
    # One thread: partitions already run in parallel.
    fitted, last = fit(Specification.of(scorer), DaskChunks(partitions), columns, threads=1)
    fitted = calibrate_fitted(fitted, last.sample)
    scorer._set_fitted(fitted)
    # Lazy, because the labels may not fit into memory.
    scorer.labels_ = predict_lazily(fitted, X) if labels is None else labels
    return scorer


def predict_lazily(fitted: Fitted, X: Any, plan: Any = None) -> Any:
    """Return the labels (n,) of a Dask array or frame X (n, d) as a Dask array; ``plan`` prepares its rows."""
    array = require("dask.array", "dask", "predict of a Dask collection")
    partitions = Partitions.of(X)
    label = _delayed(lambda fitted, X: predict_points(fitted, plan, X) if X.shape[0] else fitted.classes[:0])
    node = _ship(fitted)
    return array.concatenate(
        [
            array.from_delayed(label(node, rows), (length,), dtype=fitted.classes.dtype)
            for rows, length in zip(partitions.rows, partitions.lengths, strict=True)
        ]
    )


def profile_lazily(fitted: Fitted, X: Any, plan: Any = None) -> Profile:
    """Return the profile of a Dask array or frame X (n, d), computed by its workers."""
    profile: Profile = DaskChunks(Partitions.of(X)).total(partial(_profile_of_chunk, fitted.with_threads(), plan), add)
    return profile


def _profile_of_chunk(fitted: Fitted, plan: Any, chunk: Chunk, result: AffinityResult | None = None) -> Profile | None:
    """Return the drift profile of one Dask partition; ``result`` has its scores, if they are known."""
    if not chunk.X.shape[0]:
        return None
    if plan is None:
        return profile_rows(fitted, chunk.X, start=chunk.start, result=result)
    return profile_matrix(fitted, plan, plan.matrix(chunk.X), chunk.start, result)


def affinity_lazily(fitted: Fitted, X: Any, top: int | None, labels: Any = None, plan: Any = None) -> Any:
    """Return the lazy result of scoring a Dask array or frame X (n, d); ``plan`` prepares its rows."""
    partitions = Partitions.of(X, labels)
    n_features = fitted.columns.n_features
    # Transformers select columns by name and report missing ones themselves.
    by_name = plan is not None or (fitted.columns.preparation is not None and partitions.names is not None)
    if partitions.n_features != n_features and not by_name:
        raise ValueError(
            f"X has {partitions.n_features} features, but AffinityScorer is expecting {n_features} features as input."
        )
    score, node = _delayed(partial(_score_partition, top=top, plan=plan)), _ship(fitted)
    parts = [score(node, rows, labels) for rows, labels in partitions.pairs()]
    return LazyAffinityResult(
        parts, partitions.rows, partitions.lengths, fitted.empty_result(FrameLike(), top), fitted, plan
    )


def _delayed(function: Any) -> Any:
    """Return a function as a delayed node of the Dask graph."""
    return require("dask", "dask", "a Dask collection").delayed(function, traverse=False)


def _ship(fitted: Fitted) -> Any:
    """Return the fitted object as one node of the Dask graph, unpickled once per worker."""
    return _delayed(fitted.with_threads)()


def _score_partition(fitted: Fitted, X: Any, labels: Any, top: int | None, plan: Any) -> AffinityResult:
    """Score one partition on a Dask worker."""
    if not X.shape[0]:
        return fitted.empty_result(FrameLike.of(X), top)
    return fitted.score_prepared(prepare_points(fitted, plan, X, labels), top)


def _summarize_partition(fitted: Fitted, X: Any, result: AffinityResult, start: int, plan: Any) -> Summary | None:
    """Summarize the scores of a partition on a Dask worker, with its drift profile; None without rows."""
    if not len(result):
        return None
    summary = result.summary()
    if fitted.members is None:
        return summary
    return replace(summary, profile=_profile_of_chunk(fitted, plan, Chunk(X, None, start), result))


#: Arrays of a result with one entry per point.
_ARRAYS = ("label", "trust", "verdict", "rival", "priority", "affinity", "own_affinity", "standard_error", "stable",
           "typicality", "clusters", "_ranking")  # fmt: skip


@dataclass(frozen=True, repr=False, eq=False)
class LazyAffinityResult:
    """The affinities of a Dask array or frame, partition by partition.

    The arrays of :class:`AffinityResult` are lazy Dask arrays: ``label``, ``trust``, ``verdict``, ``rival``,
    ``priority``, ``affinity``, ``own_affinity``, ``standard_error``, ``stable``, ``typicality`` and, with ``top``,
    ``clusters``. Compute several arrays together to score each partition only once.

    Attributes
    ----------
    parts
        Delayed results, one per partition.
    """

    parts: list[Any]
    _rows: list[Any]
    _lengths: list[float]
    _empty: AffinityResult
    _fitted: Fitted
    _plan: Any

    @property
    def classes(self) -> AnyArray:
        """(k,) the cluster labels of the lazy result."""
        return self._fitted.classes

    def __getattr__(self, name: str) -> Any:
        advice = "call summary(), which has replication, review and drivers, or compute() for a result in memory"
        if name in _ARRAYS:  # without a value
            advice = "pass top= to keep only the largest affinities"
        raise AttributeError(f"a lazy result has no {name!r}: {advice}.")

    def _array(self, name: str) -> Any:
        """Return an array of the result as a lazy Dask array."""
        array = require("dask.array", "dask", "a lazy result")
        like = getattr(self._empty, name)
        if like is None:
            raise AttributeError(name)
        get = _delayed(getattr)
        blocks = [
            array.from_delayed(get(part, name), (length, *like.shape[1:]), dtype=like.dtype)
            for part, length in zip(self.parts, self._lengths, strict=True)
        ]
        return array.concatenate(blocks)

    def frame(self, *, details: bool = False) -> Any:
        """Return a lazy Dask frame with one row per point; ``to_parquet(folder)`` writes a file per partition.

        Parameters
        ----------
        details
            As in :meth:`AffinityResult.frame`, whose columns it has.
        """
        dataframe = require("dask.dataframe", "dask", "frame() of a lazy result")
        parts = [part.frame(details=details) for part in self.parts]
        return dataframe.from_delayed(parts, meta=self._empty.frame(details=details))

    def summary(self) -> Summary:
        """Score all partitions and return their summary, which is that of all points in memory.

        Only summaries travel: counts, replication, clusters, the first labels to review, and the drift profile. The
        row sample of a profile depends on the partitions of frames, whose lengths are unknown.
        """
        summarize, node = _delayed(partial(_summarize_partition, plan=self._plan)), _ship(self._fitted)
        starts = np.cumsum([0, *self._lengths[:-1]])
        if np.isnan(starts).any():  # row numbers that no other partition has
            starts = np.arange(len(self.parts)) * 2.0**_PARTITION_BITS
        parts = [
            summarize(node, rows, part, int(start))
            for rows, part, start in zip(self._rows, self.parts, starts, strict=True)
        ]
        total: Summary | None = _merge_all(parts, add).compute()
        return self._empty.summary() if total is None else total

    def compute(self, **settings: Any) -> AffinityResult:
        """Score all partitions and return the result in memory.

        Parameters
        ----------
        **settings
            Passed to ``dask.compute``, such as ``scheduler="processes"``.
        """
        parts = require("dask", "dask", "compute() of a lazy result").compute(*self.parts, **settings)
        results = [part for part in parts if len(part)] or list(parts[:1])
        frame = results[0]._frame_like
        if frame.index is not None:
            frame = replace(frame, index=frame.index.append([part._frame_like.index for part in results[1:]]))
        result = join_results(results, frame)
        self._fitted.warn_if_imprecise(result._count_imprecise(), len(result))
        return result

    def __repr__(self) -> str:
        n = float(np.sum(self._lengths))
        points = "an unknown number of points" if np.isnan(n) else f"{int(n):,} points"
        return f"LazyAffinityResult({points} in {len(self.parts)} partitions, {self.classes.size} clusters)"


for _name in _ARRAYS:
    setattr(LazyAffinityResult, _name, property(partial(LazyAffinityResult._array, name=_name)))
