"""Several clusterings of the same data: whose labels can be trusted more, and whether a consensus of them helped."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from allegiance._core.parallel import resolve_seed
from allegiance._core.progress import Verbose, progress
from allegiance._core.validation import AnyArray, BoolArray, FloatArray, IntArray
from allegiance._scorer import AffinityScorer
from allegiance.calibration import Calibration
from allegiance.fitting import unique_name
from allegiance.metrics import rand_distance
from allegiance.notebook import Card, Cell, Shown, count, share_bar
from allegiance.results import FIRM, VERDICTS, AffinityResult, FrameLike

#: How the columns of the printed tables are written: those of candidates, and those of a consensus.
_CANDIDATE_FORMATS = {
    "candidate": "",
    "clusters": ",",
    "labelled": ".0%",
    "replication": ".0%",
    "above chance": ".2f",
    "firm": ",",
    "borderline": ",",
    "doubtful": ",",
    "best for": ",",
    "stable": ".0%",
}
_CONSENSUS_FORMATS = {
    "clustering": "",
    "clusters": ",",
    "above chance": ".2f",
    "gain": "+.2f",
    "firm": ",",
    "gained": ",",
    "lost": ",",
    "stable": ".1%",
    "Rand distance": ".3f",
    "verdict": "",
}
_CONSENSUS = "consensus"
#: The change of replication above chance from which on a consensus counts as improved, or lost.
_CONSIDERABLE = 0.05


class CandidateLine(NamedTuple):
    """One candidate in numbers."""

    name: str
    n_clusters: int
    labelled: float
    """Share of the points that are not noise."""
    replication: float
    """Mean trust in the labels."""
    above_chance: float
    """What candidates are judged by: 1 if all labels come back, 0 if no more than unrelated ones would."""
    firm: int
    borderline: int
    doubtful: int
    best_for: int
    """Number of points whose label is trusted most under this candidate."""
    stable: float
    """Share of the points that are stable, the paper's criterion."""


