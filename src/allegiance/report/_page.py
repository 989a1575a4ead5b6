"""The page and its words: as text, as a file, or inside a notebook; and what a server answers about single points."""

from __future__ import annotations

import hashlib
import platform
from copy import copy
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from allegiance._core.validation import IntArray, require
from allegiance.fitting import NOISE
from allegiance.io import check_writable, write_whole
from allegiance.notebook import element, markup
from allegiance.results import (
    ATYPICAL,
    VERDICTS,
    AffinityResult,
    check_names,
    count,
    display_name,
)

from . import _data
from ._data import Groups, PageSample
from ._describe import Neighbours, describe, described, result_traits
from ._figures import VERDICT_COLOURS, Projection, cluster_colours, draw_figures, project, trust_palette
from ._inputs import check_inputs

_FOLDER = Path(__file__).parent
#: The page's scripts, in the order in which they run.
_SCRIPTS = (
    "elements.js", "points.js", "state.js", "tally.js", "theme.js", "density.js", "figures.js", "store.js", "audit.js",
    "exports.js", "cards.js", "table.js", "start.js",
)  # fmt: skip
_TITLE = "Clustering report"
#: Clusters listed before the reader asks for all.
_CLUSTERS_LISTED = 15
#: Labels to audit: half drawn at random, half the first to review.
AUDITED = 60
#: Longest side of the image in a record, characters of its text, and of an id.
_LARGE_IMAGE, _LONG_TEXT, _ID_LENGTH = 320, 20_000, 80


def write_report(result: AffinityResult, path: Any, X: Any = None, **settings: Any) -> Path | InlinePage:
    """Write the page to a file and return its path, or return it; see :meth:`allegiance.AffinityResult.report`."""
    if path is not None:
        check_writable(Path(path), force=True)
    page = InlinePage(render_report(result, X, **settings), title=settings.get("title") or _TITLE)
    return page if path is None else page.save(path)


def render_report(result: AffinityResult, X: Any = None, **settings: Any) -> str:
    """Return the page as text, with settings as in :meth:`allegiance.AffinityResult.report`.

    It needs no other file and no network. It holds all points, up to 100,000; of more it holds those to review and
    samples of the others, and its counts refer to all points. Names that come from the data stay text.
    """
    return Page(result, X, **settings).html()


