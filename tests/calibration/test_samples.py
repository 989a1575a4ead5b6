"""Samples of rows: what they hold decides, not their order, the chunks or the order of merging."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from allegiance import AffinityScorer
from allegiance.calibration import ContentSample, RowSample, content_keys, row_keys, row_priorities
from allegiance.typicality import MemberDistances


def splitmix64(state):
    """One output, with Python's integers."""
    mask = 2**64 - 1
    state &= mask
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & mask
    return state ^ (state >> 31)


@pytest.mark.parametrize("seed", [0, 7, 2**63 + 5, 2**70 + 1])
def test_priorities_are_splitmix64_of_seed_and_row_number(seed):
    expected = [splitmix64(splitmix64(seed) + (row + 1) * 0x9E3779B97F4A7C15) for row in range(5, 25)]
    assert row_priorities(seed, 5, 20).tolist() == expected


def test_keys_look_uniform():
    # 20,000 keys in 16 bins: chi-square with 15 degrees of freedom is above 44 with a chance of 1e-4.
    rows = np.random.default_rng(0).integers(0, 50, (20_000, 3)).astype(float)
    for keys in (row_priorities(0, 0, 20_000), row_keys(rows, np.zeros(20_000, dtype=int))):
        counts = np.bincount((keys >> np.uint64(60)).astype(int), minlength=16)
        assert ((counts - 1250) ** 2 / 1250).sum() < 44


class TestRowKeys:
    def test_do_not_depend_on_the_order_of_rows(self):
        rng = np.random.default_rng(1)
        rows, codes = rng.integers(0, 3, (200, 2)).astype(float), rng.integers(-1, 3, 200)
        keys = row_keys(rows, codes)
        assert np.unique(keys).size == 200  # equal rows are told apart
        order = rng.permutation(200)
        permuted = row_keys(rows[order], codes[order])
        assert set(zip(permuted, codes[order], strict=True)) == set(zip(keys, codes, strict=True))

    def test_dense_sparse_and_frames_agree(self):
        rows = np.random.default_rng(2).integers(-2, 3, (50, 4)).astype(float)
        rows[0] = [0.0, -0.0, 0.0, 5.0]
        explicit, codes = sp.csr_matrix(rows), np.zeros(50, dtype=int)
        explicit.data[:3] = 0.0
        dense = explicit.toarray()
        frame = pd.DataFrame(dense, columns=list("abcd"))
        for given_rows in (explicit, frame, pl.from_pandas(frame), dense.astype(np.float32)):
            assert np.array_equal(row_keys(given_rows, codes), row_keys(dense, codes))

    def test_texts_dates_and_missing_values_have_keys(self):
        frame = pd.DataFrame(
            {"city": ["Ulm", "Köln", None, "Ulm"], "since": pd.to_datetime(["2024-01-01"] * 4), "n": [1, np.nan, 2, 1]}
        )
        keys = row_keys(frame, np.zeros(4, dtype=int))
        assert np.unique(keys).size == 4
        assert np.array_equal(row_keys(frame.iloc[::-1], np.zeros(4, dtype=int))[[1, 2]], keys[[2, 1]])


@st.composite
def chunked(draw):
    n = draw(st.integers(0, 60))
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=5)))
    return n, [0, *cuts, n], draw(st.randoms(use_true_random=False)), draw(st.integers(1, 70)), draw(st.booleans())


def merged(kind, rows, codes, bounds, random, **settings):
    parts = [kind.of(rows[a:b], codes[a:b], start=a, **settings) for a, b in itertools.pairwise(bounds)]
    random.shuffle(parts)
    while len(parts) > 1:
        parts.append(parts.pop(0).merge(parts.pop(random.randrange(len(parts)))))
    return parts[0]


@given(chunked(), st.integers(0, 2**64))
def test_row_sample_depends_neither_on_chunks_nor_on_the_order_of_merging(case, seed):
    n, bounds, random, limit, sparse = case
    rows, codes = np.arange(2.0 * n).reshape(n, 2), np.arange(n) % 4 - 1
    stored = sp.csr_matrix(rows) if sparse else rows
    whole = RowSample.of(stored, codes, limit=limit, seed=seed)
    for sample in (whole, merged(RowSample, stored, codes, bounds, random, limit=limit, seed=seed)):
        labeled = np.flatnonzero(codes >= 0)
        lowest = np.sort(labeled[np.argsort(row_priorities(seed, 0, n)[labeled])[:limit]])
        assert np.array_equal(sample.numbers, lowest)
        assert np.array_equal(sample.codes, codes[lowest])
        assert np.array_equal(sample.rows.toarray() if sparse else sample.rows, rows[lowest])


