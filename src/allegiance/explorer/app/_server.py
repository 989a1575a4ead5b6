"""The web server: one page, one web socket for each tab, downloads; nothing without the token."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import tornado.web
import tornado.websocket
from tornado.ioloop import IOLoop

from allegiance.explorer.state import TOPICS, Session

from ._commands import Commands
from ._exports import FORMATS, TABLES, export
from ._pages import FOLDER, Pages
from ._security import HEADERS, Access

_LOGGER = logging.getLogger("allegiance.explorer")
#: Bytes of a message from a page.
_MAX_MESSAGE = 1_000_000
#: Seconds between signs of life, without which proxies and browsers give a connection up.
_PING = 20
_WORKERS = 4


class Hub:
    """What the handlers of one server share: the session, its tabs, and threads that work for them.

    Parameters
    ----------
    session, pages, commands, access
        The parts of the server.
    """

    def __init__(self, session: Session, pages: Pages, commands: Commands, access: Access) -> None:
        self.session = session
        self.pages = pages
        self.commands = commands
        self.access = access
        self.tabs: set[Socket] = set()
        self.tasks: set[asyncio.Task[None]] = set()
        """Work that nothing waits for; the loop alone would let go of it."""
        self.workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="allegiance-explorer")
        self._loop = IOLoop.current()
        self._in_order = threading.Lock()
        session.listen(self._tell_all)

    def _tell_all(self, topics: set[str]) -> None:
        """Send what changed to every tab; called from any thread."""
        if not self.tabs:
            return
        # What is sent last must have been rendered last, or a tab would be left with an older state.
        with self._in_order:
            try:
                self._loop.add_callback(self._send_all, self.news(topics))
            except Exception:  # The change itself was made, and must not look as if it had failed.
                _LOGGER.exception("the panels %s could not be shown", ", ".join(sorted(topics)))

    def _send_all(self, message: str) -> None:
        for tab in list(self.tabs):
            tab.send(message)

    def news(self, topics: set[str]) -> str:
        """Return the panels of topics as a message."""
        return json.dumps(
            {
                "event": "panels",
                "html": self.pages.panels(topics),
                "marked": self.commands.place_of_marked(),
                "changed": self.session.changes is not None,
            }
        )


class _Guarded(tornado.web.RequestHandler):
    """A handler that answers only who asks for this server by its name."""

    hub: Hub
    needs_token = True

    def initialize(self, hub: Hub) -> None:
        self.hub = hub

    def set_default_headers(self) -> None:
        self.clear_header("Server")
        for name, value in HEADERS.items():
            self.set_header(name, value)

    def prepare(self) -> None:
        if not self.hub.access.knows_host(self.request.host):
            raise tornado.web.HTTPError(403, reason="unknown host")
        if self.needs_token and not self.hub.access.knows_token(self.get_query_argument("token", None)):
            raise tornado.web.HTTPError(403, reason="wrong token")

    def write_error(self, status_code: int, **_: Any) -> None:
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        said = {
            403: "This address lacks the right token: open the one that allegiance printed.",
            404: "There is nothing here.",
        }
        self.finish(said.get(status_code, "Something went wrong; the terminal says what."))


class _Page(_Guarded):
    async def get(self) -> None:
        html = await asyncio.get_running_loop().run_in_executor(self.hub.workers, self.hub.pages.page)
        self.finish(html)


class _Export(_Guarded):
    async def get(self, table: str, format: str) -> None:
        if table not in TABLES or format not in FORMATS:
            raise tornado.web.HTTPError(404)
        work = asyncio.get_running_loop().run_in_executor(self.hub.workers, export, self.hub.session, table, format)
        content = await work
        self.set_header("Content-Type", FORMATS[format])
        self.set_header("Content-Disposition", f'attachment; filename="{table}.{format}"')
        self.finish(content)


class _Nothing(_Guarded):
    needs_token = False

    def prepare(self) -> None:
        raise tornado.web.HTTPError(404)


class _Static(tornado.web.StaticFileHandler):
    """Scripts and styles of the package, which hold nothing of the data."""

    def initialize(self, hub: Hub, path: str) -> None:  # type: ignore[override]
        self.hub = hub
        super().initialize(path)

    def set_default_headers(self) -> None:
        self.clear_header("Server")
        for name, value in HEADERS.items():
            self.set_header(name, value)

    def prepare(self) -> None:
        if not self.hub.access.knows_host(self.request.host):
            raise tornado.web.HTTPError(403)


class Socket(tornado.websocket.WebSocketHandler):
    """The connection of one tab."""

    hub: Hub

    def initialize(self, hub: Hub) -> None:
        self.hub = hub

    def check_origin(self, origin: str) -> bool:
        """Refuse pages of other servers, which a browser would let connect here."""
        return self.hub.access.knows_origin(origin)

    async def get(self, *args: Any, **settings: Any) -> None:
        """Refuse connections without the token, or without an origin, before they are made."""
        known = self.hub.access.knows_host(self.request.host) and self.request.headers.get("Origin") is not None
        if not known or not self.hub.access.knows_token(self.get_query_argument("token", None)):
            self.set_status(403)
            self.finish("refused")
            return
        await super().get(*args, **settings)

    def open(self, *_: str, **__: str) -> None:
        """Show the new tab where the review is."""
        self.hub.tabs.add(self)
        self.send(self.hub.news(set(TOPICS)))

    def on_close(self) -> None:
        """Forget the tab; what it decided is on the disk."""
        self.hub.tabs.discard(self)

    async def on_message(self, message: str | bytes) -> None:
        """Carry out a command; those that change something one after the other."""
        try:
            asked = json.loads(message)
        except ValueError:
            return
        work = self._answer(asked)
        if isinstance(asked, dict) and asked.get("do") in Commands.READING:
            # A map that takes long must not hold up a decision.
            task = asyncio.create_task(work)
            self.hub.tasks.add(task)
            task.add_done_callback(self.hub.tasks.discard)
        else:
            await work

    async def _answer(self, asked: Any) -> None:
        number = asked.get("id") if isinstance(asked, dict) else None
        loop = asyncio.get_running_loop()
        try:
            answer = await loop.run_in_executor(self.hub.workers, self.hub.commands.run, asked)
        except asyncio.CancelledError:  # The server is being closed.
            return
        except (ValueError, OSError) as error:
            self.send(json.dumps({"id": number, "error": str(error)}))
            return
        except Exception:
            _LOGGER.exception("a command of the page failed")
            self.send(json.dumps({"id": number, "error": "Something went wrong; the terminal says what."}))
            return
        if isinstance(answer, bytes):
            # The number of the question goes before the message.
            self.send(int(number or 0).to_bytes(8, "little") + answer)
        else:
            self.send(json.dumps({"id": number, **answer}))

    def send(self, message: str | bytes) -> None:
        """Send a message, unless the tab has gone in the meantime."""
        try:
            self.write_message(message, binary=isinstance(message, bytes))
        except tornado.websocket.WebSocketClosedError:
            self.hub.tabs.discard(self)


def application(hub: Hub, bokeh_scripts: Path) -> tornado.web.Application:
    """Return the application of a hub."""
    shared = {"hub": hub}
    routes: list[tuple[str, Callable[..., Any], dict[str, Any]]] = [
        (r"/", _Page, shared),
        (r"/socket", Socket, shared),
        (r"/export/(\w+)\.(\w+)", _Export, shared),
        (r"/static/([\w.-]+)", _Static, {**shared, "path": str(FOLDER / "static")}),
        (r"/bokeh/([\w.-]+)", _Static, {**shared, "path": str(bokeh_scripts)}),
    ]
    return tornado.web.Application(
        routes,
        default_handler_class=_Nothing,
        default_handler_args=shared,
        websocket_max_message_size=_MAX_MESSAGE,
        websocket_ping_interval=_PING,
        log_function=lambda handler: None,
    )
