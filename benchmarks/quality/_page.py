"""The tables of the study, written into ``docs/benchmarks.md`` and printed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from _marked_page import markdown_table, write_parts

from ._clusterers import CLUSTERERS
from ._gaps import gap_rows
from ._peers import PEER_SCORES
from ._pictures import draw_all
from ._results import Block, Results
from ._scores import ABLATIONS, HEADLINE, OUR_HEADLINE
from ._statistics import Ranking, rank_scores
from ._store import Store

_EXTREMES = 8


def write_page(store: Store, docs: Path | None) -> str:
    """Return all tables; with ``docs``, also write them into its page and draw the pictures."""
    results = Results.of(*store.read())
    parts = {
        "quality-ran": _ran(results, store),
        "quality-headline": _headline(results),
        "quality-against": _against(results),
        "quality-groups": _groups(results),
        "quality-extremes": _extremes(results),
        "quality-gaps": _gaps(),
        "quality-ablations": _ablations(results),
        "quality-sets": _sets(results),
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
    seeds = [len(results.seeds(block)) for block in results.blocks()]
    sets = len({cell["set"] for cell in results.cells})
    measured = len({key[:3] for key in results.values})
    return (
        f"{sets} data sets, {len(results.cells):,} clusterings, {measured:,} of them with enough misassigned points to "
        f"measure, {min(seeds)} to {max(seeds)} draws each. {versions}."
    )


def _headline(results: Results) -> str:
    blocks = results.blocks()
    ranking = ranking_of(results, HEADLINE, "auroc", blocks)
    matched = ranking_of(results, HEADLINE, "matched_auroc", blocks)
    precision = ranking_of(results, HEADLINE, "ap", blocks)
    head = ["score", "mean rank", "AUROC", "average precision", "rank by it", "at 1 %", "at 5 %", "at 10 %"]
    head += ["accuracy, 80 % kept", "AUROC, matching", "rank by it"]
    rows = []
    for i in np.argsort(ranking.mean_ranks):
        score = HEADLINE[i]
        mean = {
            name: results.overall(score, name, blocks)[0] for name in ("p1", "p5", "p10", "keep80", "matched_auroc")
        }
        row = [_named(score), f"{ranking.mean_ranks[i]:.1f}"]
        row += [
            _with_interval(*results.overall(score, "auroc", blocks)),
            _with_interval(*results.overall(score, "ap", blocks)),
        ]
        row += [f"{precision.mean_ranks[i]:.1f}", *(f"{mean[name]:.2f}" for name in ("p1", "p5", "p10"))]
        row += [f"{mean['keep80']:.3f}", f"{mean['matched_auroc']:.3f}", f"{matched.mean_ranks[i]:.1f}"]
        rows.append(row)
    summary = (
        f"{ranking.n_sets} data sets, critical difference {ranking.critical_difference:.2f} (Nemenyi, 5 %), "
        f"Friedman p = {ranking.p_value:.1g}; of all points {1 - _mean_accuracy(results, blocks):.1%} are misassigned."
    )
    return f"{markdown_table(head, rows)}\n\n{summary}"


def _mean_accuracy(results: Results, blocks: Sequence[Block]) -> float:
    measured = {key[:3] for key in results.values}
    wrong = {block: [] for block in blocks}
    for cell in results.cells:
        key = (cell["set"], cell["clusterer"], cell["seed"])
        if key in measured:
            wrong[key[:2]].append(cell["wrong"])
    return float(1.0 - np.mean([np.mean(values) for values in wrong.values()]))


def _against(results: Results) -> str:
    blocks = results.blocks()
    head = ["beside", *(f"{ours}: {what}" for ours in OUR_HEADLINE for what in ("better / even / worse", "AUROC"))]
    rows = []
    for peer in PEER_SCORES:
        cells = [peer]
        for ours in OUR_HEADLINE:
            found = results.against(ours, peer, "auroc", blocks)
            cells += [f"{found.wins} / {found.even} / {found.losses}", f"{found.mean_difference:+.3f}"]
        rows.append(cells)
    found = results.against(OUR_HEADLINE[1], OUR_HEADLINE[0], "auroc", blocks)
    rows.append(
        [OUR_HEADLINE[0], "", "", f"{found.wins} / {found.even} / {found.losses}", f"{found.mean_difference:+.3f}"]
    )
    return markdown_table(head, rows)


def _groups(results: Results) -> str:
    groups = {"real sets": results.blocks("real"), "generated sets": results.blocks("generated")}
    groups |= {name: results.blocks(clusterer=name) for name in CLUSTERERS}
    groups = {name: blocks for name, blocks in groups.items() if blocks}
    ranks = {name: ranking_of(results, HEADLINE, "auroc", blocks).mean_ranks for name, blocks in groups.items()}
    rows = []
    for i, score in enumerate(HEADLINE):
        cells = [
            f"{results.overall(score, 'auroc', blocks)[0]:.3f} ({ranks[name][i]:.1f})"
            for name, blocks in groups.items()
        ]
        rows.append([_named(score), *cells])
    return markdown_table(["AUROC (mean rank)", *groups], rows)


def _extremes(results: Results) -> str:
    """Show the clusterings where each of ours is farthest behind and ahead of the best peer."""
    tables = []
    for ours in OUR_HEADLINE:
        gaps = []
        for block in results.blocks():
            means = {peer: float(results.over_seeds(block, peer).mean()) for peer in PEER_SCORES}
            best = max(means, key=means.__getitem__)
            own = float(results.over_seeds(block, ours).mean())
            gaps.append((own - means[best], block, own, best, means[best]))
        gaps.sort()
        ahead = sum(gap[0] > 0 for gap in gaps)
        chosen = gaps[:_EXTREMES] + gaps[-_EXTREMES:]
        rows = [
            [f"{name}, {clusterer}", f"{own:.3f}", f"{best} {theirs:.3f}", f"{gap:+.3f}"]
            for gap, (name, clusterer), own, best, theirs in dict.fromkeys(chosen)
        ]
        head = ["clustering", ours, "best of the peers", "difference"]
        tables.append(f"Ahead of the best peer in {ahead} of {len(gaps)} clusterings:\n\n{markdown_table(head, rows)}")
    return "\n\n".join(tables)


def _gaps() -> str:
    rows = gap_rows()
    head = ["distances between neighbours", *rows[0][1]]
    return markdown_table(head, [[f"{a:g} and {b:g}", *(f"{v:.3f}" for v in found.values())] for (a, b), found in rows])


def _ablations(results: Results) -> str:
    blocks, real = results.blocks(), results.blocks("real")
    ranks = ranking_of(results, ABLATIONS, "auroc", blocks).mean_ranks
    rows = []
    for i in np.argsort(ranks):
        score = ABLATIONS[i]
        row = [_named(score), f"{ranks[i]:.1f}", _with_interval(*results.overall(score, "auroc", blocks))]
        row += [_with_interval(*results.overall(score, "ap", blocks))]
        row += [f"{results.overall(score, 'auroc', real)[0]:.3f}" if real else ""]
        row += [f"{ranking_of(results, (score, *PEER_SCORES), 'auroc', blocks).mean_ranks[0]:.1f}"]
        row += [f"{results.overall(score, 'auroc', results.blocks(clusterer=name))[0]:.3f}" for name in CLUSTERERS]
        rows.append(row)
    head = ["score", f"mean rank of {len(ABLATIONS)}", "AUROC", "average precision", "AUROC, real sets"]
    head += [f"mean rank among the {len(PEER_SCORES)} peers", *(f"AUROC, {name}" for name in CLUSTERERS)]
    return markdown_table(head, rows)


def _sets(results: Results) -> str:
    names = [*sorted({c["set"] for c in results.cells if c["kind"] == "real"})]
    names += [*sorted({c["set"] for c in results.cells if c["kind"] == "generated"})]
    rows = []
    for name in names:
        about = results.about(name)
        blocks = [block for block in results.blocks() if block[0] == name]
        row = [name, f"{about['rows']} x {about['columns']}", str(about["clusters"])]
        row += [f"{100 * about['wrong'][clusterer].mean():.1f} %" for clusterer in CLUSTERERS]
        if blocks:
            values = results.by_set(HEADLINE, "auroc", blocks)[1][0]
            peers = dict(zip(HEADLINE, values, strict=True))
            best = max(PEER_SCORES, key=peers.__getitem__)
            row += [*(f"{peers[ours]:.3f}" for ours in OUR_HEADLINE), f"{best} {peers[best]:.3f}"]
        else:
            row += [*["" for _ in OUR_HEADLINE], "too few misassigned"]
        rows.append(row)
    head = ["set", "rows x columns", "classes", *(f"misassigned, {clusterer}" for clusterer in CLUSTERERS)]
    return markdown_table([*head, *OUR_HEADLINE, "best of the peers"], rows)


def _named(score: str) -> str:
    """Mark what is ours and compared."""
    return f"**{score}**" if score in OUR_HEADLINE else score


def _with_interval(mean: float, half: float) -> str:
    return f"{mean:.3f}" if np.isnan(half) else f"{mean:.3f} ± {half:.3f}"
