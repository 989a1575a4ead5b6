"""Put the page together and write it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from allegiance._core import AnyArray, IntArray, require
from allegiance.engines import Z95
from allegiance.io import check_writable, write_whole
from allegiance.results import ATYPICAL, VERDICTS, Result, count

from ._counts import STEPS, Groups, counts_above, counts_in_bins, group_points, sorted_profile
from ._figures import Figures, draw_figures
from ._images import IMAGE_BUDGET, check_images
from ._inputs import Features, check_features, point_ids
from ._largest import largest_affinities
from ._projection import project
from ._pulls import N_FEATURES, Pulls, pulling_features
from ._quantity import quantity_of
from ._shown import Shown, choose_points
from ._wording import cluster_rows, computed, headline, percent, shown_note

_FOLDER = Path(__file__).parent
#: Characters kept of an id.
_ID_LENGTH = 80


def write_report(
    result: Result,
    path: Any,
    X: Any = None,
    *,
    ids: Any = None,
    images: Any = None,
    feature_names: Any = None,
    title: str | None = None,
) -> Path:
    """Write one HTML file that shows a result, and return its path. It opens offline, without a server.

    Parameters
    ----------
    result
        What :func:`allegiance.trust` or :func:`allegiance.affinity` returns.
    path
        The file to write; an existing one is replaced once the new one is complete.
    X, ids, images, feature_names, title
        As in :func:`render_report`.

    Examples
    --------
    >>> import tempfile
    >>> from allegiance import affinity
    >>> from allegiance.report import write_report
    >>> result = affinity([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.3, 0.4]], [0, 1, 2, 0], random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_report(result, f"{folder}/report.html")
    ...     path.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    given = Path(path)
    check_writable(given, force=True)
    page = render_report(result, X, ids=ids, images=images, feature_names=feature_names, title=title)
    write_whole(given, page.encode("utf-8", "replace"))
    return given


def render_report(
    result: Result,
    X: Any = None,
    *,
    ids: Any = None,
    images: Any = None,
    feature_names: Any = None,
    title: str | None = None,
) -> str:
    """Return the report as the text of an HTML page.

    The page needs no other file and no network. It holds every label that is not supported, up to 50,000, and samples
    of the others; its counts refer to all points. Names that come from the data stay text.

    Parameters
    ----------
    result
        What :func:`allegiance.trust` or :func:`allegiance.affinity` returns.
    X
        (n, d) the data that was scored, or other features of the same points. It gives the map its coordinates and the
        table its distinguishing features; without it the map shows the affinities themselves.
    ids
        (n,) what identifies the points; by default the index of the frame that was scored, or of X.
    images
        (n, height, width) or (n, height, width, 3) pictures of the points, to show beside the points to review. Bytes
        are taken as they are, other numbers are stretched between the smallest and the largest.
    feature_names
        (d,) names of the columns of X; by default those of a frame.
    title
        The heading of the page.

    Examples
    --------
    >>> from allegiance import affinity
    >>> from allegiance.report import render_report
    >>> result = affinity([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.3, 0.4]], [0, 1, 2, 0], random_state=0)
    >>> "4 points" in render_report(result, title="Four points")
    True
    """
    features = check_features(X, feature_names, result.n_points)
    pixels = check_images(images, result.n_points)
    named = point_ids(result, X, ids)
    tally, quantity = result.tally(), quantity_of(result)
    lines = tally.worst_first()
    shown, groups = choose_points(result, quantity.values), group_points(result, lines)
    above, profile = counts_above(quantity.values, groups), sorted_profile(quantity.values, groups)
    projection = project(result, features, quantity)
    pulls = None if features is None else pulling_features(result, features.rows, shown.rows)
    columns = {
        "x": projection.x[shown.rows].astype(np.float64),
        "y": projection.y[shown.rows].astype(np.float64),
        "trust": quantity.values[shown.rows],
        "position": profile.position[shown.rows],
        **_result_columns(result, shown, groups),
        **({} if pulls is None else _feature_columns(pulls)),
    }
    bins = counts_in_bins(above, tally.n_labelled)
    figures = draw_figures(columns, bins, groups.names, projection, profile, quantity.name)
    # The least trusted points are the last ones shown, and the first to get an image.
    pictures = None if pixels is None else list(pixels.thumbnails(shown.rows[::-1], IMAGE_BUDGET).values())
    facts = _facts(result, shown, groups)
    page_data = {
        **facts,
        "above": above.tolist(),
        "ids": None if named is None else [str(named[0][row])[:_ID_LENGTH] for row in shown.rows],
        "features": _used_names(features, pulls),
        "pictures": pictures,
        "palettes": figures.palettes,
    }
    return _render(
        figures,
        page_data,
        title=title or "Clustering report",
        subtitle=f"{count(result.n_points, 'point')}, {count(result.n_clusters, 'cluster')}",
        headline=headline(result, tally, lines),
        clusters=cluster_rows(lines, calibrated=result.calibrated),
        overall="" if tally.expected_right is None else percent(tally.expected_right[0]),
        facts=facts,
        id_name=None if named is None else named[1],
        has_typicality="typicality" in columns,
        has_features=features is not None,
        has_pictures=pictures is not None,
        note=shown_note(shown, None if pictures is None else len(pictures)),
        computed=computed(result, tally, projection),
    )


