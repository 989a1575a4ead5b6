"""The pictures of the study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ._cell import COVERAGES
from ._ours import OURS
from ._reliability import COLUMNS
from ._results import Results
from ._scores import HEADLINE
from ._statistics import cliques, rank_scores

_OURS = {OURS: "#b2182b"}
_DPI = 110
#: The scores of the reliability picture.
_RELIABILITY = (OURS, "silhouette", "mixture posterior", "prediction strength", "bootstrap stability", "item consensus")
#: A bin with a smaller share of all points is not drawn.
_LEAST_SHARE = 0.005


def draw_all(results: Results, folder: Path) -> None:
    """Draw every picture into a folder."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    folder.mkdir(exist_ok=True)
    pictures = {"ranks": draw_ranks, "coverage": draw_coverage, "sets": draw_sets, "reliability": draw_reliability}
    for name, draw in pictures.items():
        figure = draw(results, plt)
        figure.savefig(folder / f"bench_quality_{name}.png", dpi=_DPI, facecolor="white", bbox_inches="tight")
        plt.close(figure)


def draw_ranks(results: Results, plt: Any) -> Any:
    """Draw the mean ranks on a line, with a bar over scores that may differ by chance only."""
    ranking = rank_scores(results.by_set(HEADLINE, "auroc", results.blocks())[1])
    order = np.argsort(ranking.mean_ranks)
    half = (len(order) + 1) // 2
    bars = cliques(ranking.mean_ranks, ranking.critical_difference)
    low, high = np.floor(ranking.mean_ranks.min() - 0.2), np.ceil(ranking.mean_ranks.max() + 0.2)
    base = 0.35 * len(bars) + 0.4
    figure, axes = plt.subplots(figsize=(8.5, 0.32 * (half + len(bars)) + 1.3))
    axes.set(xlim=(low - 1.9, high + 1.9), ylim=(base + 0.5 * half + 0.3, -1.6))
    axes.axis("off")
    axes.plot([low, high], [0, 0], color="black", linewidth=1)
    for tick in np.arange(low, high + 1):
        axes.plot([tick, tick], [0, -0.15], color="black", linewidth=1)
        axes.text(tick, -0.25, f"{tick:.0f}", ha="center", va="bottom", fontsize=8)
    axes.plot([low, low + ranking.critical_difference], [-1.15, -1.15], color="black", linewidth=2)
    axes.text(low, -1.3, f"critical difference {ranking.critical_difference:.2f}", va="bottom", fontsize=8)
    for level, (first, last) in enumerate(bars):
        axes.plot([first - 0.05, last + 0.05], [0.35 * (level + 1)] * 2, color="#555555", linewidth=3)
    for position, index in enumerate(order):
        left = position < half
        y = base + 0.5 * (position if left else len(order) - 1 - position)
        x, rank = (low - 0.1 if left else high + 0.1), ranking.mean_ranks[index]
        color = _OURS.get(HEADLINE[index], "#333333")
        axes.plot([rank, rank, x], [0, y, y], color=color, linewidth=1)
        weight = "bold" if HEADLINE[index] in _OURS else "normal"
        text = f"{HEADLINE[index]} {rank:.1f}"
        axes.text(
            x,
            y,
            f"{text} " if left else f" {text}",
            ha="right" if left else "left",
            va="center",
            fontsize=9,
            color=color,
            weight=weight,
        )
    return figure


def draw_coverage(results: Results, plt: Any) -> Any:
    """Draw the accuracy of what is kept against how much is kept, the mean over all clusterings."""
    blocks = results.blocks()
    coverages = np.array(COVERAGES)
    figure, axes = plt.subplots(figsize=(7, 4.2))
    ends = []
    colors = iter(plt.get_cmap("tab20").colors)
    for score in HEADLINE:
        means = [results.overall(score, f"keep{100 * share:.0f}", blocks)[0] for share in coverages]
        ours = score in _OURS
        color = _OURS[score] if ours else next(colors)
        axes.plot(
            100 * coverages, means, color=color, linewidth=2.5 if ours else 1.1, zorder=3 if ours else 2, label=score
        )
        ends.append(means[0])
    handles, labels = axes.get_legend_handles_labels()
    order = np.argsort(ends)[::-1]
    axes.legend(
        [handles[i] for i in order], [labels[i] for i in order], fontsize=8, frameon=False, bbox_to_anchor=(1.0, 1.0)
    )
    axes.set(xlabel="most trusted points kept, %", ylabel="share well assigned")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def draw_sets(results: Results, plt: Any) -> Any:
    """Draw the AUROC of every score on every data set."""
    names, values = results.by_set(HEADLINE, "auroc", results.blocks())
    columns = np.argsort(rank_scores(values).mean_ranks)
    kinds = {cell["set"]: ("real", "table", "generated").index(cell["kind"]) for cell in results.cells}
    rows = sorted(range(len(names)), key=lambda i: (kinds[names[i]], names[i]))
    shown = values[np.ix_(rows, columns)]
    figure, axes = plt.subplots(figsize=(8.5, 0.28 * len(rows) + 1.8))
    axes.imshow(shown, cmap="RdYlGn", vmin=0.3, vmax=1.0, aspect="auto")
    for (i, j), value in np.ndenumerate(shown):
        best = value == shown[i].max()
        axes.text(
            j,
            i,
            f"{value:.2f}"[1:] if value < 1 else "1",
            ha="center",
            va="center",
            fontsize=7.5,
            weight="bold" if best else "normal",
        )
    axes.set_xticks(range(len(columns)), [HEADLINE[i] for i in columns], rotation=40, ha="right", fontsize=8.5)
    axes.set_yticks(range(len(rows)), [names[i] for i in rows], fontsize=8.5)
    for tick, i in zip(axes.get_xticklabels(), columns, strict=True):
        tick.set_color(_OURS.get(HEADLINE[i], "black"))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return figure


def draw_reliability(results: Results, plt: Any) -> Any:
    """Draw the share of right labels against the chance that a score gives, bin by bin, under both readings."""
    blocks = results.blocks(all_cells=True)
    figure, panels = plt.subplots(1, 2, figsize=(9.5, 4.6), sharey=True)
    for axes, reading, title in zip(panels, ("right", "matched"), ("by majority", "by matching"), strict=True):
        axes.plot([0, 1], [0, 1], color="#999999", linewidth=1, linestyle="--")
        colors = iter(plt.get_cmap("Dark2").colors)
        for score in _RELIABILITY:
            bins = results.pooled_bins(score, blocks)
            bins = bins[bins[:, 0] >= _LEAST_SHARE]
            chance, right = bins[:, 1] / bins[:, 0], bins[:, COLUMNS.index(reading)] / bins[:, 0]
            ours = score in _OURS
            color = _OURS[score] if ours else next(colors)
            axes.plot(chance, right, color=color, linewidth=2.2 if ours else 1.0, zorder=3 if ours else 2, label=score)
            axes.scatter(chance, right, s=250 * bins[:, 0], color=color, zorder=3 if ours else 2)
        axes.set(xlabel="chance that the score gives", title=f"right {title}", xlim=(0, 1), ylim=(0, 1))
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("share right")
    panels[1].legend(fontsize=8, frameon=False, bbox_to_anchor=(1.0, 1.0), loc="upper left")
    return figure
