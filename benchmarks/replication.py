"""Does trust predict replication? ``python benchmarks/replication.py [--quick] [--fresh] [--only PART] [--tuning]``.

Eight parts, each with its own table in ``docs/benchmarks.md``:

- ``estimator``: the estimate alone, with the clusterer known and 20 subsamples, compared with independent samples of
  the same population. Populations are those that were not used for tuning, with ``--tuning`` those that were.
- ``replicates``: the same for ``trust`` as users call it, with the clusterer known and with labels only.
- ``null``: how often k-means with 3, 5 and 8 clusters is called no better than unclustered data, by population.
- ``large``: the same at 20,000 rows, where subsamples have a limited size.
- ``new``: trust for points that were not in the fit.
- ``audit``: labeled data. A label is right if its class is the majority of its cluster. Coverage of the audit's 95%
  interval.
- ``scores``: labeled data clustered by k-means, mixtures and Ward's method. How well do other scores point at the
  points whose class is not that of their cluster?
- ``order``: the same clusterings. How well does the review order rank wrong labels, compared with those scores?

``$ALLEGIANCE_DATA`` has the real populations. Results go to ``docs/benchmarks/replication_*.csv``; an interrupted run
continues. ``--quick`` runs a few settings and prints only.
"""

import argparse
import multiprocessing
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import cpu_count
from scipy.stats import wilcoxon
from sklearn.cluster import KMeans
from sklearn.metrics import roc_auc_score
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

from _machine import ROOT
from _marked_page import write_parts
from allegiance import AffinityScorer, trust
from allegiance.anndata import Leiden
from allegiance.calibration import Calibration, matches, replicate, wilson
from quality._case import Case
from quality._clusterers import CLUSTERERS as STUDY
from quality._datasets import UnavailableError, all_sets
from quality._misassigned import by_majority, by_matching, measures
from quality._peers import PEER_SCORES
from quality._replicates import (
    CLUSTERERS,
    blobs,
    bottom_decile,
    correlated,
    data_folder,
    fit_labels,
    place,
    populations,
    setting,
    settings,
)
from quality._scores import all_scores

AUDITS = (20, 50, 100)
AUDIT_DRAWS = 1000
SCORE_SEEDS, ORDER_SEEDS = 5, 2
QUICK_SETS = ("iris", "blobs", "digits")
QUICK_POPULATIONS = ("blobs, 8 in 10-D", "rings")
MEASURES = ("auroc", "ap", "matched_auroc")
SETTING = ("role", "family", "population", "clusterer")
#: Other scores besides the peers, with their names in the table.
OTHER_SCORES = {
    "own affinity + closeness": "own affinity + closeness",
    "confidence euclidean": "largest Euclidean affinity (the paper)",
    "whitened silhouette": "silhouette of whitened data",
}
AUDITED = {"k-means": lambda k: KMeans(k, n_init=5), "mixture": lambda k: GaussianMixture(k, reg_covar=1e-3)}
Floats = np.ndarray[Any, np.dtype[np.float64]]
Key = tuple[Any, ...]
Row = dict[str, Any]


# --- independent samples -------------------------------------------------------------------------------------------


def setting_jobs(quick: bool) -> list[Key]:
    """Return role, family, population and clusterer of each setting."""
    keys = [(role, family, *key) for role in ("evaluation", "tuning") for family in CLUSTERERS
            for key in settings(role, family)]  # fmt: skip
    return [key for key in keys if not quick or (key[2] in QUICK_POPULATIONS and key[3] in ("k-means 3", "HDBSCAN 15"))]


def measure_estimator(key: Key, quick: bool) -> Iterator[Row]:
    """Yield the estimate, its parts, and what independent samples say."""
    sample = setting(*key[2:])
    if not sample.is_clustered:
        return
    result = replicate(sample.X, sample.labels, sample.clusterer, calibration=Calibration(20))
    rates, margins = result.cluster_rates, result.cluster_margins()
    yield _compare(key, sample, result.share, result.interval, rates - margins, rates + margins) | {
        "with_labels": result.shares.mean(),
        "with_each_other": result.kept.mean(),
        "variance_with_labels": result.shares.var(ddof=1),
        "variance_with_each_other": result.kept.var(ddof=1),
    }


