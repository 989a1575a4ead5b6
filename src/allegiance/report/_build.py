"""Put the page together and write it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from allegiance._core import AnyArray, IntArray, require
from allegiance.io import check_writable, write_whole
from allegiance.results import Result as RankedResult

from ._counts import STEPS, Groups, Profile, confidences, counts_above, group_points, sorted_profile
from ._figures import Figures, draw_figures
from ._inputs import Features, check_features, check_images, point_ids
from ._largest import largest_affinities
from ._pictures import encode_pictures
from ._projection import Projection, project
from ._pulls import N_FEATURES, Pulls, pulling_features
from ._shown import Shown, choose_points
from ._wording import cluster_rows, computed, count, findings, shown_note, verdict

_FOLDER = Path(__file__).parent
#: Characters kept of an id.
_ID_LENGTH = 80


def write_report(
    result: RankedResult,
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
        What :func:`allegiance.affinity` returns.
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
    result: RankedResult,
    X: Any = None,
    *,
    ids: Any = None,
    images: Any = None,
    feature_names: Any = None,
    title: str | None = None,
) -> str:
    """Return the report as the text of an HTML page.

    The page needs no other file and no network. It holds every point to review, up to 50,000, and a sample of up to
    10,000 stable ones; its counts refer to all points. Names that come from the data stay text.

    Parameters
    ----------
    result
        What :func:`allegiance.affinity` returns.
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
    shown, groups, confidence = choose_points(result), group_points(result), confidences(result)
    above, profile = counts_above(confidence, groups), sorted_profile(confidence, groups)
    projection = project(result, features)
    pulls = None if features is None else pulling_features(result, groups, features.rows, shown.rows)
    columns = _columns(result, shown, groups, profile, projection, pulls)
    figures = draw_figures(columns, above, groups.names, projection, profile)
    # The least confident points are the last ones shown, and the first to get an image.
    pictures = None if pixels is None else encode_pictures(pixels, shown.rows[::-1])
    clusters = cluster_rows(result, groups, above)
    return _render(
        figures,
        {
            "names": groups.names,
            "steps": STEPS,
            "above": above.tolist(),
            "sizes": [row.points for row in clusters],
            "ids": None if named is None else [str(named[0][row])[:_ID_LENGTH] for row in shown.rows],
            "features": _used_names(features, pulls),
            "pictures": pictures,
            "perReview": shown.all_review / max(shown.review, 1),
            "perStable": shown.all_stable / max(shown.stable, 1),
            "palettes": figures.palettes,
        },
        title=title or "Clustering report",
        subtitle=f"{count(result.n_points, 'point')}, {count(result.n_clusters, 'cluster')}",
        verdict=verdict(result, clusters),
        findings=findings(result),
        clusters=clusters,
        n_points=result.n_points,
        n_stable=shown.all_stable,
        id_name=None if named is None else named[1],
        has_features=features is not None,
        has_pictures=pictures is not None,
        note=shown_note(shown, None if pictures is None else len(pictures)),
        computed=computed(result, projection),
    )


def _columns(
    result: RankedResult,
    shown: Shown,
    groups: Groups,
    profile: Profile,
    projection: Projection,
    pulls: Pulls | None,
) -> dict[str, AnyArray]:
    """Return everything told of the points on the page, in types that travel as binary."""
    rows = shown.rows
    _, runner_up = result._top_two
    largest = largest_affinities(result, rows)
    columns: dict[str, AnyArray] = {
        "x": projection.x[rows].astype(np.float64),
        "y": projection.y[rows].astype(np.float64),
        "confidence": confidences(result)[rows],
        "position": profile.position[rows],
        "row": rows.astype(np.int32),
        "label": groups.code[rows].astype(np.int32),
        "runner_up": runner_up[rows].astype(np.int32),
        "half_width": (1.96 * result._leaders.error[rows]).astype(np.float32),
    }
    for place in range(largest.cluster.shape[1]):
        columns[f"cluster_{place}"] = largest.cluster[:, place].astype(np.int32)
        columns[f"affinity_{place}"] = largest.affinity[:, place].astype(np.float32)
    if pulls is not None:
        numbers = _renumbered(pulls.feature)
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
