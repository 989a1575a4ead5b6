"""Serve the page on this machine: save decisions to a log, and send full records and tables on demand."""

from __future__ import annotations

import hmac
import json
import logging
import os
import re
import secrets
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from allegiance._core.progress import in_notebook
from allegiance._core.validation import AnyArray, IntArray
from allegiance.notebook import element, markup, page_frame
from allegiance.report import Page
from allegiance.results import AffinityResult

from ._decisions import DECISIONS, KEEP, MOVE, TO_NOISE, DecisionLog, apply_decisions

#: Default log file.
LOG_FILE = "decisions.jsonl"
_LOGGER = logging.getLogger("allegiance.review")
#: Loopback names of this machine.
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_ANY = ("0.0.0.0", "::", "")
#: Most bytes of a message, characters of a name, and search matches.
_MAX_MESSAGE, _MAX_NAME, _MAX_MATCHES = 100_000, 80, 200
#: Fewest decisions about random labels for an audit.
_MIN_RANDOM = 10
#: Seconds before an idle connection is closed.
_IDLE_SECONDS = 60
_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
#: Only the page's scripts run, and nothing is loaded from other hosts. Bokeh needs inline styles. A notebook on this
#: machine may show the page in a frame if it has the token.
_POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors http://localhost:* http://127.0.0.1:*"
)


def serve(
    result: AffinityResult,
    X: Any = None,
    *,
    log: str | os.PathLike[str] = LOG_FILE,
    host: str = "127.0.0.1",
    port: int = 0,
    allow_hosts: Iterable[str] = (),
    open_browser: bool | None = None,
    **settings: Any,
) -> Review:
    """Serve the page of a result on this machine, in the background.

    Parameters
    ----------
    result
        The result of :func:`allegiance.trust` or :func:`allegiance.affinity`.
    X
        (n, d) the data that was clustered.
    log
        The file to which each decision is appended immediately. An existing log is resumed.
    host, port
        The address to listen on: by default a free port that only this machine can reach.
    allow_hosts
        Further host names to accept, for a server behind a proxy.
    open_browser
        Whether to open the page in a browser. By default yes, except in a notebook, which shows it in the cell.
    **settings
        As in ``result.report``: ``data``, ``ids``, ``texts``, ``images``, ``map``, ``feature_names``,
        ``row_numbers``, ``names``, ``title``, ``drivers``, ``notes``, ``provenance``.

    Returns
    -------
    Review
        With ``url``, ``decisions``, ``labels``, ``audit`` and ``close()``.

    See Also
    --------
    apply_decisions : Apply the decisions of a review to labels.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from allegiance import trust
    >>> from allegiance.review import serve
    >>> X = load_iris().data
    >>> result = trust(X, clusterer=KMeans(3, random_state=0), n_resamples=5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with serve(result, X, log=f"{folder}/decisions.jsonl", open_browser=False) as review:
    ...         review.labels.shape  # the decisions so far applied
    (150,)
    """
    page = Page(result, X, **{"title": "Review of a clustering", **settings})
    review = Review(page, log=log, host=host, port=port, allow_hosts=allow_hosts)
    if not in_notebook() if open_browser is None else open_browser:
        review._open_browser()
    return review


