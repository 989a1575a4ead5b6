"""Which rule names the right number of clusters, and none where there are none: the trials behind ``stability_curve``.

``python benchmarks/number_of_clusters.py`` draws 144 sets of round blobs and 40 sets without clusters, measures trust
above chance in each and in reference data, and prints how often each rule is right: on the sets with even numbers, by
which the rule was chosen, and on those with odd numbers, which confirm it. ``--seed 20`` draws other sets.

Thousands of k-means runs on a few hundred points spend their time in scikit-learn's checks, so trials have a compiled
k-means of their own: some minutes instead of an hour. ``--library`` asks ``stability_curve`` itself instead.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score
from threadpoolctl import threadpool_limits

from allegiance import stability_curve
from allegiance._kernels.jit import jit
from allegiance.applications import reference_axes, uniform_in_box

Floats = npt.NDArray[np.float64]
TRUE_K = (3, 4, 5, 8)
DIMENSIONS = (2, 3, 5, 10)
SEPARATIONS = (8.0, 6.0, 4.5)
RESAMPLES, STARTS, REFERENCES = 20, 5, 10
TIE = 0.02


class Data(NamedTuple):
    """One set of points; without clusters if k is 0."""

    number: int
    kind: str
    k: int
    X: Floats

    @property
    def sizes(self) -> range:
        """The numbers of clusters that are tried."""
        return range(2, 11) if self.k else range(2, 9)


def blobs(k: int, d: int, separation: float, seed: int) -> Floats:
    """Draw 60 points around each of k centres that are at least ``separation`` standard deviations apart."""
    rng = np.random.default_rng([k, d, seed])
    side = 1.2 * separation * k ** (1 / d)
    centers = np.empty((0, d))
    while len(centers) < k:
        candidate = rng.uniform(0, side, d)
        if (np.linalg.norm(centers - candidate, axis=1) >= separation).all():
            centers = np.vstack([centers, candidate])
        side *= 1.001
    return np.repeat(centers, 60, axis=0) + rng.normal(size=(60 * k, d))


def data_sets(seed: int) -> Iterator[Data]:
    """Draw all sets: 144 of blobs, 40 without clusters."""
    number = 0
    for separation in SEPARATIONS:
        for d in DIMENSIONS:
            for k in TRUE_K:
                for draw in range(seed, seed + 3):
                    yield Data(number, f"{separation} | {d}", k, blobs(k, d, separation, draw))
                    number += 1
    for kind in ("uniform", "normal"):
        for d in (2, 10):
            for draw in range(seed, seed + 10):
                X = getattr(np.random.default_rng([d, draw]), kind)(size=(300, d))
                yield Data(number, f"{kind}, {d}-D", 0, X)
                number += 1


@jit()
def _squared(X: Floats, row: int, center: Floats) -> float:
    total = 0.0
    for j in range(X.shape[1]):
        total += (X[row, j] - center[j]) ** 2
    return total


@jit()
def _nearest(X: Floats, row: int, centers: Floats) -> tuple[int, float]:
    best, least = 0, np.inf
    for c in range(centers.shape[0]):
        away = _squared(X, row, centers[c])
        if away < least:
            best, least = c, away
    return best, least


@jit()
def _seeds(X: Floats, k: int, rng: np.random.Generator) -> Floats:
    """Draw seeds by greedy k-means++."""
    n = X.shape[0]
    centers, near = np.empty((k, X.shape[1])), np.full(n, np.inf)
    for c in range(k):
        best, chosen = np.inf, rng.integers(0, n)
        for _ in range(2 + int(np.log(k)) if c else 0):
            left, candidate = rng.random() * near.sum(), n - 1
            for i in range(n):
                left -= near[i]
                if left <= 0:
                    candidate = i
                    break
            total = 0.0
            for i in range(n):
                total += min(near[i], _squared(X, i, X[candidate]))
            if total < best:
                best, chosen = total, candidate
        centers[c] = X[chosen]
        for i in range(n):
            near[i] = min(near[i], _squared(X, i, centers[c]))
    return centers


@jit()
def _kmeans(X: Floats, k: int, rng: np.random.Generator) -> tuple[Floats, npt.NDArray[np.int64], float]:
    """Return centres, labels and inertia of one start."""
    centers, labels = _seeds(X, k, rng), np.full(X.shape[0], -1)
    inertia, changed = 0.0, True
    for _ in range(300):
        changed, inertia = False, 0.0
        sums, sizes = np.zeros(centers.shape), np.zeros(k)
        for i in range(X.shape[0]):
            c, away = _nearest(X, i, centers)
            changed = changed or labels[i] != c
            labels[i] = c
            inertia += away
            sizes[c] += 1
            sums[c] += X[i]
        if not changed:
            break
        for c in range(k):
            if sizes[c] > 0:
                centers[c] = sums[c] / sizes[c]
    return centers, labels, inertia


@jit()
def _above_chance(X: Floats, k: int, resamples: int, starts: int, rng: np.random.Generator) -> Floats:
    """Return trust above chance for each half, as ``stability_curve`` defines it."""
    n = X.shape[0]
    labels, least = np.zeros(n, np.int64), np.inf
    for _ in range(starts):
        _, found, inertia = _kmeans(X, k, rng)
        if inertia < least:
            labels, least = found, inertia
    kept, chance = np.zeros(resamples), 0.0
    for r in range(resamples):
        order = rng.permutation(n)
        centers = _kmeans(X[order[: n // 2]], k, rng)[0]
        new, common = np.empty(n, np.int64), np.zeros((k, k))
        for i in range(n):
            new[i] = _nearest(X, i, centers)[0]
            common[labels[i], new[i]] += 1
        old_sizes, new_sizes = common.sum(axis=1), common.sum(axis=0)
        for i in order[n // 2 :]:
            kept[r] += 2 * common[labels[i], new[i]] / (old_sizes[labels[i]] + new_sizes[new[i]])
        kept[r] /= n - n // 2
        for p in old_sizes / n:
            for q in new_sizes / n:
                if p * q > 0:
                    chance += 2 * (p * q) ** 2 / (p + q) / resamples
    return (kept - chance) / (1 - chance)


def measure(data: Data) -> Floats:
    """Return trust above chance (1 + references, sizes, resamples) of the data and of its reference draws."""
    axes = reference_axes(data.X)
    rngs = [np.random.default_rng([data.number, draw, 3]) for draw in range(REFERENCES)]
    draws = [data.X, *(uniform_in_box(data.X, axes, rng) for rng in rngs)]
    trust = np.empty((len(draws), len(data.sizes), RESAMPLES))
    for draw, X in enumerate(draws):
        for i, k in enumerate(data.sizes):
            rng = np.random.default_rng([data.number, draw, k])
            trust[draw, i] = _above_chance(np.ascontiguousarray(X), k, RESAMPLES, STARTS, rng)
    return trust


def largest_tie(trust: Floats) -> int:
    """Return the position of the largest k that ties with the best."""
    return int(np.flatnonzero(trust >= trust.max() - TIE)[-1])


def within_errors(halves: Floats) -> int:
    """Return the position of the largest k within two standard errors of the best mean."""
    mean, error = halves.mean(axis=1), halves.std(axis=1, ddof=1) / np.sqrt(halves.shape[1])
    best = mean.argmax()
    return int(np.flatnonzero(mean >= mean[best] - 2 * np.hypot(error, error[best]))[-1])


def above_all(medians: Floats) -> int | None:
    """Return the largest tie if the best is above all references at any k."""
    return largest_tie(medians[0]) if medians[0].max() > medians[1:].max() else None


def standing_out(medians: Floats, measure_of: Callable[[Floats, Floats], float]) -> int | None:
    """Return the largest tie if it stands out from the references more than any of them from the others."""
    references = medians[1:]
    own = [measure_of(one, np.delete(references, i, axis=0)) for i, one in enumerate(references)]
    return largest_tie(medians[0]) if measure_of(medians[0], references) > max(own) else None


def deviations(trust: Floats, references: Floats) -> float:
    """Return the excess over the reference at the largest tie, in standard deviations."""
    column = references[:, largest_tie(trust)]
    return float((trust[largest_tie(trust)] - column.mean()) / np.hypot(column.std(ddof=1), 0.03))


def contrast(trust: Floats, references: Floats) -> float:
    """Return how many times less doubt there is than in the reference at the largest tie."""
    chosen = largest_tie(trust)
    return float((1 - np.median(references[:, chosen]) + TIE) / (1 - trust[chosen] + TIE))


#: Position of the k that a rule names, from trust above chance (1 + references, sizes, resamples).
RULES: dict[str, Callable[[Floats], int | None]] = {
    "largest mean over the halves": lambda trust: int(trust[0].mean(axis=1).argmax()),
    "largest median over the halves": lambda trust: int(np.median(trust[0], axis=1).argmax()),
    "largest k within two standard errors of the best mean": lambda trust: within_errors(trust[0]),
    "largest k within 0.02 of the best median": lambda trust: largest_tie(np.median(trust[0], axis=1)),
    "the same, if above all references at any k": lambda trust: above_all(np.median(trust, axis=2)),
    "the same, if its excess in deviations stands out": lambda trust: standing_out(
        np.median(trust, axis=2), deviations
    ),
    "the same, if its contrast stands out (chosen)": lambda trust: standing_out(np.median(trust, axis=2), contrast),
}


def by_silhouette(data: Data) -> int:
    """Return the number of clusters with the largest mean silhouette."""
    labels = {k: KMeans(k, n_init=STARTS, random_state=0).fit_predict(data.X) for k in data.sizes}
    return max(labels, key=lambda k: float(silhouette_score(data.X, labels[k])))


def by_library(data: Data) -> int | None:
    """Return what ``stability_curve`` suggests."""
    clusterer = KMeans(n_init=STARTS)
    return stability_curve(data.X, clusterer, data.sizes, n_references=REFERENCES).suggestion


class Found(NamedTuple):
    """What each rule said about one set."""

    data: Data
    named: dict[str, int | None]

    def right(self, rule: str) -> bool:
        """Tell whether a rule named the right number, or nothing where there is nothing."""
        return self.named[rule] == (self.data.k or None)


def ask(data: Data, library: bool) -> Found:
    """Ask every rule about one set."""
    named: dict[str, int | None] = {"silhouette": by_silhouette(data)}
    if library:
        return Found(data, named | {"stability_curve": by_library(data)})
    trust = measure(data)
    for name, rule in RULES.items():
        position = rule(trust)
        named[name] = None if position is None else data.sizes[position]
    return Found(data, named)


def print_rules(found: list[Found]) -> None:
    """Print how often each rule is right on even and odd sets."""
    print("| rule | right: even, odd | suggestions without clusters: even, odd |\n|---|---|---|")
    for rule in found[0].named:
        cells = []
        for with_clusters in (True, False):
            sets = [one for one in found if bool(one.data.k) == with_clusters]
            counts = [[one.right(rule) for one in sets if one.data.number % 2 == side] for side in (0, 1)]
            shown = [sum(half) if with_clusters else len(half) - sum(half) for half in counts]
            cells.append(f"{shown[0]} of {len(counts[0])}, {shown[1]} of {len(counts[1])}")
        print(f"| {rule} | {' | '.join(cells)} |")


def print_kinds(found: list[Found], rule: str) -> None:
    """Print for each kind of data how often one rule and the silhouette are right."""
    print("\n| separation | dimensions | right | silhouette right | wrong: true -> suggested |\n|---|---|---|---|---|")
    for kind in dict.fromkeys(one.data.kind for one in found if one.data.k):
        sets = [one for one in found if one.data.kind == kind]
        wrong = ", ".join(f"{one.data.k} -> {one.named[rule]}" for one in sets if not one.right(rule))
        counts = [f"{sum(one.right(name) for one in sets)} of {len(sets)}" for name in (rule, "silhouette")]
        print(f"| {kind} | {' | '.join(counts)} | {wrong} |")
    print("\n| no clusters | no suggestion | suggested |\n|---|---|---|")
    for kind in dict.fromkeys(one.data.kind for one in found if not one.data.k):
        sets = [one for one in found if one.data.kind == kind]
        named = ", ".join(str(one.named[rule]) for one in sets if not one.right(rule))
        print(f"| {kind} | {sum(one.right(rule) for one in sets)} of {len(sets)} | {named} |")


def main() -> None:
    """Draw the sets, ask the rules, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=10, help="first of the seeds of the sets")
    parser.add_argument("--library", action="store_true", help="ask stability_curve itself, which takes longer")
    arguments = parser.parse_args()
    with threadpool_limits(1):  # sets are small
        found = [ask(data, arguments.library) for data in data_sets(arguments.seed)]
    print_rules(found)
    print_kinds(found, list(found[0].named)[-1])


if __name__ == "__main__":
    main()
