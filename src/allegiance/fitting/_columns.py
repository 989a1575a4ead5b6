"""The columns of the data of a fit, and the check that other data has the same."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from allegiance._core import AnyArray, Rows, check_rows, is_sparse


class Prepared(NamedTuple):
    """Points on their way to be scored."""

    given: Any
    """What a clusterer gets: a frame where it was fitted to one."""
    rows: Rows
    """(n, d) the same as checked numbers."""


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

    @property
    def preparation(self) -> Any:
        """None: points are scored where they are."""
        return None

    @property
    def n_prepared(self) -> int:
        """The number of columns of the space that points are scored in."""
        return self.n_features

    @property
    def prepared_names(self) -> AnyArray | None:
        """(d,) names of these columns, or None."""
        return self.known_names

    def check(self, X: Any) -> Rows:
        """Return rows (n, d) of X, if it has these columns."""
        return check_rows(self, X, reset=False)

    def prepare(self, X: Any) -> Prepared:
        """Return X for a clusterer, with the names of its columns if it has any, and as checked rows."""
        rows = self.check(X)
        return Prepared(X if hasattr(X, "columns") else rows, rows)


# What scikit-learn's errors and warnings are to name: the estimator that users know.
Columns.__name__ = "AffinityScorer"


class PreparedColumns:
    """The columns of X where points are scored behind transformers, which decide themselves whether X fits.

    Parameters
    ----------
    columns
        The columns of X.
    preparation
        Fitted transformers, as one.
    n_prepared
        The number of columns that they make; None to count them in the first points that enter.
    """

    def __init__(self, columns: Columns, preparation: Any, n_prepared: int | None = None) -> None:
        self.columns = columns
        self.preparation = preparation
        self._prepared = None if n_prepared is None else Columns(n_prepared)

    @property
    def n_features(self) -> int:
        """The number of columns of X."""
        return self.columns.n_features

    @property
    def known_names(self) -> AnyArray | None:
        """(d,) names of the columns of X, or None."""
        return self.columns.known_names

    @property
    def n_prepared(self) -> int:
        """The number of columns of the space that points are scored in."""
        assert self._prepared is not None
        return self._prepared.n_features

    @property
    def prepared_names(self) -> AnyArray | None:
        """Names of these columns, if the transformers know them."""
        try:
            return np.asarray(self.preparation.get_feature_names_out(), dtype=object)
        except (AttributeError, ValueError):
            return None

    def check(self, X: Any) -> Rows:
        """Return rows of X as the transformers make them."""
        return self.prepare(X).rows

    def prepare(self, X: Any) -> Prepared:
        """Return X behind the transformers, as they make it and as checked rows.

        Raises
        ------
        ValueError
            If what they make is not a matrix of finite numbers with one row for each row of X.
        """
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        made = self.preparation.transform(X)
        matrix = made if is_sparse(made) else np.asarray(made)
        if matrix.ndim != 2 or matrix.shape[0] != n_rows:
            raise ValueError(
                f"X has {n_rows} rows, of which the transformers before the clusterer make an array of shape "
                f"{matrix.shape}: they must make one row of numbers for each."
            )
        if self._prepared is None:
            self._prepared = Columns(matrix.shape[1])
        try:
            rows = self._prepared.check(matrix)
        except (TypeError, ValueError) as error:
            raise type(error)(f"X cannot be used behind the transformers before the clusterer. {error}") from error
        return Prepared(made if hasattr(made, "columns") else rows, rows)
