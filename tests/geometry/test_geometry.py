"""Polytopes: the largest ball, boundedness, the bounding box, and uniform samples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls
from scipy.stats import ortho_group, t

from allegiance.geometry import bounding_box, chebyshev_center, is_bounded, sample_polytope, unit_rows
from reference import kernels as twin

quick = settings(max_examples=25, deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)
dimensions = st.integers(1, 6)


def box(low, high):
    eye = np.eye(len(low))
    return np.vstack([eye, -eye]), np.concatenate([high, -np.asarray(low)])


def simplex(d):
    """Return {y >= 0, sum y <= 1}."""
    return np.vstack([-np.eye(d), np.ones((1, d))]), np.append(np.zeros(d), 1.0)


def random_body(rng, d):
    """Return a box around a random point, cut by random half-spaces that keep the point, and the point."""
    cuts = rng.normal(size=(rng.integers(1, 12), d))
    A = np.vstack([np.eye(d), -np.eye(d), cuts])
    inside = rng.normal(size=d)
    return A, A @ inside + rng.uniform(0.01, 1.0, len(A)) * np.linalg.norm(A, axis=1), inside


class TestLargestBall:
    @pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
    @pytest.mark.parametrize("d", [1, 2, 5, 12])
    def test_simplex(self, d, size):
        A, b = simplex(d)
        center, radius = chebyshev_center(A, size * b)
        expected = size / (d + np.sqrt(d))
        assert radius == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(center, expected, rtol=1e-12)

    @pytest.mark.parametrize("aspect", [1e3, 1e6, 1e9])
    def test_needle(self, aspect):
        turn = ortho_group.rvs(5, random_state=1)
        widths = np.geomspace(1.0, 1.0 / aspect, 5)
        _, radius = chebyshev_center(np.vstack([turn, -turn]), np.tile(widths, 2))
        assert radius == pytest.approx(1.0 / aspect, rel=1e-6)

    @quick
    @given(seeds, dimensions, st.sampled_from([1e-8, 1.0, 1e8]))
    def test_is_the_largest_ball(self, seed, d, size):
        """Optimal exactly when the normals of the facets it touches have zero in their convex hull."""
        A, b, _ = random_body(np.random.default_rng(seed), d)
        center, radius = chebyshev_center(A, size * b)
        normals, offsets = unit_rows(A, size * b)
        slack = offsets - normals @ center
        assert radius == pytest.approx(slack.min(), rel=1e-9)
        assert radius > 0
        touched = normals[slack <= radius * (1 + 1e-7) + 1e-9 * size]
        goal = np.append(np.zeros(d), 1.0)
        assert nnls(np.column_stack([touched, np.ones(len(touched))]).T, goal)[1] < 1e-6

    @quick
    @given(seeds, dimensions, st.floats(1e-6, 1e3))
    def test_empty_has_negative_radius(self, seed, d, gap):
        rng = np.random.default_rng(seed)
        A, b, _ = random_body(rng, d)
        row = rng.normal(size=d)
        row /= np.linalg.norm(row)
        center, radius = chebyshev_center(np.vstack([A, row, -row]), np.append(b, [0.5, -0.5 - gap]))
        assert radius <= -0.49 * gap
        assert np.isfinite(center).all()

    @quick
    @given(seeds, st.integers(2, 6))
    def test_flat_has_radius_zero(self, seed, d):
        rng = np.random.default_rng(seed)
        A, b, inside = random_body(rng, d)
        row = rng.normal(size=d)
        A, b = np.vstack([A, row, -row]), np.append(b, [row @ inside, -row @ inside])
        assert chebyshev_center(A, b)[1] == 0.0

    def test_unbounded_bodies_give_a_finite_ball(self):
        for A, b in [
            ([[1.0, 1.0]], [3.0]),
            ([[0.0, 0.0]], [3.0]),
            ([[-1.0, 0.0], [0.0, -1.0]], [-5.0, -7.0]),
            ([[1.0, 1.0], [-1.0, -1.0]], [3.0, -1.0]),
        ]:
            center, radius = chebyshev_center(A, b)
            assert 0 < radius < np.inf
            assert (b - np.asarray(A) @ center >= 0).all()
        assert chebyshev_center([[0.0, 0.0]], [-1e-9])[1] == -np.inf


class TestIsBounded:
    @pytest.mark.parametrize("d", [1, 2, 3, 8])
    def test_simplices_and_boxes(self, d):
        assert is_bounded(simplex(d)[0])
        assert is_bounded(np.vstack([simplex(d)[0], np.zeros((2, d))]))
        assert is_bounded(box(-np.ones(d), np.ones(d))[0])
        assert not is_bounded(simplex(d)[0][:-1])
        assert not is_bounded(box(-np.ones(d), np.ones(d))[0][1:])

    def test_cones_slabs_and_the_whole_space(self):
        assert not is_bounded([[1.0, 0.0], [-1.0, 0.0]])
        assert not is_bounded([[1.0, 0.0], [-1.0, 0.0], [1.0, 1e-3]])
        assert not is_bounded([[1.0, 1.0], [-1.0, 1.0], [0.0, 1.0], [0.5, 1.0]])
        assert not is_bounded(np.empty((0, 2)))

    @quick
    @given(seeds, st.integers(2, 5))
    def test_does_not_depend_on_coordinates(self, seed, d):
        rng = np.random.default_rng(seed)
        shape = ortho_group.rvs(d, random_state=rng) * np.geomspace(1.0, 1e3, d)
        A = rng.normal(size=(2 * d, d))
        assert is_bounded(A @ shape) == is_bounded(A)


class TestBoundingBox:
    @quick
    @given(seeds, dimensions)
    def test_simplex_with_known_corners(self, seed, d):
        rng = np.random.default_rng(seed)
        shape = 10.0 ** rng.uniform(-2.0, 2.0) * (rng.normal(size=(d, d)) + 3.0 * np.eye(d))
        corners = np.vstack([np.zeros(d), shape.T])
        A, b = simplex(d)
        low, high = bounding_box(A @ np.linalg.inv(shape), b)
        extent = np.ptp(corners, axis=0)
        np.testing.assert_allclose(low / extent, corners.min(axis=0) / extent, atol=1e-6)
        np.testing.assert_allclose(high / extent, corners.max(axis=0) / extent, atol=1e-6)

    def test_rotated_needle(self):
        turn = ortho_group.rvs(5, random_state=2)
        widths, middle = np.geomspace(1.0, 1e-6, 5), np.arange(5.0)
        A = np.vstack([turn, -turn])
        low, high = bounding_box(A, np.tile(widths, 2) + A @ middle)
        extent = np.abs(turn.T) @ widths
        np.testing.assert_allclose([low, high], [middle - extent, middle + extent], rtol=1e-9, atol=1e-9)

    def test_flat_and_a_single_point(self):
        low, high = bounding_box(*box([0.0, 0.0, 2.0], [1.0, 3.0, 2.0]))
        np.testing.assert_allclose([low, high], [[0.0, 0.0, 2.0], [1.0, 3.0, 2.0]], atol=1e-12)
        np.testing.assert_allclose(bounding_box([[1.0], [-1.0]], [2.0, -2.0]), [[2.0], [2.0]])

    def test_empty_or_unbounded(self):
        with pytest.raises(ValueError, match="A y <= b has no solution"):
            bounding_box([[1.0], [-1.0]], [0.0, -1.0])
        with pytest.raises(ValueError, match="unbounded"):
            bounding_box([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [1.0, 1.0, 1.0])


BOTH = pytest.mark.parametrize("directions", ["random", "coordinate"])


def cube(d):
    """Return the unit cube."""
    return box(np.zeros(d), np.ones(d))


def turned_box(half_widths, center, seed=0):
    """Return a rotated box, and the map from its points to [-1, 1]^d."""
    turn = ortho_group.rvs(len(half_widths), random_state=seed)
    A = np.vstack([turn, -turn])
    return A, np.tile(half_widths, 2) + A @ center, lambda y: (y - center) @ turn.T / half_widths


def odd_body(rng, d=3, cuts=12):
    """Return a polytope without symmetry around zero, so that the largest ball in it is unique."""
    A = np.vstack([np.eye(d), -np.eye(d), rng.normal(size=(cuts, d))])
    return A, rng.uniform(0.5, 1.5, len(A))


def p_value(values, truth, n_batches=50):
    """Test the expectations of the columns of ``values``, (n, q), allowing for correlation along the chain.

    The means of long batches are nearly independent and normal; the smallest of the q p-values of their
    t-statistics is corrected for q after Bonferroni.
    """
    n = len(values) // n_batches * n_batches
    means = values[:n].reshape(n_batches, -1, values.shape[1]).mean(axis=1)
    scores = (means.mean(axis=0) - truth) / (means.std(axis=0, ddof=1) / np.sqrt(n_batches))
    return float(np.min(2 * t.sf(np.abs(scores), n_batches - 1)) * len(truth))


def unit_cube_statistics(y):
    """Return moments and distribution functions of y, with their expectations for the uniform unit cube."""
    d = y.shape[1]
    pairs = np.triu_indices(d, 1)
    values = [y, y**2, y[:, pairs[0]] * y[:, pairs[1]], y < 0.05, y < 0.5, y < 0.95]
    truth = [d * [1 / 2], d * [1 / 3], len(pairs[0]) * [1 / 4], d * [0.05], d * [0.5], d * [0.95]]
    return np.column_stack(values).astype(float), np.concatenate(truth)


class TestKernel:
    @pytest.mark.parametrize(("age", "thin"), [(0, 1), (-30, 1), (-31, 7), (20, 4)])
    def test_equals_the_twin_bit_for_bit(self, age, thin):
        from allegiance._kernels.walking import polytope_chain

        rng = np.random.default_rng(0)
        A, b = odd_body(rng, d=5, cuts=20)
        directions, uniforms = rng.normal(size=(400, 5)), rng.random(400)
        runs = []
        for chain in (polytope_chain, twin.polytope_chain):
            position, slack, kept = np.zeros(5), b.copy(), np.full(((400 + age) // thin, 5), np.nan)
            chain(position, slack, directions, directions @ A.T, uniforms, age, thin, kept)
            runs.append((position, slack, kept))
        for compiled, plain in zip(*runs, strict=True):
            np.testing.assert_array_equal(compiled, plain)
        assert np.isnan(runs[0][2]).any(axis=1).sum() == max(age, 0) // thin
        np.testing.assert_allclose(runs[0][1], b - A @ runs[0][0], atol=1e-12)

    @pytest.mark.parametrize("A", [[[1.0, 0.0], [-1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]])
    def test_stays_put_on_an_empty_or_endless_chord(self, A):
        from allegiance._kernels.walking import polytope_chain

        kept = np.full((3, 2), np.nan)
        directions = np.tile([1.0, 0.0], (3, 1))
        position, slack = np.array([0.2, 0.3]), np.zeros(2)
        polytope_chain(position, slack, directions, directions @ np.transpose(A), np.full(3, 0.5), 0, 1, kept)
        np.testing.assert_array_equal(kept, np.tile([0.2, 0.3], (3, 1)))


class TestDistribution:
    """Seeds are fixed; with fresh ones each of these would raise a false alarm once in a million runs."""

    @BOTH
    @pytest.mark.parametrize("d", [1, pytest.param(5, marks=pytest.mark.slow)])
    def test_cube(self, d, directions):
        A, b = cube(d)
        y = sample_polytope(A, b, 20_000, thin=d**2, directions=directions, random_state=1)
        assert ((y >= 0) & (y <= 1)).all()
        assert p_value(*unit_cube_statistics(y)) > 1e-6

    @BOTH
    @pytest.mark.parametrize("d", [2, pytest.param(8, marks=pytest.mark.slow)])
    def test_simplex(self, d, directions):
        """The coordinates are Dirichlet distributed."""
        A, b = simplex(d)
        y = sample_polytope(A, b, 20_000, thin=d**2, directions=directions, random_state=2)
        assert (y @ A.T <= b + 1e-15).all()
        cut = 1 / (d + 1)
        values = np.column_stack([y, y**2, y[:, :1] * y[:, 1:], y > cut, y.sum(axis=1) < 0.9])
        pair = 1 / ((d + 1) * (d + 2))
        truth = np.concatenate(
            [d * [1 / (d + 1)], d * [2 * pair], (d - 1) * [pair], d * [(1 - cut) ** d], [0.9**d]],
        )
        assert p_value(values, truth) > 1e-6

    @BOTH
    @pytest.mark.parametrize("d", [2, pytest.param(6, marks=pytest.mark.slow)])
    def test_needle(self, d, directions):
        """A rotated box a million times as long as wide, with widths of all sizes between."""
        A, b, unmap = turned_box(np.geomspace(1e6, 1.0, d), np.full(d, 1e3))
        y = sample_polytope(A, b, 20_000, thin=d**2, directions=directions, random_state=3)
        assert (y @ A.T <= b + 1e-8).all()
        assert p_value(*unit_cube_statistics((unmap(y) + 1) / 2)) > 1e-6

    def test_the_test_can_fail(self):
        """The statistics notice points that are a little off: a power of 1.05 on every coordinate."""
        y = sample_polytope(*cube(3), 20_000, thin=9, random_state=6)
        assert p_value(*unit_cube_statistics(y**1.05)) < 1e-6


class TestSeeds:
    def test_same_seed_same_points(self):
        body = odd_body(np.random.default_rng(0))
        first = sample_polytope(*body, 50, random_state=7)
        np.testing.assert_array_equal(sample_polytope(*body, 50, random_state=7), first)
        assert (sample_polytope(*body, 50, random_state=8) != first).all()
        assert (sample_polytope(*body, 50) != sample_polytope(*body, 50)).all()

    @pytest.mark.parametrize("size", [1e-8, 1e8])
    def test_scales_with_the_body(self, size):
        A, b = odd_body(np.random.default_rng(2))
        expected = sample_polytope(A, b, 300, random_state=0)
        np.testing.assert_allclose(sample_polytope(A, size * b, 300, random_state=0) / size, expected, atol=1e-9)


class TestChain:
    """Burn-in, thinning and length choose among the steps of one path."""

    @BOTH
    def test_burn_in_thin_and_n_samples(self, directions):
        A, b = odd_body(np.random.default_rng(3))
        settings = {"directions": directions, "random_state": 0}
        path = sample_polytope(A, b, 9_000, burn_in=0, **settings)
        for burn_in, thin, n in [(0, 1, 10), (1, 1, 10), (0, 3, 100), (5, 7, 400), (3_000, 11, 500)]:
            y = sample_polytope(A, b, n, burn_in=burn_in, thin=thin, **settings)
            expected = path[burn_in + thin - 1 :: thin][:n]
            np.testing.assert_allclose(y, expected, rtol=0, atol=1e-13)

    def test_infinite_offsets_switch_rows_off(self):
        A, b = cube(2)
        expected = sample_polytope(A, b, 20, random_state=0)
        y = sample_polytope(np.vstack([[1.0, 1.0], A]), np.append(np.inf, b), 20, random_state=0)
        np.testing.assert_array_equal(y, expected)

    def test_stays_inside_a_thin_body(self):
        A = [[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]]
        b = [1.0, -1.0 + 1e-12, 1.0, 1.0]
        y = sample_polytope(A, b, 1_000, random_state=0)
        assert (y @ np.transpose(A) <= np.array(b) + 1e-15).all()
        assert np.ptp(y[:, 0]) > 0.9


class TestBadInput:
    @pytest.mark.parametrize(
        ("changes", "error", "message"),
        [
            ({"A": [1.0, 2.0]}, ValueError, "A must be 2-D"),
            ({"A": np.full((4, 2), np.nan)}, ValueError, "A contains NaN"),
            ({"A": np.full((4, 2), np.inf)}, ValueError, "A contains an infinite entry"),
            ({"b": [1.0, 1.0]}, ValueError, "b must have one entry for each of the 4 rows of A, got 2"),
            ({"b": [1.0, 1.0, 0.0, np.nan]}, ValueError, "b contains NaN"),
            ({"n_samples": 0}, ValueError, "n_samples must be at least 1, got 0"),
            ({"n_samples": 2.0}, TypeError, "n_samples must be an integer"),
            ({"burn_in": -1}, ValueError, "burn_in must be at least"),
            ({"burn_in": "long"}, TypeError, "burn_in must be an integer"),
            ({"thin": 0}, ValueError, "thin must be at least 1, got 0"),
            ({"directions": "diagonal"}, ValueError, "directions must be .* got 'diagonal'"),
            ({"A": [[1.0, 0.0], [1e-9, 1.0], [-1.0, 0.0], [0.0, -1.0]]}, ValueError, "badly scaled"),
            ({"random_state": -1}, ValueError, "random_state must be a non-negative integer"),
            ({"random_state": "seed"}, TypeError, "random_state must be"),
            ({"b": [1.0, 1.0, -2.0, 0.0]}, ValueError, "A y <= b has no solution"),
            ({"b": [1.0, 1.0, 0.0, -np.inf]}, ValueError, "A y <= b has no solution"),
            ({"b": [1.0, 1.0, -1.0, 0.0]}, ValueError, "flat: it has no interior"),
            ({"b": [1.0, 1.0, 0.0, np.inf]}, ValueError, "unbounded"),
            ({"b": np.full(4, np.inf)}, ValueError, "unbounded"),
            ({"A": np.vstack([cube(2)[0], [0.0, 0.0]]), "b": [1.0, 1.0, 0.0, 0.0, -1.0]}, ValueError, "no solution"),
            (dict(zip("Ab", turned_box([1.0, 2.0, 0.0], [0.3, 0.1, -0.7])[:2], strict=True)), ValueError, "flat"),
        ],
    )
    def test_names_the_argument(self, changes, error, message):
        A, b = cube(2)
        with pytest.raises(error, match=message):
            sample_polytope(**{"A": A, "b": b, "n_samples": 5} | changes)
