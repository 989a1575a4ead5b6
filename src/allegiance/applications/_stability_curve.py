"""How many labels come back, against the number of clusters or any other parameter of a clusterer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from allegiance._core.parallel import effective_threads, on_one_thread, resolve_seed, stream
from allegiance._core.progress import Verbose, progress
from allegiance._core.validation import AnyArray, FloatArray, IntArray, check_count, check_jobs, check_rows
from allegiance.calibration import Calibration, as_clusterer, replicate, row_keys
from allegiance.fitting import Labels, cluster
from allegiance.notebook import Card, Shown
from allegiance.results import FrameLike

#: Parameters that say how many clusters to find, in the order they are looked for.
_SIZE_PARAMETERS = ("n_clusters", "n_components")
#: Rows that are used at most: so many, or so many for each cluster.
_MOST_ROWS, _ROWS_PER_CLUSTER = 2000, 100
#: Share of the rows in a subsample: halves come back too well to tell clusters from data without any.
_SHARE = 1 / 3
#: Replication above chance that differs by less counts as equal.
_TIE = 0.02
#: Share of the subsamples that may come back no better than data without clusters do at best.
_UNLUCKY = 0.1
#: A set of points comes back if its Jaccard index with what a repeat finds is at least this; a pair must come back
#: better than its parts by so much. Pieces hold at least this share of a cluster, and agree so far (adjusted Rand).
_BACK, _GAIN, _PIECE, _ALIKE = 0.75, 0.1, 0.2, 0.5
_CAVEAT = (
    "The suggestion is the finest clustering that comes back as well as any other when subsamples are clustered. It is "
    "a hint, not a test: fewer clusters nearly always come back better, it trusts the clusterer, and of groups within "
    "groups it names the finest that are as stable."
)


@dataclass(frozen=True, repr=False, eq=False)
class StabilityCurve(Shown):
    """Replication above chance against a parameter of the clusterer, of the data and of data without clusters.

    Attributes
    ----------
    values
        (m,) the values of the parameter, ascending.
    n_clusters
        (m,) how many clusters were found with each.
    by_resample
        (m, n_resamples) replication above chance in each subsample: (S - C) / (1 - C) with S the share of labels that
        come back, and C that of unrelated partitions with clusters of these sizes. 0 for fewer than two clusters.
    reference
        (n_references, m) replication above chance in each draw of the reference data.
    param
        The name of the parameter.
    caveat
        What to keep in mind about the suggestion, in words.

    See Also
    --------
    allegiance.stability_curve : What returns it, with an example.
    """

    values: AnyArray
    n_clusters: IntArray
    by_resample: FloatArray
    reference: FloatArray
    param: str = "n_clusters"
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
        """The largest contrast that any draw of the reference, treated like the data, has with the other draws."""
        draws = range(self.reference.shape[0])
        return max(self._contrast(self.reference[i], np.delete(self.reference, i, axis=0)) for i in draws)

    @property
    def suggestion(self) -> Any:
        """The contender with most clusters of which nine of ten subsamples come back better than every reference draw.

        None if there is none, or if a draw has as much contrast by chance.
        """
        chosen = self._chosen()
        if chosen is None:
            return None
        value = self.values[chosen]
        return value.item() if isinstance(value, np.generic) else value

    def _chosen(self) -> int | None:
        """Return the position of the suggestion, if there is one."""
        above = self.above_chance
        contends = above >= above.max() - _TIE
        contends &= np.quantile(self.by_resample, _UNLUCKY, axis=1) > self.reference.max(axis=0)
        if self.contrast <= self.contrast_by_chance or not contends.any():
            return None
        return self._finest(above, contends)

    def _finest(self, above_chance: FloatArray, contends: AnyArray) -> int:
        """Return the position of the contender with most clusters, of equals the one that comes back best."""
        return int(np.lexsort((above_chance, self.n_clusters, contends))[-1])

    def _contrast(self, above_chance: FloatArray, reference: FloatArray) -> float:
        chosen = self._finest(above_chance, above_chance >= above_chance.max() - _TIE)
        return float((1.0 - np.median(reference[:, chosen]) + _TIE) / (1.0 - above_chance[chosen] + _TIE))

    def columns(self) -> dict[str, AnyArray]:
        """Return the numbers (m,) of the curve by name: those of :meth:`frame` up to ``reference_high``."""
        low, high = np.quantile(self.by_resample, [0.25, 0.75], axis=1)
        return {
            self.param: self.values,
            "above_chance": self.above_chance,
            "low": low,
            "high": high,
            "reference": np.median(self.reference, axis=0),
            "reference_high": self.reference.max(axis=0),
        }

    def frame(self, like: Any = None) -> Any:
        """Return one row per value.

        Columns are the parameter, ``above_chance``, ``low`` and ``high`` (quartiles over the subsamples),
        ``reference`` (median over the draws), ``reference_high`` (largest of them), ``n_clusters_found`` and
        ``suggested``.

        Parameters
        ----------
        like
            A frame of the library to use, such as polars; pandas by default.
        """
        columns = self.columns() | {"n_clusters_found": self.n_clusters, "suggested": self._suggested()}
        return FrameLike(None if like is None else FrameLike.of(like).backend).build(columns)

    def _suggested(self) -> AnyArray:
        suggestion = self.suggestion
        return np.zeros(self.values.size, dtype=bool) if suggestion is None else self.values == suggestion

    def _headings(self) -> tuple[str, ...]:
        found = () if self.param == "n_clusters" else ("clusters",)
        first = "clusters" if self.param == "n_clusters" else self.param
        return (first, *found, "above chance", "middle 50 %", "null median", "null max", "")

    def _cells(self) -> list[tuple[str, ...]]:
        found = [() if self.param == "n_clusters" else (f"{number}",) for number in self.n_clusters]
        lines = zip(*self.columns().values(), found, self._suggested(), strict=True)
        return [
            (
                f"{value:g}" if isinstance(value, float) else f"{value}",
                *clusters,
                f"{above:.3f}",
                f"{low:.3f} to {high:.3f}",
                f"{reference:.3f}",
                f"{reached:.3f}",
                "<- suggested" if suggested else "",
            )
            for value, above, low, high, reference, reached, clusters, suggested in lines
        ]

    def _card(self) -> Card:
        name = "the number of clusters" if self.param == "n_clusters" else self.param
        title = f"Replication above chance against {name}"
        table = self._headings(), self._cells()
        return Card(title, [self.verdict], None, *table, words=("",), notes=[self.caveat])

    def plot(self, ax: Any = None, **kw: Any) -> Any:
        """Draw the curve, and return the :class:`allegiance.displays.StabilityCurveDisplay`.

        Parameters
        ----------
        ax
            Axes to draw on; by default those of a new figure.
        **kw
            For :meth:`allegiance.displays.StabilityCurveDisplay.plot`.
        """
        from allegiance.displays import StabilityCurveDisplay

        return StabilityCurveDisplay(self).plot(ax=ax, **kw)

    @property
    def verdict(self) -> str:
        """What the suggestion is, or why there is none, in words."""
        contrast, by_chance = f"{self.contrast:.1f}", f"{self.contrast_by_chance:.1f}"
        found = f"{contrast} times less doubt than in data without clusters ({by_chance} by chance)"
        by_number = self.param == "n_clusters"
        if self.suggestion is None:
            if self.contrast > self.contrast_by_chance:
                found += ", but in one of ten subsamples no more comes back than there"
            return f"No {'number of clusters' if by_number else self.param} stands out: at best {found}."
        others = [f"{value:g}" for value in self.contenders if value != self.suggestion]
        close = f"; as stable: {', '.join(others)}" if others else ""
        number = self.n_clusters[self._chosen()]
        named = f"{self.suggestion} clusters" if by_number else f"{self.param}={self.suggestion:g}, {number} clusters"
        return f"Suggested: {named}{close}; {found}."


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
    """Measure how many labels come back for several numbers of clusters, or values of any parameter, and suggest one.

    For each value the data are clustered, then subsamples of a third of the rows; rows left out are placed in the new
    clusters, which are matched to the old ones. The share of labels that come back is put on a scale where chance is 0,
    so that few clusters have no advantage by their number alone. The same is asked of data without clusters: points
    drawn uniformly from a box around X. If any draw of these stands out from the others as much as the data does,
    nothing is suggested, nor is a value for which one of ten subsamples comes back no better than a draw. No affinity
    is measured, and the cost does not depend on the number of rows.

    Parameters
    ----------
    X
        (n, d) data: array or frame. Of more than 2,000 rows, or 100 for each cluster, a sample is used.
    clusterer
        A clusterer, of which clones are fitted, or a function that takes a value and returns a clusterer.
    values
        The values to try. Numbers of clusters must be at least 2.
    param
        The parameter that takes them, such as "resolution", "eps" or "kmeans__n_clusters" of a pipeline. By default
        the number of clusters: "n_clusters" or "n_components".
    n_resamples
        Number of subsamples that are clustered for each value.
    n_references
        Number of draws of data without clusters, at least 2, each with half as many subsamples. Data without clusters
        get a suggestion by chance at most about once in ``n_references + 1`` times.
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

    Notes
    -----
    The box lies along the principal axes of X, or along its columns if that makes it smaller; always along the columns
    for clusterers that take positive entries only.

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
        raise ValueError("n_references must be at least 2: one draw says nothing about chance.")
    seed, threads = resolve_seed(random_state), effective_threads(check_jobs(n_jobs))
    name, make = _maker(clusterer, param)
    rows = _dense_rows(X)
    tried = _check_values(values, name in _SIZE_PARAMETERS, rows.shape[0])
    most = max(_MOST_ROWS, _ROWS_PER_CLUSTER * int(tried[-1])) if name in _SIZE_PARAMETERS else _MOST_ROWS
    if rows.shape[0] > most:  # chosen by what they hold, so that the order of rows does not matter
        rows = rows[np.sort(np.argsort(row_keys(rows, np.zeros(len(rows), dtype=np.int64)), kind="stable")[:most])]
    made = [make(value) for value in tried]
    positive = all(hasattr(each, "__sklearn_tags__") and get_tags(each).input_tags.positive_only for each in made)
    axes = np.eye(rows.shape[1]) if positive else reference_axes(rows)
    own, found = np.zeros((tried.size, n_resamples)), np.zeros(tried.size, dtype=np.int64)
    reference = np.zeros((draws, tried.size))
    with progress((1 + draws) * tried.size, "stability curve", verbose, unit="clusterings") as advance:
        for draw in range(-1, draws):
            data = rows if draw < 0 else uniform_in_box(rows, axes, stream(seed, 1, draw))
            for i, each in enumerate(made):
                asked = calibration if draw < 0 else fewer
                number, by_resample = _replication(data, each, asked, seed, threads, strict=draw < 0)
                if draw < 0:
                    own[i], found[i] = np.resize(by_resample, own.shape[1]), number
                else:
                    reference[draw, i] = np.median(by_resample)
                advance(1)
    return StabilityCurve(tried, found, own, reference, "n_clusters" if name in _SIZE_PARAMETERS else name)


