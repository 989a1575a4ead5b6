"""What calibration sees of a clustering: a sample of its points."""

from __future__ import annotations

from typing import NamedTuple

from allegiance._core import FloatArray, IntArray, Rows


class Evidence(NamedTuple):
    """Points of the sample, in the order of their row numbers."""

    coordinates: Rows
    """(m, p) dense or CSR, in the space of influence, where k-means clusters anew."""
    codes: IntArray
    """(m,) cluster numbers, -1 for noise."""
    own_affinity: FloatArray
    """(m,) affinity to the own cluster."""
    closeness: FloatArray
    """(m,) (1 + (t - o) / max(t, o)) / 2 with the distances o to the own representative and t to the nearest other."""
    distance: FloatArray
    """(m,) distance from the own representative, not negative."""

    def check(self, n_clusters: int) -> None:
        """Raise unless the arrays fit together and hold at least one labelled point."""
        m = self.codes.shape[0]
        for name, values in zip(self._fields, self, strict=True):
            if values.shape[0] != m:
                raise ValueError(f"evidence.{name} has {values.shape[0]} rows but evidence.codes has {m}.")
        if not (self.codes >= 0).any():
            raise ValueError("evidence.codes contains no cluster: every point is noise (-1), so no label can hold.")
        if self.codes.max() >= n_clusters:
            raise ValueError(f"evidence.codes contains {self.codes.max()} but there are {n_clusters} clusters.")

    def take(self, points: IntArray) -> Evidence:
        """Return the evidence of some points (q,) only."""
        return Evidence(
            self.coordinates[points],
            self.codes[points],
            self.own_affinity[points],
            self.closeness[points],
            self.distance[points],
        )
