"""How often ``compare_periods`` raises a false alarm and detects changes: the trials of ``docs/drift.md``.

``python benchmarks/drift.py`` compares pairs of periods from nine settings without a change and counts comparisons with
any finding (we promise at most 5%). It then compares periods with one change, and counts how often the change is
detected, how often the first finding names it correctly, and the findings. ``--draws 200`` (the default) takes some
minutes. ``--only blobs`` selects settings and changes whose name contains the word.
"""

import argparse
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest
from sklearn.cluster import AgglomerativeClustering, KMeans

from allegiance import AffinityScorer
from allegiance.drift import compare_periods

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Draw = Callable[[np.random.Generator, int], Floats]


class World(NamedTuple):
    """Where points come from when nothing changes, and how they are clustered."""

    name: str
    draw: Draw
    n_then: int
    n_now: int
    k: int
    influence: str = "within"
    ward: bool = False
    fresh: bool = False
    """Whether the first period is not the data of the fit, but newly drawn."""


def blobs(k: int, d: int, separation: float) -> Draw:
    """Return a drawer of round clusters, ``separation`` times as far apart as they are wide on average."""
    centers = np.random.default_rng([7, k, d]).normal(size=(k, d)) * separation

    def draw(rng: np.random.Generator, n: int) -> Floats:
        return centers[rng.integers(k, size=n)] + rng.normal(size=(n, d))

    return draw


def skewed(rng: np.random.Generator, n: int) -> Floats:
    """Draw log-normal features: money, durations."""
    return np.exp(blobs(4, 4, 1.5)(rng, n))


def counted(rng: np.random.Generator, n: int) -> Floats:
    """Draw small counts, with many equal rows."""
    return rng.poisson(np.exp(0.5 * blobs(3, 4, 1.5)(rng, n) + 0.5)).astype(np.float64)


WORLDS = (
    World("blobs, 4 clusters, 5 features", blobs(4, 5, 4.0), 1000, 1000, 4),
    World("blobs, then not of the fit", blobs(4, 5, 4.0), 1000, 1000, 4, fresh=True),
    World("overlapping, 5 clusters, 5 features", blobs(5, 5, 1.5), 1000, 2000, 5),
    World("small: 150 rows then, 60 now", blobs(3, 4, 3.0), 150, 60, 3),
    World("wide: 50 features, 400 rows", blobs(5, 50, 0.7), 400, 400, 5),
    World("no clusters, cut into 8", blobs(1, 10, 0.0), 1000, 1000, 8),
    World("skewed: log-normal features", skewed, 1000, 500, 4, "euclidean"),
    World("counts: many equal rows", counted, 800, 800, 3),
    World("Ward's clusters, overlapping", blobs(4, 4, 1.5), 600, 600, 4, ward=True),
)


def fitted(world: World, X: Floats, seed: int) -> AffinityScorer:
    """Return a scorer fitted to the first period."""
    settings = {"influence": world.influence, "n_jobs": 1, "random_state": seed}
    if world.ward:
        return AffinityScorer(**settings).fit(X, AgglomerativeClustering(world.k).fit_predict(X))
    return AffinityScorer(KMeans(world.k, n_init=2, random_state=seed), **settings).fit(X)


def false_alarms(world: World, draws: int) -> tuple[int, dict[str, int]]:
    """Return the number of draws with a finding, and of draws with each kind of finding."""
    alarms, kinds = 0, dict[str, int]()
    for seed in range(draws):
        rng = np.random.default_rng([11, seed])
        X = world.draw(rng, world.n_then)
        scorer = fitted(world, X, seed)
        then = world.draw(rng, world.n_then) if world.fresh else X
        comparison = compare_periods(scorer, then, world.draw(rng, world.n_now))
        alarms += comparison.drifted
        for kind in {finding.kind for finding in comparison.findings}:
            kinds[kind] = kinds.get(kind, 0) + 1
    return alarms, kinds


class Change(NamedTuple):
    """A change of the second period."""

    name: str
    kind: str
    """Expected kind of the first finding."""
    apply: Callable[[np.random.Generator, Floats, Codes, float], None]
    """Changes the points, given their clusters."""
    amount: float
    where: str | None = None
    """Expected feature of the first finding; "cluster" for the cluster that changed."""


CENTERS = np.random.default_rng([7, 4, 5]).normal(size=(4, 5)) * 4.0 + 20.0
AWAY = 20.0 + 14.0 * np.array([1.0, -1.0, 1.0, -1.0, 0.0]) / 2.0


def moved(rng: np.random.Generator, X: Floats, cluster: Codes, by: float) -> None:
    """Move the first cluster along the first feature."""
    X[cluster == 0, 0] += by


