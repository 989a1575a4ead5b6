"""Labels of any clustering as cluster numbers, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from allegiance._core.validation import AnyArray, BoolArray, IntArray, is_missing

#: The label of points in no cluster; "-1" among names.
NOISE = -1
#: Integers from here on are not exact as floats.
_LARGEST = 2.0**53
_MIXED = "labels mixes types that cannot be compared: use names only, or numbers only."
_TOO_LARGE = "labels contains {}, too large for a cluster number: use names."


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of a clustering, one per row."""

    values: AnyArray
    """(n,) integers or strings."""
    noise: BoolArray
    """(n,) whether each row is noise: -1, or "-1" among names."""

    @classmethod
    def of(cls, labels: Any, n_rows: int) -> Labels:
        """Check that a list, an array, a Series or a Categorical has one discrete label for each of ``n_rows`` rows."""
        values = _discrete(_as_array(labels))
        if values.ndim != 1:
            raise ValueError(f"labels must be one-dimensional, one label per row of X, got shape {values.shape}.")
        if values.shape[0] != n_rows:
            raise ValueError(f"labels has {values.shape[0]} entries but X has {n_rows} rows: they must be equal.")
        return cls(values, np.broadcast_to(values == _noise_among(values), values.shape))

    @cached_property
    def _distinct(self) -> tuple[AnyArray, IntArray]:
        """The distinct labels (k,) without noise, and the position of each labeled row's label among them."""
        try:
            return np.unique(self.values[~self.noise], return_inverse=True)
        except TypeError as error:
            raise TypeError(_MIXED) from error

    @property
    def classes(self) -> AnyArray:
        """The distinct labels (k,) without noise, sorted as by ``numpy.unique``."""
        return self._distinct[0]

    def codes(self, classes: AnyArray, unknown: int | None = None) -> IntArray:
        """Return the cluster number (n,) of each row's label among ``classes`` (k,), -1 for noise.

        Other labels get the code ``unknown``; ValueError if that is None.
        """
        distinct, member = self._distinct
        if distinct is not classes:
            member = positions_of(distinct, classes, unknown)[member]
        codes = np.full(self.values.shape, NOISE, dtype=np.int64)
        codes[~self.noise] = member
        return codes


def check_classes(classes: AnyArray, n_centers: int | None) -> AnyArray:
    """Return the label (k,) of each cluster.

    With centers, integer labels in ``range(n_centers)`` are row numbers of the centers. Other labels are matched to the
    centers in sorted order, so their number must be the same.
    """
    if classes.size == 0:
        raise ValueError("labels contains no cluster: all labels are -1 (noise).")
    if n_centers is None:
        return classes
    if classes.dtype.kind in "iu" and classes.min() >= 0 and classes.max() < n_centers:
        return np.arange(n_centers)
    if classes.size != n_centers:
        raise ValueError(
            f"labels names {classes.size} clusters but centers has {n_centers} rows: use labels 0 to "
            f"{n_centers - 1}, or {n_centers} distinct labels."
        )
    return classes


def merge_classes(first: AnyArray, second: AnyArray) -> AnyArray:
    """Return the distinct labels of two sets of rows, sorted as by ``numpy.unique``."""
    if not first.size or not second.size:
        return first if first.size else second
    if first.dtype.kind != second.dtype.kind:
        raise TypeError("labels must be all names or all numbers: some chunks have names, others numbers.")
    try:
        return np.union1d(first, second)
    except TypeError as error:
        raise TypeError(_MIXED) from error


def labels_of(codes: AnyArray, classes: AnyArray) -> AnyArray:
    """Turn cluster numbers back into the user's labels (n,); noise is -1, or "-1" among names."""
    labels: AnyArray = classes[codes]
    noise = codes == NOISE
    if not noise.any():
        return labels
    # The dtype of the labels may not hold -1: names may be shorter, numbers unsigned.
    labels = labels.astype(np.int64) if labels.dtype.kind == "u" else labels
    return np.where(noise, _noise_among(labels), labels)


def _noise_among(labels: AnyArray) -> int | str | bytes:
    """Return the noise label for labels of this dtype."""
    if labels.dtype.kind == "S":
        return str(NOISE).encode()
    return str(NOISE) if labels.dtype.kind == "U" else NOISE


