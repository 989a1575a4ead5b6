"""Inputs: check and open the files of the options, plan and load their columns, and load a model."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import is_zipfile

from ._messages import Log, with_options
from ._options import Features, Reading, Trust
from ._program import Run

if TYPE_CHECKING:
    import pyarrow as pa

    from allegiance import AffinityScorer
    from allegiance._core.validation import AnyArray, FloatArray
    from allegiance.io import FeaturePlan, Table
    from allegiance.io.plan import Gaps


@dataclass(frozen=True)
class Points:
    """The rows of a table in memory."""

    X: FloatArray  # (n, d) the prepared features
    labels: AnyArray | None  # (n,) the labels of a column, if one was named
    columns: pa.Table  # the row number, then all columns of the table as written
    table: Table
    gaps: Gaps  # missing values and new categories

    @cached_property
    def typed(self) -> Any:
        """The columns of the input table with their detected types."""
        import pyarrow as pa

        names = self.columns.column_names[1:]
        batches = self.columns.select(names).to_batches()
        return pa.Table.from_batches([self.table.typed(batch, keep_words=False) for batch in batches])


def check_file(path: str, *, is_model: bool = False) -> None:
    """Raise if a local input file does not exist, or is not a model, before anything heavy is imported."""
    if "://" in path:
        return
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} does not exist.")
    if is_model and not is_zipfile(path):
        raise ValueError(f"{path} is not a model. `allegiance score DATA --clusters K --save FILE.model` writes one.")


def find_readable(run: Run) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the input files that can be opened, and damaged files with the reason.

    A fit, and any text, is read completely before it is scored, so these files are read here. Other damage is found
    while the files are scored.
    """
    from allegiance.io.files import locate_files

    files = [file for name in run.data for file in locate_files(name)]
    damaged: dict[str, str] = {}
    for file in files:
        try:
            table = open_input(run.reading, (file,))
            if run.trust.model is None or table.has_text:
                table.profile()
        except (ValueError, OSError) as error:
            damaged[file] = with_options(str(error))
    readable = tuple(file for file in files if file not in damaged)
    if not readable:
        raise ValueError(f"none of the input files can be read. {next(iter(damaged.values()))}")
    return readable, damaged


def open_input(reading: Reading, data: tuple[str, ...]) -> Table:
    """Open the table of DATA by the reading options."""
    from allegiance.io import TableError, open_table

    if "-" in data and sys.stdin is None:
        raise TableError("standard input is closed: name an input file.")
    settings = {name: value for name, value in vars(reading).items() if name not in ("missing", "on_error")}
    table = open_table(data[0] if len(data) == 1 else data, **settings, missing=list(reading.missing))
    if any("=" in value for value in reading.missing):
        words: dict[str, list[str]] = {name: [] for name in table.columns}
        for value in reading.missing:
            column, equals, word = value.partition("=")
            has_column = bool(equals) and column in words
            for name in [column] if has_column else words:
                words[name].append(word if has_column else value)
        table.set_missing({name: values for name, values in words.items() if values})
    return table


def plan_features(features: Features, table: Table, *, labels: Any = None) -> FeaturePlan:
    """Return the plan of the column options for a table, with its problems."""
    from allegiance.io import propose

    settings: dict[str, Any] = {} if features.impute is None else {"impute": features.impute}
    return propose(
        table,
        id=list(features.ids) or None,
        labels=labels,
        features=_names(features.features, table) or None,
        drop=[*_names(features.drop, table), *([features.groups] if features.groups else [])],
        one_hot=_names(features.one_hot, table),
        keep=[features.text] if features.text else [],
        # Principal components are not scaled, as in scanpy and allegiance.anndata.
        raw=features.raw or table.format == "h5ad",
        **settings,
    )


def plan_or_raise(run: Run, table: Table, *, labels: Any = None, has_headline: bool = False) -> FeaturePlan:
    """Return the plan for a table, after writing notes on how it is read; raise with all problems."""
    plan = plan_features(run.features, table, labels=labels)
    plan.raise_problems()
    note_findings(run, plan, has_headline=has_headline)
    return plan


def note_findings(run: Run, plan: FeaturePlan, *, has_headline: bool) -> None:
    """Write notes on how a table is read, except warnings and that about dates if the summary begins with them."""
    for finding in plan.findings:
        is_stated = has_headline and (finding.level == "warning" or finding.kind == "time")
        run.log.note(str(finding), write=not is_stated)


