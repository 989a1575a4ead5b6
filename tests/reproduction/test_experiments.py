"""Experiments of the paper: against closed forms, rejection and definitions, and what they find."""

import numpy as np
import pytest

from allegiance import affinity
from allegiance.domains import Polytope
from reference.rejection import rejection
from reproduction import EXPERIMENTS, run_paper
from reproduction.datasets import DataSet
from reproduction.experiments._clustered import Clustered, cluster
from reproduction.experiments._readings import READINGS, in_the_hull, uncentered
from reproduction.experiments.distance import CENTERS, compare
from reproduction.experiments.reduction import _small_example
from reproduction.figures import draw_diagram, draw_stolen_area
from reproduction.walks import shares_in_ball

#: Experiments that need files which are not part of the project.
NEED_MNIST = ("incremental", "digits")
#: Claims of the paper that we do not find; each is explained on the page.
NOT_CONFIRMED = (
    # A sign test over two draws cannot reach its level.
    "k-means gives the point to c2 more often than to c3",
    "Ratios of distances behave like ratios of volumes to the power 1/d",
    "With dense corners a clearly smaller area is unstable (weights by size)",
    "The share of unstable points does not grow from batch to batch",
    "Nothing is lost by projecting on the span of the centers",
    "18, 8, 30 and 17% of the points are unstable",
    # Consensus and k-means are nearly equal in these, and which is ahead by a little depends on the seeds. On MNIST the
    # consensus is clearly closer to the reference.
    *(f"The consensus is closer to the reference than k-means ({data})" for data in ("2D5C-500", "Iris", "Soybean")),
    *(
        f"The consensus has no more unstable points than k-means ({data})"
        for data in ("2D5C-500", "Iris", "Soybean", "MNIST test data")
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_finds_what_the_page_says(name, tmp_path):
    (outcome,) = run_paper(tmp_path, only=[name], n_seeds=2)
    if outcome.section is None:
        assert name in NEED_MNIST
        pytest.skip(outcome.skipped)
    surprising = [
        f"{finding.claim}: {finding.decided_by}"
        for finding in outcome.section.findings
        if not finding.confirmed and not finding.timed and finding.claim not in NOT_CONFIRMED
    ]
    assert surprising == []
    assert (tmp_path / "paper.md").read_text().count(f"## {outcome.section.title}\n") == 1
    assert all(
        (tmp_path / "images" / "paper" / picture.file).stat().st_size > 0 for picture in outcome.section.pictures
    )


def test_affinity_prefers_one_of_two_equally_far_centers():
    result = compare(n_runs=1)
    assert result.distance[1] == result.distance[2]
    assert result.affinity[1] > 1.5 * result.affinity[2]
    axis = np.linspace(-4, 4, 801)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    np.testing.assert_allclose(result.affinity, rejection(np.array(CENTERS), np.zeros(2), grid)[0], atol=5e-3)
    # Without the fourth center, the second and third are symmetric.
    without = compare(CENTERS[:3], n_runs=1)
    assert without.affinity[1] == pytest.approx(without.affinity[2], abs=1e-9)


def test_k_means_gives_the_point_to_the_second_more_often_than_to_the_third():
    runs = np.array([compare(n_runs=50, random_state=seed).runs for seed in range(4)])
    assert (runs.sum(axis=1) == 50).all()
    assert runs[:, 1].sum() > runs[:, 2].sum()


def test_on_a_line_affinity_is_the_inverse_distance():
    np.testing.assert_allclose(compare([[-3.0], [7.0]], n_runs=2).affinity, [0.7, 0.3], atol=1e-12)


SITES = np.array([[2.0, 2.0], [6.0, 3.0], [3.0, 7.0], [8.0, 8.0]])
BOX = ([0.0, 0.0], [10.0, 10.0])


def test_figures():
    pytest.importorskip("matplotlib").use("Agg")
    ax = draw_diagram(SITES, np.array([1.0, 0.0, 1.0, 1.0]), *BOX, X=SITES, labels=np.arange(4))
    assert [patch.radius for patch in ax.patches] == [1.0, 0.0, 1.0, 1.0]
    ax = draw_stolen_area(np.array([4.0, 4.0]), np.full(4, 0.25), np.arange(4), SITES, *BOX)
    assert [text.get_text() for text in ax.texts] == ["0: 25%", "1: 25%", "2: 25%", "3: 25%"]


def case_of(X, centers):
    n = len(X)
    return Clustered(X, np.zeros(n, np.intp), centers, np.zeros(n, bool), np.arange(n), 0)


def test_points_in_the_hull_stay(rng):
    centers = rng.normal(size=(4, 6))
    weights = rng.dirichlet(np.ones(4), 20)
    np.testing.assert_allclose(in_the_hull(case_of(weights @ centers, centers)), weights, atol=1e-5)


def test_points_beyond_a_center_go_to_it():
    centers = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    shares = in_the_hull(case_of(np.array([[-3.0, -3.0], [9.0, 0.0]]), centers))
    np.testing.assert_allclose(shares, [[1, 0, 0], [0, 1, 0]], atol=1e-5)


def test_without_centering_two_centers_span_a_plane(rng):
    """Two centers side by side above the origin span a line if centered, and the plane as vectors."""
    centers = np.array([[-1.0, 5.0], [1.0, 5.0]])
    X = rng.normal(size=(30, 2)) * [3.0, 2.0] + [0.0, 5.0]
    extent = np.ptp(X, axis=0)
    plane = Polytope.box(X.min(axis=0) - 0.1 * extent, X.max(axis=0) + 0.1 * extent)
    expected = affinity(X, centers=centers, domain=plane, random_state=0, influence="euclidean").affinity
    np.testing.assert_allclose(uncentered(case_of(X, centers)), expected, atol=1e-9)


def test_the_small_example_of_the_reduction():
    projected, true = _small_example()
    assert projected == pytest.approx(0.75)
    assert true == pytest.approx(0.630, abs=5e-4)


def test_every_reading_gives_shares():
    rng = np.random.default_rng(0)
    reference = np.repeat(np.arange(3), 20)
    data = DataSet("made up", rng.normal(size=(60, 5)) + 3 * np.eye(5)[reference], reference)
    case = cluster(data, 0, most_rows=25)
    assert case.rows.size == 25
    for name, reading in READINGS.items():
        shares = reading(case)
        assert shares.shape == (25, 3), name
        np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-9, err_msg=name)


#: Walks that start at the same point; their mean is compared.
COPIES = 400


def in_ball(centers, x, radius, *, one_sided, n_steps=300):
    X = np.tile(x, (COPIES, 1))
    rng = np.random.default_rng(0)
    return shares_in_ball(centers, X, radius, n_steps=n_steps, burn_in=100, one_sided=one_sided, rng=rng)


def assert_mean_is(walks, expected, error=0.0):
    """Within 4.5 standard errors of the walks' mean: three shares would leave that with a probability of 2e-5."""
    standard_error = walks.std(axis=0, ddof=1) / np.sqrt(len(walks))
    assert (np.abs(walks.mean(axis=0) - expected) <= 4.5 * (standard_error + error)).all()


def spread_out(d, k=3):
    """Return centers whose mean is the origin, and a point off their span."""
    rng = np.random.default_rng(d)
    centers = rng.normal(size=(k, d))
    return centers - centers.mean(axis=0), rng.normal(size=d)


@pytest.mark.parametrize("d", [2, 3, 4, 6])
def test_whole_chords_in_a_ball_against_rejection(d):
    centers, x = spread_out(d)
    rng = np.random.default_rng(2)
    y = rng.normal(size=(1_000_000, d))
    y *= (4.0 * rng.random((len(y), 1)) ** (1 / d)) / np.linalg.norm(y, axis=1, keepdims=True)
    expected, kept = rejection(centers, x, y)
    assert_mean_is(in_ball(centers, x, 4.0, one_sided=False), expected, np.sqrt(0.25 / kept))


def test_one_sided_chords_are_biased():
    centers, x = spread_out(2)
    whole, one_sided = (in_ball(centers, x, 4.0, one_sided=kind).mean(axis=0) for kind in (False, True))
    assert np.abs(whole - one_sided).max() > 0.02
