"""The page data: a sample of points with their numbers, texts and images, and counts over all labels."""

from __future__ import annotations

import base64
from collections.abc import Callable
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
from sklearn.neighbors import NearestNeighbors

from allegiance._core.parallel import stream
from allegiance._core.validation import AnyArray, FloatArray, IntArray, is_sparse
from allegiance.engines import Z95
from allegiance.results import FIRM, VERDICTS, AffinityResult, review_rows

from ._clusters import Groups
from ._columns import EXCERPT, Column, shorten
from ._inputs import Features, Inputs

#: Most points for which the page contains all of them.
MAX_POINTS = 100_000
#: Otherwise it contains the least trusted labels that are not firm, and random samples of the remaining ones, of firm
#: labels, and of noise.
MAX_LISTED = 60_000
MAX_DOUBTFUL, MAX_FIRM, MAX_NOISE = 10_000, 25_000, 5_000
#: Points whose nearest members are on the page, and the number of members per cluster.
MAX_NEAR, NEAR = 1_000, 3
#: Characters for images, texts and table columns on a page; the share for typical members.
IMAGE_BUDGET, TEXT_BUDGET, TABLE_BUDGET, FOR_TYPICAL = 6_000_000, 4_000_000, 24_000_000, 0.25
#: Affinities listed for each point.
N_AFFINITIES = 3
#: Steps of the slider, and bins of the histogram.
STEPS = 100
#: Key of the random streams of the samples.
_STREAM = 0x5E9027


class PageSample(NamedTuple):
    """The points on the page, and the number of points each one represents."""

    rows: IntArray
    """(m,) rows of the result: noise, then labels in reverse review order, so that the first is drawn on top."""
    kind: AnyArray
    """(m,) 0 for points that represent only themselves, 1 to 3 for samples of doubtful, firm and noise points."""
    weights: list[float]
    """(5,) number of points that a point of each kind represents; 0 for kind 4, which is fetched later."""
    parts: list[tuple[int, int]]
    """For doubtful, firm and noise points: the number on the page, and the total."""

    @property
    def is_complete(self) -> bool:
        """Whether the page contains every point."""
        return all(on_page == total for on_page, total in self.parts)


def choose_points(result: AffinityResult, always: IntArray) -> PageSample:
    """Return the points on the page: all if they fit, else those to review, those in ``always``, and samples."""
    n, noise, firm = len(result), result._noise, result._verdicts == FIRM
    order = review_rows(result._ranking, None)
    members = [~(noise | firm), firm, noise]
    # The kind of each point; 255 if it is not on the page.
    kinds = np.zeros(n, dtype=np.uint8)
    if n > MAX_POINTS:
        kinds[:] = 255
        kinds[order[members[0][order]][:MAX_LISTED]] = 0
        kinds[always] = 0
        for kind, size in enumerate((MAX_DOUBTFUL, MAX_FIRM, MAX_NOISE), start=1):
            others = np.flatnonzero(members[kind - 1] & (kinds == 255))
            if others.size > size:
                others = stream(result._measurement.seed, _STREAM, kind).choice(
                    others, size, replace=False, shuffle=False
                )
            kinds[others] = kind
    rows = np.concatenate([np.flatnonzero(noise)[::-1], order[::-1]])
    rows = rows[kinds[rows] < 255]
    weights = [1.0]
    for kind, inside in enumerate(members, start=1):
        alone = int((kinds[inside] == 0).sum())
        weights.append((int(inside.sum()) - alone) / max(int((kinds == kind).sum()), 1))
    parts = [(int(inside[rows].sum()), int(inside.sum())) for inside in members]
    return PageSample(rows, kinds[rows], [*weights, 0.0], parts)


def level_of(values: FloatArray) -> IntArray:
    """Return the level (n,) of points on the page: how many thresholds 0, 1 / STEPS, ..., 1 are below each value.

    A label is above the threshold t / STEPS if its level is above t.
    """
    return np.searchsorted(np.arange(STEPS + 1) / STEPS, np.nan_to_num(values), side="left")


