"""Put the page together and write it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from allegiance._core import FloatArray, IntArray
from allegiance.fitting import NOISE
from allegiance.io import check_writable, write_whole
from allegiance.results import ATYPICAL, VERDICTS, AffinityResult, count

from ._centers import cluster_centers
from ._clusters import cluster_cards
from ._columns import encoded, feature_columns, point_columns
from ._counts import STEPS, Groups, count_levels, counts_in_bins, group_points, level_of, sorted_profile
from ._exhibits import Exhibits, choose_exhibits
from ._figures import draw_figures
from ._images import check_images
from ._inputs import Identifiers, check_coordinates, check_features, check_row_numbers, point_ids
from ._palettes import VERDICT_COLOURS, cluster_colours, trust_palette
from ._projection import project
from ._pulls import pulling_features
from ._quantity import Quantity, quantity_of
from ._render import render
from ._shown import Shown, choose_points, typical_members
from ._texts import check_texts
from ._traits import cluster_traits
from ._wording import cluster_rows, computed, headline, percent, shown_note
from ._words import telling_words

#: Characters kept of an id.
_ID_LENGTH = 80
#: Clusters listed before the reader asks for all.
_CLUSTERS_LISTED = 15


def write_report(result: AffinityResult, path: Any, X: Any = None, **settings: Any) -> Path:
    """Write one HTML file that shows a result, and return its path. It opens offline, without a server.

    Parameters
    ----------
    result
        What :func:`allegiance.trust` or :func:`allegiance.affinity` returns.
    path
        The file to write; an existing one is replaced once the new one is complete.
    X, **settings
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
    page = render_report(result, X, **settings)
    write_whole(given, page.encode("utf-8", "replace"))
    return given


def render_report(
    result: AffinityResult,
    X: Any = None,
    *,
    ids: Any = None,
    texts: Any = None,
    images: Any = None,
    coordinates: Any = None,
    feature_names: Any = None,
    row_numbers: Any = None,
    title: str | None = None,
) -> str:
    """Return the report as the text of an HTML page.

    The page needs no other file and no network. It holds all points, up to 100,000; of more it holds those to review
    and samples of the others, and its counts refer to all points. Names that come from the data stay text.

    Parameters
    ----------
    result
        What :func:`allegiance.trust` or :func:`allegiance.affinity` returns.
    X
        (n, d) the data that was scored, or other features of the same points. It gives the map its coordinates, the
        clusters their traits and the table its distinguishing features; without it the map shows the affinities.
    ids
        (n,) what identifies the points, or a frame with several columns that do; by default the index of the frame
        that was scored, or of X.
    texts
        (n,) the documents that the points stand for, to read beside the points to review.
    images
        (n, height, width) or (n, height, width, 3) pictures of the points, or (n,) paths of image files. Bytes are
        taken as they are, other numbers are stretched between the smallest and the largest.
    coordinates
        (n, 2) where the points lie on the map, or the names of two columns of X; by default two principal components.
    feature_names
        (d,) names of the columns of X; by default those of a frame.
    row_numbers
        (n,) the number of each point's row in your data, if X has only some of its rows; by default 0 to n - 1.
    title
        The heading of the page.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> from allegiance import affinity
    >>> from allegiance.report import render_report
    >>> result = affinity([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.3, 0.4]], [0, 1, 2, 0], random_state=0)
    >>> "4 points" in render_report(result, title="Four points")
    True
    """
    n = result.n_points
    features = check_features(X, feature_names, n)
    own_coordinates = check_coordinates(coordinates, features, n)
    identifiers, numbers = point_ids(result, X, ids), check_row_numbers(row_numbers, n)
    checked_images, checked_texts = check_images(images, n), check_texts(texts, n)
    tally, quantity = result.tally(), quantity_of(result)
    lines = tally.worst_first()
    groups = group_points(result, lines)
    typical = typical_members(result, quantity.values)
    shown = choose_points(result, quantity.values, np.concatenate(typical))
    levels, sums = count_levels(level_of(quantity.values), quantity.values, groups)
    profile = sorted_profile(quantity.values, groups)
    projection = project(result, features, quantity, own_coordinates)
    columns = point_columns(result, shown, groups, projection, profile, quantity.values, numbers)
    cards = cluster_cards(tally, groups, typical, shown)
    if features is not None:
        centers = cluster_centers(features.rows, result.codes, result.n_clusters)
        pulls = pulling_features(result, features.rows, centers, shown.rows)
        cards = cards.with_traits(cluster_traits(centers), pulls, features.names, groups.place)
        columns |= feature_columns(pulls, cards.number)
    exhibits = choose_exhibits(checked_images, checked_texts, shown, cards)
    words = telling_words(result, checked_texts, shown.rows, exhibits.texts, groups.place)
    facts = _facts(result, quantity)
    page_data = {
        **facts,
        **_group_facts(groups, levels, sums if result.calibrated else None),
        **_point_facts(shown, identifiers, exhibits),
        "words": None if words is None else words._asdict(),
        "columns": encoded(columns),
        "features": cards.features,
        "clusters": cards.cards,
    }
    return render(
        draw_figures(counts_in_bins(levels.sum(axis=0)), groups.names, projection, profile, quantity.name),
        page_data,
        title=title or "Clustering report",
        subtitle=f"{count(n, 'point')}, {count(result.n_clusters, 'cluster')}",
        headline=headline(result, tally, lines),
        clusters=cluster_rows(lines, calibrated=result.calibrated),
        names=page_data["names"],
        clusters_listed=_CLUSTERS_LISTED,
        overall="" if tally.replication is None else percent(tally.replication[0]),
        facts=facts,
        n_labelled=tally.n_labelled,
        id_names=[] if identifiers is None else identifiers.names,
        has_typicality="typicality" in columns,
        has_features=features is not None,
        has_images=images is not None,
        has_texts=texts is not None,
        map_description=projection.description,
        note=shown_note(shown, exhibits.kept()),
        computed=computed(result, tally, projection),
    )


def _facts(result: AffinityResult, quantity: Quantity) -> dict[str, Any]:
    """Return what both the words and the scripts of the page need."""
    return {
        "quantity": quantity.name,
        "calibrated": result.calibrated,
        "verdicts": VERDICTS,
        "counts": [int((result.verdict == name).sum()) for name in VERDICTS],
        "atypical": ATYPICAL,
        "steps": STEPS,
    }


def _group_facts(groups: Groups, levels: IntArray, sums: FloatArray | None) -> dict[str, Any]:
    """Return names, counts and colours of the clusters, with noise in the last place."""
    return {
        "names": [*groups.names, "noise"],
        "labels": [*groups.names, str(NOISE)],
        "levels": levels.tolist(),
        "sums": None if sums is None else sums.round(6).tolist(),
        "colours": {
            "trust": trust_palette(),
            "cluster": [*cluster_colours(len(groups.names)), VERDICT_COLOURS[-1]],
            "verdict": VERDICT_COLOURS,
        },
    }


def _point_facts(shown: Shown, identifiers: Identifiers | None, exhibits: Exhibits) -> dict[str, Any]:
    """Return what the points are called and shown by, and how many points each stands for."""
    named = Identifiers([], []) if identifiers is None else identifiers
    return {
        "weights": None if shown.is_complete else shown.weights,
        "idNames": named.names,
        "ids": [[str(column[row])[:_ID_LENGTH] for row in shown.rows] for column in named.columns],
        "images": exhibits.images,
        "texts": exhibits.texts,
    }
