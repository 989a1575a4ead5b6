"""Whether a consensus made points stable, as it should."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from allegiance._affinity import affinity
from allegiance._core import AnyArray, BoolArray, FloatArray, IntArray, check_number, resolve_seed
from allegiance.metrics import rand_distance
from allegiance.results import AffinityResult, FrameLike

_COLUMNS = ("clustering", "clusters", "stable", "turned stable", "turned unstable", "gain", "Rand distance", "verdict")


@dataclass(frozen=True, repr=False, eq=False)
class ConsensusValidation:
    """Stability of a consensus clustering of n points against the m clusterings it was made of.

    ``print(validation)`` gives a table and the verdict, :meth:`to_frame` one row per clustering.

    Attributes
    ----------
    names
        The names of the m clusterings.
    stable
        (m, n) whether each point is stable in each clustering.
    consensus_stable
        (n,) whether it is in the consensus.
    n_clusters
        (m,) the number of clusters of each clustering.
    consensus_n_clusters
        That of the consensus.
    rand_distance
        (m,) Rand distance between each clustering and the consensus.
    considerable
        The change of the stable share that counts as considerable.
    """

    names: list[str]
    stable: BoolArray
    consensus_stable: BoolArray
    n_clusters: IntArray
    consensus_n_clusters: int
    rand_distance: FloatArray
    considerable: float

    @property
    def stable_share(self) -> FloatArray:
        """(m,) share of the points that are stable in each clustering."""
        return self.stable.mean(axis=1)

    @property
    def consensus_stable_share(self) -> float:
        """Share of the points that are stable in the consensus."""
        return float(self.consensus_stable.mean())

    @property
    def gain(self) -> FloatArray:
        """(m,) stable share of the consensus minus that of each clustering."""
        return (self.consensus_stable.sum() - self.stable.sum(axis=1)) / self.consensus_stable.size

    @property
    def turned_stable(self) -> BoolArray:
        """(m, n) points that are unstable in a clustering and stable in the consensus."""
        return ~self.stable & self.consensus_stable

    @property
    def turned_unstable(self) -> BoolArray:
        """(m, n) points that are stable in a clustering and unstable in the consensus."""
        return self.stable & ~self.consensus_stable

    @property
    def verdicts(self) -> list[str]:
        """Whether the consensus "improved" on each clustering, "little changed" or "lost"."""
        return [self._word(float(gain)) for gain in self.gain]

    @property
    def verdict(self) -> str:
        """What the median gain over the clusterings says about the consensus, in words."""
        gain, unstable = float(np.median(self.gain)), int((~self.consensus_stable).sum())
        typical, word = f"{gain:+.1%} at the median", self._word(gain)
        if word == "improved":
            said = f"Improved: points turned stable ({typical}), so the clusters are tighter."
        elif word == "lost":
            said = (
                f"Lost: points turned unstable ({typical}). The clusterings do not agree enough, and the consensus has "
                "little to do with them."
            )
        elif unstable == 0:
            said = f"Little changed ({typical}): there was nothing to gain, since hardly a point was unstable before."
        else:
            always = int((~self.stable.any(axis=0) & ~self.consensus_stable).sum())
            said = (
                f"Little changed ({typical}, of the {self.considerable:.1%} that would be considerable). Either the "
                "clusterings agreed already (their median Rand distance from the consensus is "
                f"{np.median(self.rand_distance):.3f}), or the same points are ambiguous in all of them ({always:,} of "
                f"the {unstable:,} unstable points of the consensus are)."
            )
        return said + self._caveat()

    def to_frame(self, like: Any = None) -> Any:
        """Return one row per clustering and one for the consensus, which is compared with itself.

        Columns are ``clustering``, ``n_clusters``, ``stable_share``, ``turned_stable``, ``turned_unstable`` (numbers of
        points), ``gain``, ``rand_distance`` and ``verdict``.

        Parameters
        ----------
        like
            A frame of the kind to build; pandas by default.
        """
        columns: dict[str, AnyArray] = {
            "clustering": np.array([*self.names, "consensus"]),
            "n_clusters": np.append(self.n_clusters, self.consensus_n_clusters),
            "stable_share": np.append(self.stable_share, self.consensus_stable_share),
            "turned_stable": np.append(self.turned_stable.sum(axis=1), 0),
            "turned_unstable": np.append(self.turned_unstable.sum(axis=1), 0),
            "gain": np.append(self.gain, 0.0),
            "rand_distance": np.append(self.rand_distance, 0.0),
            "verdict": np.array([*self.verdicts, ""]),
        }
        kind = FrameLike() if like is None else FrameLike(FrameLike.of(like).backend)
        return kind.build(columns)

    def _word(self, gain: float) -> str:
        if gain >= self.considerable:
            return "improved"
        return "lost" if gain <= -self.considerable else "little changed"

    def _caveat(self) -> str:
        """Say where the number of clusters alone may explain the change."""
        if self.consensus_n_clusters <= 2:
            return f" But with {_clusters(self.consensus_n_clusters)} every point is stable by definition."
        typical = float(np.median(self.n_clusters))
        if self.consensus_n_clusters != typical:
            return (
                f" But it has {_clusters(self.consensus_n_clusters)}, the clusterings {typical:g} at the median: with "
                "fewer clusters more points are stable."
            )
        return ""

    def _lines(self) -> list[tuple[str, ...]]:
        """Return the table's cells."""
        lines = [
            (name, f"{k}", f"{share:.1%}", f"{up:,}", f"{down:,}", f"{gain:+.1%}", f"{distance:.3f}", word)
            for name, k, share, up, down, gain, distance, word in zip(
                self.names,
                self.n_clusters,
                self.stable_share,
                self.turned_stable.sum(axis=1),
                self.turned_unstable.sum(axis=1),
                self.gain,
                self.rand_distance,
                self.verdicts,
                strict=True,
            )
        ]
        share = f"{self.consensus_stable_share:.1%}"
        return [*lines, ("consensus", f"{self.consensus_n_clusters}", share, "", "", "", "", "")]

    def _title(self) -> str:
        return f"Consensus of {len(self.names)} clusterings of {self.consensus_stable.size:,} points"

    def __repr__(self) -> str:
        rows = [_COLUMNS, *self._lines()]
        widths = [max(len(row[c]) for row in rows) for c in range(len(_COLUMNS))]
        text = [
            "  ".join(
                cell.ljust(width) if c in (0, len(_COLUMNS) - 1) else cell.rjust(width)
                for c, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join([self._title(), "", *text, "", self.verdict])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in _COLUMNS)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self._lines())
        return (
            f"<div><p><b>{escape(self._title())}.</b> {escape(self.verdict)}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )


def validate_consensus(
    X: Any, labelings: Any, consensus: Any, *, considerable: float = 0.05, random_state: Any = None, **settings: Any
) -> ConsensusValidation:
    """Say whether a consensus clustering is better than those it was made of, by the points it made stable.

    Every clustering is scored by :func:`affinity` with the same settings and seed. The consensus improved if unstable
    points became stable; if little changed, the clusterings agreed already, or the points are ambiguous under all; if
    points became unstable, it has little to do with them.

    Parameters
    ----------
    X
        (n, d) data: array, sparse matrix or frame.
    labelings
        A dictionary by name, or a list, of labels (n,): ``labelings_`` of a fitted :class:`ConsensusClustering`.
    consensus
        (n,) labels of the consensus.
    considerable
        The change of the stable share from which on the consensus counts as improved, or lost. The paper calls 8 points
        in a hundred considerable and 2 small; the default is halfway.
    random_state
        Seed or generator, the same for every clustering; None for a new seed.
    settings
        Other settings of :func:`affinity` but ``labels`` and ``centers``, such as ``divergence`` and ``eps``.

    Returns
    -------
    ConsensusValidation
        The stable points of each clustering, and a verdict.

    See Also
    --------
    ConsensusClustering : Finds a consensus.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from allegiance import ConsensusClustering, validate_consensus
    >>> X, _ = make_blobs(300, centers=4, cluster_std=2.0, random_state=1)
    >>> model = ConsensusClustering(n_clusters=4, random_state=0).fit(X)
    >>> validation = validate_consensus(X, model.labelings_, model.labels_, random_state=0)
    >>> dict(zip(validation.names, validation.verdicts))  # doctest: +NORMALIZE_WHITESPACE
    {'k-means': 'little changed', 'single': 'improved', 'average': 'lost', 'complete': 'little changed',
     'ward': 'little changed'}
    """
    considerable = check_number(considerable, "considerable", low=0.0, high=1.0)
    if "centers" in settings:
        raise TypeError("validate_consensus scores several clusterings: centers of one cannot be given.")
    named = _named(labelings)
    seed = resolve_seed(random_state)

    def score(labels: Any) -> AffinityResult:
        return affinity(X, labels, random_state=seed, **settings)

    results = [score(labels) for labels in named.values()]
    agreed = score(consensus)
    return ConsensusValidation(
        names=list(named),
        stable=np.array([result.stable for result in results]),
        consensus_stable=agreed.stable,
        n_clusters=np.array([result.n_clusters for result in results]),
        consensus_n_clusters=agreed.n_clusters,
        rand_distance=np.array([rand_distance(labels, consensus) for labels in named.values()]),
        considerable=considerable,
    )


def _named(labelings: Any) -> dict[str, Any]:
    if isinstance(labelings, str) or not hasattr(labelings, "__iter__"):
        raise TypeError(f"labelings must be a dictionary or a list of labels, got {type(labelings).__name__}.")
    if isinstance(labelings, Mapping):
        named = {str(name): labels for name, labels in labelings.items()}
    else:
        named = {f"labels {i}": labels for i, labels in enumerate(labelings, start=1)}
    if not named:
        raise ValueError("labelings is empty: there is nothing to compare the consensus with.")
    return named


def _clusters(number: int) -> str:
    return f"{number} cluster{'' if number == 1 else 's'}"
