"""The clusters on the page: their order, counts, rivals and typical members, and descriptions in the user's columns."""

from __future__ import annotations

from collections import Counter
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from allegiance._core.validation import AnyArray, FloatArray, IntArray, join_names
from allegiance.results import AffinityResult, ClusterFigures, Summary

from ._columns import EXCERPT, Column, shorten
from ._inputs import check_inputs

if TYPE_CHECKING:
    from allegiance.io import FeaturePlan

#: Typical members per cluster, and in total.
TYPICAL, MAX_TYPICAL = 6, 5_000
#: Number of traits listed for a cluster, used in its name, and shown with values.
_TRAITS, _IN_NAME, _IN_DETAILS = 8, 2, 3
#: Smallest differences for a name: in standard deviations, and in the share of a category.
_WORTH_A_NAME, _WORTH_A_SHARE = 0.6, 0.25
#: How much more a category says that is frequent in a cluster than one that is rare there.
_FREQUENT = 1.5
#: Smallest difference in the share of texts with a word, and most texts and words that are counted.
_WORTH_A_WORD, _TEXTS, _WORDS = 0.1, 10_000, 5_000
#: Characters of a name, and of a category inside it.
_NAME_LENGTH, _LEVEL_LENGTH = 48, 24
#: Values that are only clear together with their column name.
_BARE = {"yes", "no", "true", "false", "y", "n", "none", "other", "unknown", "ja", "nein"}
#: Milliseconds.
_DAY = 86_400_000.0


class Groups(NamedTuple):
    """The points of the page by cluster, the least trusted cluster first."""

    summary: Summary
    clusters: list[ClusterFigures]
    """(k,) without noise."""
    rivals: IntArray
    """(k, k) number of labels of each cluster (rows) that are not firm, by rival (columns)."""
    noise: int
    """Number of noise points."""
    place: IntArray
    """(k,) position of each cluster of ``classes`` in this order."""
    code: IntArray
    """(n,) position of each point's cluster; k for noise, which is last."""
    values: FloatArray
    """(n,) trust or, without calibration, own affinity; NaN for noise."""
    word: str
    """The name of the values."""

    @property
    def labels(self) -> list[str]:
        """(k,) labels of the clusters in page order, as text."""
        return [str(cluster.name) for cluster in self.clusters]

    @property
    def counts(self) -> list[int]:
        """Numbers of firm, borderline and doubtful points in the clusters of the page, and of noise points."""
        verdicts = [(c.firm, c.borderline, c.doubtful) for c in self.clusters]
        return [*(sum(numbers) for numbers in zip(*verdicts, strict=True)), self.noise]


def sort_clusters(result: AffinityResult) -> Groups:
    """Return the clusters of the page, sorted as in summaries, with the numbers of their points."""
    k, summary = result.classes.size, result.summary()
    figures = summary.clusters
    order = sorted(range(k), key=lambda code: -figures[code].doubt)
    place = np.argsort(order)
    return Groups(
        summary=summary,
        clusters=[figures[code] for code in order],
        rivals=summary.rivals[np.ix_(order, order)],
        noise=int(result._noise.sum()),
        place=place,
        code=np.where(result._noise, k, place[result._codes]),
        # A sum may round to just above 1.
        values=np.minimum(result._trust_or_affinity, 1.0),
        word="trust" if result._has_trust else "own affinity",
    )