@dataclass(frozen=True, repr=False, eq=False)
class ClusteringComparison(Shown):
    """Several clusterings of the same points.

    ``print(comparison)`` gives a summary, :meth:`frame` one row per point.

    Attributes
    ----------
    results
        The affinities of all points under each candidate, and trust in its labels, by name.

    See Also
    --------
    allegiance.compare_clusterings : What returns it, with an example.
    """

    results: dict[str, AffinityResult]
    _frame: FrameLike = field(repr=False)

    @property
    def names(self) -> list[str]:
        """The names of the candidates, in the order of the columns of the arrays below."""
        return list(self.results)

    @property
    def n_points(self) -> int:
        """The number of points."""
        return len(next(iter(self.results.values())))

    @cached_property
    def above_chance(self) -> FloatArray:
        """(m,) replication above chance in the labels of each candidate: what they are judged by."""
        return np.array([result.summary().above_chance for result in self.results.values()])

    @property
    def best(self) -> str:
        """The name of the candidate that comes back most, above chance; the first of equals."""
        return self.names[int(self.above_chance.argmax())]

    @cached_property
    def trust(self) -> FloatArray:
        """(n, m) chance that the label of each point comes back under each candidate, NaN for noise."""
        return np.column_stack([result.trust for result in self.results.values()])

    @cached_property
    def trust_above_chance(self) -> FloatArray:
        """(n, m) trust on a scale where 0 is what labels unrelated to the data would have, and 1 is certainty.

        Noise has no label to trust, and one cluster for all says nothing: both have 0.
        """
        maps = [result._trust_map for result in self.results.values()]
        chance = np.array([found.chance for found in maps if found is not None])
        scaled = (self.trust - chance) / np.where(chance < 1.0, 1.0 - chance, np.inf)
        return np.nan_to_num(scaled, nan=0.0)

    @cached_property
    def firm(self) -> BoolArray:
        """(n, m) whether the verdict on the label of each point is "firm" under each candidate."""
        return np.column_stack([result.verdict == FIRM for result in self.results.values()])

    @property
    def n_firm(self) -> IntArray:
        """(n,) under how many candidates the label of each point is firm."""
        return self.firm.sum(axis=1)

    @property
    def never_firm(self) -> BoolArray:
        """(n,) whether no candidate has a firm label for the point: review these, whichever is chosen."""
        return self.n_firm == 0

    @cached_property
    def best_by_point(self) -> AnyArray:
        """(n,) name of the candidate whose label for the point is trusted most above chance; the first of equals."""
        return np.array(self.names)[self.trust_above_chance.argmax(axis=1)]

    def candidates(self) -> list[CandidateLine]:
        """Return the figures of each candidate, in the order given."""
        lines = []
        for (name, result), above in zip(self.results.items(), self.above_chance.tolist(), strict=True):
            summary = result.summary()
            line = CandidateLine(
                name=name,
                n_clusters=result.classes.size,
                labelled=summary.n_labels / max(summary.n_points, 1),
                replication=result.replication,
                above_chance=above,
                **summary.verdicts,
                best_for=int((self.best_by_point == name).sum()),
                stable=summary.stable / max(summary.n_points, 1),
            )
            lines.append(line)
        return lines

    def frame(self, like: Any = None) -> Any:
        """Return one row per point, in the order of the input.

        Columns are ``label_<name>``, ``trust_<name>`` and ``verdict_<name>`` for each candidate, then ``best`` and
        ``n_firm``.

        Parameters
        ----------
        like
            A frame whose kind, and for pandas whose index, to use. By default those of the X that was scored; pandas
            if X was not a frame.
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
        lines, m = self.candidates(), len(self.results)
        everywhere, nowhere = int((self.n_firm == m).sum()), int(self.never_firm.sum())
        headline = (
            f"Most replication above chance: {self.best}. Labels firm under every candidate: {everywhere:,} "
            f"points, under some {self.n_points - everywhere - nowhere:,}, under none {nowhere:,}"
        )
        title, bars = f"{count(m, 'clustering')} of {self.n_points:,} points", [line[5:8] for line in lines]
        return _table_card(title, headline, _CANDIDATE_FORMATS, lines, bars, self.notes())

    def notes(self) -> list[str]:
        """Say where trust should not be believed as it is."""
        problems = {name: " ".join(result.summary().problems) for name, result in self.results.items()}
        notes = [f"{name}: {text}" for name, text in problems.items() if text]
        if any(result._noise.any() for result in self.results.values()):
            notes.append("Noise has no label to trust: a candidate that leaves doubtful points out looks better.")
        return notes


def compare_clusterings(
    X: Any, clusterings: Any, *, scorer: AffinityScorer | None = None, verbose: Verbose = False
) -> ClusteringComparison:
    """Score every point under several candidate clusterings, and say which labels can be trusted more.

    Candidates are judged by replication above chance, (S - C) / (1 - C) with S the share of labels that come back and C
    that of labels unrelated to the data. So numbers of clusters may differ. All candidates are scored with the same
    settings and the same random numbers.

    Parameters
    ----------
    X
        (n, d) data: array, sparse matrix, or frame (pandas, polars).
    clusterings
        The candidates, in a dictionary by name or a list. Each is (n,) labels, -1 for noise, or a clusterer, of which a
        clone is fitted; a fitted one is kept as it is inside a :class:`~sklearn.frozen.FrozenEstimator`.
    scorer
        How labels are scored, with calibration and without clusters of its own. By default
        ``AffinityScorer(influence="within", calibration=20)``.
    verbose
        Whether to show how many candidates are scored, or a callback that receives it.

    Returns
    -------
    ClusteringComparison
        The results of all candidates, and how they compare.

    See Also
    --------
    stability_curve : To look for a number of clusters.

    Notes
    -----
    Subsamples are clustered by the candidate itself if it is a clusterer, else by the stand-in that reproduces its
    labels best, unless the calibration of the scorer names a clusterer. Labels can come back and be wrong: two classes
    that always come out as one.

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
    return _score_all(X, by_name(clusterings, "clusterings"), scorer, verbose)


