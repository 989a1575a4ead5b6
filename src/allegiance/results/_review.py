"""Which labels to look at first."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from allegiance._core import FloatArray, IntArray, check_number


def review_rows(ranking: FloatArray, budget: Any, below: float | None) -> IntArray:
    """Return rows of labels to look at, the lowest of ``ranking`` (n,) first; NaN, which is noise, is left out.

    Parameters
    ----------
    budget
        How many, a share such as "5%", or None for all.
    below
        Only those with a lower value than this; None for all.
    """
    order = np.argsort(ranking, kind="stable")
    order = order[: int(np.count_nonzero(~np.isnan(ranking)))]
    if below is not None:
        threshold = check_number(below, "below", low=-np.inf)
        order = order[ranking[order] < threshold]
    return order[: _count(budget, ranking.size)]


def _count(budget: Any, n: int) -> int:
    if budget is None:
        return n
    if isinstance(budget, str) and budget.strip().endswith("%"):
        try:
            share = float(budget.strip()[:-1]) / 100.0
        except ValueError:
            share = np.nan
        if 0 <= share <= 1:
            return int(np.ceil(share * n))
    elif isinstance(budget, Integral) and not isinstance(budget, bool) and int(budget) >= 0:
        return int(budget)
    raise ValueError(f"review takes a number of labels, such as 500, or a share, such as '5%', got {budget!r}.")