def typical_members(result: AffinityResult) -> list[IntArray]:
    """Return the most typical members of each cluster on the page, the most typical first."""
    each = max(1, min(TYPICAL, MAX_TYPICAL // result.classes.size))
    # Noise, then one cluster after the other, the most typical members first.
    order = np.lexsort([-result.typicality, result._codes])
    starts = np.searchsorted(result._codes[order], np.arange(result.classes.size + 1))
    return [order[start : min(start + each, end)] for start, end in pairwise(starts)]


def rival_pairs(groups: Groups, most: int) -> list[tuple[int, int, int]]:
    """Return the pairs of clusters that are most often confused, as positions on the page, with counts."""
    rows, columns = np.nonzero(groups.rivals)
    counts = groups.rivals[rows, columns]
    order = np.argsort(-counts, kind="stable")[:most]
    return list(zip(rows[order].tolist(), columns[order].tolist(), counts[order].tolist(), strict=True))


class Trait(NamedTuple):
    """A column that describes a cluster: it differs there from the other clusters."""

    column: int
    level: int
    """The category, -1 for numbers and dates."""
    inside: float
    """Mean of the cluster; for a category its share."""
    outside: float
    """The same over all other clusters."""
    difference: float
    """In standard deviations: within clusters, for a category over all."""


class ColumnProfile(NamedTuple):
    """Typical values of each cluster in one column, which describe it."""

    means: FloatArray
    """(k, 1) means, or (k, levels) shares; NaN where a cluster has no values."""
    spread: FloatArray
    """(1,) pooled standard deviation within clusters, or (levels,) of each category over all; NaN if constant."""
    rest: FloatArray
    """Shaped like ``means``: the same over all other clusters."""
    overall: FloatArray
    """(1,) or (levels,): the same over all clusters."""
    total: FloatArray
    """(1,) or (levels,): the standard deviation over all clusters."""
    separation: float
    """The share of the variance that lies between clusters."""
    strongest: int
    """The category that separates the clusters best; 0 for numbers."""

    @property
    def difference(self) -> FloatArray:
        """Shaped like ``means``: by how many standard deviations each cluster differs from the other ones."""
        return np.nan_to_num((self.means - self.rest) / self.spread)

    @property
    def standardized(self) -> FloatArray:
        """Shaped like ``means``: by how many standard deviations each cluster differs from all clusters."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.nan_to_num((self.means - self.overall) / self.total)


def profile_columns(columns: list[Column], codes: IntArray, k: int) -> list[ColumnProfile | None]:
    """Return the columns that describe the clusters of the page; ``codes`` (n,) are -1 for noise."""
    profiles: list[ColumnProfile | None] = []
    for column in columns:
        if not column.describes or column.kind == "text":
            profiles.append(None)
            continue
        category = column.kind == "category"
        known = (codes >= 0) & ((column.values >= 0) if category else ~np.isnan(column.values))
        own, values = codes[known], column.values[known]
        # Shares count blanks; means do not.
        sizes = np.bincount(codes[codes >= 0] if category else own, minlength=k).astype(np.float64)[:, None]
        width, scale, variance = max(len(column.levels), 1), 1.0, 0.0
        if category:
            sums: AnyArray = np.bincount(own * width + values, minlength=k * width).reshape(k, width)
        else:
            scale = max(float(np.abs(values).max(initial=0.0)), 1e-300)  # No square may overflow.
            sums = np.bincount(own, weights=values / scale, minlength=k)[:, None]
            variance = float(np.var(values / scale)) if own.size else 0.0
        with np.errstate(invalid="ignore", divide="ignore"):
            profiles.append(_compared(sums / sizes, sizes, None if category else variance, scale))
    return profiles


def _compared(means: FloatArray, sizes: FloatArray, variance: float | None, unit: float) -> ColumnProfile:
    """Return how clusters on the page compare, from means (k, w), sizes (k, 1) and variance (None: shares)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        sums = np.where(sizes > 0, sizes * means, 0.0)
        overall = sums.sum(axis=0) / sizes.sum()
        rest = (sums.sum(axis=0) - sums) / (sizes.sum() - sizes)
        within = overall * (1 - overall)
        between = np.where(sizes > 0, sizes * (means - overall) ** 2, 0.0).sum(axis=0) / sizes.sum()
        total = within if variance is None else np.array([variance])
        if variance is not None:
            # A number that is constant in each cluster separates the clusters perfectly.
            within = np.maximum(variance - between, 1e-4 * variance)
        # A constant column only has rounding errors.
        spread = np.where(within > 1e-24, np.sqrt(within), np.nan)
    means = np.where(sizes > 0, means, np.nan)
    between = np.nan_to_num(between)
    separation = float(between.sum() / total.sum()) if total.sum() > 1e-24 else 0.0
    # Of equally separating categories, such as yes and no, the rarest.
    strongest = np.lexsort([overall, -between.round(12)])[0]
    deviation = np.sqrt(total) * unit
    return ColumnProfile(
        means * unit, spread * unit, rest * unit, overall * unit, deviation, separation, int(strongest)
    )


def cluster_traits(columns: list[Column], profiles: list[ColumnProfile | None], k: int) -> list[list[Trait]]:
    """Return the traits that describe each of k clusters: the columns in which it differs most, strongest first."""
    by_cluster: list[list[Trait]] = [[] for _ in range(k)]
    for place, (column, profile) in enumerate(zip(columns, profiles, strict=True)):
        if profile is None:
            continue
        difference = profile.difference
        # Of two similarly different categories, the one that is more frequent here.
        strongest = (np.abs(difference) * np.where(difference > 0, _FREQUENT, 1)).argmax(axis=1)
        for cluster, level in enumerate(strongest.tolist()):
            if value := float(difference[cluster, level]):
                inside, outside = float(profile.means[cluster, level]), float(profile.rest[cluster, level])
                category = level if column.kind == "category" else -1
                by_cluster[cluster].append(Trait(place, category, inside, outside, value))
    return [_without_repeats(traits, profiles) for traits in by_cluster]


def _without_repeats(traits: list[Trait], profiles: list[ColumnProfile | None]) -> list[Trait]:
    """Return the strongest traits, without columns that describe the cluster in the same way as a stronger one."""
    chosen: list[Trait] = []
    patterns: list[FloatArray] = []  # standardized means (k,) of all clusters, with both signs
    for trait in sorted(traits, key=lambda trait: -abs(trait.difference)):
        profile = profiles[trait.column]
        assert profile is not None
        own = profile.standardized[:, max(trait.level, 0)]
        # The means of two clusters agree by chance more easily than those of several.
        tolerance = (0.02 if own.size > 2 else 0.001) * np.abs(own).max()
        if not any(np.abs(own - other).max() <= tolerance for other in patterns):
            chosen.append(trait)
            patterns += [own, -own]
        if len(chosen) == _TRAITS:
            break
    return chosen


class Description(NamedTuple):
    """The description of a cluster by its traits."""

    name: str
    """A few words, such as "high revenue, fiber"; empty if it has no traits."""
    details: str
    """The strongest traits, with the values of the cluster and of the other clusters in parentheses."""


def describe(columns: list[Column], traits: list[list[Trait]]) -> list[Description]:
    """Return a description of each cluster from its traits."""
    # Answers such as "very accurate" occur in several columns.
    levels = Counter(level.strip().lower() for column in columns for level in column.levels)
    bare = _BARE | {level for level, n in levels.items() if n > 1 or not any(letter.isalpha() for letter in level)}
    names = [_name(columns, own, bare, _IN_NAME) for own in traits]
    longer = [_name(columns, own, bare, _IN_NAME + 2, 2 * _NAME_LENGTH) for own in traits]
    # Clusters with the same name get more traits.
    names = [more if names.count(name) > 1 else name for name, more in zip(names, longer, strict=True)]
    details = [filter(None, (_detail(columns[trait.column], trait) for trait in own)) for own in traits]
    return [Description(name, ", ".join(islice(own, _IN_DETAILS))) for name, own in zip(names, details, strict=True)]


def _name(columns: list[Column], traits: list[Trait], bare: set[str], most: int, length: int = _NAME_LENGTH) -> str:
    """Return the name of a cluster that describes its strong traits, or the strongest one if all are weak.

    Categories in ``bare`` are only clear together with their column name.
    """
    named = [trait for trait in traits if columns[trait.column].is_named]
    parts: list[str] = []
    for trait in named:
        if abs(trait.difference) < _WORTH_A_NAME or len(parts) == most:
            break
        if trait.level >= 0 and trait.inside - trait.outside < _WORTH_A_SHARE:
            continue
        part = shorten(_words(columns[trait.column], trait, bare), length)
        if part not in parts and (not parts or sum(map(len, [*parts, part])) <= length):
            parts.append(part)
    if not parts and named:
        weakly = ("less often", "more often")[named[0].difference > 0] if named[0].level >= 0 else "somewhat"
        parts = [shorten(f"{weakly} {_words(columns[named[0].column], named[0], bare)}", length)]
    return ", ".join(parts)


def _words(column: Column, trait: Trait, bare: set[str]) -> str:
    """Return the words that describe a trait, such as "high income" or a category."""
    if column.kind == "category":
        level = column.levels[trait.level].strip()
        words = shorten(level, _LEVEL_LENGTH)
        words = f"{column.name} {words}" if level.lower() in bare else words
    else:
        ends = ("late", "early") if column.kind == "date" else ("high", "low")
        words = f"{ends[trait.difference < 0]} {join_names([column.name])}"
    return " ".join(words.split())


def _detail(column: Column, trait: Trait) -> str:
    """Return the words that describe a trait, with the values of the cluster and the others; empty if they agree."""
    if column.kind == "category":
        words = f"{join_names([column.name])}={column.levels[trait.level].strip()}"
        words = words if trait.difference > 0 else f"less often {words}"
        inside, outside = (f"{value:.0%}" for value in (trait.inside, trait.outside))
    else:
        words, gap = _words(column, trait, set()), abs(trait.inside - trait.outside)
        inside, outside = (_in_unit(column, value, gap=gap) for value in (trait.inside, trait.outside))
    return "" if inside == outside else f"{words} ({inside}, others {outside})"


def _in_unit(column: Column, value: float, largest: float | None = None, gap: float = 0.0) -> str:
    """Return a typical value of a cluster in its unit as text, with the decimals for the largest value in its row.

    Values that differ by a small ``gap`` have two of its digits.
    """
    if column.kind == "date":
        return str(np.datetime64(round(value), "ms").astype("datetime64[D]"))
    if column.is_year:
        return f"{value:.0f}"
    if gap and gap < 0.01 * abs(value) < 1e13:
        return f"{value:,.{max(0, 1 - int(np.floor(np.log10(gap))))}f}"
    if largest is not None and 1e-3 <= largest < 1e15:
        decimals = max(0, 2 - int(np.floor(np.log10(largest))))
        return f"{round(value, decimals) or 0.0:,.{decimals}f}"
    return f"{value:,.0f}" if 999.5 <= abs(value) < 1e15 else f"{value:.3g}"


def name_by_words(texts: list[str], codes: IntArray, k: int) -> list[str]:
    """Describe k clusters of texts by the words that are more frequent there than in the other clusters."""
    rows = np.flatnonzero(codes >= 0)
    rows = rows[:: -(-rows.size // _TEXTS) or 1]
    words = CountVectorizer(binary=True, stop_words="english", token_pattern=r"[^\W\d_]{3,}", max_features=_WORDS)
    try:
        occurs = words.fit_transform([texts[row][:EXCERPT] for row in rows.tolist()])
    except ValueError:  # There are no words.
        return [""] * k
    members = np.bincount(codes[rows], minlength=k)[:, None].astype(np.float64)
    sums = sp.csr_array((np.ones(rows.size), (codes[rows], np.arange(rows.size))), shape=(k, rows.size)) @ occurs
    profile = _compared(sums.toarray() / np.maximum(members, 1), members, None, 1.0)
    difference = profile.difference
    difference[np.nan_to_num(profile.means - profile.rest) < _WORTH_A_WORD] = 0.0
    vocabulary, names = words.get_feature_names_out(), list[str]()
    for own in difference:
        chosen = list[str]()
        for word in np.argsort(-own, kind="stable").tolist():
            if not own[word] or len(chosen) == _IN_NAME:
                break
            # "visualization" adds nothing to "visualizations".
            if not any(one.startswith(vocabulary[word]) or vocabulary[word].startswith(one) for one in chosen):
                chosen.append(vocabulary[word])
        names.append(", ".join(chosen))
    return names


def cluster_descriptions(result: AffinityResult, data: Any) -> list[Description]:
    """Return a description of each cluster of a result, in the columns of ``data``."""
    columns = check_inputs(result, data=data).columns
    return describe(columns, result_traits(result, columns)[1])


def result_traits(
    result: AffinityResult, columns: list[Column]
) -> tuple[list[ColumnProfile | None], list[list[Trait]]]:
    """Return column profiles, and the traits that describe the clusters in columns that do not repeat the labels."""
    k, rows = result.classes.size, np.flatnonzero(result._codes >= 0).tolist()
    labels = [str(int(c)) if isinstance(c, float) and c.is_integer() else str(c) for c in result.classes.tolist()]
    profiles = profile_columns(columns, result._codes, k)
    informative = list(profiles)
    for place, column in enumerate(columns):
        # Most columns differ from the labels in one of the first rows.
        if column.kind in ("number", "category") and all(
            column.text(row) == labels[result._codes[row]] for row in rows
        ):
            informative[place] = None
    return profiles, cluster_traits(columns, informative, k)


def center_descriptions(centers: FloatArray, sizes: FloatArray, plan: FeaturePlan) -> list[Description]:
    """Return a description of each cluster from centers (k, d), sizes (k,) and the feature plan.

    For tables that are not in memory. If centers are means, it equals the description from all rows.
    """
    columns: list[Column] = []
    profiles: list[ColumnProfile | None] = []
    weights, start = np.asarray(sizes, dtype=np.float64)[:, None], 0
    for planned in plan.features:
        means = np.asarray(centers, dtype=np.float64)[:, start : start + planned.width]
        start += planned.width
        if plan.scaled:
            means = means * planned.spread + np.asarray(planned.center)
        # The plan of bare numbers has no spreads.
        variance = planned.spread**2 if plan.scaled else 2 * float(np.cov(means[:, 0], aweights=weights[:, 0], ddof=0))
        columns.append(Column(planned.name, planned.kind or "number", None, tuple(planned.categories)))
        unit = _DAY if planned.kind == "date" else 1.0
        profiles.append(_compared(means, weights, None if planned.kind == "category" else variance, unit))
    return describe(columns, cluster_traits(columns, profiles, len(centers)))


def column_descriptions(
    columns: list[Column], profiles: list[ColumnProfile | None], place: IntArray
) -> list[dict[str, Any]]:
    """Return the values that describe the clusters in page order by column, for the page's scripts."""
    order = np.argsort(place)
    entries = []
    for column, profile in zip(columns, profiles, strict=True):
        entry: dict[str, Any] = {"name": column.name, "kind": column.kind, "year": column.is_year}
        if column.kind == "category":
            entry["levels"] = list(column.levels)
        if profile is not None:
            entry["means"] = [[_rounded(value) for value in means] for means in profile.means[order].tolist()]
            entry["spread"] = [_rounded(value) for value in profile.spread.tolist()]
        entries.append(entry)
    return entries


def _rounded(value: float) -> float | None:
    """Return a typical value of a cluster on the page with six digits; None if it is unknown."""
    return None if value != value else float(f"{value:.6g}")


class HeatRow(NamedTuple):
    """One column that describes clusters as a row of the heat map, with a cell for each cluster."""

    column: int
    name: str
    share: float | None
    """Its share of the separation between clusters, if known."""
    overall: str
    cells: list[tuple[str, float]]
    """The mean in its unit, or the share of a category, and how far it is from that of all clusters: between -1 and 1
    for two standard deviations and more."""


def describe_in_heat_map(
    columns: list[Column], profiles: list[ColumnProfile | None], place: IntArray, shares: dict[str, float]
) -> list[HeatRow]:
    """Describe clusters by the rows of the heat map, one for each column, strong drivers or separation first."""
    order = np.argsort(place)
    rows = []
    for number, (column, profile) in enumerate(zip(columns, profiles, strict=True)):
        if profile is None or not profile.separation:
            continue
        level = profile.strongest
        values = [*profile.means[order, level].tolist(), float(profile.overall[level])]
        if column.kind == "category":
            texts = ["-" if value != value else f"{value:.0%}" for value in values]
            name = f"{column.name}: {shorten(column.levels[level], _LEVEL_LENGTH)}"
        else:
            largest = float(np.nanmax(np.abs(values)))
            texts, name = ["-" if value != value else _in_unit(column, value, largest) for value in values], column.name
        cells = list(
            zip(texts[:-1], np.clip(profile.standardized[order, level] / 2, -1, 1).round(2).tolist(), strict=True)
        )
        rows.append((profile.separation, HeatRow(number, name, shares.get(column.name), texts[-1], cells)))
    rows.sort(key=lambda row: (-(row[1].share or 0.0), -row[0]))
    return [row for _, row in rows]
