"""Replication against the number of clusters or any other parameter of a clusterer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import silhouette_score

from allegiance._core.parallel import effective_threads, on_one_thread, resolve_seed, stream
from allegiance._core.progress import Verbose, progress
from allegiance._core.validation import AnyArray, FloatArray, IntArray, check_count, check_jobs, check_rows
from allegiance.calibration import Calibration, FunctionClusterer, NullData, as_clusterer, replicate, row_keys
from allegiance.fitting import Labels, cluster
from allegiance.notebook import Card, CardMixin
from allegiance.results import FrameLike

#: Parameters for the number of clusters, in search order.
_SIZE_PARAMETERS = ("n_clusters", "n_components")
#: Most rows: for numbers of clusters, for each cluster, for other parameters, whose clusters depend on the number of
#: rows, and for counting their clusters.
_MAX_ROWS, _ROWS_PER_CLUSTER, _MAX_ROWS_OF_DENSITY, _MAX_ROWS_TO_COUNT = 2000, 100, 4000, 20_000
#: Share of the rows in a subsample. Halves replicate too well to distinguish clusters from unclustered data.
SUBSAMPLE_SHARE = 1 / 3
#: Replication above chance that differs by less counts as equal.
_TIE = 0.02
#: Advantages over unclustered data that differ by less count as equal, where no value stands out.
_ADVANTAGE_TIE = 0.05
#: Share of the subsamples that may replicate no better than the best unclustered data.
_UNLUCKY = 0.1
_CAVEAT = (
    "The suggestion is the finest clustering that replicates as well as any other on subsamples. It is a hint, not a "
    "test: coarse clusterings nearly always replicate better, and the result depends on the clusterer."
)


@dataclass(frozen=True, repr=False, eq=False)
class StabilityCurve(CardMixin):
    """The stability curve: replication above chance against a parameter of the clusterer, also of unclustered data.

    Returned by :func:`allegiance.stability_curve`.

    Attributes
    ----------
    values
        (m,) the values of the parameter, ascending.
    n_clusters
        (m,) number of clusters for each value.
    by_resample
        (m, n_resamples) replication above chance in each subsample: (S - C) / (1 - C), where S is the replication
        rate and C that of unrelated partitions with the same cluster sizes. 0 for fewer than two clusters.
    reference
        (n_references, m) replication above chance in each draw of the reference data.
    param
        The name of the parameter.
    replication
        (m,) share of the labels that would replicate in an independent sample, as in :func:`allegiance.trust`.
    silhouette
        (m,) mean silhouette, which breaks ties.
    caveat
        Limits of the suggestion, in words.
    """

    values: AnyArray
    n_clusters: IntArray
    by_resample: FloatArray
    reference: FloatArray
    param: str = "n_clusters"
    replication: FloatArray | None = None
    silhouette: FloatArray | None = None
    caveat: str = _CAVEAT

    @property
    def above_chance(self) -> FloatArray:
        """(m,) replication above chance: the median over subsamples, so that a few unlucky starts do not matter."""
        return np.median(self.by_resample, axis=1)

    @property
    def contenders(self) -> AnyArray:
        """The values whose replication above chance is within 0.02 of the largest."""
        return self.values[self.above_chance >= self.above_chance.max() - _TIE]

    @property
    def contrast(self) -> float:
        """How many times less doubt (1 minus replication above chance) the finest contender leaves than the reference.

        The reference's doubt is the median over its draws, for the same value; 0.02 is added to both.
        """
        return self._contrast(self.above_chance, self.reference)

    @property
    def contrast_by_chance(self) -> float:
        """The largest contrast of the curve that a draw of the null data has with the others."""
        draws = range(self.reference.shape[0])
        return max(self._contrast(self.reference[i], np.delete(self.reference, i, axis=0)) for i in draws)

    @property
    def suggestion(self) -> Any:
        """The contender with most clusters for which 90% of subsamples replicate better than every reference draw.

        None if there is none, or if a draw has the same contrast by chance.
        """
        chosen = self._chosen()
        return None if chosen is None else self.values[chosen].item()

    def _chosen(self) -> int | None:
        """Return the position of the value that the stability curve suggests, if there is one."""
        above = self.above_chance
        contends = above >= above.max() - _TIE
        contends &= np.quantile(self.by_resample, _UNLUCKY, axis=1) > self.reference.max(axis=0)
        if self.contrast <= self.contrast_by_chance or not contends.any():
            return None
        return self._finest(above, contends)

    def _finest(self, above_chance: FloatArray, contends: AnyArray) -> int:
        """Return the position of the stability curve's contender with most clusters; ties go to higher replication."""
        return int(np.lexsort((above_chance, self.n_clusters, contends))[-1])

    def _contrast(self, above_chance: FloatArray, reference: FloatArray) -> float:
        """Return the contrast between a stability curve and a reference, at the finest contender of the curve."""
        chosen = self._finest(above_chance, above_chance >= above_chance.max() - _TIE)
        return float((1.0 - np.median(reference[:, chosen]) + _TIE) / (1.0 - above_chance[chosen] + _TIE))

    def _columns(self) -> dict[str, AnyArray]:
        """Return the columns (m,) of the stability curve that are printed and drawn."""
        low, high = np.quantile(self.by_resample, [0.25, 0.75], axis=1)
        return {
            self.param: self.values,
            "above_chance": self.above_chance,
            "low": low,
            "high": high,
            "reference": np.median(self.reference, axis=0),
            "reference_high": self.reference.max(axis=0),
            "n_clusters_found": self.n_clusters,
            "suggested": np.arange(self.values.size) == self._chosen(),
        }

    def frame(self, like: Any = None) -> Any:
        """Return the stability curve as a frame with one row per value.

        Columns are the parameter, ``above_chance``, ``low`` and ``high`` (quartiles over the subsamples),
        ``reference`` (median over the draws), ``reference_high`` (largest of them), ``n_clusters_found``,
        ``suggested``, ``replication`` and ``silhouette``. ``like`` is a frame of the library to use, such as polars;
        pandas by default.
        """
        extra = {"replication": self.replication, "silhouette": self.silhouette}
        columns = self._columns() | {name: values for name, values in extra.items() if values is not None}
        return FrameLike(None if like is None else FrameLike.of(like).backend).build(columns)

    def _card(self) -> Card:
        """Return the card that displays the stability curve."""
        counts = self.param == "n_clusters"
        headings = ["clusters" if counts else self.param, "above chance", "middle 50%", "null median", "null max", ""]
        rows = []
        for value, above, low, high, median, largest, number, suggested in zip(*self._columns().values(), strict=True):
            first = [f"{value:g}" if isinstance(value, float) else f"{value}", *([] if counts else [f"{number}"])]
            numbers = [f"{above:.3f}", f"{low:.3f} to {high:.3f}", f"{median:.3f}", f"{largest:.3f}"]
            rows.append([*first, *numbers, "<- suggested" if suggested else ""])
        if not counts:
            headings.insert(1, "clusters")
        title = f"Replication above chance against {'the number of clusters' if counts else self.param}"
        return Card(title, [self.recommendation], None, headings, rows, words=("",), notes=[self.caveat])

    def plot(self, ax: Any = None, **kw: Any) -> Any:
        """Draw the curve as :meth:`allegiance.displays.StabilityCurveDisplay.plot` does, and return the display."""
        from allegiance.displays import StabilityCurveDisplay

        return StabilityCurveDisplay(self).plot(ax=ax, **kw)

    @property
    def best(self) -> Any:
        """The value to use if you need one: the suggestion, or the largest replication above that of unclustered data.

        Of values within 0.05 of the largest, the one with the largest silhouette.
        """
        return self.values[self._best()].item()

    def _best(self) -> int:
        """Return the position of the best value of the stability curve."""
        chosen = self._chosen()
        if chosen is not None:
            return chosen
        advantage = self.above_chance - np.median(self.reference, axis=0)
        contends = advantage >= advantage.max() - _ADVANTAGE_TIE
        return int(np.lexsort((advantage, advantage if self.silhouette is None else self.silhouette, contends))[-1])

    @property
    def recommendation(self) -> str:
        """Which value to use, and how strong the evidence is, in words."""
        best, name = self._best(), "k" if self.param == "n_clusters" else self.param
        title = f"{name} = {self.values[best]:g}"
        if self.param != "n_clusters":
            title += f" ({self.n_clusters[best]} clusters)"
        replication = self.above_chance if self.replication is None else self.replication
        share = f"{100 * replication[best]:.0f}%"
        if self.suggestion is not None:
            others = [f"{value:g}" for value in self.contenders if value != self.suggestion]
            ties = f" As stable: {', '.join(others)}." if others else ""
            return f"{title} stands out: {share} of the labels would hold up on a fresh sample.{ties}"
        if self.above_chance[best] <= self.reference[:, best].max():
            return f"No {name} is better than unclustered data. If you need one, {title} replicates best ({share})."
        return f"No {name} stands out. {title} replicates best compared with unclustered data ({share})."