def measure_replicates(key: Key, quick: bool) -> Iterator[Row]:
    """Yield trust and what independent samples say: with the clusterer known, and with labels only."""
    sample = setting(*key[2:])
    if not sample.is_clustered:
        return
    labels = sample.labels
    inner, frequency = labels >= 0, sample.replicated.mean(axis=0)
    for mode, known in (("known", sample.clusterer), ("labels only", None)):
        started = time.process_time()
        result = trust(sample.X, labels, clusterer=known, n_jobs=1)
        seconds = time.process_time() - started
        clusters = result.by_cluster().set_index("cluster").loc[range(labels.max() + 1)]
        bounds = clusters[["replication_low", "replication_high"]].to_numpy().T
        yield {"mode": mode} | _compare(key, sample, result.replication, result.replication_interval, *bounds) | {
            "by_point": binned_error(result.trust[inner], frequency[inner]),
            "by_cluster": cluster_error(result.trust, frequency, labels),
            "warned": int(result._trust_map.warning is not None),
            "seconds": seconds,
        }  # fmt: skip


def _compare(key: Key, sample: Any, share: float, interval: Any, cluster_low: Floats, cluster_high: Floats) -> Row:
    """Compare an estimate and its intervals with the shares of labels that replicate in independent samples."""
    population, labels, replicated = populations()[key[2]], sample.labels, sample.replicated
    shares = replicated[:, labels >= 0].mean(axis=1)
    by_cluster = np.array([replicated[:, labels == c].mean(axis=1) for c in range(labels.max() + 1)]).T
    inside = (by_cluster >= cluster_low - 1e-9) & (by_cluster <= cluster_high + 1e-9)
    return {
        "kind": population.kind,
        "has_clusters": int(population.has_clusters),
        "rows": len(labels),
        "clusters": by_cluster.shape[1],
        "truth": shares.mean(),
        "truth_error": shares.std(ddof=1) / len(shares) ** 0.5,
        "replication": share,
        "low": max(interval[0], 0.0),
        "high": min(interval[1], 1.0),
        "covered": np.mean((shares >= interval[0] - 1e-9) & (shares <= interval[1] + 1e-9)),
        "clusters_covered": inside.mean(),
    }


def binned_error(trust: Floats, frequency: Floats) -> float:
    """Return the mean absolute difference of trust and frequency over ten bins of trust."""
    bins = np.minimum((10 * trust).astype(int), 9)
    return float(np.abs(np.bincount(bins, trust, 10) - np.bincount(bins, frequency, 10)).sum() / len(trust))


def cluster_error(trust: Floats, frequency: Floats, labels: Any) -> float:
    """Return the mean absolute difference by cluster, weighted by size."""
    inner = labels >= 0
    sums = [np.bincount(labels[inner], values[inner]) for values in (trust, frequency)]
    return float(np.abs(sums[0] - sums[1]).sum() / inner.sum())


def settings_table(rows: pd.DataFrame) -> list[str]:
    """Return tables by family, by real and generated populations, and by clusterer."""
    rows = rows.assign(error=rows.replication - rows.truth, mode=rows.get("mode", "known"), all="all settings")
    rows["absolute"], rows["width"] = rows.error.abs(), rows.high - rows.low
    columns = {
        "settings": ("error", "size"),
        "absolute error": ("absolute", "mean"),
        "median": ("absolute", "median"),
        "bias": ("error", "mean"),
        "by point": ("by_point", "mean"),
        "by cluster": ("by_cluster", "mean"),
        "coverage": ("covered", "mean"),
        "bottom decile": ("covered", bottom_decile),
        "cluster coverage": ("clusters_covered", "mean"),
        "width": ("width", "mean"),
        "error of 12 samples": ("truth_error", "mean"),
    }
    columns = {name: column for name, column in columns.items() if column[0] in rows}
    lines = []
    for names in (["all"], ["family"], ["family", "kind"], ["clusterer"]):
        keys = ["role", "mode", *names]
        table = rows.groupby(keys, sort=False).agg(**columns)
        table.index = [", ".join(key) for key in table.index]
        lines += [*_markdown(table, ", ".join(keys)), ""]
    return lines


# --- unclustered data --------------------------------------------------------------------------------------------