def count_levels(groups: Groups) -> tuple[IntArray, FloatArray]:
    """Count all points for the page by cluster and level (k, STEPS + 1), and add up their values."""
    k = len(groups.clusters)
    labeled = groups.code < k
    place = groups.code[labeled] * (STEPS + 1) + level_of(groups.values[labeled])
    counts: AnyArray = np.bincount(place, minlength=k * (STEPS + 1))
    sums: AnyArray = np.bincount(place, weights=groups.values[labeled], minlength=k * (STEPS + 1))
    return counts.reshape(k, -1), sums.reshape(k, -1)


def point_columns(
    result: AffinityResult, rows: IntArray, kind: AnyArray, groups: Groups, axes: list[FloatArray]
) -> dict[str, AnyArray]:
    """Return the data of some points for the page's scripts, as columns (m,)."""
    k = len(groups.clusters)
    ranks, (cluster, affinity) = result._ranks, result._largest_affinities(rows, N_AFFINITIES)
    verdict = np.select([result._verdicts[rows] == name for name in VERDICTS], range(len(VERDICTS)))
    columns: dict[str, AnyArray] = {
        "trust": groups.values[rows],
        "level": level_of(groups.values[rows]).astype(np.uint8),
        "label": unsigned(groups.code[rows], k),
        "verdict": verdict.astype(np.uint8),
        "rival": unsigned(groups.place[ranks.rival[rows]], k),
        "priority": result.priority[rows].astype(np.float32),
        "own": ranks.own[rows].astype(np.float32),
        "half_width": (Z95 * ranks.own_error[rows]).astype(np.float32),
        "typicality": result.typicality[rows].astype(np.float32),
        "kind": kind.astype(np.uint8),
    }
    for place, xy in enumerate(axes):
        columns[f"x{place}"], columns[f"y{place}"] = xy[rows].T.astype(np.float64)
    for place in range(cluster.shape[1]):
        columns[f"cluster_{place}"] = unsigned(groups.place[cluster[:, place]], k)
        columns[f"affinity_{place}"] = affinity[:, place].astype(np.float32)
    return columns


def table_columns(columns: list[Column], rows: IntArray, budget: int = TABLE_BUDGET) -> list[Any]:
    """Return the table values of some points; None for columns that exceed the budget in characters."""
    entries: list[Any] = []
    for column in columns:
        if column.kind == "text":
            texts = [column.values[row] for row in rows.tolist()]
            entry: Any = [None if text is None else text[:EXCERPT] for text in texts]
            size = sum(4 if text is None else len(text) + 3 for text in entry)
        else:
            values = column.values[rows]
            if column.kind == "category":
                entry = packed(unsigned(values + 1, len(column.levels)))
            else:
                whole = bool(np.isfinite(values).all() and (values == np.round(values)).all())
                small = whole and np.abs(values).max(initial=0) < 2**31
                entry = packed(values.astype(np.int32) if small else values)
            size = len(entry["data"])
        budget -= size
        entries.append(entry if budget >= 0 else None)
    return entries


class NeighborFinder:
    """Find the points nearest to others in a cluster; dense features are divided by their deviation within clusters."""

    def __init__(self, features: Features, codes: IntArray) -> None:
        self._codes, self._rows = codes, features.rows
        if not is_sparse(self._rows):
            squares = np.zeros(self._rows.shape[1])
            for cluster in np.unique(codes[codes >= 0]).tolist():
                members = self._rows[codes == cluster]
                squares += len(members) * members.var(axis=0, dtype=np.float64)
            spread = np.sqrt(squares / max(int((codes >= 0).sum()), 1))
            self._rows = self._rows / np.where(spread > 0, spread, 1.0)

    def of(self, queries: IntArray, cluster: int, n: int, among: IntArray | None = None) -> list[IntArray]:
        """Return the n points of a cluster nearest to each query, without the query itself."""
        members = np.flatnonzero(self._codes == cluster) if among is None else among[self._codes[among] == cluster]
        if not members.size or not queries.size:
            return [members[:0]] * queries.size
        finder = NearestNeighbors(algorithm="brute").fit(self._rows[members])
        near = members[finder.kneighbors(self._rows[queries], min(n + 1, members.size), return_distance=False)]
        return [rows[rows != query][:n] for rows, query in zip(near, queries, strict=True)]


