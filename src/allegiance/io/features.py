"""From the columns of a table to the matrix that is clustered: a proposal with reasons, and its application to rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allegiance._core import AnyArray, BoolArray, FloatArray, IntArray, require
from allegiance.io import TableError

from .profile import ColumnProfile, Profile, as_texts, is_number, is_text, is_time, named_like_id, read_column
from .tables import BATCH_ROWS, Table, as_arrow

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ColumnPlan", "FeaturePlan", "Prepared", "label_values", "prepared", "propose"]

arrow: Any = require("pyarrow", "io", "reading tables")
compute: Any = require("pyarrow.compute", "io", "reading tables")

IMPUTATIONS = ("median", "drop")
#: What stands for a missing value among categories.
MISSING = "(missing)"
_KINDS = ("number", "date", "category")
_ROLES = ("id", "label", "feature", "kept", "left out")
_MICROSECONDS = 86_400e6
#: Rows from which on a column that counts is taken for an identifier whatever its name is.
_ENOUGH = 10
#: Names in a line of a description.
_SHOWN = 12


@dataclass
class ColumnPlan:
    """What becomes of one column.

    Attributes
    ----------
    name
        Its name in the table.
    role
        "id", "label", "feature", "kept" (a column that was asked for), or "left out".
    reason
        Why, in a few words.
    kind
        Of features: "number", "date" (days since 1970-01-01) or "category".
    decimal, date_format, missing
        How text is read, and what means a missing value; see :class:`allegiance.io.profile.ColumnProfile`.
    center, spread
        What is subtracted, and what it is divided by: the mean and the standard deviation. A category has a center for
        each of its values, their shares, and one spread, the root of the sum of their variances, so that every column
        of the table has the same variance in all.
    fill
        What stands in for a missing number: the median.
    categories
        The values of a category, one column of zeros and ones each.
    n_missing
        Missing values in the table that the plan was made for.
    """

    name: str
    role: str
    reason: str = ""
    kind: str | None = None
    decimal: str = "."
    date_format: str = ""
    missing: tuple[Any, ...] = ()
    center: float | list[float] = 0.0
    spread: float = 1.0
    fill: float = 0.0
    categories: list[str] = field(default_factory=list)
    n_missing: int = 0

    @property
    def reading(self) -> str:
        """How text becomes numbers: a decimal mark, or an order of dates."""
        return (self.date_format or "iso") if self.kind == "date" else self.decimal

    @property
    def width(self) -> int:
        """How many columns of the matrix it becomes."""
        return 0 if self.role != "feature" else len(self.categories) if self.kind == "category" else 1

    @property
    def names(self) -> list[str]:
        """The names of these columns."""
        if self.kind == "category":
            return [f"{self.name}={category}" for category in self.categories]
        return [self.name] if self.role == "feature" else []


class Prepared(NamedTuple):
    """Rows ready to be clustered or scored."""

    matrix: FloatArray
    """(m, d) the features of the rows that are used."""
    rows: IntArray
    """(m,) the numbers of these rows, counted from 0."""
    kept: Any
    """Columns that were asked for, of the same rows, as a record batch; None from :meth:`FeaturePlan.prepare`."""
    consumed: int
    """Rows of the table that were read for it, those left out included."""


def propose(
    table: Any,
    *,
    id: str | Sequence[str] | None = None,
    labels: str | Sequence[str] | None = None,
    features: str | Sequence[str] | None = None,
    drop: str | Sequence[str] = (),
    one_hot: str | Sequence[str] = (),
    keep: str | Sequence[str] = (),
    raw: bool = False,
    scale: bool | None = None,
    impute: str | None = "default",
    max_categories: int = 50,
) -> FeaturePlan:
    r"""Propose which columns of a table are features, and how, from one pass over its rows.

    Parameters
    ----------
    table
        What :func:`allegiance.io.tables.open_table` returned, or takes.
    id
        The columns that identify rows; by default a column of unique texts, of unique whole numbers with the name of
        an identifier, or of whole numbers that count.
    labels
        Columns of labels. They are never features, and rows without a label are left out.
    features
        The columns to use, by name or pattern; by default all that are fit for it.
    drop
        Columns to leave out, by name or pattern.
    one_hot
        Columns whose values become one column of zeros and ones each, numbers included, by name or pattern.
    keep
        Further columns that are not features, such as texts to be shown.
    raw
        Take bare numbers: nothing is scaled, nothing is filled, and text is left out.
    scale
        Whether each column gets mean 0 and variance 1; by default unless ``raw``.
    impute
        "median": missing numbers get the median of their column, and missing categories are a category. "drop": rows
        with a missing value are left out. None: missing values are a problem. By default "median", with ``raw`` None.
    max_categories
        Texts with more distinct values are left out.

    Returns
    -------
    FeaturePlan
        The plan, ready to be applied. Its ``problems`` must be solved first, if there are any.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from allegiance.io.features import propose
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "customers.csv"
    ...     _ = path.write_text("id,spent,colour\n7,1.5,red\n8,n/a,blue\n9,2.5,red\n10,3.5,red\n")
    ...     plan = propose(path, scale=False)
    ...     print(plan.ids, plan.names)
    ...     print(plan.matrix(path))
    ('id',) ('spent', 'colour=blue', 'colour=red')
    [[1.5 0.  1. ]
     [2.5 1.  0. ]
     [2.5 0.  1. ]
     [3.5 0.  1. ]]
    """
    from .tables import open_table

    source = open_table(table)
    if impute == "default":
        impute = None if raw else "median"
    if impute is not None and impute not in IMPUTATIONS:
        raise TableError(f"impute must be 'median', 'drop' or None, got {impute!r}.")
    wishes = _Wishes(source, id, labels, features, drop, one_hot, keep, raw, max_categories)
    profile = source.profile()
    if profile.n_rows == 0:
        raise TableError(f"{source.where} has a header, but no rows.")
    columns = [wishes.plan(profile.columns[name]) for name in source.columns]
    if id is None:
        _choose_id(columns, profile)
    scaled = (not raw) if scale is None else bool(scale)
    single = not scaled and all(
        column.kind == "number" and profile.columns[column.name].type == "float"
        for column in columns
        if column.role == "feature"
    )
    plan = FeaturePlan(columns, scaled=scaled, impute=impute, single=single, n_rows=profile.n_rows, where=source.where)
    plan.problems = wishes.problems + _problems(plan, profile)
    plan.notes = _notes(plan, profile)
    return plan


class _Wishes:
    """What the user said about columns, and what becomes of each."""

    def __init__(
        self,
        table: Table,
        id: Any,
        labels: Any,
        features: Any,
        drop: Any,
        one_hot: Any,
        keep: Any,
        raw: bool,
        max_categories: int,
    ) -> None:
        names = table.columns
        self.ids = table.check_columns(_listed(id))
        self.labels = table.check_columns(_listed(labels))
        self.kept = table.check_columns(_listed(keep))
        self.one_hot = table.check_columns(_matched(one_hot, names))
        self.features = table.check_columns(_matched(features, names)) if features is not None else None
        self.dropped = table.check_columns(_matched(drop, names))
        self.raw, self.most = raw, max_categories
        self.annotations = table.annotations
        self.problems: list[str] = []
        asked = {*self.one_hot, *(self.features or ())}
        for role, other in (("labels", self.labels), ("id", self.ids), ("drop", self.dropped)):
            both = [name for name in other if name in asked]
            if both:
                raise TableError(f"column {both[0]!r} is a feature and in {role}= (--{role}) too. Leave it out of one.")

    def plan(self, found: ColumnProfile) -> ColumnPlan:
        """Return what becomes of a column."""
        name = found.name
        for role, names, reason in (
            ("label", self.labels, ""),
            ("id", self.ids, "as asked"),
            ("kept", self.kept, "as asked"),
            ("left out", self.dropped, "as asked"),
        ):
            if name in names:
                return ColumnPlan(name, role, reason, n_missing=found.n_missing)
        asked = name in self.one_hot or name in (self.features or ())
        if not asked and self.features is not None:
            return ColumnPlan(name, "left out", "not among the features", n_missing=found.n_missing)
        unfit = self._unfit(found, asked)
        if unfit:
            if asked:
                self.problems.append(
                    f"column {name!r} {unfit}. Pass drop=[{name!r}] (--drop {name}), or leave it out of features="
                )
            return ColumnPlan(name, "left out", unfit, n_missing=found.n_missing)
        return _feature(found, name in self.one_hot)

    def _unfit(self, found: ColumnProfile, asked: bool) -> str:
        """Return why a column cannot be a feature, or should not be one without being asked for; empty if it can."""
        if found.kind == "empty":
            return "has no values"
        if found.kind == "other":
            return f"is of type {found.type}"
        categories = found.kind == "text" or found.name in self.one_hot
        if categories and found.values is None:
            return self._too_many(found)
        if asked:
            return ""
        if found.name in self.annotations:
            return "describes observations (obs)"
        if categories:
            return self._unfit_text(found)
        if found.min == found.max:
            return f"is always {found.min:g}" + (" or missing" if found.n_missing else "")
        if found.integer and found.kind == "number" and named_like_id(found.name):
            many = found.values is None or len(found.values) > self.most
            if many and not found.unique:
                return "is named like an identifier"
        return ""

    def _unfit_text(self, found: ColumnProfile) -> str:
        assert found.values is not None
        count = len(found.values)
        if count == 1 and not found.n_missing:
            return f"is always {next(iter(found.values))[:40]!r}"
        present = found.n_rows - found.n_missing
        if self.raw:
            return "is not a number"
        if found.unique or count > self.most or (count > 10 and count > present / 2):
            return self._too_many(found)
        return ""

    def _too_many(self, found: ColumnProfile) -> str:
        odd = f" ({found.remark})" if found.remark else ""
        if found.unique:
            return "has a different text in every row" + odd
        if found.distinct_share > 0.5:
            return f"is free text; {found.distinct_share:.0%} of its values are different" + odd
        count = "more than 1,000" if found.values is None else f"{len(found.values):,}"
        return f"has {count} distinct texts, too many to encode" + odd


def _listed(names: Any) -> list[str]:
    if names is None:
        return []
    return [names] if isinstance(names, str) else [str(name) for name in names]


def _matched(patterns: Any, names: Sequence[str]) -> list[str]:
    """Return columns by name or by pattern; a pattern that matches nothing stays, to be named in an error."""
    found: list[str] = []
    for part in _listed(patterns):
        matched = [part] if part in names else [name for name in names if fnmatchcase(name, part)]
        found.extend(matched or [part])
    return list(dict.fromkeys(found))


def _feature(found: ColumnProfile, one_hot: bool) -> ColumnPlan:
    """Return the plan of a feature, with all that its application needs."""
    plan = ColumnPlan(
        found.name,
        "feature",
        decimal=found.decimal,
        date_format=found.date_format,
        missing=tuple(found.missing),
        n_missing=found.n_missing,
    )
    if found.kind != "text" and not one_hot:
        plan.kind = found.kind
        plan.center, plan.fill = found.mean, found.median
        plan.spread = found.std if found.std > 0 and np.isfinite(found.std) else 1.0
        plan.reason = "numbers" if found.kind == "number" else "dates, in days"
        return plan
    plan.kind = "category"
    counts = Counter(found.values or {})
    plan.categories = sorted(counts, key=_natural)
    if found.n_missing:
        plan.categories.append(MISSING)
        counts[MISSING] = found.n_missing
    shares = np.array([counts[category] for category in plan.categories]) / max(sum(counts.values()), 1)
    plan.center = [float(share) for share in shares]
    total = float((shares * (1 - shares)).sum())
    plan.spread = float(np.sqrt(total)) if total > 0 else 1.0
    plan.reason = f"{len(counts)} categories"
    return plan


def _natural(text: str) -> tuple[int, float, str]:
    """Order numbers by value before texts by their characters."""
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text


def _choose_id(columns: list[ColumnPlan], profile: Profile) -> None:
    """Give the best identifier among the columns its role; others like it are left out."""
    ranked: list[tuple[int, int, ColumnPlan]] = []
    for place, column in enumerate(columns):
        found = profile.columns[column.name]
        asked = column.reason in ("as asked", "not among the features") and column.role != "left out"
        if asked or column.role == "label" or column.kind == "category" or found.n_missing or profile.n_rows < 3:
            continue
        named = named_like_id(column.name)
        text = found.kind == "text" and found.unique and column.reason != "as asked"
        # In a handful of rows, numbers that count may be a coincidence.
        counting = found.counting and (named or profile.n_rows >= _ENOUGH)
        number = found.kind == "number" and found.integer and (counting or (found.unique and named))
        if (text or number) and column.reason != "as asked":
            ranked.append((0 if named else 1 if text else 2, place, column))
    if not ranked:
        return
    ranked.sort(key=lambda entry: entry[:2])
    chosen = ranked[0][2]
    counts = profile.columns[chosen.name].counting
    _set_role(chosen, "id", "it only counts" if counts else "it is unique")
    for _, _, column in ranked[1:]:
        if column.role == "feature" or column.reason.startswith("has a different text"):
            _set_role(column, "left out", f"identifies rows, as {chosen.name!r} does")


def _set_role(column: ColumnPlan, role: str, reason: str) -> None:
    column.role, column.reason, column.kind, column.categories = role, reason, None, []


def _problems(plan: FeaturePlan, profile: Profile) -> list[str]:
    """Return what stands in the way of a matrix, each with the option that solves it."""
    problems = []
    if not plan.used:
        reasons = "; ".join(f"{column.name!r} {column.reason}" for column in plan.columns if column.role == "left out")
        problems.append(
            f"{plan.where} has no column that can be a feature. {reasons[:400]}. "
            "Pass features= (--features) or one_hot= (--one-hot) to use one of them."
        )
    for name in plan.used:
        found = profile.columns[name]
        if found.infinite:
            problems.append(
                f"column {name!r} has {found.infinite:,} infinite values. Pass missing={{{name!r}: ['inf', '-inf']}} "
                f"(--missing {name}=inf), or drop=[{name!r}] (--drop {name})."
            )
    missing = {column.name: column.n_missing for column in plan.features if column.n_missing}
    if missing and plan.impute is None:
        problems.append(
            f"{plan.where} has {sum(missing.values()):,} missing values: {_counted(missing)}. "
            "Pass impute='median' (--impute median) to fill them, impute='drop' (--impute drop) to leave the rows out, "
            "or drop= (--drop) to leave the columns out."
        )
    twice = [name for name, count in Counter(plan.names).items() if count > 1]
    if twice:
        problems.append(f"two features would be called {twice[0]!r}: rename a column, or pass drop= (--drop).")
    return problems


def _notes(plan: FeaturePlan, profile: Profile) -> list[str]:
    """Return what a user should know about the values."""
    notes = []
    filled = {c.name: c.n_missing for c in plan.features if c.n_missing and c.kind != "category"}
    blank = {c.name: c.n_missing for c in plan.features if c.n_missing and c.kind == "category"}
    if plan.impute == "median" and filled:
        notes.append(
            f"{sum(filled.values()):,} missing values are filled with the median of their column: {_counted(filled)}."
        )
        errors = [profile.columns[name].median_error for name in filled]
        if max(errors) > 0:
            notes.append(
                f"medians are those of a random sample of rows; their rank is off by {max(errors):.2%} at most (95 %)."
            )
    if plan.impute == "median" and blank:
        notes.append(f"{sum(blank.values()):,} blanks are a category of their own, {MISSING}: {_counted(blank)}.")
    if plan.impute == "drop" and (filled or blank):
        notes.append(f"rows with a missing value are left out: {_counted({**filled, **blank})}.")
    for column in plan.columns:
        found = profile.columns[column.name]
        if column.role == "label" and found.n_missing:
            notes.append(
                f"{found.n_missing:,} of {plan.n_rows:,} rows have no label in {column.name!r} and are left out."
            )
        if column.role != "feature":
            continue
        if found.missing_words and column.kind != "category":
            words = ", ".join(f"{word!r} ({count:,})" for word, count in list(found.missing_words.items())[:6])
            notes.append(f"in {column.name!r} these count as missing: {words}.")
        if found.remark and found.kind in ("number", "date"):
            notes.append(f"{column.name!r}: {found.remark}.")
    return notes


def _counted(counts: Mapping[str, int]) -> str:
    worst = sorted(counts.items(), key=lambda item: -item[1])
    more = f" and {len(worst) - 10} more columns" if len(worst) > 10 else ""
    return ", ".join(f"{name} ({count:,})" for name, count in worst[:10]) + more


class FeaturePlan:
    """What becomes of each column of a table, and how rows become the matrix that is clustered.

    Built by :func:`propose`. It is a transformer of scikit-learn as well: ``transform`` takes frames with the columns
    ``used``.

    Parameters
    ----------
    columns
        The plan of each column.
    scaled
        Whether columns are scaled by ``center`` and ``spread``.
    impute
        What happens to missing values; see :func:`propose`.
    single
        Whether the matrix is in single precision, as all its columns are in the table.
    n_rows
        The rows of the table it was made for.
    where
        What that table is called.

    Attributes
    ----------
    problems
        What must be solved before the plan can be applied, each with the option that does it.
    notes
        What a user should know about the values.
    """

    def __init__(
        self,
        columns: Sequence[ColumnPlan],
        *,
        scaled: bool = True,
        impute: str | None = "median",
        single: bool = False,
        n_rows: int = 0,
        where: str = "the table",
    ) -> None:
        self.columns = list(columns)
        self.scaled, self.impute, self.single = scaled, impute, single
        self.n_rows, self.where = n_rows, where
        self.problems: list[str] = []
        self.notes: list[str] = []

    @classmethod
    def of_numbers(cls, names: Iterable[str]) -> FeaturePlan:
        """Return the plan of columns of bare numbers: nothing is scaled or filled.

        Parameters
        ----------
        names
            The columns.
        """
        columns = [ColumnPlan(str(name), "feature", "numbers", "number") for name in names]
        return cls(columns, scaled=False, impute=None)

    @property
    def features(self) -> list[ColumnPlan]:
        """The columns that are features."""
        return [column for column in self.columns if column.role == "feature"]

    @property
    def used(self) -> tuple[str, ...]:
        """The names of the columns that are features."""
        return tuple(column.name for column in self.features)

    @property
    def ids(self) -> tuple[str, ...]:
        """The columns that identify rows; empty if there are none."""
        return tuple(column.name for column in self.columns if column.role == "id")

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns of labels."""
        return tuple(column.name for column in self.columns if column.role == "label")

    @property
    def names(self) -> tuple[str, ...]:
        """(d,) the names of the columns of the matrix: those of the table, or ``column=value`` for categories."""
        return tuple(name for column in self.features for name in column.names)

    @property
    def sources(self) -> tuple[str, ...]:
        """(d,) the column of the table behind each column of the matrix."""
        return tuple(column.name for column in self.features for _ in range(column.width))

    @property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """The categories of each column that holds some."""
        return {column.name: tuple(column.categories) for column in self.features if column.kind == "category"}

    @property
    def dtype(self) -> Any:
        """The precision of the matrix."""
        return np.float32 if self.single else np.float64

    def raise_problems(self) -> None:
        """Raise a :class:`TableError` that names all problems, if there are any."""
        if self.problems:
            raise TableError("\n".join(self.problems))

    def describe(self) -> list[str]:
        """Return the proposal in a few lines of text."""
        kinds = {kind: [c for c in self.features if c.kind == kind] for kind in _KINDS}
        lines = [f"{self.where}: {self.n_rows:,} rows, {len(self.columns):,} columns"]
        for role, title in (("id", "id"), ("label", "labels")):
            named = [c for c in self.columns if c.role == role]
            if named:
                lines.append(f"{title}: " + ", ".join(f"{c.name} ({c.reason})" if c.reason else c.name for c in named))
        if kinds["number"]:
            lines.append(f"numbers ({len(kinds['number']):,}): {_few(c.name for c in kinds['number'])}")
        if kinds["date"]:
            orders = {"dmy": "day first", "mdy": "month first", "ymd": "year first", "iso": "ISO", "": "ISO"}
            lines.append(
                f"dates, in days ({len(kinds['date']):,}): "
                + _few(f"{c.name} ({orders[c.date_format]})" for c in kinds["date"])
            )
        if kinds["category"]:
            width = sum(c.width for c in kinds["category"])
            listed = _few(f"{c.name} ({len(c.categories)})" for c in kinds["category"])
            lines.append(f"categories, one-hot ({len(kinds['category']):,}, {width:,} columns): {listed}")
        left = [c for c in self.columns if c.role == "left out"]
        lines += [f"left out: {c.name} {c.reason}" for c in left[:_SHOWN]]
        if len(left) > _SHOWN:
            lines.append(f"left out: {len(left) - _SHOWN:,} more columns")
        lines.append(
            "scaled: each column of the table has variance 1 in all" if self.scaled else "not scaled: bare numbers"
        )
        return lines + [f"note: {note}" for note in self.notes] + [f"problem: {text}" for text in self.problems]

    def prepare(self, rows: Any) -> Prepared:
        """Return the matrix of some rows, without those that are left out for a missing value or label.

        Parameters
        ----------
        rows
            A record batch, a table or a frame of any library, which has the columns ``used``.
        """
        batch = as_arrow(rows)
        lacking = [name for name in self.used if name not in batch.schema.names]
        if lacking:
            listed = ", ".join(map(repr, lacking[:10]))
            raise TableError(f"the rows have no column {listed}, which the model needs.")
        used = batch.select([*self.used, *(name for name in self.labels if name in batch.schema.names)])
        matrix = np.empty((batch.num_rows, len(self.names)), dtype=self.dtype)
        present = np.ones(batch.num_rows, dtype=bool)
        start = 0
        pieces = used.to_batches(max_chunksize=BATCH_ROWS) if hasattr(used, "to_batches") else [used]
        for piece in pieces:
            stop = start + piece.num_rows
            self._fill(piece, matrix[start:stop], present[start:stop])
            start = stop
        numbers = np.flatnonzero(present)
        return Prepared(matrix if present.all() else matrix[present], numbers, None, batch.num_rows)

    def _fill(self, batch: pa.RecordBatch, matrix: FloatArray, present: BoolArray) -> None:
        """Write the features of a batch into a matrix, and tell which rows have all that is needed."""
        at = 0
        for column in self.features:
            values = batch.column(column.name)
            if column.kind == "category":
                codes = self._codes(values, column)
                block = matrix[:, at : at + column.width]
                block[:] = 0.0
                known = np.flatnonzero(codes >= 0)
                block[known, codes[known]] = 1.0
                gaps = codes == -2
                if self.scaled:
                    block -= np.asarray(column.center)
                    block /= column.spread
            else:
                numbers = self._numbers(values, column)
                gaps = np.isnan(numbers)
                if self.impute == "median" and gaps.any():
                    numbers = np.where(gaps, column.fill, numbers)
                    gaps = np.zeros(0, dtype=bool)
                matrix[:, at] = (numbers - column.center) / column.spread if self.scaled else numbers
            if gaps.any():
                self._refuse_gaps(column, gaps)
                present &= ~gaps
            at += column.width
        for name in self.labels:
            if name in batch.schema.names:
                present &= label_values(batch.column(name), name, self.where)[1]

    def _refuse_gaps(self, column: ColumnPlan, gaps: BoolArray) -> None:
        if self.impute is None:
            raise TableError(
                f"column {column.name!r} has {int(gaps.sum()):,} missing values, which the plan does not fill. Fill "
                "them first, or make the plan with impute='median' or impute='drop' (--impute)."
            )

    def _numbers(self, values: Any, column: ColumnPlan) -> FloatArray:
        """Return a column in its own units, NaN where a value is missing."""
        kind = values.type.value_type if arrow.types.is_dictionary(values.type) else values.type
        fits = is_text(kind) or (is_number(kind) and column.kind == "number") or is_time(kind)
        if not fits and not (column.kind == "date" and is_number(kind)):
            raise TableError(f"column {column.name!r} holds {column.kind}s in the plan, but here {values.type}.")
        numbers, odd = read_column(values, column.reading, column.missing)
        if odd is not None:
            raise TableError(
                f"column {column.name!r} holds {odd[:40]!r}, which is not a {column.kind}. Correct it, or pass "
                f"missing={{{column.name!r}: [{odd[:40]!r}]}} (--missing {column.name}={odd[:40]})."
            )
        return numbers

    def _codes(self, values: Any, column: ColumnPlan) -> IntArray:
        """Return the positions of categories: -1 for one that is not known, -2 for a gap that nothing stands for."""
        texts = as_texts(values)
        if column.missing:
            words = arrow.array([str(word).strip() for word in column.missing], arrow.string())
            texts = compute.if_else(compute.is_in(texts, value_set=words), None, texts)
        places = compute.index_in(texts, value_set=arrow.array(column.categories, arrow.string()))
        codes = np.asarray(compute.fill_null(places, -1).to_numpy(zero_copy_only=False), dtype=np.int64)
        blank = np.asarray(compute.is_null(texts).to_numpy(zero_copy_only=False))
        own = column.categories.index(MISSING) if MISSING in column.categories else -1
        codes[blank] = own if self.impute == "median" else -2
        return codes

    def matrix(self, rows: Any) -> FloatArray:
        """Return the matrix (n, d) of some rows.

        Parameters
        ----------
        rows
            As in :meth:`prepare`, or what :func:`allegiance.io.tables.open_table` takes.

        Raises
        ------
        TableError
            If a row would have to be left out, for a missing value or label.
        """
        if isinstance(rows, (str, Table)) or hasattr(rows, "__fspath__"):
            from .tables import open_table

            rows = open_table(rows).read(list(self.used), typed=False)
        found = self.prepare(rows)
        if found.matrix.shape[0] < found.consumed:
            gaps = found.consumed - found.matrix.shape[0]
            raise TableError(f"{gaps:,} rows have a missing value or label and would be left out: use prepare().")
        return found.matrix

    def values(self, rows: Any) -> dict[str, AnyArray]:
        """Return the features in the table's own units: numbers, times, or texts with None, by column.

        Parameters
        ----------
        rows
            As in :meth:`prepare`.
        """
        batch = as_arrow(rows)
        found: dict[str, AnyArray] = {}
        for column in self.features:
            values = batch.column(column.name)
            values = values.combine_chunks() if hasattr(values, "combine_chunks") else values
            if column.kind == "category":
                found[column.name] = np.asarray(as_texts(values).to_numpy(zero_copy_only=False), dtype=object)
            else:
                numbers = self._numbers(values, column)
                found[column.name] = _moments(numbers) if column.kind == "date" else numbers
        return found

    def in_units(self, matrix: FloatArray) -> dict[str, AnyArray]:
        """Return rows of a matrix (m, d), such as centres, in the table's own units, by column.

        Numbers and times are (m,); categories are (m, c), the share of each.

        Parameters
        ----------
        matrix
            In the scale of :meth:`matrix`.
        """
        matrix = np.asarray(matrix, dtype=np.float64)
        found: dict[str, AnyArray] = {}
        at = 0
        for column in self.features:
            block = matrix[:, at : at + column.width]
            if self.scaled:
                block = block * column.spread + np.asarray(column.center)
            at += column.width
            if column.kind == "category":
                found[column.name] = block
            else:
                found[column.name] = _moments(block[:, 0]) if column.kind == "date" else block[:, 0]
        return found

    def scale_matrix(self, matrix: FloatArray) -> FloatArray:
        """Return a matrix (m, d) in the table's own units in the scale of :meth:`matrix`.

        Parameters
        ----------
        matrix
            Numbers, days, and zeros and ones.
        """
        matrix = np.asarray(matrix, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[1] != len(self.names):
            raise TableError(f"the matrix must have {len(self.names)} columns, got shape {matrix.shape}.")
        if not self.scaled:
            return matrix
        center = np.concatenate([np.atleast_1d(np.asarray(column.center, dtype=float)) for column in self.features])
        spread = np.concatenate([np.full(column.width, column.spread) for column in self.features])
        return (matrix - center) / spread

    def check(self, table: Table) -> list[str]:
        """Check another table against the plan, and return what its user should know.

        Parameters
        ----------
        table
            It must have the columns ``used``, in any order.

        Raises
        ------
        TableError
            If columns are missing or hold what the plan cannot read, all of them named.
        """
        lacking = [name for name in self.used if name not in table.columns]
        if lacking:
            plural = "columns that the model needs are" if len(lacking) > 1 else "column that the model needs is"
            raise TableError(f"{table.where}: {len(lacking)} {plural} missing: {', '.join(map(repr, lacking))}.")
        profile = table.profile()
        if profile.n_rows == 0:
            raise TableError(f"{table.where} has a header, but no rows.")
        problems, notes, filled = [], [], {}
        for column in self.features:
            found = profile.columns[column.name]
            gaps = found.n_missing
            if column.kind == "category":
                notes += _unknown_categories(column, found)
            elif found.kind == "other" or (found.kind == "text" and not self._readable(column, found)):
                problems.append(f"column {column.name!r} should hold {column.kind}s{_because(found)}.")
            if gaps and self.impute is None:
                problems.append(f"column {column.name!r} has {gaps:,} missing values, which the model does not fill.")
            elif gaps:
                filled[column.name] = gaps
        if problems:
            raise TableError(f"{table.where}: " + " ".join(problems))
        if filled:
            what = "are filled as in the model" if self.impute == "median" else "leave their row out"
            notes.append(f"{sum(filled.values()):,} missing values {what}: {_counted(filled)}.")
        known = {column.name for column in self.columns}
        ignored = [name for name in table.columns if name not in known]
        if ignored:
            notes.append(f"columns that the model does not know are ignored: {_few(ignored)}.")
        return notes

    def _readable(self, column: ColumnPlan, found: ColumnProfile) -> bool:
        """Tell whether all values of a column of texts can be read; if too many to tell, the reading will."""
        if found.values is None:
            return found.remark != "" or found.distinct_share < 0.5
        return read_column(arrow.array(list(found.values), arrow.string()), column.reading, column.missing)[1] is None

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values that JSON knows."""
        columns = [{**asdict(column), "missing": list(column.missing)} for column in self.columns]
        return {
            "columns": columns,
            "scaled": self.scaled,
            "impute": self.impute,
            "single": self.single,
            "n_rows": self.n_rows,
            "where": self.where,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> FeaturePlan:
        """Return the plan that :meth:`to_dict` described.

        Parameters
        ----------
        values
            Plain values.

        Raises
        ------
        ValueError
            If they do not describe a plan.
        """
        try:
            columns = [_column_from(entry) for entry in values["columns"]]
            if values["impute"] not in (None, *IMPUTATIONS):
                raise ValueError(f"impute is {values['impute']!r}")
            plan = cls(
                columns,
                scaled=bool(values["scaled"]),
                impute=values["impute"],
                single=bool(values["single"]),
                n_rows=int(values["n_rows"]),
                where=str(values["where"]),
            )
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"this is not a plan of features: {error}") from error
        if len(set(plan.names)) < len(plan.names):
            raise ValueError("this is not a plan of features: two columns have one name.")
        return plan

    # The protocol of scikit-learn's transformers, without a base class, which would load scikit-learn.

    @property
    def n_features_in_(self) -> int:
        """The number of columns that ``transform`` takes."""
        return len(self.used)

    @property
    def feature_names_in_(self) -> AnyArray:
        """The names of these columns."""
        return np.array(self.used, dtype=object)

    def fit(self, X: Any, y: Any = None) -> FeaturePlan:
        """Return the plan, which is fitted as soon as it is proposed.

        Parameters
        ----------
        X, y
            Ignored.
        """
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the matrix (n, d) of a frame.

        Parameters
        ----------
        X
            With the columns ``used``.
        """
        return self.matrix(X)

    def fit_transform(self, X: Any, y: Any = None) -> FloatArray:
        """Return the matrix (n, d) of a frame.

        Parameters
        ----------
        X
            With the columns ``used``.
        y
            Ignored.
        """
        return self.matrix(X)

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names of the columns of the matrix.

        Parameters
        ----------
        input_features
            Ignored.
        """
        return np.array(self.names, dtype=object)

    def pipeline(self) -> FeaturePlan:
        """Return a transformer of scikit-learn that takes frames: the plan itself."""
        return self

    def __sklearn_clone__(self) -> FeaturePlan:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type="transformer",
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(string=True, categorical=True, allow_nan=True),
        )

    def __repr__(self) -> str:
        return f"FeaturePlan({len(self.used)} columns, {len(self.names)} features)"


def _column_from(entry: Mapping[str, Any]) -> ColumnPlan:
    """Return a checked plan of a column from plain values."""
    known = {one.name for one in fields(ColumnPlan)}
    column = ColumnPlan(**{key: value for key, value in entry.items() if key in known})
    centers = column.center if isinstance(column.center, list) else [column.center]
    numbers = [float(value) for value in [*centers, column.spread, column.fill]]
    if column.role not in _ROLES or (column.role == "feature" and column.kind not in _KINDS):
        raise ValueError(f"column {column.name!r} has the role {column.role!r} and the kind {column.kind!r}")
    if not all(isinstance(text, str) for text in [column.name, column.reason, *column.categories]):
        raise ValueError(f"column {column.name!r} has a name or a category that is not text")
    if column.role == "feature" and not (np.isfinite(numbers).all() and column.spread > 0):
        raise ValueError(f"column {column.name!r} has a scale that is not a positive number")
    if column.kind == "category" and (len(centers) != len(column.categories) or not column.categories):
        raise ValueError(f"column {column.name!r} has {len(centers)} shares of {len(column.categories)} categories")
    if column.decimal not in (".", ",") or column.date_format not in ("", "iso", "ymd", "dmy", "mdy"):
        raise ValueError(f"column {column.name!r} is read in an unknown way")
    column.missing = tuple(value if isinstance(value, (str, int, float)) else str(value) for value in column.missing)
    return column


def _unknown_categories(column: ColumnPlan, found: ColumnProfile) -> list[str]:
    """Return a note on categories that the plan does not have."""
    if found.values is None:
        return [f"column {column.name!r} has more than 1,000 values; those that the model has not seen count as none."]
    new = {text: count for text, count in found.values.items() if text not in column.categories}
    if not new:
        return []
    return [
        f"column {column.name!r} has categories the model has not seen; they are encoded as zeros: {_counted(new)}."
    ]


def _because(found: ColumnProfile) -> str:
    example = next(iter(found.values)) if found.values else ""
    return f", but {found.remark}" if found.remark else f", but has {example[:40]!r}" if example else ""


def _moments(days: FloatArray) -> AnyArray:
    """Return days since 1970-01-01 as times."""
    gaps = np.isnan(days)
    moments = np.where(gaps, 0, np.rint(days * _MICROSECONDS)).astype(np.int64).astype("datetime64[us]")
    moments[gaps] = np.datetime64("NaT")
    return moments


def _few(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _SHOWN:,} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more


def prepared(
    table: Table,
    plan: FeaturePlan,
    *,
    keep: Sequence[str] = (),
    rows: int = BATCH_ROWS,
    start: int = 0,
    typed: bool = False,
) -> Iterator[Prepared]:
    """Yield the features of a table, batch by batch, with other columns of the same rows.

    Parameters
    ----------
    table
        The table.
    plan
        How its columns become features.
    keep
        Columns to carry along, such as identifiers and labels.
    rows
        Rows of the table in a batch. Rows that are left out make a batch shorter.
    start
        The first row of the table to read. A reader that stopped after some batches goes on where the sum of their
        ``consumed`` says, whether or not rows were left out.
    typed
        Whether columns carried along get the types of their profile; otherwise text is as written.
    """
    keep = table.check_columns(keep)
    labels = [name for name in plan.labels if name in table.columns]
    wanted = table.check_columns(dict.fromkeys([*plan.used, *labels, *keep]))
    first = start
    for batch in table.batches(wanted, rows, start, typed=False):
        matrix, numbers, _, consumed = plan.prepare(batch)
        kept = batch.select(keep)
        if typed:
            kept = table.typed(kept)
        if numbers.size < consumed:
            kept = kept.take(arrow.array(numbers))
        yield Prepared(matrix, first + numbers, kept, consumed)
        first += consumed


def label_values(column: Any, name: str, where: str) -> tuple[AnyArray, BoolArray]:
    """Return labels (n,) as numbers or texts, and which rows have one.

    Numbers and truth values stay what they are, decimal numbers without a fraction are whole numbers, and everything
    else, such as dates, becomes text. A blank is the only word for a missing label.

    Parameters
    ----------
    column
        An Arrow array, or several in a row.
    name
        The name of the column.
    where
        What to call its table in messages.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from allegiance.io.features import label_values
    >>> label_values(pa.array([3, None, -1]), "kind", "the table")
    (array([ 3,  0, -1]), array([ True, False,  True]))
    """
    types = arrow.types
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type)):
        column = _whole_or_text(column, name, where)
    missing = compute.is_null(column, nan_is_null=True)
    if is_text(column.type):
        blank = compute.equal(compute.utf8_trim_whitespace(column), "")
        missing = compute.or_(missing, compute.fill_null(blank, False))
        column = compute.fill_null(column, "")
    elif not types.is_boolean(column.type):
        column = compute.fill_null(column, 0)
    else:
        column = compute.fill_null(column, False)
    present = ~np.asarray(missing.to_numpy(zero_copy_only=False))
    return np.asarray(column.to_numpy(zero_copy_only=False)), present


def _whole_or_text(column: Any, name: str, where: str) -> Any:
    """Return values that are not plain numbers as whole numbers, if their type has no fraction, or as text."""
    kind = column.type
    try:
        if arrow.types.is_decimal(kind) and kind.scale == 0 and kind.precision <= 18:
            return column.cast(arrow.int64())
        texts = column.cast(arrow.string())
    except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError) as error:
        raise TableError(
            f"column {name!r} of {where} cannot be labels, being of type {kind}: use numbers or names. {error}"
        ) from error
    if arrow.types.is_decimal(kind) and kind.scale > 0:
        texts = compute.replace_substring_regex(texts, r"\.?0+$", "")
    if compute.any(compute.ends_with(texts, pattern="\0")).as_py():
        # NumPy cannot tell such a text from the one without: two labels would become one.
        raise TableError(f"column {name!r} of {where} holds a label that ends in a NUL character: remove it first.")
    return texts
