"""Feature plans: choose, encode and scale the columns of a table from one pass over its rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from allegiance._core.validation import FloatArray, IntArray, join_names, join_texts
from allegiance.drivers import Finding, duplicates_text, quote_option, same_content
from allegiance.notebook import count

from .files import TableError
from .plan import IMPUTATIONS, MISSING, ColumnPlan, FeaturePlan, missing_message
from .profile import ColumnProfile, Profile
from .tables import Table, open_table
from .values import as_texts, as_times, join_counts, read_column

__all__ = ["FeaturePlan", "propose"]

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
    >>> from allegiance.io.features import propose
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
    if impute is not None and impute not in IMPUTATIONS:
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
    """Return why a column cannot be a feature, or should not be one by default; empty if it can."""
    values, present = profile.values or {}, profile.n_rows - profile.n_missing
    many = len(values) > _MAX_CATEGORIES or (len(values) > 10 and len(values) > present / 2) or profile.unique
    constant = profile.min == profile.max and not profile.infinite
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
        (constant, f"is always {_one_value(profile)}{' or missing' if profile.n_missing else ''}"),
        (id_like and (profile.values is None or len(values) > _MAX_CATEGORIES), "is named like an identifier"),
    ):
        if applies:
            return reason
    return ""


def _too_many(profile: ColumnProfile) -> str:
    """Return the reason to leave out a column of too many distinct texts."""
    remark = f"; {profile.remark}" if profile.remark else ""
    if profile.unique:
        return f"has a different text in every row{remark}"
    if profile.distinct_share > 0.995:
        return f"has a different text in nearly every row{remark}"
    count = "more than 1,000" if profile.values is None else f"{len(profile.values):,}"
    number = f"{profile.distinct_share:.0%} of its values" if profile.distinct_share > 0.5 else count
    return f"has too many distinct texts ({number}{remark})"


def _one_value(profile: ColumnProfile) -> str:
    """Return the only value of a constant column that is left out as text, days as a date."""
    if profile.kind != "date":
        return f"{profile.min:g}"
    moment = as_times(np.array(profile.min))
    return str(moment.astype("datetime64[D]" if profile.min.is_integer() else "datetime64[s]"))


def _as_list(names: Any) -> list[str]:
    """Return the columns of an argument of :func:`propose` as a list."""
    if names is None:
        return []
    return [names] if isinstance(names, str) else [str(name) for name in names]


def _expand_patterns(patterns: Any, names: Sequence[str]) -> list[str]:
    """Expand patterns such as pixel* to feature names; one without a match stays, for the error message."""
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
    """Sort the categories of a feature: numbers by value before texts."""
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text


def _is_id_name(name: str, *, strictly: bool = False) -> bool:
    """Return whether a name is that of an identifier: id, customerID, order_key; unless ``strictly`` also CLIENTNUM."""
    strict = _is_counter_name(name) or _ID_NAME.search(name) is not None
    return strict or (not strictly and _ASSIGNED_NAME.search(name) is not None)


def _is_counter_name(name: str) -> bool:
    """Return whether a name is that of a row counter, such as "Unnamed: 0"."""
    return _COUNTER_NAME.search(name) is not None


def _is_identifier(profile: ColumnProfile, n_rows: int) -> bool:
    """Return whether whole numbers are no feature but identify rows: counted, or unique and named like an id."""
    if profile.kind != "number" or not profile.integer:
        return False
    if _is_counter_name(profile.name):
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
                _is_id_name(column.name, strictly=True) and (text or not _is_counter_name(column.name)),
                text and pc.max(lengths).as_py() <= _LONG_TEXT,
                not text and not _is_counter_name(column.name),
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
    """Return a finding about proposed features."""
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
    """Return the unit after every number of a column that is no feature, such as "min"; empty if there is none."""
    parts = [re.fullmatch(r"[\d.,]+(\s*[^\d\s.,]\S{0,9})", text) for text in profile.values or ()]
    units = {part[1].strip() if part else "" for part in parts}
    return units.pop() if profile.kind == "text" and len(units) == 1 else ""