@dataclass(frozen=True, repr=False, eq=False)
class ConsensusValidation(Shown):
    """Trust in a consensus clustering of n points, and in the m clusterings it was made of.

    ``print(validation)`` gives a table and the verdict, :meth:`frame` one row per clustering.

    Attributes
    ----------
    comparison
        The clusterings and, as the last candidate, the consensus.
    rand_distance
        (m,) Rand distance between each clustering and the consensus.

    See Also
    --------
    allegiance.validate_consensus : What returns it, with an example.
    """

    comparison: ClusteringComparison
    rand_distance: FloatArray

    @property
    def gain(self) -> FloatArray:
        """(m,) replication above chance in the consensus minus that in each clustering."""
        *others, consensus = self.comparison.above_chance
        return consensus - np.array(others)

    @property
    def verdict(self) -> str:
        """What the median gain over the clusterings says about the consensus, in words."""
        gain, doubtful = float(np.median(self.gain)), ~self.comparison.firm[:, -1]
        typical, word = f"replication above chance {gain:+.2f} at the median", _verdict(gain)
        if word == "improved":
            return f"Improved: the labels of the consensus can be trusted more ({typical})."
        if word == "lost":
            return (
                f"Lost: the labels of the consensus can be trusted less ({typical}). The clusterings do not agree "
                "enough, and the consensus has little to do with them."
            )
        if not doubtful.any():
            return f"Little changed ({typical}): all labels are firm, so there was nothing to gain."
        always = int(self.comparison.never_firm.sum())
        return (
            f"Little changed ({typical}; {_CONSIDERABLE:.2f} would be considerable). Either the clusterings agreed "
            f"already (their median Rand distance from the consensus is {np.median(self.rand_distance):.3f}), or the "
            f"same points are doubtful in all of them ({always:,} of the {int(doubtful.sum()):,} in the consensus are)."
        )

    def frame(self) -> Any:
        """Return one row per clustering and one for the consensus, which is compared with itself.

        Columns are ``clustering``, ``n_clusters``, ``above_chance``, ``gain``, ``firm``, ``turned_firm``,
        ``turned_weak`` (numbers of points), ``stable_share``, ``rand_distance`` and ``verdict``.
        """
        lines, gain = self.comparison.candidates(), [*self.gain, 0.0]
        before, after = self.comparison.firm, self.comparison.firm[:, -1:]
        columns = {
            "clustering": [line.name for line in lines],
            "n_clusters": [line.n_clusters for line in lines],
            "above_chance": [line.above_chance for line in lines],
            "gain": gain,
            "firm": [line.firm for line in lines],
            "turned_firm": (~before & after).sum(axis=0),
            "turned_weak": (before & ~after).sum(axis=0),
            "stable_share": [line.stable for line in lines],
            "rand_distance": [*self.rand_distance, 0.0],
            "verdict": [*map(_verdict, gain[:-1]), ""],
        }
        return FrameLike().build({name: np.array(values) for name, values in columns.items()})

    def _card(self) -> Card:
        n, rows = self.comparison.n_points, [list(row) for row in self.frame().itertuples(index=False)]
        # The consensus is not compared with itself: gain, points gained and lost, Rand distance.
        rows[-1] = ["" if place in (3, 5, 6, 8) else value for place, value in enumerate(rows[-1])]
        title = f"Consensus of {len(rows) - 1} clusterings of {n:,} points"
        bars = [(row[4], n - row[4]) for row in rows]
        return _table_card(title, self.verdict, _CONSENSUS_FORMATS, rows, bars, self.comparison.notes())


def _verdict(gain: float) -> str:
    """Say what a gain in replication above chance means."""
    return "improved" if gain >= _CONSIDERABLE else "lost" if gain <= -_CONSIDERABLE else "little changed"


def _table_card(
    title: str, line: str, formats: dict[str, str], rows: Iterable[Any], bars: list[Any], notes: list[str]
) -> Card:
    """Return a card with a bar of verdicts before the number of firm labels."""
    place, cells = list(formats).index(FIRM), list[list[Cell]]()
    for row, numbers in zip(rows, bars, strict=True):
        texts = ["" if value == "" else format(value, how) for value, how in zip(row, formats.values(), strict=True)]
        bar = share_bar(dict(zip(VERDICTS, numbers, strict=False)))
        cells.append([*texts[:place], bar, *texts[place:]])
    headings = [*list(formats)[:place], "", *list(formats)[place:]]
    return Card(title, [line], headings=headings, rows=cells, words=(headings[0], "verdict", ""), notes=notes)