class Review:
    """A page being served; built by :func:`allegiance.review.serve`. Close it, or use it as a context manager."""

    def __init__(
        self, page: Page, *, log: str | os.PathLike[str], host: str, port: int, allow_hosts: Iterable[str] = ()
    ) -> None:
        self._page, self._result = page, page.result
        self._lock = threading.Lock()
        numbers = page.inputs.row_numbers.tolist()
        self._row_of = {number: row for row, number in enumerate(numbers)}
        labels = dict(zip(numbers, self._result.label.tolist(), strict=True))
        self._log = DecisionLog(log, labels, self._result.classes.tolist())
        self._audit: tuple[Any, Any] = (None, None)
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        try:
            self._html = page.html(served=True).encode("utf-8", "replace")
            self._server = _listen(host, port, self)
        except BaseException:
            self._log.close()
            raise
        self.port: int = self._server.server_address[1]
        self.token = secrets.token_urlsafe(24)
        self.hosts = _hosts(host, self.port, allow_hosts)
        name = "127.0.0.1" if host in (*_ANY, *_LOOPBACK) else host
        self.path = str(self._log.path)
        """The file to which decisions are appended."""
        self.url = f"http://{_address(name, self.port)}/?token={self.token}"
        """The address of the page, with the token that opens it."""
        self._ended = threading.Event()
        threading.Thread(target=self._server.serve_forever, args=(0.1,), name="allegiance-review", daemon=True).start()

    @property
    def is_closed(self) -> bool:
        """Whether the server has ended."""
        return self._ended.is_set()

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """The final decisions that the server saved, in order, for :func:`apply_decisions`."""
        return [dict(record) for record in self._log.final.values()]

    @property
    def labels(self) -> AnyArray:
        """(n,) the labels after the decisions that the server has saved so far."""
        decisions = [{**record, "row": self._row_of[number]} for number, record in self._log.final.items()]
        return np.asarray(apply_decisions(self._result.label, decisions))

    def _open_browser(self) -> None:
        """Open the served page through a private file, since other users can see the command line of a browser."""
        self._folder = tempfile.TemporaryDirectory(prefix="allegiance-review-")
        path = Path(self._folder.name) / "open.html"
        redirect = element("meta", **{"http-equiv": "refresh", "content": f"0; url={self.url}"})
        link = element("p", element("a", "Open the review", href=self.url))
        path.write_text(f"<!doctype html>{markup(redirect)}{markup(link)}", encoding="utf-8")
        webbrowser.open(path.as_uri())

    @property
    def audit(self) -> Any:
        """The audit of all labels by the decisions that the server saved; see :meth:`allegiance.AffinityResult.audit`.

        None until there is a decision about a random label. "unsure" counts as unanswered.
        """
        final, page = self._log.final, self._page
        if page.audit_sample is None or self._audit[0] is final:  # Each decision makes a new dict.
            return self._audit[1]
        rows = {self._row_of[number]: record["decision"] for number, record in final.items()}
        sample = page.audit_sample.with_rows([row for row in rows if self._result._codes[row] >= 0])
        right = {KEEP: True, MOVE: False, TO_NOISE: False}
        answers = [right.get(rows.get(row, "")) for row in sample.rows.tolist()]
        unanswered = (rows.get(row, "") not in right for row in page.audit_rows[page.audit_random].tolist())
        self._audit = final, None if all(unanswered) else self._result.audit(sample, answers)
        return self._audit[1]

    def answers(self, path: str, query: dict[str, str]) -> Any:
        """Answer a request of the page to the server; None for unknown paths."""
        if path == "/state":
            return {**self._state(), "decisions": [_as_texts(d) for d in self.decisions], "names": self._log.names}
        if path == "/audit":
            audit = self.audit
            enough = audit is not None and audit.n_random >= min(_MIN_RANDOM, int(self._page.audit_random.sum()))
            return {"audit": audit.sentence() if enough else None}
        if path == "/record":
            number = query.get("row", "")
            return self._page.record(self._known_row(int(number) if re.fullmatch(r"[0-9]{1,18}", number) else None))
        if path == "/find":
            rows = self._find(query.get("query", ""), _MAX_MATCHES)
            new = rows[~np.isin(rows, self._page.sample.rows)]
            numbers = self._page.inputs.row_numbers[rows].tolist()
            return {"rows": numbers, "limit": _MAX_MATCHES, **(self._page.points(new) if new.size else {})}
        return None

    def _find(self, query: str, most: int) -> IntArray:
        """Return the rows that a search in the server finds by number, identifier or text, exact matches first."""
        if not query:
            return np.zeros(0, dtype=np.int64)
        inputs, pattern, part = self._page.inputs, query.casefold(), list[int]()
        number = int(query) if query.isdecimal() else -1
        whole: list[int] = np.flatnonzero(inputs.row_numbers == number).tolist()
        for column in (*inputs.ids.values(), inputs.texts or ()):
            for row, entry in enumerate(column):
                text = str(entry).casefold()
                if text == pattern:
                    whole.append(row)
                elif pattern in text and len(part) < most:
                    part.append(row)
        return np.array(list(dict.fromkeys([*whole, *part]))[:most], dtype=np.int64)

    def act(self, path: str, message: dict[str, Any]) -> Any:
        """Execute a command that the page sends to the server, one at a time; None for unknown commands."""
        with self._lock:
            if path == "/decide":
                return self._decide(message.get("row"), message.get("decision"), message.get("new_label"))
            if path == "/undo":
                return self._state(self._log.undo())
            if path == "/name":
                label, name = message.get("label"), message.get("name")
                if label not in self._page.groups.labels:
                    raise ValueError("label must be the label of a cluster.")
                if not isinstance(name, str) or len(name) > _MAX_NAME:
                    raise ValueError(f"name must be a text of at most {_MAX_NAME} characters.")
                self._log.rename(label, " ".join(name.split()))
                return {}
            if path == "/recalculate":
                audit = self.audit
                if audit is None:
                    raise ValueError("no random label of the audit has a decision yet: decide some first.")
                page = self._page.with_audit(audit)
                self._html, self._page = page.html(served=True).encode("utf-8", "replace"), page
                return {}
        return None

    def _decide(self, number: Any, decision: Any, new_label: Any) -> dict[str, Any]:
        """Save a decision that the page sends to the server."""
        row = self._known_row(number)
        if decision == "":
            self._log.clear(number)
            return self._state(number)
        if decision not in DECISIONS:
            raise ValueError(f"decision must be one of {', '.join(DECISIONS)}.")
        if decision == MOVE:
            classes = {str(label): label for label in self._result.classes.tolist()}
            if not isinstance(new_label, str) or new_label not in classes:
                raise ValueError("new_label must be the label of a cluster.")
            new_label = classes[new_label]
        texts = {name: str(column[row]) for name, column in self._page.inputs.ids.items()}
        self._log.decide(number, decision, new_label, texts)
        return self._state(number)

    def _known_row(self, number: Any) -> int:
        """Return the row of a row number in a request to the server; ValueError if there is none."""
        if type(number) is not int or number not in self._row_of:
            raise ValueError("row must be the number of a row.")
        return self._row_of[number]

    def _state(self, number: int | None = None) -> dict[str, Any]:
        """Return the server's answer: whether a decision can be undone, and the decision about a row."""
        state: dict[str, Any] = {"canUndo": bool(self._log.final)}
        if number is not None:
            record = self._log.final.get(number)
            state |= {"row": number, "record": None if record is None else _as_texts(record)}
        return state

    def export(self, format: str) -> bytes:
        """Return the user's table with the corrected labels, as a file that the server sends."""
        from allegiance.io.sinks import write_table

        with tempfile.TemporaryDirectory(prefix="allegiance-export-") as folder:
            path = Path(folder) / f"table.{format}"
            write_table(path, self.table())
            return path.read_bytes()

    def table(self) -> Any:
        """Return the table that the server exports: the user's columns, corrected labels with names, and scores."""
        import pyarrow as pa

        inputs, final, labels = self._page.inputs, self._log.final, self.labels
        numbers = inputs.row_numbers.tolist()
        names = self._page.names | self._log.names
        decisions = [final[number]["decision"] if number in final else None for number in numbers]
        added: dict[str, Any] = {
            "label": labels,
            "cluster_name": [names.get(str(label), "") for label in labels.tolist()],
            **{name: column for name, column in self._page.result._columns().items() if name != "label"},
            "label_before": self._result.label,
            "decision": pa.array(decisions, pa.string()),
        }
        table: dict[str, Any] = {"row": numbers}
        table |= {name: [str(value) for value in column] for name, column in inputs.ids.items()}
        names_used, own = {*table, *added}, None if inputs.table is None else inputs.table.to_arrow()
        for column in inputs.columns:
            name = f"{column.name} (yours)" if column.name in names_used else column.name
            table[name] = column.values if own is None else own.column(column.name)
        return pa.table(table | added)

    def wait(self) -> None:
        """Wait until the review is closed or interrupted."""
        while not self._ended.wait(0.5):
            pass

    def close(self) -> None:
        """Stop the server. All decisions are saved."""
        if not self.is_closed:
            self._ended.set()
            self._server.shutdown()
            self._server.server_close()
            self._log.close()
            if self._folder is not None:
                self._folder.cleanup()

    def __enter__(self) -> Review:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        """Return the served page in a frame for notebooks, and a link for notebooks that do not allow frames."""
        if self.is_closed:
            return markup(element("p", repr(self)))
        link = element("a", "Open the page in a tab", href=self.url, target="_blank", rel="noopener")
        below = element("p", link, f"; decisions go to {self.path}")
        return page_frame(900, "Review", src=self.url) + markup(below)

    def __repr__(self) -> str:
        return f"<Review: {'closed' if self.is_closed else self.url}; decisions in {self.path}>"


