"""Compare estimators of replication in seconds: ``python benchmarks/estimators.py [--role tuning] [--only TEXT]``.

Samples, their replicates and the clusterings of subsamples are computed once and kept in ``$ALLEGIANCE_CACHE`` (by
default in the user's cache). A formula for the estimate or for its interval is a function of the statistics of these
clusterings, so comparing formulas needs no clustering. Choose formulas and shares on the tuning populations, then
evaluate once on the others. Clusterings are computed again if the source that adapts and fits clusterers changes.
"Silent" counts stand-ins whose estimate is outside the interval of the known clusterer, without a warning.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from _machine import ROOT
from allegiance.calibration import Calibration, Replication, replicate, stand_in
from quality._replicates import CLUSTERERS, ROWS, SAMPLES, bottom_decile, cached, populations, setting, settings

CALIBRATION = ROOT / "src" / "allegiance" / "calibration"
Interval = tuple[float, float, float]


def estimator(result: Replication) -> Interval:
    """Return the estimate of the package, with both ends of its interval."""
    return result.share, *result.interval


def plain_mean(result: Replication) -> Interval:
    """Take the plain mean of both comparisons, and their mean variance."""
    kept = result.kept if result.kept.size else result.shares
    share = float(result.shares.mean() + kept.mean()) / 2.0
    half = 1.73 * np.sqrt((result.shares.var(ddof=1) + kept.var(ddof=1)) / 2.0)
    return share, share - half, share + half


def without_difference(result: Replication) -> Interval:
    """Leave the difference of both comparisons out of the interval."""
    low, high = result.interval
    variance = ((high - low) / 3.46) ** 2 - (result.shares.mean() - result.kept.mean()) ** 2 / 2.0
    half = 1.73 * np.sqrt(max(variance, 0.0))
    return result.share, result.share - half, result.share + half


FORMULAS: dict[str, Callable[[Replication], Interval]] = {
    "package": estimator,
    "plain mean": plain_mean,
    "without difference": without_difference,
}


def subsamples(options: argparse.Namespace, population: str, title: str, number: int, labels_only: bool = False) -> Any:
    """Return the statistics of clusterings of subsamples of one sample, and the margin of the stand-in; None if none.

    The margin is positive if the stand-in does not reproduce the labels.
    """
    files = ("_adapt.py", "_refits.py", *(["_stand_in.py"] if labels_only else []))
    source = crc32(b"".join((CALIBRATION / name).read_bytes() for name in files))

    def compute() -> tuple[Replication, float] | None:
        sample = setting(population, title, number, options.rows)
        settings: dict[str, Any] = {"calibration": Calibration(options.resamples), "share": options.share}
        if not sample.is_clustered:
            return None
        X, labels, clusterer, margin = sample.X, sample.labels, sample.clusterer, 0.0
        try:
            if labels_only:
                chosen = stand_in(X, labels)
                clusterer, margin = chosen.clusterer, chosen.margin
            result = replicate(X, labels, clusterer, **settings)
        except ValueError as error:  # only noise in all subsamples
            print(f"{population}, {title}: {error}", file=sys.stderr)
            return None
        return result._replace(new=result.new[:, :0]), margin

    parts = (options.share, options.resamples, source, population, title, options.rows, number)
    return cached(", ".join(map(str, (*parts, labels_only))), compute)


def compare(options: argparse.Namespace) -> pd.DataFrame:
    """Return the error and the coverage of each formula in each setting."""
    lines = []
    keys = [(family, *key) for family in CLUSTERERS for key in settings(options.role, family)]
    for family, population, title in keys:
        if options.only not in f"{family}, {population}, {title}":
            continue
        for number in range(options.samples):
            known = subsamples(options, population, title, number)
            measured = subsamples(options, population, title, number, True) if options.labels_only else known
            if known is None or measured is None:
                continue
            sample, (result, margin) = setting(population, title, number, options.rows), measured
            inner, right = sample.labels >= 0, sample.replicated
            truths, own = right[:, inner].mean(axis=1), sample.labels[inner]
            by_cluster = np.array([np.bincount(own, row) for row in right[:, inner]]) / np.bincount(own)
            inside = np.abs(by_cluster - result.cluster_rates) <= np.maximum(result.cluster_margins(), margin) + 1e-9
            line = {
                "family": family, "clusterer": title, "population": population, "kind": populations()[population].kind,
                "spread": truths.std(ddof=1) / len(truths) ** 0.5, "clusters": inside.mean(), "warned": margin > 0.0,
            }  # fmt: skip
            for name, formula in FORMULAS.items():
                share, low, high = formula(result)
                low, high = min(low, share - margin), max(high, share + margin)
                expected, error = formula(known[0]), share - truths.mean()
                lines.append(line | {
                    "formula": name, "error": error, "absolute": abs(error), "width": min(high, 1.0) - max(low, 0.0),
                    "covered": np.mean((truths >= low - 1e-9) & (truths <= high + 1e-9)),
                    "silent": margin == 0.0 and not expected[1] - 1e-9 <= share <= expected[2] + 1e-9,
                })  # fmt: skip
    return pd.DataFrame(lines)


def table(lines: pd.DataFrame, by: list[str]) -> str:
    """Return a table of means by group."""
    return (
        lines.groupby(by, sort=False)
        .agg(
            settings=("error", "size"),
            error=("absolute", "mean"),
            median=("absolute", "median"),
            bias=("error", "mean"),
            coverage=("covered", "mean"),
            decile=("covered", bottom_decile),
            width=("width", "mean"),
            clusters=("clusters", "mean"),
            cluster_decile=("clusters", bottom_decile),
            noise_of_truth=("spread", "mean"),
            warned=("warned", "sum"),
            silent=("silent", "sum"),
        )
        .round(3)
        .to_string()
    )


def main() -> None:
    """Measure what is missing, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--role", choices=("tuning", "evaluation"), default="tuning")
    parser.add_argument("--only", default="", help="settings whose family, population or clusterer contains this text")
    parser.add_argument("--rows", type=int, default=ROWS, help=f"rows of a sample, default {ROWS}")
    parser.add_argument("--samples", type=int, default=2, help=f"samples of each setting, at most {SAMPLES}")
    parser.add_argument("--share", type=float, help="share of the rows in a subsample; default: that of the package")
    parser.add_argument("--resamples", type=int, default=20, help="subsamples of each sample")
    parser.add_argument("--labels-only", action="store_true", help="re-cluster with the stand-in")
    options, started = parser.parse_args(), time.process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines = compare(options)
    for by in (["formula"], ["formula", "family"]):
        print(table(lines, by), end="\n\n")
    own = lines[lines.formula == "package"]
    for by in (["family", "kind"], ["clusterer"], ["population"]):
        print(table(own, by), end="\n\n")
    print(f"{time.process_time() - started:.0f} CPU seconds")


if __name__ == "__main__":
    main()
