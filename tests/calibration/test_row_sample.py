import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from allegiance.calibration import MemberDistances, RowSample, row_priorities


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


def test_priorities_look_uniform_and_differ_between_seeds():
    # 20,000 priorities in 16 bins: chi-square with 15 degrees of freedom is above 44 with a chance of 1e-4.
    for seed in (0, 1):
        counts = np.bincount((row_priorities(seed, 0, 20_000) >> np.uint64(60)).astype(int), minlength=16)
        assert ((counts - 1250) ** 2 / 1250).sum() < 44
    assert not np.intersect1d(row_priorities(0, 0, 1000), row_priorities(1, 0, 1000)).size


@st.composite
def chunked(draw):
    n = draw(st.integers(0, 60))
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=5)))
    return n, [0, *cuts, n], draw(st.randoms(use_true_random=False)), draw(st.integers(1, 70)), draw(st.booleans())


@given(chunked(), st.integers(0, 2**64))
def test_sample_depends_neither_on_chunks_nor_on_the_order_of_merging(case, seed):
    n, bounds, random, limit, sparse = case
    rows = np.arange(2.0 * n).reshape(n, 2)
    codes = np.arange(n) % 4 - 1
    whole = RowSample.of(sp.csr_matrix(rows) if sparse else rows, codes, limit=limit, seed=seed)
    parts = [
        RowSample.of(sp.csr_matrix(rows[a:b]) if sparse else rows[a:b], codes[a:b], limit=limit, seed=seed, start=a)
        for a, b in itertools.pairwise(bounds)
    ]
    random.shuffle(parts)
    while len(parts) > 1:
        parts.append(parts.pop(0).plus(parts.pop(random.randrange(len(parts)))))
    for sample in (whole, parts[0]):
        labelled = np.flatnonzero(codes >= 0)
        lowest = np.sort(labelled[np.argsort(row_priorities(seed, 0, n)[labelled])[:limit]])
        assert np.array_equal(sample.numbers, lowest)
        assert np.array_equal(sample.codes, codes[lowest])
        assert np.array_equal(sample.rows.toarray() if sparse else sample.rows, rows[lowest])
        assert np.array_equal(sample.priorities, row_priorities(seed, 0, n)[lowest])


def test_samples_of_different_limits_cannot_be_merged():
    parts = [RowSample.of(np.zeros((3, 1)), np.zeros(3, dtype=int), limit=limit, seed=0) for limit in (2, 3)]
    with pytest.raises(ValueError, match="limits 2 and 3"):
        parts[0].plus(parts[1])


@given(chunked(), st.integers(0, 2**64))
def test_member_distances_depend_neither_on_chunks_nor_on_the_order_of_merging(case, seed):
    n, bounds, random, limit, _ = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("allegiance.calibration._member_distances.MOST_MEMBERS", limit)
        codes = np.arange(n) % 4 - 1
        distance = np.random.default_rng(n).uniform(size=n).round(1)
        whole = MemberDistances.of(codes, distance, 5, seed=seed)
        parts = [
            MemberDistances.of(codes[a:b], distance[a:b], 5, seed=seed, start=a) for a, b in itertools.pairwise(bounds)
        ]
        random.shuffle(parts)
        while len(parts) > 1:
            parts.append(parts.pop(0).plus(parts.pop(random.randrange(len(parts)))))
    for field in ("values", "priorities", "starts", "farthest"):
        assert np.array_equal(getattr(parts[0], field), getattr(whole, field))
    priorities = row_priorities(seed, 0, n)
    for cluster in range(5):
        members = np.flatnonzero(codes == cluster)
        kept = members[np.argsort(priorities[members])[:limit]]
        table = whole.values[whole.starts[cluster] : whole.starts[cluster + 1]]
        assert np.array_equal(table, np.sort(distance[kept]))
        assert whole.farthest[cluster] == distance[members].max(initial=0.0)