class Page:
    """A result and all that the page shows of it; arguments as in :func:`render_report`."""

    def __init__(
        self, result: AffinityResult, X: Any = None, *, title: str | None = None, names: Any = None, **settings: Any
    ) -> None:
        self.inputs = check_inputs(result, X, **settings)
        self.title = title or _TITLE
        self.audit_sample, self.audit_rows, self.audit_random = _audit_queue(result)
        self._profiles, self._traits = result_traits(result, self.inputs.columns)
        self._typical = _data.typical_members(result)
        self.nonce = ""
        """The word that scripts of the page carry, known once it was rendered."""
        self._show(result, None)
        self.names = self._cluster_names(result, names)
        """By label, empty where the label says it all."""

    def _show(self, result: AffinityResult, audit: Any) -> None:
        """Choose which points the page shows, and where."""
        self.result, self._audit = result, audit
        self.groups = _data.group_points(result)
        self.sample = _data.choose_points(result, np.concatenate([*self._typical, self.audit_rows]))
        self._bands = _data.sorted_profile(self.groups)
        self._projection = project(result, self.inputs, self.groups)

    def with_audit(self, audit: Any) -> Page:
        """Return the page with trust as it is after an audit, and the same labels to audit."""
        page = copy(self)
        page._show(audit.result, audit)
        return page

    def _cluster_names(self, result: AffinityResult, given: Any) -> dict[str, str]:
        made = describe(self.inputs.columns, self._traits)
        numbered = result.classes.dtype.kind in "iuf"
        chosen = check_names(result.classes, given).items()
        made_up = [each.name if numbered else "" for each in made]
        return {label: name or other for (label, name), other in zip(chosen, made_up, strict=True)}

    def html(self, *, served: bool = False) -> str:
        """Return the page; ``served`` by a server that keeps decisions and sends the content policy as a header."""
        result, inputs, groups, sample = self.result, self.inputs, self.groups, self.sample
        levels, sums = _data.count_levels(groups)
        counts, on_page = groups.counts, _data.places(sample, len(result))
        names = [self.names[label] for label in groups.labels]
        shown_names = [display_name(label, self.names[label]) for label in groups.labels]
        kept_media = _data.media(inputs, sample, self._typical)
        point_data = self.points(sample.rows, sample.kind)
        left_out = [c.name for c, kept in zip(inputs.columns, point_data["values"], strict=True) if kept is None]
        page_data = {
            "quantity": groups.word,
            "calibrated": result._calibrated,
            "audited": result._audited is not None,
            "verdicts": VERDICTS,
            "counts": counts,
            "atypical": ATYPICAL,
            "steps": _data.STEPS,
            "labels": [*groups.labels, str(NOISE)],
            "clusterNames": names,
            "levels": levels.tolist(),
            "sums": sums.round(6).tolist() if result._calibrated else None,
            "colours": {
                "trust": trust_palette(),
                "cluster": [*cluster_colours(len(groups.clusters)), VERDICT_COLOURS[-1]],
                "verdict": VERDICT_COLOURS,
            },
            "weights": None if sample.is_complete else sample.weights,
            "idNames": list(inputs.ids),
            "table": described(inputs.columns, self._profiles, groups.place),
            "hasTable": inputs.table is not None,
            "near": _data.near_members(inputs, result, sample),
            "clusters": [
                {
                    "rivals": rivals,
                    "typical": on_page[self._typical[code]].tolist(),
                    "traits": [[t.column, t.level, *(float(f"{v:.6g}") for v in t[2:])] for t in self._traits[code]],
                }
                for rivals, code in zip(groups.rivals, np.argsort(groups.place).tolist(), strict=True)
            ],
            "audit": {
                "points": on_page[self.audit_rows].tolist(),
                "random": self.audit_random.astype(int).tolist(),
                "labels": sum(counts[:3]),
            },
            "served": served,
            **kept_media,
            **point_data,
        }
        overall = float(np.nanmean(groups.values)) if sum(counts[:3]) else np.nan
        to_json = require("jinja2.utils", "report", "report()").htmlsafe_json_dumps
        bokeh_json = require("bokeh.core.json_encoder", "report", "report()").serialize_json
        figures = draw_figures(_data.counts_in_bins(levels.sum(axis=0)), groups, self._projection, self._bands)
        # JSON in which no character means anything to HTML.
        embedded = {"figures": to_json(figures, dumps=bokeh_json), "page": to_json(page_data)}
        # Only scripts with this word run: names from the data cannot know it.
        self.nonce = hashlib.sha256("".join(embedded.values()).encode()).hexdigest()[:32]
        resources = require("bokeh.resources", "report", "report()").Resources(
            mode="inline", components=["bokeh"], log_level="error"
        )
        return _fill(
            "report.html.j2",
            embedded=embedded,
            nonce=self.nonce,
            key=self._key,
            bokeh_scripts=resources.js_raw,
            scripts=_SCRIPTS,
            title=self.title,
            subtitle=f"{count(len(result), 'point')}, {count(result.classes.size, 'cluster')}",
            answer=answer(result, groups, self._audit),
            groups=groups,
            names=shown_names,
            percent=percent,
            clusters_listed=_CLUSTERS_LISTED,
            overall=overall if self._audit is None else self._audit.share_right,
            data=page_data,
            map_description=self._projection.description,
            note=sample_note(
                sample, {name: len(kept) for name, kept in kept_media.items() if kept is not None}, left_out
            ),
            computed=computed(result, self._projection),
        )

    def points(self, rows: IntArray, kind: Any = None) -> dict[str, Any]:
        """Return some points in the form in which the page holds them; by default those that were not on it."""
        numbers, xy = self.inputs.row_numbers, self._projection.xy
        kind = np.full(rows.size, 4) if kind is None else kind
        columns = _data.point_columns(self.result, rows, kind, self.groups, xy, self._bands)
        columns["row"] = _data.unsigned(numbers[rows], int(numbers.max(initial=0)))
        return {
            "columns": {name: _data.packed(column) for name, column in columns.items()},
            "ids": [[str(column[row])[:_ID_LENGTH] for row in rows.tolist()] for column in self.inputs.ids.values()],
            "values": _data.table_columns(self.inputs.columns, rows),
        }

    def find(self, query: str, most: int) -> IntArray:
        """Return rows whose number, identifier or text matches a query, those that match as a whole first."""
        if not query:
            return np.zeros(0, dtype=np.int64)
        wanted = query.casefold()
        exact = np.flatnonzero(self.inputs.row_numbers == int(query)) if query.isdecimal() else np.zeros(0, dtype=int)
        whole: list[int] = exact.tolist()
        part: list[int] = []
        for column in [*self.inputs.ids.values(), *([self.inputs.texts] if self.inputs.texts else [])]:
            for row, entry in enumerate(column):
                text = str(entry).casefold()
                if text == wanted:
                    whole.append(row)
                elif wanted in text and len(part) < most:
                    part.append(row)
        return np.array(list(dict.fromkeys([*whole, *part]))[:most], dtype=np.int64)

    @cached_property
    def _key(self) -> str:
        """What identifies these labels: the browser stores decisions under it, however often the page is made."""
        inputs = self.inputs
        rows = zip(inputs.row_numbers.tolist(), self.result.label.tolist(), *inputs.ids.values(), strict=True)
        digest = hashlib.sha256()
        for row in rows:
            digest.update(repr(tuple(map(str, row))).encode("utf-8", "replace"))
        return digest.hexdigest()[:32]

    @cached_property
    def _neighbours(self) -> Neighbours | None:
        return None if self.inputs.features is None else Neighbours(self.inputs.features, self.result._codes)

    def record(self, row: int) -> dict[str, Any]:
        """Return all that is known of a point: every column, the whole text, a large image, the nearest members."""
        result, inputs = self.result, self.inputs
        near: list[list[int]] = []
        if self._neighbours is not None:
            for cluster in (int(result._codes[row]), int(result._ranks.rival[row])):
                found = self._neighbours.of(np.array([row]), cluster, _data.NEAR)[0]
                near.append(inputs.row_numbers[found].tolist())
        return {
            "values": [column.text(row) for column in inputs.columns],
            "text": None if inputs.texts is None else inputs.texts[row][:_LONG_TEXT],
            "image": None if inputs.images is None else inputs.images.thumbnail(row, _LARGE_IMAGE),
            "near": near,
        }


