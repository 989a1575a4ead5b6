"""What projecting on the span of the centers changes: shares of the projected point against those in all dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.datasets import load_digits

from allegiance import affinity
from allegiance.domains import Polytope
from reproduction.datasets import DataSet, FloatArray, stream
from reproduction.framework import Check, Finding, Section, Setup, Table
from reproduction.walks import in_few_coordinates, shares_in_box

from ._clustered import Clustered, cluster

MOST_ROWS = 300
SWEEPS, BURN_IN = 300, 100
MARGIN = 0.1
#: Shares that differ by less are the same for a reader of two digits.
LOST = 0.01


def run(setup: Setup) -> Section:
    """Compare on the small example, digits and MNIST."""
    sets, missing = setup.sets("mnist")
    bunch = load_digits()
    digits = DataSet("digits of scikit-learn", np.asarray(bunch.data), np.asarray(bunch.target))
    compared = (digits, *sets)
    results = {data.name: setup.memory.cache(_compare)(data) for data in compared}
    projected, true = _small_example()
    largest = max(abs(true - projected), *(each["slab"]["difference"] for each in results.values()))
    return Section(
        title="The reduction: projecting on the span of the centers",
        asks="The paper projects everything on the span of the centers, of at most k - 1 dimensions, and says that "
        "nothing is lost. That is true of the cells of the centers, and of points in their span. The cell of a point "
        "off the span does depend on the other dimensions. Centers (±1, 0), a point at (0.5, 2), the square from -3 "
        f"to 3: its share of the nearer center is {true:.3f}; of the projected point, (0.5, 0), it is {projected:.3f}. "
        "We project, as the paper does. Here is how far that goes from the shares in all dimensions, for k-means with "
        f"ten clusters and {MOST_ROWS} random points: in the box of the span times the segment off it that reaches the "
        "farthest point, and in the box around the data in all coordinates (a walk along the axes).",
        tables=(_table(results),),
        findings=(
            Finding(
                "Nothing is lost by projecting on the span of the centers",
                (Check("mean over points of the largest difference of a share:", largest, "<=", LOST, ".2f"),),
                "the larger of digits, MNIST and the small example; points off the span of the centers",
            ),
        ),
        remarks=(
            *missing,
            *(
                f"{name}: two independent walks differ by {each['noise']:.2f}, mean over points of the largest "
                f"difference of a share. The median point is {each['residual']:.1f} off the span, and "
                f"{each['in_span']:.1f} from the mean within it."
                for name, each in results.items()
            ),
            "We keep projecting: in the cell of the projected point only what tells the clusters apart counts, and "
            "here its largest affinity finds wrong labels best (AUROC).",
        ),
    )


def _small_example() -> tuple[float, float]:
    """Return the projected and the true share of the nearer center."""
    square = Polytope.box([-3, -3], [3, 3])
    result = affinity(
        [[0.5, 0.0], [0.5, 2.0]],
        centers=[[-1.0, 0.0], [1.0, 0.0]],
        domain=square,
        random_state=0,
        influence="euclidean",
    )
    return float(result.affinity[0, 1]), float(result.affinity[1, 1])


def _compare(data: DataSet) -> dict[str, Any]:
    """Return what is shown of one dataset."""
    case = cluster(data, 0, MOST_ROWS)
    projected = np.asarray(affinity(case.X, case.labels, random_state=0, influence="euclidean").affinity)[case.rows]
    sites, rows = in_few_coordinates(case.centers - case.X.mean(axis=0), case.X - case.X.mean(axis=0))
    walks = [_in_all_coordinates(case, key) for key in (0, 1)]
    return {
        "projected": _described(case, projected, projected),
        "slab": _described(case, _in_slab(case, sites, rows), projected),
        "box": _described(case, walks[0], projected),
        "noise": _difference(walks[0], walks[1]),
        "residual": float(np.median(rows[:, -1])),
        "in_span": float(np.median(np.sqrt((rows[:, :-1] ** 2).sum(axis=1)))),
    }


def _in_slab(case: Clustered, sites: FloatArray, rows: FloatArray) -> FloatArray:
    """Return shares in the box of the span times the segment off it."""
    lower, upper = rows.min(axis=0), rows.max(axis=0)
    lower[-1] = -upper[-1]
    margin = MARGIN * (upper - lower)
    region = Polytope.box(lower - margin, upper + margin)
    return np.asarray(
        affinity(rows[case.rows], centers=sites, domain=region, random_state=0, influence="euclidean").affinity
    )


def _in_all_coordinates(case: Clustered, key: int) -> FloatArray:
    lower, upper = case.X.min(axis=0), case.X.max(axis=0)
    margin = MARGIN * (upper - lower)
    return shares_in_box(
        case.centers,
        case.X[case.rows],
        lower - margin,
        upper + margin,
        n_sweeps=SWEEPS,
        burn_in=BURN_IN,
        rng=stream(0, key),
    )


def _difference(shares: FloatArray, others: FloatArray) -> float:
    return float(np.abs(shares - others).max(axis=1).mean())


def _described(case: Clustered, shares: FloatArray, projected: FloatArray) -> dict[str, float]:
    return {
        "difference": _difference(shares, projected),
        "owner": float((shares.argmax(axis=1) == projected.argmax(axis=1)).mean()),
        "rank": float(spearmanr(shares.max(axis=1), projected.max(axis=1)).statistic),
        "unstable": float((shares.max(axis=1) <= 0.5).mean()),
        "auroc": case.auroc(shares),
    }


def _table(results: dict[str, dict[str, Any]]) -> Table:
    names = {"projected": "projected (ours)", "slab": "box x segment", "box": "box in all coordinates"}
    rows = tuple(
        (
            name,
            names[kind],
            f"{each[kind]['difference']:.2f}",
            f"{each[kind]['owner']:.0%}",
            f"{each[kind]['rank']:.2f}",
            f"{each[kind]['unstable']:.1%}",
            f"{each[kind]['auroc']:.2f}",
        )
        for name, each in results.items()
        for kind in names
    )
    return Table(
        (
            "data",
            "shares",
            "largest difference to projected, mean",
            "same owner",
            "rank correlation of the largest share",
            "unstable",
            "AUROC",
        ),
        rows,
    )
