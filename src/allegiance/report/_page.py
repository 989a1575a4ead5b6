"""The page: put together, as text, as a file, or inside a notebook; and what a server answers about single points."""

from __future__ import annotations

import hashlib
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from allegiance._core.validation import IntArray, require
from allegiance.fitting import NOISE
from allegiance.io import check_writable, write_whole
from allegiance.notebook import element, markup
from allegiance.results import ATYPICAL, VERDICTS, AffinityResult, count

from . import _data
from ._describe import Neighbours, describe, described, result_traits
from ._figures import VERDICT_COLOURS, cluster_colours, draw_figures, project, trust_palette
from ._inputs import check_inputs
from ._wording import answer, computed, percent, sample_note, verdict_counts

_FOLDER = Path(__file__).parent
#: The page's scripts, in the order in which they run.
_SCRIPTS = (
    "elements.js", "points.js", "state.js", "tally.js", "theme.js", "density.js", "figures.js", "store.js", "audit.js",
    "exports.js", "cards.js", "table.js", "start.js",
)  # fmt: skip
#: Clusters listed before the reader asks for all.
_CLUSTERS_LISTED = 15
#: Labels to audit: half drawn at random, half the first to review.
AUDITED = 60
#: Longest side of the image in a record, and characters of its text.
_LARGE_IMAGE, _LONG_TEXT = 320, 20_000


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
    write_whole(given, render_report(result, X, **settings).encode("utf-8", "replace"))
    return given


