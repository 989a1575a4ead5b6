"""Drivers of a clustering: the columns that separate the clusters, a rule that reproduces them, and warnings."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp

from allegiance._core.validation import AnyArray, FloatArray, IntArray, is_sparse, join_names
from allegiance.notebook import Card, CardMixin

if TYPE_CHECKING:
    import pandas as pd

    from allegiance.results import FrameLike

__all__ = ["Drivers", "Finding", "drivers", "duplicates_text", "quote_option", "same_content"]

#: Limits of the sample that the tree is fitted on: rows, cells, and columns.
_MAX_TREE_ROWS, _MAX_TREE_CELLS, _MAX_TREE_COLUMNS = 10_000, 1_000_000, 100
#: Columns compared in pairs, and distinct values of columns compared as categories.
_MAX_PAIRED, _MAX_CATEGORIES = 100, 50
#: Folds of the cross-validation, the fidelity of a rule that reproduces the labels, and one not worth printing.
_FOLDS, _FAITHFUL, _UNFAITHFUL = 3, 0.95, 0.75
#: Smallest share of the separation of a column that decides alone, of the columns in a short rule, and of a driver.
_DECIDES, _RULE_SHARE, _DRIVER = 0.6, 0.6, 0.05
#: Maximum columns of a short rule, minimum share of rows in a giant cluster, maximum members of a tiny cluster.
_SHORT_RULE, _GIANT, _TINY = 3, 0.95, 4
#: Correlation of numbers, and symmetric uncertainty of categories, from which two columns count as duplicates.
_CORRELATED, _ONE_TO_ONE = 0.985, 0.97
#: Microseconds.
_DAY = 86_400e6
#: Names of columns with a year, and the most years that an observation spans; a year of birth spans more.
_YEAR_NAME, _MAX_YEARS = re.compile(r"(?:^|[^a-z])(?:year|yr|jahr)$|Year$", re.I), 30


@dataclass(frozen=True)
class Finding:
    """A problem or remarkable fact about a table or a clustering.

    Attributes
    ----------
    kind
        The topic in one or two words, such as "time", "duplicates" or "sentinel".
    columns
        The columns concerned; empty for the whole table.
    text
        One or two sentences.
    remedy
        The option or code that resolves it; empty if there is none.
    level
        "error" (must be resolved first), "warning" (changes the answer) or "note".
    """

    kind: str
    columns: tuple[str, ...]
    text: str
    remedy: str = ""
    level: str = "warning"

    def __str__(self) -> str:
        """Return the finding as text, with its remedy."""
        undo = "to undo: " if self.remedy.startswith("--keep") else ""
        return f"{self.text} ({undo}{self.remedy})" if self.remedy else self.text


@dataclass(frozen=True, repr=False, eq=False)
class Drivers(CardMixin):
    """The columns that separate the clusters. Returned by ``result.drivers(data)``.

    Attributes
    ----------
    shares
        The share of the between-cluster sum of squares by column, largest first. Shares sum to 1.
    rule
        A decision tree as text, one line per leaf. The first line that matches a row gives its cluster.
    rule_columns
        The columns in the rule.
    fidelity
        Cross-validated fraction of labels that the rule reproduces.
    flags
        Warnings, each a :class:`Finding` with ``kind``, ``columns``, ``text`` and ``remedy``.
    """

    shares: dict[str, float]
    rule: str
    rule_columns: tuple[str, ...]
    fidelity: float
    flags: tuple[Finding, ...]
    _frame_like: FrameLike

    @property
    def columns(self) -> pd.DataFrame:
        """A frame with ``column`` and ``share``, largest share first."""
        return self._frame_like.build({"column": np.array([*self.shares]), "share": np.array([*self.shares.values()])})

    def frame(self) -> pd.DataFrame:
        """Return :attr:`columns` with ``in_rule`` and ``flags``, the kinds of the flags that name the column."""
        kinds = [", ".join(flag.kind for flag in self.flags if name in flag.columns) for name in self.shares]
        in_rule = np.array([name in self.rule_columns for name in self.shares], dtype=bool)
        columns = {"column": np.array([*self.shares]), "share": np.array([*self.shares.values()])}
        return self._frame_like.build(columns | {"in_rule": in_rule, "flags": np.array(kinds)})

    def to_dict(self) -> dict[str, Any]:
        """Return the drivers as plain values that JSON can store."""
        return {
            "columns": [{"column": name, "share": share} for name, share in self.shares.items()],
            "rule": self.rule.splitlines(),
            "rule_columns": list(self.rule_columns),
            "fidelity": self.fidelity,
            "flags": [{**asdict(flag), "columns": list(flag.columns)} for flag in self.flags],
        }

    def lines(self, most: int = 5) -> list[str]:
        """Return the drivers as lines of text, without flags: ``most`` columns, and as many lines of the rule."""
        if not self.shares:
            return ["No column differs between the clusters."]
        top = [f"{join_names([name])} {share:.0%}" for name, share in self.shares.items() if share >= 0.005][:most]
        lines = [f"Separation between clusters by column: {', '.join(top)}."]
        if self.is_diffuse:
            largest = f"; the largest share is {top[0]}" if top else ""
            lines = [f"The separation between clusters is spread over many columns{largest}."]
        used, rule = len(self.rule_columns), self.rule.splitlines()
        if not used:
            return lines
        if self.fidelity < _UNFAITHFUL:
            tree = f"a tree with {len(rule)} leaves reproduces {self.fidelity:.0%} of the labels"
            return [*lines, f"No short rule describes the clusters: {tree}."]
        more = [f"  ... and {len(rule) - most} more lines"] if len(rule) > most + 1 else []
        head = f"A rule on {used} of {len(self.shares)} columns reproduces {self.fidelity:.0%} of the labels:"
        return [*lines, head, *(f"  {line}" for line in (rule[:most] if more else rule)), *more]

    @property
    def is_diffuse(self) -> bool:
        """Whether the separation is spread over many columns, as in embeddings."""
        shares = np.array([*self.shares.values()])
        return bool(shares.size and 1 / (shares**2).sum() > 20 and shares.max() < 0.1)

    def plot(self, ax: Any = None) -> Any:
        """Draw the largest shares of drivers as bars, by default in a new figure. Needs the extra ``plot``."""
        from allegiance.displays import plot_shares

        return plot_shares(self, ax)

    def _card(self) -> Card:
        """Return the card that displays the drivers."""
        top = list(self.shares.items())[:10]
        head, *lines = self.lines(most=12)
        return Card(
            title="Drivers of the clusters",
            lines=[*map(str, self.flags), head],
            headings=("column", "share") if top else (),
            rows=[(name, f"{share:.0%}") for name, share in top],
            words=("column",),
            notes=lines,
        )


def drivers(
    labels: Any,
    data: Any,
    *,
    plan: Any = None,
    names: Iterable[str] | None = None,
    ids: Any = None,
    scale: bool | None = None,
) -> Drivers:
    """Find the columns that separate the clusters, and a short rule that reproduces the labels.

    Column shares are exact. The rule is fitted on a sample of at most 10,000 rows and the 100 columns that separate the
    clusters best.

    Parameters
    ----------
    labels
        (n,) the labels, -1 for noise, or a result of ``trust`` or ``affinity``.
    data
        (n, d) the clustered data: an array, a sparse matrix, or a frame of numbers, dates and categories. With
        ``plan``, its matrix or its table.
    plan
        The ``FeaturePlan`` of a table, which describes dates, categories, missing values and units.
    names
        Names of the columns of an array; by default x0, x1, ...
    ids
        (n,) identifiers of the rows, to list the members of tiny clusters; by default the index, or row numbers.
    scale
        Whether to standardize the columns; by default only for frames with dates or categories. With ``plan`` it is
        ignored.

    Examples
    --------
    >>> import numpy as np
    >>> from allegiance.drivers import drivers
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> labels = (X[:, 2] > 0.5).astype(int)
    >>> result = drivers(labels, X, names=["age", "income", "spent", "visits"])
    >>> result.rule_columns, [flag.kind for flag in result.flags]
    (('spent',), ['one column'])
    """
    from allegiance.results import FrameLike

    labels = np.asarray(getattr(labels, "label", labels))
    features, usable = _find_candidates(data, plan, names, labels, scale)
    index = nw.maybe_get_index(nw.from_native(data, pass_through=True)) if hasattr(data, "columns") else None
    ids = np.arange(labels.size) if ids is None and index is None else np.asarray(index if ids is None else ids)
    features.find_timestamps()
    is_labeled = labels[usable].astype(str) != "-1"
    rows = usable[is_labeled]
    features.matrix = features.matrix if is_labeled.all() else features.matrix[np.flatnonzero(is_labeled)]
    classes, codes = np.unique(labels[rows], return_inverse=True)
    like = FrameLike.of(data).without_index()
    if classes.size < 2:
        return Drivers({}, "", (), np.nan, (), like)
    # Sort the classes by their data, so that the tree does not depend on label names.
    place, sizes = features.positions(), np.bincount(codes)
    order = np.lexsort((np.bincount(codes, place) / sizes, -sizes))
    classes, codes = classes[order], np.argsort(order)[codes]
    separation = features.separation(codes, sizes[order])
    shares = features.shares(separation)
    # Of several columns with the same information, the plan keeps the first, and the rule uses that one.
    duplicates = [one.columns for one in getattr(plan, "findings", ()) if one.kind == "duplicates"]
    spare = [name for names in duplicates for name in names[1:]]
    rule, used, fidelity = _fit_rule(features, codes, classes, separation, place, spare)
    result = Drivers(shares, rule, used, fidelity, (), like)
    flags = _find_flags(result, features, codes, classes, ids[rows], duplicates, has_plan=plan is not None)
    return replace(result, flags=tuple(flags))


@dataclass
class _Candidate:
    """One column of the user's data that may be a driver, and its columns in the matrix."""

    name: str
    kind: str  # "number", "date" or "category"
    at: int  # first column in the matrix
    categories: Sequence[str] = ()
    missing: float = 0.0  # share of rows
    is_counter: bool = False

    @property
    def places(self) -> slice:
        """The columns of the matrix that belong to the candidate driver."""
        return slice(self.at, self.at + max(len(self.categories), 1))


