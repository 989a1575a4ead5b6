"""The summary for a person."""

from __future__ import annotations

from typing import Any

from ._console import console, print_table


def print_summary(summary: dict[str, Any], *, err: bool, verbose: bool = False) -> None:
    """Print the summary for a person.

    Parameters
    ----------
    summary
        What :meth:`Tally.summary` returned.
    err
        On standard error instead of standard output.
    verbose
        Say how it was measured.
    """
    out = console(err=err)
    n, stable = summary["points"], summary["stable"]
    close = f" ({summary['undecided']:,} too close to call)" if summary["undecided"] else ""
    out.print(f"[bold]{stable:,} of {n:,} points are stable ({stable / n:.1%})[/bold], {n - stable:,} to review{close}")
    rows = [
        (
            line["cluster"],
            f"{line['points']:,}",
            "-" if line["stable_share"] is None else f"{line['stable_share']:.1%}",
            "-" if line["confidence"] is None else f"{line['confidence']:.2f}",
            "-" if line["rival"] is None else line["rival"],
        )
        for line in summary["clusters"]
    ]
    header = ("cluster", "points", "stable", "confidence", "rival")
    print_table(out, "", header, rows, left=("cluster", "rival"))
    if summary["review"]:
        points = [[_cell(value) for value in point.values()] for point in summary["review"]]
        print_table(out, "Points to look at first", list(summary["review"][0]), points)
    if verbose:
        out.print(", ".join(f"{name} {value}" for name, value in summary["how"].items()))


def _cell(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