def _names(values: tuple[str, ...], table: Table) -> list[str]:
    """Return the names and patterns of an option, which may be separated by commas."""
    names: list[str] = []
    for value in values:
        names += [value] if value in table.columns else [part.strip() for part in value.split(",") if part.strip()]
    return list(dict.fromkeys(names))


def load_model(trust: Trust, log: Log) -> tuple[AffinityScorer, FeaturePlan | None]:
    """Return the scorer of ``--model`` with the requested precision, and its plan if it is a model for tables."""
    from dataclasses import replace

    from allegiance import load
    from allegiance.fitting import Specification
    from allegiance.io import Model

    assert trust.model is not None
    loaded = load(trust.model)
    scorer, plan = (loaded.scorer, loaded.plan) if isinstance(loaded, Model) else (loaded, None)
    changed = {"n_jobs": trust.n_jobs, "verbose": log.progress} | ({} if trust.eps is None else {"eps": trust.eps})
    scorer.set_params(**changed)
    fitted = replace(scorer.fitted_, specification=Specification.of(scorer))
    scorer._set_fitted(replace(fitted, trust_map=None) if trust.resamples == 0 else fitted)
    return scorer, plan


def model_plan(scorer: AffinityScorer, plan: FeaturePlan | None, table: Table) -> FeaturePlan:
    """Return the plan of the command's model for its input, after checking that it fits."""
    from allegiance.io import FeaturePlan, TableError

    columns = scorer.fitted_.columns
    if plan is None and columns.preparation is not None:
        raise TableError(
            "the model was saved in Python with its own transformers, which do not describe how to read a table. Score "
            "frames with allegiance.load(path).affinity(frame)."
        )
    if plan is None:
        names = table.columns if columns.known_names is None else [str(name) for name in columns.known_names]
        if len(names) != columns.n_features:
            raise TableError(
                f"{table.where} has {len(names)} columns, but the model has {columns.n_features} features without "
                "names: leave out the other columns."
            )
        plan = FeaturePlan.of_numbers(names)
        scorer._set_fitted(scorer.fitted_.without_preprocessing())
    plan.check(table)
    return plan


def prepare(run: Run, table: Table) -> tuple[AffinityScorer | None, FeaturePlan]:
    """Return the scorer of ``--model``, if there is one, and the feature plan."""
    features, log = run.features, run.log
    if run.trust.model is not None:
        scorer, saved = load_model(run.trust, log)
        table.check_columns([name for name in (features.labels, features.text, *features.ids) if name])
        plan = model_plan(scorer, saved, table)
        note_findings(run, plan, has_headline=True)
    else:
        scorer, plan = None, plan_or_raise(run, table, labels=features.labels, has_headline=True)
        if run.trust.clusters is not None and run.trust.clusters > (n_rows := table.count_rows()):
            raise ValueError(f"--clusters {run.trust.clusters} is more than the {n_rows:,} rows of {table.where}.")
    log.step(f"planned {len(plan.names):,} features of {table.where}")
    return scorer, plan


def is_cells(data: Sequence[str]) -> bool:
    """Tell whether the input is one .h5ad file."""
    return len(data) == 1 and data[0].lower().endswith(".h5ad")


def load_points(
    table: Table, plan: FeaturePlan, labels: str | None = None, row: str | None = None, *, typed: bool = True
) -> Points:
    """Read the rows of DATA into memory; ``row`` names the column of row numbers."""
    import numpy as np
    import pyarrow as pa

    from allegiance.io.batches import Rows
    from allegiance.io.tables import BATCH_ROWS

    row = row or free_name("row", table.columns)
    rows = Rows(table, plan, None, labels=labels, keep=table.columns, row=row, typed=typed)
    batches = list(rows.batches(BATCH_ROWS))
    columns = pa.Table.from_batches([batch.passthrough for batch in batches])
    X = np.concatenate([batch.X for batch in batches]) if len(batches) > 1 else batches[0].X
    values = None if labels is None else np.concatenate([batch.labels for batch in batches])
    return Points(X, values, columns, table, rows.gaps)


def ids_of(features: Features, plan: FeaturePlan, table: Table) -> list[str]:
    """Return the columns that identify rows: those of ``--id``, or those of the plan that the table has."""
    return list(features.ids) or [name for name in plan.ids if name in table.columns]


def free_name(name: str, taken: Any) -> str:
    """Return a name that no input column of the command has: ``name``, or with underscores."""
    while name in taken:
        name = f"{name}_"
    return name