def null_jobs(quick: bool) -> list[Key]:
    """Return role, population and number of clusters."""
    return [(population.role, name, k) for name, population in populations().items() for k in (3, 5, 8)
            if not quick or name in QUICK_POPULATIONS]  # fmt: skip


def measure_null(key: Key, quick: bool) -> Iterator[Row]:
    """Yield whether two samples are called no better than unclustered data."""
    _, name, k = key
    population, kmeans = populations()[name], KMeans(k, n_init=5, random_state=0)
    for _, X in zip(range(2), population.samples(13), strict=False):
        flagged = trust(X, clusterer=kmeans, n_resamples=20, n_jobs=1)._trust_map.null_replication is not None
        yield {"kind": population.kind, "has_clusters": int(population.has_clusters), "flagged": int(flagged)}


def null_table(rows: pd.DataFrame) -> list[str]:
    """Return how often each kind of population, and each population, is flagged."""
    lines = []
    for names in (["role", "has_clusters"], ["role", "has_clusters", "k"], ["role", "has_clusters", "population"]):
        table = rows.groupby(names, sort=False).flagged.agg(["mean", "size"])
        table.index = [", ".join(map(str, key)) for key in table.index]
        lines += [*_markdown(table, ", ".join(names)), ""]
    return lines


# --- large tables ------------------------------------------------------------------------------------------------

LARGE: dict[str, tuple[Callable[[Any, int], Floats], Any]] = {
    "blobs, 10 in 20-D, k-means 12": (blobs(10, 20, 4.0), KMeans(12, n_init=3)),
    "Gaussian, 5-D, k-means 6": (lambda rng, n: rng.normal(size=(n, 5)), KMeans(6, n_init=3)),
    "unequal blobs, 6 in 3-D, mixture 6": (blobs(6, 3, 5.0, imbalance=8.0), GaussianMixture(6, reg_covar=1e-3)),
    "correlated Gaussian, 6-D, k-means 6": (correlated, KMeans(6, n_init=3)),
    "unequal blobs, 10 in 20-D, Leiden 0.5": (blobs(10, 20, 6.0, imbalance=10.0), Leiden(0.5)),
    "unequal blobs, 10 in 20-D, Leiden 1.0": (blobs(10, 20, 6.0, imbalance=10.0), Leiden(1.0)),
}


def large_jobs(quick: bool) -> list[Key]:
    """Return the settings."""
    return [(name,) for name in list(LARGE)[: 2 if quick else None]]


def measure_large(key: Key, quick: bool) -> Iterator[Row]:
    """Compare trust with four independent samples of 20,000 rows."""
    draw, clusterer = LARGE[key[0]]
    n = 2000 if quick else 20_000
    X = draw(np.random.default_rng([7, 0]), n)
    _, labels = fit_labels(clusterer, X, 0)
    shares = []
    for number in range(1, 5):
        other = draw(np.random.default_rng([7, number]), n)
        shares.append(matches(labels, place(*fit_labels(clusterer, other, number), other, X)).mean())
    started = time.process_time()
    result = trust(X, labels, clusterer=clusterer, n_jobs=1)
    low, high = result.replication_interval
    covered = np.mean([low - 1e-9 <= share <= high + 1e-9 for share in shares])
    yield {"rows": n, "truth": np.mean(shares), "replication": result.replication, "low": low, "high": high,
           "covered": covered, "seconds": time.process_time() - started}  # fmt: skip


def plain_table(rows: pd.DataFrame) -> list[str]:
    """Return the rows as a table."""
    return _markdown(rows.set_index(rows.columns[0]), rows.columns[0])


# --- new points --------------------------------------------------------------------------------------------------


def new_jobs(quick: bool) -> list[Key]:
    """Return population and clusterer."""
    names = [name for name, population in populations().items() if population.role == "evaluation"]
    return [(name, title) for name in names[: 2 if quick else None] for title in ("k-means 6", "mixture 4")]


