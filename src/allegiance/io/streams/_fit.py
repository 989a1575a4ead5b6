"""Fitting a scorer to a table that need not fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from allegiance._core import check_count, effective_threads, stream
from allegiance.fitting import Chunk, Columns, Specification, fit, needs_memory
from allegiance.influence import AnySummary
from allegiance.io import TableError
from allegiance.io._old_tables import BATCH_ROWS, Source

from ._rows import as_source, feature_columns, matrices

if TYPE_CHECKING:
    from allegiance import AffinityScorer


class StreamChunks:
    """Batches of a table as the chunks that a fit goes through."""

    in_memory = False

    def __init__(
        self, source: Source, columns: Sequence[str], labels: str | None, clusterer: Any, batch_rows: int
    ) -> None:
        self._source, self._columns, self._labels = source, columns, labels
        self._clusterer, self._batch_rows = clusterer, batch_rows
        self.n_features = len(columns)
        self.labelled = labels is not None or clusterer is not None

    def total(self, summarise: Callable[[Chunk], AnySummary | None]) -> AnySummary:
        """Read the table once, and merge what each batch gives."""
        total: AnySummary | None = None
        start = 0
        for rows, labels in matrices(self._source, self._columns, self._labels, self._batch_rows):
            found = summarise(Chunk(rows, self._clusterer.predict(rows) if self._clusterer else labels, start))
            start += rows.shape[0]
            if found is not None:
                total = found if total is None else total.plus(found)
        if total is None:
            raise TableError(f"{self._source.where} has no rows.")
        return total


def fit_stream(
    source: Any,
    scorer: AffinityScorer | None = None,
    *,
    n_clusters: int | None = None,
    labels: str | None = None,
    columns: Sequence[str] | None = None,
    batch_rows: int = BATCH_ROWS,
) -> AffinityScorer:
    """Fit a scorer to a table in batches; memory does not depend on its length.

    The table is read as often as needed: once for k-means (``n_clusters``), or for the means of ``labels``; once more
    for ``influence="within"``; and once to see how far the data reaches.

    Parameters
    ----------
    source
        A table: what :func:`allegiance.io._old_tables.open_source` takes, or what it returns.
    scorer
        The settings, :class:`AffinityScorer` with its defaults if None; it is cloned. With its ``centers`` no labels
        are needed. Kernels, medians, medoids and estimators need all rows at once and are
        refused.
    n_clusters
        Cluster by mini-batch k-means, in one pass. Rows should come in random order: the first batch gives the start.
    labels
        The column that holds the labels of any clustering, -1 for noise.
    columns
        The columns to use as features; by default all but ``labels``.
    batch_rows
        Rows in memory at a time.

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
    >>> from allegiance import AffinityScorer
    >>> from allegiance.io.streams import fit_stream
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "iris.csv"
    ...     load_iris(as_frame=True).frame.to_csv(path, index=False)
    ...     scorer = fit_stream(path, AffinityScorer(influence="within"), labels="target")
    >>> scorer.cluster_centers_[0].round(2)
    array([5.01, 3.43, 1.46, 0.25])
    """
    from allegiance import AffinityScorer

    fitting: AffinityScorer = AffinityScorer() if scorer is None else clone(scorer)
    if (n_clusters is None) == (labels is None and fitting.centers is None):
        raise ValueError("pass n_clusters, or labels, or a scorer with centers (beside labels or alone).")
    if fitting.estimator is not None:
        raise ValueError(needs_memory("estimator"))
    batch_rows = check_count(batch_rows, "batch_rows")
    table = as_source(source, [] if labels is None else [labels])
    used = feature_columns(table, columns, [] if labels is None else [labels])
    specification = Specification.of(fitting)
    # What is saved must give the same numbers again.
    fitting.random_state = specification.settings.seed
    clusterer = None
    if n_clusters is not None:
        clusterer = _kmeans(table, used, check_count(n_clusters, "n_clusters"), batch_rows, specification.settings.seed)
        fitting.centers = clusterer.cluster_centers_
        specification = Specification.of(fitting)
    chunks = StreamChunks(table, used, labels, clusterer, batch_rows)
    # Batches are plain arrays; the names of their columns are for those who score frames later.
    threads = effective_threads(fitting.n_jobs)
    found = fit(specification, chunks, Columns(len(used)), threads=threads, clusterer=clusterer)
    fitted = found.fitted if found.sample is None else found.fitted.calibrated(found.sample)
    fitting._set_fitted(replace(fitted, columns=Columns(len(used), used)) if table.has_names else fitted)
    return fitting


def _kmeans(table: Source, columns: Sequence[str], n_clusters: int, batch_rows: int, seed: int) -> Any:
    """Return a k-means that has seen every batch once."""
    from sklearn.cluster import MiniBatchKMeans

    seed32 = int(stream(seed, *b"k-means").integers(2**31))
    clusterer = MiniBatchKMeans(n_clusters, n_init=1, random_state=seed32)
    for rows, _ in matrices(table, columns, None, batch_rows):
        clusterer.partial_fit(rows)
    return clusterer
