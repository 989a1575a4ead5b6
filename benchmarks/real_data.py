"""Affinity on real data, in turns with ``silhouette_samples`` on the same rows and labels.

``python benchmarks/run.py --only real_data`` takes some minutes. MNIST test images with ``ALLEGIANCE_DATA``, else the
digits of scikit-learn; docstrings of installed packages as TF-IDF vectors, reduced to 384 columns. Labels are those of
k-means. The exponent is the slope of log time against log k. Each row lists how many points were walked and how many
did not reach ``eps``. Coverage compares 95% intervals with walks of four times the precision.
"""

from __future__ import annotations

import ast
import gzip
import os
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

from _report import Row, faster_row
from _side_by_side import side_by_side
from allegiance import AffinityScorer, affinity
from allegiance.engines import HitAndRun
from speed import Floats

#: How many times faster than the silhouette we aim to be with the default influence, by number of clusters.
TARGETS = {10: 10.0, 50: 4.0, 100: 2.0, 200: 1.0, 500: 0.5}
#: The exponent of the cost in k that we allow ourselves.
LARGEST_EXPONENT = 1.5
LEAST_COVERAGE = 0.94
COVERAGE_POINTS = 300


def run(quick: bool) -> list[Row]:
    """Do all jobs."""
    warnings.simplefilter("ignore")
    turns, numbers = (1, (10, 50)) if quick else (3, tuple(TARGETS))
    name, X = images()
    X = X[:2000] if quick else X
    labels = {k: cluster(X, k) for k in numbers}
    rows = [compare(f"{name} {_shape(X)}, k = {k}", X, labels[k], turns, TARGETS[k]) for k in numbers]
    times = [row.ours for row in rows]
    exponent = float(np.polyfit(np.log(numbers), np.log(times), 1)[0])
    rows.append(_measured(f"{name}: exponent of the cost in k", exponent, exponent <= LARGEST_EXPONENT, "<= 1.5"))
    for k in (k for k in numbers if k in (50, 100, 200)):
        share = coverage(X, labels[k])
        rows.append(_measured(f"{name}: coverage of 95% intervals, k = {k}", share, share >= LEAST_COVERAGE, ">= 0.94"))
    digits = load_digits()
    rows.append(compare(f"digits {_shape(digits.data)}, k = 10", digits.data, digits.target, turns))
    texts = docstrings(2000 if quick else 20_000)
    topics = cluster(texts, 20 if quick else 100)
    for influence in ("cosine", "within"):
        what = f"docstrings {_shape(texts)}, k = {topics.max() + 1}, {influence}"
        rows.append(compare(what, texts, topics, turns, 1.0, influence=influence))
    return rows


def compare(what: str, X: Floats, labels: Any, turns: int, at_least: float | None = None, **settings: Any) -> Row:
    """Time one job and the silhouette in turns."""
    result = affinity(X, labels, **settings)
    tasks = {"ours": lambda: affinity(X, labels, **settings), "silhouette": lambda: silhouette_samples(X, labels)}
    times = side_by_side(tasks, turns, warm_up=False)
    walked = int((result.frame(details=True)["engine"] == "hit-and-run").sum())
    imprecise = int((1.96 * result.standard_error.max(axis=1) > 0.0301).sum())
    return faster_row(
        f"affinity, {what} ({walked} walked, {imprecise} above eps)", times["ours"].best, "silhouette_samples",
        times["silhouette"].best, at_least, walked=walked, imprecise=imprecise,
    )  # fmt: skip


def coverage(X: Floats, labels: Any, seeds: int = 4) -> float:
    """Return how many 95% intervals of shares above 1% hold, at 300 points and several seeds.

    The reference is a walk of four times the precision, which has nothing in common with shared samples; its own error
    is allowed for.
    """
    some = X[:: max(len(X) // COVERAGE_POINTS, 1)][:COVERAGE_POINTS]
    walk = HitAndRun(max_samples=10**9)
    precise = AffinityScorer(engine=walk, eps=0.0075, random_state=99).fit(X, labels).affinity(some)
    shares = precise.affinity > 0.01
    held = []
    for seed in range(seeds):
        plain = AffinityScorer(random_state=seed).fit(X, labels).affinity(some)
        error = np.hypot(plain.standard_error, precise.standard_error)
        held.append((np.abs(plain.affinity - precise.affinity) <= 1.96 * error)[shares].mean())
    return float(np.mean(held))


def images() -> tuple[str, Floats]:
    """Return the name and rows of the images."""
    path = Path(os.environ.get("ALLEGIANCE_DATA", "")) / "mnist" / "t10k-images-idx3-ubyte.gz"
    if not path.is_file():
        return "digits", load_digits().data
    pixels = np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=16)
    return "MNIST", pixels.reshape(-1, 784).astype(np.float32)


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
        if len(texts) > 4 * n:
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


def _measured(what: str, value: float, met: bool, target: str) -> Row:
    return Row(what, value, "", target=target, met=met)
