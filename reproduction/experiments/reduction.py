"""How projecting on the span of the centers changes shares."""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr
from sklearn.datasets import load_digits

from allegiance import affinity
from allegiance.domains import Polytope
from reproduction.datasets import DataSet, load_available
from reproduction.framework import Check, Finding, Section, Setup, Table
from reproduction.walks import in_few_coordinates

from ._clustered import cluster

MOST_ROWS = 300
MARGIN = 0.1
#: Shares that differ by less are the same for a reader of two digits.
LOST = 0.01


def run(setup: Setup) -> Section:
    """Compare on the small example, digits and MNIST."""
    sets, missing = load_available("MNIST test data")
    bunch = load_digits()
    digits = DataSet("digits of scikit-learn", np.asarray(bunch.data), np.asarray(bunch.target))
    differences, rows, remarks = zip(*(_compare(data) for data in (digits, *sets)), strict=True)
    projected, true = _small_example()
    largest = max(abs(true - projected), *differences)
    return Section(
        title="The reduction: projecting on the span of the centers",
        method="The paper projects everything on the span of the centers, of at most k - 1 dimensions, and says that "
        "nothing is lost. That is true of the cells of the centers, and of points in their span. The cell of a point "
        "off the span does depend on the other dimensions. For example, take centers at (±1, 0), a point at (0.5, 2) "
        f"and the square from -3 to 3. The point's share of the nearer center is {true:.3f}; for the projected point, "
        f"(0.5, 0), it is {projected:.3f}. We project, as the paper does. The table compares projected and unprojected "
        f"points, for k-means with ten clusters and {MOST_ROWS} random points. The region of an unprojected point is "
        "the box of the span times a segment that reaches the farthest point.",
        tables=(
            Table(
                ("data", "largest difference, mean", "same owner", "rank correlation", "unstable: both", "AUROC: both"),
                rows,
                "Projected (ours) and unprojected points; the last two columns give both, projected first",
            ),
        ),
        findings=(
            Finding(
                "Nothing is lost by projecting on the span of the centers",
                (Check("mean over points of the largest difference of a share:", largest, "<=", LOST, ".2f"),),
                "the larger of digits, MNIST and the small example; points off the span of the centers",
            ),
        ),
        remarks=(
            *missing,
            *remarks,
            "We keep projecting. The cell of the projected point depends only on the directions in which the clusters "
            "differ, and here its largest affinity ranks wrong labels best (AUROC).",
        ),
    )


def _small_example() -> tuple[float, float]:
    """Return the projected and the true share of the nearer center."""
    points, centers, square = [[0.5, 0.0], [0.5, 2.0]], [[-1.0, 0.0], [1.0, 0.0]], Polytope.box([-3, -3], [3, 3])
    result = affinity(points, centers=centers, domain=square, random_state=0, influence="euclidean")
    return float(result.affinity[0, 1]), float(result.affinity[1, 1])


def _compare(data: DataSet) -> tuple[float, tuple[str, ...], str]:
    """Return the mean over points of the largest difference of a share, a row of the table, and a remark."""
    case = cluster(data, 0, MOST_ROWS)
    ours = np.asarray(affinity(case.X, case.labels, random_state=0, influence="euclidean").affinity)[case.rows]
    sites, rows = in_few_coordinates(case.centers - case.X.mean(axis=0), case.X - case.X.mean(axis=0))
    lower, upper = rows.min(axis=0), rows.max(axis=0)
    lower[-1] = -upper[-1]
    margin = MARGIN * (upper - lower)
    region = Polytope.box(lower - margin, upper + margin)
    result = affinity(rows[case.rows], centers=sites, domain=region, random_state=0, influence="euclidean")
    full = np.asarray(result.affinity)
    difference = float(np.abs(full - ours).max(axis=1).mean())
    row = (
        data.name,
        f"{difference:.2f}",
        f"{(full.argmax(axis=1) == ours.argmax(axis=1)).mean():.0%}",
        f"{spearmanr(full.max(axis=1), ours.max(axis=1)).statistic:.2f}",
        " and ".join(f"{(shares.max(axis=1) <= 0.5).mean():.1%}" for shares in (ours, full)),
        " and ".join(f"{case.auroc(shares):.2f}" for shares in (ours, full)),
    )
    within = np.median(np.sqrt((rows[:, :-1] ** 2).sum(axis=1)))
    off = f"{data.name}: the median point is {np.median(rows[:, -1]):.1f} off the span"
    remark = f"{off}, and {within:.1f} from the mean within it."
    return difference, row, remark
