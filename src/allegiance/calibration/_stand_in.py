"""The stand-in for an unknown clusterer: the one that finds the labels by itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from itertools import chain, starmap
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from allegiance._core.parallel import on_one_thread
from allegiance._core.validation import AnyArray, FloatArray, IntArray, Rows, is_sparse

from ._adapt import SUBSAMPLE_ROWS, adapt, is_pairwise
from ._calibration import MAX_ENTRIES, SLOWER
from ._replication import LEVEL, Replication, fit_labels
from ._samples import take

#: Adjusted Rand index from which a clusterer reproduces the labels, and from which no more expensive one is tried.
#: Density clusterers are deterministic, and k-means and mixtures keep their optima, so theirs must be the latter.
_REPRODUCED, _ALIKE = 0.8, 0.95
#: Rows on which candidates are judged: linkages, graphs and densities need all distances between them.
_MAX_ROWS = 2 * SUBSAMPLE_ROWS
#: Runs of k-means, of which the best is kept, and of Leiden, to find its resolution by bisection.
_RUNS = 5
#: Seeds tried for a randomized clusterer that does not find the labels: one run of it in ten is called another
#: clusterer's, as one replicate in ten lies outside the 90% interval.
_RERUNS = round(1.0 / (1.0 - LEVEL)) - 1
#: Warning about labels that are in another order than the rows.
UNRELATED = (
    "The labels look unrelated to the data: neighboring points share a label no more often than by chance. Check that "
    "labels and rows are in the same order."
)


@dataclass(frozen=True)
class StandIn:
    """A clusterer that may have made the labels: a stand-in, or the user's own."""

    clusterer: Any
    name: str
    ari: float
    """Adjusted Rand index of the labels and the clusters it finds by itself. Noise counts as one more cluster."""
    reproduces: bool
    """Whether it finds the labels, or they may be one of its many optima."""
    is_known: bool = False
    """Whether the user passed it."""
    also: str = ""
    """Other settings that find the labels as well."""

    def after(self, replication: Replication) -> StandIn:
        """Return the same, judged by its replicates, too, if it is a stand-in: randomized runs differ from each other.

        The labels may be a run of it if subsamples agree with them as much as with each other.
        """
        is_random = not self.is_known and _is_random(self.clusterer)
        agrees = replication.shares.mean() >= replication.kept.mean()
        return replace(self, reproduces=self.reproduces or bool(is_random and agrees))

    @property
    def margin(self) -> float:
        """The least half-width of an interval: one minus the index if a stand-in does not reproduce the labels."""
        return 0.0 if self.reproduces or self.is_known else 1.0 - max(self.ari, 0.0)

    def note(self, replication: Replication) -> str:
        """Return a note on the stand-in, or the known clusterer, and its refits."""
        index = f"(adjusted Rand index {self.ari:.2f})"
        if not self.is_known:
            origin = f", the stand-in that best reproduces your labels {index}."
        elif self.reproduces and self.ari < _REPRODUCED:
            origin = f", which depends on its random start: another run has an adjusted Rand index of {self.ari:.2f}."
        elif np.isfinite(self.ari):
            origin = f", which {'reproduces' if self.reproduces else 'does not reproduce'} the labels {index}."
        else:
            origin = "."
        sentences = [f"Estimated by re-clustering {len(replication.new)} subsamples with {self.name}{origin}"]
        if self.also:
            sentences.append(f"Settings with {self.also} find the same labels, but may replicate differently.")
        if replication.placed_by_neighbor:
            sentences.append("It has no predict: held-out points join the cluster of their nearest neighbor.")
        if replication.failures:
            sentences.append(f"It failed on {len(replication.failures)} more: {replication.failures[0]}.")
        return " ".join(sentences)

    def warning(self, replication: Replication) -> str | None:
        """Return a warning if the stand-in, or the known clusterer, does not reproduce the labels."""
        if self.reproduces:
            return None
        reasons, kept, shares = f"the adjusted Rand index is {self.ari:.2f}", replication.kept, replication.shares
        if kept.mean() > shares.mean():
            reasons += (
                f", and subsamples agree with each other on {100 * kept.mean():.0f}% of the labels, but with your "
                f"labels on only {100 * shares.mean():.0f}%"
            )
        if self.is_known:
            return (
                f"The clusterer {self.name} does not reproduce the labels: {reasons}. Low trust may be due to the "
                "clusterer: pass `clusterer=` with the parameters that made the labels."
            )
        return (
            f"None of the built-in clusterers reproduces these labels. The closest is {self.name}: {reasons}. The "
            "interval is wider for that reason. If you know the clusterer, pass `clusterer=`."
        )