def near_members(inputs: Inputs, result: AffinityResult, sample: PageSample) -> dict[int, list[list[int]]]:
    """Return the nearest members in both clusters for the first points to review, by position on the page."""
    if inputs.features is None:
        return {}
    codes, rival = result._codes, result._ranks.rival
    rows = sample.rows[(codes[sample.rows] >= 0) & (result._verdicts[sample.rows] != FIRM)][::-1][:MAX_NEAR]
    finder, on_page = NeighborFinder(inputs.features, codes), places(sample, len(result))
    members: dict[int, list[list[int]]] = {int(on_page[row]): [[], []] for row in rows.tolist()}
    for side, of in enumerate((codes, rival)):
        for cluster in np.unique(of[rows]).tolist():
            queries = rows[of[rows] == cluster]
            for row, near in zip(queries.tolist(), finder.of(queries, cluster, NEAR, sample.rows), strict=True):
                members[int(on_page[row])][side] = on_page[near].tolist()
    return members


def places(sample: PageSample, n_points: int) -> IntArray:
    """Return the position of each point (n,) on the page, 0 for points that are not on it."""
    on_page = np.zeros(n_points, dtype=np.int64)
    on_page[sample.rows] = np.arange(sample.rows.size)
    return on_page


def media(inputs: Inputs, sample: PageSample, typical: list[IntArray]) -> dict[str, dict[int, str] | None]:
    """Return images as data URIs and texts by point on the page, first of typical members, then of points to review."""
    # The most typical member of every cluster first, then the second of every cluster.
    first = [row for rank in zip_longest(*(rows.tolist() for rows in typical)) for row in rank if row is not None]
    images, texts = inputs.images, inputs.texts
    encoders: dict[str, tuple[Callable[[int], str], int] | None] = {
        "images": None if images is None else (lambda row: images.thumbnail(row) or "", IMAGE_BUDGET),
        "texts": None if texts is None else (lambda row: shorten(texts[row].strip(), EXCERPT), TEXT_BUDGET),
    }
    return {name: None if one is None else _encode_points(first, sample, *one) for name, one in encoders.items()}


def _encode_points(first: list[int], sample: PageSample, encode: Callable[[int], str], budget: int) -> dict[int, str]:
    """Return images or texts by point on the page, within a budget in characters, a part of it for the first rows."""
    entries: dict[int, str] = {}
    size = 0
    for rows, limit in ((first, FOR_TYPICAL * budget), (sample.rows[::-1].tolist(), budget)):
        for row in rows:
            if row in entries:
                continue
            entry = encode(row)
            if size + len(entry) > limit:
                break
            entries[row], size = entry, size + len(entry)
    place = {row: where for where, row in enumerate(sample.rows.tolist())}
    return {place[row]: entry for row, entry in entries.items() if entry}


def unsigned(numbers: IntArray, largest: int) -> AnyArray:
    """Return numbers of points in the smallest sufficient unsigned type, at most 32 bits."""
    return numbers.astype(np.uint8 if largest < 2**8 else np.uint16 if largest < 2**16 else np.uint32)


def packed(column: AnyArray) -> dict[str, str]:
    """Return a column of points as base64 of little-endian numbers, with their type."""
    little = column.astype(column.dtype.newbyteorder("<"))
    kind = f"{column.dtype.kind}{column.dtype.itemsize}"
    return {"type": kind, "data": base64.b64encode(little.tobytes()).decode("ascii")}
