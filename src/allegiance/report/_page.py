"""The page: as text, as a file, or inside a notebook; and the records of single points for a server."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from copy import copy
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from allegiance._core.validation import IntArray, is_sparse, require
from allegiance.drivers import drivers as find_drivers
from allegiance.fitting import NOISE
from allegiance.io.files import check_writable, write_whole
from allegiance.notebook import count, page_frame
from allegiance.results import ATYPICAL, VERDICTS, AffinityResult, check_names, display_name

from . import _clusters, _points
from ._columns import EXCERPT
from ._figures import draw_figures, palettes, project
from ._inputs import check_inputs
from ._points import NeighborFinder

_FOLDER = Path(__file__).parent
#: The page's scripts, in the order in which they run.
_SCRIPTS = (
    "elements.js", "points.js", "state.js", "tally.js", "theme.js", "density.js", "figures.js", "store.js", "audit.js",
    "exports.js", "cards.js", "columns.js", "table.js", "start.js",
)  # fmt: skip
#: Entries listed before the rest is folded away, and most clusters with names in the head of the heat map.
_LISTED = {"clusters": 15, "columns": 12, "drivers": 8, "rule": 12, "named": 8}
#: Clusters up to which rivals are shown as a matrix, and pairs listed otherwise.
_MATRIX, _PAIRS = 15, 15
#: Labels to audit: half drawn at random, half the first to review.
AUDITED = 60
#: Longest side of the image in a record, characters of its text, and of an id.
_LARGE_IMAGE, _LONG_TEXT, _ID_LENGTH = 320, 20_000, 80


def write_report(result: AffinityResult, path: Any, X: Any = None, **settings: Any) -> Path | InlinePage:
    """Write the page to a file and return its path, or return it; see :meth:`allegiance.AffinityResult.report`."""
    if path is not None:
        check_writable(Path(path), force=True)
    page = InlinePage(render_report(result, X, **settings), title=settings["title"] or "Clustering report")
    return page if path is None else page.save(path)


def render_report(result: AffinityResult, X: Any = None, **settings: Any) -> str:
    """Return the page as text, with settings as in :meth:`allegiance.AffinityResult.report`.

    It needs no other file and no network. It contains up to 100,000 points; of larger data, the points to review and
    samples of the others. Counts always refer to all points. Names from the data are escaped.
    """
    return Page(result, X, **settings).html()


class Page:
    """A result and the content of its page; arguments as in :func:`render_report`."""

    def __init__(
        self,
        result: AffinityResult,
        X: Any = None,
        *,
        title: str | None = None,
        names: Any = None,
        drivers: Any = None,
        notes: Any = (),
        provenance: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        self.inputs = check_inputs(result, X, **settings)
        self.title = title or "Clustering report"
        self._notes, self._provenance = list(notes), dict(provenance or {})
        self._drivers = self._find_drivers(result) if drivers is None else drivers or None
        self.audit_sample, self.audit_rows, self.audit_random = _audit_queue(result)
        self._profiles, self._traits = _clusters.result_traits(result, self.inputs.columns)
        self._typical = _clusters.typical_members(result)
        self.nonce = ""
        """The nonce of the page's scripts, set when the page is rendered."""
        self._before: AffinityResult | None = None
        self._set_result(result, None)
        self.names = self._cluster_names(result, names)
        """Cluster names by label; empty if the label needs none."""

    def _find_drivers(self, result: AffinityResult) -> Any:
        """Return the drivers to show on the page, of the features, else of the table; None without either."""
        features, table = self.inputs.features, self.inputs.table
        columns = [column.name for column in self.inputs.columns if column.describes and column.kind != "text"]
        if result.classes.size < 2 or not columns:
            return None
        if features is not None and (
            table is None or (features.are_named and not {*features.names} <= {*table.columns})
        ):
            return find_drivers(result, features.rows, names=features.names)
        columns = features.names if features is not None and features.are_named else columns
        return find_drivers(result, table.select(columns).to_native(), scale=True)

    def _set_result(self, result: AffinityResult, audit: Any) -> None:
        """Set the result that the page shows, before or after an audit."""
        self.result, self._audit = result, audit
        self.groups = _clusters.sort_clusters(result)
        self.sample = _points.choose_points(result, np.concatenate([*self._typical, self.audit_rows]))
        self._axes = project(result, self.inputs, self.groups)

    def with_audit(self, audit: Any) -> Page:
        """Return the page with the trust after an audit, and the same labels to audit."""
        page = copy(self)
        page._before = self._before or self.result
        page._set_result(audit.result, audit)
        return page

    def _cluster_names(self, result: AffinityResult, names: Any) -> dict[str, str]:
        """Return the cluster names on the page by label: the user's, or by default traits for numbered clusters."""
        user_names = check_names(result.classes, names).items()
        defaults = [""] * result.classes.size
        if result.classes.dtype.kind in "iuf":
            defaults = [each.name for each in _clusters.describe(self.inputs.columns, self._traits)]
            if self.inputs.texts is not None and not any(defaults):
                defaults = _clusters.name_by_words(self.inputs.texts, result._codes, result.classes.size)
        return {label: name or default for (label, name), default in zip(user_names, defaults, strict=True)}

    def html(self, *, served: bool = False) -> str:
        """Return the page; ``served`` means that a server saves decisions and sends the content policy."""
        result, inputs, groups, sample = self.result, self.inputs, self.groups, self.sample
        levels, sums = _points.count_levels(groups)
        counts, on_page = groups.counts, _points.places(sample, len(result))
        media = _points.media(inputs, sample, self._typical)
        point_data = self.points(sample.rows, sample.kind)
        left_out = [c.name for c, values in zip(inputs.columns, point_data["values"], strict=True) if values is None]
        shares = {} if self._drivers is None else self._drivers.shares
        page_data = {
            "quantity": groups.word,
            "calibrated": result._has_trust,
            "audited": result._audited is not None,
            "verdicts": VERDICTS,
            "counts": counts,
            "atypical": ATYPICAL,
            "steps": _points.STEPS,
            "labels": [*groups.labels, str(NOISE)],
            "clusterNames": [self.names[label] for label in groups.labels],
            "levels": levels.tolist(),
            "sums": sums.round(6).tolist() if result._has_trust else None,
            "colors": palettes(len(groups.clusters)),
            "axes": [
                {"name": one.name, "labels": one.labels, "caption": one.description, "limits": one.limits}
                for one in self._axes
            ],
            "weights": None if sample.is_complete else sample.weights,
            "idNames": list(inputs.ids),
            "table": _clusters.column_descriptions(inputs.columns, self._profiles, groups.place),
            "hasTable": inputs.table is not None,
            "hasEvidence": any(profile is not None for profile in self._profiles),
            "near": _points.near_members(inputs, result, sample),
            "rivals": groups.rivals.tolist(),
            "clusters": [
                {
                    "typical": on_page[self._typical[code]].tolist(),
                    "traits": [[t.column, t.level, *(float(f"{v:.6g}") for v in t[2:])] for t in self._traits[code]],
                }
                for code in np.argsort(groups.place).tolist()
            ],
            "audit": {
                "points": on_page[self.audit_rows].tolist(),
                "random": self.audit_random.astype(int).tolist(),
                "labels": sum(counts[:3]),
            },
            "served": served,
            **media,
            **point_data,
        }
        to_json = require("jinja2.utils", "report", "report()").htmlsafe_json_dumps
        bokeh_json = require("bokeh.core.json_encoder", "report", "report()").serialize_json
        figures = draw_figures(levels, groups, self._axes[0])
        # JSON without characters that are special in HTML.
        embedded = {"figures": to_json(figures, dumps=bokeh_json), "page": to_json(page_data)}
        # Only scripts with this nonce run, and names from the data cannot contain it.
        self.nonce = hashlib.sha256("".join(embedded.values()).encode()).hexdigest()[:32]
        resources = require("bokeh.resources", "report", "report()").Resources(
            mode="inline", components=["bokeh"], log_level="error"
        )
        k = len(groups.clusters)
        facts = _method_facts(result)
        rule = [] if self._drivers is None else [line.rpartition(" -> ") for line in self._drivers.rule.splitlines()]
        place = {label: number for number, label in enumerate(groups.labels)}
        overall = groups.summary.replication if self._audit is None else self._audit.share_right
        template = _templates().get_template("report.html.j2")
        page: str = template.render(
            embedded=embedded,
            nonce=self.nonce,
            key=self._key,
            bokeh_scripts=resources.js_raw,
            scripts=_SCRIPTS,
            title=self.title,
            subtitle=f"{count(len(result), 'point')} in {count(k, 'cluster')}",
            answer=self._answer(),
            tiles=self._tiles(),
            drivers=self._drivers,
            rule=[(condition, label, place.get(label)) for condition, _, label in rule],
            listed=_LISTED,
            heat=_clusters.describe_in_heat_map(inputs.columns, self._profiles, groups.place, shares),
            groups=groups,
            pairs=[] if k <= _MATRIX else _clusters.rival_pairs(groups, _PAIRS),
            names=[display_name(label, self.names[label]) for label in groups.labels],
            percent=percent,
            overall="-" if overall is None else percent(overall),
            data=page_data,
            map_description=self._axes[0].description,
            note=self._sample_note(media, left_out),
            export_note=self._export_note(left_out, served),
            provenance=self._provenance | facts["provenance"],
            technical=facts["technical"],
        )
        return page

    def _answer(self) -> dict[str, Any]:
        """Return the first sentences of the page: problems that change the answer, replication, where to start, facts.

        A number in ``start`` is replaced by the name of the cluster at that position of the page.
        """
        result, groups, summary = self.result, self.groups, self.groups.summary
        problems = [] if result._audited is not None else summary.problems
        replication = summary.sentence if self._audit is None else self._audit.sentence()
        start: list[str | int] = []
        if result.classes.size > 1 and result._has_trust and any(groups.counts[1:3]):
            worst, word = groups.clusters[0], "would hold up" if result._audited is None else "are right"
            share = f"{percent(worst.replication)} of its {count(worst.points, 'label')} {word}"
            start = ["Check this cluster first: ", 0, f" ({share}"]
            if groups.rivals[0].any():
                start += ["; most often confused with ", int(groups.rivals[0].argmax())]
            start.append(").")
        # The table and the drivers may report the same finding.
        known = {getattr(note, "kind", None) for note in self._notes}
        flags = [] if self._drivers is None else [flag for flag in self._drivers.flags if flag.kind not in known]
        findings = {str(one): one for one in [*self._notes, *flags]}
        facts = summary.headlines()
        return {
            "problems": problems,
            "replication": "" if result.classes.size == 1 and problems else replication,
            "start": start,
            "findings": [
                {"text": str(getattr(one, "text", one)), "remedy": getattr(one, "remedy", "")}
                for one in findings.values()
            ],
            "facts": facts[facts.index(summary.sentence) + 1 :] if summary.sentence in facts else facts[1:],
        }

    def _tiles(self) -> list[Tile]:
        """Return the first facts of the page, below its title."""
        result, audit, drivers, features = self.result, self._audit, self._drivers, self.inputs.features
        summary, counts = self.groups.summary, self.groups.counts
        labels, is_audited = sum(counts[:3]), result._audited is not None
        null = None if summary._trust_map is None else summary._trust_map.null_replication
        facts = []
        share, interval = summary.replication, summary.replication_interval
        if audit is not None:
            earlier = np.nan if self._before is None else self._before.replication
            note = f"95% interval: {_interval(audit.interval)}. Before the audit, {percent(earlier)} would hold up."
            bar = {"value": audit.share_right, "low": audit.interval[0], "high": audit.interval[1], "mark": None}
            facts.append(Tile("Right, by the audit", percent(audit.share_right), note, bar))
        elif is_audited and share is not None:
            facts.append(Tile("Right, by the audit", percent(share), "Estimated from the labels that were checked"))
        elif share is not None and interval is not None and labels:
            bar = {"value": share, "low": interval[0], "high": interval[1], "mark": null}
            title = "Replication: labels that would hold up on a fresh sample"
            facts.append(Tile(title, percent(share), f"90% prediction interval: {_interval(interval)}", bar))
        word = "labels" if result._has_trust else "labels, by own affinity"
        share_text = f"{counts[2] / labels:.1%} of" if counts[2] else "of"
        note = f"{share_text} {labels:,} {word}; {counts[1]:,} are borderline"
        facts.append(Tile("Doubtful labels", f"{counts[2]:,}", note, verdicts=counts[:3]))
        title = f"Compared with unclustered data{' (before the audit)' if is_audited else ''}"
        if null is not None:
            note = f"{percent(null)} would hold up in data without clusters, too: no evidence of clusters"
            facts.append(Tile(title, "No better", note, alarm=True))
        elif result._has_trust and result.classes.size > 1 and features is not None and not is_sparse(features.rows):
            facts.append(Tile(title, "Better", "More labels hold up than in comparable data without clusters"))
        if drivers is not None and drivers.shares:
            top = ", ".join(list(drivers.shares)[:3])
            note = "No single column matters" if drivers.is_diffuse else f"Strongest: {top}"
            value = self._provenance.get("columns used", "").partition(":")[0] or f"{len(drivers.shares):,}"
            facts.append(Tile("Columns used", value, note, alarm=bool(drivers.flags)))
        return facts

    def _sample_note(self, media: dict[str, Any], left_out: list[str]) -> str:
        """Return the sentences of the page on how many points, images, texts and columns it contains."""
        sample = self.sample
        note = f"The page contains all {count(sample.rows.size, 'point')}."
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
                f"The page contains {', '.join(parts)}. Counts of clusters, histogram and threshold refer to all "
                "points; counts of a selection or a search are scaled up from the points on the page."
            )
        for name, entries in media.items():
            if entries is not None and len(entries) < sample.rows.size:
                note += f" It has {name} of {count(len(entries), 'point')}: typical members and those to review."
        if left_out:
            listed = ", ".join(left_out[:5]) + (", ..." if len(left_out) > 5 else "")
            note += f" It has no room for {count(len(left_out), 'column')} of the table ({listed})."
        return note

    def _export_note(self, left_out: list[str], served: bool) -> str:
        """Return the sentence of the page on the rows and columns of the exported table."""
        sample = self.sample
        total = sum(of for _, of in sample.parts)
        if served or sample.is_complete:
            note = f"The exported table has all {count(total, 'row')}"
        else:
            note = f"The exported table has the {sample.rows.size:,} rows on this page, a sample of {total:,}"
        if not served:
            texts = [c for c in self.inputs.columns if c.kind == "text"]
            if any(len(text or "") > EXCERPT for column in texts for text in column.values):
                note += f"; texts are cut at {EXCERPT:,} characters"
            if left_out:
                note += f"; it lacks {count(len(left_out), 'column')} that the page has no room for"
        return f"{note}."

    def points(self, rows: IntArray, kind: Any = None) -> dict[str, Any]:
        """Return some points in page format; by default points that were not on the page."""
        numbers = self.inputs.row_numbers
        kind = np.full(rows.size, 4) if kind is None else kind
        columns = _points.point_columns(self.result, rows, kind, self.groups, [one.xy for one in self._axes])
        columns["row"] = _points.unsigned(numbers[rows], int(numbers.max(initial=0)))
        reasons, columns["reason"] = np.unique(self.result._reasons(rows), return_inverse=True)
        columns["reason"] = columns["reason"].astype(np.uint16)
        return {
            "columns": {name: _points.packed(column) for name, column in columns.items()},
            "reasons": reasons.tolist(),
            "ids": [[str(column[row])[:_ID_LENGTH] for row in rows.tolist()] for column in self.inputs.ids.values()],
            "values": _points.table_columns(self.inputs.columns, rows),
        }

    @cached_property
    def _key(self) -> str:
        """The page's key of these labels, under which the browser stores decisions; the same for every rendering."""
        inputs = self.inputs
        rows = zip(inputs.row_numbers.tolist(), self.result.label.tolist(), *inputs.ids.values(), strict=True)
        digest = hashlib.sha256()
        for row in rows:
            digest.update(repr(tuple(map(str, row))).encode("utf-8", "replace"))
        return digest.hexdigest()[:32]

    @cached_property
    def _neighbor_finder(self) -> NeighborFinder | None:
        """The finder of the nearest members that the page shows of a point; None without features."""
        return None if self.inputs.features is None else NeighborFinder(self.inputs.features, self.result._codes)

    def record(self, row: int) -> dict[str, Any]:
        """Return all that the page can show of a point: every column, whole text, large image, nearest members."""
        result, inputs = self.result, self.inputs
        near: list[list[int]] = []
        if self._neighbor_finder is not None:
            for cluster in (int(result._codes[row]), int(result._ranks.rival[row])):
                members = self._neighbor_finder.of(np.array([row]), cluster, _points.NEAR)[0]
                near.append(inputs.row_numbers[members].tolist())
        return {
            "values": [column.text(row) for column in inputs.columns],
            "text": None if inputs.texts is None else inputs.texts[row][:_LONG_TEXT],
            "image": None if inputs.images is None else inputs.images.thumbnail(row, _LARGE_IMAGE),
            "near": near,
        }


