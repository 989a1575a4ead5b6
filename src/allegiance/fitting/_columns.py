"""The columns of the data of a fit, and the check that other data has the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from allegiance._core import AnyArray, Rows, check_rows


class Columns(BaseEstimator):
    """How many columns X has, and their names if it has any: what scikit-learn's check of X needs to know.

    Parameters
    ----------
    n_features
        The number of columns.
    names
        (d,) their names, or None.
    """

    def __init__(self, n_features: int, names: Any = None) -> None:
        self.n_features = n_features
        self.names = names
        self.n_features_in_ = n_features
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)

    @classmethod
    def of(cls, estimator: Any) -> Columns:
        """Return the columns that an estimator has seen in its fit."""
        return cls(estimator.n_features_in_, getattr(estimator, "feature_names_in_", None))

    @property
    def known_names(self) -> AnyArray | None:
        """(d,) names of the columns, or None."""
        return getattr(self, "feature_names_in_", None)

    def check(self, X: Any) -> Rows:
        """Return rows (n, d) of X, if it has these columns."""
        return check_rows(self, X, reset=False)


# What scikit-learn's errors and warnings are to name: the estimator that users know.
Columns.__name__ = "AffinityScorer"