def _audit_queue(result: AffinityResult) -> tuple[Any, IntArray, Any]:
    """Return the labels to audit (None if nothing orders them), their rows, and whether each was drawn at random.

    Those drawn come last and shuffled, so that the ones looked at so far are a random sample at any time.
    """
    labelled = int((result._codes >= 0).sum())
    if not result._calibrated or not labelled:
        return None, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
    sample = result.audit_sample(min(AUDITED, labelled))
    random = np.asarray(sample.drawn) == "random"
    drawn = np.random.default_rng(sample.seed).permutation(sample.rows[random])
    rows = np.concatenate([sample.rows[~random], drawn]).astype(np.int64)
    return sample, rows, np.arange(rows.size) >= rows.size - drawn.size


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

    return str(environment.get_template(template).render(static=static, **words))


class InlinePage:
    """A page that a notebook shows in a frame, so that neither's styles and scripts touch the other.

    Parameters
    ----------
    html
        The text of the page, complete in itself.
    title
        What the page is, for readers who do not see it.
    """

    def __init__(self, html: str, *, title: str) -> None:
        self.html = html
        self.title = title

    def save(self, path: Any) -> Path:
        """Write the page to a file and return its path; an existing one is replaced once the new one is complete."""
        check_writable(Path(path), force=True)
        write_whole(Path(path), self.html.encode("utf-8", "replace"))
        return Path(path)

    def __repr__(self) -> str:
        return f"{self.title}: a page of {len(self.html) / 1e6:.1f} MB that notebooks show; save('page.html') writes it"

    def _repr_html_(self) -> str:
        # Scripts of the page run, and may offer files to save; they have no access to the notebook.
        return page_frame(760, self.title, srcdoc=self.html, sandbox="allow-scripts allow-downloads allow-popups")


def page_frame(height: int, title: str, **settings: Any) -> str:
    """Return the markup of a frame with a page, by ``src`` or ``srcdoc``."""
    style = {"width": "100%", "height": height, "style": "border: 0; background: white"}
    return markup(element("iframe", **settings, title=title, **style))


