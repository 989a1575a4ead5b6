"""Compare estimators of replication in seconds: ``python benchmarks/estimators.py [--role tuning] [--only TEXT]``.

Samples, their replicates and the clusterings of subsamples are computed once and kept in ``$ALLEGIANCE_CACHE`` (by
default in the user's cache). A formula for the estimate or for its interval is a function of the statistics of these
clusterings, so comparing formulas needs no clustering. Choose formulas and shares on the tuning populations, then
evaluate once on the others. Clusterings are computed again if the source that adapts and fits clusterers changes.
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
from allegiance.calibration import Calibration, Replication, replicate
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


def subsamples(population: str, title: str, number: int, rows: int, share: float | None, resamples: int) -> Any:
    """Return the statistics of clusterings of subsamples of one sample; None if there are none."""
    source = crc32(b"".join((CALIBRATION / name).read_bytes() for name in ("_adapt.py", "_refits.py")))

    def compute() -> Replication | None:
        sample = setting(population, title, number, rows)
        options: dict[str, Any] = {"calibration": Calibration(resamples), "share": share}
        try:
            result = replicate(sample.X, sample.labels, sample.clusterer, **options) if sample.is_clustered else None
        except ValueError as error:  # only noise in all subsamples
            print(f"{population}, {title}: {error}", file=sys.stderr)
            return None
        return result and result._replace(new=result.new[:, :0])

    return cached(f"{share}, {resamples}, {source}, {population}, {title}, {rows}, {number}", compute)


def compare(options: argparse.Namespace) -> pd.DataFrame:
    """Return the error and the coverage of each formula in each setting."""
    lines = []
    for family in CLUSTERERS:
        for population, title in settings(options.role, family):
            if options.only not in f"{family}, {population}, {title}":
                continue
            for number in range(options.samples):
                result = subsamples(population, title, number, options.rows, options.share, options.resamples)
                if result is None:
                    continue
                sample = setting(population, title, number, options.rows)
                inner, right = sample.labels >= 0, sample.replicated
                truths = right[:, inner].mean(axis=1)
                own = sample.labels[inner]
                by_cluster = np.array([np.bincount(own, row) for row in right[:, inner]]) / np.bincount(own)
                rates, margins = result.cluster_rates, result.cluster_margins()
                inside = np.abs(by_cluster - rates) <= margins + 1e-9
                for name, formula in FORMULAS.items():
                    share, low, high = formula(result)
                    lines.append({
                        "formula": name, "family": family, "clusterer": title, "population": population,
                        "kind": populations()[population].kind, "truth": truths.mean(), "estimate": share,
                        "absolute": abs(share - truths.mean()), "error": share - truths.mean(),
                        "covered": np.mean((truths >= low - 1e-9) & (truths <= high + 1e-9)),
                        "width": min(high, 1.0) - max(low, 0.0), "clusters": inside.mean(),
                        "spread": truths.std(ddof=1) / len(truths) ** 0.5,
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
