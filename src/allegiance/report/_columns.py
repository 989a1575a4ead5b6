"""What the page is told of each point, as columns that travel as binary numbers."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from allegiance._core import AnyArray, FloatArray, IntArray
from allegiance.engines import Z95
from allegiance.results import VERDICTS, AffinityResult

from ._counts import Groups, Profile, level_of
from ._largest import largest_affinities
from ._projection import Projection
from ._pulls import N_FEATURES, Pulls
from ._shown import Shown


def point_columns(
    result: AffinityResult,
    shown: Shown,
    groups: Groups,
    projection: Projection,
    profile: Profile,
    values: FloatArray,
    row_numbers: IntArray,
) -> dict[str, AnyArray]:
    """Return columns (m,) about the points on the page.

    Parameters
    ----------
    result
        The result.
    shown
        The points on the page.
    groups
        The clusters in the order of the page.
    projection, profile
        Where the points lie on the map and in the profile.
    values
        (n,) what labels are ranked by.
    row_numbers
        (n,) the number of each point's row in the user's data.
    """
    rows = shown.rows
    ranks, largest = result.ranks, largest_affinities(result, rows)
    columns: dict[str, AnyArray] = {
        "x": projection.x[rows].astype(np.float64),
        "y": projection.y[rows].astype(np.float64),
        "trust": values[rows],
        "level": level_of(values[rows]).astype(np.uint8),
        "position": profile.position[rows].astype(np.float32),
        "row": unsigned(row_numbers[rows]),
        "label": unsigned(groups.code[rows], len(groups.names)),
        "verdict": np.select([result.verdict[rows] == name for name in VERDICTS], range(len(VERDICTS))).astype(
            np.uint8
        ),
        "rival": unsigned(groups.place[ranks.rival[rows]], len(groups.names)),
        "own": ranks.own[rows].astype(np.float32),
        "half_width": (Z95 * ranks.own_error[rows]).astype(np.float32),
    }
    if result.members is not None:
        columns["typicality"] = result.typicality[rows].astype(np.float32)
    for place in range(largest.cluster.shape[1]):
        columns[f"cluster_{place}"] = unsigned(groups.place[largest.cluster[:, place]], len(groups.names))
        columns[f"affinity_{place}"] = largest.affinity[:, place].astype(np.float32)
    if not shown.is_complete:
        columns["kind"] = shown.kind
    return columns


def feature_columns(pulls: Pulls, number: IntArray) -> dict[str, AnyArray]:
    """Return the features that pull the points on the page; 0 means none.

    Parameters
    ----------
    pulls
        The features of the points on the page.
    number
        (d,) the place of each column of X among the features that the page names.
    """
    columns: dict[str, AnyArray] = {}
    for place in range(N_FEATURES):
        feature = pulls.feature[:, place]
        columns[f"feature_{place}"] = unsigned(np.where(feature >= 0, number[feature] + 1, 0))
        columns[f"deviation_{place}"] = pulls.deviation[:, place].astype(np.float32)
    return columns


def unsigned(numbers: IntArray, largest: int | None = None) -> AnyArray:
    """Return whole numbers from 0 on in the smallest type that holds them, at most 32 bits."""
    top = int(numbers.max(initial=0)) if largest is None else largest
    kind = np.uint8 if top < 2**8 else np.uint16 if top < 2**16 else np.uint32
    return numbers.astype(kind)


def encoded(columns: dict[str, AnyArray]) -> dict[str, Any]:
    """Return columns as base64 of little-endian numbers, with their types."""
    return {
        name: {
            "type": f"{column.dtype.kind}{column.dtype.itemsize}",
            "data": base64.b64encode(column.astype(column.dtype.newbyteorder("<")).tobytes()).decode("ascii"),
        }
        for name, column in columns.items()
    }
