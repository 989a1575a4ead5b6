"""What clusters and points are like, in the columns that the user knows: typical values, names, nearest members."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.neighbors import NearestNeighbors

from allegiance._core.validation import AnyArray, FloatArray, IntArray, Rows, dense, is_sparse
from allegiance.results import AffinityResult

from ._inputs import Column, Features, check_inputs

#: Traits listed for a cluster, and those of them that make its name.
_TRAITS, _IN_NAME = 8, 3
#: Differences from the rest that are worth a place in a name: in standard deviations, and in shares of a category.
_WORTH_A_NAME, _WORTH_A_SHARE = 0.6, 0.25
#: Characters of a name, and of a category inside it.
_NAME_LENGTH, _LEVEL_LENGTH = 60, 24
#: Values that say nothing without the name of their column.
_BARE = {"yes", "no", "true", "false", "0", "1", "y", "n", "none", "other", "unknown", "ja", "nein"}
#: Entries handled at a time.
_BLOCK = 4_000_000


class Trait(NamedTuple):
    """A column in which a cluster differs from the rest."""

    column: int
    level: int
    """The category, -1 for numbers and dates."""
    inside: float
    """Mean of the cluster; for a category its share."""
    outside: float
    """The same of all other clusters together."""
    difference: float
    """In standard deviations: within clusters, for a category over all."""


class ColumnProfile(NamedTuple):
    """What is typical of each cluster in one column."""

    means: FloatArray
    """(k, 1) means, or (k, levels) shares; NaN where a cluster has no values."""
    spread: FloatArray
    """(1,) pooled standard deviation within clusters, or (levels,) of each category over all; NaN if constant."""
    rest: FloatArray
    """Shaped like ``means``: the same over all other clusters."""


def profile_columns(columns: list[Column], codes: IntArray, k: int) -> list[ColumnProfile | None]:
    """Return what is typical of k clusters in each column; None for texts. ``codes`` (n,) are -1 for noise."""
    return [None if column.kind == "text" else _profile(column, codes, k) for column in columns]


def _profile(column: Column, codes: IntArray, k: int) -> ColumnProfile:
    category = column.kind == "category"
    known = (codes >= 0) & ((column.values >= 0) if category else ~np.isnan(column.values))
    own, values = codes[known], column.values[known]
    sizes = np.bincount(own, minlength=k).astype(np.float64)[:, None]
    sums: AnyArray
    if category:
        width = max(len(column.levels), 1)
        sums = np.bincount(own * width + values, minlength=k * width).reshape(k, width).astype(np.float64)
    else:
        scale = max(float(np.abs(values).max(initial=0.0)), 1e-300)  # No square may overflow.
        sums = np.bincount(own, weights=values / scale, minlength=k)[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / sizes
        rest = (sums.sum(axis=0) - sums) / (sizes.sum() - sizes)
        if category:
            share = sums.sum(axis=0) / sizes.sum()
            variance = share * (1 - share)
            factor = 1.0
        else:
            within = ((values / scale - means[own, 0]) ** 2).sum() / max(own.size, 1)
            # A number that is the same throughout each cluster, but not in all, tells them apart perfectly.
            variance = np.array([max(within, 1e-4 * float(np.var(values / scale)) if own.size else 0.0)])
            factor = scale
        # What is left of a constant column is rounding.
        spread = np.where(variance > 1e-24, np.sqrt(variance), np.nan)
    return ColumnProfile(means * factor, spread * factor, rest * factor)


def cluster_traits(columns: list[Column], profiles: list[ColumnProfile | None], k: int) -> list[list[Trait]]:
    """Return the columns in which each of k clusters differs most from the rest, the strongest first, one for each."""
    found: list[list[Trait]] = [[] for _ in range(k)]
    for place, (column, profile) in enumerate(zip(columns, profiles, strict=True)):
        if profile is None:
            continue
        difference = np.nan_to_num((profile.means - profile.rest) / profile.spread)
        # Of two categories alike, the one that is more frequent here.
        strongest = (np.abs(difference) * np.where(difference > 0, 1 + 1e-9, 1)).argmax(axis=1)
        for cluster, level in enumerate(strongest.tolist()):
            if value := float(difference[cluster, level]):
                inside, outside = float(profile.means[cluster, level]), float(profile.rest[cluster, level])
                found[cluster].append(Trait(place, level if column.kind == "category" else -1, inside, outside, value))
    return [_different(sorted(traits, key=lambda trait: -abs(trait.difference)))[:_TRAITS] for traits in found]


def _different(traits: list[Trait]) -> list[Trait]:
    """Leave out categories of just the same points as another one, which say nothing more."""
    seen: dict[tuple[float, float], int] = {}
    for trait in traits:
        if trait.level >= 0:
            seen.setdefault((round(trait.inside, 3), round(trait.outside, 3)), trait.column)
    return [t for t in traits if t.level < 0 or seen[round(t.inside, 3), round(t.outside, 3)] == t.column]


def name_clusters(columns: list[Column], traits: list[list[Trait]]) -> list[str]:
    """Return a short description of each cluster, such as "high revenue, long tenure, fibre"; maybe empty."""
    return [_name(columns, of_cluster) for of_cluster in traits]


def _name(columns: list[Column], traits: list[Trait]) -> str:
    parts: list[str] = []
    for trait in traits:
        if abs(trait.difference) < _WORTH_A_NAME or len(parts) == _IN_NAME:
            break
        column = columns[trait.column]
        if not column.is_named:
            continue
        if column.kind == "category":
            level = column.levels[trait.level]
            level = level if len(level) <= _LEVEL_LENGTH else level[: _LEVEL_LENGTH - 1] + "…"
            said = f"{column.name} {level}" if level.strip().lower() in _BARE else level
            if trait.inside - trait.outside < _WORTH_A_SHARE:
                continue
            part = said
        else:
            words = ("late", "early") if column.kind == "date" else ("high", "low")
            part = f"{words[trait.difference < 0]} {column.name}"
        part = " ".join(part.split())
        if part not in parts and sum(map(len, [*parts, part])) <= _NAME_LENGTH:
            parts.append(part)
    return ", ".join(parts)


class Neighbours:
    """Finds the nearest members of a cluster; features are in standard deviations within clusters."""

    def __init__(self, features: Features, codes: IntArray) -> None:
        rows = features.rows
        self._codes = codes
        self._rows: Rows = rows if is_sparse(rows) else dense(rows) / within_spread(rows, codes)

    def of(self, queries: IntArray, cluster: int, n: int, among: IntArray | None = None) -> AnyArray:
        """Return the n nearest members (m, n) of a cluster, without the point itself; -1 where there are fewer."""
        members = np.flatnonzero(self._codes == cluster) if among is None else among[self._codes[among] == cluster]
        found = np.full((queries.size, n), -1)
        if not members.size or not queries.size:
            return found
        finder = NearestNeighbors(algorithm="brute").fit(self._rows[members])
        near = members[finder.kneighbors(self._rows[queries], min(n + 1, members.size), return_distance=False)]
        for place, query in enumerate(queries.tolist()):
            others = near[place][near[place] != query][:n]
            found[place, : others.size] = others
        return found


def within_spread(rows: Rows, codes: IntArray) -> FloatArray:
    """Return the pooled standard deviation (d,) of each column within clusters, 1 where there is none."""
    squares = np.zeros(rows.shape[1])
    step = max(1, _BLOCK // squares.size)
    for cluster in np.unique(codes[codes >= 0]).tolist():
        members = np.flatnonzero(codes == cluster)
        mean = np.ravel(rows[members].mean(axis=0))
        for start in range(0, members.size, step):
            squares += ((dense(rows[members[start : start + step]]) - mean) ** 2).sum(axis=0)
    variance = squares / max(int((codes >= 0).sum()), 1)
    return np.where(variance > 0, np.sqrt(variance), 1.0)


def describe_clusters(result: AffinityResult, X: Any = None, data: Any = None) -> dict[Any, str]:
    """Return a short description of each cluster by its label, made from what sets it apart.

    Parameters
    ----------
    result
        What :func:`allegiance.trust` or :func:`allegiance.affinity` returns.
    X
        (n, d) the data that was clustered.
    data
        A frame with the user's own columns, in which clusters are described; by default X.

    Examples
    --------
    >>> import pandas as pd
    >>> from allegiance import affinity
    >>> from allegiance.report import describe_clusters
    >>> X = pd.DataFrame({"revenue": [1.0, 2.0, 3.0, 90.0, 91.0, 92.0]})
    >>> describe_clusters(affinity(X, [0, 0, 0, 1, 1, 1], random_state=0), X)
    {0: 'low revenue', 1: 'high revenue'}
    """
    columns = check_inputs(result, X, data=data).columns
    traits = cluster_traits(columns, profile_columns(columns, result.codes, result.n_clusters), result.n_clusters)
    return dict(zip(result.classes.tolist(), name_clusters(columns, traits), strict=True))


def described(columns: list[Column], profiles: list[ColumnProfile | None], place: IntArray) -> list[dict[str, Any]]:
    """Return columns with the typical values of the clusters in the order of the page, for its scripts."""
    order = np.argsort(place)
    found = []
    for column, profile in zip(columns, profiles, strict=True):
        entry: dict[str, Any] = {"name": column.name, "kind": column.kind}
        if column.kind == "category":
            entry["levels"] = list(column.levels)
        if profile is not None:
            entry["means"] = [[_rounded(value) for value in means] for means in profile.means[order].tolist()]
            entry["spread"] = [_rounded(value) for value in profile.spread.tolist()]
        found.append(entry)
    return found


def _rounded(value: float) -> float | None:
    return None if value != value else float(f"{value:.6g}")