def validate_consensus(
    X: Any,
    labelings: Any,
    consensus: Any,
    *,
    scorer: AffinityScorer | None = None,
    verbose: Verbose = False,
) -> ConsensusValidation:
    """Say whether a consensus clustering is better than those it was made of, by how far its labels can be trusted.

    Every clustering is scored with the same settings and seed. The consensus improved if more of its labels come back,
    above chance; if little changed, the clusterings agreed already, or the points are ambiguous under all; if fewer
    come back, it has little to do with them.

    Parameters
    ----------
    X
        (n, d) data: array, sparse matrix or frame.
    labelings
        Labels (n,) of each, in a dictionary by name or a list: ``labelings_`` of a fitted :class:`ConsensusClustering`.
    consensus
        (n,) labels of the consensus.
    scorer
        How labels are scored, with calibration and without clusters of its own. By default
        ``AffinityScorer(influence="within", calibration=20)``.
    verbose
        As in :func:`compare_clusterings`.

    Returns
    -------
    ConsensusValidation
        Trust in each clustering, and a verdict.

    See Also
    --------
    ConsensusClustering : Finds a consensus.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from allegiance import ConsensusClustering, validate_consensus
    >>> X, _ = make_blobs(300, centers=4, cluster_std=2.0, random_state=1)
    >>> model = ConsensusClustering(n_clusters=4, random_state=0).fit(X)
    >>> validation = validate_consensus(X, model.labelings_, model.labels_)
    >>> validation.frame().set_index("clustering").verdict["single"]
    'improved'
    """
    named = by_name(labelings, "labelings")
    if _CONSENSUS in named:
        raise ValueError("labelings must not call one of them 'consensus': rename it.")
    comparison = _score_all(X, named | {_CONSENSUS: consensus}, scorer, verbose)
    return ConsensusValidation(comparison, np.array([rand_distance(each, consensus) for each in named.values()]))


def by_name(clusterings: Any, argument: str) -> dict[str, Any]:
    """Return clusterings by name; those of a list are called after their kind, such as "labels 2" or "KMeans"."""
    if isinstance(clusterings, str) or not hasattr(clusterings, "__iter__"):
        raise TypeError(
            f"{argument} must be a dictionary by name, such as {{'k-means': KMeans(3), 'mine': labels}}, or a list, "
            f"got {type(clusterings).__name__}."
        )
    named: dict[str, Any] = {}
    if isinstance(clusterings, Mapping):
        named = {str(name): each for name, each in clusterings.items()}
    else:
        for each in clusterings:
            kind = type(each).__name__ if hasattr(each, "fit") and not isinstance(each, type) else "labels"
            named[unique_name(kind, named)] = each
    if not named:
        raise ValueError(f"{argument} is empty: it needs at least one clustering.")
    for name, each in named.items():
        if isinstance(each, type) or (not (hasattr(each, "fit") or callable(each)) and np.ndim(each) != 1):
            kind = each.__name__ if isinstance(each, type) else type(each).__name__
            raise TypeError(f"{argument}[{name!r}] must be a clusterer or labels, one for each row of X, got {kind}.")
    return named


def _score_all(
    X: Any, candidates: dict[str, Any], scorer: AffinityScorer | None, verbose: Verbose
) -> ClusteringComparison:
    """Score labels (n,) and clusterers, of which clones are fitted, with one seed; errors name the candidate."""
    checked, results = _check_scorer(scorer), {}
    with progress(len(candidates), "comparison", verbose, unit="clusterings") as advance, warnings.catch_warnings():
        # The table says it, with the candidate's name.
        warnings.filterwarnings("ignore", message="None of the built-in clusterers")
        for name, candidate in candidates.items():
            clusters_itself = (hasattr(candidate, "fit") or callable(candidate)) and not isinstance(candidate, type)
            try:
                if clusters_itself:
                    results[name] = clone(checked).set_params(estimator=candidate).fit_affinity(X)
                else:
                    results[name] = clone(checked).fit_affinity(X, candidate)
            except (TypeError, ValueError) as error:
                raise type(error)(f"clustering {name!r}: {error}") from error
            advance(1)
    return ClusteringComparison(results, FrameLike.of(X))


def _check_scorer(scorer: AffinityScorer | None) -> AffinityScorer:
    """Return a copy of the scorer, or the default one, with one seed for everything that it will score."""
    if scorer is None:
        return AffinityScorer(influence="within", calibration=20)
    if not isinstance(scorer, AffinityScorer):
        raise TypeError(f"scorer must be an AffinityScorer, such as AffinityScorer(calibration=20), got {scorer!r}.")
    for name in ("estimator", "centers"):
        if getattr(scorer, name) is not None:
            raise ValueError(f"scorer has {name}, but the clusters are those to compare: pass a scorer without it.")
    if Calibration.resolve(scorer.calibration) is None:
        raise ValueError("scorer has no calibration, but trust is compared: pass AffinityScorer(calibration=20).")
    return clone(scorer).set_params(random_state=resolve_seed(scorer.random_state))
