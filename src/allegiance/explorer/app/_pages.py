"""The page and its panels as HTML: every word from the data goes through templates that escape it."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from allegiance._core import require
from allegiance.explorer.state import CLUSTER, POINT, QUEUE, SELECTION, WHAT_IF, Session
from allegiance.explorer.views import KEYS, Maps, Panels, choices, headline
from allegiance.results import count

from ._figure import map_figure

FOLDER = Path(__file__).parents[1]
_CALLER = "explore()"


class Pages:
    """Renders the page of a session and its panels.

    Parameters
    ----------
    session
        What is shown.
    maps
        Where points lie.
    panels
        What the panels say.
    """

    def __init__(self, session: Session, maps: Maps, panels: Panels) -> None:
        self._session = session
        self._maps = maps
        self._panels = {
            POINT: panels.point,
            QUEUE: panels.queue,
            CLUSTER: panels.cluster,
            SELECTION: panels.selection,
            WHAT_IF: panels.what_if,
        }
        self._clusters = panels.clusters

    @cached_property
    def _environment(self) -> Any:
        jinja2 = require("jinja2", "explorer", _CALLER)
        return jinja2.Environment(
            loader=jinja2.FileSystemLoader(FOLDER / "templates"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def panel(self, topic: str) -> str:
        """Return the panel of a topic."""
        name = topic.replace("-", "_")
        html: str = self._environment.get_template(f"{name}.html.j2").render(self._panels[topic]())
        return html

    def panels(self, topics: set[str]) -> dict[str, str]:
        """Return panels by topic."""
        return {topic: self.panel(topic) for topic in sorted(topics)}

    @cached_property
    def _figure(self) -> Any:
        safe_json = require("jinja2.utils", "explorer", _CALLER).htmlsafe_json_dumps
        return safe_json(map_figure(), dumps=require("bokeh.core.json_encoder", "explorer", _CALLER).serialize_json)

    def page(self) -> str:
        """Return the whole page."""
        subject = self._session.subject
        # Panels were escaped when they were rendered.
        markup = require("markupsafe", "explorer", _CALLER).Markup
        html: str = self._environment.get_template("page.html.j2").render(
            title=subject.title,
            subtitle=f"{count(subject.n_points, 'point')}, {count(subject.n_clusters, 'cluster')}",
            headline=headline(subject),
            note=subject.note,
            figure=self._figure,
            maps=self._maps.names,
            colours=choices(self._session),
            keys=KEYS,
            clusters=self._clusters(),
            contents={WHAT_IF: self._panels[WHAT_IF]()},
            include_panel=lambda topic: markup(self.panel(topic)),
            without_features=subject.features is None,
            without_result=subject.result is None,
        )
        return html