class _Candidate(NamedTuple):
    """A clusterer with the labels that it gives to the judged rows, if known, and those it keeps from the user's."""

    name: str
    clusterer: Any
    labels: AnyArray | None = None
    kept: AnyArray | None = None
    also: str = ""


def stand_in(
    rows: Rows, codes: IntArray, *, n_total: int | None = None, others: Sequence[tuple[str, Any]] = ()
) -> StandIn:
    """Choose the clusterer that reproduces the labels, in the given or the standardized space, the cheapest first.

    A clusterer reproduces the labels if it finds them by itself. k-means and mixtures have many optima: they also do if
    the labels are an optimum, and no linkage finds exactly these labels. For labels with noise, only clusterers that
    produce noise are tried. ``others`` are more candidates by name, such as those that an influence suggests.
    """
    search = _Search(_as_floats(rows), codes, n_total or rows.shape[0])
    best, is_plausible = StandIn(None, "", -np.inf, False), False
    with on_one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, stage in enumerate(search.density_stages() if search.has_noise else search.stages(others)):
            for candidate in stage:
                choice = search.judge(candidate)
                plausible = choice.ari >= _ALIKE or search.is_optimum(candidate)
                choice = replace(choice, reproduces=choice.reproduces or plausible)
                if (plausible, choice.ari) > (is_plausible, best.ari):
                    best, is_plausible = choice, plausible
                if choice.ari == 1.0:
                    return choice
            # Labels of a linkage, which comes next, are often an optimum of k-means, too.
            if best.ari >= _ALIKE or (is_plausible and (number > 0 or not search.is_whole)):
                return best
        return best


def kmeans_stand_in(rows: Rows, codes: IntArray, n_total: int) -> StandIn:
    """Return k-means, which finds clusters in any subsample, for labels whose best stand-in finds none there."""
    search = _Search(_as_floats(rows), codes, n_total)
    with on_one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return replace(search.judge(next(search._kmeans())), reproduces=False)


def refit_known(
    clusterer: Any, rows: Any, codes: IntArray, *, n_total: int, max_rows: int, weights: FloatArray | None = None
) -> StandIn:
    """Refit the clusterer that the user passed on at most ``max_rows`` rows, and compare its labels with the user's."""
    search = _Search(rows, codes, n_total, max_rows)
    if is_pairwise(clusterer):
        search.few = rows[:max_rows, :max_rows]
    search.weights = None if weights is None else weights[:max_rows]
    steps = [step for _, step in getattr(clusterer, "steps", [("", clusterer)])]
    texts = [" ".join(repr(step).split()) for step in steps]
    name = " -> ".join(
        text if len(text) <= 100 else type(step).__name__ for text, step in zip(texts, steps, strict=True)
    )
    with on_one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            labels = search.labels(clusterer, seed=None)
        except Exception:  # replicates report what it raises
            return StandIn(clusterer, name, np.nan, True, is_known=True)
        choice = search.judge(_Candidate(name, clusterer, labels))
        reproduces = choice.ari >= _REPRODUCED or (_is_random(clusterer) and search.may_be_run(clusterer))
        return replace(choice, reproduces=reproduces, is_known=True)