def moved_anywhere(rng: np.random.Generator, X: Floats, cluster: Codes, by: float) -> None:
    """Move the first cluster in any direction, also onto others."""
    direction = rng.normal(size=X.shape[1])
    X[cluster == 0] += by * direction / np.linalg.norm(direction)


def appeared(rng: np.random.Generator, X: Floats, cluster: Codes, share: float) -> None:
    """Move a share of the points to an empty place."""
    n = round(share * X.shape[0])
    X[:n] = AWAY + rng.normal(size=(n, X.shape[1]))


def resized(rng: np.random.Generator, X: Floats, cluster: Codes, share: float) -> None:
    """Draw the points anew, with this share in the first cluster."""
    first = rng.random(X.shape[0]) < share
    other = rng.integers(1, 4, X.shape[0])
    X[:] = CENTERS[np.where(first, 0, other)] + rng.normal(size=X.shape)


def scaled(rng: np.random.Generator, X: Floats, cluster: Codes, factor: float) -> None:
    """Multiply the second feature."""
    X[:, 1] *= factor


def shifted(rng: np.random.Generator, X: Floats, cluster: Codes, by: float) -> None:
    """Add to the second feature."""
    X[:, 1] += by


def scattered(rng: np.random.Generator, X: Floats, cluster: Codes, share: float) -> None:
    """Scatter a share of the points."""
    n = round(share * X.shape[0])
    X[:n] = rng.uniform(-20.0, 60.0, size=(n, X.shape[1]))


CHANGES = (
    *(Change(f"a cluster moved by {by:g} sd", "moved", moved, by, "cluster") for by in (0.3, 0.5, 1.0, 3.0, 8.0)),
    *(Change(f"moved by {by:g} sd in any direction", "moved", moved_anywhere, by, "cluster") for by in (4.0, 8.0)),
    *(Change(f"a new cluster, {x:.0%} of the points", "new cluster", appeared, x) for x in (0.02, 0.05, 0.2)),
    *(Change(f"a cluster of 25% is now {x:.0%}", "mix", resized, x, "cluster") for x in (0.3, 0.35, 0.5)),
    *(Change(f"a column rose by {by:g} sd", "shifted", shifted, by, "x1") for by in (0.5, 1.0, 3.0, 10.0)),
    Change("a cluster of 25% vanished", "vanished", resized, 0.0, "cluster"),
    Change("6% of the points scattered", "atypical", scattered, 0.06),
    Change("cents to dollars", "unit", scaled, 0.01, "x1"),
    Change("pounds to kilograms", "unit", scaled, 0.4536, "x1"),
)


def detections(change: Change, draws: int, n: int = 1000) -> tuple[int, int, int]:
    """Return the number of draws with a finding, of those whose first finding is right, and of all findings."""
    any_finding = named = findings = 0
    for seed in range(draws):
        rng = np.random.default_rng([13, seed])
        X, Y = (CENTERS[codes] + rng.normal(size=(n, 5)) for codes in (rng.integers(4, size=n) for _ in range(2)))
        scorer = AffinityScorer(KMeans(4, n_init=2, random_state=seed), influence="within", n_jobs=1).fit(X)
        cluster = scorer.predict(Y)
        first = int(scorer.predict(CENTERS[:1])[0])
        change.apply(rng, Y, np.where(cluster == first, 0, 1), change.amount)
        comparison = compare_periods(scorer, X, Y)
        any_finding += comparison.drifted
        findings += len(comparison.findings)
        if comparison.findings:
            finding = comparison.findings[0]
            right = {None: True, "cluster": finding.clusters[:1] == (first,)}.get(
                change.where, finding.feature == change.where
            )
            named += finding.kind == change.kind and right
    return any_finding, named, findings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--only", default="", help="settings and changes whose name contains this")
    arguments = parser.parse_args()
    print(f"nothing changed, {arguments.draws} draws{'':26} false alarms   95% interval   of which")
    for world in WORLDS:
        if arguments.only in world.name:
            alarms, kinds = false_alarms(world, arguments.draws)
            low, high = binomtest(alarms, arguments.draws).proportion_ci()
            what = ", ".join(f"{kind} {number}" for kind, number in sorted(kinds.items()))
            print(f"{world.name:44} {alarms / arguments.draws:12.1%}   {low:5.1%} to {high:5.1%}   {what}", flush=True)
    print(f"\nsomething changed, 1,000 rows then and now{'':9} detected   named correctly   findings")
    for change in CHANGES:
        if arguments.only in change.name:
            draws = max(arguments.draws // 4, 5)
            number, right, findings = detections(change, draws)
            each = findings / max(number, 1)
            print(f"{change.name:44} {number / draws:12.0%}   {right / draws:12.0%}   {each:8.2f}", flush=True)


if __name__ == "__main__":
    main()
