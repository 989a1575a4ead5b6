"""Calibration itself: from evidence to a map of trust."""

from __future__ import annotations

import numpy as np

from allegiance._core import FloatArray, IntArray, Rows, Verbose, power_of_two

from ._company import Company, company_kept
from ._crowding import crowding_offsets
from ._diagnosis import diagnose
from ._evidence import Evidence
from ._logistic import Logistic, Standardisation, fit_logistic
from ._member_distances import MemberDistances
from ._parameters import Calibration
from ._reclustering import by_clusterer, by_kmeans, halves, recluster_halves
from ._trust_map import TrustMap

#: A logit whose chance is 1 in double precision.
_CERTAIN = 40.0


def calibrate(
    calibration: Calibration,
    evidence: Evidence,
    n_clusters: int,
    seed: int,
    *,
    rows: Rows | None = None,
    members: MemberDistances | None = None,
    threads: int = 1,
    verbose: Verbose = False,
) -> TrustMap:
    """Learn how far labels hold when the data are clustered anew.

    Parameters
    ----------
    evidence
        The sample; noise in it is left out.
    n_clusters
        Number of clusters, whether or not they occur in the sample.
    seed
        Decides the halves and the starts of k-means.
    rows
        (m, d) the sample in the user's own coordinates, needed only for ``calibration.clusterer``.
    members
        Distances of the members of all clusters; taken from the sample if None. Pass those of all data: the sample
        may lack the farthest members.
    threads
        Halves clustered at a time. Does not change the result.
    verbose
        Whether to show progress.
    """
    calibration.check()
    evidence.check(n_clusters)
    points = np.flatnonzero(evidence.codes >= 0)
    if calibration.clusterer is not None and rows is None:
        raise ValueError("rows is missing: clusterer needs the sample in the user's own coordinates.")
    sample = evidence.take(points)
    if members is None:
        members = MemberDistances.of(sample.codes, sample.distance, n_clusters, seed=seed)
    standard = Standardisation.of(sample.own_affinity, sample.closeness)
    company, new = recluster(
        calibration, sample.coordinates, sample.codes, seed, None if rows is None else rows[points], threads, verbose
    )
    design = standard.design(sample.own_affinity, sample.closeness)
    fit = _fit(design, company)
    offsets = crowding_offsets(
        design @ fit.coefficients, sample.codes, sample.distance, n_clusters, calibration.crowding
    )
    return TrustMap(
        center=standard.center,
        scale=standard.scale,
        coefficients=fit.coefficients,
        covariance=fit.covariance,
        offsets=offsets,
        reach=_reach(members, sample),
        chance=company.chance,
        reason=diagnose(sample, company, new, calibration.clusterer),
    )


def recluster(
    calibration: Calibration,
    coordinates: Rows,
    codes: IntArray,
    seed: int,
    rows: Rows | None,
    threads: int,
    verbose: Verbose = False,
) -> tuple[Company, IntArray]:
    """Cluster halves of labelled points anew; return the company they keep, and the new clusters (n_resamples, m).

    For parameters see :func:`calibrate`; ``coordinates`` (m, p) and ``codes`` (m,) are those of the evidence.
    """
    m, n_resamples = codes.size, calibration.n_resamples
    if calibration.clusterer is None:
        cluster_half = by_kmeans(coordinates, np.unique(codes).size)
    else:
        cluster_half, threads = by_clusterer(calibration.clusterer, rows), 1
    new = recluster_halves(cluster_half, m, n_resamples, seed, threads, verbose)
    if (new < 0).all():
        raise ValueError(
            f"clusterer={calibration.clusterer!r} found no cluster in any half: every point is noise (-1)."
        )
    inside = np.zeros(new.shape, dtype=bool)
    for number, (half, _) in enumerate(halves(m, n_resamples, seed)):
        inside[number, half] = True
    return company_kept(codes, new, inside), new


def _fit(design: FloatArray, company: Company) -> Logistic:
    """Fit the map; where chance alone keeps all company (one cluster, found again) labels hold for certain."""
    if company.chance >= 1.0:
        return Logistic(np.array([_CERTAIN, 0.0, 0.0]), np.zeros((3, 3)))
    return fit_logistic(design, company)


def _reach(members: MemberDistances, sample: Evidence) -> FloatArray:
    """Return the distance (k,) up to which each cluster has been seen: that of its farthest member.

    A cluster whose members all lie on its representative has not shown its reach: the usual distance stands in.
    """
    unit = power_of_two(float(sample.distance.max(initial=0.0)))
    usual = float(np.sqrt(((sample.distance * unit) ** 2).mean())) / unit
    return np.where(members.farthest > 0.0, members.farthest, usual)
