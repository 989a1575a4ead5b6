"""Where points lie on the map: two principal components, UMAP, or two columns of the user's own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from allegiance._core import dense, is_sparse, require
from allegiance.explorer.state import Subject
from allegiance.report import Coordinates, Projection, Quantity, project

PCA, UMAP, OWN, SCORES = "PCA", "UMAP", "own columns", "scores"


class Maps:
    """The maps of a subject, each computed when it is first looked at.

    Parameters
    ----------
    subject
        The points.
    own
        Coordinates that the user gave; None if there are none.
    seed
        For UMAP.
    """

    def __init__(self, subject: Subject, own: Coordinates | None = None, seed: int = 0) -> None:
        self._subject = subject
        self._makers: dict[str, Callable[[], Projection]] = {}
        if own is not None:
            self._makers[OWN] = lambda: self._projected(own)
        if subject.features is not None or subject.result is not None:
            self._makers[PCA] = self._projected
        if subject.features is not None and find_spec("umap") is not None:
            self._makers[UMAP] = lambda: _umap(subject, seed)
        if not self._makers:
            self._makers[SCORES] = self._scores
        self._made: dict[str, Projection] = {}
        self._locks = {name: threading.Lock() for name in self._makers}

    @property
    def names(self) -> list[str]:
        """What can be shown, the first one first."""
        return list(self._makers)

    @property
    def seen(self) -> list[str]:
        """The maps that were looked at."""
        return list(self._made)

    def __getitem__(self, name: str) -> Projection:
        if name not in self._makers:
            raise ValueError(f"there is no map {name!r}: choose one of {', '.join(self.names)}.")
        with self._locks[name]:  # Two tabs that ask for the same map wait for one computation.
            if name not in self._made:
                self._made[name] = self._makers[name]()
        return self._made[name]

    def _projected(self, own: Coordinates | None = None) -> Projection:
        subject = self._subject
        return project(subject.result, subject.features, Quantity(subject.quantity, subject.ranking), own)

    def _scores(self) -> Projection:
        subject = self._subject
        ranking = np.nan_to_num(subject.ranking)
        other, name = (subject.own, "own affinity")
        if subject.typicality is not None and not subject.calibrated:
            other, name = np.nan_to_num(subject.typicality), "typicality"
        return Projection(other, ranking, name, subject.quantity, f"{name} and {subject.quantity}, without features")


def _umap(subject: Subject, seed: int) -> Projection:
    assert subject.features is not None
    rows = subject.features.rows
    values = rows if is_sparse(rows) else dense(rows)
    found = require("umap", "explorer", "a UMAP map").UMAP(random_state=seed, n_jobs=1).fit_transform(values)
    x, y = np.asarray(found, dtype=np.float64).T
    return Projection(x, y, "UMAP 1", "UMAP 2", "two dimensions of UMAP, of the features as they were scored")
