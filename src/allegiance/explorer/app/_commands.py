"""What a page can ask for: each command is a method, and its arguments are checked here."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from allegiance._core import BoolArray
from allegiance.explorer.state import Question, Session
from allegiance.explorer.views import Dots, Finder, Maps, Window, choices, colouring, picture, whole
from allegiance.report import shorten
from allegiance.results import VERDICTS

from ._wire import pack

#: Characters that would make Bokeh take a name for a formula, and what is drawn behind each so that it does not.
_FORMULA, _BREAK = "$\\", "\u200b"
#: Corners of a lasso.
_MAX_CORNERS = 5_000
#: Names of clusters offered to the map, which draws those that do not overlap.
_MAX_NAMES = 300


class Commands:
    """The commands of a session.

    Parameters
    ----------
    session
        What they act on.
    maps
        Where points lie.
    """

    #: Commands that change nothing and may run beside others of the same tab.
    READING = frozenset({"map", "view", "hover"})

    def __init__(self, session: Session, maps: Maps) -> None:
        self._session = session
        self._maps = maps
        self._finders: dict[str, Finder] = {}
        self._finding = threading.Lock()
        self._known: dict[str, Callable[..., Any]] = {
            name: getattr(self, f"_{name}")
            for name in (
                *self.READING,
                *("tap", "mark", "step", "next", "select", "clear", "enqueue", "decide", "undo", "cluster"),
                *("ask", "cancel"),
            )
        }

    def run(self, message: Any) -> dict[str, Any] | bytes:
        """Carry out a command and return the answer: plain values, or a binary message.

        Raises
        ------
        ValueError
            In words for a person, if it makes no sense.
        """
        if not isinstance(message, dict) or message.get("do") not in self._known:
            raise ValueError("this command is not known: reload the page.")
        arguments = {name: value for name, value in message.items() if name not in ("do", "id")}
        try:
            answer = self._known[message["do"]](**arguments)
        except (TypeError, KeyError, OverflowError) as error:
            raise ValueError(f"the command {message['do']} does not fit: {error}.") from error
        return {} if answer is None else answer

    # --- the map

    def _map(self, map: str) -> dict[str, Any]:
        """Return all about a map but its points."""
        projection, session = self._maps[map], self._session
        # Of a million points it takes a second: begun before the pointer comes.
        threading.Thread(target=self._finder, args=(map,), daemon=True).start()
        subject = session.subject
        window = whole(projection)
        names: dict[str, list[Any]] = {"x": [], "y": [], "name": []}
        largest = sorted(subject.clusters, key=lambda line: -line.points)[:_MAX_NAMES]
        for line in largest:
            rows = subject.members(line.cluster)
            if rows.size:
                names["x"].append(float(np.median(projection.x[rows])))
                names["y"].append(float(np.median(projection.y[rows])))
                names["name"].append(drawn(shorten(subject.name(line.cluster), 24)))
        return {
            "window": [window.left, window.right, window.bottom, window.top],
            "labels": [drawn(shorten(text, 60)) for text in (projection.x_label, projection.y_label)],
            "description": projection.description,
            "names": names,
            "colours": choices(session),
            "marked": self.place_of_marked(),
        }

    def place_of_marked(self) -> dict[str, list[float]] | None:
        """Return where the point that is looked at lies, on each map that was looked at."""
        row = self._session.marked
        if row is None:
            return None
        seen = {name: self._maps[name] for name in self._maps.seen}
        return {name: [float(found.x[row]), float(found.y[row])] for name, found in seen.items()}

    def _view(self, map: str, colour: str, window: list[float]) -> bytes:
        """Return what to draw of a part of a map."""
        projection, session = self._maps[map], self._session
        part = Window.of(window)
        colours = colouring(session, colour)
        chosen = self._chosen()
        found = picture(projection, part, colours, session.subject.ranking, chosen)
        header: dict[str, Any] = {
            "window": window,
            "palette": colours.palette,
            "low": colours.low,
            "high": colours.high,
            "nothing": colours.nothing,
            "legend": colours.legend,
            "title": colours.title,
        }
        if isinstance(found, Dots):
            rows = found.rows
            arrays = {
                "x": projection.x[rows].astype(np.float64),
                "y": projection.y[rows].astype(np.float64),
                "value": colours.values[rows].astype(np.float64),
            }
            if chosen is not None:
                arrays["chosen"] = np.flatnonzero(chosen[rows]).astype(np.int32)
            return pack({**header, "kind": "dots", "points": rows.size}, arrays)
        height, width = found.pixels.shape[:2]
        header |= {"kind": "density", "points": found.n_points, "width": width, "height": height}
        return pack(header, {"pixels": found.pixels.ravel()})

    def _chosen(self) -> BoolArray | None:
        selected = self._session.selected
        if selected is None:
            return None
        chosen = np.zeros(self._session.subject.n_points, dtype=bool)
        chosen[selected] = True
        return chosen

    def _finder(self, map: str) -> Finder:
        with self._finding:
            if map not in self._finders:
                self._finders[map] = Finder(self._maps[map])
            return self._finders[map]

    def _hover(self, map: str, x: float, y: float, window: list[float]) -> dict[str, Any]:
        """Return what the point under the pointer is."""
        row = self._finder(map).nearest(float(x), float(y), Window.of(window))
        if row is None:
            return {"row": None}
        subject, projection = self._session.subject, self._maps[map]
        ranking = float(subject.ranking[row])
        said = [
            shorten(subject.called(row), 60),
            f"label {shorten(subject.name(int(subject.codes[row])), 40)}",
            VERDICTS[int(subject.verdict[row])],
            *([] if np.isnan(ranking) else [f"{subject.quantity} {ranking:.2f}"]),
            f"rival {shorten(subject.name(int(subject.rival[row])), 40)}",
        ]
        return {"row": row, "x": float(projection.x[row]), "y": float(projection.y[row]), "lines": said}

    def _tap(self, map: str, x: float, y: float, window: list[float]) -> None:
        row = self._finder(map).nearest(float(x), float(y), Window.of(window))
        if row is not None:
            self._session.mark(row)

    def _select(self, map: str, xs: list[float], ys: list[float]) -> None:
        """Select the points inside a polygon; a box has two corners."""
        if len(xs) != len(ys) or not 2 <= len(xs) <= _MAX_CORNERS:
            raise ValueError(f"a selection has 2 to {_MAX_CORNERS} corners.")
        finder = self._finder(map)
        box = len(xs) == 2
        rows = finder.in_box(min(xs), max(xs), min(ys), max(ys)) if box else finder.inside(xs, ys)
        self._session.select(rows)

    def _clear(self) -> None:
        self._session.select(None)

    # --- review

    def _mark(self, row: int) -> None:
        self._session.mark(int(row))

    def _step(self, by: int) -> None:
        self._session.step(int(by))

    def _next(self) -> None:
        self._session.next_open()

    def _enqueue(self, budget: str = "", cluster: int | None = None, selection: bool = False) -> None:
        text = str(budget).strip()
        asked: Any = None if not text else text if text.endswith("%") else _whole(text)
        self._session.enqueue(asked, None if cluster is None else int(cluster), selection=bool(selection))

    def _decide(self, row: int, decision: str, new_label: str | None = None, command: str | None = None) -> None:
        self._session.decide(int(row), str(decision), new_label, command)

    def _undo(self, command: str | None = None) -> None:
        self._session.undo(command)

    def _cluster(self, cluster: int | None) -> None:
        self._session.show_cluster(None if cluster is None else int(cluster))

    # --- what if

    def _ask(self, influence: str, weights: str, domain: str, clusterer: str, clusters: str) -> None:
        number = _whole(clusters) if str(clusters).strip() else None
        influence, weights, domain, clusterer = (str(text).strip() for text in (influence, weights, domain, clusterer))
        self._session.ask(Question(influence, weights, domain, clusterer, number))

    def _cancel(self) -> None:
        self._session.cancel()


def _whole(text: Any) -> int:
    try:
        return int(str(text).strip())
    except ValueError:
        raise ValueError(f"{str(text)[:40]!r} is not a whole number.") from None


def drawn(text: str) -> str:
    """Return a text that Bokeh draws as it stands: names from the data may look like formulas."""
    return "".join(character + _BREAK if character in _FORMULA else character for character in text)