def measure_new(key: Key, quick: bool) -> Iterator[Row]:
    """Compare the trust of points that were not in the fit with independent samples."""
    samples = populations()[key[0]].samples(11)
    X, new = next(samples), next(samples)
    clusterer = CLUSTERERS["centroid"][key[1]](X)
    scorer = AffinityScorer(clusterer.set_params(random_state=0), influence="within", calibration=True, n_jobs=1).fit(X)
    result = scorer.affinity(new)
    labels = np.asarray(result.label)
    replicated = []
    for number, other in enumerate(samples, 1):
        fitted, _ = fit_labels(clusterer, other, number)
        # Clusters are matched on the points of the fit, as for these.
        codes, placed = scorer.labels_, fitted.predict(np.vstack([X, new]))
        replicated.append(matches(np.concatenate([codes, labels]), placed)[len(X) :])
    frequency = np.mean(replicated, axis=0)
    error = binned_error(result.trust, frequency)
    yield {"truth": frequency.mean(), "replication": result.replication, "by_point": error}


# --- audit -------------------------------------------------------------------------------------------------------


def audit_jobs(quick: bool) -> list[Key]:
    """Return set and clusterer."""
    return [(name, clusterer) for name in _sets(quick) for clusterer in ("k-means", "mixture")]


def measure_audit(key: Key, quick: bool) -> Iterator[Row]:
    """Audit a labeled set many times, with answers from its classes."""
    X, classes = _set(key[0]).draw(0)
    _, labels = fit_labels(AUDITED[key[1]](int(classes.max()) + 1), X, 0)
    result, right = trust(X, labels, n_jobs=1), ~by_majority(labels, classes)
    for m in AUDITS:
        for random in (1.0, 0.5):
            if m > 0.5 * right.size:
                continue
            audits, better = [], []
            for draw in range(40 if quick else AUDIT_DRAWS):
                rows = result.audit_sample(m, random=random, random_state=draw)
                audit = result.audit(rows, right[rows])
                low, high = audit.interval
                answers = right[rows.rows[rows.origin == "random"]]
                plain = wilson(answers.mean(), answers.size)
                covered = low - 1e-12 <= right.mean() <= high + 1e-12
                audits.append((covered, high - low, plain[1] - plain[0], 1 - right[rows.rows].mean()))
                left = np.setdiff1d(np.arange(right.size), rows.rows)
                if draw < 10 and 0 < right[left].sum() < left.size:
                    better.append([roc_auc_score(right[left], t[left]) for t in (-result.priority, audit.trust)])
            means = [*np.mean(audits, axis=0), *(np.mean(better, axis=0) if better else (np.nan, np.nan))]
            names = ("covered", "width", "plain", "wrong", "before", "after")
            yield {"rows": len(X), "right": right.mean(), "m": m, "random": random} | dict(
                zip(names, means, strict=True)
            )


def audit_table(rows: pd.DataFrame) -> list[str]:
    """Return the table of the part ``audit``, real and generated sets separately."""
    generated = {data.name for data in all_sets(_tables()) if data.kind == "generated"}
    rows = rows.assign(kind=["generated" if name in generated else "real" for name in rows.set])
    lines = {}
    for (kind, random, m), some in rows.groupby(["kind", "random", "m"]):
        lines[kind != "real", -random, m] = {
            "sets": kind,
            "reviewed labels": str(m),
            "drawn at random": round(m * random),
            "clusterings": len(some),
            "coverage": some.covered.mean(),
            "lowest on a set": some.groupby("set").covered.mean().min(),
            "width": some.width.mean(),
            "plain counting": some.plain.mean(),
            "wrong among them": some.wrong.mean(),
            "AUROC before": some.before.mean(),
            "after": some.after.mean(),
        }
    counts = rows.drop_duplicates("set").kind.value_counts()
    table = pd.DataFrame([lines[key] for key in sorted(lines)]).set_index("sets")
    return [*_markdown(table, "sets"), "", f"{counts['real']} real and {counts['generated']} generated sets."]


def audit_widths(rows: pd.DataFrame) -> list[str]:
    """Return the short table of docs/trust.md: interval width by number of reviewed labels."""
    lines = ["| reviewed labels | all at random: width | half at random: width, wrong among them |", "|---|---|---|"]
    means = rows.groupby(["m", "random"])[["width", "wrong"]].mean()
    for m in AUDITS:
        whole, half = means.loc[m, 1.0], means.loc[m, 0.5]
        lines.append(f"| {m} | {whole.width:.2f} | {half.width:.2f}, {half.wrong:.0%} |")
    return lines


# --- other scores ---------------------------------------------------------------------------------------------


