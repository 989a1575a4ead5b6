"""The tables about calibration: how often a chance of 80 % is right."""

from __future__ import annotations

from collections.abc import Sequence

from _marked_page import markdown_table

from ._ours import OURS
from ._results import Block, Results
from ._scores import CHANCES

_READINGS = {"right": "wrong", "matched": "unmatched"}
#: The scores of the table by group: ours, and those that people most often read as a chance.
_BY_GROUP = (OURS, "silhouette", "mixture posterior", "prediction strength", "bootstrap stability", "item consensus")


def calibration_parts(results: Results) -> dict[str, str]:
    """Return the parts of the page about calibration."""
    return {
        "quality-calibration": _table(results, "right"),
        "quality-calibration-matched": _table(results, "matched"),
        "quality-calibration-groups": _by_group(results),
        "quality-calibration-sets": _by_set(results),
    }


def groups_of(results: Results) -> dict[str, list[Block]]:
    """Return all clusterings, with those that have few misassigned points, by kind of data."""
    groups = {
        "real and generated": results.blocks(("real", "generated"), all_cells=True),
        "real": results.blocks(("real",), all_cells=True),
        "generated": results.blocks(("generated",), all_cells=True),
        "tables of the folder": results.blocks(("table",), all_cells=True),
        "all": results.blocks(all_cells=True),
        "two clusters": results.blocks(two=True, all_cells=True),
    }
    return {name: blocks for name, blocks in groups.items() if blocks}


def _table(results: Results, reading: str) -> str:
    blocks = results.blocks(all_cells=True)
    found = {score: results.chances(score, blocks, reading) for score in CHANCES}
    rows = [
        [f"**{score}**" if score == OURS else score]
        + [f"{value:.3f}" for value in found[score][:5]]
        + [f"{found[score].surplus:+.3f}"]
        for score in sorted(found, key=lambda score: found[score].pooled)
    ]
    head = ["score", "calibration error, pooled", "set by set", "clustering by clustering", "Brier score"]
    return markdown_table([*head, "error of the mean", "mean minus share right"], rows)


def _by_group(results: Results) -> str:
    """Show some scores and the interval of trust for each kind of data, under both readings."""
    groups = groups_of(results)
    rows = []
    for score in _BY_GROUP:
        for reading in _READINGS:
            name = f"{score}, {'majority' if reading == 'right' else 'matching'}"
            row = [f"**{name}**" if score == OURS else name]
            for blocks in groups.values():
                found = results.chances(score, blocks, reading)
                row.append(f"{found.pooled:.3f}; {found.by_clustering:.3f}; {found.mean_error:.3f}")
            rows.append(row)
    true = [f"{results.true_chance(OURS, blocks):.3f}" for blocks in groups.values()]
    rows.append(["if trust were the true chance, clustering by clustering", *true])
    for reading, wrong in _READINGS.items():
        name = f"interval of trust holds, {'majority' if reading == 'right' else 'matching'}"
        rows.append([name, *(percent(results.held(blocks, wrong)) for blocks in groups.values())])
    return markdown_table(["pooled; clustering by clustering; error of the mean", *groups], rows)


def _by_set(results: Results) -> str:
    """Show for each set what trust expects and what is right, the mean over clusterers and draws, worst first."""
    rows = []
    for name in sorted({cell["set"] for cell in results.cells}):
        cells = [cell for cell in results.cells if cell["set"] == name]
        blocks: Sequence[Block] = sorted({(cell["set"], cell["clusterer"]) for cell in cells})
        found = {reading: results.chances(OURS, blocks, reading) for reading in _READINGS}
        right = {reading: 1.0 - sum(c[wrong] for c in cells) / len(cells) for reading, wrong in _READINGS.items()}
        rows.append((name, cells[0]["clusters"], right, found))
    rows.sort(key=lambda row: -abs(row[3]["right"].surplus))
    head = ["set", "classes", "expected right", "right by majority", "difference", "right by matching"]
    head += ["calibration error, majority", "matching"]
    return markdown_table(
        head,
        [
            [
                name,
                str(k),
                f"{right['right'] + found['right'].surplus:.3f}",
                f"{right['right']:.3f}",
                f"{found['right'].surplus:+.3f}",
                f"{right['matched']:.3f}",
                f"{found['right'].by_set:.3f}",
                f"{found['matched'].by_set:.3f}",
            ]
            for name, k, right, found in rows
        ],
    )


def percent(share: float) -> str:
    """Write a share as a whole percentage."""
    return f"{100 * share:.0f} %"
