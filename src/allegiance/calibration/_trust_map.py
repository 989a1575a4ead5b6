"""The trust map: from the scores of a point to the probability that its label replicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from allegiance._core.progress import Verbose
from allegiance._core.stored import Number, OrNone, Text, floats, stored
from allegiance._core.validation import AnyArray, FloatArray, IntArray

from ._adapt import is_pairwise
from ._calibration import REVIEW_WEIGHT, Calibration
from ._logistic import fit_rates
from ._null import null_replication
from ._replication import Refit, Replication, replicate, subsample_size
from ._samples import row_keys, take
from ._stand_in import UNRELATED, are_unrelated, kmeans_stand_in, refit_known, stand_in

#: Least slope of both standardized scores in the review order, which avoids ties.
_MIN_SLOPE = 0.05
#: A logit whose probability is 1 in double precision.
_CERTAIN = 40.0


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
    """Maps scores to the probability that a label replicates, for points of the fit and new ones.

    The logit of trust is intercept + slopes (2,) of own affinity and closeness + effects (k,) of clusters, and that of
    the review order likewise; slopes are never negative. ``reach`` (k,) is the distance of each cluster's farthest
    member, ``share`` the replication of the sample, ``margins`` (2,) the distance to both ends of its 90% prediction
    interval, ``cluster_margins`` (k,) the half-width of each cluster's, ``chance`` the share that unrelated partitions
    match, ``null_replication`` that in null data if the labels replicate no better. ``note`` describes the replicates,
    ``warning`` says why trust may be wrong.
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
        """Return the probability (n,) that each point's label replicates, NaN for noise (code -1)."""
        logit = self.intercept + self.slopes[0] * own_affinity + self.slopes[1] * closeness
        return self._within_reach(logit, self.effects, codes, distance)

    def ranking(
        self, own_affinity: FloatArray, closeness: FloatArray, codes: AnyArray, distance: FloatArray
    ) -> FloatArray:
        """Return the score (n,) of the review order, lowest first, NaN for noise. It is not a probability.

        It differs from trust between clusters: a cluster that always replicates may still contain two classes.
        """
        logit = self.review_slopes[0] * own_affinity + self.review_slopes[1] * closeness
        return self._within_reach(logit, self.review_offsets, codes, distance)

    def _within_reach(
        self, logit: FloatArray, by_cluster: FloatArray, codes: AnyArray, distance: FloatArray
    ) -> FloatArray:
        """Return trust (n,) that shrinks with the square of the distance beyond the farthest member."""
        inner = codes >= 0
        codes = np.where(inner, codes, 0)
        reach = self.reach[codes]
        fading = np.where(distance > reach, (reach / np.where(distance > 0, distance, 1.0)) ** 2, 1.0)
        return np.where(inner, expit(logit + by_cluster[codes]) * fading, np.nan)

    def interval(self, share: float) -> tuple[float, float]:
        """Return the 90% interval that the trust map gives a replication rate."""
        return max(0.0, share - float(self.margins[0])), min(1.0, share + float(self.margins[1]))

    def cluster_intervals(self, shares: FloatArray) -> FloatArray:
        """Return the 90% intervals (k, 2) that the trust map gives the replication (k,) of each cluster."""
        return np.clip(np.column_stack([shares - self.cluster_margins, shares + self.cluster_margins]), 0.0, 1.0)

    @property
    def remarks(self) -> list[str]:
        """Sentences on what may be wrong with the trust map."""
        sentences = [] if self.warning is None else [self.warning]
        if self.null_replication is not None:
            sentences.append(
                f"No evidence of clusters: {100 * self.share:.0f}% would hold up, and so would "
                f"{100 * self.null_replication:.0f}% in unclustered data."
            )
        return sentences


