"""Clusterings as memberships: how much of each row belongs to each cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from allegiance._core import FloatArray, IntArray, real_array
from allegiance.fitting import Labels

#: How far the memberships of a row may be from a sum of 1.
_SUM_TOLERANCE = 1e-6


def check_codes(labels: Any, n_rows: int, name: str) -> IntArray:
    """Return cluster numbers (n,), -1 for noise; messages about bad labels mention ``name``."""
    try:
        checked = Labels.of(labels, n_rows)
        if not checked.classes.size:
            raise ValueError("it contains no cluster, since every point is noise (-1).")
        return checked.codes(checked.classes)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} cannot be used: {error}") from error


def separate_noise(codes: IntArray) -> IntArray:
    """Return cluster numbers (n,) in which each row of noise is a cluster of its own."""
    noise = np.flatnonzero(codes < 0)
    separate = codes.copy()
    separate[noise] = codes.max(initial=-1) + 1 + np.arange(noise.size)
    return separate


def one_hot(codes: IntArray) -> Any:
    """Return the CSR matrix (n, k) with a 1 for the cluster of each row; rows of noise are empty."""
    member = codes >= 0
    pointers = np.concatenate([[0], np.cumsum(member)])
    shape = (codes.size, int(codes.max(initial=-1)) + 1)
    return sp.csr_array((np.ones(int(member.sum())), codes[member], pointers), shape=shape)


def check_memberships(labels: Any, n_rows: int, name: str) -> Any:
    """Return labels (n,), with every row of noise a cluster of its own, or memberships (n, k) as a CSR matrix (n, k).

    Memberships must not be negative, and rows must sum to 1. Clusters without members are left out.
    """
    if np.ndim(labels) != 2:
        return one_hot(separate_noise(check_codes(labels, n_rows, name)))
    values = real_array(name, labels, 2)
    if values.shape[0] != n_rows:
        raise ValueError(f"{name} has {values.shape[0]} rows but X has {n_rows}: they must be equal.")
    totals = values.sum(axis=1)
    if values.min(initial=0.0) < 0 or not (np.abs(totals - 1.0) <= _SUM_TOLERANCE).all():
        raise ValueError(f"{name} must hold memberships in its rows: none negative, with a sum of 1.")
    values /= totals[:, None]
    return sp.csr_array(values[:, values.any(axis=0)])


class Pool(NamedTuple):
    """The clusters of several clusterings, equal ones only once."""

    columns: Any
    """CSR matrix (n, m) of the memberships in each distinct cluster."""
    numbers: list[IntArray]
    """For each clustering, the column (k,) of each of its clusters."""
    masses: list[FloatArray]
    """For each clustering, the sum (k,) of the memberships in each of its clusters."""

    @classmethod
    def of(cls, memberships: Sequence[Any]) -> Pool:
        """Pool memberships, CSR matrices (n, k)."""
        known: dict[tuple[bytes, bytes], int] = {}
        chosen: list[int] = []
        numbers: list[IntArray] = []
        position = 0
        joined = sp.csc_array(sp.hstack(memberships, format="csc"))
        joined.sort_indices()
        for partition in memberships:
            columns = np.arange(position, position + partition.shape[1])
            position += columns.size
            numbers.append(np.empty(columns.size, dtype=np.int64))
            for i, column in enumerate(columns):
                part = slice(joined.indptr[column], joined.indptr[column + 1])
                key = (joined.indices[part].tobytes(), joined.data[part].tobytes())
                if key not in known:
                    known[key] = len(chosen)
                    chosen.append(int(column))
                numbers[-1][i] = known[key]
        masses = [np.asarray(partition.sum(axis=0), dtype=np.float64).ravel() for partition in memberships]
        return cls(sp.csr_array(joined[:, chosen]), numbers, masses)