def _is_random(clusterer: Any) -> bool:
    """Tell whether runs of a stand-in or known clusterer may differ, so that one need not find the labels."""
    return any(name.endswith("random_state") for name in clusterer.get_params())


class _Search:
    """The rows on which candidates are judged, and the candidates in stages of rising cost."""

    def __init__(self, rows: Any, codes: IntArray, n_total: int, max_rows: int = _MAX_ROWS) -> None:
        self.rows, self.codes, self.n_total = rows, codes, n_total
        self.few, self.own = rows[:max_rows], codes[:max_rows]
        self.weights: FloatArray | None = None
        self.k = np.unique(codes[codes >= 0]).size
        self.has_noise = bool((codes < 0).any())
        self.is_whole = n_total <= self.few.shape[0]

    def judge(self, candidate: _Candidate) -> StandIn:
        """Compare the labels of a candidate with those of the user."""
        from sklearn.metrics import adjusted_rand_score

        try:
            labels = self.labels(candidate.clusterer) if candidate.labels is None else candidate.labels
        except (ValueError, NotImplementedError, np.linalg.LinAlgError):  # such as too few rows
            return StandIn(None, "", -np.inf, False)
        ari = float(adjusted_rand_score(self.own, labels))
        reproduces = ari >= (_ALIKE if self.has_noise else _REPRODUCED)
        return StandIn(candidate.clusterer, candidate.name, ari, reproduces, also=candidate.also)

    def is_optimum(self, candidate: _Candidate) -> bool:
        """Tell whether a candidate keeps the user's labels, and they may be where one of its starts ends."""
        from sklearn.metrics import adjusted_rand_score

        if candidate.kept is None or adjusted_rand_score(self.codes[: candidate.kept.size], candidate.kept) < 1.0:
            return False
        starts = [name for name in candidate.clusterer.get_params() if name.endswith("n_init")]
        single = clone(candidate.clusterer).set_params(**dict.fromkeys(starts, 1))
        return not self.is_whole or self.may_be_run(single)

    def stages(self, others: Sequence[tuple[str, Any]]) -> Iterator[Iterator[_Candidate]]:
        """Yield candidates for labels without noise."""
        from sklearn.cluster import SpectralClustering

        yield chain(self._kmeans(), starmap(_Candidate, others))
        if is_sparse(self.few):
            return
        yield self._linkages()
        yield self._mixtures()
        spectral = SpectralClustering(self.k, affinity="nearest_neighbors")  # the kernel may degenerate
        yield chain(self._leiden(), [_Candidate("spectral clustering (nearest_neighbors)", spectral)])

    def density_stages(self) -> Iterator[Iterator[_Candidate]]:
        """Yield candidates for labels with noise."""
        from sklearn.preprocessing import StandardScaler

        if is_sparse(self.few):
            yield self._hdbscan()
            return
        yield chain(self._hdbscan(), self._dbscan("DBSCAN", self.few))
        if self.is_uneven:
            standardized = StandardScaler().fit_transform(self.few)
            yield chain(self._hdbscan(plain=False), self._dbscan("DBSCAN on standardized columns", standardized))
        yield self._hdbscan("leaf")

    def _spaces(self, name: str, clusterer: Any) -> Iterator[tuple[str, Any]]:
        """Yield a clusterer in the given space, and in that of standardized columns if they differ."""
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        yield name, clusterer
        if self.is_uneven:
            yield f"{name} on standardized columns", make_pipeline(StandardScaler(), clusterer)

    @cached_property
    def is_uneven(self) -> bool:
        """Whether standardizing the columns changes any stand-in."""
        if is_sparse(self.few):
            return False
        deviations = self.few.std(axis=0)
        return not np.allclose(deviations, deviations[0])

    @property
    def _steps(self) -> dict[str, int]:
        """Take one step from the labels if the judged rows are a sample, whose optimum is another."""
        return {} if self.is_whole else {"max_iter": 1}

    def _distances(self, rows: FloatArray) -> FloatArray:
        """Return the distances (m, m) between the judged rows."""
        from sklearn.metrics import euclidean_distances

        distances: FloatArray = euclidean_distances(rows)
        np.fill_diagonal(distances, 0.0)
        return (distances + distances.T) / 2.0

    def _kmeans(self) -> Iterator[_Candidate]:
        """Yield k-means, by itself and started at the labels."""
        from sklearn.cluster import KMeans

        products = self.few.shape[0] * self.few.shape[1] * self.k
        blank = KMeans(self.k, n_init=_RUNS if products <= MAX_ENTRIES else 1)
        for name, clusterer in self._spaces("k-means", blank):
            rows = self.rows
            if clusterer is not blank:
                rows = clusterer[:-1].fit_transform(rows)
            started = KMeans(self.k, init=_means(rows, self.codes), n_init=1, **self._steps)
            yield _Candidate(name, clusterer, kept=started.fit_predict(rows))

    def _linkages(self) -> Iterator[_Candidate]:
        """Yield hierarchical clusterings, from one computation of the distances."""
        from scipy.cluster.hierarchy import linkage
        from scipy.spatial.distance import squareform
        from sklearn.cluster import AgglomerativeClustering

        distances = squareform(self._distances(self.few), checks=False)
        for method in ("ward", "average", "complete", "single"):
            name = "Ward's method" if method == "ward" else f"{method} linkage"
            labels = _cut(linkage(distances, method), self.k)
            yield _Candidate(name, AgglomerativeClustering(self.k, linkage=method), labels)
            if method == "ward" and self.is_uneven:
                _, (name, clusterer) = self._spaces(name, AgglomerativeClustering(self.k))
                yield _Candidate(name, clusterer)

    def _mixtures(self) -> Iterator[_Candidate]:
        """Yield Gaussian mixtures, by themselves and started at the labels."""
        from sklearn.mixture import GaussianMixture

        rows, (_, place, sizes) = self.few, np.unique(self.own, return_inverse=True, return_counts=True)
        means = _means(rows, self.own)
        residuals, reg = rows - means[place], max(1e-3 * float(rows.var()), 1e-12)
        for kind in ("full", "diag", "tied", "spherical"):
            if kind in ("full", "tied") and rows.size * rows.shape[1] > SLOWER * MAX_ENTRIES:
                continue  # the cost grows with the square of the columns
            if kind == "full" and np.median(sizes) < 2 * rows.shape[1]:
                continue  # any labels are an optimum
            clusterer = GaussianMixture(self.k, covariance_type=kind, reg_covar=reg)
            started = GaussianMixture(
                sizes.size, covariance_type=kind, reg_covar=reg, weights_init=sizes / sizes.sum(), means_init=means,
                precisions_init=_precisions(residuals, place, sizes, kind, reg), **self._steps,
            )  # fmt: skip
            try:
                kept = started.fit_predict(rows)
            except (ValueError, NotImplementedError, np.linalg.LinAlgError):  # the second with array API dispatch
                continue
            yield _Candidate(f"a Gaussian mixture ({kind})", clusterer, kept=kept)

    def _leiden(self) -> Iterator[_Candidate]:
        """Yield Leiden with the resolution that gives the number of clusters of the labels, if igraph is installed."""
        if find_spec("igraph") is None:
            return
        from allegiance.clusterers import Leiden

        graph = Leiden()._neighbor_graph(self.few)
        low, resolution, high = 0.0, 1.0, np.inf
        for _ in range(_RUNS):
            labels = Leiden(resolution, metric="precomputed").fit_predict(graph)
            yield _Candidate(f"Leiden (resolution={resolution:.2g})", Leiden(resolution), labels)
            n_clusters = int(labels.max()) + 1
            if n_clusters == self.k:
                return
            low, high = (resolution, high) if n_clusters < self.k else (low, resolution)
            resolution = 2.0 * resolution if np.isinf(high) else (low + high) / 2.0

    def _hdbscan(self, method: str = "eom", *, plain: bool = True) -> Iterator[_Candidate]:
        """Yield HDBSCAN with the best cluster size, in the given space or in that of standardized columns."""
        from sklearn.cluster import HDBSCAN
        from sklearn.metrics import adjusted_rand_score

        def hdbscan(size: int) -> tuple[str, Any]:
            title = f"HDBSCAN (min_cluster_size={size}{', leaf' if method == 'leaf' else ''})"
            clusterer = HDBSCAN(size, cluster_selection_method=method, copy=True)
            return list(self._spaces(title, clusterer))[0 if plain else -1]

        def rand_index(size: int) -> float:
            return float(adjusted_rand_score(self.own, self.labels(hdbscan(size)[1])))

        size, also = _best_count("min_cluster_size", rand_index, self._smallest)
        yield _Candidate(*hdbscan(size), also=also)

    @cached_property
    def _smallest(self) -> int:
        """Members of the smallest cluster, which no ``min_cluster_size`` of a stand-in exceeds."""
        members = np.bincount(self.codes[self.codes >= 0])
        return int(members[members > 0].min() * self.n_total / self.codes.size)

    def _dbscan(self, name: str, rows: FloatArray) -> Iterator[_Candidate]:
        """Yield DBSCAN with the count and the radius that best separate noise from clusters.

        A point is noise if the radius is below its threshold: the least radius that reaches a core point.
        """
        from sklearn.cluster import DBSCAN
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        noise = self.own < 0
        if not self.is_whole or not noise.any() or noise.all():
            return
        distances, radius = self._distances(rows), dict[int, float]()
        largest = max(self._smallest, 2)
        nearest = np.argpartition(distances, largest - 1, axis=1)[:, :largest]
        distances = np.take_along_axis(distances, nearest, axis=1)
        order = np.argsort(distances, axis=1)
        nearest = np.take_along_axis(nearest, order, axis=1)
        distances = np.take_along_axis(distances, order, axis=1)

        def noise_separation(count: int) -> float:
            core = distances[:, count - 1]
            thresholds = np.maximum(distances[:, :count], core[nearest[:, :count]]).min(axis=1)
            order = np.argsort(thresholds, kind="stable")
            errors = np.cumsum(np.where(noise[order], 1, -1))[:-1]  # of a radius after each of the thresholds
            at = int(errors.argmin())
            radius[count] = float(thresholds[order[at : at + 2]].mean())
            return -float(errors[at])

        count, also = _best_count("min_samples", noise_separation, largest)
        clusterer = DBSCAN(radius[count], min_samples=count)
        labels = clusterer.fit_predict(rows)
        if rows is not self.few:
            clusterer = make_pipeline(StandardScaler(), clusterer)
        name = f"{name} (eps={radius[count]:.3g}, min_samples={count})"
        yield _Candidate(name, clusterer, labels, also=also)

    def labels(self, clusterer: Any, seed: int | None = 0) -> AnyArray:
        """Return the labels of the judged rows, by a clusterer adapted to their number; None keeps its own seed."""
        fitted = adapt(clusterer, self.few, self.few, self.few.shape[0] / self.n_total)
        parameters = fitted.get_params()
        seeds = [name for name in parameters if name.rsplit("__", 1)[-1] == "random_state"]
        fitted.set_params(**{name: seed or 0 for name in seeds if seed is not None or parameters[name] is None})
        return fit_labels(fitted, self.few, self.weights)

    def may_be_run(self, clusterer: Any) -> bool:
        """Tell whether the user's labels resemble a run with another seed as such runs resemble each other.

        They must have as many clusters as one of the runs, or a number in between, and be as close to one as all are.
        """
        from sklearn.metrics import adjusted_rand_score

        runs = [self.own, *(self.labels(clusterer, seed) for seed in range(1, _RERUNS + 1))]
        closest = [max(adjusted_rand_score(run, other) for other in runs[1:] if other is not run) for run in runs]
        numbers = [np.unique(run).size for run in runs]
        return min(numbers[1:]) <= numbers[0] <= max(numbers[1:]) and closest[0] >= min(closest[1:])