def _replication(
    X: FloatArray, clusterer: Any, calibration: Calibration, seed: int, threads: int, *, strict: bool
) -> tuple[int, FloatArray]:
    """Cluster X (n, d); return the number of clusters, and replication above chance in each subsample."""
    if hasattr(clusterer, "get_params"):  # of a pipeline the steps
        seeds = {name: seed % 2**32 for name, value in clusterer.get_params().items() if _is_free_seed(name, value)}
        clusterer = clone(clusterer).set_params(**seeds)
    try:
        with on_one_thread():
            labels = Labels.of(cluster(clusterer, X), X.shape[0])
        if labels.classes.size < 2:
            return labels.classes.size, np.zeros(1)
        codes = labels.codes(labels.classes)
        found = replicate(X, codes, clusterer, calibration=calibration, seed=seed, threads=threads, share=_SHARE)
    except ValueError:
        if strict:
            raise
        return 0, np.zeros(1)  # data without clusters, in which none was found
    return labels.classes.size, found.above_chance


def split_and_merged(
    X: Any,
    labels: Any,
    clusterer: Any,
    *,
    n_resamples: int = 20,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: Verbose = False,
) -> Any:
    """Name the clusters that were split too finely, and those that hold two groups, by what repeats make of them.

    Parameters
    ----------
    X
        (n, d) data: array or frame.
    labels
        (n,) labels, -1 for noise.
    clusterer
        What made the labels. Clones of it are fitted to subsamples of a third.
    n_resamples, random_state, n_jobs, verbose
        As in :func:`stability_curve`.

    Returns
    -------
    DataFrame
        One row per cluster: ``cluster``, ``points``, ``comes_back`` (the median Jaccard index with the new cluster that
        is most like it), ``problem`` ("over-split", "merged" or ""), ``partner`` (the other part of an over-split
        group) and ``comes_back_together`` (the index of both parts in one, or of a merged cluster with the new clusters
        inside it).
    """
    from sklearn.metrics import adjusted_rand_score

    rows, given = _dense_rows(X), Labels.of(labels, np.shape(labels)[0])
    codes, k = given.codes(given.classes), given.classes.size
    calibration, seed = Calibration(n_resamples), resolve_seed(random_state)
    threads = effective_threads(check_jobs(n_jobs))
    found = replicate(
        rows, codes, clusterer, calibration=calibration, seed=seed, threads=threads, verbose=verbose, share=_SHARE
    )
    fates = [_fates(codes[codes >= 0], new[codes >= 0], k) for new in found.new]
    by_repeat, pairs, pieces = (np.array(part) for part in zip(*fates, strict=True))
    alone, together = np.median(by_repeat, axis=0), np.median(pairs, axis=0)
    whole = together.diagonal().copy()
    np.fill_diagonal(together, 0.0)
    partner = together.argmax(axis=1)
    problem, with_whom, joint = np.full(k, "", dtype="<U10"), np.full(k, "", dtype=object), np.full(k, np.nan)
    for a, b in enumerate(partner.tolist()):
        apart = max(alone[a], alone[b])
        if partner[b] == a and apart < _BACK and together[a, b] >= max(_BACK, apart + _GAIN):
            problem[a], with_whom[a], joint[a] = "over-split", str(given.classes[b]), together[a, b]
        elif (pieces[:, a] > 1).mean() > 0.5 and whole[a] >= _BACK:
            # Only a cluster that falls into the same pieces each time holds two groups.
            new = found.new[pieces[:, a] > 1][:, codes == a]
            if np.median([adjusted_rand_score(*two) for two in pairwise(new)]) >= _ALIKE:
                problem[a], joint[a] = "merged", whole[a]
    columns = {"cluster": given.classes, "points": np.bincount(codes[codes >= 0], minlength=k), "comes_back": alone}
    return (
        FrameLike.of(X)
        .without_index()
        .build(columns | {"problem": problem, "partner": with_whom.astype(str), "comes_back_together": joint})
    )


