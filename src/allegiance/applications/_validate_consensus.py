"""Whether the labels of a consensus can be trusted more than those of the clusterings it was made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from allegiance._core import AnyArray, BoolArray, FloatArray, IntArray, check_number
from allegiance._scorer import AffinityScorer
from allegiance.metrics import rand_distance
from allegiance.notebook import Card, Share, share_bar
from allegiance.results import SUPPORTED, FrameLike

from ._given_scorer import by_name, calibrated_scorer, score_candidate
from ._text_table import text_table

_HEADINGS = (
    "clustering",
    "clusters",
    "above chance",
    "gain",
    "supported",
    "gained",
    "lost",
    "stable",
    "Rand distance",
    "verdict",
)


@dataclass(frozen=True, repr=False, eq=False)
class ConsensusValidation:
    """Trust in a consensus clustering of n points, and in the m clusterings it was made of.

    ``print(validation)`` gives a table and the verdict, :meth:`frame` one row per clustering.

    Attributes
    ----------
    names
        The names of the m clusterings.
    above_chance
        (m,) trust above chance in the labels of each clustering.
    consensus_above_chance
        That of the consensus.
    supported
        (m, n) whether the label of each point is supported in each clustering.
    consensus_supported
        (n,) whether it is in the consensus.
    stable_share
        (m,) share of the points that are stable in each clustering: the paper's criterion.
    consensus_stable_share
        That of the consensus.
    n_clusters
        (m,) the number of clusters of each clustering.
    consensus_n_clusters
        That of the consensus.
    rand_distance
        (m,) Rand distance between each clustering and the consensus.
    considerable
        The change of trust above chance that counts as considerable.

    See Also
    --------
    allegiance.validate_consensus : What returns it, with an example.
    """

    names: list[str]
    above_chance: FloatArray
    consensus_above_chance: float
    supported: BoolArray
    consensus_supported: BoolArray
    stable_share: FloatArray
    consensus_stable_share: float
    n_clusters: IntArray
    consensus_n_clusters: int
    rand_distance: FloatArray
    considerable: float

    @property
    def gain(self) -> FloatArray:
        """(m,) trust above chance in the consensus minus that in each clustering."""
        return self.consensus_above_chance - self.above_chance

    @property
    def turned_supported(self) -> BoolArray:
        """(m, n) points whose label is supported in the consensus, but not in a clustering."""
        return ~self.supported & self.consensus_supported

    @property
    def turned_doubtful(self) -> BoolArray:
        """(m, n) points whose label is supported in a clustering, but not in the consensus."""
        return self.supported & ~self.consensus_supported

    @property
    def verdicts(self) -> list[str]:
        """Whether the consensus "improved" on each clustering, "little changed" or "lost"."""
        return [self._word(float(gain)) for gain in self.gain]

    @property
    def verdict(self) -> str:
        """What the median gain over the clusterings says about the consensus, in words."""
        gain, doubtful = float(np.median(self.gain)), ~self.consensus_supported
        typical, word = f"trust above chance {gain:+.2f} at the median", self._word(gain)
        if word == "improved":
            return f"Improved: the labels of the consensus can be trusted more ({typical})."
        if word == "lost":
            return (
                f"Lost: the labels of the consensus can be trusted less ({typical}). The clusterings do not agree "
                "enough, and the consensus has little to do with them."
            )
        if not doubtful.any():
            return f"Little changed ({typical}): all labels are supported, so there was nothing to gain."
        always = int((~self.supported.any(axis=0) & doubtful).sum())
        return (
            f"Little changed ({typical}; {self.considerable:.2f} would be considerable). Either the clusterings agreed "
            f"already (their median Rand distance from the consensus is {np.median(self.rand_distance):.3f}), or the "
            f"same points are doubtful in all of them ({always:,} of the {int(doubtful.sum()):,} in the consensus are)."
        )

    def frame(self, like: Any = None) -> Any:
        """Return one row per clustering and one for the consensus, which is compared with itself.

        Columns are ``clustering``, ``n_clusters``, ``above_chance``, ``gain``, ``supported``, ``turned_supported``,
        ``turned_doubtful`` (numbers of points), ``stable_share``, ``rand_distance`` and ``verdict``.

        Parameters
        ----------
        like
            A frame of the kind to build; pandas by default.
        """
        columns: dict[str, AnyArray] = {
            "clustering": np.array([*self.names, "consensus"]),
            "n_clusters": np.append(self.n_clusters, self.consensus_n_clusters),
            "above_chance": np.append(self.above_chance, self.consensus_above_chance),
            "gain": np.append(self.gain, 0.0),
            "supported": np.append(self.supported.sum(axis=1), self.consensus_supported.sum()),
            "turned_supported": np.append(self.turned_supported.sum(axis=1), 0),
            "turned_doubtful": np.append(self.turned_doubtful.sum(axis=1), 0),
            "stable_share": np.append(self.stable_share, self.consensus_stable_share),
            "rand_distance": np.append(self.rand_distance, 0.0),
            "verdict": np.array([*self.verdicts, ""]),
        }
        kind = FrameLike() if like is None else FrameLike(FrameLike.of(like).backend)
        return kind.build(columns)

    def _word(self, gain: float) -> str:
        if gain >= self.considerable:
            return "improved"
        return "lost" if gain <= -self.considerable else "little changed"

    def _cells(self) -> list[tuple[str, ...]]:
        gained, lost = self.turned_supported.sum(axis=1), self.turned_doubtful.sum(axis=1)
        lines = [
            (
                name,
                f"{self.n_clusters[i]}",
                f"{self.above_chance[i]:.2f}",
                f"{self.gain[i]:+.2f}",
                f"{self.supported[i].sum():,}",
                f"{gained[i]:,}",
                f"{lost[i]:,}",
                f"{self.stable_share[i]:.1%}",
                f"{self.rand_distance[i]:.3f}",
                self.verdicts[i],
            )
            for i, name in enumerate(self.names)
        ]
        trust, stable = f"{self.consensus_above_chance:.2f}", f"{self.consensus_stable_share:.1%}"
        supported = f"{self.consensus_supported.sum():,}"
        return [*lines, ("consensus", f"{self.consensus_n_clusters}", trust, "", supported, "", "", stable, "", "")]

    def _title(self) -> str:
        return f"Consensus of {len(self.names)} clusterings of {self.consensus_supported.size:,} points"

    def __repr__(self) -> str:
        table = text_table(_HEADINGS, self._cells(), left=("clustering", "verdict"))
        return "\n".join([self._title(), "", *table, "", self.verdict])

    def _repr_html_(self) -> str:
        supported = [*self.supported.mean(axis=1), self.consensus_supported.mean()]
        bars = [share_bar([Share(SUPPORTED, share), Share("doubtful", 1.0 - share)]) for share in supported]
        return Card(
            title=self._title(),
            lines=[self.verdict],
            headings=(*_HEADINGS[:4], "", *_HEADINGS[4:]),
            rows=[[*cells[:4], bar, *cells[4:]] for cells, bar in zip(self._cells(), bars, strict=True)],
            words=("clustering", "verdict", ""),
        ).html()


def validate_consensus(
    X: Any, labelings: Any, consensus: Any, *, scorer: AffinityScorer | None = None, considerable: float = 0.05
) -> ConsensusValidation:
    """Say whether a consensus clustering is better than those it was made of, by how far its labels can be trusted.

    Every clustering is scored with the same settings and seed. The consensus improved if its labels have more trust
    above chance; if little changed, the clusterings agreed already, or the points are ambiguous under all; if labels
    have less, it has little to do with them.

    Parameters
    ----------
    X
        (n, d) data: array, sparse matrix or frame.
    labelings
        A dictionary by name, or a list, of labels (n,): ``labelings_`` of a fitted :class:`ConsensusClustering`.
    consensus
        (n,) labels of the consensus.
    scorer
        How labels are scored, with calibration and without clusters of its own. By default
        ``AffinityScorer(influence="within", calibration=20)``.
    considerable
        The change of trust above chance from which on the consensus counts as improved, or lost.

    Returns
    -------
    ConsensusValidation
        Trust in each clustering, and a verdict.

    See Also
    --------
    ConsensusClustering : Finds a consensus.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from allegiance import ConsensusClustering, validate_consensus
    >>> X, _ = make_blobs(300, centers=4, cluster_std=2.0, random_state=1)
    >>> model = ConsensusClustering(n_clusters=4, random_state=0).fit(X)
    >>> validation = validate_consensus(X, model.labelings_, model.labels_)
    >>> dict(zip(validation.names, validation.verdicts))["single"]
    'improved'
    """
    considerable = check_number(considerable, "considerable", low=0.0, high=1.0)
    checked = calibrated_scorer(scorer, "validate_consensus")
    named = by_name(labelings, "labelings")
    results = [score_candidate(checked, X, labels, f"labelings[{name!r}]") for name, labels in named.items()]
    agreed = score_candidate(checked, X, consensus, "consensus")
    return ConsensusValidation(
        names=list(named),
        above_chance=np.array([result.above_chance() for result in results]),
        consensus_above_chance=agreed.above_chance(),
        supported=np.array([result.verdict == SUPPORTED for result in results]),
        consensus_supported=agreed.verdict == SUPPORTED,
        stable_share=np.array([result.stable.mean() for result in results]),
        consensus_stable_share=float(agreed.stable.mean()),
        n_clusters=np.array([result.n_clusters for result in results]),
        consensus_n_clusters=agreed.n_clusters,
        rand_distance=np.array([rand_distance(labels, consensus) for labels in named.values()]),
        considerable=considerable,
    )
