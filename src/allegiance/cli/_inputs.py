"""From the options to a table, the plan of its features, its clustering and a scorer."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import is_zipfile

import click
from click.core import ParameterSource

from ._app import Log
from ._options import KERNELS, LIKE_KMEANS

if TYPE_CHECKING:
    import pyarrow as pa

    from allegiance import AffinityScorer
    from allegiance._core.validation import AnyArray, FloatArray
    from allegiance.io import FeaturePlan, Table
    from allegiance.results import AffinityResult

#: Parameters that a saved model fixes.
_FIXED = ("features", "drop", "one_hot", "impute", "raw", "centers", "clusters", "algorithm", "influence", "save")


class Points(NamedTuple):
    """The rows of a table in memory."""

    X: FloatArray
    """(n, d) the features, prepared."""
    labels: AnyArray | None
    """(n,) the labels of a column, if one was named."""
    columns: pa.Table
    """All columns of the table as they were, after ``row``, the number of each row."""


def check_clustering(o: SimpleNamespace) -> None:
    """Raise a usage error unless the options name one clustering."""
    if o.model is not None:
        _check_model(o)
        return
    makes = o.clusters is not None or (o.algorithm is not None and not o.labels)
    if o.clusters is not None and (o.labels or o.centers):
        raise click.UsageError("--clusters makes a clustering: leave out --labels and --centers, or --clusters.")
    if not (makes or o.labels or o.centers):
        raise click.UsageError(
            "no clustering to score: pass --clusters K to make one, --labels COLUMN, or --model FILE."
        )
    if makes and o.algorithm != "hdbscan" and o.clusters is None:
        raise click.UsageError(f"--algorithm {o.algorithm} needs --clusters K.")
    if o.centers:
        check_file(o.centers)
    if o.algorithm == "hdbscan" and o.clusters is not None:
        raise click.UsageError("hdbscan finds the number of clusters itself: leave out --clusters.")


def check_file(path: str) -> None:
    """Raise if a file does not exist, before anything heavy is imported."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} does not exist.")


def check_model_file(path: str) -> None:
    """Raise unless a file can be a model, before anything heavy is imported."""
    check_file(path)
    if not is_zipfile(path):
        raise ValueError(f"{path} is not a model: `allegiance score DATA --clusters K --save FILE.model` writes one.")