def _fates(codes: IntArray, new: IntArray, k: int) -> tuple[FloatArray, FloatArray, IntArray]:
    """Compare k clusters (m,) with those of a repeat: Jaccard indices (k,) and of pairs (k, k), and pieces (k,).

    A cluster alone is compared with the new cluster that is most like it; a pair, and on the diagonal a single one,
    with all new clusters together that lie mostly inside. These are its pieces, if they hold a fifth of it.
    """
    n_new, kept = int(new.max(initial=0)) + 1, new >= 0
    overlap = np.bincount(codes[kept] * n_new + new[kept], minlength=k * n_new).reshape(k, n_new)
    sizes, new_sizes = np.bincount(codes, minlength=k), overlap.sum(axis=0)
    alone = (overlap / np.maximum(sizes[:, None] + new_sizes - overlap, 1)).max(axis=1)
    single = np.eye(k, dtype=bool)[:, :, None]
    pairs = np.where(single, overlap, overlap[:, None] + overlap)
    inside = pairs > new_sizes / 2
    shared = (pairs * inside).sum(axis=2)
    size = np.where(single[:, :, 0], sizes, sizes[:, None] + sizes)
    together = shared / np.maximum(size + (new_sizes * inside).sum(axis=2) - shared, 1)
    large = overlap * inside.diagonal().T >= np.maximum(_PIECE * sizes[:, None], 1)
    return alone, together, large.sum(axis=1)