def stability_curve(
    X: Any,
    clusterer: Any,
    values: Iterable[Any] = range(2, 11),
    *,
    param: str | None = None,
    n_resamples: int = 20,
    n_references: int = 10,
    n_jobs: int | None = None,
    random_state: Any = 0,
    verbose: Verbose = False,
) -> StabilityCurve:
    """Measure replication for several numbers of clusters, or values of any parameter, and suggest one.

    For each value, the data and subsamples of a third of the rows are clustered. Left-out rows are assigned to the new
    clusters, which are matched to the old ones. The replication rate is rescaled so that chance is 0, since few
    clusters replicate well by chance. The reference is unclustered data, which keeps each column's skew and tails and
    the rank correlations of X, but not several modes. There is no suggestion if one of these draws stands out from the
    others as clearly as the data does, and no value is suggested if more than 10% of its subsamples replicate no better
    than a draw. No affinity is measured, and the cost does not depend on the number of rows.

    Parameters
    ----------
    X
        (n, d) data: array or frame. A sample is used if there are more than 2,000 rows, or 100 per cluster.
    clusterer
        A clusterer, which is cloned, a function that takes a value and returns a clusterer, or a function
        ``f(X, value)`` that returns labels.
    values
        The values to try. Numbers of clusters must be at least 2.
    param
        The parameter that takes them, such as "resolution", "eps" or "kmeans__n_clusters" of a pipeline. By default
        the number of clusters: "n_clusters" or "n_components".
    n_resamples
        Number of subsamples that are clustered for each value.
    n_references
        Number of draws of unclustered data, at least 2, each with half the number of subsamples. Unclustered data gets
        a suggestion by chance at most about once in ``n_references + 1`` times.
    n_jobs
        Subsamples clustered at a time; None and -1 use all cores. Results do not depend on it.
    random_state
        Seed or generator of subsamples and draws, and of the clusterers.
    verbose
        Whether to show progress.

    Returns
    -------
    StabilityCurve
        Replication above chance against the parameter, and a suggestion with its caveat.

    See Also
    --------
    compare_clusterings : Point by point, for any candidates.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import make_blobs
    >>> from allegiance import stability_curve
    >>> X, _ = make_blobs(300, centers=[[0, 0], [8, 0], [0, 8], [8, 8]], random_state=0)
    >>> curve = stability_curve(X, KMeans(n_init=3), range(2, 7), n_references=3)
    >>> curve.suggestion
    4
    """
    calibration, draws = Calibration(n_resamples), check_count(n_references, "n_references")
    calibration.check()
    fewer = Calibration(max(n_resamples // 2, 2))
    if draws < 2:
        raise ValueError("n_references must be at least 2: a single one does not show the spread of chance.")
    seed, threads = resolve_seed(random_state), effective_threads(check_jobs(n_jobs))
    name, make = _maker(clusterer, param)
    rows = dense_rows(X)
    tried = _check_values(values, name in _SIZE_PARAMETERS, rows.shape[0])
    is_number = name in _SIZE_PARAMETERS
    max_rows = max(_MAX_ROWS, _ROWS_PER_CLUSTER * int(tried[-1])) if is_number else _MAX_ROWS_OF_DENSITY
    all_rows = None if is_number or rows.shape[0] <= max_rows else _sample(rows, _MAX_ROWS_TO_COUNT)
    rows = _sample(rows, max_rows)
    unclustered = NullData(rows)
    by_resample, n_clusters = np.zeros((tried.size, n_resamples)), np.zeros(tried.size, dtype=np.int64)
    replication, silhouettes = np.ones(tried.size), np.zeros(tried.size)
    reference = np.zeros((draws, tried.size))
    settings: dict[str, Any] = {"seed": seed, "threads": threads}
    with progress((1 + draws) * tried.size, "stability curve", verbose, unit="clusterings") as advance:
        for i, value in enumerate(tried):
            candidate = _seeded(make(value), seed)
            codes, above_chance = _replication(rows, candidate, calibration=calibration, **settings)
            by_resample[i], n_clusters[i] = np.resize(above_chance, n_resamples), codes.max() + 1
            if n_clusters[i] > 1:
                replication[i] = replicate(rows, codes, candidate, calibration=calibration, **settings).share
                inner = codes >= 0
                is_scorable = inner.sum() > n_clusters[i]
                silhouettes[i] = silhouette_score(rows[inner], codes[inner]) if is_scorable else 0.0
            if all_rows is not None:
                with on_one_thread():
                    n_clusters[i] = Labels.of(cluster(candidate, all_rows), len(all_rows)).classes.size
            advance(1)
        for draw in range(draws):
            null_rows = unclustered.draw(len(rows), stream(seed, 1, draw))
            for i, value in enumerate(tried):
                with suppress(ValueError):  # a reference without clusters replicates no better than chance
                    candidate = _seeded(make(value), seed)
                    reference[draw, i] = np.median(_replication(null_rows, candidate, calibration=fewer, **settings)[1])
                advance(1)
    param = "n_clusters" if is_number else name
    return StabilityCurve(tried, n_clusters, by_resample, reference, param, replication, silhouettes)


def _sample(rows: FloatArray, size: int) -> FloatArray:
    """Return at most ``size`` rows for a stability curve, chosen by their contents, so that order does not matter."""
    if rows.shape[0] <= size:
        return rows
    keys = row_keys(rows, np.zeros(len(rows), dtype=np.int64))
    return rows[np.sort(np.argsort(keys, kind="stable")[:size])]


def _replication(X: FloatArray, clusterer: Any, **settings: Any) -> tuple[IntArray, FloatArray]:
    """Cluster X for one value of a stability curve; return clusters (n,), and replication above chance by subsample."""
    with on_one_thread():
        labels = Labels.of(cluster(clusterer, X), X.shape[0])
    codes = labels.codes(labels.classes)
    if labels.classes.size < 2:
        return codes, np.zeros(1)
    return codes, replicate(X, codes, clusterer, **settings, share=SUBSAMPLE_SHARE).above_chance


def _seeded(clusterer: Any, seed: int) -> Any:
    """Return a clone for a stability curve with a seed for every ``random_state`` of None, also in pipeline steps."""
    free = [name for name, value in clusterer.get_params().items() if value is None and name.endswith("random_state")]
    return clone(clusterer).set_params(**dict.fromkeys(free, seed % 2**32))


def _maker(clusterer: Any, param: str | None) -> tuple[str, Callable[[Any], Any]]:
    """Return the parameter of a stability curve, and a function from its value to a clusterer."""
    if callable(clusterer) and not hasattr(clusterer, "fit"):
        required = [p for p in signature(clusterer).parameters.values() if p.default is p.empty]
        required = [p for p in required if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if isinstance(clusterer, type) or len(required) < 2:
            return param or "n_clusters", lambda value: as_clusterer(clusterer(value))
        return param or "n_clusters", lambda value: FunctionClusterer(lambda X: clusterer(X, value))
    known = as_clusterer(clusterer).get_params() if hasattr(clusterer, "get_params") else {}
    name = param or next((name for name in _SIZE_PARAMETERS if name in known), None)
    if name is None:
        raise TypeError(
            f"clusterer has neither n_clusters nor n_components: {clusterer!r}. Pass param=, such as "
            "param='kmeans__n_clusters', or a function from the value to a clusterer."
        )
    if name not in known:
        raise ValueError(f"param={name!r} is not a parameter of {clusterer!r}.")
    return name, lambda value: clone(clusterer).set_params(**{name: value})


def dense_rows(X: Any) -> FloatArray:
    """Return the checked rows (n, d) of a stability curve, which draws unclustered data like dense X."""
    if sp.issparse(X):
        raise TypeError("X is sparse: stability_curve draws unclustered data like X, which needs a dense array.")
    return np.asarray(check_rows(BaseEstimator(), X, reset=True), dtype=np.float64)


def _check_values(values: Any, numbers_of_clusters: bool, n_rows: int) -> AnyArray:
    """Return the values of the parameter that a stability curve tries, ascending."""
    if not isinstance(values, Iterable) or isinstance(values, (str, bytes)):
        raise TypeError(f"values must be a sequence of numbers, such as range(2, 11), got {values!r}.")
    tried = sorted(set(values))
    if not tried:
        raise ValueError("values is empty: pass at least one value.")
    if numbers_of_clusters:
        tried = sorted({check_count(value, "values") for value in tried})
        if tried[0] < 2:
            raise ValueError("values must be at least 2: a single cluster always replicates.")
        if tried[-1] > n_rows:
            raise ValueError(f"values contains {tried[-1]} clusters but X has {n_rows} rows.")
    numbers = np.array(tried)
    if numbers.dtype.kind not in "if" or not np.isfinite(numbers).all():
        raise TypeError(f"values must be finite numbers, got {tried!r}.")
    return numbers
