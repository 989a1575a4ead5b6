"""Feature plans: choose, encode and scale the columns of a table, and turn its rows into the matrix to cluster."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from allegiance._core.validation import BoolArray, FloatArray, IntArray, join_names, join_texts
from allegiance.drivers import Finding, duplicates_text, quote_option, same_content
from allegiance.notebook import count

from .files import TableError
from .formats import as_arrow
from .profile import ColumnProfile, Profile
from .tables import BATCH_ROWS, Table, open_table
from .values import (
    MARKS,
    ORDERS,
    as_texts,
    as_times,
    is_number,
    is_text,
    is_time,
    join_counts,
    lower_words,
    read_column,
    read_labels,
    without_dictionary,
)

_IMPUTATIONS = ("median", "drop")
#: The category of missing values.
MISSING = "(missing)"
_KINDS = ("number", "date", "category")
_ROLES = ("id", "label", "feature", "kept", "left out")
_ORDER_NAMES = {"iso": "ISO", "ymd": "year first", "dmy": "day first", "mdy": "month first"}
#: Columns listed as left out in a description, and new categories counted per column.
_MAX_LISTED, _MAX_NEW_CATEGORIES = 12, 1000
#: Minimum rows for a row counter to be an identifier regardless of its name.
_ENOUGH = 10
#: Minimum share of distinct values of an identifier, and of missing values of a column that is left out.
_NEARLY_UNIQUE, _MOSTLY_MISSING = 0.95, 0.8
#: Characters of free text; maximum columns and rows compared to find copies.
_LONG_TEXT, _MAX_COMPARED, _COMPARED_ROWS = 60, 200, 4_096
#: Finding levels, the most important first.
LEVELS = ("error", "warning", "note")
#: Names of category codes: region, DeptCode.
_CODE_NAME = re.compile(
    r"(?:^city|region|channel|type|code|zone|district|state|country|segment|category|class|sector|department|"
    r"dept|branch|group|store|brand|county|cluster|status|kind)(?:_?(?:id|code|no|nr))?$",
    re.I,
)
#: Names of identifiers, of numbers that someone assigned, and of row counters.
_ID_NAME = re.compile(
    r"(?:^|[^A-Za-z])(?:(?:user|customer|client|order|product|item|unit|person|patient|subject|student|school|movie|p|u)?id|"
    r"uuid|guid|key|index|no|nr|ref|row_?(?:id|no|nr|number|name))$|[a-z](?-i:ID|Id)$",
    re.I,
)
_ASSIGNED_NAME = re.compile(
    r"(?:num|number|reference|code\d?|identifier|phone|mobile|fax|account|iban|zip|plz|fips|npi|isbn|ean|sku|gtin)$",
    re.I,
)
_COUNTER_NAME = re.compile(r"^(?:unnamed(?:: |_)?\d+|__index_level_0__|index|row|rownames|row_name)$", re.I)
#: Text columns with more distinct values are left out.
_MAX_CATEGORIES = 50


class CellError(TableError):
    """A cell that the plan cannot read: its column and its text."""

    def __init__(self, column: str, text: str, message: str) -> None:
        super().__init__(message)
        self.column, self.text = column, text


@dataclass
class Gaps:
    """Counts of missing values by column, and of new categories by column until there are too many of them."""

    missing: Counter[str] = field(default_factory=Counter)
    new: dict[str, Counter[str]] = field(default_factory=dict)


@dataclass
class ColumnPlan:
    """The role of one column, and how it becomes features.

    A categorical column has one center per category (its share) and one spread (the root of the total variance), so
    that every column of the table has the same total variance.
    """

    name: str
    role: str  # "id", "label", "feature", "kept" (requested by the user), or "left out"
    reason: str = ""
    kind: str | None = None  # for features: "number", "date" (days since 1970-01-01) or "category"
    reading: str = "."  # for text; see ColumnProfile
    missing: tuple[Any, ...] = ()  # words and numbers that mean missing
    center: float | list[float] = 0.0  # subtracted: the mean
    spread: float = 1.0  # divisor: the standard deviation
    fill: float = 0.0  # replaces missing numbers: the median
    categories: list[str] = field(default_factory=list)  # one-hot encoded in this order
    n_missing: int = 0  # in the table of the plan

    @property
    def names(self) -> list[str]:
        """The names of the matrix columns that the plan makes of the column."""
        if self.kind == "category":
            return [f"{self.name}={category}" for category in self.categories]
        return [self.name] if self.role == "feature" else []

    @property
    def width(self) -> int:
        """The number of matrix columns that the plan makes of the column."""
        return len(self.names)


@dataclass(eq=False, repr=False)
class FeaturePlan:
    """The role of each column of a table, and how rows become the matrix to cluster.

    Built by ``allegiance.io.propose``.

    Attributes
    ----------
    columns
        The plan of each column.
    scaled, impute, single
        Whether columns are scaled by ``center`` and ``spread``, the treatment of missing values, and whether the matrix
        has single precision, because all columns of the table do.
    n_rows, where
        The number of rows and the name of the table.
    findings
        Facts about the table and its columns, most important first, with ``kind``, ``columns``, ``level``, ``text`` and
        ``remedy``. Findings of level "error" must be resolved before the plan can be applied; those of level "warning"
        change the answer.
    """

    columns: list[ColumnPlan]
    scaled: bool = True
    impute: str | None = "median"
    single: bool = False
    n_rows: int = 0
    where: str = "the table"
    findings: list[Finding] = field(default_factory=list, init=False)

    @classmethod
    def of_numbers(cls, names: Iterable[str]) -> FeaturePlan:
        """Return a plan that uses columns of numbers as they are, without scaling or filling."""
        return cls([ColumnPlan(str(name), "feature", "numbers", "number") for name in names], False, None)

    @property
    def features(self) -> list[ColumnPlan]:
        """The columns that are features."""
        return [column for column in self.columns if column.role == "feature"]

    def _names_with_role(self, role: str) -> tuple[str, ...]:
        """Return the columns of the plan with a role."""
        return tuple(column.name for column in self.columns if column.role == role)

    @property
    def used(self) -> tuple[str, ...]:
        """The names of the columns that are features."""
        return self._names_with_role("feature")

    @property
    def ids(self) -> tuple[str, ...]:
        """The columns that identify rows; empty if there are none."""
        return self._names_with_role("id")

    @property
    def labels(self) -> tuple[str, ...]:
        """The label columns."""
        return self._names_with_role("label")

    @property
    def names(self) -> tuple[str, ...]:
        """(d,) the names of the matrix columns: those of the table, or ``column=value`` for categories."""
        return tuple(name for column in self.features for name in column.names)

    @property
    def _centers_and_spreads(self) -> tuple[FloatArray, FloatArray]:
        """(d,) the center and the spread by which the plan scales each matrix column; 0 and 1 without scaling."""
        if not self.scaled:
            return np.zeros(len(self.names)), np.ones(len(self.names))
        centers = [np.atleast_1d(np.asarray(column.center, dtype=np.float64)) for column in self.features]
        spreads = [np.full(column.width, column.spread) for column in self.features]
        return np.concatenate([np.empty(0), *centers]), np.concatenate([np.empty(0), *spreads])

    @property
    def problems(self) -> list[str]:
        """The errors among the findings, as text."""
        return [str(finding) for finding in self.findings if finding.level == "error"]

    @property
    def remedy(self) -> str:
        """The command-line options that resolve all errors and warnings."""
        findings = [one for one in self.findings if one.level != "note" and one.remedy.startswith("--")]
        remedies = list(dict.fromkeys(one.remedy for one in findings if not one.remedy.startswith("--keep")))
        # These two change the column names or choose among them, so they come first.
        return next((one for one in remedies if one.startswith(("--no-header", "--features"))), " ".join(remedies))

    def raise_problems(self) -> None:
        """Raise a ``TableError`` that lists all problems, if there are any."""
        if self.problems:
            raise TableError("\n".join(self.problems))

    def describe(self, *, findings: bool = True) -> list[str]:
        """Return the plan in a few lines of text, by default with its findings."""
        lines = [f"{self.where}: {self.n_rows:,} rows, {len(self.columns):,} columns"]
        for role, title in (("id", "id"), ("label", "labels")):
            named = [f"{c.name} ({c.reason})" if c.reason else c.name for c in self.columns if c.role == role]
            if named:
                lines.append(f"{title}: {', '.join(named)}")
        numbers, dates, categories = ([c for c in self.features if c.kind == kind] for kind in _KINDS)
        if numbers:
            lines.append(f"numbers ({len(numbers):,}): {join_names((c.name for c in numbers), 12)}")
        if dates:
            listed = join_names((f"{c.name} ({_ORDER_NAMES[c.reading]})" for c in dates), 12)
            lines.append(f"dates, in days ({len(dates):,}): {listed}")
        if categories:
            listed = join_names((f"{c.name} ({c.width})" for c in categories), 12)
            width = sum(c.width for c in categories)
            lines.append(f"categories, one-hot ({len(categories):,}, {width:,} columns): {listed}")
        left_out = [c for c in self.columns if c.role == "left out"]
        lines += [f"left out: {c.name} {c.reason}" for c in left_out[:_MAX_LISTED]]
        if len(left_out) > _MAX_LISTED:
            lines.append(f"left out: {len(left_out) - _MAX_LISTED:,} more columns")
        gaps = {c.name: c.n_missing for c in self.features if c.n_missing}
        filled = {c.name: c.n_missing for c in self.features if c.n_missing and c.kind != "category"}
        blank = {name: n for name, n in gaps.items() if name not in filled}
        if self.impute == "median" and filled:
            lines.append(f"missing numbers, filled with the median: {join_counts(filled)}")
        if self.impute == "median" and blank:
            lines.append(f"blanks, encoded as {MISSING}: {join_counts(blank)}")
        if self.impute == "drop" and gaps:
            lines.append(f"rows with missing values are left out: {join_counts(gaps)}")
        lines.append("scaling: all columns standardized" if self.scaled else "scaling: none")
        return [*lines, *(f"{one.level}: {one}" for one in self.findings if findings)]

    def prepare(self, rows: Any, gaps: Gaps | None = None) -> tuple[FloatArray, IntArray]:
        """Return the matrix (m, d) of some rows by the plan, and the numbers (m,) of the rows in it, counted from 0.

        Rows without a label are left out, and rows with missing values that the plan does not fill. ``rows`` is a frame
        of any library, or a record batch, with the columns ``used``; ``gaps`` adds up what is missing or new.
        """
        gaps = Gaps() if gaps is None else gaps
        batch = as_arrow(rows)
        names = set(batch.schema.names)
        missing = [name for name in self.used if name not in names]
        if missing:
            raise TableError(f"the rows have no column {join_names(map(repr, missing))}, which the model needs.")
        used = batch.select([*self.used, *(name for name in self.labels if name in names)])
        matrix = np.zeros((batch.num_rows, len(self.names)), dtype=np.float32 if self.single else np.float64)
        present = np.ones(batch.num_rows, dtype=bool)
        start = 0
        for piece in used.to_batches(max_chunksize=BATCH_ROWS) if hasattr(used, "to_batches") else [used]:
            stop = start + piece.num_rows
            self._fill_matrix(piece, matrix[start:stop], present[start:stop], gaps)
            start = stop
        return matrix if present.all() else matrix[present], np.flatnonzero(present)

    def _fill_matrix(self, batch: pa.RecordBatch, matrix: FloatArray, present: BoolArray, gaps: Gaps) -> None:
        """Write the planned features of a batch into a matrix of zeros, and clear ``present`` for incomplete rows."""
        at = 0
        n_missing: dict[str, int] = {}
        # For thousands of columns, a dictionary is faster than lookups in the batch.
        arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
        for column in self.features:
            is_filled = self.impute == "median" or MISSING in column.categories
            if column.kind == "category":
                codes, missing = self._read_codes(arrays[column.name], column, gaps)
                rows = np.flatnonzero(codes >= 0)
                matrix[rows, at + codes[rows]] = 1.0
            else:
                numbers = self._read_numbers(arrays[column.name], column)
                missing = np.isnan(numbers)
                matrix[:, at] = np.where(missing, column.fill, numbers) if is_filled else numbers
            if n := int(missing.sum()):
                gaps.missing[column.name] += n
                if not is_filled:
                    present &= ~missing
                    n_missing[column.name] = n
            at += column.width
        if n_missing and self.impute is None:
            raise TableError(f"{missing_message(n_missing)} The setting of a saved model cannot be changed.")
        if self.scaled:
            center, spread = self._centers_and_spreads
            matrix -= center
            matrix /= spread
        for name in arrays.keys() & self.labels:
            present &= read_labels(arrays[name], name, self.where)[1]

    def _read_numbers(self, values: Any, column: ColumnPlan) -> FloatArray:
        """Return a planned column in its own units, with NaN for missing values."""
        values = without_dictionary(values)
        if not any(is_kind(values.type) for is_kind in (is_text, is_number, is_time)):
            raise TableError(f"column {column.name!r} contains {column.kind}s in the plan, but {values.type} here.")
        numbers, odd = read_column(values, column.reading, column.missing)
        if odd is not None:
            text = f"column {column.name!r} contains {odd[:40]!r}, which is not a {column.kind}. Correct it, or pass"
            raise CellError(column.name, odd, f"{text} `missing={{{column.name!r}: [{odd[:40]!r}]}}`.")
        return numbers

    def _read_codes(self, values: Any, column: ColumnPlan, gaps: Gaps) -> tuple[IntArray, BoolArray]:
        """Return category codes by the plan, -1 for unknown ones, and a mask of missing values."""
        texts = as_texts(values)
        if column.missing:
            words = pa.array(sorted(lower_words(column.missing)), pa.string())
            texts = pc.if_else(pc.is_in(pc.utf8_lower(texts), value_set=words), None, texts)
        places = pc.index_in(texts, value_set=pa.array(column.categories, pa.string()))
        codes = np.asarray(pc.fill_null(places, -1).to_numpy(zero_copy_only=False), dtype=np.int64)
        missing = np.asarray(pc.is_null(texts).to_numpy(zero_copy_only=False))
        if np.any((codes < 0) & ~missing):
            counter = gaps.new.setdefault(column.name, Counter())
            if len(counter) <= _MAX_NEW_CATEGORIES:
                counter.update(texts.filter(pc.and_(pc.is_valid(texts), pc.is_null(places))).to_pylist())
        if MISSING in column.categories:
            codes[missing] = column.categories.index(MISSING)
        return codes, missing

    def matrix(self, rows: Any) -> FloatArray:
        """Return the matrix (n, d) of some rows by the plan.

        ``rows`` is a frame, or a source for ``allegiance.io.open_table``. A row with a missing value that the plan does
        not fill, or without a label, raises a ``TableError``; :meth:`prepare` leaves it out.
        """
        if isinstance(rows, (str, Table)) or hasattr(rows, "__fspath__"):
            rows = open_table(rows).read(list(self.used), typed=False)
        rows = as_arrow(rows)
        matrix, used = self.prepare(rows)
        if used.size < rows.num_rows:
            gaps = rows.num_rows - used.size
            raise TableError(f"{gaps:,} rows have a missing value or label: fill them, or leave these rows out.")
        return matrix

    def in_units(self, matrix: Any) -> FloatArray:
        """Return rows of a planned matrix (m, d), such as centers, in the table's own units: numbers, days, shares."""
        center, spread = self._centers_and_spreads
        return np.asarray(matrix, dtype=np.float64) * spread + center

    def scale_matrix(self, matrix: Any) -> FloatArray:
        """Return a matrix (m, d) in the table's own units, with zeros and ones, in the scale of :meth:`matrix`."""
        matrix = np.asarray(matrix, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[1] != len(self.names):
            raise TableError(f"the matrix must have {len(self.names)} columns, got shape {matrix.shape}.")
        center, spread = self._centers_and_spreads
        return (matrix - center) / spread

    def check(self, table: Table) -> None:
        """Check the columns of another table, whose findings replace those of the plan.

        Its values are checked while it is read. Raises a ``TableError`` for missing columns, and without rows.
        """
        there = set(table.columns)
        missing = [name for name in self.used if name not in there]
        partial = {name for names in table.partial_columns(()) for name in names}
        table.check_columns([name for name in missing if name in partial])
        if missing:
            plural = "columns that the model needs are" if len(missing) > 1 else "column that the model needs is"
            raise TableError(f"{table.where}: {len(missing)} {plural} missing: {join_names(map(repr, missing))}.")
        if table.count_rows() == 0:
            raise TableError(f"{table.where} has a header, but no rows.")
        # Which numbers mean missing is part of the plan.
        self.findings = [finding for finding in table.findings if finding.kind in ("reading", "rows")]
        ignored = sorted(there - {column.name for column in self.columns}, key=table.columns.index)
        if ignored:
            text = f"Ignored columns the model was not fitted on: {join_names(ignored)}."
            self.findings.append(Finding("reading", tuple(ignored), text, level="note"))

    def describe_gaps(self, gaps: Gaps) -> list[str]:
        """Return notes on missing values, and on categories that the plan does not have, from :meth:`prepare`."""
        notes = []
        for name, new in gaps.new.items():
            listed = "more than 1,000" if len(new) > _MAX_NEW_CATEGORIES else join_counts(new)
            text = "has categories the model has not seen; they are encoded as zeros"
            notes.append(f"column {name!r} {text}: {listed}.")
        if gaps.missing:
            what = "filled as in the model" if self.impute == "median" else "in rows that are left out"
            notes.append(f"{count(gaps.missing.total(), 'missing value')} {what}: {join_counts(gaps.missing)}.")
        return notes

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values for JSON."""
        columns = [{**asdict(column), "missing": list(column.missing)} for column in self.columns]
        settings = ("scaled", "impute", "single", "n_rows", "where")
        return {"columns": columns} | {name: getattr(self, name) for name in settings}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> FeaturePlan:
        """Return a plan from the values of :meth:`to_dict`, or raise ``ValueError`` if they do not describe one."""
        try:
            if values["impute"] not in (None, *_IMPUTATIONS):
                raise ValueError(f"impute is {values['impute']!r}")
            plan = cls(
                [_column_from(entry) for entry in values["columns"]],
                scaled=bool(values["scaled"]),
                impute=values["impute"],
                single=bool(values["single"]),
                n_rows=int(values["n_rows"]),
                where=str(values["where"]),
            )
            if len(set(plan.names)) < len(plan.names):
                raise ValueError("two columns have one name")
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"this is not a plan of features: {error}") from error
        return plan

    def __repr__(self) -> str:
        return f"FeaturePlan({len(self.used)} columns, {len(self.names)} features)"


def _column_from(entry: Mapping[str, Any]) -> ColumnPlan:
    """Return the plan of a column from plain values, after checking them."""
    field_names = {one.name for one in fields(ColumnPlan)}
    column = ColumnPlan(**{key: value for key, value in entry.items() if key in field_names})
    centers = column.center if isinstance(column.center, list) else [column.center]
    numbers = [float(value) for value in [*centers, column.spread, column.fill]]
    feature = column.role == "feature"
    for is_wrong, problem in (
        (column.role not in _ROLES or (feature and column.kind not in _KINDS), "an unknown role or kind"),
        (
            not all(isinstance(text, str) for text in [column.name, column.reason, *column.categories]),
            "a name or a category that is not text",
        ),
        (feature and not (np.isfinite(numbers).all() and column.spread > 0), "a scale that is not a positive number"),
        (
            len(centers) != (len(column.categories) if column.kind == "category" else 1),
            f"{len(centers)} centers for {len(column.categories)} categories",
        ),
        (column.reading not in (*MARKS, *ORDERS), "an unknown reading"),
    ):
        if is_wrong:
            raise ValueError(f"column {column.name!r} has {problem}")
    column.missing = tuple(value if isinstance(value, (str, int, float)) else str(value) for value in column.missing)
    return column


def missing_message(gaps: Mapping[str, int]) -> str:
    """Return a message about missing values that a plan does not fill."""
    return (
        f"values are missing in {join_counts(gaps)}. Pass `impute='median'` to fill them, or `impute='drop'` to "
        "leave their rows out."
    )


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
    **reading: Any,
) -> FeaturePlan:
    r"""Propose a feature plan for a table, from one pass over its rows.

    Parameters
    ----------
    table
        A table from ``allegiance.io.open_table``, or any of its sources.
    id
        Columns that identify rows; by default a column of unique texts, of unique whole numbers named like an
        identifier, or a row counter.
    labels
        Label columns. They are never features, and rows without a label are left out.
    features
        Columns to use, by name or pattern; by default all suitable columns.
    drop
        Columns to leave out, by name or pattern.
    one_hot
        Columns to one-hot encode even if they contain numbers, by name or pattern.
    keep
        Columns that are not features but are needed later, such as texts to display.
    raw
        Use numbers as they are: no scaling, no filling, no text columns.
    scale
        Whether to standardize all columns; by default unless ``raw``.
    impute
        "median" fills missing numbers with the median of their column and makes missing categories a category. "drop"
        leaves out rows with a missing value. None makes missing values an error. The default is "median", or None with
        ``raw``.
    **reading
        Options of ``allegiance.io.open_table``, if ``table`` is not open yet.

    Returns
    -------
    FeaturePlan
        The plan. Findings of level "error" must be resolved before it can be applied.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from allegiance.io import propose
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "customers.csv"
    ...     _ = path.write_text("id,spent,color\n7,1.5,red\n8,n/a,blue\n9,2.5,red\n10,3.5,red\n")
    ...     plan = propose(path, scale=False)
    ...     print(plan.ids, plan.names)
    ...     print(plan.matrix(path))
    ('id',) ('spent', 'color=blue', 'color=red')
    [[1.5 0.  1. ]
     [2.5 1.  0. ]
     [2.5 0.  1. ]
     [3.5 0.  1. ]]
    """
    source = open_table(table, **reading)
    if impute == "default":
        impute = None if raw else "median"
    if impute is not None and impute not in _IMPUTATIONS:
        raise TableError(f"impute must be 'median', 'drop' or None, got {impute!r}.")
    ids, label_columns, passthrough = (_as_list(names) for names in (id, labels, keep))
    groups = (_expand_patterns(names, source.columns) for names in (features, drop, one_hot))
    feature_names, drop_names, one_hot_names = groups
    incomplete, ignored = source.partial_columns([*ids, *label_columns, *passthrough, *feature_names, *one_hot_names])
    drop_names = [name for name in drop_names if name not in ignored and name not in incomplete]
    source.check_columns([*ids, *label_columns, *passthrough, *feature_names, *drop_names, *one_hot_names])
    if missing := [name for name in incomplete if name not in _as_list(drop)]:
        source.check_columns(missing)
    requested = {*feature_names, *one_hot_names}
    both = [
        f"column {name!r} is a feature and in `{option}=` too: leave it out of one."
        for option, names in (("labels", label_columns), ("id", ids), ("drop", drop_names))
        for name in names
        if name in requested
    ]
    if both:
        raise TableError("\n".join(both))
    profile = source.profile()
    if profile.n_rows == 0:
        raise TableError(f"{source.where} has a header, but no rows.")
    others = set() if features is None else set(source.columns) - requested
    roles = {
        **dict.fromkeys(others, ("left out", "not among the features")),
        **dict.fromkeys(drop_names, ("left out", "as requested")),
        **dict.fromkeys(passthrough, ("kept", "as requested")),
        **dict.fromkeys(ids, ("id", "as requested")),
        **dict.fromkeys(label_columns, ("label", "")),
    }
    columns, problems = [], []
    for name, stats in profile.columns.items():
        # A column of 1 and blank is 1 for yes and blank for no.
        has_one_value = stats.kind == "number" and stats.values is not None and len(stats.values) == 1
        is_binary = has_one_value and stats.n_missing > 0 and not stats.missing_words
        category = stats.kind == "text" or name in one_hot_names or is_binary
        unfit = _exclusion_reason(stats, category, name in requested, raw, name in source.annotations)
        if name in roles or unfit:
            columns.append(ColumnPlan(name, *roles.get(name, ("left out", unfit)), n_missing=stats.n_missing))
        else:
            columns.append(_plan_feature(stats, category, impute))
        if unfit and name in requested and name not in roles:
            text = f"column {name!r} {unfit}. Leave it out of `features=`, or drop it."
            problems.append(Finding("column", (name,), text, quote_option("--drop", [name]), "error"))
    _choose_id(columns, profile, requested, ids)
    duplicates = [] if raw else _drop_copies(columns, source, profile, requested)
    scaled = (not raw) if scale is None else bool(scale)
    used = [column for column in columns if column.role == "feature"]
    single = not scaled and all(c.kind == "number" and profile.columns[c.name].type == "float" for c in used)
    plan = FeaturePlan(columns, scaled=scaled, impute=impute, single=single, n_rows=profile.n_rows, where=source.where)
    findings = [
        *source.findings,
        *problems,
        *duplicates,
        *_plan_findings(plan, source, features is not None or raw),
        *_missing_findings(plan, profile),
        *_sentinel_findings(plan, profile),
        *_cell_findings(plan, profile, source),
        *_column_findings(plan, profile, duplicates),
    ]
    plan.findings = sorted(findings, key=lambda finding: LEVELS.index(finding.level))
    return plan


def _exclusion_reason(profile: ColumnProfile, category: bool, is_requested: bool, raw: bool, annotation: bool) -> str:
    """Return why a plan leaves a column out: it cannot be a feature, or should not be one by default; else empty."""
    values, present = profile.values or {}, profile.n_rows - profile.n_missing
    many = len(values) > _MAX_CATEGORIES or (len(values) > 10 and len(values) > present / 2) or profile.unique
    constant, only = profile.min == profile.max and not profile.infinite, f"{profile.min:g}"
    if constant and profile.kind == "date":
        only = str(as_times(np.array(profile.min)).astype("M8[D]" if profile.min.is_integer() else "M8[s]"))
    id_like = profile.kind == "number" and profile.integer and _is_id_name(profile.name) and not profile.unique
    mostly = profile.n_missing > _MOSTLY_MISSING * profile.n_rows
    rare = len(values) == 1 and present < max(5, 0.01 * profile.n_rows)
    is_junk = bool(values) and not any(letter.isalnum() for text in values for letter in text)
    longest = sorted(map(len, values))[len(values) // 2] if values else 0
    for applies, reason in (
        (profile.kind == "empty" or is_junk, "has no values"),
        (profile.kind == "other", f"is of type {profile.type}"),
        (category and profile.values is None, _too_many(profile)),
        (is_requested, ""),
        (annotation, "describes observations (obs)"),
        (category and len(values) == 1 and not profile.n_missing, f"is always {next(iter(values), '')[:40]!r}"),
        (mostly and (len(values) != 1 or rare), f"is {profile.n_missing / profile.n_rows:.0%} missing"),
        (category and raw, "is not a number"),
        (category and many, _too_many(profile)),
        (category and longest > _LONG_TEXT, "is free text"),
        (category, ""),
        (constant, f"is always {only}{' or missing' if profile.n_missing else ''}"),
        (id_like and (profile.values is None or len(values) > _MAX_CATEGORIES), "is named like an identifier"),
    ):
        if applies:
            return reason
    return ""


def _too_many(profile: ColumnProfile) -> str:
    """Return why a plan leaves out a column of too many distinct texts."""
    remark = f"; {profile.remark}" if profile.remark else ""
    if profile.unique:
        return f"has a different text in every row{remark}"
    if profile.distinct_share > 0.995:
        return f"has a different text in nearly every row{remark}"
    count = "more than 1,000" if profile.values is None else f"{len(profile.values):,}"
    number = f"{profile.distinct_share:.0%} of its values" if profile.distinct_share > 0.5 else count
    return f"has too many distinct texts ({number}{remark})"


def _as_list(names: Any) -> list[str]:
    """Return the columns of an argument of :func:`propose` as a list."""
    if names is None:
        return []
    return [names] if isinstance(names, str) else [str(name) for name in names]


def _expand_patterns(patterns: Any, names: Sequence[str]) -> list[str]:
    """Expand patterns of :func:`propose` such as pixel*; one without a match stays, for the error message."""
    columns: list[str] = []
    for part in _as_list(patterns):
        matches = [part] if part in names else [name for name in names if fnmatchcase(name, part)]
        columns.extend(matches or [part])
    return list(dict.fromkeys(columns))


def _plan_feature(profile: ColumnProfile, category: bool, impute: str | None) -> ColumnPlan:
    """Propose the plan of one feature."""
    plan = ColumnPlan(profile.name, "feature", kind=profile.kind, missing=profile.missing, n_missing=profile.n_missing)
    if not category:
        plan.reason = "numbers" if profile.kind == "number" else "dates, in days"
        plan.reading, plan.center, plan.fill = profile.reading, profile.mean, profile.median
        plan.spread = profile.std if profile.std > 0 and np.isfinite(profile.std) else 1.0
        return plan
    plan.kind = "category"
    counts = Counter(profile.values or {})
    plan.categories = sorted(counts, key=_category_sort_key)
    if profile.n_missing and (impute == "median" or len(counts) == 1):
        plan.categories.append(MISSING)
        counts[MISSING] = profile.n_missing
    shares = np.array([counts[category] for category in plan.categories]) / max(sum(counts.values()), 1)
    plan.center = [float(share) for share in shares]
    total = float((shares * (1 - shares)).sum())
    plan.spread = float(np.sqrt(total)) if total > 0 else 1.0
    plan.reason = f"{len(counts)} categories"
    return plan


def _category_sort_key(text: str) -> tuple[int, float, str]:
    """Return the sort key of a planned category: numbers by value, then texts."""
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text


def _is_id_name(name: str, *, strictly: bool = False) -> bool:
    """Return whether a column is named like an id: customerID, order_key; unless ``strictly`` also CLIENTNUM."""
    patterns = (_COUNTER_NAME, _ID_NAME) if strictly else (_COUNTER_NAME, _ID_NAME, _ASSIGNED_NAME)
    return any(pattern.search(name) for pattern in patterns)


def _is_identifier(profile: ColumnProfile, n_rows: int) -> bool:
    """Return whether whole numbers are no feature but identify rows: counted, or unique and named like an id."""
    if profile.kind != "number" or not profile.integer:
        return False
    if _COUNTER_NAME.search(profile.name):
        return profile.distinct_share > 0.5
    if profile.counting:
        # In a few rows, consecutive numbers may be a coincidence.
        return _is_id_name(profile.name) or n_rows >= _ENOUGH
    if _is_id_name(profile.name):
        return profile.unique or (n_rows >= _ENOUGH and profile.distinct_share > _NEARLY_UNIQUE)
    # Random numbers from this range would collide, so these were assigned.
    collisions = n_rows * n_rows / (2 * max(profile.max - profile.min, 1.0))
    return profile.unique and n_rows >= 50 and collisions > 10


def _choose_id(columns: list[ColumnPlan], profile: Profile, requested: set[str], ids: list[str]) -> None:
    """Make the best identifier the id column, unless the user named one, and leave out the other identifiers."""
    candidates: list[tuple[int, int, ColumnPlan]] = []
    for place, column in enumerate(columns):
        stats = profile.columns[column.name]
        fixed = column.reason == "as requested" or column.name in requested
        if fixed or column.role not in ("feature", "left out") or column.kind == "category" or profile.n_rows < 3:
            continue
        is_misread = stats.remark.endswith((" is not a number", " is not a date"))
        text = stats.kind == "text" and stats.unique and not is_misread
        if text or _is_identifier(stats, profile.n_rows):
            # A name says more than the number of a row, and a number more than a long text.
            lengths = pc.utf8_length(profile.sample.column(column.name)) if text else None
            kinds = (
                _is_id_name(column.name, strictly=True) and (text or not _COUNTER_NAME.search(column.name)),
                text and pc.max(lengths).as_py() <= _LONG_TEXT,
                not text and not _COUNTER_NAME.search(column.name),
                not text,
            )
            candidates.append(([*kinds, True].index(True), place, column))
    candidates.sort(key=lambda entry: entry[:2])
    usable = [entry[2] for entry in candidates if profile.columns[entry[2].name].unique]
    best = None if ids or not usable else usable[0]
    if best is not None:
        counts = profile.columns[best.name].counting
        best.role, best.reason, best.kind = "id", "row counter" if counts else "unique", None
    for _, _, column in candidates:
        if column is not best and (column.role == "feature" or column.reason.startswith("has a different text")):
            like = f", as {best.name if best else ids[0]!r} does" if best or ids else ""
            column.role, column.reason, column.kind = "left out", f"identifies rows{like}", None


def _drop_copies(columns: list[ColumnPlan], source: Table, profile: Profile, requested: set[str]) -> list[Finding]:
    """Leave out exact copies of columns, and return findings about columns with the same information."""
    used = [column for column in columns if column.role == "feature"][:_MAX_COMPARED]
    if len(used) < 2:
        return []
    rows = source.sample(_COMPARED_ROWS, [column.name for column in used])
    contents: dict[bytes, ColumnPlan] = {}
    copies: dict[str, list[str]] = {}
    numbers, codes, originals = list[FloatArray](), list[IntArray](), list[ColumnPlan]()
    for column in sorted(used, key=lambda one: one.kind == "category"):
        values = rows.column(column.name).combine_chunks()
        if column.kind == "category":
            content = pc.fill_null(pc.index_in(as_texts(values), value_set=pa.array(column.categories)), -1).to_numpy()
            key = repr(column.categories).encode() + content.tobytes()
        else:
            content = read_column(values, column.reading, column.missing)[0]
            content = np.where(np.isfinite(content), content, column.fill)
            key = content.tobytes()
        first = contents.setdefault(key, column)
        if first is not column and column.name not in requested:
            column.role, column.reason, column.kind = "left out", f"is a copy of {first.name!r}", None
            copies.setdefault(first.name, []).append(column.name)
        elif column.kind == "category":
            codes.append(content.astype(np.int64) + 1)
            originals.append(column)
        else:
            numbers.append(content)
            originals.append(column)
    findings = [
        _finding("copies", (name, *others), f"Left out {join_names(others)}: the same values as in {name}.")
        for name, others in copies.items()
    ]
    table = np.column_stack([np.empty((rows.num_rows, 0)), *numbers])
    for group in same_content(table, codes) if rows.num_rows >= _ENOUGH else ():
        # Keep the text of a category rather than its code, and drop dates first.
        alike = [originals[place] for place in group]
        alike.sort(key=lambda column: (column.kind == "date", _is_code(profile.columns[column.name])))
        names = [column.name for column in alike]
        drop = quote_option("--drop", names[1:])
        findings.append(_finding("duplicates", names, duplicates_text(names), drop, "warning"))
    return findings


def _finding(kind: str, names: Iterable[str], text: str, remedy: str = "", level: str = "note") -> Finding:
    """Return a finding about a proposed plan."""
    return Finding(kind, tuple(names), text, remedy, level)


def _plan_findings(plan: FeaturePlan, source: Table, is_chosen: bool) -> Iterator[Finding]:
    """Yield errors about a proposed plan without usable features, or of a file that does not look like a table."""
    left_out = [column for column in plan.columns if column.role == "left out"]
    if not plan.used:
        reasons = "; ".join(f"{column.name!r} {column.reason}" for column in left_out)
        text = f"{plan.where} has no column that can be a feature. {reasons[:400]}. Pass `features=` or"
        yield _finding("column", (), f"{text} `one_hot=` to use one of them.", level="error")
    twice = [name for name, n in Counter(plan.names).items() if n > 1]
    if twice:
        text = f"two features would be called {twice[0]!r}: rename a column, or pass `drop=`."
        yield _finding("column", (), text, level="error")
    gaps = [column.n_missing for column in plan.features if column.kind != "category"]
    cells, reason = plan.n_rows * max(len(gaps), 1), ""
    if len(plan.used) == 1 and (len(plan.columns) > 5 or not gaps):
        others = join_names((f"{column.name} {column.reason}" for column in left_out), 3)
        reason = f"only {plan.used[0]!r} of {len(plan.columns)} columns can be used"
        reason = f"{reason} ({others})" if others else reason
    elif sum(gaps) > cells / 2:
        reason = f"{sum(gaps) / cells:.0%} of the numbers are missing"
    if reason and not is_chosen and source.format in ("csv", "xlsx"):
        text = f"{plan.where} does not look like a table: {reason}. Name the columns to use if it is one."
        yield _finding("not a table", (), text, quote_option("--features", plan.used), "error")


def _cell_findings(plan: FeaturePlan, profile: Profile, source: Table) -> Iterator[Finding]:
    """Yield findings about cells that are not plain numbers or dates."""
    for column in plan.features:
        name, kind, stats = column.name, column.kind, profile.columns[column.name]
        if stats.infinite:
            text = f"column {name!r} has {count(stats.infinite, 'infinite value')}. Pass "
            text += f"`missing={{{name!r}: ['inf', '-inf']}}`, or drop it."
            yield _finding("infinite", [name], text, quote_option("--drop", [name]), "error")
        if stats.strays and kind != "category":
            rows = sorted(stats.strays)
            lines = zip(rows[:3], source.lines_of(rows[:3]), strict=True)
            cells = join_texts([f"{stats.strays[row][:30]!r} in line {line}" for row, line in lines])
            more = f" and {len(rows) - 3:,} more" if len(rows) > 3 else ""
            are = f"cell that is not a {kind} and counts" if len(rows) == 1 else f"cells that are not {kind}s and count"
            yield _finding("strays", [name], f"{name!r} has {len(rows):,} {are} as missing: {cells}{more}.")
        if stats.remark and stats.kind in ("number", "date"):
            yield _finding("ambiguous", [name], f"{name!r}: {stats.remark}.")


def _column_findings(plan: FeaturePlan, profile: Profile, duplicates: Sequence[Finding]) -> Iterator[Finding]:
    """Yield findings about columns that may not be measurements, and about rows that repeat."""
    copies = {name for one in duplicates for name in one.columns[1:]}
    numbers = [column.name for column in plan.features if column.kind == "number" and column.name not in copies]
    codes = [name for name in numbers if _is_code(profile.columns[name])]
    if codes:
        text = f"Used as numbers, but possibly category codes: {join_names(codes)}."
        # Two codes make the same clusters as numbers and as categories.
        level = "warning" if any(len(profile.columns[name].values or ()) > 2 for name in codes) else "note"
        yield _finding("codes", codes, text, quote_option("--one-hot", codes), level)
    left_out = [profile.columns[column.name] for column in plan.columns if column.role == "left out"]
    units = {stats.name: unit for stats in left_out if (unit := _unit_of(stats))}
    if units:
        listed = join_texts(f"{join_names([name])} ({unit!r})" for name, unit in units.items())
        text = f"Left out, because every number has a unit: {listed}. Remove the unit to use them."
        yield _finding("units", units, text)
    has_id = any(column.role == "id" and column.reason != "row counter" for column in plan.columns)
    repeated = [one for one in left_out if _is_id_name(one.name, strictly=True) and 0 < one.distinct_share <= 0.5]
    for stats in [] if has_id else repeated[:1]:
        n, name = round(stats.distinct_share * (stats.n_rows - stats.n_missing)), stats.name
        text = f"{name} repeats ({n:,} values in {plan.n_rows:,} rows), so several rows describe the same {name}."
        yield _finding("repeated ids", [name], f"{text} To cluster these, make a table with one row per {name} first.")
    dates = [column.name for column in plan.features if column.kind == "date"]
    if dates:
        text = f"Dates used as features: {join_names(dates)}. Clusters that follow time do not carry over to new data."
        yield _finding("time", dates, text, quote_option("--drop", dates))
    if n_copies := profile.n_duplicate_rows():
        text = f"{n_copies:,} {'row repeats' if n_copies == 1 else 'rows repeat'} an earlier one in all columns."
        yield _finding("duplicate rows", (), text)


def _missing_findings(plan: FeaturePlan, profile: Profile) -> Iterator[Finding]:
    """Yield findings about missing values and labels."""
    missing = {column.name: column.n_missing for column in plan.features if column.n_missing}
    if missing and plan.impute is None:
        yield _finding("missing", missing, f"{plan.where}: {missing_message(missing)}", "--impute median", "error")
    for ending, reason in (("% missing", "more than 80% missing"), ("has no values", "no values")):
        names = [column.name for column in plan.columns if column.role == "left out" and column.reason.endswith(ending)]
        if names:
            yield _finding("missing", names, f"Left out {join_names(names)}: {reason}.")
    half = [column.name for column in plan.features if column.n_missing > plan.n_rows / 2 and column.width != 2]
    if half:
        text = f"More than half of the values are missing in {join_names(half)}."
        yield _finding("missing", half, text, quote_option("--drop", half), "warning")
    error = max((profile.columns[name].median_error for name in missing), default=0.0)
    if error and plan.impute == "median":
        text = f"Medians come from a random sample of rows; their rank is within {error:.2%} (95%)."
        yield _finding("missing", (), text)
    for name in plan.labels:
        stats = profile.columns[name]
        if n_missing := stats.n_missing - len(stats.strays):
            text = f"{n_missing:,} of {plan.n_rows:,} rows have no label in {name!r} and are left out."
            yield _finding("labels", (name,), text)


def _sentinel_findings(plan: FeaturePlan, profile: Profile) -> Iterator[Finding]:
    """Yield findings about words that count as missing, and about numbers that may mean missing."""
    words, suspects = dict[str, dict[str, int]](), dict[str, dict[str, int]]()
    for column in plan.features:
        stats = profile.columns[column.name]
        numbers = {f"{value:g}" for value in column.missing if isinstance(value, float)}
        for word, n in stats.missing_words.items() if column.kind != "category" else ():
            if word not in numbers:
                words.setdefault(word, {})[column.name] = n
        if stats.sentinel is not None and column.kind == "number" and not stats.sentinel.is_certain:
            suspects.setdefault(f"{stats.sentinel.value:g}", {})[column.name] = stats.sentinel.n_rows
    if words and plan.impute != "drop":
        listed = join_texts(f"{word!r} in {join_counts(counts)}" for word, counts in words.items())
        names = dict.fromkeys(name for counts in words.values() for name in counts)
        yield _finding("missing", names, f"Counted as missing: {listed}.")
    for value, counts in suspects.items():
        why = "it is much more frequent than other values" if float(value) > 0 else "no other value is negative"
        why = "all other values are far away" if value == "0" else why
        remedy = " ".join(quote_option("--missing", [f"{name}={value}"]) for name in counts)
        yield _finding(
            "sentinel", counts, f"{value} may mean missing in {join_counts(counts)}: {why}.", remedy, "warning"
        )


def _is_code(profile: ColumnProfile) -> bool:
    """Return whether a feature of whole numbers is named and distributed like category codes."""
    few_values = profile.values is not None and 1 < len(profile.values) <= _MAX_CATEGORIES
    is_name = _CODE_NAME.search(profile.name) or re.search(r"(?:^|[^A-Za-z])id$|[a-z]I[Dd]$", profile.name)
    return few_values and profile.integer and profile.max > 1 and profile.min >= 0 and is_name is not None


def _unit_of(profile: ColumnProfile) -> str:
    """Return the unit after every number of a column that the plan leaves out, such as "min"; empty without one."""
    parts = [re.fullmatch(r"[\d.,]+(\s*[^\d\s.,]\S{0,9})", text) for text in profile.values or ()]
    units = {part[1].strip() if part else "" for part in parts}
    return units.pop() if profile.kind == "text" and len(units) == 1 else ""