def _audit_queue(result: AffinityResult) -> tuple[Any, IntArray, Any]:
    """Return the audit sample of the page (None without calibration), its rows, and whether each one is random.

    Random rows are last and shuffled, so that the ones reviewed so far are a random sample at any time.
    """
    labeled = int((result._codes >= 0).sum())
    if not result._has_trust or not labeled:
        return None, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
    sample = result.audit_sample(min(AUDITED, labeled))
    random = np.asarray(sample.origin) == "random"
    shuffled = np.random.default_rng(sample.seed).permutation(sample.rows[random])
    rows = np.concatenate([sample.rows[~random], shuffled]).astype(np.int64)
    return sample, rows, np.arange(rows.size) >= rows.size - shuffled.size


@cache
def _templates() -> Any:
    """Return the compiled templates of the page, with automatic escaping."""
    jinja2 = require("jinja2", "report", "a report")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    markup_class = require("markupsafe", "report", "a report").Markup
    # Column names may be broken after underscores.
    environment.filters["breakable"] = lambda text: markup_class("_<wbr>").join(str(text).split("_"))
    environment.globals["static"] = lambda name: (_FOLDER / "static" / name).read_text(encoding="utf-8")
    return environment


class InlinePage:
    """A page that a notebook shows in a frame with a title; the frame isolates styles and scripts."""

    def __init__(self, html: str, *, title: str) -> None:
        self.html = html
        self.title = title

    def save(self, path: Any) -> Path:
        """Write the page to a file and return its path. An existing file is replaced atomically."""
        check_writable(Path(path), force=True)
        write_whole(Path(path), self.html.encode("utf-8", "replace"))
        return Path(path)

    def __repr__(self) -> str:
        return f"{self.title}: a page of {len(self.html) / 1e6:.1f} MB that notebooks show; save('page.html') writes it"

    def _repr_html_(self) -> str:
        """Return the page in a frame: its scripts may offer downloads, but have no access to the notebook."""
        return page_frame(760, self.title, srcdoc=self.html, sandbox="allow-scripts allow-downloads allow-popups")


