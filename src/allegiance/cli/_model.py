"""``allegiance model``: what is inside a saved model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ._console import console, print_json, print_line, print_table
from ._options import RunOptions, run_options

if TYPE_CHECKING:
    from allegiance.io._old_tables import Features
    from allegiance.io.models import Model

#: What columns hold, for a person.
_HOLDS = {"written": "numbers in text", "dates": "dates, as days", "categories": "categories"}

EPILOG = """\b
Examples:
  allegiance model jan.model
  allegiance model jan.model --json
"""


@click.command(epilog=EPILOG, short_help="Show what is inside a saved model.")
@click.argument("file", metavar="MODEL")
@run_options
def model(file: str, run: RunOptions) -> None:
    """Show the columns, preparation and clusters of MODEL, when it was made, from what, and by which versions.

    MODEL is a file of ``allegiance score --save`` or of ``AffinityScorer.save``.
    """
    from allegiance.io.models import Model

    shown = contents(Model.load(file))
    if run.json:
        print_json({"model": file, **shown})
        return
    out = console(err=False)
    for line in _sentences(file, shown):
        print_line(out, line)
    _print_tables(out, shown)


def contents(model: Model) -> dict[str, Any]:
    """Return what a model holds, as plain values.

    Parameters
    ----------
    model
        The model.
    """
    fitted = model.scorer.fitted_
    how = fitted.how(0.0)
    about = dict(model.about)
    figures = {str(line["cluster"]): line for line in about.pop("clusters", [])}
    clusters = [{"cluster": name, **figures.get(str(name), {})} for name in fitted.classes.tolist()]
    columns = about.pop("columns", None) or [{"column": str(name)} for name in _names(model)]
    prepared = {} if model.features is None else _prepared(model.features)
    return {
        **about,
        "columns": [{**column, **prepared.get(column["column"], {})} for column in columns],
        "impute": None if model.features is None else model.features.impute,
        "standardize": model.features is not None and "scale" in model.features.preparation.named_steps,
        "features": int(fitted.columns.n_prepared),
        "clusters": clusters,
        "labels_new_points": "nearest representative" if fitted.clusterer is None else type(fitted.clusterer).__name__,
        "influence": how.influence,
        "domain": how.domain,
        "engine": how.engine,
        "eps": how.eps,
        "seed": how.seed,
        "calibrated": fitted.trust_map is not None,
        "parts": sorted(set(fitted.parts) - {"about", "table"}),
    }


def _names(model: Model) -> list[Any]:
    columns = model.scorer.fitted_.columns
    names = columns.known_names
    return list(range(columns.n_features)) if names is None else list(names)


def _prepared(features: Features) -> dict[str, dict[str, Any]]:
    """Return by column what missing values get, what is one, and which categories there are."""
    import numpy as np

    found: dict[str, dict[str, Any]] = {}
    for _, part, members in features.preparation.named_steps["columns"].transformers_:
        if not hasattr(part, "named_steps"):
            continue
        imputer, encoder = part.named_steps.get("impute"), part.named_steps.get("encode")
        # Of a date, the day comes first and its cycles follow.
        step = 1 if imputer is None else len(imputer.statistics_) // len(members)
        for i, name in enumerate(members):
            entry: dict[str, Any] = {"means_missing": list(features.readings[name].missing)}
            if imputer is not None:
                fill = imputer.statistics_[i * step]
                dated = features.readings[name].holds == "dates"
                entry["fills"] = str(np.datetime64(0, "D") + np.timedelta64(int(fill), "D")) if dated else fill
            if encoder is not None:
                entry["categories"] = [str(value) for value in encoder.categories_[i]]
            found[name] = entry
    return found


def _sentences(file: str, shown: dict[str, Any]) -> list[str]:
    data = shown.get("data")
    lines = [f"{file}: {len(shown['clusters'])} clusters of {shown['features']} features."]
    if data is not None:
        files = ", ".join(data["files"])
        lines.append(f"Made on {shown['created']} from {files}: {data['rows']:,} rows, {data['dropped']:,} left out.")
        lines.append(f"By allegiance {shown['version']} ({_listed(shown['versions'])}): {shown['command']}")
    if shown.get("replication") is not None:
        lines.append(f"Expected right when it was made: {100 * shown['replication']:.0f} % of the labels.")
    missing = {"median": "get the median or the most frequent category", "drop": "leave the row out"}
    lines.append(f"Missing values {missing.get(shown['impute'], 'are an error')}.")
    if shown["standardize"]:
        lines.append("Features are scaled to mean 0 and variance 1.")
    lines.append(
        f"Influence {shown['influence']}, domain {shown['domain']}, engine {shown['engine']}, eps {shown['eps']:g}, "
        f"seed {shown['seed']}; trust is {'' if shown['calibrated'] else 'not '}calibrated. New points are labelled by "
        f"{shown['labels_new_points']}."
    )
    return lines


def _listed(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in versions.items())


def _print_tables(out: Any, shown: dict[str, Any]) -> None:
    rows = [
        [
            str(column["column"]),
            str(column.get("type", "-")),
            _HOLDS.get(column.get("holds"), "numbers"),
            _cell(column.get("fills")),
            ", ".join(column.get("categories", [])) or "-",
        ]
        for column in shown["columns"]
    ]
    header = ("column", "type", "holds", "for missing", "categories")
    print_table(out, "Columns", header, rows, left=header)
    clusters = [
        [str(line["cluster"]), _cell(line.get("points")), _percent(line.get("replication"))]
        for line in shown["clusters"]
    ]
    print_table(out, "Clusters", ("cluster", "points", "right"), clusters, left=("cluster",))


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}" if isinstance(value, float) else str(value)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"
