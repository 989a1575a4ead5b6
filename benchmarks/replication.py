"""Do labels come back as often as trust says? ``python benchmarks/replication.py [--quick] [--fresh] [--only PART]``.

Four parts, each with its own table in ``docs/benchmarks.md``:

- ``repeats``: populations that are large enough for disjoint samples. One sample is clustered and gets its trust; the
  others are clustered in the same way, the points of the first are placed in their clusters and matched. So the share
  that comes back, and how often each label does, is known without classes.
- ``audit``: labelled data. Labels are right if their class is that of most of their cluster. How often does the 95 %
  interval of an audit hold the true share?
- ``rows``: what a limit on the rows of a subsample costs, at 20,000 rows.
- ``order``: the cells of the study (``benchmarks/study.py``). Does the order of review find wrong labels, beside the
  scores that the study has measured on the same clusterings?

Results go to ``docs/benchmarks/replication_*.csv`` as they come, and a run that was stopped continues where it was.
``--quick`` takes a few scenes and prints only. Everything runs on one thread.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

from _machine import ROOT
from _marked_page import write_parts
from allegiance import Calibration, trust
from allegiance.calibration import matches
from quality._datasets import UnavailableError, all_sets
from quality._misassigned import by_majority
from quality._peers import PEER_SCORES

REPEATS = 16
SIZES = (3, 12, 6, 26)
#: A scene needs this many points for each cluster.
ROWS_PER_CLUSTER = 12
MOST_ROWS = 800
AUDITS = (20, 50, 100)
AUDIT_DRAWS = 200
ORDER_SEEDS = 2
Floats = np.ndarray[Any, np.dtype[np.float64]]


class Population(NamedTuple):
    """Where samples come from."""

    name: str
    kind: str
    """"choosing" if the prototype of the estimator was tried on it, else "confirming"."""
    structure: bool
    """Whether it has clusters at all."""
    classes: int
    draw: Callable[[int], Iterator[Floats]]
    """Yields disjoint samples."""


# --- populations -------------------------------------------------------------------------------------------------


def populations() -> list[Population]:
    """Return every population that is at hand."""
    found = [
        _generated("blobs, 10 in 20-D", "choosing", _blobs(10, 20, 6.0)),
        _generated("Gaussian, 10-D", "choosing", lambda rng, n: rng.normal(size=(n, 10)), structure=False),
        _generated("uniform, 5-D", "choosing", lambda rng, n: rng.uniform(size=(n, 5)), structure=False),
        _generated("heavy tails, 5-D", "confirming", lambda rng, n: rng.standard_t(3, size=(n, 5)), structure=False),
        _generated("blobs, 4 in 5-D", "confirming", _blobs(4, 5, 4.0)),
        _generated("blobs, 6 unequal in 3-D", "confirming", _blobs(6, 3, 4.0, imbalance=8.0)),
        _generated("stretched blobs, 5 in 8-D", "confirming", _blobs(5, 8, 5.0, stretch=5.0)),
        _generated("blobs, 12 in 2-D", "confirming", _blobs(12, 2, 3.5)),
        _generated("correlated Gaussian, 6-D", "confirming", _correlated, structure=False),
    ]
    for name, kind in (
        ("mnist", "choosing"),
        ("letter", "choosing"),
        ("satimage", "choosing"),
        ("segment", "choosing"),
        ("digits", "confirming"),
        ("yeast", "confirming"),
        ("breast_cancer", "confirming"),
    ):
        try:
            X, k = _whole(name)
        except UnavailableError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        found.append(Population(name, kind, True, k, lambda seed, X=X: _disjoint(X, seed)))
    return found


def _generated(name: str, kind: str, draw: Callable[[Any, int], Floats], structure: bool = True) -> Population:
    def samples(seed: int) -> Iterator[Floats]:
        for number in range(REPEATS + 1):
            yield draw(np.random.default_rng([seed, number]), 600)

    k = int(re.findall(r"\d+", name)[0]) if structure else 0
    return Population(name, kind, structure, k, samples)


def _blobs(k: int, d: int, separation: float, imbalance: float = 1.0, stretch: float = 1.0) -> Callable[..., Floats]:
    """Return a function that draws from one mixture, which its parameters decide."""
    rng = np.random.default_rng([k, d])
    centers = rng.normal(size=(k, d)) * separation / np.sqrt(2)
    shares = np.geomspace(1.0, imbalance, k)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    shape = turn * np.geomspace(stretch**-0.5, stretch**0.5, d)

    def draw(rng: Any, n: int) -> Floats:
        which = rng.choice(k, n, p=shares / shares.sum())
        return centers[which] + rng.normal(size=(n, d)) @ shape.T

    return draw


def _correlated(rng: Any, n: int) -> Floats:
    return rng.normal(size=(n, 6)) @ np.linalg.cholesky(0.7 * np.ones((6, 6)) + 0.3 * np.eye(6)).T


@cache
def _whole(name: str) -> tuple[Floats, int]:
    """Return all rows of a labelled set, prepared as in the study, and its number of classes."""
    from quality import _datasets as data

    for one in all_sets(_folder()):
        if one.name == name:
            load, scaled = one.draw.args[0], one.draw.keywords["scaled"]
            X, target = load()
            return data._prepared(np.asarray(X, float), scaled), len(set(map(str, target)))
    raise UnavailableError(f"{name}: not at hand")


def _folder() -> Path | None:
    import os

    found = os.environ.get("ALLEGIANCE_DATA")
    return Path(found) / "tables" if found and (Path(found) / "tables").is_dir() else None


def _disjoint(X: Floats, seed: int) -> Iterator[Floats]:
    order = np.random.default_rng(seed).permutation(len(X))
    n = min(MOST_ROWS, len(X) // (REPEATS + 1))
    for number in range(REPEATS + 1):
        yield X[order[number * n : (number + 1) * n]]


# --- repeats -----------------------------------------------------------------------------------------------------

CLUSTERERS: dict[str, Callable[[int], Any]] = {
    "k-means": lambda k: KMeans(k, n_init=5),
    "mixture": lambda k: GaussianMixture(k, reg_covar=1e-3, n_init=1),
    "Ward": AgglomerativeClustering,
}


def scenes(quick: bool) -> Iterator[tuple[Population, str, int, Any]]:
    """Yield population, name of the clusterer, number of clusters and the clusterer."""
    everything = populations()
    if quick:
        everything = [one for one in everything if one.name in ("blobs, 4 in 5-D", "Gaussian, 10-D", "digits")]
    else:
        yield from _odd_scenes()
    # A run that was stopped has seen all populations with the first numbers of clusters.
    for place in range(1 if quick else len(SIZES) + 1):
        for population in everything:
            k = SIZES[place] if place < len(SIZES) else population.classes
            n = len(next(population.draw(0)))
            if k * ROWS_PER_CLUSTER > n or (place == len(SIZES) and k in (0, *SIZES)):
                continue
            for name, make in CLUSTERERS.items():
                yield population, name, k, make(k)


def _odd_scenes() -> Iterator[tuple[Population, str, int, Any]]:
    """Yield clusterings that k-means, mixtures and Ward cannot make."""
    from sklearn.datasets import make_circles

    rings = _generated(
        "rings 2",
        "confirming",
        lambda rng, n: make_circles(n, factor=0.4, noise=0.06, random_state=int(rng.integers(2**31)))[0],
    )
    spectral = SpectralClustering(2, affinity="nearest_neighbors", n_neighbors=10)
    yield rings, "spectral", 2, spectral
    flat = _generated("blobs, 5 in 2-D", "confirming", _blobs(5, 2, 7.0))
    yield flat, "HDBSCAN", 5, HDBSCAN(min_cluster_size=15, copy=True)
    yield flat, "average", 5, AgglomerativeClustering(5, linkage="average")
    cloud = next(one for one in populations() if one.name == "Gaussian, 10-D")
    yield cloud, "average", 3, AgglomerativeClustering(3, linkage="average")


def labels_of(clusterer: Any, X: Floats, seed: int) -> tuple[Any, Any]:
    """Return a fitted clone and its labels, 0 to k - 1, -1 for noise."""
    fitted = clone(clusterer)
    if "random_state" in fitted.get_params():
        fitted.set_params(random_state=seed)
    found = np.asarray(fitted.fit_predict(X))
    codes = np.full(len(X), -1)
    codes[found >= 0] = np.unique(found[found >= 0], return_inverse=True)[1]
    return fitted, codes


def placed(fitted: Any, X: Floats, labels: Any, others: Floats) -> Any:
    """Return the clusters of other points: by ``predict``, or those of their nearest neighbours."""
    from sklearn.metrics import pairwise_distances_argmin

    if hasattr(fitted, "predict"):
        return fitted.predict(others)
    return labels[pairwise_distances_argmin(others, X)]


def measure_repeats(population: Population, clusterer: Any, seed: int, n_repeats: int) -> Iterator[dict[str, Any]]:
    """Yield what trust says about one sample, and what the repeats say: the clusterer known, and not known."""
    samples = population.draw(seed)
    X = next(samples)
    _, labels = labels_of(clusterer, X, seed)
    inner = labels >= 0
    if np.unique(labels[inner]).size < 2:
        return
    back = []
    for number, other in zip(range(n_repeats), samples, strict=False):
        fitted, found = labels_of(clusterer, other, seed + 1000 * (number + 1))
        back.append(matches(labels, placed(fitted, other, found, X)))
    frequency, shares = np.mean(back, axis=0), np.mean(np.array(back)[:, inner], axis=1)
    for mode, known in (("known", clusterer), ("stand-in", None)):
        started = time.process_time()
        result = trust(X, labels, clusterer=known, n_jobs=1)
        low, high = result.replication_interval
        says = result.trust
        ari = re.search(r"index ([\d.]+)\)", result.clusterer_note or "")
        stand_in = re.search(r"with (.*?), which stands", result.clusterer_note or "")
        yield {
            "mode": mode,
            "rows": len(X),
            "share": float(shares.mean()),
            "replication": result.replication,
            "low": low,
            "high": high,
            "held": float(np.mean((shares >= low) & (shares <= high))),
            "by_point": binned_error(says[inner], frequency[inner]),
            "brier": float(np.mean((says[inner] - np.array(back)[:, inner]) ** 2)),
            "by_cluster": cluster_error(says, frequency, labels),
            "warned": int(result.trust_map.warning is not None),
            "no_clusters": int(result.trust_map.normal_share is not None),
            "supported": float(np.mean(result.verdict[inner] == "supported")),
            "slope": float(min(result.trust_map.slopes)),
            "stand_in": stand_in.group(1) if stand_in else "",
            "ari": float(ari.group(1)) if ari else float("nan"),
            "seconds": time.process_time() - started,
        }


def binned_error(says: Floats, happens: Floats) -> float:
    """Return the mean difference of what is said and what happens over ten bins of what is said."""
    bins = np.minimum((10 * says).astype(int), 9)
    counts = np.bincount(bins, minlength=10)
    said, seen = (np.bincount(bins, values, 10) / np.maximum(counts, 1) for values in (says, happens))
    return float(counts @ np.abs(said - seen) / len(says))


def cluster_error(says: Floats, happens: Floats, labels: Any) -> float:
    """Return the mean difference by cluster, each cluster weighted by its size."""
    sizes = np.bincount(labels[labels >= 0])
    off = [abs(says[labels == c].mean() - happens[labels == c].mean()) for c in range(sizes.size)]
    return float(sizes @ np.array(off) / sizes.sum())


def run_repeats(store: Path, quick: bool) -> list[dict[str, Any]]:
    rows = _read(store)
    done = {(row["population"], row["clusterer"], row["k"]) for row in rows}
    for seed, (population, name, k, clusterer) in enumerate(scenes(quick)):
        if (population.name, name, k) in done:
            continue
        key = {"population": population.name, "kind": population.kind, "structure": int(population.structure)}
        key |= {"clusterer": name, "k": k}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [key | row for row in measure_repeats(population, clusterer, seed, 4 if quick else REPEATS)]
        _append(store, found)
        rows += found
        for row in found:
            said = f"{row['mode']}: {row['replication']:.2f}, repeats {row['share']:.2f}"
            print(f"{population.name}, {name}, k = {k}, {said}", file=sys.stderr)
    return rows


# --- audit -------------------------------------------------------------------------------------------------------


def run_audit(store: Path, quick: bool) -> list[dict[str, Any]]:
    """Audit labelled sets many times, with the answers that their classes give."""
    rows = _read(store)
    done = {(row["set"], row["clusterer"]) for row in rows}
    for data in all_sets(_folder()):
        if quick and data.name not in ("iris", "blobs", "digits"):
            continue
        try:
            X, classes = data.draw(0)
        except UnavailableError:
            continue
        for name in ("k-means", "mixture"):
            if (data.name, name) in done:
                continue
            k = int(classes.max()) + 1
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _, labels = labels_of(CLUSTERERS[name](k), X, 0)
                result = trust(X, labels, n_jobs=1)
            right = ~by_majority(labels, classes)
            found = [
                {"set": data.name, "clusterer": name, "rows": len(X), "right": float(right.mean())} | one
                for one in _audits(result, right, 40 if quick else AUDIT_DRAWS)
            ]
            _append(store, found)
            rows += found
            print(f"audit: {data.name}, {name}", file=sys.stderr)
    return rows


def _audits(result: Any, right: Any, draws: int) -> Iterator[dict[str, Any]]:
    from allegiance.calibration import wilson

    truth = right.mean()
    for m in AUDITS:
        for random in (1.0, 0.5):
            held, widths, plain, wrong = [], [], [], []
            better: list[tuple[float, float]] = []
            if m > 0.5 * right.size:
                continue
            for draw in range(draws):
                rows = result.audit_sample(m, random=random, random_state=draw)
                audit = result.audit(rows, right[rows])
                low, high = audit.interval
                held.append(low - 1e-12 <= truth <= high + 1e-12)
                widths.append(high - low)
                answers = right[rows.rows[rows.drawn == "random"]]
                ends = wilson(answers.mean(), answers.size)
                plain.append(ends[1] - ends[0])
                wrong.append(1 - right[rows.rows].mean())
                if draw < 10:
                    left = np.setdiff1d(np.arange(right.size), rows.rows)
                    better.append((_auroc(result.ranking[left], right[left]), _auroc(audit.trust[left], right[left])))
            before, after = np.nanmean(better, axis=0) if better else (np.nan, np.nan)
            yield {
                "m": m,
                "random": random,
                "held": float(np.mean(held)),
                "width": float(np.mean(widths)),
                "plain": float(np.mean(plain)),
                "found": float(np.mean(wrong)),
                "before": float(before),
                "after": float(after),
            }


def _auroc(score: Floats, right: Any) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(right, score)) if 0 < right.sum() < right.size else float("nan")


# --- rows of a subsample -----------------------------------------------------------------------------------------


def run_rows(store: Path, quick: bool) -> list[dict[str, Any]]:
    """Compare limits on the rows of a subsample with repeats of 20,000 rows."""
    rows = _read(store)
    n = 2000 if quick else 20_000
    sources = {
        "blobs, 10 in 20-D, k = 12": (_blobs(10, 20, 4.0), 12),
        "Gaussian, 5-D, k = 6": (lambda rng, n: rng.normal(size=(n, 5)), 6),
        "blobs, 4 in 5-D, k = 6": (_blobs(4, 5, 3.0), 6),
    }
    for name, (draw, k) in sources.items():
        if name in {row["population"] for row in rows}:
            continue
        X, clusterer = draw(np.random.default_rng([7, 0]), n), KMeans(k, n_init=3)
        _, labels = labels_of(clusterer, X, 0)
        shares = []
        for number in range(4 if quick else 8):
            fitted, _ = labels_of(clusterer, draw(np.random.default_rng([7, number + 1]), n), number + 1)
            shares.append(matches(labels, fitted.predict(X)).mean())
        for most in (500, 1000, 2000, 5000):
            from allegiance import AffinityScorer

            calibration = Calibration(clusterer=clusterer, rows_per_subsample=most)
            result = AffinityScorer(influence="within", calibration=calibration, n_jobs=1).fit_affinity(X, labels)
            row = {"population": name, "rows": n, "most": most, "share": float(np.mean(shares))}
            row |= {"replication": result.replication}
            _append(store, [row])
            rows.append(row)
        print(f"rows: {name}", file=sys.stderr)
    return rows


# --- order of review ---------------------------------------------------------------------------------------------


def run_order(store: Path, quick: bool) -> list[dict[str, Any]]:
    """Measure how well the order of review, and trust, find the labels that are wrong in the cells of the study."""
    from quality._cell import measures
    from quality._clusterers import CLUSTERERS as STUDY
    from quality._misassigned import by_matching

    rows = _read(store)
    done = {(row["set"], row["clusterer"], row["seed"]) for row in rows}
    for seed in range(1 if quick else ORDER_SEEDS):
        for data in all_sets(_folder()):
            if quick and data.name not in ("iris", "blobs", "digits"):
                continue
            try:
                X, classes = data.draw(seed)
            except UnavailableError:
                continue
            for name, cluster in STUDY.items():
                if (data.name, name, seed) in done:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    labels = cluster(X, int(classes.max()) + 1, seed).labels
                    result = trust(X, labels, n_jobs=1)
                wrong, unmatched = by_majority(labels, classes), by_matching(labels, classes)
                found: dict[str, Any] = {"set": data.name, "kind": data.kind, "clusterer": name, "seed": seed}
                for what, score in (("order", result.ranking), ("trust", result.trust)):
                    measured = measures(score, wrong, unmatched)
                    found |= {f"{what}_{key}": measured[key] for key in ("auroc", "ap", "matched_auroc")}
                _append(store, [found])
                rows.append(found)
            print(f"order: {data.name}, seed {seed}", file=sys.stderr)
    return rows


def order_table(rows: list[dict[str, Any]]) -> list[str]:
    """Return means over sets, and p values over sets against the order of review."""
    from scipy.stats import wilcoxon

    earlier = _read(ROOT / "docs" / "benchmarks" / "quality_scores.csv")
    stored = {(row["set"], row["clusterer"], row["seed"], row["score"]): row for row in earlier}
    names = dict.fromkeys(row["score"] for row in earlier)
    rivals = {name: name for name in names if name in (*PEER_SCORES, "own affinity + closeness", "former trust")}
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in rows:
        key = (row["set"], row["clusterer"], row["seed"])
        for measure in ("auroc", "ap", "matched_auroc"):
            cells = {"order of review": row[f"order_{measure}"], "trust": row[f"trust_{measure}"]}
            cells |= {name: stored[*key, score][measure] for name, score in rivals.items() if (*key, score) in stored}
            if all(cell == cell for cell in cells.values()) and len(cells) == 2 + len(rivals):
                for name, cell in cells.items():
                    values.setdefault((name, measure), {}).setdefault(row["set"], []).append(cell)
    lines = [
        "| score | AUROC | p | average precision | p | AUROC by matching | p |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in ("order of review", "trust", *rivals):
        cells = []
        for measure in ("auroc", "ap", "matched_auroc"):
            ours, theirs = (
                np.array([np.mean(found) for found in values.get((one, measure), {}).values()])
                for one in ("order of review", name)
            )
            cells.append(f"{theirs.mean():.3f}" if theirs.size else "")
            same = name == "order of review" or theirs.size < 6 or np.allclose(ours, theirs)
            cells.append("" if same else f"{wilcoxon(ours, theirs).pvalue:.3f}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    sets = values.get(("order of review", "auroc"), {})
    clusterings = sum(len(found) for found in sets.values())
    return [*lines, "", f"{len(sets)} sets, {clusterings} clusterings; p values by Wilcoxon's test over sets."]


# --- files and tables --------------------------------------------------------------------------------------------


def _read(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [{name: _value(text) for name, text in row.items()} for row in csv.DictReader(file)]


def _value(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


def _append(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    if not rows:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        if new:
            writer.writeheader()
        writer.writerows({k: round(v, 5) if isinstance(v, float) else v for k, v in row.items()} for row in rows)


def _mean(rows: Sequence[dict[str, Any]], name: str) -> float:
    values = [row[name] for row in rows if row[name] == row[name]]
    return float(np.mean(values)) if values else float("nan")


def repeats_table(rows: list[dict[str, Any]]) -> list[str]:
    """Return the tables of the part ``repeats``."""
    lines = [
        "| scenes | number | off, mean | off, 90 % quantile | signed | by point | by cluster | Brier "
        "| interval holds | worst tenth |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    usual = [row for row in rows if row["clusterer"] in CLUSTERERS]
    groups = [
        (f"clusterer {mode}, {kind} populations", [r for r in usual if r["mode"] == mode and r["kind"] == kind])
        for mode in ("known", "stand-in")
        for kind in ("choosing", "confirming")
    ]
    groups += [(f"clusterer {mode}, all", [r for r in usual if r["mode"] == mode]) for mode in ("known", "stand-in")]
    groups += [
        (f"{name}, stand-in", [r for r in usual if r["mode"] == "stand-in" and r["clusterer"] == name])
        for name in CLUSTERERS
    ]
    groups += [("no clusters in the data, known", [r for r in usual if r["mode"] == "known" and not r["structure"]])]
    for title, some in groups:
        if not some:
            continue
        off = np.array([row["replication"] - row["share"] for row in some])
        held = np.sort([row["held"] for row in some])
        worst = held[: max(len(held) // 10, 1)].mean()
        cells = [len(some), np.abs(off).mean(), np.quantile(np.abs(off), 0.9), off.mean()]
        cells += [_mean(some, name) for name in ("by_point", "by_cluster", "brier")] + [held.mean(), worst]
        lines.append(f"| {title} | {cells[0]} | " + " | ".join(f"{cell:.3f}" for cell in cells[1:]) + " |")
    lines += ["", "| scene | stand-in | ARI | warned | trust says | repeats |", "|---|---|---|---|---|---|"]
    for row in rows:
        if row["clusterer"] not in CLUSTERERS and row["mode"] == "stand-in":
            lines.append(
                f"| {row['population']}, {row['clusterer']} | {row['stand_in']} | {row['ari']:.2f} | "
                f"{'yes' if row['warned'] else 'no'} | {row['replication']:.2f} | {row['share']:.2f} |"
            )
    good = [r for r in rows if r["mode"] == "stand-in" and r["ari"] == r["ari"] and r["ari"] >= 0.6]
    off = np.mean([abs(r["replication"] - r["share"]) for r in good]) if good else float("nan")
    flat = [r for r in rows if r["mode"] == "known" and not r["structure"]]
    with_clusters = [r for r in usual if r["mode"] == "known" and r["structure"]]
    lines += [
        "",
        f"Stand-ins with an adjusted Rand index of at least 0.6 ({len(good)} scenes): off by {off:.3f} on average. "
        f"Lowest slope of any map: {min(r['slope'] for r in rows):.2f}. The remark that no more comes back than in "
        f"data without clusters: {sum(r['no_clusters'] for r in flat)} of {len(flat)} scenes without clusters, "
        f"{sum(r['no_clusters'] for r in with_clusters)} of {len(with_clusters)} of the others.",
    ]
    return lines


def audit_table(rows: list[dict[str, Any]]) -> list[str]:
    """Return the table of the part ``audit``."""
    lines = [
        "| labels looked at | drawn at random | clusterings | interval holds | lowest on a set | width "
        "| plain counting | wrong among them | AUROC before | after |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for random in (1.0, 0.5):
        for m in AUDITS:
            some = [row for row in rows if row["m"] == m and row["random"] == random]
            if not some:
                continue
            by_set = [np.mean([r["held"] for r in some if r["set"] == name]) for name in {r["set"] for r in some}]
            cells = [_mean(some, "held"), min(by_set)]
            cells += [_mean(some, name) for name in ("width", "plain", "found", "before", "after")]
            lines.append(
                f"| {m} | {m if random == 1 else m // 2} | {len(some)} | "
                + " | ".join(f"{cell:.3f}" for cell in cells)
                + " |"
            )
    return lines


def audit_widths(rows: list[dict[str, Any]]) -> list[str]:
    """Return the short table of docs/trust.md: how wide the interval is after how many labels."""
    lines = ["| labels looked at | all at random: width | half at random: width, wrong among them |", "|---|---|---|"]
    for m in AUDITS:
        whole, half = ([row for row in rows if row["m"] == m and row["random"] == share] for share in (1.0, 0.5))
        cells = [_mean(whole, "width"), _mean(half, "width")]
        lines.append(f"| {m} | {cells[0]:.2f} | {cells[1]:.2f}, {_mean(half, 'found'):.0%} |")
    return lines


def rows_table(rows: list[dict[str, Any]]) -> list[str]:
    """Return the table of the part ``rows``."""
    names = list(dict.fromkeys(row["population"] for row in rows))
    lines = ["| rows of a subsample, at most | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    for most in sorted({row["most"] for row in rows}):
        found = {row["population"]: row for row in rows if row["most"] == most}
        cells = [f"{found[name]['replication'] - found[name]['share']:+.3f}" if name in found else "" for name in names]
        lines.append(f"| {most:,} | " + " | ".join(cells) + " |")
    repeats = {row["population"]: row["share"] for row in rows}
    return [
        *lines,
        "| share that comes back in repeats | " + " | ".join(f"{repeats[name]:.3f}" for name in names) + " |",
    ]


PARTS = {
    "repeats": (run_repeats, repeats_table),
    "audit": (run_audit, audit_table),
    "rows": (run_rows, rows_table),
    "order": (run_order, order_table),
}


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few scenes; nothing is kept in docs")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the tables again")
    parser.add_argument("--only", choices=PARTS, help="one part")
    options = parser.parse_args()
    folder = ROOT / "benchmarks" / "results" if options.quick else ROOT / "docs" / "benchmarks"
    for name, (run, table) in PARTS.items():
        if options.only not in (None, name):
            continue
        store = folder / f"replication_{name}.csv"
        if options.fresh or options.quick:
            store.unlink(missing_ok=True)
        with threadpool_limits(1):
            rows = _read(store) if options.page else run(store, options.quick)
        lines = table(rows)
        print("\n".join(lines))
        if not options.quick:
            write_parts(ROOT / "docs" / "benchmarks.md", {f"replication {name}": "\n".join(lines)})
            if name == "audit":
                write_parts(ROOT / "docs" / "trust.md", {"trust-audit": "\n".join(audit_widths(rows))})


if __name__ == "__main__":
    main()
