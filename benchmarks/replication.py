"""Do labels come back as often as trust says? ``python benchmarks/replication.py [--quick] [--fresh] [--only PART]``.

Five parts, each with its own table in ``docs/benchmarks.md``:

- ``repeats``: what trust says of a clustering, and what independent repeats say (``quality/_repeats.py``).
- ``rows``: the same at 20,000 rows, where a subsample has a limited number of them.
- ``warnings``: does trust warn of labels that no clustering made, and not of clusterings?
- ``audit``: labelled data. Labels are right if their class is that of most of their cluster. How often does the 95 %
  interval of an audit hold the true share?
- ``order``: the cells of the study (``benchmarks/study.py``). Does the order of review find wrong labels, beside the
  scores that the study has measured on the same clusterings?

Results go to ``docs/benchmarks/replication_*.csv`` as they come, and a run that was stopped continues where it was.
``--quick`` takes a few scenes and prints only. Each process runs on one thread.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon
from sklearn.cluster import KMeans
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from _machine import ROOT, usable_cores
from _marked_page import write_parts
from allegiance import AffinityScorer, Calibration, trust
from allegiance.calibration import matches, wilson
from quality._cell import measures
from quality._clusterers import CLUSTERERS as STUDY
from quality._datasets import UnavailableError, all_sets
from quality._misassigned import by_majority, by_matching
from quality._peers import PEER_SCORES
from quality._repeats import CLUSTERERS, ODD, blobs, correlated, fit_labels, populations, scene, scenes, tables_folder

AUDITS = (20, 50, 100)
AUDIT_DRAWS = 1000
ORDER_SEEDS = 2
QUICK_SETS = ("iris", "blobs", "digits")
QUICK_POPULATIONS = ("blobs, 4 in 5-D", "Gaussian, 10-D", "digits")
MEASURES = ("auroc", "ap", "matched_auroc")
Floats = np.ndarray[Any, np.dtype[np.float64]]
Key = tuple[Any, ...]
Row = dict[str, Any]


# --- repeats -----------------------------------------------------------------------------------------------------


def repeats_jobs(quick: bool) -> list[Key]:
    """Return population, clusterer and number of clusters of each scene."""
    return [one for one in scenes() if not quick or (one[0] in QUICK_POPULATIONS and one[2] == 3)]


def measure_repeats(key: Key, quick: bool) -> Iterator[Row]:
    """Yield what trust says about one sample, and what the repeats say: the clusterer known, and not known."""
    population, (X, labels, back, clusterer) = populations()[key[0]], scene(*key)
    inner = labels >= 0
    if np.unique(labels[inner]).size < 2:
        return
    frequency, shares = back.mean(axis=0), back[:, inner].mean(axis=1)
    for mode, known in (("known", clusterer), ("stand-in", None)):
        started = time.process_time()
        result = trust(X, labels, clusterer=known, n_jobs=1)
        seconds = time.process_time() - started
        (low, high), says = result.replication_interval, result.trust
        named = re.search(r"with (.*?), which stands.*index ([\d.]+)\)", result.summary().note)
        yield {
            "kind": population.kind,
            "structure": int(population.structure),
            "mode": mode,
            "rows": len(X),
            "share": shares.mean(),
            "replication": result.replication,
            "low": low,
            "high": high,
            "held": np.mean((shares >= low) & (shares <= high)),
            "by_point": binned_error(says[inner], frequency[inner]),
            "brier": np.mean((says[inner] - back[:, inner]) ** 2),
            "by_cluster": cluster_error(says, frequency, labels),
            "warned": int(result._trust_map.warning is not None),
            "no_clusters": int(result._trust_map.null_replication is not None),
            "slope": min(result._trust_map.slopes),
            "stand_in": named.group(1) if named else "",
            "ari": float(named.group(2)) if named else np.nan,
            "seconds": seconds,
        }


def binned_error(says: Floats, happens: Floats) -> float:
    """Return the mean difference of what is said and what happens over ten bins of what is said."""
    bins = np.minimum((10 * says).astype(int), 9)
    return float(np.abs(np.bincount(bins, says, 10) - np.bincount(bins, happens, 10)).sum() / len(says))


def cluster_error(says: Floats, happens: Floats, labels: Any) -> float:
    """Return the mean difference by cluster, each cluster weighted by its size."""
    inner = labels >= 0
    sums = [np.bincount(labels[inner], values[inner]) for values in (says, happens)]
    return float(np.abs(sums[0] - sums[1]).sum() / inner.sum())


def repeats_table(rows: pd.DataFrame) -> list[str]:
    """Return the tables of the part ``repeats``."""
    rows = rows.assign(off=rows.replication - rows.share)
    usual = rows[rows.clusterer.isin(CLUSTERERS)]
    known, guessed = (usual[usual["mode"] == mode] for mode in ("known", "stand-in"))
    groups = {
        f"clusterer {mode}, {kind} populations": some[some.kind == kind]
        for mode, some in (("known", known), ("stand-in", guessed))
        for kind in ("choosing", "confirming")
    }
    groups |= {"clusterer known, all": known, "clusterer stand-in, all": guessed}
    for mode, some in (("known", known), ("stand-in", guessed)):
        groups |= {f"{name}, {mode}": some[some.clusterer == name] for name in CLUSTERERS}
    groups["no clusters in the data, known"] = known[known.structure == 0]
    table = pd.DataFrame(
        {
            title: {
                "number": len(some),
                "off, mean": some.off.abs().mean(),
                "off, 90 % quantile": some.off.abs().quantile(0.9),
                "signed": some.off.mean(),
                "by point": some.by_point.mean(),
                "by cluster": some.by_cluster.mean(),
                "Brier": some.brier.mean(),
                "interval holds": some.held.mean(),
                "worst tenth": some.held.nsmallest(max(len(some) // 10, 1)).mean(),
                "width": (some.high - some.low).mean(),
            }
            for title, some in groups.items()
            if len(some)
        }
    ).T
    odd = rows[~rows.clusterer.isin(CLUSTERERS)]
    odd, of_known = odd[odd["mode"] == "stand-in"], odd[odd["mode"] == "known"]
    scenes_of = pd.DataFrame(
        {
            "scene": odd.population + ", " + odd.clusterer,
            "repeats": odd.share.map("{:.2f}".format),
            "trust says, clusterer known": of_known.replication.map("{:.2f}".format).to_numpy(),
            "stand-in": odd.replication.map("{:.2f}".format),
            "which": odd.stand_in,
            "ARI": odd.ari.map("{:.2f}".format),
            "warned": odd.warned.map({0: "no", 1: "yes"}),
        }
    )
    good = guessed[guessed.warned == 0]
    flat, others = known[known.structure == 0], known[known.structure == 1]
    exact = others[[populations()[name].classes == k for name, k in zip(others.population, others.k, strict=True)]]
    return [
        *_markdown(table.astype({"number": int}), "scenes"),
        "",
        *_markdown(scenes_of.set_index("scene"), "scene"),
        "",
        f"Stand-ins without a warning ({len(good)} of {len(guessed)} scenes of the first table): off by "
        f"{good.off.abs().mean():.3f} on average. Lowest slope of any map: {rows.slope.min():.2f}. The remark that no "
        f"more comes back than in data without clusters: {flat.no_clusters.sum()} of {len(flat)} scenes without "
        f"clusters, {others.no_clusters.sum()} of {len(others)} of the others, {exact.no_clusters.sum()} of "
        f"{len(exact)} of those with as many clusters as classes.",
    ]


# --- rows of a subsample -----------------------------------------------------------------------------------------

LARGE: dict[str, tuple[str, Callable[[Any, int], Floats], int]] = {
    "blobs, 10 in 20-D, k = 12": ("choosing", blobs(10, 20, 4.0), 12),
    "blobs, 10 in 20-D, k = 6": ("choosing", blobs(10, 20, 6.0), 6),
    "Gaussian, 5-D, k = 6": ("choosing", lambda rng, n: rng.normal(size=(n, 5)), 6),
    "uniform, 5-D, k = 6": ("choosing", lambda rng, n: rng.uniform(size=(n, 5)), 6),
    "blobs, 4 in 5-D, k = 6": ("confirming", blobs(4, 5, 3.0), 6),
    "blobs, 6 unequal in 3-D, k = 6": ("confirming", blobs(6, 3, 4.0, imbalance=8.0), 6),
    "heavy tails, 5-D, k = 6": ("confirming", lambda rng, n: rng.standard_t(3, size=(n, 5)), 6),
    "correlated Gaussian, 6-D, k = 6": ("confirming", correlated, 6),
}


def rows_jobs(quick: bool) -> list[Key]:
    """Return the populations."""
    return [(name,) for name in list(LARGE)[: 2 if quick else None]]


def measure_rows(key: Key, quick: bool) -> Iterator[Row]:
    """Compare limits on the rows of a subsample with repeats of 20,000 rows."""
    kind, draw, k = LARGE[key[0]]
    n = 2000 if quick else 20_000
    X, clusterer = draw(np.random.default_rng([7, 0]), n), KMeans(k, n_init=3)
    _, labels = fit_labels(clusterer, X, 0)
    shares = []
    for number in range(1, 5 if quick else 9):
        fitted, _ = fit_labels(clusterer, draw(np.random.default_rng([7, number]), n), number)
        shares.append(matches(labels, fitted.predict(X)).mean())
    for most in (500, 1000, 1500, 2000, 5000):
        calibration = Calibration(clusterer=clusterer, rows_per_subsample=most)
        result = AffinityScorer(influence="within", calibration=calibration, n_jobs=1).fit_affinity(X, labels)
        yield {"kind": kind, "rows": n, "most": most, "share": np.mean(shares), "replication": result.replication}


def rows_table(rows: pd.DataFrame) -> list[str]:
    """Return the table of the part ``rows``."""
    rows = rows.assign(off=rows.replication - rows.share)
    table = rows.pivot(index=["population", "kind", "share"], columns="most", values="off")
    table = table.reindex([one for name in LARGE for one in table.index if one[0] == name])
    off = table.abs().mean()
    table = table.map("{:+.3f}".format).reset_index()
    table["share"] = table["share"].map("{:.3f}".format)
    table.loc[len(table)] = ["mean, without sign", "", "", *off.map("{:.3f}".format)]
    names = {"kind": "", "share": "comes back"} | {most: f"{most:,} rows" for most in off.index}
    return _markdown(table.set_index("population").rename(columns=names), "population")


# --- warnings ----------------------------------------------------------------------------------------------------

#: Sets on which the limits of the warning were chosen.
WARNINGS_CHOSEN_ON = (
    "iris", "wine", "digits", "letter", "satimage", "glass", "ecoli", "blobs", "separation-1.75", "imbalance-5",
    "stretch-own", "columns-20", "clusters-10", "moons", "spread-uneven",
)  # fmt: skip


def _merged(X: Floats, k: int) -> Any:
    """Return the labels of k-means, two of whose clusters were made one."""
    _, labels = fit_labels(KMeans(k + 1, n_init=5), X, 0)
    return np.where(labels == k, 0, labels)


def _split(X: Floats, k: int) -> Any:
    """Return the labels of k-means, whose largest cluster was cut at the median of the widest column."""
    _, labels = fit_labels(KMeans(max(k - 1, 2), n_init=5), X, 0)
    largest, column = labels == np.bincount(labels).argmax(), X[:, X.std(axis=0).argmax()]
    return np.where(largest & (column > np.median(column[largest])), labels.max() + 1, labels)


ANNOTATIONS: dict[str, Callable[[Floats, int], Any]] = {"two clusters merged": _merged, "a cluster cut": _split}


def warnings_jobs(quick: bool) -> list[Key]:
    """Return set and labels."""
    labels = ("classes", *ANNOTATIONS, *CLUSTERERS, *ODD)
    return [(name, what) for name in _sets(quick) for what in labels]


def measure_warnings(key: Key, quick: bool) -> Iterator[Row]:
    """Tell whether trust warns of labels whose clusterer it is not told."""
    X, classes = _set(key[0]).draw(0)
    k, what = int(classes.max()) + 1, key[1]
    if what == "classes":
        labels = classes
    elif what in ANNOTATIONS:
        labels = ANNOTATIONS[what](X, k)
    else:
        labels = fit_labels((CLUSTERERS | ODD)[what](1 if what == "Leiden" else k), X, 0)[1]
    warned = trust(X, labels, n_jobs=1)._trust_map.warning is not None if np.unique(labels[labels >= 0]).size > 1 else 0
    yield {"kind": "choosing" if key[0] in WARNINGS_CHOSEN_ON else "confirming", "warned": int(warned)}


def warnings_table(rows: pd.DataFrame) -> list[str]:
    """Return how often labels of each origin warn."""
    counts = rows.groupby(["labels", "kind"], sort=False).warned.agg(["sum", "size"]).astype(int)
    cells = (counts["sum"].astype(str) + " of " + counts["size"].astype(str)).unstack()
    return _markdown(cells.rename(columns={kind: f"warned, {kind} sets" for kind in cells}), "labels")


# --- audit -------------------------------------------------------------------------------------------------------


def audit_jobs(quick: bool) -> list[Key]:
    """Return set and clusterer."""
    return [(name, clusterer) for name in _sets(quick) for clusterer in ("k-means", "mixture")]


def measure_audit(key: Key, quick: bool) -> Iterator[Row]:
    """Audit a labelled set many times, with the answers that its classes give."""
    X, classes = _set(key[0]).draw(0)
    _, labels = fit_labels(CLUSTERERS[key[1]](int(classes.max()) + 1), X, 0)
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
                answers = right[rows.rows[rows.drawn == "random"]]
                plain = wilson(answers.mean(), answers.size)
                held = low - 1e-12 <= right.mean() <= high + 1e-12
                audits.append((held, high - low, plain[1] - plain[0], 1 - right[rows.rows].mean()))
                left = np.setdiff1d(np.arange(right.size), rows.rows)
                if draw < 10 and 0 < right[left].sum() < left.size:
                    better.append([roc_auc_score(right[left], t[left]) for t in (-result.priority, audit.trust)])
            means = [*np.mean(audits, axis=0), *(np.mean(better, axis=0) if better else (np.nan, np.nan))]
            names = ("held", "width", "plain", "found", "before", "after")
            yield {"rows": len(X), "right": right.mean(), "m": m, "random": random} | dict(
                zip(names, means, strict=True)
            )


def audit_table(rows: pd.DataFrame) -> list[str]:
    """Return the table of the part ``audit``."""
    lines = {}
    for (random, m), some in rows.groupby(["random", "m"]):
        lines[-random, m] = {
            "labels looked at": str(m),
            "drawn at random": round(m * random),
            "clusterings": len(some),
            "interval holds": some.held.mean(),
            "lowest on a set": some.groupby("set").held.mean().min(),
            "width": some.width.mean(),
            "plain counting": some.plain.mean(),
            "wrong among them": some.found.mean(),
            "AUROC before": some.before.mean(),
            "after": some.after.mean(),
        }
    table = pd.DataFrame([lines[key] for key in sorted(lines)]).set_index("labels looked at")
    return [*_markdown(table, "labels looked at"), "", f"{rows.set.nunique()} sets."]


def audit_widths(rows: pd.DataFrame) -> list[str]:
    """Return the short table of docs/trust.md: how wide the interval is after how many labels."""
    lines = ["| labels looked at | all at random: width | half at random: width, wrong among them |", "|---|---|---|"]
    means = rows.groupby(["m", "random"])[["width", "found"]].mean()
    for m in AUDITS:
        whole, half = means.loc[m, 1.0], means.loc[m, 0.5]
        lines.append(f"| {m} | {whole.width:.2f} | {half.width:.2f}, {half.found:.0%} |")
    return lines


# --- order of review ---------------------------------------------------------------------------------------------


def order_jobs(quick: bool) -> list[Key]:
    """Return set, clusterer and seed."""
    seeds = range(1 if quick else ORDER_SEEDS)
    return [(name, clusterer, seed) for seed in seeds for name in _sets(quick) for clusterer in STUDY]


def measure_order(key: Key, quick: bool) -> Iterator[Row]:
    """Measure how well the order of review, and trust, find the labels that are wrong in a cell of the study."""
    data = _set(key[0])
    X, classes = data.draw(key[2])
    labels = STUDY[key[1]](X, int(classes.max()) + 1, key[2]).labels
    result = trust(X, labels, n_jobs=1)
    wrong, unmatched = by_majority(labels, classes), by_matching(labels, classes)
    found: Row = {"kind": data.kind}
    for what, score in (("order", -result.priority), ("trust", result.trust)):
        measured = measures(score, wrong, unmatched)
        found |= {f"{what}_{name}": measured[name] for name in MEASURES}
    yield found


def order_table(rows: pd.DataFrame) -> list[str]:
    """Return means over sets, and p values over sets against the order of review."""
    cell = ["set", "clusterer", "seed"]
    scores = pd.read_csv(ROOT / "docs" / "benchmarks" / "quality_scores.csv")
    rivals = [
        name for name in scores.score.unique() if name in (*PEER_SCORES, "own affinity + closeness", "former trust")
    ]
    lines, n = {}, None
    for measure in MEASURES:
        stored = scores[scores.score.isin(rivals)].pivot(index=cell, columns="score", values=measure)
        own = rows.set_index(cell)[[f"order_{measure}", f"trust_{measure}"]].set_axis(
            ["order of review", "trust"], axis=1
        )
        joined = own.join(stored).dropna()
        by_set = joined.groupby("set").mean()
        n = n or (len(by_set), len(joined))
        ours = by_set["order of review"]
        for name in ("order of review", "trust", *rivals):
            same = len(ours) < 6 or np.allclose(ours, by_set[name])
            p = "" if same else f"{wilcoxon(ours, by_set[name]).pvalue:.3f}"
            lines.setdefault(name, []).extend([f"{by_set[name].mean():.3f}", p])
    table = pd.DataFrame(lines, index=["AUROC", "p", "average precision", "p", "AUROC by matching", "p"]).T
    said = f"{n[0]} sets, {n[1]} clusterings; p values by Wilcoxon's test over sets."
    return [*_markdown(table, "score"), "", said]


# --- all parts ---------------------------------------------------------------------------------------------------


def _sets(quick: bool) -> list[str]:
    names = []
    for data in all_sets(tables_folder()):
        try:
            data.draw(0)
        except UnavailableError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        names.append(data.name)
    return [name for name in names if not quick or name in QUICK_SETS]


def _set(name: str) -> Any:
    return next(data for data in all_sets(tables_folder()) if data.name == name)


def _markdown(table: pd.DataFrame, head: str) -> list[str]:
    cells = [
        [f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row] for row in table.to_numpy(object)
    ]
    rows = [[head, *map(str, table.columns)], ["---"] * (len(table.columns) + 1)]
    rows += [[str(name), *row] for name, row in zip(table.index, cells, strict=True)]
    return ["| " + " | ".join(row) + " |" for row in rows]


class Part(NamedTuple):
    """What is measured in one table."""

    key: tuple[str, ...]
    jobs: Callable[[bool], list[Key]]
    measure: Callable[[Key, bool], Iterator[Row]]
    table: Callable[[pd.DataFrame], list[str]]


PARTS = {
    "repeats": Part(("population", "clusterer", "k"), repeats_jobs, measure_repeats, repeats_table),
    "rows": Part(("population",), rows_jobs, measure_rows, rows_table),
    "warnings": Part(("set", "labels"), warnings_jobs, measure_warnings, warnings_table),
    "audit": Part(("set", "clusterer"), audit_jobs, measure_audit, audit_table),
    "order": Part(("set", "clusterer", "seed"), order_jobs, measure_order, order_table),
}


def _work(name: str, key: Key, quick: bool) -> list[Row]:
    part = PARTS[name]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [dict(zip(part.key, key, strict=True)) | row for row in part.measure(key, quick)]


def run(name: str, store: Path, quick: bool, processes: int) -> None:
    """Measure what the store does not have yet."""
    part = PARTS[name]
    done = set(pd.read_csv(store)[list(part.key)].itertuples(index=False, name=None)) if store.exists() else set()
    jobs = [key for key in part.jobs(quick) if key not in done]
    store.parent.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting = [pool.submit(_work, name, key, quick) for key in jobs]
        for number, (key, future) in enumerate(zip(jobs, waiting, strict=True), 1):
            rows = pd.DataFrame(future.result())
            rows.to_csv(store, mode="a", header=not store.exists(), index=False, float_format="%.5f")
            print(f"{name} {number}/{len(jobs)}: {', '.join(map(str, key))}", file=sys.stderr, flush=True)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few scenes; nothing is kept in docs")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the tables again")
    parser.add_argument("--only", choices=PARTS, help="one part")
    parser.add_argument("--processes", type=int, default=usable_cores(), help="default: all cores")
    options = parser.parse_args()
    folder = ROOT / "benchmarks" / "results" if options.quick else ROOT / "docs" / "benchmarks"
    for name, part in PARTS.items():
        if options.only not in (None, name):
            continue
        store = folder / f"replication_{name}.csv"
        if (options.fresh or options.quick) and not options.page:
            store.unlink(missing_ok=True)
        if not options.page:
            run(name, store, options.quick, options.processes)
        rows = pd.read_csv(store)
        lines = part.table(rows)
        print("\n".join(lines))
        if not options.quick:
            write_parts(ROOT / "docs" / "benchmarks.md", {f"replication {name}": "\n".join(lines)})
            if name == "audit":
                write_parts(ROOT / "docs" / "trust.md", {"trust-audit": "\n".join(audit_widths(rows))})


if __name__ == "__main__":
    main()
