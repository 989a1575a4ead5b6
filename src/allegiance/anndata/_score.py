"""Score cells, all at once or part by part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from allegiance._core import effective_threads
from allegiance._scorer import AffinityScorer
from allegiance.fitting import Columns, Specification, fit
from allegiance.results import AffinityResult, FrameLike

from ._groups import Groups
from ._matrix import Matrix, MatrixChunks


def score(scorer: AffinityScorer, matrix: Matrix, groups: Groups, index: Any, chunk_size: int) -> AffinityResult:
    """Return the affinities of all cells and trust in their groups, clusters called by their names.

    Parameters
    ----------
    scorer
        The settings, with calibration.
    matrix
        What was clustered. On disk it is read part by part, several times.
    groups
        The labels.
    index
        (n,) names of the cells, for tables.
    chunk_size
        Cells in memory at a time, if the matrix is on disk.
    """
    if not (groups.codes >= 0).any():
        raise ValueError("no cell is in a cluster: every label is missing or '-1'.")
    if matrix.on_disk:
        result = _score_parts(scorer, matrix, groups, chunk_size)
    else:
        result = scorer.fit_affinity(matrix.rows(slice(None)), groups.codes)
    label = np.where(result.noise, "-1", groups.names[np.maximum(groups.codes, 0)])
    frame = FrameLike(index=index)
    return replace(result, classes=groups.names[result.classes], label=label, frame_like=frame)


def _score_parts(scorer: AffinityScorer, matrix: Matrix, groups: Groups, chunk_size: int) -> AffinityResult:
    specification = Specification.of(scorer)
    chunks = MatrixChunks(matrix, groups.codes, chunk_size)
    found = fit(specification, chunks, Columns(matrix.n_columns), threads=effective_threads(scorer.n_jobs))
    assert found.sample is not None
    fitted = found.fitted.calibrated(found.sample)
    parts = []
    for part in matrix.parts(chunk_size):
        scored = fitted.score(matrix.rows(part), labels=groups.codes[part])
        assert isinstance(scored, AffinityResult)
        parts.append(scored)
    joined: AffinityResult = AffinityResult.concatenate(parts, FrameLike())
    fitted.warn_if_imprecise(joined)
    return joined
