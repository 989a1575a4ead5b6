"""Affinity on real data, in turns with ``silhouette_samples`` on the same rows and labels.

``python benchmarks/run.py --only real_data`` takes some minutes. MNIST test images with ``ALLEGIANCE_DATA``, else the
digits of scikit-learn; docstrings of installed packages as TF-IDF vectors, reduced to 384 columns. Labels are those of
k-means. The exponent is the slope of log time against log k. Each row lists how many points were walked and how many
did not reach ``eps``. Coverage compares 95% intervals with counts of uniform points in NumPy, and those of walked
points with walks of four times the precision.
"""

import ast
import sysconfig
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import silhouette_samples
from sklearn.preprocessing import normalize

from _report import Row, faster_row, side_by_side
from allegiance import AffinityResult, AffinityScorer, affinity
from allegiance.engines import HitAndRun, Queries, Tessellation
from speed import Floats, load_images, trust_rows

#: How many times faster than the silhouette we aim to be with the default influence, by number of clusters.
TARGETS = {10: 10.0, 50: 4.0, 100: 2.0, 200: 1.0, 500: 0.5}
#: The exponent of the cost in k that we allow ourselves.
LARGEST_EXPONENT = 1.5
LEAST_COVERAGE = 0.94
#: Points whose intervals are compared, walked ones, and hits that a point needs in the reference.
COVERAGE_POINTS, WALKED_POINTS, REFERENCE_HITS = 200, 32, 1000.0


def run(quick: bool) -> list[Row]:
    """Do all jobs."""
    warnings.simplefilter("ignore")
    turns, numbers = (1, (10, 50)) if quick else (3, tuple(TARGETS))
    name, X = load_images()
    X = X[: 2000 if quick else None].astype(np.float32)
    labels = {k: cluster(X, k) for k in numbers}
    rows = [compare(f"{name} {_shape(X)}, k = {k}", X, labels[k], turns, TARGETS[k]) for k in numbers]
    times = [row.ours for row in rows]
    exponent = float(np.polyfit(np.log(numbers), np.log(times), 1)[0])
    rows.append(
        _measured(
            f"{name}: exponent of the cost in k", exponent, exponent <= LARGEST_EXPONENT, f"<= {LARGEST_EXPONENT}"
        )
    )
    digits = load_digits()
    rows.append(compare(f"digits {_shape(digits.data)}, k = 10", digits.data, digits.target, turns))
    rows += trust_rows(digits.data, 10, f"digits {_shape(digits.data)}, k = 10")
    texts = docstrings(2000 if quick else 20_000)
    topics = cluster(texts, 20 if quick else 100)
    for influence in ("cosine", "within"):
        what = f"docstrings {_shape(texts)}, k = {topics.max() + 1}, {influence}"
        rows.append(compare(what, texts, topics, turns, 1.0, influence=influence))
    sets = [(f"{name}, k = {k}", X, labels[k]) for k in numbers if k in (50, 100, 200)]
    for what, points, codes in [*sets, (f"docstrings, k = {topics.max() + 1}", texts, topics)]:
        for influence in ("within", "euclidean"):
            rows += [_coverage_row(f"{what}, {influence}", coverage(points, codes, influence, 2 if quick else 10))]
            walked = walked_coverage(points, codes, influence)
            if not np.isnan(walked):
                rows += [_coverage_row(f"walked points of {what}, {influence}", walked)]
    return rows


def compare(what: str, X: Floats, labels: Any, turns: int, at_least: float | None = None, **settings: Any) -> Row:
    """Time one job and the silhouette in turns."""
    result = affinity(X, labels, **settings)
    tasks = {"ours": lambda: affinity(X, labels, **settings), "silhouette": lambda: silhouette_samples(X, labels)}
    times = side_by_side(tasks, turns, warm_up=False)
    walked = int((result.frame(details=True)["engine"] == "hit-and-run").sum())
    imprecise = int((1.96 * result.standard_error.max(axis=1) > 0.0301).sum())
    return faster_row(
        f"affinity, {what} ({walked} walked, {imprecise} above eps)", times["ours"], "silhouette_samples",
        times["silhouette"], at_least, walked=walked, imprecise=imprecise,
    )  # fmt: skip


