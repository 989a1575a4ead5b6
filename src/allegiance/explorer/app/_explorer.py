"""Explorer: a server in a thread of its own, and what came of the review."""

from __future__ import annotations

import asyncio
import socket
import threading
import webbrowser
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

import tornado.httpserver

from allegiance._core import AnyArray, require
from allegiance.explorer.state import Question, Session
from allegiance.explorer.views import Maps, Panels
from allegiance.notebook import element, markup
from allegiance.report import InlinePage

from ._commands import Commands
from ._pages import Pages
from ._security import LOOPBACK, Access
from ._server import Hub, application

#: Seconds that a server gets to start.
_PATIENCE = 30


class Explorer:
    """A running explorer. Built by :func:`allegiance.explorer.explore`; close it, or use it as a context manager.

    Parameters
    ----------
    session
        The review.
    maps
        Where points lie.
    asked
        How the points were scored.
    host, port
        Where to listen; port 0 takes a free one.
    allow_hosts
        Further names under which the server may be asked for.
    """

    def __init__(
        self,
        session: Session,
        maps: Maps,
        asked: Question,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        allow_hosts: Iterable[str] = (),
    ) -> None:
        self._session = session
        self._pages = Pages(session, maps, Panels(session, asked))
        self._commands = Commands(session, maps)
        self._socket = _bound(host, port)
        self.port: int = self._socket.getsockname()[1]
        self._access = Access.of(host, self.port, allow_hosts)
        shown = "127.0.0.1" if host in ("", "0.0.0.0", *LOOPBACK) else host
        self.url = f"http://{f'[{shown}]' if ':' in shown else shown}:{self.port}/?token={self._access.token}"
        """The address of the page, with the token that opens it."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._started, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._serve, name="allegiance-explorer", daemon=True)
        self._thread.start()
        if not self._started.wait(_PATIENCE):
            raise RuntimeError("the server of the explorer did not start.")

    def _serve(self) -> None:
        try:
            asyncio.run(self._until_stopped())
        finally:
            self._ended.set()

    async def _until_stopped(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        hub = Hub(self._session, self._pages, self._commands, self._access)
        scripts = require("bokeh.util.paths", "explorer", "explore()").bokehjs_path() / "js"
        server = tornado.httpserver.HTTPServer(application(hub, Path(scripts)))
        server.add_socket(self._socket)
        self._started.set()
        try:
            await self._stop.wait()
        finally:
            server.stop()
            await server.close_all_connections()
            hub.workers.shutdown(wait=False, cancel_futures=True)

    def open(self) -> None:
        """Open the page in a browser."""
        webbrowser.open(self.url)

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """The decisions that count, in the order in which they were made; for :func:`allegiance.apply_decisions`."""
        return [dict(record) for record in self._session.log.standing.values()]

    @property
    def path(self) -> str:
        """The file that decisions are appended to."""
        return str(self._session.log.path)

    @property
    def labels(self) -> AnyArray:
        """(n,) the labels with the decisions so far applied."""
        return self._session.relabelled()

    def wait(self) -> None:
        """Wait until the explorer is closed, or interrupted."""
        while not self._ended.wait(0.5):
            pass

    def close(self) -> None:
        """Stop the server. Decisions are on the disk."""
        if self._loop is not None and self._stop is not None and not self._ended.is_set():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._ended.wait(_PATIENCE)
        self._session.close()

    def __enter__(self) -> Explorer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _repr_html_(self) -> str:
        """Return the page in a frame, for notebooks, and a link to it for those that do not allow frames."""
        if self._ended.is_set():
            return markup(element("p", repr(self)))
        link = element("a", "Open the explorer in a tab of its own", href=self.url, target="_blank", rel="noopener")
        below = element("p", link, f"; decisions go to {self.path}")
        return InlinePage(url=self.url, height=900, title="Explorer")._repr_html_() + markup(below)

    def __repr__(self) -> str:
        state = "closed" if self._ended.is_set() else self.url
        return f"<Explorer: {state}; decisions in {self.path}>"


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or raise an error that names host, port and remedy."""
    try:
        made = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise OSError(f"port {port} of {host} cannot be used ({error.strerror}): choose another, or 0.") from error
    made.setblocking(False)
    return made
