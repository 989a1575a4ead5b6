"""Which columns of a table are features, and what must be known of them before the first row is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from allegiance._core import require
from allegiance.io import TableError

from ._features import IMPUTATIONS, Features, Noticed
from ._looked import LookedAt
from ._readings import CATEGORICAL, Reading, Readings, check_cycles, choose_readings
from ._source import Source
from ._transformers import fitted_preparation, with_scale

#: Names of columns that frame libraries add by themselves.
_INDEX_NAMES = ("", "__index_level_0__")


def plan_features(
    source: Source,
    *,
    features: Sequence[str] = (),
    drop: Sequence[str] = (),
    apart: Sequence[str] = (),
    one_hot: Sequence[str] = (),
    categorical: str | None = None,
    impute: str | None = None,
    missing: Mapping[str, Sequence[Any]] | Sequence[Any] = (),
    decimal: str | None = None,
    cycles: Sequence[str] = (),
    standardize: bool = False,
) -> Features:
    r"""Decide which columns of a table are features, reading it once, or twice to standardize.

    Parameters
    ----------
    source
        The table.
    features
        The columns to use; by default all but those of ``drop`` and ``apart``, and columns without a name.
    drop
        Columns to leave out.
    apart
        Columns that are something else than features, such as identifiers and labels.
    one_hot
        Columns whose distinct values become one column of zeros and ones each.
    categorical
        What happens to other columns that are not numbers: None, an error; "one-hot", those of text are encoded as
        well; "drop", all are left out. Dates are numbers of days, and texts such as "$1,452.74" and "26%" are numbers.
    impute
        What happens to missing values: None, an error; "median", the median of the column, or for categories the most
        frequent one, stands in; "drop", the row is left out.
    missing
        Values that mean a missing one, such as -999: for all columns, or by column.
    decimal
        The decimal mark of numbers that are written as text, "." or ","; by default the one that fits.
    cycles
        Of "year", "week" and "day", those in which the positions of dates become features too.
    standardize
        Give every feature mean 0 and variance 1.

    Returns
    -------
    Features
        To be applied to each batch. Its ``preparation`` is a pipeline of scikit-learn, for frames of other libraries.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from allegiance.io._old_tables import open_source, plan_features
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "points.csv"
    ...     _ = path.write_text("id,x,colour\n7,1.5,red\n8,,blue\n")
    ...     source = open_source(path)
    ...     plan = plan_features(source, apart=["id"], one_hot=["colour"], impute="median")
    ...     print(plan.names)
    ...     print(plan.prepare(source.read()).matrix)
    ('x', 'colour=blue', 'colour=red')
    [[1.5 0.  1. ]
     [1.5 1.  0. ]]
    """
    if impute is not None and impute not in IMPUTATIONS:
        raise TableError(f"impute must be median or drop, got {impute!r}.")
    if categorical is not None and categorical not in CATEGORICAL:
        raise TableError(f"categorical must be one-hot or drop, got {categorical!r}.")
    if decimal not in (None, ".", ","):
        raise TableError(f"decimal must be . or a comma, got {decimal!r}.")
    check_cycles(cycles)
    columns, left_out = _chosen(source, features, drop, [*apart], one_hot)
    source.read_as_written(one_hot)
    readings = choose_readings(
        source,
        columns,
        one_hot=one_hot,
        categorical=categorical,
        missing=_by_column(missing, columns),
        decimal=decimal,
        cycles=cycles,
    )
    found = _look(source, LookedAt(source.where, readings, medians=impute == "median"))
    found.check(impute)
    single = not standardize and _is_single(source.schema, readings)
    planned = Features(
        readings=readings,
        preparation=fitted_preparation(
            readings,
            found.typical(),
            {name: sorted(counts) for name, counts in found.counts.items()},
            impute=impute == "median",
            single=single,
        ),
        impute=impute,
        single=single,
        noticed=replace(
            _noticed(found, impute),
            left_out=left_out,
            counting=found.counting(),
            dates=tuple(name for name, reading in readings.items() if reading.holds == "dates"),
            sentinels=found.sentinels(),
            dominant=None if standardize else found.dominant(),
            ambiguous=readings.ambiguous,
        ),
    )
    return _standardized(source, planned) if standardize else planned


def number_features(columns: Sequence[str]) -> Features:
    """Return features that are columns of numbers as they stand in a table, not yet looked at.

    Parameters
    ----------
    columns
        Their names.
    """
    readings = Readings({name: Reading("numbers") for name in columns})
    preparation = fitted_preparation(readings, dict.fromkeys(columns, 0.0), {}, impute=False, single=False)
    return Features(readings, preparation, None, single=False)


def check_features(source: Source, features: Features, *, aside: Sequence[str] = ()) -> Features:
    """Return features that were planned for another table, after one reading of this one, with what it found.

    Parameters
    ----------
    source
        A table with the same columns, in any order; others are ignored.
    features
        What :func:`plan_features` returned, or a saved model.
    aside
        Columns that are known to be something else than features.

    Raises
    ------
    TableError
        If columns are missing, all of them named, or values that nothing stands in for.
    """
    lacking = [name for name in features.columns if name not in source.names]
    if lacking:
        plural = "columns that the model needs are" if len(lacking) > 1 else "column that the model needs is"
        listed = ", ".join(repr(name) for name in lacking)
        raise TableError(f"{source.where}: {len(lacking)} {plural} missing: {listed}.")
    source.read_as_written([name for name, reading in features.readings.items() if reading.holds in _TEXTS])
    found = _look(source, LookedAt(source.where, features.readings, medians=False, known=features.categories))
    found.check(features.impute)
    noticed = replace(
        _noticed(found, features.impute),
        unknown=found.unknown(),
        ignored=tuple(name for name in source.names if name not in (*features.columns, *aside, *_INDEX_NAMES)),
    )
    return replace(features, noticed=noticed)


#: Columns that are read as they are written, so that the same text is the same value in every file.
_TEXTS = ("categories", "written")


def _by_column(missing: Mapping[str, Sequence[Any]] | Sequence[Any], columns: list[str]) -> dict[str, Sequence[Any]]:
    if isinstance(missing, Mapping):
        return dict(missing)
    return dict.fromkeys(columns, tuple(missing))


def _look(source: Source, found: LookedAt) -> LookedAt:
    """Go once through a table."""
    for batch in source.batches(columns=list(found.missing)):
        found.add(batch)
    return found


def _noticed(found: LookedAt, impute: str | None) -> Noticed:
    return Noticed(
        n_rows=found.rows,
        n_dropped=found.rows - found.complete if impute == "drop" else 0,
        n_filled=sum(found.missing.values()) if impute == "median" else 0,
    )


def _chosen(
    source: Source, features: Sequence[str], drop: Sequence[str], apart: list[str], one_hot: Sequence[str]
) -> tuple[list[str], tuple[str, ...]]:
    """Return the columns to use, and those left out without being asked."""
    source.check_columns([*features, *drop, *apart, *one_hot])
    excluded = {*drop, *apart}
    both = [name for name in dict.fromkeys([*features, *one_hot]) if name in excluded]
    if both:
        raise TableError(f"column {both[0]!r} cannot be a feature and be dropped, an identifier or labels as well.")
    if features:
        return list(dict.fromkeys([*features, *one_hot])), ()
    named = set(one_hot)
    left_out = tuple(name for name in source.names if name in _INDEX_NAMES and name not in excluded | named)
    columns = [name for name in source.names if name not in excluded and name not in left_out]
    if not columns:
        raise TableError(f"{source.where} has no column left to be a feature.")
    return columns, left_out


def _standardized(source: Source, features: Features) -> Features:
    """Return the features with a scaler behind them, fitted to all rows in one more pass."""
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler()
    for batch in source.batches(columns=features.columns):
        matrix = features.prepare(batch).matrix
        if matrix.shape[0]:
            scaler.partial_fit(matrix)
    return replace(features, preparation=with_scale(features.preparation, scaler))


def _is_single(schema: Any, readings: Readings) -> bool:
    """Return whether all columns are in single precision, so that the matrix may be."""
    types = require("pyarrow", "io", "reading tables").types
    return all(
        reading.holds == "numbers" and types.is_float32(schema.field(name).type) for name, reading in readings.items()
    )