def coverage(X: Floats, labels: Any, influence: str, seeds: int) -> float:
    """Return how many 95% intervals of shares above 1% hold, at some points and several seeds.

    The reference counts uniform points in NumPy, with no code of the engines; its own error is allowed for. Points that
    hardly any of them hit are left out: these are walked, see :func:`walked_coverage`.
    """
    some = X[:: max(len(X) // COVERAGE_POINTS, 1)][:COVERAGE_POINTS]
    scorers = [AffinityScorer(influence=influence, random_state=seed).fit(X, labels) for seed in range(seeds)]
    fitted = scorers[0].fitted_
    queries = fitted.tessellation.queries(fitted.diagram.locate(some).position)
    counts = count_stolen(fitted.tessellation, queries)
    hits = counts.sum(axis=1, keepdims=True)
    truth = counts / np.maximum(hits, 1.0)
    shares = (truth > 0.01) & (hits >= REFERENCE_HITS)
    error = np.sqrt(truth * (1.0 - truth) / np.maximum(hits, 1.0))
    held = []
    for scorer in scorers:
        result = scorer.affinity(some)
        inside = np.abs(result.affinity - truth) <= 1.96 * np.hypot(result.standard_error, error)
        held.append(inside[shares].mean())
    return float(np.mean(held))


def count_stolen(tessellation: Tessellation, queries: Queries) -> Floats:
    """Return how many uniform points each query takes from each site (n, k); the median query takes 10,000."""
    a, b, query_a, query_b = (np.asarray(part, np.float32) for part in (*tessellation.functions, *queries[:2]))
    rng = np.random.default_rng(12345)
    counts = np.zeros((len(query_a), len(a)))
    while np.median(counts.sum(axis=1)) < 10 * REFERENCE_HITS:
        points = rng.random((2**14, a.shape[1]), dtype=np.float32) * 2.0 - 1.0
        values = points @ a.T - b
        point, query = np.nonzero(points @ query_a.T - query_b >= values.max(axis=1, keepdims=True))
        np.add.at(counts, (query, values.argmax(axis=1)[point]), 1.0)
    return counts


def walked_coverage(X: Floats, labels: Any, influence: str, seeds: int = 3) -> float:
    """Return how many 95% intervals of shares above 1% hold at points that are walked, NaN if there are none.

    The reference is a walk with a quarter of the error, which is allowed for.
    """
    walked = affinity(X, labels, influence=influence).frame(details=True)["engine"] == "hit-and-run"
    some = X[np.flatnonzero(walked)[:WALKED_POINTS]]
    if not len(some):
        return float("nan")

    def walk(eps: float, seed: int, max_samples: int) -> AffinityResult:
        engine = HitAndRun(max_samples=max_samples)
        scorer = AffinityScorer(influence=influence, engine=engine, eps=eps, random_state=seed)
        return scorer.fit(X, labels).affinity(some)

    precise = walk(0.0075, 99, 10**9)
    held = []
    for seed in range(seeds):
        plain = walk(0.03, seed, 2**27 // (int(labels.max()) + 1))
        error = np.hypot(plain.standard_error, precise.standard_error)
        held.append((np.abs(plain.affinity - precise.affinity) <= 1.96 * error)[precise.affinity > 0.01].mean())
    return float(np.mean(held))


def docstrings(n: int) -> Floats:
    """Return n docstrings of the installed packages, as directions in 384 dimensions."""
    texts: dict[str, None] = {}
    for path in sorted(Path(sysconfig.get_paths()["purelib"]).glob("*/**/*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                text = ast.get_docstring(node) or ""
                texts |= {text: None} if len(text) > 200 else {}
        if len(texts) > 1.5 * n:
            break
    rows = np.random.default_rng(0).permutation(len(texts))[:n]
    everything = list(texts)
    counts = TfidfVectorizer(min_df=5, sublinear_tf=True, stop_words="english")
    words = counts.fit_transform([everything[i] for i in rows])
    reduced = TruncatedSVD(min(384, words.shape[1] - 1), random_state=0).fit_transform(words)
    return np.asarray(normalize(reduced), dtype=np.float32)


def cluster(X: Floats, k: int) -> Any:
    """Return the labels of k-means."""
    return KMeans(k, n_init=1, max_iter=20, random_state=0).fit_predict(X)


def _shape(X: Floats) -> str:
    return f"{X.shape[0]:,} x {X.shape[1]}"


def _coverage_row(what: str, share: float) -> Row:
    return _measured(f"coverage of 95% intervals, {what}", share, share >= LEAST_COVERAGE, f">= {LEAST_COVERAGE}")


def _measured(what: str, value: float, met: bool, target: str) -> Row:
    return Row(what, value, "", target=target, met=met)
