"""Fitting a scorer to a table that need not fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from allegiance._core import AnyArray, check_count, effective_threads, resolve_seed, stream
from allegiance._scorer import AffinityScorer
from allegiance.fitting import AnySummary, fit_in_passes
from allegiance.io.tables import BATCH_ROWS, Source, TableError

from ._rows import as_source, feature_columns, matrices


class StreamChunks:
    """Batches of a table as the chunks that :func:`fit_in_passes` goes through."""

    def __init__(
        self, source: Source, columns: Sequence[str], labels: str | None, clusterer: Any, batch_rows: int
    ) -> None:
        self._source, self._columns, self._labels = source, columns, labels
        self._clusterer, self._batch_rows = clusterer, batch_rows
        self.n_features = len(columns)
        self.labelled = labels is not None or clusterer is not None

    def __iter__(self) -> Iterator[tuple[AnyArray, Any]]:
        for rows, labels in matrices(self._source, self._columns, self._labels, self._batch_rows):
            yield rows, labels if self._clusterer is None else self._clusterer.predict(rows)

    def total(self, summarise: Callable[[Any, Any], AnySummary | None]) -> AnySummary:
        """Read the table once, and merge what each batch gives."""
        total: AnySummary | None = None
        for rows, labels in self:
            found = summarise(rows, labels)
            if found is not None:
                total = found if total is None else total.plus(found)
        if total is None:
            raise TableError(f"{self._source.where} has no rows.")
        return total


def fit_stream(
    source: Any,
    *,
    n_clusters: int | None = None,
    labels: str | None = None,
    centers: Any = None,
    columns: Sequence[str] | None = None,
    batch_rows: int = BATCH_ROWS,
    **parameters: Any,
) -> AffinityScorer:
    """Fit a scorer to a table in batches; memory does not depend on its length.

    The table is read as often as needed: once for k-means (``n_clusters``), or for the means of ``labels``; once more
    for the box, unless ``labels`` name more clusters than there are columns, when the box has the axes of the table;
    once more for ``divergence="within"``. With ``centers`` alone it is read once.

    Parameters
    ----------
    source
        A table: what :func:`allegiance.io.tables.open_source` takes, or what it returns.
    n_clusters
        Cluster by mini-batch k-means, in one pass. Rows should come in random order: the first batch gives the start.
    labels
        The column that holds the labels of any clustering, -1 for noise.
    centers
        (k, d) representatives, instead of the labels or beside them.
    columns
        The columns to use as features; by default all but ``labels``.
    batch_rows
        Rows in memory at a time.
    **parameters
        Of :class:`AffinityScorer`, all but ``estimator``. Kernels, medians, medoids and ``leave_one_out`` need all rows
        at once and are refused.

    Returns
    -------
    AffinityScorer
        Fitted, without ``labels_``. Means agree with those in memory to rounding; with ``centers`` all is the same.

    See Also
    --------
    score_stream : Score a table with it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from allegiance.io.streams import fit_stream
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "iris.csv"
    ...     load_iris(as_frame=True).frame.to_csv(path, index=False)
    ...     scorer = fit_stream(path, labels="target", random_state=0)
    >>> scorer.cluster_centers_[0].round(2)
    array([5.01, 3.43, 1.46, 0.25])
    """
    if (n_clusters is None) == (labels is None and centers is None):
        raise ValueError("pass n_clusters, or labels, or centers (beside labels or alone).")
    batch_rows = check_count(batch_rows, "batch_rows")
    table = as_source(source, [] if labels is None else [labels])
    used = feature_columns(table, columns, [] if labels is None else [labels])
    parameters["random_state"] = resolve_seed(parameters.get("random_state"))
    clusterer = None
    if n_clusters is not None:
        clusterer = _kmeans(table, used, check_count(n_clusters, "n_clusters"), batch_rows, parameters["random_state"])
        centers = clusterer.cluster_centers_
    scorer = AffinityScorer(centers=centers, **parameters)
    threads = effective_threads(scorer.n_jobs)
    needs_labels = scorer.divergence == "within" or scorer.weights is not None
    chunks = StreamChunks(table, used, labels, clusterer if needs_labels else None, batch_rows)
    fit_in_passes(scorer, chunks, threads=threads)
    if table.has_names:
        scorer.feature_names_in_ = np.array(used, dtype=object)
    return scorer


def _kmeans(table: Source, columns: Sequence[str], n_clusters: int, batch_rows: int, seed: int) -> Any:
    """Return a k-means that has seen every batch once."""
    from sklearn.cluster import MiniBatchKMeans

    seed32 = int(stream(seed, *b"k-means").integers(2**31))
    clusterer = MiniBatchKMeans(n_clusters, n_init=1, random_state=seed32)
    for rows, _ in matrices(table, columns, None, batch_rows):
        clusterer.partial_fit(rows)
    return clusterer