def render_report(result: AffinityResult, X: Any = None, **settings: Any) -> str:
    """Return the page as text. It needs no other file and no network.

    It holds all points, up to 100,000; of more it holds those to review and samples of the others, and its counts refer
    to all points. Names that come from the data stay text.

    Parameters
    ----------
    result
        What :func:`allegiance.trust` or :func:`allegiance.affinity` returns.
    X
        (n, d) the data that was clustered: where points lie on the map, and which members are nearest. Without it the
        map shows the affinities.
    **settings
        ``data``: a frame with the user's own columns (numbers, dates, categories, texts), in which clusters and points
        are described; by default X.
        ``ids``: (n,) what identifies the points, the names of columns of ``data``, or a frame; by default the index of
        the frame that was scored, or of X.
        ``texts``: (n,) documents that the points stand for.
        ``images``: (n, height, width) or (n, height, width, 3) pictures of the points, or (n,) paths of image files.
        Bytes are taken as they are, other numbers are stretched between the smallest and the largest.
        ``coordinates``: (n, 2) where the points lie on the map, or the names of two columns of X; by default two
        principal components.
        ``feature_names``: (d,) names of the columns of X; by default those of a frame.
        ``row_numbers``: (n,) the number of each point's row in your data, if X has only some of its rows.
        ``names``: a dict from labels to names of clusters; by default they are made from what sets a cluster apart.
        ``title``: the heading of the page.

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
    return Page(result, X, **settings).html()


class Page:
    """A result and all that the page shows of it; arguments as in :func:`render_report`."""

    def __init__(
        self, result: AffinityResult, X: Any = None, *, title: str | None = None, names: Any = None, **settings: Any
    ) -> None:
        self.inputs = check_inputs(result, X, **settings)
        self.title = title or "Clustering report"
        self._given_names = names
        self.audit_sample = _audit_sample(result)
        self._audit: Any = None
        self.nonce = ""
        """The word that scripts of the page carry, known once it was rendered."""
        self._prepare(result)

    def with_audit(self, audit: Any) -> Page:
        """Return the page with trust as it is after an audit, and the same labels to audit."""
        page = copy(self)
        page._audit = audit
        page._prepare(audit.result)
        return page

    def _prepare(self, result: AffinityResult) -> None:
        """Choose and describe what the page shows."""
        inputs, self.result = self.inputs, result
        self.groups = _data.group_points(result)
        self._profiles, self._traits = result_traits(result, inputs.columns)
        self.audit_rows, self.audit_random = _audit_order(self.audit_sample)
        self._typical = _data.typical_members(result)
        always = np.concatenate([*self._typical, self.audit_rows])
        self.sample = _data.choose_points(result, _data.review_order(result), always)
        self._bands = _data.sorted_profile(self.groups)
        self._projection = project(result, inputs, self.groups.values, _data.ranked_by(result))
        self.names = self._names(self._given_names)

    def _names(self, given: Any) -> list[str]:
        """Return a name (k,) for each cluster in the order of the page, empty where its label says it all."""
        made = [description.name for description in describe(self.inputs.columns, self._traits)]
        chosen = {} if given is None else {str(label): str(name) for label, name in dict(given).items()}
        unknown = set(chosen) - set(self.groups.labels)
        if unknown:
            raise ValueError(
                f"names has {min(unknown)!r}, which is not a label: use {', '.join(self.groups.labels[:8])}."
            )
        numbered = self.result.classes.dtype.kind in "iuf"
        return [chosen.get(cluster.label, made[cluster.code] if numbered else "") for cluster in self.groups.clusters]

    def html(self, *, served: bool = False) -> str:
        """Return the page; ``served`` by a server that keeps decisions and sends the content policy as a header."""
        result, inputs, groups, sample = self.result, self.inputs, self.groups, self.sample
        levels, sums = _data.count_levels(groups)
        word, counts = _data.ranked_by(result), verdict_counts(result)
        shown_names = [
            f"{c.label} · {name}" if name else c.label for c, name in zip(groups.clusters, self.names, strict=True)
        ]
        values = _data.table_columns(inputs.columns, sample.rows)
        left_out = [c.name for c, kept in zip(inputs.columns, values, strict=True) if kept is None]
        kept_media = _data.media(inputs, sample, self._typical)
        page_data = {
            "quantity": word,
            "calibrated": result.calibrated,
            "audited": result.audited is not None,
            "verdicts": VERDICTS,
            "counts": counts,
            "atypical": ATYPICAL,
            "steps": _data.STEPS,
            "labels": [*groups.labels, str(NOISE)],
            "clusterNames": self.names,
            "levels": levels.tolist(),
            "sums": sums.round(6).tolist() if result.calibrated else None,
            "colours": {
                "trust": trust_palette(),
                "cluster": [*cluster_colours(len(groups.clusters)), VERDICT_COLOURS[-1]],
                "verdict": VERDICT_COLOURS,
            },
            "weights": None if sample.is_complete else sample.weights,
            "idNames": inputs.ids.names,
            "table": described(inputs.columns, self._profiles, groups.place),
            "hasTable": inputs.table is not None,
            "near": _data.near_members(inputs, result, sample),
            "clusters": self._cluster_cards(),
            "audit": {
                "points": _data.places(sample, result.n_points)[self.audit_rows].tolist(),
                "random": self.audit_random.astype(int).tolist(),
                "labels": sum(counts[:3]),
            },
            "served": served,
            **kept_media,
            **self._point_data(sample.rows, sample.kind, values),
        }
        figures = draw_figures(
            _data.counts_in_bins(levels.sum(axis=0)), groups.labels, self._projection, self._bands, word
        )
        embedded = _embedded(figures, page_data)
        # Only scripts with this word run: names from the data cannot know it. It also tells pages apart.
        self.nonce = hashlib.sha256("".join(embedded.values()).encode()).hexdigest()[:32]
        resources = require("bokeh.resources", "report", "report()").Resources(
            mode="inline", components=["bokeh"], log_level="error"
        )
        return _fill(
            "report.html.j2",
            embedded=embedded,
            nonce=self.nonce,
            bokeh_scripts=resources.js_raw,
            scripts=_SCRIPTS,
            title=self.title,
            subtitle=f"{count(result.n_points, 'point')}, {count(result.n_clusters, 'cluster')}",
            answer=answer(result, groups, shown_names, self._audit),
            clusters=[*groups.clusters, *([groups.noise] if groups.noise else [])],
            names=shown_names,
            places=groups.place.tolist(),
            percent=percent,
            clusters_listed=_CLUSTERS_LISTED,
            overall=self._overall(sum(counts[:3])),
            data=page_data,
            map_description=self._projection.description,
            note=sample_note(
                sample, {name[:-1]: len(kept) for name, kept in kept_media.items() if kept is not None}, left_out
            ),
            computed=computed(result, self._projection),
        )

    def _overall(self, labelled: int) -> str:
        """Return what stands below the column of means by cluster."""
        if not self.result.calibrated or not labelled:
            return ""
        return percent(float(np.nanmean(self.groups.values)) if self._audit is None else self._audit.share_right)

    def _cluster_cards(self) -> list[dict[str, Any]]:
        """Return rivals, typical members and traits of each cluster in the order of the page."""
        on_page = _data.places(self.sample, self.result.n_points)
        return [
            {
                "rivals": [[int(self.groups.place[rival]), number] for rival, number in cluster.rivals],
                "typical": on_page[self._typical[cluster.code]].tolist(),
                "traits": [
                    [t.column, t.level, *(float(f"{v:.6g}") for v in t[2:])] for t in self._traits[cluster.code]
                ],
            }
            for cluster in self.groups.clusters
        ]

    def _point_data(self, rows: IntArray, kind: Any, values: list[Any]) -> dict[str, Any]:
        """Return what scripts are told of some points."""
        return {
            "columns": _data.point_columns(
                self.result, rows, kind, self.groups, self._projection.xy, self._bands, self.inputs.row_numbers
            ),
            "ids": _data.id_columns(self.inputs, rows),
            "values": values,
        }

    def points(self, rows: IntArray) -> dict[str, Any]:
        """Return points that are not on the page, in the form in which it holds the others."""
        values = _data.table_columns(self.inputs.columns, rows)
        return self._point_data(rows, np.full(rows.size, 4), values)

    def find(self, query: str, most: int) -> IntArray:
        """Return rows whose number, identifier or text matches a query, those that match as a whole first."""
        wanted = query.casefold()
        exact = np.flatnonzero(self.inputs.row_numbers == int(query)) if query.isdecimal() else np.zeros(0, dtype=int)
        whole: list[int] = exact.tolist()
        part: list[int] = []
        for column in [*self.inputs.ids.columns, *([self.inputs.texts] if self.inputs.texts else [])]:
            for row, entry in enumerate(column):
                text = str(entry).casefold()
                if text == wanted:
                    whole.append(row)
                elif wanted in text and len(part) < most:
                    part.append(row)
        return np.array(list(dict.fromkeys([*whole, *part]))[:most], dtype=np.int64)

    @cached_property
    def _neighbours(self) -> Neighbours | None:
        return None if self.inputs.features is None else Neighbours(self.inputs.features, self.result.codes)

    def record(self, row: int) -> dict[str, Any]:
        """Return all that is known of a point: every column, the whole text, a large image, the nearest members."""
        result, inputs = self.result, self.inputs
        near: list[list[int]] = []
        if self._neighbours is not None:
            for cluster in (int(result.codes[row]), int(result.ranks.rival[row])):
                found = self._neighbours.of(np.array([row]), cluster, _data.NEAR)[0]
                near.append(inputs.row_numbers[found[found >= 0]].tolist())
        image = None if inputs.images is None else inputs.images.thumbnail(row, _LARGE_IMAGE)
        return {
            "row": int(inputs.row_numbers[row]),
            "values": [column.text(row) for column in inputs.columns],
            "text": None if inputs.texts is None else inputs.texts[row][:_LONG_TEXT],
            "image": None if image is None else image.data_uri,
            "near": near,
        }


def _audit_sample(result: AffinityResult) -> Any:
    """Return the labels to audit; None if nothing orders them."""
    labelled = int((result.codes >= 0).sum())
    return result.audit_sample(min(AUDITED, labelled)) if result.calibrated and labelled else None


def _audit_order(sample: Any) -> tuple[IntArray, Any]:
    """Return the rows to audit, those drawn at random last, and whether each was drawn.

    Drawn rows are shuffled, so that those looked at so far are a random sample at any time.
    """
    if sample is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
    random = np.asarray(sample.drawn) == "random"
    drawn = np.random.default_rng(sample.seed).permutation(sample.rows[random])
    rows = np.concatenate([sample.rows[~random], drawn]).astype(np.int64)
    return rows, np.arange(rows.size) >= rows.size - drawn.size


def _embedded(figures: Any, page_data: dict[str, Any]) -> dict[str, Any]:
    """Return figures and data as JSON in which no character means anything to HTML."""
    to_html_safe_json = require("jinja2.utils", "report", "report()").htmlsafe_json_dumps
    bokeh_json = require("bokeh.core.json_encoder", "report", "report()").serialize_json
    documents = {
        "documents": {"report": figures.document.to_json(deferred=False)},
        "items": [{"docid": "report", "roots": figures.elements, "root_ids": list(figures.elements)}],
    }
    return {"figures": to_html_safe_json(documents, dumps=bokeh_json), "page": to_html_safe_json(page_data)}


def _fill(template: str, **words: Any) -> str:
    """Return a page from a template, in which all that is not marked as safe is escaped."""
    jinja2 = require("jinja2", "report", "a report")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    def static(name: str) -> str:
        return (_FOLDER / "static" / name).read_text(encoding="utf-8")

    page: str = environment.get_template(template).render(static=static, **words)
    return page


class InlinePage:
    """A page that a notebook shows in a frame, so that neither's styles and scripts touch the other.

    Parameters
    ----------
    html
        The text of the page, complete in itself; or None, if it is served.
    url
        Where a served page is; None for ``html``.
    height
        Height of the frame in pixels.
    title
        What the page is, for readers who do not see it.
    """

    def __init__(
        self, html: str | None = None, *, url: str | None = None, height: int = 760, title: str = "allegiance"
    ) -> None:
        if (html is None) == (url is None):
            raise ValueError("InlinePage needs html or url, one of the two.")
        self.html = html
        self.url = url
        self.height = height
        self.title = title

    def save(self, path: Any) -> Path:
        """Write the page to a file and return its path.

        Parameters
        ----------
        path
            The file; an existing one is replaced once the new one is complete.
        """
        if self.html is None:
            raise ValueError(f"this page is served at {self.url}: there is nothing to save.")
        given = Path(path)
        check_writable(given, force=True)
        write_whole(given, self.html.encode("utf-8", "replace"))
        return given

    def __repr__(self) -> str:
        if self.html is None:
            return f"{self.title}: open {self.url} in a browser"
        return f"{self.title}: a page of {len(self.html) / 1e6:.1f} MB that notebooks show; save('page.html') writes it"

    def _repr_html_(self) -> str:
        style = {"width": "100%", "height": self.height, "style": "border: 0; background: white"}
        if self.html is None:
            return markup(element("iframe", src=self.url, title=self.title, **style))
        # Scripts of the page run, and may offer files to save; they have no access to the notebook.
        allowed = "allow-scripts allow-downloads allow-popups"
        return markup(element("iframe", srcdoc=self.html, title=self.title, sandbox=allowed, **style))