def _facts(result: Result, shown: Shown, groups: Groups) -> dict[str, Any]:
    """Return what both the words and the scripts of the page need."""
    return {
        "quantity": quantity_of(result).name,
        "calibrated": result.calibrated,
        "names": [*groups.names, "noise"],
        "sizes": np.bincount(groups.code, minlength=len(groups.names) + 1)[:-1].tolist(),
        "verdicts": VERDICTS,
        "counts": [int((result.verdict == name).sum()) for name in VERDICTS],
        "atypical": ATYPICAL,
        "steps": STEPS,
        "perSupported": shown.supported.scale,
        "perDoubtful": shown.doubtful.scale,
    }


def _result_columns(result: Result, shown: Shown, groups: Groups) -> dict[str, AnyArray]:
    """Return what the result says of the points on the page, in types that travel as binary."""
    rows = shown.rows
    standing, largest = result.standing, largest_affinities(result, rows)
    verdict = result.verdict[rows]
    columns: dict[str, AnyArray] = {
        "row": rows.astype(np.int32),
        "label": groups.code[rows].astype(np.int32),
        "verdict": np.select([verdict == name for name in VERDICTS], range(len(VERDICTS))).astype(np.uint8),
        "rival": groups.place[standing.rival[rows]].astype(np.int32),
        "own": standing.own[rows].astype(np.float32),
        "half_width": (Z95 * standing.own_error[rows]).astype(np.float32),
    }
    if result.members is not None:
        columns["typicality"] = result.typicality[rows]
    for place in range(largest.cluster.shape[1]):
        columns[f"cluster_{place}"] = groups.place[largest.cluster[:, place]].astype(np.int32)
        columns[f"affinity_{place}"] = largest.affinity[:, place].astype(np.float32)
    return columns


def _feature_columns(pulls: Pulls) -> dict[str, AnyArray]:
    """Return the features that pull the points on the page."""
    numbers = _renumbered(pulls.feature)
    columns: dict[str, AnyArray] = {}
    for place in range(N_FEATURES):
        columns[f"feature_{place}"] = numbers[:, place].astype(np.int32)
        columns[f"deviation_{place}"] = pulls.deviation[:, place].astype(np.float32)
    return columns


def _used(feature: IntArray) -> IntArray:
    return np.unique(feature[feature >= 0])


def _renumbered(feature: IntArray) -> IntArray:
    """Give the features that are mentioned on the page numbers from 0 on; -1 stays."""
    used = _used(feature)
    return np.where(feature >= 0, np.searchsorted(used, feature), -1)


def _used_names(features: Features | None, pulls: Pulls | None) -> list[str]:
    if features is None or pulls is None:
        return []
    return [features.names[column] for column in _used(pulls.feature)]


def _render(figures: Figures, page_data: dict[str, Any], **words: Any) -> str:
    """Fill the template. Data goes through JSON in which no character means anything to HTML."""
    jinja2 = require("jinja2", "report", "report()")
    to_html_safe_json = require("jinja2.utils", "report", "report()").htmlsafe_json_dumps
    bokeh_json = require("bokeh.core.json_encoder", "report", "report()").serialize_json
    resources = require("bokeh.resources", "report", "report()").Resources(
        mode="inline", components=["bokeh", "bokeh-gl"], log_level="error"
    )
    embedded = {
        "figures": to_html_safe_json(
            {
                "documents": {"report": figures.document.to_json(deferred=False)},
                "items": [{"docid": "report", "roots": figures.elements, "root_ids": list(figures.elements)}],
            },
            dumps=bokeh_json,
        ),
        "page": to_html_safe_json(page_data),
    }
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Only scripts with this word run: names from the data cannot know it.
    nonce = hashlib.sha256("".join(embedded.values()).encode()).hexdigest()[:32]
    page: str = environment.get_template("report.html.j2").render(
        embedded=embedded, nonce=nonce, static=_static, bokeh_scripts=resources.js_raw, **words
    )
    return page


def _static(name: str) -> str:
    return (_FOLDER / "static" / name).read_text(encoding="utf-8")
