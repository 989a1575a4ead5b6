"""``allegiance model``: what is inside a saved model, and compiling what it needs."""

from __future__ import annotations

import time
from typing import Any

import click

from ._app import begin, print_json, show
from ._inputs import check_model_file
from ._options import LOG_OPTIONS, Command, options

#: Categories listed of a column.
_LISTED = 10

EPILOG = """\b
Examples:
  allegiance model january.model
  allegiance model compile january.model
"""


@click.command(cls=Command, epilog=EPILOG, short_help="Show what is inside a saved model, or compile it.")
@click.argument("words", metavar="[compile] MODEL", nargs=-1, required=True)
@options(LOG_OPTIONS)
def model(**values: Any) -> None:
    """Show the columns and clusters of MODEL, when it was made, and from what.

    `compile` compiles and caches the code that scoring with MODEL needs: as a step of a container's build it saves
    the first run that time.
    """
    *action, path = values["words"]
    if action not in ([], ["compile"]):
        raise click.UsageError("pass the file of one model, or compile and the file.")
    o, log = begin(values, where=path)
    check_model_file(path)
    from allegiance import load

    loaded = load(path)
    scorer = getattr(loaded, "scorer", loaded)
    if action:
        started = time.perf_counter()
        scorer.prepare()
        log.write("compiled", f"Compiled what {path} needs in {time.perf_counter() - started:.1f} s.")
        log.end()
        return
    shown = contents(scorer, getattr(loaded, "plan", None), getattr(loaded, "about", {}))
    if o.json:
        print_json({"model": path, **shown})
        return
    from allegiance.notebook import fitted_facts, text_table

    show(f"{path}: {len(shown['clusters'])} clusters in {shown['features']} features", bold=True)
    made, facts = shown["made"], dict[str, str]()
    if made is not None:
        facts["made"] = f"{made['created']} from {', '.join(made['files'])} ({made['rows']:,} rows)"
        facts["by"] = f"allegiance {made['version']}: {made['command']}"
        if made["replication"] is not None:
            facts["came back"] = f"{made['replication']:.0%} of the labels"
    missing = {"median": "filled with the median, or a category of their own", "drop": "leave their row out"}
    facts["columns"] = f"{'scaled' if shown['scaled'] else 'not scaled'}; missing values: "
    facts["columns"] += missing.get(shown["impute"], "an error")
    facts["new rows"] = f"labelled by {shown['labels_new_points']}"
    facts["drift"] = "baseline for `watch`" if shown["baseline"] else "no baseline"
    facts = fitted_facts(scorer.fitted_) | facts
    show(*(f"{name:<12} {value}" for name, value in facts.items()))
    columns = [
        [each["name"], each["kind"], ", ".join(each["categories"]) + " ..." * (each["n_categories"] > _LISTED)]
        for each in shown["columns"]
    ]
    if columns:
        header = ("column", "holds", "categories")
        show("", *text_table(header, columns, left=header))
    figures = ("points", "replication", "name")
    rows = [[str(each["cluster"]), *(_figure(each.get(name)) for name in figures)] for each in shown["clusters"]]
    show("", *text_table(("cluster", "rows", "trust", "name"), rows, left=("cluster", "name")))


def contents(scorer: Any, plan: Any, about: dict[str, Any]) -> dict[str, Any]:
    """Return the contents of a model as plain values."""
    fitted = scorer.fitted_
    how, about = fitted.how(0.0), dict(about)
    figures = {str(line["cluster"]): line for line in about.pop("clusters", [])}
    columns: list[tuple[str, str | None, list[str]]] = []
    if plan is not None:
        columns = [(column.name, column.kind, column.categories) for column in plan.features]
    elif fitted.columns.known_names is not None:
        columns = [(str(name), "number", []) for name in fitted.columns.known_names]
    return {
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


def _figure(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.0%}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
