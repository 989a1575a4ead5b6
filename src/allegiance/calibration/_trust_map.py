"""Trust: from the scores of a point to the chance that its label comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import expit

from allegiance._core.progress import Verbose
from allegiance._core.stored import Number, OrNone, Text, floats, stored
from allegiance._core.validation import AnyArray, FloatArray, IntArray, is_sparse

from ._null import null_replication
from ._replication import Calibration, Refit, Replication, above_chance, replicate, subsample_size, take
from ._samples import row_keys
from ._stand_in import stand_in

#: Prior standard deviation of the effects of clusters on the logit; each member counts once against it.
_EFFECTS = 0.6
#: Holds the slopes of the two scores, which are standardised, together.
_RIDGE = 0.03
#: Added to both slopes where points are ordered for review, which must not tie where trust is flat.
_LEAST_SLOPE = 0.05
_NEWTON_STEPS = 4
#: A logit whose chance is 1 in double precision.
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
        return np.clip(np.column_stack([shares - self.margins[0], shares + self.margins[1]]), 0.0, 1.0)

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
    return TrustMap(_CERTAIN, zeros, offsets, zeros + _LEAST_SLOPE, offsets, reach, 1.0, zeros, 1.0, None, note)


def fit_map(
    own_affinity: FloatArray,
    closeness: FloatArray,
    codes: IntArray,
    found: Replication,
    n_clusters: int,
    size_prior: float = 0.25,
) -> dict[str, Any]:
    """Fit the logistic map from two scores and the cluster to the chance of a match; return its parts by name.

    Both scores are standardised; their slopes are held together and are never negative. Effects of clusters are normal
    around zero.
    """
    use = found.times > 0
    scores = np.column_stack([own_affinity, closeness])[use]
    center, scale = scores.mean(axis=0), np.maximum(scores.std(axis=0), 1e-9)
    F, w, y, c = (scores - center) / scale, found.times[use], (found.rate * found.times)[use], codes[use]
    total = w.sum() + 1.0  # one observation of an even chance keeps the intercept finite
    pull = 1.0 / (_EFFECTS**2 * c.size)

    def loss(b: FloatArray) -> tuple[float, FloatArray]:
        logit = b[0] + F @ b[1:3] + b[3:][c]
        value = (w * np.logaddexp(0, logit) - y * logit).sum() + np.logaddexp(0, b[0]) - b[0] / 2
        residual = w * expit(logit) - y
        slope = np.concatenate(
            [[residual.sum() + expit(b[0]) - 0.5], F.T @ residual, np.bincount(c, residual, n_clusters)]
        )
        apart = b[1] - b[2]
        slope = slope / total + np.concatenate([[0.0, 2 * _RIDGE * apart, -2 * _RIDGE * apart], pull * b[3:]])
        return value / total + _RIDGE * apart**2 + 0.5 * pull * (b[3:] ** 2).sum(), slope

    bounds: Any = [(None, None), (0, None), (0, None)] + [(None, None)] * n_clusters
    options: Any = {"maxiter": 500, "ftol": 1e-12, "gtol": 1e-8}
    start = np.zeros(3 + n_clusters)
    b = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    b = _polished(b, F, w, c, total, pull, lambda b: loss(b)[1])
    slopes = b[1:3] / scale
    intercept = float(b[0] - slopes @ center)
    review = (b[1:3] + _LEAST_SLOPE) / scale
    spread = float((F @ (b[1:3] + _LEAST_SLOPE)).std())
    offsets = b[0] - float(review @ center) - size_prior * spread * _standard_log_sizes(codes, n_clusters)
    return {
        "intercept": intercept,
        "slopes": slopes,
        "effects": b[3:],
        "review_slopes": review,
        "review_offsets": offsets,
    }


def _polished(
    b: FloatArray,
    F: FloatArray,
    w: FloatArray,
    c: IntArray,
    total: float,
    pull: float,
    gradient: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """Return the optimum after Newton's steps, so that rounding in the scores moves it by rounding only."""
    k, fixed = b.size - 3, np.flatnonzero(b[1:3] <= 0.0) + 1
    free = np.setdiff1d(np.arange(b.size), fixed)
    A = np.column_stack([np.ones(len(F)), F])
    held = np.zeros((b.size, b.size))
    held[1:3, 1:3] = 2 * _RIDGE * np.array([[1.0, -1.0], [-1.0, 1.0]])
    held[3:, 3:] = pull * np.eye(k)
    for _ in range(_NEWTON_STEPS):
        p = expit(b[0] + F @ b[1:3] + b[3:][c])
        weight = w * p * (1.0 - p) / total
        across = np.array([np.bincount(c, weight * column, k) for column in A.T])
        hessian = np.block([[A.T @ (A * weight[:, None]), across], [across.T, np.diag(np.bincount(c, weight, k))]])
        even = expit(b[0])
        hessian[0, 0] += even * (1.0 - even) / total
        moved = b.copy()
        try:
            moved[free] -= np.linalg.solve((hessian + held)[np.ix_(free, free)], gradient(b)[free])
        except np.linalg.LinAlgError:  # all chances are 0 or 1: nothing is left to polish
            return b
        if not np.isfinite(moved).all() or (moved[1:3] < 0.0).any():
            return b
        b = moved
    return b


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