def fit_trust_map(
    calibration: Calibration,
    rows: Any,
    codes: IntArray,
    own_affinity: FloatArray,
    closeness: FloatArray,
    *,
    reach: FloatArray,
    clusterer: Any = None,
    made_labels: bool = False,
    others: Sequence[tuple[str, Any]] = (),
    groups: AnyArray | None = None,
    weights: FloatArray | None = None,
    n_total: int | None = None,
    seed: int = 0,
    threads: int = 1,
    verbose: Verbose = False,
) -> TrustMap:
    """Fit the trust map to a sample of labeled points.

    ``rows`` (m, d) are as the user passed them, ``own_affinity`` and ``closeness`` (m,) scores, and ``reach`` (k,) the
    distance of each cluster's farthest member. ``clusterer`` is that of the labels, if it is known and ``calibration``
    has none; ``made_labels`` means that one of its runs made them. ``others`` are additional stand-ins by name.
    The sample was drawn from ``n_total`` rows.
    """
    from sklearn.utils.validation import has_fit_parameter

    codes = np.asarray(codes)
    if not (codes >= 0).any():
        raise ValueError("labels contains only noise (-1): there is no label to trust.")
    keys = row_keys(rows, codes)
    order = np.argsort(keys, kind="stable")
    codes, own, close = codes[order], own_affinity[order], closeness[order]
    known = calibration.clusterer if calibration.clusterer is not None else clusterer
    pairwise = known is not None and is_pairwise(known) is not None
    rows = rows[np.ix_(order, order)] if pairwise else take(rows, order)
    groups, weights = (None if values is None else np.asarray(values)[order] for values in (groups, weights))
    if codes.size < 2 or reach.size < 2:
        zeros, offsets = np.zeros(2), np.zeros(reach.size)
        note = "One cluster always replicates." if reach.size < 2 else "There is one point: nothing was re-clustered."
        slopes = zeros + _MIN_SLOPE
        return TrustMap(_CERTAIN, zeros, offsets, slopes, offsets, reach, 1.0, zeros, offsets, 1.0, None, note)
    total = max(n_total or codes.size, codes.size)
    if known is None:
        source = stand_in(rows, codes, n_total=total, others=others)
        last = source.clusterer[-1] if hasattr(source.clusterer, "steps") else source.clusterer
        weights = weights if has_fit_parameter(last, "sample_weight") else None
    else:
        max_rows = 2 * subsample_size(known, codes, calibration)
        source = refit_known(known, rows, codes, n_total=total, max_rows=max_rows, weights=weights)
        if made_labels:
            source = replace(source, reproduces=True)
    settings: dict[str, Any] = {
        "calibration": calibration, "seed": seed, "threads": threads, "verbose": verbose, "n_total": n_total,
        "keys": keys[order], "groups": groups, "weights": weights,
    }  # fmt: skip
    try:
        replication = replicate(rows, codes, source.clusterer, **settings)
    except ValueError:
        if known is not None:
            raise
        source = kmeans_stand_in(rows, codes, total)
        replication = replicate(rows, codes, source.clusterer, **settings)
    source = source.after(replication)
    size = subsample_size(source.clusterer, codes, calibration)
    refit = Refit(source.clusterer, rows, None, size / total)
    null = None if pairwise else null_replication(rows, replication, refit, size, seed, threads)
    (low, high), widest = replication.interval, source.margin
    low, high = min(low, replication.share - widest), max(high, replication.share + widest)
    parts = _fit_parameters(own, close, codes, replication, reach.size, calibration.size_prior)
    parts["intercept"] += _shift_to(replication.share, own, close, codes, parts)
    is_unrelated = not source.reproduces and are_unrelated(rows, codes)
    return TrustMap(
        **parts,
        reach=reach,
        share=replication.share,
        margins=np.array([replication.share - low, high - replication.share]),
        cluster_margins=np.maximum(replication.cluster_margins(), widest),
        chance=replication.chance,
        null_replication=None if is_unrelated else null,
        note=source.note(replication),
        warning=UNRELATED if is_unrelated else source.warning(replication),
    )


def _shift_to(share: float, own: FloatArray, closeness: FloatArray, codes: IntArray, parts: dict[str, Any]) -> float:
    """Return the shift of the intercept that makes the mean trust of labeled points equal replication."""
    inner = codes >= 0
    logit = (
        parts["intercept"] + parts["slopes"] @ np.array([own[inner], closeness[inner]]) + parts["effects"][codes[inner]]
    )

    def excess_trust(shift: float) -> float:
        return float(expit(logit + shift).mean()) - share

    # If points lie far outside all others, no shift may be large enough.
    if excess_trust(-_CERTAIN) >= 0.0:
        return -_CERTAIN
    return _CERTAIN if excess_trust(_CERTAIN) <= 0.0 else float(brentq(excess_trust, -_CERTAIN, _CERTAIN))


def _fit_parameters(
    own_affinity: FloatArray,
    closeness: FloatArray,
    codes: IntArray,
    result: Replication,
    n_clusters: int,
    size_prior: float,
) -> dict[str, Any]:
    """Fit the trust map, logistic in two scores and the cluster, to replication rates; return its parameters by name.

    The review order adds a minimum slope, the size of the cluster, and item consensus as the same scores predict it, so
    that it is defined for new points, too.
    """
    use = result.times > 0
    scores = np.column_stack([own_affinity, closeness])[use]
    center, scale = scores.mean(axis=0), np.maximum(scores.std(axis=0), 1e-9)
    F, weights, c = (scores - center) / scale, result.times[use], codes[use]
    b, effects = fit_rates(F, c, result.rate[use], weights, n_clusters)
    consensus, consensus_effects = fit_rates(F, c, result.consensus[use], weights, n_clusters)
    slopes = b[1:] / scale
    review = b[1:] + _MIN_SLOPE
    spread = float((F @ review).std())
    predicted = F @ consensus[1:] + consensus_effects[c]
    share = REVIEW_WEIGHT * spread / max(float(predicted.std()), 1e-9)
    review = (review + share * consensus[1:]) / scale
    counts = np.bincount(codes[codes >= 0], minlength=n_clusters)
    logs = np.log(np.maximum(counts, 1))
    by_point = logs[codes[codes >= 0]]
    deviation = float(by_point.std())
    sizes = (
        size_prior
        * spread
        * np.where(counts > 0, logs - by_point.mean(), 0.0)
        / (deviation if deviation > 1e-9 else np.inf)
    )
    offsets = b[0] - review @ center - sizes + share * (consensus_effects - float(consensus_effects[c].mean()))
    return {
        "intercept": float(b[0] - slopes @ center),
        "slopes": slopes,
        "effects": effects,
        "review_slopes": review,
        "review_offsets": offsets,
    }