_LIBRARIES = ("allegiance", "numpy", "scipy", "scikit-learn", "numba", "bokeh")


def percent(share: float) -> str:
    """Return a share as text on the page, in percent; a dash for NaN."""
    return "-" if np.isnan(share) else f"{100.0 * share:.0f}%"


class Tile(NamedTuple):
    """One of the first facts of the page."""

    title: str
    value: str
    note: str
    bar: Mapping[str, float | None] | None = None
    """Value, interval and replication of unclustered data, from 0 to 1."""
    verdicts: list[int] | None = None
    alarm: bool = False


def _interval(interval: tuple[float, float]) -> str:
    """Return an interval of shares for the page, in percent."""
    return f"{100 * interval[0]:.0f}-{percent(interval[1])}"


def _method_facts(result: AffinityResult) -> dict[str, dict[str, str]]:
    """Return the facts at the end of the page on how trust and affinities were estimated, by topic."""
    trust = "not estimated: use trust(X, labels), or calibration=20"
    if result._trust_map is not None:
        is_right = "would hold up on a fresh sample, " if result._audited is None else "is right, from the audit and "
        trust = f"the probability that a label {is_right}from re-clustering parts of the data"
    versions = [f"{library} {version(library)}" for library in _LIBRARIES]
    return {
        "provenance": {"trust": trust} | ({} if result._trust_map is None else {"clusterer": result._trust_map.note}),
        "technical": {
            **result.summary().measurement_facts(),
            "precision": f"95% intervals within ±{result._measurement.eps:g} requested (eps)",
            "versions": ", ".join([f"Python {platform.python_version()}", *versions]),
        },
    }
