"""Trust: from the scores of a point to the chance that its label comes back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from allegiance._core.progress import Verbose
from allegiance._core.stored import Number, OrNone, Text, floats, stored
from allegiance._core.validation import AnyArray, FloatArray, IntArray, is_sparse

from ._logistic import fit_logistic
from ._null import null_replication
from ._replication import Calibration, Refit, Replication, above_chance, replicate, subsample_size, take
from ._samples import row_keys
from ._stand_in import stand_in

#: Prior standard deviation of cluster effects on the logit, and the penalty on the difference of the two slopes.
_EFFECTS, _RIDGE = 0.6, 0.03
#: Review order: least slope of both scores, which avoids ties, and the weight of item consensus (in deviations).
_MIN_SLOPE, _CONSENSUS = 0.05, 0.25
#: A logit whose probability is 1 in double precision.
_CERTAIN = 40.0
#: Neighbours that agree less than this, above chance, while labels come back less than that, are what shuffling leaves.
_INCOHERENT, _LOST = 0.1, 0.2
_UNRELATED = (
    "The labels look unrelated to the data: neighbouring points share a label hardly more often than chance, and no "
    "repeat brings the labels back. Check that labels and rows are in the same order."
)
#: Subsamples for a second clusterer that gives the same labels.
_RIVAL_SUBSAMPLES = 10
#: Halves that agree this much more with each other than with the labels find other clusters: for a clusterer that made
#: the labels, and for one that may not have.
_GAP, _SMALL_GAP = 0.2, 0.05
#: Points whose neighbours are looked up.
_QUERIES = 500
#: Points below which neighbours say nothing.
_LEAST_POINTS = 20


@stored(
    "trust-map",
    intercept=Number(),
    slopes=floats(2, low=0.0),
    effects=floats("k"),
    review_slopes=floats(2, low=0.0),
    review_offsets=floats("k"),
    reach=floats("k", low=0.0, infinite=True),
    share=Number(0.0, 1.0),
    margins=floats(2, low=0.0),
    cluster_margins=floats("k", low=0.0),
    chance=Number(0.0, 1.0),
    null_replication=OrNone(Number(0.0, 1.0)),
    note=Text(),
    warning=OrNone(Text()),
)
@dataclass(frozen=True, eq=False)
class TrustMap:
    """The chance that a label comes back, for known and for new points; arrays and texts only, so it can be saved.

    Attributes
    ----------
    intercept, slopes, effects
        Of the logit: a number, (2,) of own affinity and closeness, never negative, (k,) of the clusters.
    review_slopes, review_offsets
        (2,) and (k,) of the logit that orders labels for review.
    reach
        (k,) distance from the representative up to which the cluster has been seen.
    share
        The share of the labels of the sample that would come back.
    margins
        (2,) how far below and above the share the interval reaches that holds one repeat with a chance of 90 %.
    chance
        The share that unrelated partitions with clusters of these sizes would match.
    null_replication
        The share that comes back in normal data with the same covariance, if it is as much; None if it is less.
    note
        What was repeated, and how well it reproduces the labels.
    warning
        Why trust should not be believed as it is; None if nothing speaks against it.
    """

    intercept: float
    slopes: FloatArray
    effects: FloatArray
    review_slopes: FloatArray
    review_offsets: FloatArray
    reach: FloatArray
    share: float
    margins: FloatArray
    cluster_margins: FloatArray
    chance: float
    null_replication: float | None
    note: str
    warning: str | None = None

    def trust(
        self, own_affinity: FloatArray, closeness: FloatArray, codes: AnyArray, distance: FloatArray
    ) -> FloatArray:
        """Return the chance (n,) that the label of each point comes back, NaN for noise (code -1)."""
        logit = self.intercept + self.slopes[0] * own_affinity + self.slopes[1] * closeness
        return self._within_reach(logit, self.effects, codes, distance)

    def ranking(
        self, own_affinity: FloatArray, closeness: FloatArray, codes: AnyArray, distance: FloatArray
    ) -> FloatArray:
        """Return what labels are reviewed by (n,), the lowest first; NaN for noise. It is not a chance.

        It differs from trust where clusters do: a cluster that always comes back can still hold two classes.
        """
        logit = self.review_slopes[0] * own_affinity + self.review_slopes[1] * closeness
        return self._within_reach(logit, self.review_offsets, codes, distance)

    def _within_reach(
        self, logit: FloatArray, by_cluster: FloatArray, codes: AnyArray, distance: FloatArray
    ) -> FloatArray:
        """Return chances (n,), which shrink with the square of the distance beyond the farthest member."""
        inner = codes >= 0
        codes = np.where(inner, codes, 0)
        reach = self.reach[codes]
        seen = np.where(distance > reach, (reach / np.where(distance > 0, distance, 1.0)) ** 2, 1.0)
        return np.where(inner, expit(logit + by_cluster[codes]) * seen, np.nan)

    def interval(self, share: float) -> tuple[float, float]:
        """Return the interval that holds the share of one repeat with a chance of 90 %, around a mean share."""
        return max(0.0, share - float(self.margins[0])), min(1.0, share + float(self.margins[1]))

    def cluster_intervals(self, shares: FloatArray) -> FloatArray:
        """Return the 90% prediction interval (k, 2) of the replication (k,) of each cluster."""
        return np.clip(np.column_stack([shares - self.cluster_margins, shares + self.cluster_margins]), 0.0, 1.0)

    def above_chance(self, share: float) -> float:
        """Return a share of labels that come back, above chance."""
        return above_chance(share, self.chance)

    @property
    def remarks(self) -> list[str]:
        """What a reader must know before believing trust, in sentences."""
        found = [] if self.warning is None else [self.warning]
        if self.null_replication is not None:
            found.append(
                "No more labels come back than in data without clusters: of a normal distribution with the same "
                f"covariance {100 * self.null_replication:.0f} % would."
            )
        return found


def calibrate(
    calibration: Calibration,
    rows: Any,
    codes: IntArray,
    own_affinity: FloatArray,
    closeness: FloatArray,
    *,
    reach: FloatArray,
    clusterer: Any = None,
    others: Sequence[tuple[str, Any]] = (),
    n_total: int | None = None,
    seed: int = 0,
    threads: int = 1,
    verbose: Verbose = False,
) -> TrustMap:
    """Learn the chance that labels come back from a sample of labelled points.

    Parameters
    ----------
    calibration
        How many subsamples of which size, and the clusterer that made the labels, if the user named it.
    rows
        (m, d) array, CSR matrix or frame: the sample as the user passed it.
    codes, own_affinity, closeness
        (m,) each, of the sample. Codes of noise are -1.
    reach
        (k,) distance of the farthest member of each cluster.
    clusterer
        The estimator that made the labels, where ``calibration`` names none; None if it is not known.
    others
        More stand-ins by name.
    n_total
        Number of rows that the sample was drawn from.
    seed, threads, verbose
        As in :func:`replicate`.
    """
    calibration.check()
    codes = np.asarray(codes)
    if not (codes >= 0).any():
        raise ValueError("labels are all noise (-1): there is no label whose trust could be measured.")
    keys = row_keys(rows, codes)
    order = np.argsort(keys, kind="stable")
    rows, codes, own, close = take(rows, order), codes[order], own_affinity[order], closeness[order]
    whole = n_total is None or n_total <= codes.size
    if codes.size < 2 or reach.size < 2:
        return _certain(reach)
    chosen, known = None, calibration.clusterer if calibration.clusterer is not None else clusterer
    if known is None:
        chosen = stand_in(_moderate(rows), codes, whole=whole, others=others)
        known = chosen.clusterer
    found = replicate(
        rows, codes, known, calibration=calibration, seed=seed, threads=threads, verbose=verbose, n_total=n_total,
        keys=keys[order],
    )  # fmt: skip
    size = subsample_size(known, codes.size, reach.size, calibration)
    refit = Refit(known, rows, None, size / max(n_total or codes.size, codes.size))
    null = null_replication(rows, found, refit, size, seed, threads)
    note, (low, high) = _note(known, chosen, found), found.interval
    if chosen is not None and chosen.other is not None:
        fewer = replace(calibration, n_resamples=_RIVAL_SUBSAMPLES)
        rival = chosen.other
        with suppress(ValueError):  # it may fail on every subsample
            other = replicate(
                rows, codes, rival.clusterer, calibration=fewer, seed=seed, threads=threads, keys=keys[order]
            )
            note += f" With {rival.name}, which gives the same labels, {100 * other.share:.0f} % would come back."
            low, high = min(low, other.interval[0]), max(high, other.interval[1])
    parts = fit_map(own, close, codes, found, reach.size, calibration.size_prior)
    parts["intercept"] += _shift_to(found.share, own, close, codes, parts)
    found_again = chosen is not None and chosen.reproduces
    unrelated = not found_again and above_chance(found.share, found.chance) < _LOST and _is_incoherent(rows, codes)
    return TrustMap(
        **parts,
        reach=reach,
        share=found.share,
        margins=np.array([found.share - low, high - found.share]),
        cluster_margins=found.cluster_margins(codes, reach.size),
        chance=found.chance,
        null_replication=None if unrelated else null,
        note=note,
        warning=_UNRELATED if unrelated else _warning(known, chosen, found),
    )


def _shift_to(share: float, own: FloatArray, closeness: FloatArray, codes: IntArray, parts: dict[str, Any]) -> float:
    """Return what to add to the intercept so that the mean trust of labelled points is a share."""
    inner = codes >= 0
    logit = (
        parts["intercept"] + parts["slopes"] @ np.array([own[inner], closeness[inner]]) + parts["effects"][codes[inner]]
    )

    def excess(shift: float) -> float:
        return float(expit(logit + shift).mean()) - share

    # Where points lie far outside all others, no shift may reach the share.
    if excess(-_CERTAIN) >= 0.0:
        return -_CERTAIN
    return _CERTAIN if excess(_CERTAIN) <= 0.0 else float(brentq(excess, -_CERTAIN, _CERTAIN))


def _moderate(rows: Any) -> Any:
    """Return rows as numbers."""
    return rows if is_sparse(rows) else np.asarray(rows, dtype=np.float64)


def _certain(reach: FloatArray) -> TrustMap:
    """Return the map of a single cluster, which comes back whatever happens, and of a single point."""
    zeros, offsets = np.zeros(2), np.zeros(reach.size)
    note = (
        "There is one cluster: it always comes back." if reach.size < 2 else "There is one point: nothing was repeated."
    )
    return TrustMap(_CERTAIN, zeros, offsets, zeros + _MIN_SLOPE, offsets, reach, 1.0, zeros, offsets, 1.0, None, note)


def fit_map(
    own_affinity: FloatArray,
    closeness: FloatArray,
    codes: IntArray,
    result: Replication,
    n_clusters: int,
    size_prior: float = 0.25,
) -> dict[str, Any]:
    """Fit the logistic map from two scores and the cluster to the replication rate; return its parameters by name.

    The review order adds a minimum slope, the size of the cluster, and item consensus as the same scores predict it, so
    that it is defined for new points, too.
    """
    use = result.times > 0
    scores = np.column_stack([own_affinity, closeness])[use]
    center, scale = scores.mean(axis=0), np.maximum(scores.std(axis=0), 1e-9)
    F, weights, c = (scores - center) / scale, result.times[use], codes[use]
    b, effects = _fit_rates(F, c, result.rate[use], weights, n_clusters)
    consensus, consensus_effects = _fit_rates(F, c, result.consensus[use], weights, n_clusters)
    slopes = b[1:] / scale
    review = b[1:] + _MIN_SLOPE
    spread = float((F @ review).std())
    predicted = F @ consensus[1:] + consensus_effects[c]
    share = _CONSENSUS * spread / max(float(predicted.std()), 1e-9)
    review = (review + share * consensus[1:]) / scale
    sizes = size_prior * spread * _standard_log_sizes(codes, n_clusters)
    offsets = b[0] - review @ center - sizes + share * (consensus_effects - float(consensus_effects[c].mean()))
    return {
        "intercept": float(b[0] - slopes @ center),
        "slopes": slopes,
        "effects": effects,
        "review_slopes": review,
        "review_offsets": offsets,
    }


def _fit_rates(
    F: FloatArray, codes: IntArray, rate: FloatArray, weights: FloatArray, k: int
) -> tuple[FloatArray, FloatArray]:
    """Fit rates (m,) with weights; return intercept and slopes (3,), which are not negative, and cluster effects (k,).

    One observation with probability one half keeps the intercept finite.
    """
    total = weights.sum() + 1.0
    penalty = np.zeros((3, 3))
    penalty[1:, 1:] = 2.0 * total * (_RIDGE * np.array([[1.0, -1.0], [-1.0, 1.0]]) + 1e-6 * np.eye(2))
    precision = np.append(np.full(k, total / (_EFFECTS**2 * rate.size)), 1e9)
    b, effects = fit_logistic(
        np.column_stack([np.append(np.ones(len(F)), 1.0), np.vstack([F, np.zeros(2)])]),
        np.append(codes, k),
        np.append(rate, 0.5),
        weights=np.append(weights, 1.0),
        offset=np.zeros(len(F) + 1),
        penalty=penalty,
        effect_precision=precision,
        nonnegative=(1, 2),
    )
    return b, effects[:k]


def _standard_log_sizes(codes: IntArray, n_clusters: int) -> FloatArray:
    """Return the logarithms (k,) of the sizes of clusters, standardised over points; 0 for those that do not occur."""
    inner = codes[codes >= 0]
    sizes = np.bincount(inner, minlength=n_clusters)
    logs = np.log(np.maximum(sizes, 1))
    deviation = float(logs[inner].std())
    return np.where(sizes > 0, logs - logs[inner].mean(), 0.0) / (deviation if deviation > 1e-9 else np.inf)


def _note(clusterer: Any, chosen: Any, found: Replication) -> str:
    """Say what was repeated."""
    if chosen is None:
        said = [f"Repeated with {' '.join(repr(clusterer).split())} on {len(found.new)} subsamples."]
    else:
        said = [
            f"Repeated on {len(found.new)} subsamples with {chosen.name}, which stands in for the clusterer that made "
            f"the labels (adjusted Rand index {chosen.ari:.2f})."
        ]
    if found.placed_by_neighbor:
        said.append("It has no predict: points left out join the cluster of their nearest neighbour.")
    if found.failures:
        said.append(f"It failed on {len(found.failures)} more: {found.failures[0]}.")
    return " ".join(said)


def _warning(clusterer: Any, chosen: Any, found: Replication) -> str | None:
    """Say why trust should not be taken at face value; None if nothing speaks against it."""
    gap = _GAP if chosen is None or chosen.is_sure else _SMALL_GAP
    other = None
    if found.disagreement > gap:
        other = (
            f"halves of the data agree on {100 * found.kept.mean():.0f}% of the labels, and with the current labels on "
            f"{100 * found.shares.mean():.0f}%"
        )
    if chosen is None:
        if other is None:
            return None
        return (
            f"The clusterer {' '.join(repr(clusterer).split())} does not reproduce the labels: {other}. Low trust may "
            "be due to the clusterer: pass clusterer= (--algorithm) with the parameters that made the labels."
        )
    if chosen.is_found:
        return None
    reasons = [] if chosen.reproduces else [f"the adjusted Rand index is {chosen.ari:.2f}"]
    if other is not None:
        reasons.append(other)
    if not reasons:
        return None
    return (
        f"No stand-in reproduces the labels. The best is {chosen.name}: {', and '.join(reasons)}. Low trust may be due "
        "to the stand-in: pass clusterer= (--algorithm), the clusterer that made the labels."
    )


def _is_incoherent(rows: Any, codes: IntArray) -> bool:
    """Tell whether neighbours share a label hardly more often than chance."""
    from sklearn.neighbors import NearestNeighbors

    inner = np.flatnonzero(codes >= 0)
    try:
        numbers = _moderate(take(rows, inner))
    except (TypeError, ValueError):
        return False
    codes, m = codes[inner], inner.size
    if m < _LEAST_POINTS or np.ptp(codes) == 0:
        return False
    queries = np.arange(min(m, _QUERIES))  # rows are in the order of their hash
    search = NearestNeighbors(n_neighbors=2, algorithm="brute").fit(numbers)
    near = search.kneighbors(numbers[queries], return_distance=False)
    nearest = np.where(near[:, 0] == queries, near[:, 1], near[:, 0])
    chance = float(((np.bincount(codes) / m) ** 2).sum())
    error = float(np.sqrt(chance * (1.0 - chance) / queries.size)) / (1.0 - chance)
    return above_chance(float((codes[nearest] == codes[queries]).mean()), chance) < _INCOHERENT + 2.0 * error
