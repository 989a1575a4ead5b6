"""A result on a screen: what a person wants to know first."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allegiance._core._typing import AnyArray

if TYPE_CHECKING:
    from ._base import RankedResult

#: Clusters listed before the table is cut; the least stable come first then.
_MAX_CLUSTERS = 20
_NOISE = "noise"


class ClusterLine(NamedTuple):
    """One cluster in the summary."""

    name: Any
    points: int
    stable: float
    confidence: float
    rival: Any
    """The most frequent runner-up, or owner if it is another cluster, of its unstable points."""


def cluster_lines(result: RankedResult) -> list[ClusterLine]:
    """Summarise the points of each label, noise last."""
    lines = []
    noise: Any = -1
    names = [*result.classes, noise] if _is_noise(result).any() else list(result.classes)
    owner, runner_up, stable = result.owner, result.runner_up, result.stable
    for name in names:
        rows = result.label == name
        doubtful = rows & ~stable
        rivals: AnyArray = np.where(owner[doubtful] == name, runner_up[doubtful], owner[doubtful])
        rival: Any = "-"
        if rivals.size:
            values, counts = np.unique(rivals, return_counts=True)
            rival = values[counts.argmax()]
        points = int(rows.sum())
        share = float(stable[rows].mean()) if points else float("nan")
        confidence = float(result.confidence[rows].mean()) if points else float("nan")
        lines.append(ClusterLine(_NOISE if name is noise else name, points, share, confidence, rival))
    return lines


def measured_by(result: RankedResult) -> str:
    """Say which engines measured how many points, and how precisely."""
    names, counts = np.unique(result.engine, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    engines = ", ".join(f"{names[i]} ({counts[i]:,})" for i in order)
    worst = 1.96 * float(result.worst_error.max(initial=0.0))
    precision = "exact" if worst == 0 else f"95 % intervals within ±{worst:.3f}"
    return f"{engines}; {precision}"


def _title(result: RankedResult) -> str:
    return f"Affinity of {_count(result.n_points, 'point')} to {_count(result.n_clusters, 'cluster')}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _headlines(result: RankedResult) -> list[str]:
    """Say how many points are stable, and what else a reader should know before the table."""
    n, stable = result.n_points, int(result.stable.sum())
    undecided = int((~result.decided).sum())
    disagree = int(((result.label != result.owner) & ~_is_noise(result)).sum())
    hidden = int(result.hidden.sum())
    close = f" ({undecided:,} too close to call)" if undecided else ""
    lines = [f"{stable:,} stable ({stable / n:.1%}), {n - stable:,} to review{close}"]
    if disagree:
        lines.append(f"{disagree:,} belong more to another cluster than to their own")
    if hidden:
        lines.append(f"{hidden:,} own no territory: affinity is the limit of a vanishing one")
    return lines


def _is_noise(result: RankedResult) -> Any:
    if result.label.dtype.kind in "iu":
        return result.label == -1
    return np.zeros(result.n_points, dtype=bool)


def _shown(lines: list[ClusterLine]) -> tuple[list[ClusterLine], int]:
    if len(lines) <= _MAX_CLUSTERS + 1:
        return lines, 0
    noise = [line for line in lines if line.name == _NOISE]
    clusters = sorted((line for line in lines if line.name != _NOISE), key=lambda line: (not line.points, line.stable))
    return clusters[:_MAX_CLUSTERS] + noise, len(clusters) - _MAX_CLUSTERS


def _numbers(line: ClusterLine) -> tuple[str, str]:
    """Return the stable share and the mean confidence of a cluster; dashes if it has no point."""
    return (f"{line.stable:.1%}", f"{line.confidence:.2f}") if line.points else ("-", "-")


def _footer(result: RankedResult) -> list[str]:
    how = result.how
    reduced = f", reduced from {how.n_features}" if how.dim < how.n_features else ""
    where = f"domain {how.domain}, {_count(how.dim, 'dimension')}{reduced}"
    closeness = [] if how.influence == "euclidean" else [f"closeness    {how.influence}"]
    return [
        *closeness,
        f"measured by  {measured_by(result)}",
        f"territory    {where}; seed {how.seed}; {how.seconds:.2f} s",
    ]


def summary_text(result: RankedResult) -> str:
    """Return the summary as plain text."""
    lines, left_out = _shown(cluster_lines(result))
    width = max(7, *(len(str(line.name)) for line in lines))
    out = [
        _title(result),
        *_headlines(result),
        "",
        f"{'cluster':<{width}}  {'points':>9}  {'stable':>7}  {'confidence':>10}  rival",
    ]
    for line in lines:
        stable, confidence = _numbers(line)
        out.append(f"{line.name!s:<{width}}  {line.points:>9,}  {stable:>7}  {confidence:>10}  {line.rival}")
    if left_out:
        out.append(f"... and {left_out:,} more clusters, all at least as stable")
    return "\n".join([*out, "", *_footer(result)])


def summary_html(result: RankedResult) -> str:
    """Return the summary as a small HTML table for notebooks."""
    lines, left_out = _shown(cluster_lines(result))
    rows = "".join(
        f"<tr><td>{escape(str(line.name))}</td><td>{line.points:,}</td><td>{stable}</td>"
        f"<td>{confidence}</td><td>{escape(str(line.rival))}</td></tr>"
        for line, (stable, confidence) in zip(lines, map(_numbers, lines), strict=True)
    )
    more = f"<p>... and {left_out:,} more clusters, all at least as stable</p>" if left_out else ""
    foot = "<br>".join(escape(line) for line in _footer(result))
    return (
        f"<div><p><b>{_title(result)}.</b> "
        f"{escape('; '.join(_headlines(result)))}.</p><table><thead><tr><th>cluster</th><th>points</th><th>stable</th>"
        f"<th>confidence</th><th>rival</th></tr></thead><tbody>{rows}</tbody></table>{more}"
        f"<p><small>{foot}</small></p></div>"
    )
