"""Which columns of a table are features, how, and why not: a proposal from one pass over its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from allegiance.io import TableError

from .plan import IMPUTATIONS, MISSING, ColumnPlan, FeaturePlan, counted, not_filled
from .profile import ColumnProfile, Profile, named_like_id
from .tables import open_table
from .values import as_times

__all__ = ["FeaturePlan", "propose"]

#: Rows from which on a column that counts is taken for an identifier whatever its name is.
_ENOUGH = 10
#: What the last row begins with if it is the sum of the others.
_TOTALS = {"total", "totals", "grand total", "sum", "summe", "gesamt", "gesamtsumme", "insgesamt", "totale", "somme"}
#: Texts with more distinct values are left out.
_MOST_CATEGORIES = 50


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
) -> FeaturePlan:
    r"""Propose which columns of a table are features, and how, from one pass over its rows.

    Parameters
    ----------
    table
        What ``allegiance.io.tables.open_table`` returned, or takes.
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
    source = open_table(table)
    if impute == "default":
        impute = None if raw else "median"
    if impute is not None and impute not in IMPUTATIONS:
        raise TableError(f"impute must be 'median', 'drop' or None, got {impute!r}.")
    ids, labelled, kept = (_listed(names) for names in (id, labels, keep))
    chosen, dropped, encoded = (_matched(names, source.columns) for names in (features, drop, one_hot))
    source.check_columns([*ids, *labelled, *kept, *chosen, *dropped, *encoded])
    asked = {*chosen, *encoded}
    both = [
        f"column {name!r} is a feature and in {option}= (--{option}) too: leave it out of one."
        for option, names in (("labels", labelled), ("id", ids), ("drop", dropped))
        for name in names
        if name in asked
    ]
    if both:
        raise TableError("\n".join(both))
    profile = source.profile()
    if profile.n_rows == 0:
        raise TableError(f"{source.where} has a header, but no rows.")
    others = set() if features is None else set(source.columns) - asked
    roles = {
        **dict.fromkeys(others, ("left out", "not among the features")),
        **dict.fromkeys(dropped, ("left out", "as asked")),
        **dict.fromkeys(kept, ("kept", "as asked")),
        **dict.fromkeys(ids, ("id", "as asked")),
        **dict.fromkeys(labelled, ("label", "")),
    }
    columns, problems = [], []
    for name, found in profile.columns.items():
        category = found.kind == "text" or name in encoded
        unfit = _unfit(found, category, name in asked, raw, name in source.annotations)
        if name in roles or unfit:
            columns.append(ColumnPlan(name, *roles.get(name, ("left out", unfit)), n_missing=found.n_missing))
        else:
            columns.append(_feature(found, category, impute))
        if unfit and name in asked and name not in roles:
            problems.append(
                f"column {name!r} {unfit}. Leave it out of features=, or pass drop=[{name!r}] (--drop {name})."
            )
    if id is None:
        _choose_id(columns, profile, asked)
    scaled = (not raw) if scale is None else bool(scale)
    used = [column for column in columns if column.role == "feature"]
    single = not scaled and all(c.kind == "number" and profile.columns[c.name].type == "float" for c in used)
    plan = FeaturePlan(columns, scaled=scaled, impute=impute, single=single, n_rows=profile.n_rows, where=source.where)
    plan.problems = problems + _problems(plan, profile)
    plan.notes = _notes(plan, profile)
    return plan


def _unfit(found: ColumnProfile, category: bool, asked: bool, raw: bool, annotation: bool) -> str:
    """Return why a column cannot be a feature, or should not be one without being asked for; empty if it can."""
    values, present = found.values or {}, found.n_rows - found.n_missing
    many = len(values) > _MOST_CATEGORIES or (len(values) > 10 and len(values) > present / 2) or found.unique
    constant = found.min == found.max and not found.infinite
    id_like = found.kind == "number" and found.integer and named_like_id(found.name) and not found.unique
    for applies, reason in (
        (found.kind == "empty", "has no values"),
        (found.kind == "other", f"is of type {found.type}"),
        (category and found.values is None, _too_many(found)),
        (asked, ""),
        (annotation, "describes observations (obs)"),
        (category and len(values) == 1 and not found.n_missing, f"is always {next(iter(values), '')[:40]!r}"),
        (category and raw, "is not a number"),
        (category and many, _too_many(found)),
        (category, ""),
        (constant, f"is always {_one_value(found)}{' or missing' if found.n_missing else ''}"),
        (id_like and (found.values is None or len(values) > _MOST_CATEGORIES), "is named like an identifier"),
    ):
        if applies:
            return reason
    return ""


