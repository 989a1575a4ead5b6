"""The tables of the study, written into ``docs/benchmarks.md`` and printed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from _marked_page import markdown_table, write_parts

from ._clusterers import CLUSTERERS
from ._gaps import gap_rows
from ._merged import SHOWN, cluster_rows, digits_rows
from ._ours import OURS
from ._peers import PEER_SCORES
from ._pictures import draw_all
from ._reliability_page import calibration_parts, percent
from ._results import Block, Results
from ._scores import ABLATIONS, HEADLINE
from ._statistics import Ranking, rank_scores
from ._store import Store

_EXTREMES = 8
_KINDS = {"real": "real sets", "table": "tables of the folder", "generated": "generated sets"}


def write_page(store: Store, docs: Path | None) -> str:
    """Return all tables; with ``docs``, also write them into its page and draw the pictures."""
    results = Results.of(store.read())
    parts = {
        "quality-ran": _ran(results, store),
        "quality-headline": _headline(results, results.blocks()),
        "quality-two": _headline(results, results.blocks(two=True)),
        "quality-against": _against(results),
        "quality-groups": _groups(results),
        "quality-extremes": _extremes(results),
        "quality-gaps": _gaps(),
        "quality-merged": _merged(),
        "quality-ablations": _ablations(results),
        "quality-sets": _sets(results),
        **calibration_parts(results),
    }
    if docs is not None:
        write_parts(docs / "benchmarks.md", parts)
        draw_all(results, docs / "images")
    return "\n\n".join(parts.values())


def ranking_of(results: Results, scores: Sequence[str], measure: str, blocks: Sequence[Block]) -> Ranking:
    """Rank scores over data sets; each set counts once, with the mean over its clusterers."""
    return rank_scores(results.by_set(scores, measure, blocks)[1])


def _ran(results: Results, store: Store) -> str:
    made = store.made_with()
    versions = "; also ".join(", ".join(f"{name} {number}" for name, number in one.items()) for one in made)
    counts = [len({c["set"] for c in results.cells if c["kind"] == kind}) for kind in _KINDS]
    measured = len({key[:3] for key, row in results.values.items() if not np.isnan(row["auroc"])})
    draws = len({cell["seed"] for cell in results.cells})
    minutes = sum(cell["seconds"] for cell in results.cells) / 60.0
    return (
        f"{sum(counts)} data sets ({counts[0]} real, {counts[1]} tables of the folder, {counts[2]} generated), {draws} "
        f"draws each, {len(results.cells):,} clusterings, {measured:,} of them with enough misassigned points to look "
        f"for; {minutes:.0f} minutes of one core. {versions}."
    )


def _headline(results: Results, blocks: Sequence[Block]) -> str:
    """Rank ours and the peers; empty without a block."""
    if not blocks:
        return "No such set was measured."
    ranking = ranking_of(results, HEADLINE, "auroc", blocks)
    matched = ranking_of(results, HEADLINE, "matched_auroc", blocks)
    precision = ranking_of(results, HEADLINE, "ap", blocks)
    head = ["score", "mean rank", "AUROC", "average precision", "rank by it", "precision at 5 %", "accuracy, 80 % kept"]
    head += ["AUROC, matching", "rank by it"]
    rows = []
    for i in np.argsort(ranking.mean_ranks):
        score = HEADLINE[i]
        mean = {name: results.overall(score, name, blocks)[0] for name in ("p5", "keep80", "matched_auroc")}
        row = [named(score), f"{ranking.mean_ranks[i]:.1f}"]
        row += [_with_interval(*results.overall(score, name, blocks)) for name in ("auroc", "ap")]
        row += [f"{precision.mean_ranks[i]:.1f}", f"{mean['p5']:.2f}", f"{mean['keep80']:.3f}"]
        row += [f"{mean['matched_auroc']:.3f}", f"{matched.mean_ranks[i]:.1f}"]
        rows.append(row)
    summary = (
        f"{ranking.n_sets} data sets, critical difference {ranking.critical_difference:.2f} (Nemenyi, 5 %), "
        f"Friedman p = {ranking.p_value:.1g}; of all points {100 * _mean_wrong(results, blocks):.1f} % are misassigned."
    )
    return f"{markdown_table(head, rows)}\n\n{summary}"


def _mean_wrong(results: Results, blocks: Sequence[Block]) -> float:
    by_block = {
        block: [cell["wrong"] for cell in results.cells if (cell["set"], cell["clusterer"]) == block]
        for block in blocks
    }
    return float(np.mean([np.mean(values) for values in by_block.values()]))


def _against(results: Results) -> str:
    blocks = results.blocks()
    rows = []
    for peer in PEER_SCORES:
        row = [peer]
        for measure in ("auroc", "ap"):
            found = results.against(OURS, peer, measure, blocks)
            row += [f"{found.wins} / {found.even} / {found.losses}", f"{found.mean_difference:+.3f}"]
        rows.append(row)
    head = ["beside", "AUROC: better / even / worse", "difference"]
    return markdown_table([*head, "average precision: better / even / worse", "difference"], rows)


def _groups(results: Results) -> str:
    groups = {name: results.blocks((kind,)) for kind, name in _KINDS.items()}
    groups = {"real and generated": results.blocks(("real", "generated")), **groups}
    groups |= {name: results.blocks(clusterer=name) for name in CLUSTERERS}
    groups = {name: blocks for name, blocks in groups.items() if blocks}
    rankings = {name: ranking_of(results, HEADLINE, "auroc", blocks) for name, blocks in groups.items()}
    rows = [
        [named(score)]
        + [
            f"{results.overall(score, 'auroc', blocks)[0]:.3f} ({rankings[name].mean_ranks[i]:.1f})"
            for name, blocks in groups.items()
        ]
        for i, score in enumerate(HEADLINE)
    ]
    rows.append(["sets; critical difference"])
    rows[-1] += [f"{found.n_sets}; {found.critical_difference:.1f}" for found in rankings.values()]
    return markdown_table(["AUROC (mean rank)", *groups], rows)


def _extremes(results: Results) -> str:
    """Show the clusterings where trust is farthest behind and ahead of the best peer."""
    gaps = []
    for block in results.blocks():
        means = {peer: float(results.over_seeds(block, peer).mean()) for peer in PEER_SCORES}
        best = max(means, key=means.__getitem__)
        own = float(results.over_seeds(block, OURS).mean())
        gaps.append((own - means[best], block, own, best, means[best]))
    gaps.sort()
    ahead = sum(gap[0] > 0 for gap in gaps)
    chosen = gaps[:_EXTREMES] + gaps[-_EXTREMES:]
    rows = [
        [f"{name}, {clusterer}", f"{own:.3f}", f"{best} {theirs:.3f}", f"{gap:+.3f}"]
        for gap, (name, clusterer), own, best, theirs in dict.fromkeys(chosen)
    ]
    head = ["clustering", OURS, "best of the peers", "difference"]
    return f"Ahead of the best peer in {ahead} of {len(gaps)} clusterings:\n\n{markdown_table(head, rows)}"


def _gaps() -> str:
    rows = gap_rows()
    head = ["distances between neighbours", *rows[0][1]]
    return markdown_table(head, [[f"{a:g} and {b:g}", *(f"{v:.3f}" for v in found.values())] for (a, b), found in rows])


def _merged() -> str:
    rows = [
        [str(row.clusters), f"{percent(row.expected)} ({' to '.join(map(percent, row.interval))})", percent(row.right)]
        for row in digits_rows()
    ]
    over_k = markdown_table(["clusters", "expected right", "right by majority"], rows)
    rows = [[row.holds, str(row.points), percent(row.expected), percent(row.right)] for row in cluster_rows()]
    over_clusters = markdown_table(["holds", "points", "expected right", "right by majority"], rows)
    return f"{over_k}\n\nThe clusters of the clustering in {SHOWN}:\n\n{over_clusters}"


def _ablations(results: Results) -> str:
    blocks = results.blocks()
    scores = (OURS, *ABLATIONS)
    ranks = ranking_of(results, scores, "auroc", blocks).mean_ranks
    kinds = {name: found for kind, name in _KINDS.items() if (found := results.blocks((kind,)))}
    rows = []
    for i in np.argsort(ranks):
        score = scores[i]
        row = [named(score), f"{ranks[i]:.1f}"]
        row += [f"{ranking_of(results, (score, *PEER_SCORES), 'auroc', blocks).mean_ranks[0]:.1f}"]
        row += [_with_interval(*results.overall(score, name, blocks)) for name in ("auroc", "ap")]
        row += [f"{results.overall(score, 'auroc', found)[0]:.3f}" for found in kinds.values()]
        row += [f"{results.overall(score, 'auroc', results.blocks(clusterer=name))[0]:.3f}" for name in CLUSTERERS]
        rows.append(row)
    head = ["score", f"mean rank of {len(scores)}", f"mean rank among the {len(PEER_SCORES)} peers"]
    head += ["AUROC", "average precision", *(f"AUROC, {name}" for name in (*kinds, *CLUSTERERS))]
    return markdown_table(head, rows)


def _sets(results: Results) -> str:
    names = [name for kind in _KINDS for name in sorted({c["set"] for c in results.cells if c["kind"] == kind})]
    measured = [*results.blocks(), *results.blocks(two=True)]
    rows = []
    for name in names:
        about = results.about(name)
        blocks = [block for block in measured if block[0] == name]
        row = [name, f"{about['rows']} x {about['columns']}", str(about["clusters"])]
        row += [f"{100 * about['wrong'][clusterer].mean():.1f} %" for clusterer in CLUSTERERS]
        if blocks:
            found = dict(zip(HEADLINE, results.by_set(HEADLINE, "auroc", blocks)[1][0], strict=True))
            best = max(PEER_SCORES, key=found.__getitem__)
            row += [f"{found[OURS]:.3f}", f"{best} {found[best]:.3f}"]
        else:
            row += ["", "too few misassigned"]
        rows.append(row)
    head = ["set", "rows x columns", "classes", *(f"misassigned, {clusterer}" for clusterer in CLUSTERERS)]
    return markdown_table([*head, OURS, "best of the peers"], rows)


def named(score: str) -> str:
    """Mark what is ours and compared."""
    return f"**{score}**" if score == OURS else score


def _with_interval(mean: float, half: float) -> str:
    return f"{mean:.3f}" if np.isnan(half) else f"{mean:.3f} ± {half:.3f}"
