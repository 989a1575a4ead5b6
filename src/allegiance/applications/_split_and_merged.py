"""Clusters that were split too finely, and clusters that contain two groups."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from allegiance._core.parallel import effective_threads, resolve_seed
from allegiance._core.progress import Verbose
from allegiance._core.validation import FloatArray, IntArray, check_jobs
from allegiance.calibration import Calibration, as_clusterer, replicate
from allegiance.fitting import Labels
from allegiance.results import FrameLike

from ._stability_curve import SUBSAMPLE_SHARE, dense_rows

#: A set of points replicates if its Jaccard index with new clusters is at least this; a pair must exceed its parts by
#: the gain. Pieces hold at least this share of a cluster, and have this adjusted Rand index between subsamples.
_REPLICATED, _GAIN, _PIECE, _ALIKE = 0.75, 0.1, 0.2, 0.5


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
    """Find clusters that were split too finely, and clusters that contain two groups, by re-clustering subsamples.

    ``clusterer`` made the labels (n,) of X (n, d), -1 for noise. Clones of it are fitted to subsamples of a third, with
    settings as in :func:`stability_curve`.

    Returns
    -------
    DataFrame
        One row per cluster: ``cluster``, ``points``, ``jaccard`` (the median Jaccard index with the most similar new
        cluster), ``problem`` ("over-split", "merged" or ""), ``partner`` (the other part of an over-split group) and
        ``jaccard_together`` (the index of both parts as one, or of a merged cluster with the new clusters inside it).
    """
    from sklearn.metrics import adjusted_rand_score

    rows, checked = dense_rows(X), Labels.of(labels, np.shape(labels)[0])
    codes, k = checked.codes(checked.classes), checked.classes.size
    calibration, seed = Calibration(n_resamples), resolve_seed(random_state)
    threads = effective_threads(check_jobs(n_jobs))
    replication = replicate(
        rows, codes, as_clusterer(clusterer), calibration=calibration, seed=seed, threads=threads, verbose=verbose,
        share=SUBSAMPLE_SHARE,
    )  # fmt: skip
    comparisons = [_compare(codes[codes >= 0], new[codes >= 0], k) for new in replication.new]
    by_subsample, pairs, pieces = (np.array(part) for part in zip(*comparisons, strict=True))
    alone, together = np.median(by_subsample, axis=0), np.median(pairs, axis=0)
    whole = together.diagonal().copy()
    np.fill_diagonal(together, 0.0)
    partner = together.argmax(axis=1)
    problem, with_whom, joint = np.full(k, "", dtype="<U10"), np.full(k, "", dtype=object), np.full(k, np.nan)
    for a, b in enumerate(partner.tolist()):
        apart = max(alone[a], alone[b])
        if partner[b] == a and apart < _REPLICATED and together[a, b] >= max(_REPLICATED, apart + _GAIN):
            problem[a], with_whom[a], joint[a] = "over-split", str(checked.classes[b]), together[a, b]
        elif (pieces[:, a] > 1).mean() > 0.5 and whole[a] >= _REPLICATED:
            # Only a cluster that falls into the same pieces each time holds two groups.
            new = replication.new[pieces[:, a] > 1][:, codes == a]
            if np.median([adjusted_rand_score(*two) for two in pairwise(new)]) >= _ALIKE:
                problem[a], joint[a] = "merged", whole[a]
    columns = {"cluster": checked.classes, "points": np.bincount(codes[codes >= 0], minlength=k), "jaccard": alone}
    return (
        FrameLike.of(X)
        .without_index()
        .build(columns | {"problem": problem, "partner": with_whom.astype(str), "jaccard_together": joint})
    )


def _compare(codes: IntArray, new: IntArray, k: int) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the Jaccard indices of split and merged clusters with new ones, alone (k,) and in pairs, and pieces (k,).

    A single cluster is compared with the most similar new cluster; a pair, and on the diagonal a single cluster, with
    the union of the new clusters that lie mostly inside. These are its pieces, if they hold a fifth of it.
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