def _is_free_seed(name: str, value: Any) -> bool:
    return name.rsplit("__", 1)[-1] == "random_state" and value is None


def _maker(clusterer: Any, param: str | None) -> tuple[str, Callable[[Any], Any]]:
    """Return the name of the parameter, and a function from its value to a clusterer."""
    if callable(clusterer) and not hasattr(clusterer, "fit"):
        return param or "n_clusters", lambda value: as_clusterer(clusterer(value))
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


def _dense_rows(X: Any) -> FloatArray:
    if sp.issparse(X):
        raise TypeError("X is sparse: stability_curve draws uniform data in its box, which needs a dense array.")
    return np.asarray(check_rows(BaseEstimator(), X, reset=True), dtype=np.float64)


def _check_values(values: Any, numbers_of_clusters: bool, n_rows: int) -> AnyArray:
    """Return the values to try, ascending."""
    if not isinstance(values, Iterable) or isinstance(values, (str, bytes)):
        raise TypeError(f"values must be some numbers, such as range(2, 11), got {values!r}.")
    tried = sorted(set(values))
    if not tried:
        raise ValueError("values is empty: it needs at least one.")
    if numbers_of_clusters:
        tried = sorted({check_count(value, "values") for value in tried})
        if tried[0] < 2:
            raise ValueError("values must be at least 2: a single cluster always comes back.")
        if tried[-1] > n_rows:
            raise ValueError(f"values asks for {tried[-1]} clusters but X has {n_rows} rows.")
    found = np.array(tried)
    if found.dtype.kind not in "if" or not np.isfinite(found).all():
        raise TypeError(f"values must be finite numbers, got {tried!r}.")
    return found


def reference_axes(X: FloatArray) -> FloatArray:
    """Return the axes (r, d) of the smaller of two boxes around X (n, d): along its principal axes, or its columns.

    Principal axes follow clusters that lie in a subspace; but where no direction stands out they are arbitrary, and the
    box along them may be much larger than the data.
    """
    _, lengths, principal = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    if X.shape[1] > principal.shape[0] or lengths[-1] <= lengths[0] * X.shape[0] * np.finfo(float).eps:
        return principal
    columns = np.eye(X.shape[1])
    volumes = [np.log(np.ptp(X @ axes.T, axis=0)).sum() for axes in (columns, principal)]
    return columns if volumes[0] <= volumes[1] else principal


def uniform_in_box(X: FloatArray, axes: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw as many points as X (n, d) has, uniformly in the box around it along ``axes`` (r, d)."""
    along = X @ axes.T
    mean = X.mean(axis=0)
    outside = mean - (mean @ axes.T) @ axes
    return outside + rng.uniform(along.min(axis=0), along.max(axis=0), along.shape) @ axes
