"""Build the table, its feature plan, the clustering and the scorer from the options."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import is_zipfile

import click
from click.core import ParameterSource

from ._app import Log, Run, with_options
from ._options import KERNELS, LIKE_KMEANS, WITHOUT_K, Features, Reading, Trust

if TYPE_CHECKING:
    import pyarrow as pa

    from allegiance import AffinityScorer
    from allegiance._core.validation import AnyArray, FloatArray
    from allegiance.io import FeaturePlan, Table
    from allegiance.io.plan import Gaps
    from allegiance.results import AffinityResult

#: Options that a saved model fixes.
_FIXED = (
    "features", "drop", "one_hot", "impute", "raw", "centers", "clusters", "algorithm", "clusterer", "influence",
    "groups", "save",
)  # fmt: skip


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
        """The columns of the table with their detected types, for the page and descriptions."""
        import pyarrow as pa

        names = self.columns.column_names[1:]
        batches = self.columns.select(names).to_batches()
        return pa.Table.from_batches([self.table.typed(batch, keep_words=False) for batch in batches])


def check_clustering(run: Run) -> None:
    """Raise a usage error unless the options name one clustering."""
    trust, labels = run.trust, run.features.labels
    if trust.model is not None:
        _check_model(trust)
        return
    makes = trust.clusters is not None or ((trust.algorithm or trust.clusterer) and not labels)
    if trust.clusters is not None and (labels or trust.centers):
        raise click.UsageError("--clusters computes new labels: leave it out, or leave out --labels and --centers.")
    if trust.algorithm and trust.clusterer:
        raise click.UsageError("--algorithm and --clusterer both name a clusterer: leave one out.")
    if not (makes or labels or trust.centers):
        raise click.UsageError(
            "no clustering to score: pass --clusters K to make one, --labels COLUMN, or --model FILE."
        )
    if makes and not trust.clusterer and trust.algorithm not in WITHOUT_K and trust.clusters is None:
        raise click.UsageError(f"--algorithm {trust.algorithm} needs --clusters K.")
    if trust.centers:
        check_file(trust.centers)
    if trust.algorithm in WITHOUT_K and trust.clusters is not None:
        raise click.UsageError(f"{trust.algorithm} chooses the number of clusters itself: leave out --clusters.")


def check_file(path: str) -> None:
    """Raise if a local file does not exist, before anything heavy is imported."""
    if "://" not in path and not Path(path).is_file():
        raise FileNotFoundError(f"{path} does not exist.")


def check_model_file(path: str) -> None:
    """Raise if a local file cannot be a model, before anything heavy is imported."""
    check_file(path)
    if "://" not in path and not is_zipfile(path):
        raise ValueError(f"{path} is not a model. `allegiance score DATA --clusters K --save FILE.model` writes one.")


def _check_model(trust: Trust) -> None:
    """Raise if options contradict the model, or if there is none."""
    assert trust.model is not None
    check_model_file(trust.model)
    context = click.get_current_context()
    named = [name for name in _FIXED if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if named:
        option = f"--{named[0].replace('_', '-')}"
        raise click.UsageError(f"{option} cannot be used with --model: {trust.model} already fixes it.")
    if trust.resamples:
        raise click.UsageError(
            f"--resamples {trust.resamples} cannot be used with --model: trust was fitted with it. --resamples 0 skips "
            "trust."
        )


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
    """Return the plan of a model for a new table, after checking that it fits."""
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


def make_clusterer(algorithm: str, clusters: int | None, seed: int) -> Any:
    """Return the clusterer of a name in ``ALGORITHMS``."""
    from sklearn import cluster, mixture

    from allegiance.clusterers import Leiden

    restarts = {"n_init": 10, "random_state": seed}
    make: dict[str, Callable[[], Any]] = {
        "kmeans": lambda: cluster.KMeans(clusters, **restarts),
        "minibatch": lambda: cluster.MiniBatchKMeans(clusters, **restarts),
        "bisecting": lambda: cluster.BisectingKMeans(clusters, **restarts),
        "agglomerative": lambda: cluster.AgglomerativeClustering(clusters),
        "gmm": lambda: mixture.GaussianMixture(clusters, random_state=seed),
        "birch": lambda: cluster.Birch(n_clusters=clusters),
        "spectral": lambda: cluster.SpectralClustering(clusters, affinity="nearest_neighbors", random_state=seed),
        "hdbscan": lambda: cluster.HDBSCAN(copy=True),
        "leiden": lambda: Leiden(random_state=seed),
    }
    return make[algorithm]()


def import_clusterer(name: str) -> Any:
    """Return the clusterer of ``--clusterer package.module:name``: an estimator, its class, or a function."""
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise click.UsageError(f"--clusterer {name} is not of the form package.module:name.")
    sys.path.insert(0, "")
    try:
        value = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise click.UsageError(f"--clusterer {name} cannot be imported: {error}") from error
    finally:
        sys.path.remove("")
    return value() if isinstance(value, type) else value


def make_scorer(
    trust: Trust, log: Log, *, estimator: Any = None, centers: Any = None, labeled: bool = False, **settings: Any
) -> AffinityScorer:
    """Return an unfitted scorer; ``settings`` are passed to the calibration."""
    from allegiance import AffinityScorer, Calibration

    precision: dict[str, Any] = {} if trust.eps is None else {"eps": trust.eps}
    return AffinityScorer(
        estimator,
        centers=centers,
        # "within" needs labels.
        influence=trust.influence or ("euclidean" if centers is not None and not labeled else "within"),
        calibration=None if trust.resamples == 0 else Calibration(trust.resamples, **settings),
        n_jobs=trust.n_jobs,
        random_state=trust.seed,
        verbose=log.progress,
        **precision,
    )


def scorer_for(run: Run, plan: FeaturePlan, points: Points) -> AffinityScorer:
    """Return an unfitted scorer for the clustering of the options."""
    trust, labels, groups = run.trust, points.labels, run.features.groups
    centers = load_centers(trust.centers, plan) if trust.centers else None
    makes = labels is None and centers is None
    own = import_clusterer(trust.clusterer) if trust.clusterer else None
    if own is None and trust.algorithm is None and run.features.labels and is_cells(run.data):
        from allegiance.anndata import recorded_clusterer
        from allegiance.io.formats import read_h5ad

        own = recorded_clusterer(read_h5ad(run.data[0], backed="r"), run.features.labels)
    estimator = None
    if makes:
        estimator = own if own is not None else make_clusterer(trust.algorithm or "kmeans", trust.clusters, trust.seed)
    reclusterer = None if makes else own
    if trust.algorithm is not None and trust.algorithm not in LIKE_KMEANS:
        n_labels = None
        if labels is not None:
            from allegiance.fitting import Labels

            n_labels = Labels.of(labels, len(labels)).classes.size
        reclusterer = make_clusterer(trust.algorithm, trust.clusters or n_labels, trust.seed)
    settings: dict[str, Any] = {} if reclusterer is None else {"clusterer": reclusterer}
    if groups is not None:
        settings["groups"] = points.columns.column(groups).to_numpy(zero_copy_only=False)
    labeled = labels is not None
    return make_scorer(trust, run.log, estimator=estimator, centers=centers, labeled=labeled, **settings)


def score_points(
    run: Run, points: Points, plan: FeaturePlan, scorer: AffinityScorer | None
) -> tuple[AffinityResult, AffinityScorer]:
    """Score points with a model, or fit the clustering of the options to them."""
    if scorer is None:
        scorer = scorer_for(run, plan, points)
        run.log.step(f"fitting clusters and trust to {len(points.X):,} rows in memory, and scoring them")
        return scorer.fit_affinity(points.X, points.labels), scorer
    run.log.step(f"scoring {len(points.X):,} rows in memory with {run.trust.model}")
    run.log.note(*plan.describe_gaps(points.gaps))
    result = scorer.fitted_.score(points.X, labels=points.labels)
    scorer.fitted_.warn_if_imprecise(result._count_imprecise(), len(result))
    return result, scorer


def is_cells(data: Sequence[str]) -> bool:
    """Tell whether the input is one .h5ad file."""
    return len(data) == 1 and data[0].lower().endswith(".h5ad")


def load_centers(path: str, plan: FeaturePlan) -> FloatArray:
    """Return centers as prepared features. Columns are matched by name; arrays have one column per feature."""
    import numpy as np

    from allegiance.io import TableError, open_table
    from allegiance.io.plan import Gaps
    from allegiance.io.values import join_counts

    table = open_table(path)
    if table.has_names:
        gaps = Gaps()
        centers, _ = plan.prepare(table.read(table.check_columns(plan.used), typed=False), gaps)
        if gaps.missing:
            raise TableError(f"{path} (--centers) has missing values: {join_counts(gaps.missing)}.")
        return centers
    if len(table.columns) != len(plan.names):
        raise TableError(
            f"{path} (--centers) has {len(table.columns)} columns, but the data has {len(plan.names)} features: name "
            "its columns like those of the data."
        )
    values = table.read()
    return plan.scale_matrix(np.column_stack([np.asarray(values.column(name), float) for name in table.columns]))


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
    """Return a column name that the input table does not have."""
    while name in taken:
        name = f"{name}_"
    return name


def needs_memory(run: Run) -> str | None:
    """Return the option that needs all rows in memory, or None."""
    trust, output, fits = run.trust, run.output, run.trust.model is None
    needs = {
        "--report": output.report is not None,
        "--audit-sheet": output.audit_sheet is not None,
        "-o -": output.output == "-",
        "-o FILE.h5ad": output.output is not None and is_cells([output.output]),
        "a run without -o": output.output is None,
        f"--influence {trust.influence}": fits and trust.influence in KERNELS,
        f"--algorithm {trust.algorithm}": fits and trust.algorithm not in (None, *LIKE_KMEANS),
        "--clusterer": trust.clusterer is not None,
        "--groups": run.features.groups is not None,
    }
    return next((name for name, needed in needs.items() if needed), None)