NBSP_PERCENT = "\u00a0%"
_LIBRARIES = ("allegiance", "numpy", "scipy", "scikit-learn", "numba", "bokeh")


def percent(share: float) -> str:
    """Return a share with a percent sign that stays on its line; a dash for NaN."""
    return "-" if np.isnan(share) else f"{100.0 * share:.0f}{NBSP_PERCENT}"


def answer(result: AffinityResult, groups: Groups, audit: Any = None) -> dict[str, Any]:
    """Say how many labels would come back, which cluster to look at first, and what else a reader should know.

    A number in the second sentence stands for the name of the cluster in that place of the page.
    """
    summary = result.summary()
    more = summary.problems[1:]
    first, *notes = [line for line in summary.headlines() if line not in more]
    second = _trouble(result, groups)
    if not summary.n_labels:
        first, second = "No point has a label: all are noise", []
    elif audit is not None:
        first = audit.sentence()
    elif result._audited is not None:
        share, labels = percent(float(np.nanmean(result.trust))), count(summary.n_labels, "label")
        first = f"After the audit about {share} of {labels} are right"
    elif not result._calibrated:
        notes.append("How many labels would come back was not estimated: trust(X, labels) does it")
    first, *notes = (f"{line.removesuffix('.').replace(' %', NBSP_PERCENT)}." for line in (first, *notes))
    return {"first": first, "second": second, "warning": " ".join(more), "notes": notes}


def _trouble(result: AffinityResult, groups: Groups) -> list[str | int]:
    """Say which cluster to look at first."""
    if result.classes.size == 1:
        return ["With one cluster there is no rival, so this says nothing about the clustering."]
    worst = groups.clusters[0]
    if not sum(groups.counts[1:3]):
        return ["Every label is firm."]
    if result._calibrated:
        word = "would come back" if result._audited is None else "are right"
        finding = f"{percent(worst.replication)} of its {count(worst.points, 'label')} {word}"
    else:
        finding = f"{worst.points - worst.firm:,} of its {count(worst.points, 'label')} are not firm"
    said: list[str | int] = ["Look first at cluster ", 0, f": {finding}"]
    if groups.rivals[0]:
        said += ["; its usual rival is ", groups.rivals[0][0][0]]
    return [*said, "."]


def sample_note(sample: PageSample, kept: dict[str, int], left_out: list[str]) -> str:
    """Say which points are on the page, how many have an image or a text, and which columns had no room."""
    note = f"The page holds all {count(sample.rows.size, 'point')}."
    if not sample.is_complete:
        kinds = (
            ("those to review first and a sample, together", "labels that are not firm"),
            ("a random sample of", "firm labels"),
            ("a random sample of", "noise points"),
        )
        parts = [
            f"all {of:,} {kind}" if there == of else f"{sampled} {there:,} of {of:,} {kind}"
            for (there, of), (sampled, kind) in zip(sample.parts, kinds, strict=True)
            if of
        ]
        note = (
            f"The page holds {', '.join(parts)}. Counts of clusters, histogram and threshold refer to all points; "
            "counts of a selection or a search are scaled up from the points on the page."
        )
    for name, number in kept.items():
        if number < sample.rows.size:
            note += f" {name.capitalize()} are kept for {count(number, 'point')}: typical members and those to review."
    if left_out:
        listed = ", ".join(left_out[:5]) + (", ..." if len(left_out) > 5 else "")
        note += f" The page has no room for {count(len(left_out), 'column')} of the table ({listed})."
    return note


def computed(result: AffinityResult, projection: Projection) -> dict[str, str]:
    """Say how everything was computed."""
    trust = "not estimated: use trust(X, labels), or calibration=20"
    if result._trust_map is not None:
        what = "right, from the audit and" if result._audited is not None else "there again in a repeat, from"
        trust = f"the chance that a label is {what} what comes back when parts of the data are clustered again"
    versions = [f"{library} {version(library)}" for library in _LIBRARIES]
    return {
        "trust": trust,
        **({} if result._trust_map is None else {"repeats": result._trust_map.note}),
        **result.summary().measurement(),
        "precision": f"95 % intervals within ±{result._how.eps:g} asked for (eps)",
        "map": projection.description,
        "versions": ", ".join([f"Python {platform.python_version()}", *versions]),
    }