def are_unrelated(rows: Any, codes: IntArray) -> bool:
    """Tell whether labels are unrelated to the rows: neighbors share one no more often than by chance (two errors)."""
    from sklearn.neighbors import NearestNeighbors

    inner = np.flatnonzero(codes >= 0)
    try:
        numbers = _as_floats(take(rows, inner))
    except (TypeError, ValueError):
        return False
    codes, m = codes[inner], inner.size
    if np.ptp(codes) == 0:
        return False
    queries = np.arange(min(m, SUBSAMPLE_ROWS))  # rows are sorted by their hash
    search = NearestNeighbors(n_neighbors=2, algorithm="brute").fit(numbers)
    near = search.kneighbors(numbers[queries], return_distance=False)
    nearest = np.where(near[:, 0] == queries, near[:, 1], near[:, 0])
    chance = float(((np.bincount(codes) / m) ** 2).sum())
    error = float(np.sqrt(chance * (1.0 - chance) / queries.size))
    return float((codes[nearest] == codes[queries]).mean()) < chance + 2.0 * error


def _as_floats(rows: Any) -> Any:
    """Return the rows of a stand-in, which are dense or sparse, as float64."""
    return rows if is_sparse(rows) else np.asarray(rows, dtype=np.float64)


def _best_count(name: str, score: Callable[[int], float], largest: int) -> tuple[int, str]:
    """Return the middle of the counts from 2 to ``largest`` of highest score, and their range as text, if it is one.

    Counts are doubled first, and then bisected at both ends of the best ones.
    """
    scores: dict[int, float] = {}
    largest = max(largest, 2)
    counts = {largest, *(2**power for power in range(1, largest.bit_length()))}
    while counts:
        scores |= {count: score(count) for count in sorted(counts)}
        tried, highest = sorted(scores), max(scores.values())
        best = [count for count in tried if scores[count] == highest]
        first, last = tried.index(best[0]), tried.index(best[-1])
        counts = {sum(tried[at : at + 2]) // 2 for at in (max(first - 1, 0), last) if at + 1 < len(tried)}
        counts -= scores.keys()
    middle = min(best, key=lambda count: abs(np.log(count**2 / (best[0] * best[-1]))))
    return middle, f"{name} from {best[0]} to {best[-1]}" if len(best) > 1 else ""


def _cut(tree: FloatArray, k: int) -> IntArray:
    """Return the k clusters (m,) of a linkage matrix."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    m = tree.shape[0] + 1
    nodes, parts = m + np.arange(m - k).repeat(2), tree[: m - k, :2].astype(np.int64).ravel()
    edges = coo_array((np.ones(nodes.size), (nodes, parts)), shape=(2 * m, 2 * m))
    return np.asarray(connected_components(edges, directed=False)[1][:m])


def _means(rows: Rows, codes: IntArray) -> FloatArray:
    """Return the means (k, d) of the clusters that occur."""
    return np.array([np.asarray(rows[codes == c].mean(axis=0)).ravel() for c in np.unique(codes)])


def _precisions(residuals: FloatArray, place: IntArray, sizes: IntArray, kind: str, reg: float) -> FloatArray:
    """Return the inverse covariances of the clusters, from which a mixture starts, in scikit-learn's shapes."""
    d, k = residuals.shape[1], sizes.size
    if kind == "tied":
        tied: FloatArray = np.linalg.inv(residuals.T @ residuals / len(residuals) + reg * np.eye(d)).astype(np.float64)
        return tied
    if kind == "full":
        own = [residuals[place == c] for c in range(k)]
        return np.array([np.linalg.inv(part.T @ part / len(part) + reg * np.eye(d)) for part in own])
    variances = np.array([(residuals[place == c] ** 2).mean(axis=0) for c in range(k)])
    return 1.0 / ((variances if kind == "diag" else variances.mean(axis=1)) + reg)