def _too_many(found: ColumnProfile) -> str:
    odd = f" ({found.remark})" if found.remark else ""
    if found.unique:
        return "has a different text in every row" + odd
    if found.distinct_share > 0.5:
        return f"is free text; {found.distinct_share:.0%} of its values are different" + odd
    count = "more than 1,000" if found.values is None else f"{len(found.values):,}"
    return f"has {count} distinct texts, too many to encode" + odd


def _one_value(found: ColumnProfile) -> str:
    """Return the only value of a column as a person would write it: days as a date."""
    if found.kind != "date":
        return f"{found.min:g}"
    moment = as_times(np.array(found.min))
    return str(moment.astype("datetime64[D]" if found.min.is_integer() else "datetime64[s]"))


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


def _feature(found: ColumnProfile, category: bool, impute: str | None) -> ColumnPlan:
    """Return the plan of a feature, with all that its application needs."""
    plan = ColumnPlan(found.name, "feature", kind=found.kind, missing=found.missing, n_missing=found.n_missing)
    if not category:
        plan.reason = "numbers" if found.kind == "number" else "dates, in days"
        plan.reading, plan.center, plan.fill = found.reading, found.mean, found.median
        plan.spread = found.std if found.std > 0 and np.isfinite(found.std) else 1.0
        return plan
    plan.kind = "category"
    counts = Counter(found.values or {})
    plan.categories = sorted(counts, key=_natural)
    if found.n_missing and impute == "median":
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


def _choose_id(columns: list[ColumnPlan], profile: Profile, asked: set[str]) -> None:
    """Give the best identifier among the columns its role; others like it are left out."""
    ranked: list[tuple[int, int, ColumnPlan]] = []
    for place, column in enumerate(columns):
        found = profile.columns[column.name]
        free = column.role in ("feature", "left out") and column.reason != "as asked" and column.name not in asked
        if not free or column.kind == "category" or found.n_missing or profile.n_rows < 3:
            continue
        named = named_like_id(column.name)
        text = found.kind == "text" and found.unique
        # In a handful of rows, numbers that count may be a coincidence.
        counting = found.counting and (named or profile.n_rows >= _ENOUGH)
        if text or (found.kind == "number" and found.integer and (counting or (found.unique and named))):
            ranked.append((0 if named else 1 if text else 2, place, column))
    if not ranked:
        return
    ranked.sort(key=lambda entry: entry[:2])
    chosen = ranked[0][2]
    counts = profile.columns[chosen.name].counting
    chosen.role, chosen.reason, chosen.kind = "id", "it only counts" if counts else "it is unique", None
    for _, _, column in ranked[1:]:
        if column.role == "feature" or column.reason.startswith("has a different text"):
            column.role, column.reason, column.kind = "left out", f"identifies rows, as {chosen.name!r} does", None


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
        problems.append(f"{plan.where}: {not_filled(missing)}")
    twice = [name for name, count in Counter(plan.names).items() if count > 1]
    if twice:
        problems.append(f"two features would be called {twice[0]!r}: rename a column, or pass drop= (--drop).")
    return problems


def _notes(plan: FeaturePlan, profile: Profile) -> list[str]:
    """Return what a user should know about the values."""
    notes = []
    if profile.last.lower().rstrip(":") in _TOTALS:
        notes.append(
            f"the last row, {profile.last!r}, looks like the sum of the others: remove it, or it is scored too."
        )
    filled = {c.name: c.n_missing for c in plan.features if c.n_missing and c.kind != "category"}
    blank = {c.name: c.n_missing for c in plan.features if c.n_missing and c.kind == "category"}
    if plan.impute == "median" and filled:
        notes.append(
            f"{sum(filled.values()):,} missing values are filled with the median of their column: {counted(filled)}."
        )
        errors = [profile.columns[name].median_error for name in filled]
        if max(errors) > 0:
            notes.append(
                f"medians are those of a random sample of rows; their rank is off by {max(errors):.2%} at most (95 %)."
            )
    if plan.impute == "median" and blank:
        notes.append(f"{sum(blank.values()):,} blanks are a category of their own, {MISSING}: {counted(blank)}.")
    if plan.impute == "drop" and (filled or blank):
        notes.append(f"rows with a missing value are left out: {counted({**filled, **blank})}.")
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