@dataclass
class _Candidates:
    """The candidate drivers: the clustered matrix (n, d), its columns, and the scale of the user's units."""

    matrix: Any
    columns: list[_Candidate]
    center: FloatArray
    spread: FloatArray

    def find_timestamps(self) -> None:
        """Mark candidate drivers that are time: years, dates such as 20240131, and increasing seconds since 1970."""
        numbers = [one for one in self.columns if one.kind == "number"]
        if is_sparse(self.matrix) or self.matrix.shape[0] < 20 or not numbers:
            return
        heads = self.in_units([one.at for one in numbers], np.arange(20)).T
        for one, head in zip(numbers, heads, strict=True):
            low, high, values = head.min(), head.max(), self.matrix[:, one.at]
            dates = 19e6 < low <= high < 21e6 and ((head % 100 <= 31) & (head // 100 % 100 <= 12)).all()
            years = _YEAR_NAME.search(one.name) and 1900 <= low <= high < 2100
            if years and one.name.lower() not in ("year", "yr", "jahr"):
                years = float(np.ptp(values) * self.spread[one.at]) <= _MAX_YEARS
            seconds = 3e8 < low < 4.2e12 and (np.diff(values) >= 0).all()
            one.is_counter |= bool(dates or years or seconds)

    @cached_property
    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation (d,) of the candidate drivers in the matrix."""
        matrix = self.matrix
        if not is_sparse(matrix):
            return matrix.mean(axis=0, dtype=np.float64), matrix.std(axis=0, dtype=np.float64)
        mean = np.asarray(matrix.mean(axis=0)).ravel()
        return mean, np.sqrt(np.maximum(np.asarray(matrix.multiply(matrix).mean(axis=0)).ravel() - mean**2, 0.0))

    def positions(self) -> FloatArray:
        """Return a sort key (n,) per row of the drivers' sample that does not depend on row order."""
        direction = np.random.default_rng(0).normal(size=self.matrix.shape[1])
        std = self.moments[1]
        direction /= np.where(std > 0, std, 1.0)
        return np.asarray(self.matrix @ direction).ravel()

    def separation(self, codes: IntArray, sizes: IntArray) -> FloatArray:
        """Return the between-cluster sum of squares (d,) of each candidate driver in the matrix."""
        n = codes.size
        members = sp.csr_matrix((np.ones(n), (codes, np.arange(n))), shape=(sizes.size, n))
        mean = self.moments[0]
        if is_sparse(self.matrix):
            means = np.asarray((members @ self.matrix).todense()) / sizes[:, None]
        else:
            # In blocks: a centered copy of a large matrix would double the memory.
            sums = np.zeros((sizes.size, self.matrix.shape[1]))
            for start in range(0, n, 65_536):
                rows = slice(start, start + 65_536)
                sums += members[:, rows] @ (self.matrix[rows] - mean)
            means, mean = sums / sizes[:, None], np.zeros_like(mean)
        return np.asarray((sizes[:, None] * (means - mean) ** 2).sum(axis=0))

    def shares(self, separation: FloatArray) -> dict[str, float]:
        """Return the share of the separation of each candidate driver, largest first."""
        total = float(separation.sum())
        if not total > 0:
            return {}
        sums = {one.name: float(separation[one.places].sum() / total) for one in self.columns}
        return dict(sorted(sums.items(), key=lambda item: -item[1]))

    def in_units(self, places: Sequence[int], rows: IntArray) -> FloatArray:
        """Return candidate drivers in the user's units, for some rows."""
        sparse = is_sparse(self.matrix)
        values = self.matrix[rows][:, places].toarray() if sparse else self.matrix[rows[:, None], places]
        return np.asarray(values, dtype=np.float64) * self.spread[places] + self.center[places]


def _find_candidates(
    data: Any, plan: Any, names: Iterable[str] | None, labels: AnyArray, scale: bool | None
) -> tuple[_Candidates, IntArray]:
    """Return the candidate drivers from data in any form, and the numbers (m,) of the usable rows."""
    n_rows = labels.size
    usable = np.arange(n_rows)
    if plan is not None:
        if isinstance(data, np.ndarray) and data.ndim == 2 and data.shape[1] == len(plan.names):
            matrix: Any = data
        elif isinstance(data, str) or hasattr(data, "__fspath__") or hasattr(data, "batches"):
            matrix = plan.matrix(data)
        else:
            matrix, used = plan.prepare(data)
            usable = used if len(data) == n_rows else usable
        features = _from_plan(plan, matrix)
    else:
        frame = nw.from_native(data, pass_through=True, eager_only=True)
        if isinstance(frame, nw.DataFrame):
            features = _from_frame(frame, labels, scale)
        else:
            features = _from_array(data, names, scale)
    if features.matrix.shape[0] != usable.size:
        raise ValueError(f"data has {features.matrix.shape[0]:,} rows but there are {n_rows:,} labels.")
    return features, usable


def _from_plan(plan: Any, matrix: FloatArray) -> _Candidates:
    """Return the columns of a table plan as candidate drivers, with the missing values of the plan's table."""
    columns, at = [], 0
    for column in plan.features:
        # In a column of 1 and blank, blank means no.
        missing = 0.0 if column.width == 2 else column.n_missing / max(plan.n_rows, 1)
        columns.append(_Candidate(column.name, column.kind, at, tuple(column.categories), missing))
        at += column.width
    center, one = plan.in_units(np.stack([np.zeros(at), np.ones(at)]))
    return _Candidates(matrix, columns, center, one - center)


def _from_array(data: Any, names: Iterable[str] | None, scale: bool | None) -> _Candidates:
    """Return the columns of an array or a sparse matrix as candidate drivers, by default named x0, x1, ..."""
    matrix = data.tocsr() if is_sparse(data) else np.asarray(data, dtype=np.float64)
    if matrix.ndim != 2:
        raise ValueError(f"data must be 2-D, got shape {matrix.shape}.")
    names = [f"x{i}" for i in range(matrix.shape[1])] if names is None else [str(name) for name in names]
    if len(names) != matrix.shape[1]:
        raise ValueError(f"data has {matrix.shape[1]} columns but there are {len(names)} names.")
    columns = [_Candidate(name, "number", i) for i, name in enumerate(names)]
    if is_sparse(matrix):
        return _Candidates(matrix, columns, np.zeros(len(names)), np.ones(len(names)))
    return _dense_candidates([matrix[:, i : i + 1] for i in range(len(names))], columns, bool(scale))


def _from_frame(frame: Any, labels: AnyArray, scale: bool | None) -> _Candidates:
    """Return the columns of a frame as candidate drivers: numbers, dates in days, and one-hot encoded categories.

    Other columns, and columns that repeat the labels, are left out.
    """
    columns, blocks, at = list[_Candidate](), list[FloatArray](), 0
    texts = labels.astype(str).tolist()
    for series in frame.iter_columns():
        kind, categories = "number", list[str]()
        if series.dtype.is_numeric() or series.dtype == nw.Boolean:
            block = series.cast(nw.Float64).to_numpy()[:, None]
        elif series.dtype in (nw.Datetime, nw.Date):
            kind, block = "date", series.dt.timestamp("us").cast(nw.Float64).to_numpy()[:, None] / _DAY
        else:
            values = ["(missing)" if value is None or value != value else str(value) for value in series.to_list()]
            kind, categories = "category", sorted(set(values))
            if len(categories) > min(_MAX_CATEGORIES, max(len(values) // 2, 2)):
                continue
            block = np.array(values)[:, None] == np.array(categories)
        if [str(value) for value in series.to_list()] == texts:
            continue
        columns.append(_Candidate(str(series.name), kind, at, categories))
        blocks.append(np.asarray(block, dtype=np.float64))
        at += block.shape[1]
    if not columns:
        raise ValueError("data has no column of numbers, dates or categories.")
    mixed = any(one.kind != "number" for one in columns)
    return _dense_candidates(blocks, columns, mixed if scale is None else scale)


def _dense_candidates(blocks: list[FloatArray], columns: list[_Candidate], scale: bool) -> _Candidates:
    """Join candidate drivers, fill gaps with medians, and scale each to a total variance of 1."""
    spread = np.ones(sum(block.shape[1] for block in blocks))
    for i, (block, one) in enumerate(zip(blocks, columns, strict=True)):
        gaps = ~np.isfinite(block)
        if gaps.any():
            one.missing = float(gaps.mean())
            fill = np.median(block[~gaps]) if not gaps.all() else 0.0
            blocks[i] = np.where(gaps, fill, block)
        steps = np.diff(blocks[i][:, 0])
        one.is_counter = bool(one.kind == "number" and steps.size >= 10 and (np.abs(steps) == 1).all() and steps.all())
        total = float(np.sqrt(blocks[i].var(axis=0).sum()))
        if scale and total > 0:
            spread[one.places] = total
    matrix = np.hstack(blocks)
    center = matrix.mean(axis=0) if scale else np.zeros_like(spread)
    if scale:
        matrix = (matrix - center) / spread
    return _Candidates(matrix, columns, center, spread)


def _fit_rule(
    features: _Candidates,
    codes: IntArray,
    classes: AnyArray,
    separation: FloatArray,
    place: FloatArray,
    spare: Sequence[str],
) -> tuple[str, tuple[str, ...], float]:
    """Return the text, the columns and the cross-validated fidelity of the smallest tree that reproduces the labels.

    It does not use the columns ``spare``.
    """
    from sklearn.tree import DecisionTreeClassifier

    mean, std = features.moments
    is_spare = {place for one in features.columns if one.name in spare for place in range(std.size)[one.places]}
    useful = np.array([place for place in np.flatnonzero(std > 0) if place not in is_spare], dtype=np.intp)
    ratio = separation[useful] / std[useful] ** 2
    places = np.sort(useful[np.argsort(-ratio, kind="stable")[:_MAX_TREE_COLUMNS]])
    if not places.size:
        return "", (), np.nan
    n, k = codes.size, classes.size
    most = max(min(_MAX_TREE_ROWS, _MAX_TREE_CELLS // places.size), 1_000)
    rows = np.argsort(place, kind="stable")[:: max(1, -(-n // most))]
    X = features.matrix[rows][:, places]
    # Trees compare single-precision numbers, so columns are standardized first.
    X = ((X.toarray() if is_sparse(X) else X) - mean[places]) / std[places]
    X, y, fold = X.astype(np.float32), codes[rows], np.arange(rows.size) % _FOLDS
    sizes = np.arange(max(k, 2), 2 * k + 2)

    def fit_tree(leaves: int, part: Any) -> Any:
        """Fit the tree of a rule, with at most this number of leaves, to part of the rows."""
        tree = DecisionTreeClassifier(max_leaf_nodes=int(leaves), min_samples_leaf=2, random_state=0)
        return tree.fit(X[part], y[part])

    hits = np.zeros(sizes.size)
    for i in range(_FOLDS if rows.size >= 2 * _FOLDS else 0):
        tree = fit_tree(sizes[-1], fold != i)
        path = tree.decision_path(X[fold == i])
        best = tree.classes_[tree.tree_.value[:, 0, :].argmax(axis=1)]
        node_of = np.repeat(np.arange(path.shape[0]), np.diff(path.indptr))
        for j, leaves in enumerate(sizes):
            # Trees grow best-first, two nodes at a time, so the first 2m - 1 nodes are the tree with m leaves.
            last = np.zeros(path.shape[0], dtype=np.int64)
            inside = path.indices < 2 * leaves - 1
            np.maximum.at(last, node_of[inside], path.indices[inside])
            hits[j] += (best[last] == y[fold == i]).sum()
    accuracy = hits / rows.size
    enough = np.flatnonzero((accuracy >= _FAITHFUL) | (accuracy >= accuracy.max() - 0.01))[0]
    tree = fit_tree(sizes[enough], slice(None)).tree_
    lines, used = _rule_lines(tree, classes, lambda node: _split_condition(features, tree, node, X, places, rows))
    return "\n".join(lines), tuple(dict.fromkeys(used)), float(accuracy[enough])


def _rule_lines(tree: Any, classes: AnyArray, condition: Callable[[int], Any]) -> tuple[list[str], list[str]]:
    """Return a tree as an ordered list of rules: the smaller branch first, the other one without a condition."""
    lines, used = list[str](), list[str]()

    def leaves(node: int) -> list[int]:
        """Return the classes of the leaves below a node of the rule's tree."""
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        return [int(tree.value[node, 0].argmax())] if left < 0 else leaves(left) + leaves(right)

    def add_rules(node: int, conditions: dict[tuple[str, str, str], str]) -> None:
        """Add the lines of the rule for the tree below a node."""
        below = leaves(node)
        if len(set(below)) == 1:
            lines.append(f"{' and '.join(conditions.values()) or 'otherwise'} -> {classes[below[0]]}")
            return
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        name, *texts = condition(node)
        used.append(name)
        # If both branches have the same number of leaves, the one with "=" or ">" is first.
        right_first = len(leaves(right)) <= len(leaves(left))
        first, second = (right, left) if right_first else (left, right)
        # A second bound of the same kind is tighter and replaces the first, as a category does what it is not.
        text = texts[right_first]
        operator = text[len(name) :].split()[0]
        kept = {key: old for key, old in conditions.items() if operator != "=" or key[:2] != (name, "is")}
        add_rules(first, kept | {(name, operator, text if operator == "is" else ""): text})
        add_rules(second, conditions)

    add_rules(0, {})
    return lines, used


def _split_condition(
    features: _Candidates, tree: Any, node: int, X: AnyArray, places: IntArray, rows: IntArray
) -> tuple[str, str, str]:
    """Return the column of a split, and the conditions of its left and right branch in the user's units."""
    used = int(tree.feature[node])
    place = int(places[used])
    column = next(one for one in features.columns if place < one.places.stop)
    name = column.name
    if column.kind == "category":
        value = column.categories[place - column.at]
        other = column.categories[1 - place + column.at] if len(column.categories) == 2 else None
        return name, f"{name} = {other}" if other else f"{name} is not {value}", f"{name} = {value}"
    values = np.round(features.in_units([place], rows).ravel(), 10)
    left = X[:, used] <= tree.threshold[node]
    low, high = float(values[left].max()), float(values[~left].min())
    if values[left].min() == low and values[~left].max() == high:
        below, above = (_shortest_between(value, np.nextafter(value, np.inf), column.kind) for value in (low, high))
        return name, f"{name} = {below}", f"{name} = {above}"
    text = _shortest_between(low, high, column.kind)
    return name, f"{name} <= {text}", f"{name} > {text}"


def _shortest_between(low: float, high: float, kind: str) -> str:
    """Return the shortest number or date in [low, high), close to the middle, as text of the drivers' rule."""
    middle = (low + high) / 2
    if kind == "date":
        day = np.floor(middle)
        moment = np.datetime64(round((day if low <= day else middle) * _DAY), "us")
        return str(moment.astype("datetime64[D]" if low <= day else "datetime64[m]"))
    values = (float(f"{middle:.{digits}g}") for digits in range(1, 17))
    value = next((value for value in values if low <= value < high), low)
    value = low if low == int(low) and value != int(value) else value
    value += 0.0  # no negative zero
    return f"{value:,.0f}" if abs(value) >= 10_000 and value == int(value) else f"{value:.12g}"


def same_content(numbers: FloatArray, codes: Sequence[IntArray]) -> list[list[int]]:
    """Return groups of columns with the same information, by position: drivers that count twice.

    Columns of ``numbers`` (n, d) are compared by their correlation, columns of category ``codes`` (n,), whose positions
    start at d, by their symmetric uncertainty. Numbers with few distinct values are also compared with categories.
    """
    n, d = numbers.shape
    close = np.zeros((d + len(codes), d + len(codes)), dtype=bool)
    spread = numbers.std(axis=0)
    z = (numbers - numbers.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    close[:d, :d] = np.abs(z.T @ z) >= _CORRELATED * n
    tables = dict(enumerate(codes, start=d))
    for place in range(d) if codes else ():
        values, inverse = np.unique(numbers[:, place], return_inverse=True)
        if 1 < values.size <= _MAX_CATEGORIES:
            tables[place] = inverse
    entropies = {place: _entropy(column) for place, column in tables.items()}
    for a, b in combinations(sorted(tables), 2):
        low, high = sorted((entropies[a], entropies[b]))
        if b >= d and low > 0.95 * high:
            joint = _entropy(tables[a] * (int(tables[b].max()) + 1) + tables[b])
            close[a, b] = 2 * (low + high - joint) >= _ONE_TO_ONE * (low + high)
    close |= close.T | np.eye(len(close), dtype=bool)
    groups, free = list[list[int]](), np.ones(len(close), dtype=bool)
    for place in range(len(close)):
        members = np.flatnonzero(close[place] & free).tolist() if free[place] else []
        if len(members) > 1:
            groups.append(members)
            free[members] = False
    return groups


def _entropy(codes: IntArray) -> float:
    """Return the entropy of category codes, to compare drivers that are categories."""
    counts = np.unique(codes, return_counts=True)[1] / codes.size
    return float(-(counts * np.log(counts)).sum())


def _find_flags(
    result: Drivers,
    features: _Candidates,
    codes: IntArray,
    classes: AnyArray,
    ids: AnyArray,
    duplicates: list[tuple[str, ...]],
    *,
    has_plan: bool,
) -> list[Finding]:
    """Return the warnings about the drivers, each with a remedy; ``duplicates`` are those that the plan reports."""

    def drop(names: Iterable[str]) -> str:
        """Return the remedy of a flag: the option or code that leaves out columns."""
        return quote_option("--drop", names) if has_plan else f"data.drop(columns={list(names)!r})"

    shares, flags = result.shares, list[Finding]()
    by_name = {one.name: one for one in features.columns}
    d, sizes = len(shares), np.bincount(codes)
    is_driver = {name: share >= max(_DRIVER, 1 / d) or name in result.rule_columns for name, share in shares.items()}
    is_time = {name: one.kind == "date" or one.is_counter for name, one in by_name.items()}
    duplicates = duplicates or _duplicate_drivers(features, is_driver, is_time)

    if sizes.max() > _GIANT * codes.size:
        giant = f"{sizes.max():,} of {codes.size:,} rows are in cluster {classes[sizes.argmax()]}."
        flags.append(Finding("giant cluster", (), f"{giant} The other clusters are outliers."))
    tiny = np.flatnonzero(sizes <= _TINY)
    if tiny.size:
        listed = [f"{classes[c]} ({', '.join(map(str, ids[codes == c]))})" for c in tiny[:5]]
        more = f" and {tiny.size - 5} more" if tiny.size > 5 else ""
        head, size = ("Cluster", "has") if tiny.size == 1 else ("Clusters", "have")
        text = f"{head} {', '.join(listed)}{more} {size} at most {_TINY} rows. Check these rows for errors."
        flags.append(Finding("tiny clusters", (), text))
    # A date may follow the clusters although other columns separate them more.
    separated = features.separation(codes, sizes) / np.where(features.moments[1] > 0, features.moments[1], np.inf) ** 2
    is_explained = {name: separated[by_name[name].at] > codes.size / 2 for name in shares}
    times = [name for name in shares if is_time[name] and (is_driver[name] or is_explained[name])]
    if times and d > 1:
        text = f"The clusters follow time ({join_names(times)}). Such clusters do not carry over to new data."
        flags.append(Finding("time", tuple(times), text, drop(times)))
    top = next(iter(shares), "")
    if d > 2 and shares[top] >= _DECIDES and top not in times:
        by_scale = not has_plan and features.shares(separated)[top] < _DECIDES
        scale = " Its scale makes it large: if the columns were standardized for clustering, pass scale=True."
        text = f"One column decides: {join_names([top])} accounts for {shares[top]:.0%} of the separation between the "
        flags.append(Finding("one column", (top,), f"{text}clusters.{scale * by_scale}", drop([top])))
    used, largest = result.rule_columns, sizes.max() / codes.size
    with_copies = {*used}.union(*(names for names in duplicates if not {*names}.isdisjoint(used)))
    if (
        result.fidelity >= _FAITHFUL
        and result.fidelity - largest >= 0.8 * (1 - largest)
        and len(used) <= min(max(_SHORT_RULE, classes.size - 1), d / 2)
        and sum(shares[name] for name in with_copies) >= _RULE_SHARE
        and not any(flag.kind == "one column" for flag in flags)
    ):
        text = f"A short rule reproduces {result.fidelity:.0%} of the labels with {len(used)} of {d} columns"
        text = f"{text} ({join_names(used)}); the remaining columns hardly matter."
        flags.append(Finding("short rule", used, text, drop([max(used, key=lambda name: shares[name])])))
    for names in duplicates:
        flags.append(Finding("duplicates", names, duplicates_text(names), drop(names[1:])))
    gaps = [name for name in shares if by_name[name].missing > 0.5 and is_driver[name]]
    if gaps:
        text = f"More than half of the values of {join_names(gaps)} are missing, yet the clusters depend on them."
        flags.append(Finding("missing", tuple(gaps), text, drop(gaps)))
    return flags


def _duplicate_drivers(
    features: _Candidates, is_driver: dict[str, bool], is_time: dict[str, bool]
) -> list[tuple[str, ...]]:
    """Return groups of duplicate drivers among the candidates, the one to keep first: time is the first to drop."""
    columns = [one for one in features.columns if is_driver.get(one.name)][:_MAX_PAIRED]
    columns.sort(key=lambda one: one.kind == "category")
    rows = np.arange(features.matrix.shape[0])[:: max(1, features.matrix.shape[0] // _MAX_TREE_ROWS)]
    numbers = features.in_units([one.at for one in columns if one.kind != "category"], rows)
    codes = [features.matrix[:, one.places][rows].argmax(axis=1) for one in columns if one.kind == "category"]
    order = [one.name for one in features.columns]
    groups = [{columns[place].name for place in group} for group in same_content(numbers, codes)]
    return [tuple(sorted(group, key=lambda name: (is_time[name], order.index(name)))) for group in groups]


def duplicates_text(names: Sequence[str]) -> str:
    """Return a sentence about duplicate drivers, columns with the same information."""
    first, *others = (join_names([name]) for name in names)
    verb, times = ("repeats", "twice") if len(others) == 1 else ("repeat", f"{len(names)} times")
    return f"{join_names(others, 4)} nearly {verb} {first}, so this information counts {times}."


def quote_option(option: str, names: Iterable[str]) -> str:
    """Return the remedy of a finding as a command-line option with column names, quoted if needed."""
    unique = list(dict.fromkeys(names))
    joined = ",".join(name for name in unique if "," not in name)
    texts = [text for text in (joined, *(name for name in unique if "," in name)) if text]
    for place, text in enumerate(texts):
        if not re.fullmatch(r"[\w,.+-]+", text):
            texts[place] = shlex.quote(text) if re.search(r'["$`!\\]', text) else f'"{text}"'
    return " ".join(f"{option} {text}" for text in texts)