def align(X: Any, labels: Any) -> Any:
    """Return pandas labels in the order of the rows of X.

    They are matched by index if X is a pandas frame, otherwise by position. An index that is a shuffled 0 to n - 1 is
    refused for arrays, since it suggests another row order.
    """
    index, theirs = getattr(X, "index", None), getattr(labels, "index", None)
    if theirs is None or callable(theirs):
        return labels
    if index is None or callable(index):
        numbers, in_order = np.asarray(theirs), np.arange(len(theirs))
        if numbers.dtype.kind == "i" and (numbers != in_order).any() and (np.sort(numbers) == in_order).all():
            raise ValueError(
                "labels has an index that is not in order, and X has none: pass labels.sort_index() if it numbers the "
                "rows of X, or labels.to_numpy() to match by position."
            )
        return labels
    if index.equals(theirs):
        return labels
    if len(index) == len(theirs) and index.is_unique and theirs.is_unique and index.isin(theirs).all():
        return labels.reindex(index)
    raise ValueError(
        "labels and X have different indexes: they must have the same rows. Use labels.to_numpy() to match by position."
    )


def positions_of(labels: AnyArray, classes: AnyArray, unknown: int | None = None) -> IntArray:
    """Return the position of each of the labels in ``classes``; ``unknown`` or an error for other labels."""
    order = np.argsort(classes)
    place = order[np.minimum(np.searchsorted(classes, labels, sorter=order), classes.size - 1)]
    absent = classes[place] != labels
    if unknown is not None:
        return np.where(absent, unknown, place)
    if absent.any():
        raise ValueError(f"labels has {labels[absent].tolist()[0]!r}, which is not a cluster of the fit.")
    return place


def _as_array(labels: Any) -> AnyArray:
    """Return the user's labels as an array, element by element; TypeError for clusterers and column names."""
    if hasattr(labels, "fit"):
        raise TypeError(
            f"labels must be one label per row of X, got {labels!r}: pass a clusterer as trust(X, clusterer=...)."
        )
    if isinstance(labels, str):
        raise TypeError(f"labels must be one label per row of X, got {labels!r}: pass the column, as in X[{labels!r}].")
    if np.ma.isMaskedArray(labels) and np.ma.getmaskarray(labels).any():
        raise ValueError("labels has masked entries: use -1 for points of no cluster.")
    if isinstance(labels, Sequence) and not any(map(np.ndim, labels)):
        # Element by element: NumPy would turn a mixture of names and numbers into names.
        values = np.empty(len(labels), dtype=object)
        values[:] = [label.item() if isinstance(label, np.generic) else label for label in labels]
        return values
    return np.asarray(labels)


def _discrete(values: AnyArray) -> AnyArray:
    """Return labels as integers or strings; floats must be whole numbers."""
    if values.dtype.kind == "O":
        values = _infer_kind(values)
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            raise ValueError("labels contains NaN or infinity: use -1 for points of no cluster.")
        if (values != np.floor(values)).any():
            raise ValueError("labels must be discrete: it contains fractional numbers. Is it a regression target?")
        if (np.abs(values) >= _LARGEST).any():
            raise ValueError(_TOO_LARGE.format(f"{np.abs(values).max():g}"))
        return values.astype(np.int64)
    if values.dtype.kind not in "iubUSO":
        raise TypeError(f"labels must be integers or strings, got dtype {values.dtype}.")
    return values


def _infer_kind(values: AnyArray) -> AnyArray:
    """Return labels in an array of Python objects as numbers or as strings."""
    if values.ndim != 1:
        return values
    items = values.tolist()
    if any(is_missing(item) for item in items):
        raise ValueError("labels contains missing values: use -1 for points of no cluster.")
    has_names = any(isinstance(item, str) for item in items)
    if has_names and not all(isinstance(item, str) for item in items):
        raise TypeError("labels mixes names and numbers: use names only, or numbers with -1 for noise.")
    if has_names or (items and all(isinstance(item, bytes) for item in items)):
        if any(item.endswith("\0" if has_names else b"\0") for item in items):
            raise ValueError("labels has names that end in a NUL character, which arrays of names cannot store.")
        return np.array(items)
    if all(isinstance(item, Real | Decimal) for item in items):
        booleans = all(isinstance(item, bool) for item in items)
        whole = all(isinstance(item, int) for item in items)
        if whole and (largest := max((abs(item) for item in items), default=0)) >= 2**63:
            raise ValueError(_TOO_LARGE.format(largest))
        return np.array(items, dtype=bool if booleans else np.int64 if whole else np.float64)
    return values
