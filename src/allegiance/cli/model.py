"""``allegiance model``: show the contents of a saved model, or compile the code it needs."""

from __future__ import annotations

import time
from typing import Any

import click

from . import _options as opt
from ._inputs import check_file
from ._messages import show
from ._outputs import print_json
from ._program import begin

#: Categories listed per column.
_LISTED = 10

EPILOG = """\b
Examples:
  allegiance model january.model
  allegiance model january.model --compile
"""


@click.command(cls=opt.Command, epilog=EPILOG, short_help="Show the contents of a saved model, or compile it.")
@click.argument("path", metavar="MODEL")
@opt.options(
    [
        opt.option(
            opt.RUNNING, "--compile", is_flag=True,
            help="Compile and cache the code that scoring needs, e.g. while a container is built.",
        ),
    ],
    opt.LOG_OPTIONS,
)  # fmt: skip
def model(**values: Any) -> None:
    """Show the columns and clusters of MODEL, a file or URL, and its provenance."""
    path = values["path"]
    run = begin(values, where=[path])
    check_file(path, is_model=True)
    from allegiance import load
    from allegiance.io import Model

    loaded = load(path)
    is_model = isinstance(loaded, Model)
    scorer = loaded.scorer if is_model else loaded
    if values["compile"]:
        started = time.perf_counter()
        scorer.prepare()
        seconds = time.perf_counter() - started
        run.log.write("compiled", f"Compiled the code for {path} in {seconds:.1f} s.")
        run.log.end()
        return
    facts = contents(scorer, loaded.plan if is_model else None, loaded.about if is_model else {})
    if run.json:
        print_json({"model": path, **facts})
    else:
        _print_model(path, scorer, facts)


def _print_model(path: str, scorer: Any, facts: dict[str, Any]) -> None:
    """Print the contents of a model for a person."""
    from allegiance.notebook import fitted_facts, text_table

    show(f"{path}: {len(facts['clusters'])} clusters in {facts['features']} features", bold=True)
    made, lines = facts["made"], {"id": facts["id"]} | fitted_facts(scorer.fitted_)
    if made is not None:
        files = made.get("files")
        sources = ", ".join(map(str, files)) if isinstance(files, list) else "unknown files"
        lines["made"] = f"{made.get('created')} from {sources} ({_figure_text(made.get('rows'))} rows)"
        lines["by"] = f"allegiance {made.get('version')}: {made.get('command')}"
        lines["replication"] = _figure_text(made["replication"]) or "unknown"
    missing = {"median": "filled with the median, or a category", "drop": "their rows are dropped"}
    scaling = "standardized" if facts["scaled"] else "not scaled"
    lines["columns"] = f"{scaling}; missing values: {missing.get(facts['impute'], 'an error')}"
    lines["new rows"] = f"labeled by {facts['labels_new_points']}"
    lines["drift"] = "baseline for `watch`" if facts["baseline"] else "no baseline"
    show(*(f"{name:<12} {value}" for name, value in lines.items()))
    columns = [
        [each["name"], each["kind"], ", ".join(each["categories"]) + " ..." * (each["n_categories"] > _LISTED)]
        for each in facts["columns"]
    ]
    if columns:
        header = ("column", "kind", "categories")
        show("", *text_table(header, columns, left=header))
    names = ("points", "replication", "name")
    rows = [[each["cluster"], *(_figure_text(each.get(name)) for name in names)] for each in facts["clusters"]]
    show("", *text_table(("cluster", *names), rows, left=("cluster", "name")))


def contents(scorer: Any, plan: Any, about: dict[str, Any]) -> dict[str, Any]:
    """Return the contents of a model as plain values."""
    from allegiance.io.saved import model_id

    fitted = scorer.fitted_
    how, about = fitted.measurement, dict(about)
    lines = about.pop("clusters", [])
    lines = [line for line in lines if isinstance(line, dict)] if isinstance(lines, list) else []
    figures = {str(line.get("cluster")): line for line in lines}
    columns: list[tuple[str, str | None, list[str]]] = []
    if plan is not None:
        columns = [(column.name, column.kind, column.categories) for column in plan.features]
    elif fitted.columns.known_names is not None:
        columns = [(str(name), "number", []) for name in fitted.columns.known_names]
    return {
        "id": model_id(fitted, plan),
        "made": {**about, "replication": about.get("replication")} if about else None,
        "columns": [
            {"name": name, "kind": kind, "categories": categories[:_LISTED], "n_categories": len(categories)}
            for name, kind, categories in columns
        ],
        "ids": [] if plan is None else list(plan.ids),
        "impute": None if plan is None else plan.impute,
        "scaled": plan is not None and plan.scaled,
        "features": int(fitted.columns.n_prepared),
        "clusters": [{**figures.get(str(name), {}), "cluster": str(name)} for name in fitted.classes.tolist()],
        "labels_new_points": "nearest representative" if fitted.clusterer is None else type(fitted.clusterer).__name__,
        "influence": how.influence,
        "domain": how.domain,
        "engine": how.engine,
        "eps": how.eps,
        "seed": how.seed,
        "trust": fitted.trust_map is not None,
        "baseline": fitted.baseline is not None,
    }


def _figure_text(value: Any) -> str:
    """Return a figure of a model as text."""
    if value is None:
        return ""
    return f"{value:.0%}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
