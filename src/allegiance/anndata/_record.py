"""What is written to an AnnData object, in forms that h5ad and zarr store."""

from __future__ import annotations

from typing import Any

import numpy as np

from allegiance._core import require
from allegiance.results import VERDICTS, AffinityResult

from ._groups import Groups

#: Colours of the verdicts, in their order, which colour-blind readers tell apart; grey for cells of no cluster.
_VERDICT_COLORS = {"supported": "#3f7fb5", "contested": "#e69f00", "contradicted": "#c8400b", "noise": "#b0b0b0"}


def record(
    adata: Any, result: AffinityResult, groups: Groups, groupby: str, key: str, settings: dict[str, Any]
) -> None:
    """Write the result next to the labels it is about.

    Parameters
    ----------
    adata
        The AnnData object.
    result
        What was found.
    groups
        The labels.
    groupby
        The column of ``obs`` they are from.
    key
        What the names of all that is written start with.
    settings
        How it was found.
    """
    pandas = require("pandas", "anndata", "allegiance.anndata")
    verdicts = [name for name in VERDICTS if name != "noise"] + ["noise"]
    named = {
        "verdict": pandas.Categorical(result.verdict, categories=verdicts),
        "rival": pandas.Categorical(result.rival, categories=groups.names),
    }
    adata.obs[f"{key}_trust"] = result.trust
    for name, values in named.items():
        adata.obs[f"{key}_{name}"] = values
    adata.obsm[f"{key}_affinity"] = result.affinity
    adata.uns[f"{key}_verdict_colors"] = [_VERDICT_COLORS[name] for name in verdicts]
    if len(adata.uns.get(f"{groupby}_colors", [])) == groups.names.size:
        adata.uns[f"{key}_rival_colors"] = list(adata.uns[f"{groupby}_colors"])
    adata.uns[f"{key}_allegiance"] = _summary(result, settings, pandas)


def _summary(result: AffinityResult, settings: dict[str, Any], pandas: Any) -> dict[str, Any]:
    from allegiance import __version__

    low, high = result.replication_interval
    table = pandas.DataFrame(
        [
            {
                "points": line.points,
                "replication": line.replication,
                "supported": line.supported,
                "contested": line.contested,
                "contradicted": line.contradicted,
                "rival": "" if line.rival is None else str(line.rival),
            }
            for line in result.tally().clusters()
            if line.name is not None
        ],
        index=pandas.Index(result.classes.astype(str).tolist(), name="cluster"),
    )
    return {
        "params": {name: value for name, value in settings.items() if value is not None},
        # The columns of the affinities.
        "clusters": np.array(result.classes, dtype=object),
        "by_cluster": table,
        "replication": float(result.replication),
        "replication_interval": np.array([low, high]),
        "note": result.clusterer_note or "",
        "version": __version__,
    }