def score_jobs(quick: bool) -> list[Key]:
    """Return set and seed."""
    return [(name, seed) for seed in range(2 if quick else SCORE_SEEDS) for name in _sets(quick)]


def measure_scores(key: Key, quick: bool) -> Iterator[Row]:
    """Measure how well each score finds the wrong labels of each clustering of a draw."""
    X, classes = _set(key[0]).draw(key[1])
    shared: dict[str, Any] = {}
    for name, clusterer in STUDY.items():
        case = Case(X, int(classes.max()) + 1, key[1], clusterer, shared)
        wrong, unmatched = by_majority(case.labels, classes), by_matching(case.labels, classes)
        for score, values in all_scores(case).items():
            yield {"clusterer": name, "score": score} | measures(values, wrong, unmatched)


def score_table(rows: pd.DataFrame) -> list[str]:
    """Return the means of each score over all clusterings."""
    return _markdown(rows.groupby("score")[list(MEASURES)].mean(), "score")


# --- review order ---------------------------------------------------------------------------------------------


def order_jobs(quick: bool) -> list[Key]:
    """Return set, clusterer and seed."""
    seeds = range(1 if quick else ORDER_SEEDS)
    return [(name, clusterer, seed) for seed in seeds for name in _sets(quick) for clusterer in STUDY]


def measure_order(key: Key, quick: bool) -> Iterator[Row]:
    """Measure how well the review order, and trust, find the wrong labels of a clustering."""
    data = _set(key[0])
    X, classes = data.draw(key[2])
    labels = STUDY[key[1]](X, int(classes.max()) + 1, key[2]).labels
    result = trust(X, labels, n_jobs=1)
    wrong, unmatched = by_majority(labels, classes), by_matching(labels, classes)
    row: Row = {"kind": data.kind}
    for what, score in (("order", -result.priority), ("trust", result.trust)):
        measured = measures(score, wrong, unmatched)
        row |= {f"{what}_{name}": measured[name] for name in MEASURES}
    yield row


def order_table(rows: pd.DataFrame) -> list[str]:
    """Return means over sets, real and generated separately, and p values over sets against the review order."""
    cell = ["set", "clusterer", "seed"]
    scores = pd.read_csv(ROOT / "docs" / "benchmarks" / "replication_scores.csv")
    rivals = [name for name in scores.score.unique() if name in (*PEER_SCORES, *OTHER_SCORES)]
    kinds = rows.drop_duplicates("set").set_index("set").kind.eq("generated")
    table: dict[str, list[str]] = {}
    counts = []
    for is_generated, measure in product((False, True), MEASURES):
        stored = scores[scores.score.isin(rivals)].pivot(index=cell, columns="score", values=measure)
        own = rows.set_index(cell)[[f"order_{measure}", f"trust_{measure}"]].set_axis(["review order", "trust"], axis=1)
        by_set = own.join(stored).dropna().groupby("set").mean()
        by_set = by_set[kinds[by_set.index] == is_generated]
        counts.append(len(by_set))
        ours = by_set["review order"]
        for name in ("review order", "trust", *rivals):
            text = f"{by_set[name].mean():.3f}"
            if name != "review order" and len(ours) > 5:
                text += f" (p = {wilcoxon(ours, by_set[name]).pvalue:.3f})"
            table.setdefault(OTHER_SCORES.get(name, name), []).append(text)
    heads = [f"{kind}: {measure}" for kind in ("real", "generated") for measure in ("AUROC", "AP", "AUROC, matching")]
    caption = f"{counts[0]} real and {counts[-1]} generated sets; p values of Wilcoxon's test over sets."
    return [*_markdown(pd.DataFrame(table, index=heads).T, "score"), "", caption]


# --- all parts ---------------------------------------------------------------------------------------------------


def _sets(quick: bool) -> list[str]:
    names = []
    for data in all_sets(_tables()):
        try:
            data.draw(0)
        except UnavailableError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        names.append(data.name)
    return [name for name in names if not quick or name in QUICK_SETS]


def _tables() -> Path | None:
    folder = data_folder()
    return folder / "tables" if folder is not None and (folder / "tables").is_dir() else None


def _set(name: str) -> Any:
    return next(data for data in all_sets(_tables()) if data.name == name)