class _RefusedError(Exception):
    """A request that the server refuses, with status and reason."""


class _Server(ThreadingHTTPServer):
    """A server of one review."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, review: Review) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.review = review
        super().__init__((host, port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log nothing about broken connections, since their request line contains the token."""


class _Handler(BaseHTTPRequestHandler):
    """The handler of the server's requests."""

    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_SECONDS

    def do_GET(self) -> None:
        """Answer a GET request to the server."""
        self._respond(self._get)

    def do_POST(self) -> None:
        """Answer a POST request to the server."""
        self._respond(self._post)

    def _respond(self, answer: Callable[[], tuple[str, bytes]]) -> None:
        """Send the type and content that a function of the server returns, or its error."""
        status, kind = HTTPStatus.OK, "text/plain; charset=utf-8"
        try:
            kind, content = answer()
        except _RefusedError as refusal:
            status, content = refusal.args[0], refusal.args[1].encode()
        except (ValueError, OSError) as error:
            status = HTTPStatus.BAD_REQUEST if isinstance(error, ValueError) else HTTPStatus.INTERNAL_SERVER_ERROR
            content = str(error).encode("utf-8", "replace")
        except Exception:
            _LOGGER.exception("a request of the page failed: %s", urlsplit(self.path).path)
            status, content = HTTPStatus.INTERNAL_SERVER_ERROR, b"The request failed. The terminal shows the error."
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(content)),
            "Content-Security-Policy": _POLICY.format(nonce=self.server.review._page.nonce),
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",  # The address holds the token.
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-store",
        }
        for header, value in headers.items():
            self.send_header(header, value)
        self.end_headers()
        self.wfile.write(content)

    def _get(self) -> tuple[str, bytes]:
        """Return the type and content that the server answers a GET request with."""
        review, address = self.server.review, urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(address.query).items()}
        self._check(query.get("token") if address.path == "/" else None)
        if address.path == "/":
            return "text/html; charset=utf-8", review._html
        format = address.path.removeprefix("/export/table.")
        if format in _TYPES:
            return _TYPES[format], review.export(format)
        return self._json(review.answers(address.path, query))

    def _post(self) -> tuple[str, bytes]:
        """Return the type and content that the server answers a POST request with."""
        size = self.headers.get("Content-Length", "")
        if not size.isdecimal() or int(size) > _MAX_MESSAGE:
            self.close_connection = True  # The message is not read.
            raise _RefusedError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A message may have at most {_MAX_MESSAGE:,} bytes."
            )
        body = self.rfile.read(int(size))
        self._check(None)
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "The message is not JSON.") from None
        if not isinstance(message, dict):
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "The message is not a JSON object.")
        return self._json(self.server.review.act(urlsplit(self.path).path, message))

    def _check(self, token: str | None) -> None:
        """Refuse requests with another host name, from another page, without the token, or after closing."""
        review, host, origin = self.server.review, self.headers.get("Host"), self.headers.get("Origin")
        if review.is_closed:
            self.close_connection = True
            raise _RefusedError(
                HTTPStatus.SERVICE_UNAVAILABLE, "The review was closed, and this decision is not saved. Start it again."
            )
        if token is None:
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        reason = None
        if host is None or host.lower() not in review.hosts:
            reason = (
                f"This server does not accept the host name {host}. Open the printed address, or allow the name with "
                "`allow_hosts=`."
            )
        elif origin is not None and urlsplit(origin).netloc.lower() not in review.hosts:
            reason = "Requests from pages of other servers are refused."
        elif origin is None and self.command == "POST":
            reason = "A message needs an Origin: send it from the page."
        elif not hmac.compare_digest(token.encode("utf-8", "replace"), review.token.encode()):
            reason = "The token is missing or wrong: open the printed address."
        if reason is not None:
            raise _RefusedError(HTTPStatus.FORBIDDEN, reason)

    def _json(self, answer: Any) -> tuple[str, bytes]:
        """Return an answer of the server as JSON."""
        if answer is None:
            raise _RefusedError(HTTPStatus.NOT_FOUND, "This path does not exist.")
        return "application/json", json.dumps(answer, default=str).encode("utf-8", "replace")

    def version_string(self) -> str:
        """Return nothing about the software of the server."""
        return "allegiance"

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, since the request line contains the token."""


def _listen(host: str, port: int, review: Review) -> _Server:
    """Return a listening server; errors name host, port and the fix."""
    if not 0 <= port <= 65535:
        raise ValueError(f"`port={port}` is not a port: pass 0 to 65535; 0 takes a free one.")

    try:
        return _Server(host, port, review)
    except OSError as error:
        raise OSError(
            f"port {port} of {host} cannot be used ({error.strerror or error}): choose another with `port=`, or "
            "0 for a free one."
        ) from error


def _hosts(host: str, port: int, allowed: Iterable[str]) -> frozenset[str]:
    """Return the host names that the server accepts, with ports. Others are refused to prevent DNS rebinding."""
    names = {*_LOOPBACK, host}
    if host in _ANY:  # All addresses of this machine.
        names |= {socket.gethostname()}
        with suppress(OSError):  # The host name may not resolve.
            names |= {str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), None)}
    hosts = {_address(name, port) for name in names - set(_ANY)}
    for name in allowed:
        has_port = urlsplit(f"//{name}").port is not None
        hosts |= {name.lower()} if has_port else {name.lower(), _address(name, port)}
    return frozenset(hosts)


def _address(host: str, port: int) -> str:
    """Return the host and port of the server as in a URL."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}".lower()


def _as_texts(record: Any) -> dict[str, Any]:
    """Return a decision with labels as text, as the server sends it to the page."""
    return {
        **record,
        "label": str(record.get("label")),
        "new_label": None if record.get("new_label") is None else str(record["new_label"]),
    }
