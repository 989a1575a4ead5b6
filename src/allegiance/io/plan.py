"""Feature plans: turn the rows of a table into the matrix to cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from allegiance._core.validation import BoolArray, FloatArray, IntArray, join_names
from allegiance.drivers import Finding
from allegiance.notebook import count

from .files import TableError
from .formats import as_arrow
from .tables import BATCH_ROWS, Table, open_table
from .values import (
    MARKS,
    ORDERS,
    as_texts,
    is_number,
    is_text,
    is_time,
    join_counts,
    label_values,
    lower_words,
    read_column,
    without_dictionary,
)

IMPUTATIONS = ("median", "drop")
#: The category of missing values.
MISSING = "(missing)"
_KINDS = ("number", "date", "category")
_ROLES = ("id", "label", "feature", "kept", "left out")
_ORDER_NAMES = {"iso": "ISO", "ymd": "year first", "dmy": "day first", "mdy": "month first"}
#: Columns listed as left out in a description, and new categories counted per column.
_MAX_LISTED, _MAX_CATEGORIES = 12, 1000


class CellError(TableError):
    """A cell that the plan cannot read: its column and its text."""

    def __init__(self, column: str, text: str, message: str) -> None:
        super().__init__(message)
        self.column, self.text = column, text


class Gaps:
    """Counts of missing values by column, and of new categories by column until there are too many of them."""

    def __init__(self) -> None:
        self.missing: Counter[str] = Counter()
        self.new: dict[str, Counter[str]] = {}

    def add_missing(self, column: str, gaps: BoolArray) -> None:
        """Count the missing values of a column."""
        if number := int(gaps.sum()):
            self.missing[column] += number

    def add_new(self, column: str, counts: Mapping[str, int]) -> None:
        """Count the new categories of a column."""
        counter = self.new.setdefault(column, Counter())
        if len(counter) <= _MAX_CATEGORIES:
            counter.update(counts)


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
        """The names of its matrix columns."""
        if self.kind == "category":
            return [f"{self.name}={category}" for category in self.categories]
        return [self.name] if self.role == "feature" else []

    @property
    def width(self) -> int:
        """The number of its matrix columns."""
        return len(self.names)


@dataclass(eq=False, repr=False)
class FeaturePlan:
    """The role of each column of a table, and how rows become the matrix to cluster.

    Built by ``allegiance.io.propose``.

    Parameters
    ----------
    columns
        The plan of each column.
    scaled
        Whether columns are scaled by ``center`` and ``spread``.
    impute
        The treatment of missing values; see ``allegiance.io.propose``.
    single
        Whether the matrix has single precision, because all columns of the table do.
    n_rows
        The number of rows of the table.
    where
        The name of the table, for messages.

    Attributes
    ----------
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
        columns = [ColumnPlan(str(name), "feature", "numbers", "number") for name in names]
        return cls(columns, scaled=False, impute=None)

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
        """(d,) the center and the spread of each matrix column; 0 and 1 without scaling."""
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
        # These change the names of the columns, or choose among them: they come first.
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
        """Return the matrix (m, d) of some rows, and the numbers (m,) of the rows in it, counted from 0.

        Rows without a label are left out, and rows with missing values that the plan does not fill.

        Parameters
        ----------
        rows
            A record batch, a table or a frame of any library with the columns ``used``.
        gaps
            Counts of missing values and new categories, to be increased by those of these rows.
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

    def _fill_matrix(self, batch: pa.RecordBatch, matrix: FloatArray, present: BoolArray, counts: Gaps) -> None:
        """Write the features of a batch into a matrix of zeros, and clear ``present`` for incomplete rows."""
        at = 0
        n_missing: dict[str, int] = {}
        # For thousands of columns, a dictionary is faster than lookups in the batch.
        arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
        for column in self.features:
            if column.kind == "category":
                codes, gaps = self._read_codes(arrays[column.name], column, counts)
                rows = np.flatnonzero(codes >= 0)
                matrix[rows, at + codes[rows]] = 1.0
            else:
                numbers = self._read_numbers(arrays[column.name], column)
                gaps = np.isnan(numbers)
                counts.add_missing(column.name, gaps)
                if self.impute == "median" and gaps.any():
                    numbers, gaps = np.where(gaps, column.fill, numbers), np.zeros_like(gaps)
                matrix[:, at] = numbers
            if gaps.any():
                present &= ~gaps
                n_missing[column.name] = int(gaps.sum())
            at += column.width
        if n_missing and self.impute is None:
            raise TableError(f"{missing_message(n_missing)} The setting of a saved model cannot be changed.")
        if self.scaled:
            center, spread = self._centers_and_spreads
            matrix -= center
            matrix /= spread
        for name in self.labels:
            if name in arrays:
                present &= label_values(arrays[name], name, self.where)[1]

    def _read_numbers(self, values: Any, column: ColumnPlan) -> FloatArray:
        """Return a planned column in its own units, with NaN for missing values."""
        values = without_dictionary(values)
        if not (is_text(values.type) or is_number(values.type) or is_time(values.type)):
            raise TableError(f"column {column.name!r} contains {column.kind}s in the plan, but {values.type} here.")
        numbers, odd = read_column(values, column.reading, column.missing)
        if odd is not None:
            raise CellError(
                column.name,
                odd,
                f"column {column.name!r} contains {odd[:40]!r}, which is not a {column.kind}. Correct it, or pass "
                f"`missing={{{column.name!r}: [{odd[:40]!r}]}}`.",
            )
        return numbers

    def _read_codes(self, values: Any, column: ColumnPlan, counts: Gaps) -> tuple[IntArray, BoolArray]:
        """Return category codes by the plan, -1 for unknown ones, and a mask of missing values that are not filled."""
        texts = as_texts(values)
        if column.missing:
            words = pa.array(sorted(lower_words(column.missing)), pa.string())
            texts = pc.if_else(pc.is_in(pc.utf8_lower(texts), value_set=words), None, texts)
        places = pc.index_in(texts, value_set=pa.array(column.categories, pa.string()))
        codes = np.asarray(pc.fill_null(places, -1).to_numpy(zero_copy_only=False), dtype=np.int64)
        gaps = np.asarray(pc.is_null(texts).to_numpy(zero_copy_only=False))
        counts.add_missing(column.name, gaps)
        if np.any((codes < 0) & ~gaps):
            new = texts.filter(pc.and_(pc.is_valid(texts), pc.is_null(places))).value_counts().to_pylist()
            counts.add_new(column.name, {each["values"]: each["counts"] for each in new})
        if self.impute == "median" or MISSING in column.categories:
            codes[gaps] = column.categories.index(MISSING) if MISSING in column.categories else -1
            gaps = np.zeros_like(gaps)
        return codes, gaps

    def matrix(self, rows: Any) -> FloatArray:
        """Return the matrix (n, d) of some rows.

        Parameters
        ----------
        rows
            As in :meth:`prepare`, or a source for ``allegiance.io.open_table``.

        Raises
        ------
        TableError
            If a row has a missing value that the plan does not fill, or no label. :meth:`prepare` leaves them out.
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
        """Return rows of a matrix (m, d), such as centers, in the table's own units: numbers, days, and shares."""
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
        """Return notes on missing values and on categories that are not in the plan, from :meth:`prepare`."""
        notes = []
        for name, new in gaps.new.items():
            listed = "more than 1,000" if len(new) > _MAX_CATEGORIES else join_counts(new)
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
            if values["impute"] not in (None, *IMPUTATIONS):
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
    """Return a column plan from plain values, after checking them."""
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
    """Return a message about missing values that the plan does not fill."""
    return (
        f"values are missing in {join_counts(gaps)}. Pass `impute='median'` to fill them, or `impute='drop'` to "
        "leave their rows out."
    )