@given(chunked(), st.integers(1, 30))
def test_content_sample_depends_neither_on_chunks_nor_on_the_order_of_rows(case, values):
    n, bounds, random, limit, sparse = case
    rows = (np.arange(n) % values).astype(float)[:, None] + 1.0
    codes = np.arange(n) % 3 - 1
    stored = sp.csr_matrix(rows) if sparse else rows
    whole = ContentSample.of(stored, codes, limit=limit)
    order = np.array(random.sample(range(n), n), dtype=int)
    chunks = merged(ContentSample, stored, codes, bounds, random, limit=limit)
    for other in (chunks, ContentSample.of(stored[order], codes[order], limit=limit)):
        for name in ("keys", "counts", "codes"):
            assert np.array_equal(getattr(other, name), getattr(whole, name))
        assert (other.rows != whole.rows).sum() == 0
        assert np.array_equal(other.positions(), whole.positions())
        assert other.total == n
    assert np.array_equal(chunks.numbers, whole.numbers)
    assert whole.positions().size <= limit
    if n <= limit:
        found = np.asarray((whole.rows.toarray() if sparse else whole.rows)[whole.positions()])
        assert sorted(found.ravel()) == sorted(rows.ravel())  # everything, as often as it occurs


def test_content_sample_of_many_rows_is_fair():
    rng = np.random.default_rng(3)
    rows, codes = rng.normal(size=(20_000, 2)), rng.integers(0, 2, 20_000)
    sample = ContentSample.of(rows, codes, limit=1000)
    assert sample.positions().size == 1000
    # The mean of 1,000 of 20,000 normal numbers has a standard error of 0.031.
    assert np.abs(sample.rows.mean(axis=0)).max() < 0.12
    few = ContentSample.of(rng.integers(0, 4, (20_000, 1)).astype(float), codes, limit=1000)
    assert few.keys.size == 8
    assert few.counts.sum() == 20_000
    assert np.abs(np.bincount(few.positions(), minlength=8) - 125).max() < 50


def test_samples_of_different_limits_do_not_merge():
    one = np.zeros((1, 1))
    for kind, extra in ((RowSample, {"seed": 0}), (ContentSample, {})):
        small, large = (kind.of(one, np.zeros(1, dtype=int), limit=limit, **extra) for limit in (3, 4))
        with pytest.raises(ValueError, match="limits 3 and 4"):
            small.merge(large)


@given(chunked(), st.integers(1, 4))
def test_member_distances_against_sorting(case, k):
    n, bounds, random, _, _ = case
    rng = np.random.default_rng(n)
    codes, distance = rng.integers(-1, k, n), rng.integers(0, 9, n).astype(float)
    keys = content_keys(distance[:, None])
    parts = [MemberDistances.of(keys[a:b], codes[a:b], distance[a:b], k) for a, b in itertools.pairwise(bounds)]
    random.shuffle(parts)
    total = parts[0]
    for part in parts[1:]:
        total = total.merge(part)
    for cluster in range(k):
        own, counts = np.unique(distance[codes == cluster], return_counts=True)
        kept = slice(total.starts[cluster], total.starts[cluster + 1])
        assert np.array_equal(total.values[kept], own)
        assert np.array_equal(total.counts[kept], counts)
        assert total.farthest[cluster] == own.max(initial=0.0)
    expected = np.full(n, np.nan)
    for i in np.flatnonzero(codes >= 0):
        own, d = np.sort(distance[codes == codes[i]]), distance[i]
        as_far = 1.0 + (own >= d).sum()
        if own.size > 1 and 0.0 < own[-2] < d:
            as_far = min(as_far, 2.0 * (own[-2] / d) ** 2)
        expected[i] = as_far / (1.0 + own.size)
    assert np.allclose(total.typicality(codes, distance), expected, equal_nan=True)


def test_typicality_of_large_clusters_does_not_depend_on_the_order_of_the_rows_of_the_fit():
    rng = np.random.default_rng(4)
    X, labels = rng.normal(size=(5000, 3)), rng.integers(0, 2, 5000)
    X[:3000] = np.round(X[:3000])  # many equal rows
    order = rng.permutation(5000)
    forth, back = (AffinityScorer(influence="within").fit(X[o], labels[o]) for o in (np.arange(5000), order))
    expected, found = forth.affinity(X[:500]), back.affinity(X[:500])
    assert np.allclose(found.typicality, expected.typicality, rtol=0, atol=1e-12)
    of_fit = AffinityScorer(influence="within").fit_affinity(X, labels)
    for cluster in (0, 1):
        own = labels == cluster
        distance = of_fit.frame(details=True)["distance"].to_numpy()[own]
        exact = [(1 + (distance >= one).sum()) / (1 + own.sum()) for one in distance]
        # A sample of 1,024 has a standard error of 0.016 at most; equal rows count together.
        assert np.abs(of_fit.typicality[own] - exact).max() < 0.08
