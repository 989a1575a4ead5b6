"""From the rows of a table to the matrix that is clustered, by a plan of plain values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allegiance._core.validation import AnyArray, BoolArray, FloatArray, IntArray, require
from allegiance.io import TableError

from .formats import as_arrow
from .profile import ColumnProfile
from .tables import BATCH_ROWS, Table, open_table
from .values import MICROSECONDS, as_texts, is_number, is_text, is_time, label_values, read_column

if TYPE_CHECKING:
    import pyarrow as pa

arrow: Any = require("pyarrow", "io", "reading tables")
compute: Any = require("pyarrow.compute", "io", "reading tables")

IMPUTATIONS = ("median", "drop")
#: What stands for a missing value among categories.
MISSING = "(missing)"
_KINDS = ("number", "date", "category")
_ROLES = ("id", "label", "feature", "kept", "left out")
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


def counted(counts: Mapping[str, int]) -> str:
    """Return names with their counts, the largest first."""
    worst = sorted(counts.items(), key=lambda item: -item[1])
    more = f" and {len(worst) - 10} more columns" if len(worst) > 10 else ""
    return ", ".join(f"{name} ({count:,})" for name, count in worst[:10]) + more


class FeaturePlan:
    """What becomes of each column of a table, and how rows become the matrix that is clustered.

    Built by ``allegiance.io.features.propose``.

    Parameters
    ----------
    columns
        The plan of each column.
    scaled
        Whether columns are scaled by ``center`` and ``spread``.
    impute
        What happens to missing values; see ``allegiance.io.features.propose``.
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
        """Raise a ``TableError`` that names all problems, if there are any."""
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
        known = set(batch.schema.names)
        lacking = [name for name in self.used if name not in known]
        if lacking:
            listed = ", ".join(map(repr, lacking[:10]))
            raise TableError(f"the rows have no column {listed}, which the model needs.")
        used = batch.select([*self.used, *(name for name in self.labels if name in known)])
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
        # A batch looks its columns up one by one: a dictionary is faster where there are thousands.
        arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
        for column in self.features:
            values = arrays[column.name]
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
            if name in arrays:
                present &= label_values(arrays[name], name, self.where)[1]

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
            words = arrow.array([str(word).strip().lower() for word in column.missing], arrow.string())
            texts = compute.if_else(compute.is_in(compute.utf8_lower(texts), value_set=words), None, texts)
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
            As in :meth:`prepare`, or what ``allegiance.io.tables.open_table`` takes.

        Raises
        ------
        TableError
            If a row would have to be left out, for a missing value or label.
        """
        if isinstance(rows, (str, Table)) or hasattr(rows, "__fspath__"):
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
        there = set(table.columns)
        lacking = [name for name in self.used if name not in there]
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
                problems.append(
                    f"column {column.name!r} has {gaps:,} missing values, which the model does not fill. Fill them, or "
                    "make the model with impute='median' or impute='drop' (--impute)."
                )
            elif gaps:
                filled[column.name] = gaps
        if problems:
            raise TableError(f"{table.where}: " + " ".join(problems))
        if filled:
            what = "are filled as in the model" if self.impute == "median" else "leave their row out"
            notes.append(f"{sum(filled.values()):,} missing values {what}: {counted(filled)}.")
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

    def transform(self, X: Any) -> FloatArray:
        """Return the matrix (n, d) of a frame: the plan can stand where a fitted transformer does.

        Parameters
        ----------
        X
            With the columns ``used``.
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

    def pipeline(self) -> Any:
        """Return a transformer of scikit-learn that takes frames, for pipelines."""
        from sklearn.preprocessing import FunctionTransformer

        return FunctionTransformer(
            self.matrix, feature_names_out=lambda transformer, names: self.get_feature_names_out()
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
    return [f"column {column.name!r} has categories the model has not seen; they are encoded as zeros: {counted(new)}."]


def _because(found: ColumnProfile) -> str:
    example = next(iter(found.values)) if found.values else ""
    return f", but {found.remark}" if found.remark else f", but has {example[:40]!r}" if example else ""


def _moments(days: FloatArray) -> AnyArray:
    """Return days since 1970-01-01 as times."""
    gaps = np.isnan(days)
    moments = np.where(gaps, 0, np.rint(days * MICROSECONDS)).astype(np.int64).astype("datetime64[us]")
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