def _markdown(table: pd.DataFrame, head: str) -> list[str]:
    cells = [
        [f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row] for row in table.to_numpy(object)
    ]
    rows = [[head, *map(str, table.columns)], ["---"] * (len(table.columns) + 1)]
    rows += [[str(name), *row] for name, row in zip(table.index, cells, strict=True)]
    return ["| " + " | ".join(row) + " |" for row in rows]


class Part(NamedTuple):
    """Measurements of one table."""

    key: tuple[str, ...]
    jobs: Callable[[bool], list[Key]]
    measure: Callable[[Key, bool], Iterator[Row]]
    table: Callable[[pd.DataFrame], list[str]]


PARTS = {
    "estimator": Part(SETTING, setting_jobs, measure_estimator, settings_table),
    "replicates": Part(SETTING, setting_jobs, measure_replicates, settings_table),
    "null": Part(("role", "population", "k"), null_jobs, measure_null, null_table),
    "large": Part(("setting",), large_jobs, measure_large, plain_table),
    "new": Part(("population", "clusterer"), new_jobs, measure_new, plain_table),
    "audit": Part(("set", "clusterer"), audit_jobs, measure_audit, audit_table),
    "scores": Part(("set", "seed"), score_jobs, measure_scores, score_table),
    "order": Part(("set", "clusterer", "seed"), order_jobs, measure_order, order_table),
}


def _work(name: str, key: Key, quick: bool) -> list[Row]:
    part = PARTS[name]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [dict(zip(part.key, key, strict=True)) | row for row in part.measure(key, quick)]


def run(name: str, store: Path, quick: bool, processes: int, role: str, matching: str, every: int) -> None:
    """Measure the settings that are missing from the store, of populations with this role: each ``every``-th."""
    part = PARTS[name]
    done = set(pd.read_csv(store)[list(part.key)].itertuples(index=False, name=None)) if store.exists() else set()
    jobs = [key for key in part.jobs(quick) if part.key[0] != "role" or key[0] == role]
    jobs = [key for key in jobs if matching in ", ".join(map(str, key))][::every]
    jobs = [key for key in jobs if key not in done]
    store.parent.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting = [pool.submit(_work, name, key, quick) for key in jobs]
        for number, (key, future) in enumerate(zip(jobs, waiting, strict=True), 1):
            title = f"{name} {number}/{len(jobs)}: {', '.join(map(str, key))}"
            try:
                rows = pd.DataFrame(future.result())
            except Exception as error:
                print(f"{title}: FAILED: {error!r}", file=sys.stderr, flush=True)
                continue
            if not rows.empty:
                rows.to_csv(store, mode="a", header=not store.exists(), index=False, float_format="%.5f")
            print(title, file=sys.stderr, flush=True)


def main() -> None:
    """Run the selected parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few settings; writes nothing to docs")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--page", action="store_true", help="write the tables again without measuring")
    parser.add_argument("--only", choices=PARTS, help="one part")
    parser.add_argument("--tuning", action="store_true", help="the populations used for tuning, not the others")
    parser.add_argument("--matching", default="", help="only settings whose key contains this text")
    parser.add_argument("--every", type=int, default=1, help="every second, third, ... of the settings")
    parser.add_argument("--processes", type=int, default=cpu_count(), help="default: all cores")
    options = parser.parse_args()
    folder = ROOT / "benchmarks" / "results" if options.quick else ROOT / "docs" / "benchmarks"
    for name, part in PARTS.items():
        if options.only not in (None, name):
            continue
        store = folder / f"replication_{name}.csv"
        if (options.fresh or options.quick) and not options.page:
            store.unlink(missing_ok=True)
        if not options.page:
            role = "tuning" if options.tuning else "evaluation"
            run(name, store, options.quick, options.processes, role, options.matching, options.every)
        rows = pd.read_csv(store)
        lines = part.table(rows)
        print("\n".join(lines))
        if not options.quick:
            page = ROOT / "docs" / "benchmarks.md"
            if f"<!-- replication {name}: written by" in page.read_text():
                write_parts(page, {f"replication {name}": "\n".join(lines)})
            if name == "audit":
                write_parts(ROOT / "docs" / "trust.md", {"trust-audit": "\n".join(audit_widths(rows))})


if __name__ == "__main__":
    main()
