"""Compare several clusterings of the same data."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from allegiance._core.parallel import resolve_seed
from allegiance._core.progress import Verbose, progress
from allegiance._core.validation import AnyArray, BoolArray, FloatArray, IntArray
from allegiance._scorer import AffinityScorer
from allegiance.calibration import Calibration
from allegiance.fitting import unique_name
from allegiance.notebook import Card, CardMixin, Cell, count, share_bar
from allegiance.results import FIRM, VERDICTS, AffinityResult, FrameLike

#: Formats of numbers in the printed tables; others are counts.
_FORMATS = {
    "labeled": ".0%",
    "replication": ".0%",
    "above_chance": ".2f",
    "gain": "+.2f",
    "stable": ".0%",
    "rand_distance": ".3f",
}
#: Headings of columns whose name is not one.
_HEADINGS = {
    "name": "candidate",
    "n_clusters": "clusters",
    "turned_firm": "gained",
    "turned_weak": "lost",
    "rand_distance": "Rand distance",
}


@dataclass(frozen=True, repr=False, eq=False)
class ClusteringComparison(CardMixin):
    """Several clusterings of the same points.

    Returned by :func:`allegiance.compare_clusterings`. ``print(comparison)`` gives a summary, :meth:`candidates` one
    row per candidate, :meth:`frame` one row per point.

    Attributes
    ----------
    results
        The result of each candidate by name: affinities of all points, and trust in its labels.
    """

    results: dict[str, AffinityResult]
    _frame: FrameLike = field(repr=False)

    @property
    def names(self) -> list[str]:
        """The names of the clusterings compared, in the column order of the arrays below."""
        return list(self.results)

    @property
    def n_points(self) -> int:
        """The number of points of the clusterings compared."""
        return len(next(iter(self.results.values())))

    @cached_property
    def above_chance(self) -> FloatArray:
        """(m,) replication above chance of each candidate, by which candidates are ranked."""
        return np.array([result.summary().above_chance for result in self.results.values()])

    @property
    def best(self) -> str:
        """The name of the candidate with the highest replication above chance; the first one in a tie."""
        return self.names[int(self.above_chance.argmax())]

    @cached_property
    def trust(self) -> FloatArray:
        """(n, m) trust in the label of each point under each candidate; NaN for noise."""
        return np.column_stack([result.trust for result in self.results.values()])

    @cached_property
    def trust_above_chance(self) -> FloatArray:
        """(n, m) trust under each candidate, rescaled: 0 for labels unrelated to the data, 1 for certainty.

        It is 0 for noise, which has no label, and for candidates with a single cluster.
        """
        maps = [result._trust_map for result in self.results.values()]
        chance = np.array([trust_map.chance for trust_map in maps if trust_map is not None])
        scaled = (self.trust - chance) / np.where(chance < 1.0, 1.0 - chance, np.inf)
        return np.nan_to_num(scaled, nan=0.0)

    @cached_property
    def firm(self) -> BoolArray:
        """(n, m) whether the label of each point is firm under each candidate."""
        return np.column_stack([result.verdict == FIRM for result in self.results.values()])

    @property
    def n_firm(self) -> IntArray:
        """(n,) number of candidates under which the label of each point is firm."""
        return self.firm.sum(axis=1)

    @property
    def never_firm(self) -> BoolArray:
        """(n,) whether the label is firm under no candidate. Review these points whichever candidate you choose."""
        return self.n_firm == 0

    @cached_property
    def best_by_point(self) -> AnyArray:
        """(n,) name of the candidate with the highest trust above chance in the point; the first one in a tie."""
        return np.array(self.names)[self.trust_above_chance.argmax(axis=1)]

    def candidates(self) -> Any:
        """Return a pandas frame with one row per candidate, in the order of ``clusterings``.

        Columns are ``name``, ``n_clusters``, ``labeled`` (share of points that are not noise), ``replication``,
        ``above_chance``, ``firm``, ``borderline``, ``doubtful``, ``best_for`` (number of points for which this
        candidate is best) and ``stable`` (share of points that are stable, the paper's criterion).
        """
        results, n = self.results.values(), max(self.n_points, 1)
        summaries = [result.summary() for result in results]
        columns: dict[str, Any] = {
            "name": self.names,
            "n_clusters": [result.classes.size for result in results],
            "labeled": [summary.n_labels / n for summary in summaries],
            "replication": [result.replication for result in results],
            "above_chance": self.above_chance,
            **{verdict: [summary.verdicts[verdict] for summary in summaries] for verdict in VERDICTS[:3]},
            "best_for": [(self.best_by_point == name).sum() for name in self.names],
            "stable": [summary.stable / n for summary in summaries],
        }
        return FrameLike().build({name: np.array(values) for name, values in columns.items()})

    def frame(self, like: Any = None) -> Any:
        """Return the compared clusterings with one row per point, in input order.

        Columns are ``label_<name>``, ``trust_<name>`` and ``verdict_<name>`` for each candidate, then ``best`` and
        ``n_firm``. ``like`` is as in :meth:`allegiance.AffinityResult.frame`.
        """
        columns: dict[str, AnyArray] = {}
        for name, result in self.results.items():
            columns[f"label_{name}"] = result.label
            columns[f"trust_{name}"] = result.trust
            columns[f"verdict_{name}"] = result.verdict
        columns["best"] = self.best_by_point
        columns["n_firm"] = self.n_firm
        frame = self._frame if like is None else FrameLike.of(like)
        return frame.build(columns)

    def _card(self) -> Card:
        """Return the card that displays the comparison of clusterings."""
        rows, m = self.candidates(), len(self.results)
        everywhere, nowhere = int((self.n_firm == m).sum()), int(self.never_firm.sum())
        headline = (
            f"Highest replication above chance: {self.best}. Labels firm under every candidate: {everywhere:,} "
            f"points, under some {self.n_points - everywhere - nowhere:,}, under none {nowhere:,}"
        )
        title = f"{count(m, 'clustering')} of {self.n_points:,} points"
        return comparison_card(title, headline, rows, rows[[*VERDICTS[:3]]].values, self.notes())

    def notes(self) -> list[str]:
        """Return the problems that make the trust in some of the compared clusterings unreliable."""
        problems = {name: " ".join(result.summary().problems) for name, result in self.results.items()}
        notes = [f"{name}: {text}" for name, text in problems.items() if text]
        if any(result._noise.any() for result in self.results.values()):
            notes.append("Noise has no label to trust, so a candidate that leaves out doubtful points looks better.")
        return notes


def compare_clusterings(
    X: Any, clusterings: Any, *, scorer: AffinityScorer | None = None, verbose: Verbose = False
) -> ClusteringComparison:
    """Score every point under several candidate clusterings, and rank them by how well their labels replicate.

    Candidates are ranked by replication above chance, (S - C) / (1 - C), where S is the replication rate and C is the
    replication rate of labels unrelated to the data. Their numbers of clusters may differ. All candidates are scored
    with the same settings and random numbers.

    Parameters
    ----------
    X
        (n, d) data: array, sparse matrix, or frame (pandas, polars).
    clusterings
        The candidates, in a dictionary by name or a list. Each is (n,) labels, -1 for noise, a function from X to
        labels, or a clusterer, which is cloned and fitted. Wrap a fitted clusterer in a
        :class:`~sklearn.frozen.FrozenEstimator` to use it as it is.
    scorer
        The scorer to use, with calibration and without an estimator or centers. By default
        ``AffinityScorer(influence="within", calibration=20)``.
    verbose
        Whether to show progress over the candidates, or a callback for progress snapshots.

    Returns
    -------
    ClusteringComparison
        The result of each candidate, and their comparison.

    See Also
    --------
    stability_curve : Compares numbers of clusters.

    Notes
    -----
    A candidate that is a clusterer re-clusters the subsamples itself. For labels, the stand-in clusterer that
    reproduces them best does, unless the scorer's calibration names a clusterer. Labels can replicate and still be
    wrong: every replicate may merge the same two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from allegiance import compare_clusterings
    >>> X, species = load_iris(return_X_y=True)
    >>> shuffled = np.random.default_rng(0).permutation(species)
    >>> comparison = compare_clusterings(X, {"species": species, "shuffled": shuffled})
    >>> comparison.best
    'species'
    """
    return score_clusterings(X, by_name(clusterings), scorer, verbose)


def comparison_card(title: str, line: str, frame: Any, bars: Iterable[Any], notes: list[str]) -> Card:
    """Return the card of compared clusterings, with a verdict bar before the column of firm labels."""
    place, cells = list(frame.columns).index(FIRM), list[list[Cell]]()
    for row, counts in zip(frame.itertuples(index=False), bars, strict=True):
        texts = [
            value if isinstance(value, str) else format(value, _FORMATS.get(name, ","))
            for name, value in zip(frame.columns, row, strict=True)
        ]
        bar = share_bar(dict(zip(VERDICTS, counts, strict=False)))
        cells.append([*texts[:place], bar, *texts[place:]])
    headings = [_HEADINGS.get(name, name.replace("_", " ")) for name in frame.columns]
    headings.insert(place, "")
    return Card(title, [line], headings=headings, rows=cells, words=(headings[0], "verdict", ""), notes=notes)


def by_name(clusterings: Any) -> dict[str, Any]:
    """Return the clusterings to compare by name; entries of a list get names such as "labels 2" or "KMeans"."""
    if isinstance(clusterings, str) or not hasattr(clusterings, "__iter__"):
        raise TypeError(
            "clusterings must be a dictionary by name, such as {'k-means': KMeans(3), 'mine': labels}, or a list, got "
            f"{type(clusterings).__name__}."
        )
    named: dict[str, Any] = {}
    entries = clusterings.items() if isinstance(clusterings, Mapping) else ((None, entry) for entry in clusterings)
    for key, clustering in entries:
        is_class = isinstance(clustering, type)
        is_clusterer = hasattr(clustering, "fit") and not is_class
        kind = type(clustering).__name__ if is_clusterer else getattr(clustering, "__name__", "labels")
        name = unique_name(kind, named) if key is None else str(key)
        if is_class or not (is_clusterer or callable(clustering) or np.ndim(clustering) == 1):
            kind = kind if is_class else type(clustering).__name__
            raise TypeError(f"clusterings[{name!r}] must be a clusterer or labels, one for each row of X, got {kind}.")
        named[name] = clustering
    if not named:
        raise ValueError("clusterings is empty: pass at least one clustering.")
    return named


def score_clusterings(
    X: Any, candidates: dict[str, Any], scorer: AffinityScorer | None, verbose: Verbose
) -> ClusteringComparison:
    """Score all clusterings to compare with one seed; errors name the clustering."""
    checked, results = _check_scorer(scorer), {}
    with progress(len(candidates), "comparison", verbose, unit="clusterings") as advance, warnings.catch_warnings():
        # The notes of the comparison repeat it with the candidate's name.
        warnings.filterwarnings("ignore", message="None of the built-in clusterers")
        for name, candidate in candidates.items():
            try:
                if hasattr(candidate, "fit") or callable(candidate):
                    results[name] = clone(checked).set_params(estimator=candidate).fit_affinity(X)
                else:
                    results[name] = clone(checked).fit_affinity(X, candidate)
            except (TypeError, ValueError) as error:
                raise type(error)(f"clustering {name!r}: {error}") from error
            advance(1)
    return ClusteringComparison(results, FrameLike.of(X))


def _check_scorer(scorer: AffinityScorer | None) -> AffinityScorer:
    """Return a copy of the scorer that compares clusterings, or the default one, with a fixed seed for all of them."""
    if scorer is None:
        return AffinityScorer(influence="within", calibration=20)
    if not isinstance(scorer, AffinityScorer):
        raise TypeError(f"scorer must be an AffinityScorer, such as AffinityScorer(calibration=20), got {scorer!r}.")
    for name in ("estimator", "centers"):
        if getattr(scorer, name) is not None:
            raise ValueError(f"scorer has {name}, but the candidates define the clusters: pass a scorer without it.")
    if Calibration.resolve(scorer.calibration) is None:
        raise ValueError("scorer has no calibration, which trust needs: pass AffinityScorer(calibration=20).")
    return clone(scorer).set_params(random_state=resolve_seed(scorer.random_state))
