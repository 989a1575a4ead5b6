"""Iris, from scikit-learn."""

from __future__ import annotations

from sklearn.utils import Bunch


def load_iris() -> Bunch:
    """Load Iris: 150 flowers of three species, four measurements each.

    It is scikit-learn's copy, which follows Fisher's article; the file of the UCI repository, which the paper
    names, differs from it in two rows.

    Returns
    -------
    Bunch
        ``data`` (150, 4), ``target`` (150,) the species, ``feature_names``, ``target_names``, ``DESCR`` and what
        else :func:`sklearn.datasets.load_iris` returns.

    Examples
    --------
    >>> from reproduction.datasets import load_iris
    >>> load_iris().data.shape
    (150, 4)
    """
    from sklearn import datasets

    return datasets.load_iris()