def _check_model(o: SimpleNamespace) -> None:
    """Raise if options contradict the model that is used, or if there is none."""
    check_model_file(o.model)
    context = click.get_current_context()
    given = [name for name in _FIXED if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if given:
        option = f"--{given[0].replace('_', '-')}"
        raise click.UsageError(f"{option} cannot be used with --model: {o.model} already fixes it.")
    if getattr(o, "resamples", None):
        raise click.UsageError(
            f"--resamples {o.resamples} cannot be used with --model: trust was fitted with it. --resamples 0 leaves "
            "trust out."
        )


def open_input(o: SimpleNamespace, data: Any = None) -> Table:
    """Open the table."""
    from allegiance.io import open_table

    source = list(o.data) if data is None else data
    source = source[0] if isinstance(source, list) and len(source) == 1 else source
    settings: dict[str, Any] = {
        "sep": o.sep,
        "decimal": o.decimal,
        "encoding": o.encoding,
        "skip_rows": o.skip_rows,
        "sheet": o.sheet,
        "dayfirst": None if o.dates is None else o.dates == "dayfirst",
    }
    table = open_table(source, **settings, missing=[] if any("=" in value for value in o.missing) else list(o.missing))
    if not any("=" in value for value in o.missing):
        return table
    # VALUE, or COLUMN=VALUE where there is such a column.
    found: dict[str, list[str]] = {name: [] for name in table.columns}
    for value in o.missing:
        column, equals, rest = value.partition("=")
        for name in [column] if equals and column in found else found:
            found[name].append(rest if equals and column in found else value)
    return open_table(source, **settings, missing={name: words for name, words in found.items() if words})


def plan_features(o: SimpleNamespace, table: Table, *, labels: Any = None, keep: Any = ()) -> FeaturePlan:
    """Return the plan for a table, or raise with all its problems."""
    from allegiance.io import propose

    settings: dict[str, Any] = {} if o.impute is None else {"impute": o.impute}
    return propose(
        table,
        id=list(o.ids) or None,
        labels=labels,
        features=_names(o.features, table) or None,
        drop=_names(o.drop, table),
        one_hot=_names(o.one_hot, table),
        keep=[name for name in keep if name],
        # Principal components are clustered as they are, as scanpy and allegiance.anndata do.
        raw=o.raw or table.format == "h5ad",
        **settings,
    )


def plan_or_raise(o: SimpleNamespace, table: Table, log: Log, *, labels: Any = None) -> FeaturePlan:
    """Return the plan for a table that is read into memory, after saying how it is read; raise with all problems."""
    plan = plan_features(o, table, labels=labels)
    plan.raise_problems()
    for note in [*table.notes, *plan.notes]:
        log.note(note)
    return plan


def _names(values: tuple[str, ...], table: Table) -> list[str]:
    """Return names and patterns, which may come with commas between them."""
    found: list[str] = []
    for value in values:
        found += [value] if value in table.columns else [part.strip() for part in value.split(",") if part.strip()]
    return list(dict.fromkeys(found))


def load_model(o: SimpleNamespace, log: Log) -> tuple[AffinityScorer, FeaturePlan | None]:
    """Return the scorer of ``--model`` with the requested precision, and its plan if it is a model for tables."""
    from dataclasses import replace

    from allegiance import load
    from allegiance.fitting import Specification

    loaded = load(o.model)
    scorer, plan = (loaded.scorer, loaded.plan) if hasattr(loaded, "plan") else (loaded, None)
    changed = {"n_jobs": o.n_jobs, "verbose": log.progress} | ({} if o.eps is None else {"eps": o.eps})
    scorer.set_params(**changed)
    fitted = replace(scorer.fitted_, specification=Specification.of(scorer))
    scorer._set_fitted(replace(fitted, trust_map=None) if o.resamples == 0 else fitted)
    return scorer, plan


def model_plan(
    scorer: AffinityScorer, plan: FeaturePlan | None, table: Table
) -> tuple[AffinityScorer, FeaturePlan, list[str]]:
    """Return the scorer and the plan of a model for a new table, after checking that it fits, and notes about it."""
    from allegiance.io import FeaturePlan, TableError

    columns = scorer.fitted_.columns
    if plan is None and columns.preparation is not None:
        raise TableError(
            "the model was saved in Python with transformers of its own, which do not say how a table is read: score "
            "frames with allegiance.load(path).affinity(frame)."
        )
    if plan is None:
        names = table.columns if columns.known_names is None else [str(name) for name in columns.known_names]
        if len(names) != columns.n_features:
            raise TableError(
                f"{table.where} has {len(names)} columns, but the model has {columns.n_features} features without "
                "names: leave out the others."
            )
        plan = FeaturePlan.of_numbers(names)
        scorer._set_fitted(scorer.fitted_.without_preprocessing())
    return scorer, plan, plan.check(table)


def prepare(o: SimpleNamespace, table: Table, log: Log) -> tuple[AffinityScorer | None, FeaturePlan]:
    """Return the scorer of ``--model``, if there is one, and the plan of the features."""
    if o.model is not None:
        scorer, saved_plan = load_model(o, log)
        table.check_columns([name for name in (o.labels, o.text, *o.ids) if name])
        scorer, plan, notes = model_plan(scorer, saved_plan, table)
    else:
        scorer, plan = None, plan_features(o, table, labels=o.labels, keep=[o.text])
        plan.raise_problems()
        notes = table.notes
    for note in notes:
        log.note(note)
    log.step(f"planned {len(plan.names):,} features of {table.profile().n_rows:,} rows in {table.where}")
    return scorer, plan


def clusterer(algorithm: str, clusters: int | None, seed: int) -> Any:
    """Return the clusterer of a name among ``ALGORITHMS``; hdbscan finds the number of clusters itself."""
    from sklearn import cluster, mixture

    if algorithm == "gmm":
        return mixture.GaussianMixture(clusters, random_state=seed)
    if algorithm == "hdbscan":
        return cluster.HDBSCAN(copy=True)
    if algorithm == "agglomerative":
        return cluster.AgglomerativeClustering(clusters)
    if algorithm == "birch":
        return cluster.Birch(n_clusters=clusters)
    if algorithm == "spectral":
        return cluster.SpectralClustering(clusters, affinity="nearest_neighbors", random_state=seed)
    kinds = {"kmeans": cluster.KMeans, "minibatch": cluster.MiniBatchKMeans, "bisecting": cluster.BisectingKMeans}
    return kinds[algorithm](clusters, n_init=10, random_state=seed)


def make_scorer(
    o: SimpleNamespace, log: Log, *, estimator: Any = None, centers: Any = None, again: Any = None
) -> AffinityScorer:
    """Return the scorer, not fitted; ``again`` is what clusters subsamples again, None for the library's."""
    from allegiance import AffinityScorer, Calibration

    resamples = o.resamples
    eps = getattr(o, "eps", None)
    return AffinityScorer(
        estimator,
        centers=centers,
        # "within" needs labels.
        influence=o.influence or ("euclidean" if o.centers and not o.labels else "within"),
        calibration=None if resamples == 0 else Calibration(resamples, clusterer=again),
        n_jobs=o.n_jobs,
        random_state=o.seed,
        verbose=log.progress,
        **({} if eps is None else {"eps": eps}),
    )


def scorer_for(o: SimpleNamespace, plan: FeaturePlan, labels: AnyArray | None, log: Log) -> AffinityScorer:
    """Return the scorer of the clustering that the options name, not fitted."""
    centers = load_centers(o.centers, plan) if o.centers else None
    estimator = None
    if labels is None and centers is None:
        estimator = clusterer(o.algorithm or "kmeans", o.clusters, o.seed)
    again = None
    if o.algorithm is not None and o.algorithm not in LIKE_KMEANS:
        n_labels = None
        if labels is not None:
            from allegiance.fitting import Labels

            n_labels = Labels.of(labels, len(labels)).classes.size
        again = clusterer(o.algorithm, o.clusters or n_labels, o.seed)
    return make_scorer(o, log, estimator=estimator, centers=centers, again=again)


def score_points(
    o: SimpleNamespace, points: Points, plan: FeaturePlan, scorer: AffinityScorer | None, log: Log
) -> tuple[AffinityResult, AffinityScorer]:
    """Score points by a model, or by the clustering that the options name, which is fitted to them."""
    if scorer is None:
        scorer = scorer_for(o, plan, points.labels, log)
        log.step(f"fitting clusters and trust to {len(points.X):,} rows in memory, and scoring them")
        return scorer.fit_affinity(points.X, points.labels), scorer
    log.step(f"scoring {len(points.X):,} rows in memory by {o.model}")
    fitted = scorer.fitted_
    result = fitted.score(points.X, labels=points.labels)
    fitted.warn_if_imprecise(result)
    return result, scorer


def load_centers(path: str, plan: FeaturePlan) -> FloatArray:
    """Return centers as prepared features; columns are found by name, and arrays have one for each feature."""
    import numpy as np

    from allegiance.io import TableError, open_table

    table = open_table(path)
    if table.has_names:
        return plan.matrix(table.read(table.check_columns(plan.used), typed=False))
    if len(table.columns) != len(plan.names):
        raise TableError(
            f"{path} (--centers) has {len(table.columns)} columns, but the data has {len(plan.names)} features: give "
            "its columns the names of those of the data."
        )
    values = table.read()
    return plan.scale_matrix(np.column_stack([np.asarray(values.column(name), float) for name in table.columns]))


def load_points(table: Table, plan: FeaturePlan, labels: str | None, *, typed: bool) -> Points:
    """Read the table into memory."""
    import numpy as np
    import pyarrow as pa

    from allegiance.io.batches import Rows
    from allegiance.io.tables import BATCH_ROWS

    row = free_name("row", table.columns)
    rows = Rows(table, plan, None, labels=labels, keep=table.columns, row=row, typed=typed)
    parts = list(rows.batches(BATCH_ROWS))
    columns = pa.Table.from_batches([part.kept for part in parts])
    X = np.concatenate([part.X for part in parts]) if len(parts) > 1 else parts[0].X
    found = None if labels is None else np.concatenate([part.labels for part in parts])
    return Points(X, found, columns)


def ids_of(o: SimpleNamespace, plan: FeaturePlan, table: Table) -> list[str]:
    """Return the columns that identify rows: those named, or those of the plan that the table has."""
    return list(o.ids) or [name for name in plan.ids if name in table.columns]


def free_name(name: str, taken: Any) -> str:
    """Return a name for a column that the table does not have."""
    while name in taken:
        name = f"{name}_"
    return name


def needs_memory(o: SimpleNamespace) -> str | None:
    """Return the option that needs all rows in memory, or None."""
    by_model = o.model is not None
    needs = {
        "--report": o.report is not None,
        "--audit": o.audit is not None,
        "-o -": o.output == "-",
        "a run without -o": o.output is None,
        f"--influence {o.influence}": not by_model and o.influence in KERNELS,
        f"--algorithm {o.algorithm}": not by_model and o.algorithm not in (None, *LIKE_KMEANS),
    }
    return next((name for name, needed in needs.items() if needed), None)


def run_fingerprint(o: SimpleNamespace, table: Table) -> dict[str, Any]:
    """Return what two runs must share to give the same output: inputs, model, version and options."""
    from allegiance import __version__

    silent = {"quiet", "verbose", "json", "log_format", "n_jobs", "if_exists", "restart", "data"}
    values = {name: value for name, value in vars(o).items() if name not in silent}
    others = [path for path in (getattr(o, "model", None), o.centers) if path]
    return {
        "version": __version__,
        "options": {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()},
        "table": table.fingerprint(),
        "contents": {path: _content(path) for path in [*table.files, *others]},
    }


def _content(path: str) -> list[Any]:
    """Return the size of a file and a hash of its first and last 64 KiB."""
    place = Path(path)
    if not place.is_file():
        return []
    size, edge = place.stat().st_size, 1 << 16
    with place.open("rb") as file:
        digest = hashlib.sha256(file.read(edge))
        file.seek(max(size - edge, 0))
        digest.update(file.read(edge))
    return [size, digest.hexdigest()]
