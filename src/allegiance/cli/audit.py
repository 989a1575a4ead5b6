"""``allegiance audit``: write audit sheets, and estimate the share of right labels from filled-in sheets."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import click

from . import _options as opt
from ._inputs import free_name
from ._messages import show
from ._outputs import print_json, workbook_settings, write_rows
from ._program import Run, begin

if TYPE_CHECKING:
    from allegiance.io import Table
    from allegiance.results import AffinityResult

    from ._summary import Facts

_ANSWERS = dict.fromkeys(("yes", "y", "true", "right"), True) | dict.fromkeys(("no", "n", "false", "wrong"), False)
#: Sampling methods of an audit.
_METHODS = ("random", "least trusted")
_RIGHT, _KEY = "right", "audit_key"


def write_sheet(run: Run, result: AffinityResult, columns: Any, cluster: str, facts: Facts) -> None:
    """Write the audit sheet, if a file is named: rows to check in random order, with some columns of the table."""
    import numpy as np
    import pyarrow as pa

    path = run.output.audit_sheet
    if path is None:
        return
    sample = result.audit_sample(run.output.audit_size, random_state=run.trust.seed)
    order = np.random.default_rng(run.trust.seed).permutation(len(sample))
    pairs = [(int(sample.rows[i]), str(sample.origin[i])) for i in order]
    numbers = pa.array([row for row, _ in pairs])
    rows = columns.take(numbers).add_column(0, cluster, pa.array(result._columns()["label"]).take(numbers))
    right = free_name(_RIGHT, rows.column_names)
    sheet = rows.add_column(0, right, pa.array([None] * len(pairs), pa.string()))
    sheet = sheet.append_column(_KEY, pa.array([f"{row}-{_token(row, method)}" for row, method in pairs]))
    clusters = [
        [str(name), *(facts.descriptions[place] if facts.descriptions else ("", ""))]
        for place, name in enumerate(result.classes.tolist())
    ]
    task = f"Write yes, no or the right cluster in the column {right!r}. Leave it empty if you cannot tell."
    summary = [("How to fill in the sheet", [[task]]), ("Clusters", [["cluster", "name", "description"], *clusters])]
    choices = {right: list(dict.fromkeys(["yes", "no", *map(str, result.classes.tolist())]))}
    write_rows(path, sheet, run, **workbook_settings({}, facts.plan) | {"choices": choices, "summary": summary})


def _token(row: int, method: str) -> str:
    """Return a token in the audit sheet for the sampling method of a row, which the reviewer cannot read."""
    return hashlib.sha256(f"{row} {method}".encode()).hexdigest()[:8]


@click.command(cls=opt.Command, short_help="Estimate how many labels are right from a filled-in audit sheet.")
@click.argument("scored")
@click.argument("sheet")
@opt.options(opt.LOG_OPTIONS)
def audit(**values: Any) -> int:
    """Estimate how many labels of SCORED are right, from the answers in SHEET.

    `allegiance score DATA -o SCORED --audit-sheet SHEET` writes both. Fill in the column `right` of SHEET with yes, no,
    or the right cluster. Empty cells are ignored. Rows may be sorted: they are matched by their identifiers.
    """
    run = begin(values, where=[values["scored"], values["sheet"]])
    import numpy as np

    from allegiance.calibration import AuditSample
    from allegiance.calibration import audit as estimate
    from allegiance.io import TableError, open_table

    scored, sheet = open_table(values["scored"]), open_table(values["sheet"])
    prefix = next((each for each in ("", "allegiance_", "allegiance2_") if {f"{each}cluster", f"{each}trust"} <=
                   {*scored.columns}), None)  # fmt: skip
    right = next((name for name in sheet.columns if name.startswith(_RIGHT)), None)
    if prefix is None or right is None or _KEY not in sheet.columns:
        wrong = (
            f"{sheet.where} is not an audit sheet" if prefix is not None else f"{scored.where} is not a scored table"
        )
        raise TableError(f"{wrong}. `allegiance score DATA ... -o SCORED --audit-sheet SHEET` writes both.")
    label = _texts(scored, f"{prefix}cluster")
    order = f"{prefix}priority"
    if order in scored.columns:
        ranking = 1.0 - np.asarray(scored.read([order]).column(0), dtype=float) / 100.0
    else:
        ranking = np.asarray(scored.read([f"{prefix}trust"]).column(0), dtype=float)
    rows, methods = _match_rows(scored, sheet, f"{prefix}cluster")
    classes, codes = np.unique(np.array(label), return_inverse=True)
    codes = np.where(np.isnan(ranking), -1, codes)
    own = [label[row] for row in rows]
    answers = _parse_answers(_texts(sheet, right), own, classes.tolist(), sheet.where)
    result = estimate(
        AuditSample(np.array(rows), np.array(methods)), answers, label=np.array(label), codes=codes, classes=classes,
        ranking=ranking,
    )  # fmt: skip
    if run.json:
        fields = ("share_right", "interval", "wrong_left", "interval_left", "n_random", "n_least", "n_unanswered")
        print_json({name: getattr(result, name) for name in fields} | {"sentence": result.sentence()})
    else:
        show(result.sentence(), bold=True)
    run.log.end()
    return 0


def _texts(table: Table, column: str) -> list[str]:
    """Return a column of an audit sheet or scored table as texts; 2.0 becomes 2."""
    from allegiance.io.values import text_of

    values = table.read([column]).column(0).to_pylist()
    return ["" if value is None else text_of(value).strip() for value in values]


def _match_rows(scored: Table, sheet: Table, cluster: str) -> tuple[list[int], list[str]]:
    """Return the scored row, by number or identifier, and the sampling method of each row of an audit sheet."""
    from allegiance.io import TableError

    keys = [key.partition("-") for key in _texts(sheet, _KEY)]
    tokens = [{_token(int(row), name): name for name in _METHODS} if row.isdigit() else {} for row, _, _ in keys]
    methods = [names.get(token, "") for names, (_, _, token) in zip(tokens, keys, strict=True)]
    if not keys or "" in methods:
        reason = "has no rows" if not keys else f"has an {_KEY} that was changed"
        raise TableError(f"{sheet.where} {reason}. Write the sheet again with --audit-sheet.")
    rows = [int(row) for row, _, _ in keys]
    shared = [name for name in sheet.columns if name in scored.columns and name not in (_RIGHT, _KEY)]
    if cluster not in shared:
        raise TableError(
            f"{sheet.where} has no column {cluster!r}, so its rows cannot be compared with {scored.where}."
        )
    own, clusters = _texts(scored, cluster), _texts(sheet, cluster)
    matches = []
    for name in shared:
        texts = _texts(scored, name)
        places = {text: row for row, text in enumerate(texts)}
        # Numbers may have been rounded by a spreadsheet program, so not every column can identify rows.
        if len(places) == len(texts) and {*(wanted := _texts(sheet, name))} <= {*places}:
            matches.append([places[text] for text in wanted])
    for numbers in [*matches, rows]:
        if max(numbers) < len(own) and [own[row] for row in numbers] == clusters:
            return numbers, methods
    raise TableError(
        f"{sheet.where} and {scored.where} do not belong together: rows or clusters differ, and no column identifies "
        "the rows."
    )


def _parse_answers(texts: list[str], own: list[str], classes: list[str], sheet: str) -> Any:
    """Return the answers in an audit sheet: Booleans or the right clusters, None for empty cells."""
    import numpy as np

    from allegiance.io import TableError

    answers = {text for text in texts if text}
    if answers and answers <= {*classes}:
        if answers <= {"0", "1"}:
            raise TableError(f"the answers in {sheet} are 0 and 1, which may be clusters: write yes and no instead.")
        return np.array([text or None for text in texts], dtype=object)
    unknown = sorted(text for text in answers if text.lower() not in _ANSWERS and text not in classes)
    if unknown:
        raise TableError(f"column 'right' of {sheet} contains {unknown[0]!r}: write yes, no or the right cluster.")
    both = sorted(text for text in answers if text.lower() in _ANSWERS and text in classes)
    if both:
        raise TableError(
            f"{both[0]!r} in {sheet} is both a cluster and an answer: write the right cluster in every row."
        )
    values = [
        None if not text else _ANSWERS.get(text.lower(), text == mine) for text, mine in zip(texts, own, strict=True)
    ]
    return np.array(values, dtype=object)
